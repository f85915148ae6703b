"""What a script starts: one row per thing the shell, or a program that starts others, can do."""

from __future__ import annotations

import pytest

from tongs.core.execution import CommandLine
from tongs.policy.shell.reading import Reading, read_line, read_words

FOLDER, HOME = "/home/me/work", "/home/me"


def read(script: str) -> Reading:
    return read_line(CommandLine(FOLDER, text=script, given=True), HOME)


def started(reading: Reading) -> list[str]:
    return [one.shown for one in reading.invocations]


UNDERSTOOD = [
    # quotes and expansions
    ("$'\\n' x", ["'\n' x"]),
    ("$'a\\qb' $'\\cA'", ["'a\\qb' '…'"]),
    ("$'\\u0061\\U00000062'", ["ab"]),
    ('$"a" b', ["a b"]),
    ("a$ b$", ["'a$' 'b$'"]),
    ("echo \"a\\$b\\`c\\\\d\\e\"", ["echo 'a$b`c\\d\\e'"]),
    ("x=a; echo ${x} ${x:-b} ${y:-c} ${y-d} ${#x} ${x#a}", ["echo a a c d '…' '…'"]),
    ("x=; echo ${x:-b} ${HOME:-c}", [f"echo b {HOME}"]),
    ("echo ${TMPDIR:-/tmp}", ["echo '…'"]),
    ("echo ${x:-'a b'} \"${x:-'c'}\"", ["echo a b ''\"'\"'c'\"'\"''"]),
    ("echo ~ ~/x ~root ~bob/x '~' a~ ~\"x\" ~+", [
        f"echo {HOME} {HOME}/x /root /home/bob/x '~' 'a~' '~x' {FOLDER}"]),
    ("HOME=/x; echo ~ $HOME", ["echo /x /x"]),
    ("HOME=$(cat); echo ~", ["cat", "echo '…'"]),
    ("x=a:~/b; echo $x", [f"echo a:{HOME}/b"]),
    ("echo {1..3} {3..1} {a..c} {a,b}{c,d} {x} {} {a,{b,c}} \"{a,b}\" {a..bb}", [
        "echo 1 2 3 3 2 1 a b c ac ad bc bd '{x}' '{}' a b c '{a,b}' '{a..bb}'"]),
    ('x="a b"; echo $x "$x" "" $e', ["echo a b 'a b' ''  '…'".replace("  ", " ")]),
    ("x=(a 'b c'); echo \"${x[@]}\" ${x[*]} $x ${x[0]}", ["echo a 'b c' a b c a '…'"]),
    ("x=(a); x+=(b); echo ${x[@]}", ["echo a b"]),
    ("x=(a $(b)); echo ${x[@]}", ["b", "echo a '…'"]),
    ("x[0]=a; x=b; echo $x", ["echo b"]),
    ("x[1]=a; echo ${x[1]}", ["echo '…'"]),
    ("x=a; x+=b; echo $x", ["echo ab"]),
    ("set -- a b; echo $1 $2 $3 \"$@\" $#", ["set -- a b", "echo a b a b '…'"]),
    ("echo $1 $@ $? $$", ["echo '…' '…' '…' '…'"]),
    ("echo $PWD", [f"echo {FOLDER}"]),
    ("echo [a-c]* a[ b?", ["echo '[a-c]*' 'a[' 'b?'"]),
    ("a=1 b=2 c", ["c"]),
    ("a=1 >x", [":"]),
    (">x", [":"]),
    ("echo 'a\nb' # c\n# d\n\nls", ["echo 'a\nb'", "ls"]),
    ("x=$(printf '%s-%s\\n' a b); echo $x", ["printf '%s-%s\\n' a b", "echo a-b"]),
    ("x=$(printf -- '%s' a b); echo $x", ["printf -- %s a b", "echo ab"]),
    ("x=$(printf abc); echo $x", ["printf abc", "echo abc"]),
    ("x=$(printf '%d' 3)", ["printf %d 3"]),
    ("x=$(printf 'a\\x41')", ["printf 'a\\x41'"]),
    ("x=$(printf --)", ["printf --"]),
    ("x=$(echo -n a; true); echo $x", ["echo -n a", "true", "echo a"]),
    ("x=$(echo -e 'a\\tb'); echo $x", ["echo -e 'a\\tb'", "echo '…'"]),
    ("x=$(cat <<< a); echo $x", ["cat", "echo a"]),
    ("x=$(echo a > f); echo $x", ["echo a", "echo '…'"]),
    ("x=$(if a; then b; fi)", ["a", "b"]),
    # commands
    ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
    ("if a; then b; elif c; then d; fi >x", [":", "a", "b", "c", "d"]),
    ("while a; do b; done; until c; do d; done", ["a", "b", "c", "d"]),
    ("for x; do a $x; done", ["a '…'"]),
    ("set -- p q; for x; do a $x; done", ["set -- p q", "a p", "a q"]),
    ("for x in a b\ndo c $x\ndone", ["c a", "c b"]),
    ("for ((i=0; i<3; i++)); do a; done", ["a"]),
    ("for ((;;)) { a; }", ["a"]),
    ("select x in a; do b; done", ["b"]),
    ("case $x in (a|b) c;; *) d;& e) f;;& esac", ["c", "d", "f"]),
    ("case x in\na) b\nesac", ["b"]),
    ("case x in esac", []),
    ("a() { b; }; function c { d; }; function e() (f); a; c; e", ["a", "b", "c", "d", "e", "f"]),
    ("a() { b \"$1\" $2; }; a x y", ["a x y", "b x y"]),
    ("a() if b; then c; fi; a", ["a", "b", "c"]),
    ("{ a; } 2>&1 | (b; c) |& d", ["a", "b", "c", "d"]),
    ("! a && ! b || time c", ["a", "b", "c"]),
    ("coproc N { a; }; coproc b", ["a", "b"]),
    ("[[ -f a && ( b < c ) || ! d =~ ^x(y|z)$ ]]", []),
    ("[[ $(a) -gt 1 ]] && b", ["a", "b"]),
    ("((a = 1)) && b", ["b"]),
    ("a & b", ["a", "b"]),
    ("a <<-B\n\ty\n\tB\nb", ["a", "b"]),
    ("a <<'A'\n$(b)\nA", ["a"]),
    ("a <<A\n$(b) \\$(c) `d`\nA", ["b", "d", "a"]),
    ("a <<A\nx \\\ny\nA", ["a"]),
    ("a {fd}>x 3<&0 4>&- <&3 <>y", ["a"]),
    ("declare -a x=(a b); export y=c; echo ${x[@]} $y", [
        "declare -a", "export y=c", "echo a b c"]),
    ("local x; readonly y=1", ["local x", "readonly y=1"]),
    ("a() { b; }; a; a() { c; }; a", ["a", "b", "a", "c"]),
    ("if x; then a() { b; }; else a() { c; }; fi; a", ["x", "a", "b", "c"]),
    ("f() { f; }; f", ["f", "f"]),
    ("unset x; read -r y; mapfile z; getopts a b", [
        "unset x", "read -r y", "mapfile z", "getopts a b"]),
    ("trap '' INT; trap - INT; trap", ["trap '' INT", "trap - INT", "trap"]),
    ("command -v rm; builtin cd x", ["command -v rm", "builtin cd x", "cd x"]),
    ("echo $(( (1 + 2) * 3 )); ((  (a) ))", ["echo '…'"]),
    ("x=$(printf '%s%s' a); echo $x", ["printf %s%s a", "echo a"]),
    ("env -S 'a b' c \"d e\"", ["env -S 'a b' c 'd e'", "a b c 'd e'"]),
    ("sudo -n a b", ["sudo -n a b", "a b", "b"]),
    ("sudo -n", ["sudo -n"]),
    ("find x -exec a", ["find x -exec a", "a"]),
    ("find . -H", ["find . -H"]),
    ("ssh h <<< 'a b'", ["ssh h", "a b"]),
    ("a < /dev/stdin; source", ["a", "source"]),
    ("echo ${1:-x}", ["echo '…'"]),
    ("x=${y=}; a", ["a"]),
    ("x=1; echo $((x + y)); let x+=1", ["echo '…'", "let x+=1"]),
    # programs that start others
    ("timeout --signal KILL 5 a b", ["timeout --signal KILL 5 a b", "a b"]),
    ("timeout --sig=KILL 5 a", ["timeout --sig=KILL 5 a", "a"]),
    ("xargs -I{} a {}x < f", ["xargs '-I{}' a '{}x'", "a '…x'"]),
    ("echo 'p q' | xargs a", ["echo 'p q'", "xargs a", "a p q"]),
    ("echo \"don't\" | xargs a", ["echo 'don'\"'\"'t'", "xargs a", "a '…'"]),
    ("xargs", ["xargs", "echo '…'"]),
    ("find -L p q -exec a {} \\; -o -ok b +", [
        "find -L p q -exec a '{}' ';' -o -ok b +", "a 'p/*' 'q/*'", "b"]),
    ("find -name x -exec a {} +", ["find -name x -exec a '{}' +", "a ./x"]),
    ("bash x.sh; sh -x y.sh", ["bash x.sh", "sh -x y.sh"]),
    ("bash --norc -c 'a $1' _ b", ["bash --norc -c 'a $1' _ b", "a b"]),
    ("su - u -c 'a b'; runuser -u u -- a", ["su - u -c 'a b'", "a b", "runuser -u u -- a", "a"]),
    ("ssh -o ProxyCommand='a b' h", ["ssh -o 'ProxyCommand=a b' h", "a b"]),
    ("echo a | ssh h", ["echo a", "ssh h", "a"]),
    ("watch -n1 a '|' b; watch -x c d; watch", [
        "watch -n1 a '|' b", "a", "b", "watch -x c d", "c d", "watch"]),
    ("parallel a {} ::: p q", ["parallel a '{}' ::: p q", "a p", "a q"]),
    ("ls | parallel a", ["ls", "parallel a", "a '…'"]),
    ("parallel 'a; b' ::: p", ["parallel 'a; b' ::: p", "bash -c 'a; b'", "a", "b"]),
    ("hyperfine 'a b' c", ["hyperfine 'a b' c", "a b", "c"]),
    ("docker exec box bash -c 'a'", ["docker exec box bash -c a", "bash -c a", "a"]),
    ("docker ps", ["docker ps"]),
    ("npx rimraf x", ["npx rimraf x", "rimraf x"]),
    ("uv run x", ["uv run x"]),
    ("screen -dm a 'b c'", ["screen -dm a 'b c'", "b c"]),
    ("git -c core.pager='a b' log; git submodule foreach a; git rebase -x 'a b' m", [
        "git -c 'core.pager=a b' log", "a b", "git submodule foreach a", "a",
        "git rebase -x 'a b' m", "a b"]),
    ("git config alias.x '!a b'; git rebase main", [
        "git config alias.x '!a b'", "a b", "git rebase main"]),
    ("tar xf t --to-command='a b'; split --filter='a' f", [
        "tar xf t '--to-command=a b'", "a b", "split --filter=a f", "a"]),
    ("crontab -l; at -f x now", ["crontab -l", "at -f x now"]),
    ("awk '{ print }' f; sed -e 's/a/b/g;2,3d' -n f; jq . f; awk -f p f", [
        "awk '{ print }' f", "sed -e 's/a/b/g;2,3d' -n f", "jq . f", "awk -f p f"]),
    ("psql -c 'select 1'; vim x; python3 x.py; python3 -m p; perl x.pl", [
        "psql -c 'select 1'", "vim x", "python3 x.py", "python3 -m p", "perl x.pl"]),
    ("env -u X -C /x a; env; sudo -D /y a", ["env -u X -C /x a", "a", "env", "sudo -D /y a", "a"]),
    ("flock x -c 'a b'", ["flock x -c 'a b'", "a b"]),
    ("chroot /x a b", ["chroot /x a b", "a b"]),
    ("eval -- a b", ["eval -- a b", "a b"]),
    (". x; source y", [". x", "source y"]),
    ("PROMPT_COMMAND='a b'", ["a b"]),
    ("node x.js <<< 1; node", ["node x.js", "node"]),
    ("enable_x; hash; alias; alias x", ["enable_x", "hash", "alias", "alias x"]),
    ("a['x y']=1; ls", ["ls"]),
    ("a[x\n]=1; ls", ["'a[x'", "']=1'", "ls"]),
    ("a[ls", ["'a[ls'"]),
    ("echo {a{b,c} {a,{b", ["echo '{ab' '{ac' '{a,{b'"]),
    ("n=$(wc -l < x)5; kill $n", ["wc -l", "kill '…'"]),
    ("declare -i n; n=$(wc -l <x); ls", ["declare -i n", "wc -l", "ls"]),
]  # fmt: skip


@pytest.mark.parametrize(("script", "programs"), UNDERSTOOD, ids=[one[0] for one in UNDERSTOOD])
def test_every_program_is_told_with_its_words(script: str, programs: list[str]) -> None:
    reading = read(script)

    assert (started(reading), reading.doubts) == (programs, ())


DOUBTED = [
    "a \\",
    "'a",
    '"a',
    '"a$(b',
    "$(a",
    "`a",
    "${a",
    "${}",
    "${a{b}",
    "$((1",
    "$((a) )",
    "((a)",
    "$[1]",
    "$'a",
    "$'\\xff'",
    "$'a\\0b'",
    "$'\\U99999999'",
    '$"a$b"',
    "$\\\n(a)",
    "a >\\\nb",
    "a >",
    "a <<",
    "a <<A",
    "a <<A\nb",
    "a <<$x\nb\n$x",
    "a <<A\nb\\\nA\nA",
    "a <<ABC\nA\\\nBC\nABC",
    "a ;; b",
    "a; ; b",
    "a && ",
    "; a",
    "a | | b",
    "fi",
    "then a",
    "if a; b; fi",
    "if a; then b",
    "for 1 in a; do b; done",
    "for x in a; b; done",
    "case x a) b;; esac",
    "case x in a b) c;; esac",
    "a() b",
    "a b() { c; }",
    "function { a; }",
    "function $x { a; }",
    "[[ a ; ]]",
    "[[ a",
    "x=(a",
    "x=(a ; b)",
    "a (b)",
    "x=; $x",
    "echo $((" + "$((" * 2000,
    "x='" + "a " * 3000 + "'; echo $x",
    "(a) b",
    "( " * 30 + "a" + " )" * 30,
    "a b )",
    "a\x01b",
    "a\x0bb",
    "x" * 300_000,
    "$(" * 60 + "a" + ")" * 60,
    # Correct, and too much for the second reader.
    "a <<A <<-B\nx\nA\n\ty\n\tB\nb",
    "env " * 40 + "a",
    "{1..9999}",
    "{a,b}" * 12,
    "for a in {1..99}; do for b in {1..99}; do c; done; done",
    "$x",
    "*",
    '"$(a)" b',
    'eval "$x"',
    'bash -c "a $x"',
    "bash -c",
    "a | bash",
    "bash --rcfile x",
    "bash -s x < <(a)",
    "bash /dev/stdin <<< x",
    'bash "$x"',
    "source /dev/stdin < <(a)",
    "a > x; ./x",
    "a > x; bash x",
    "cp a b; ./b",
    "${!x}",
    "x=a; ${!x}",
    "${x@P}",
    "declare -n x=y",
    "PS1=$x",
    "ENV=x sh",
    "env BASH_ENV=x bash",
    "IFS=,",
    "enable -f x y",
    "x=$(cat f); echo $((x))",
    "read x; ((x++))",
    "x=$y; let z=x",
    "parallel",
    "python3 -c 'a'",
    "ruby -e 'a'",
    "cat x | python3",
    "sed 's/a/b/e' x",
    "sed w x",
    "awk 'BEGIN { \"a\" | getline }'",
    "psql -c '\\! a'",
    "vim -c '!a'",
    "a | at now",
    "fish -c a",
    "csh -c a",
    "sh -c \"echo \\$'a'\"",
    "sh -c 'a &> b'",
    "zsh -c '[[ a ]]'",
    'su <<< "$x"',
    "echo `if`",
    "a[b c]=1 ls",
    "declare -i n; n=$x; ls",
]


@pytest.mark.parametrize("script", DOUBTED, ids=[script[:40] for script in DOUBTED])
def test_what_is_not_understood_is_said(script: str) -> None:
    assert read(script).doubts


@pytest.mark.parametrize(
    ("script", "folders"),
    [
        ("cd x && a", ["/home/me/work/x"]),
        ("cd x; a", ["/home/me/work", "/home/me/work/x"]),
        ("set -e; cd x; a", ["/home/me/work/x"]),
        ("cd x || exit; a", ["/home/me/work/x"]),
        ("cd x || { echo no; exit 1; }; a", ["/home/me/work/x"]),
        ("cd && a", ["/home/me"]),
        ("cd -- /x && a", ["/x"]),
        ("cd $x && a", ["…"]),
        ("cd - && a", ["…"]),
        ("cd $x && cd y && a", ["…"]),
        ("cd $x && cd /y && a", ["/y"]),
        ("pushd x && popd && a", ["…"]),
        ("(cd x && b); a", ["/home/me/work"]),
        ("if b; then cd x; fi; a", ["/home/me/work", "/home/me/work/x"]),
        ("env -C /x a", ["/x"]),
        ("env -C x a", ["…"]),
        ("sudo --chdir=/x a", ["/x"]),
        ("ssh h a", ["…"]),
        ("chroot /x a", ["…"]),
        ("cd 1; cd 2; cd 3; cd 4; a", ["…"]),
    ],
)
def test_folder_is_followed(script: str, folders: list[str]) -> None:
    last = [one for one in read(script).invocations if one.program == "a"][-1]

    assert [folder.replace("\0", "…") for folder in last.folders] == folders


def test_function_that_starts_itself_beside_itself_is_a_bomb() -> None:
    assert read(":(){ :|:& };:").bombs
    assert read("f() { f & }; f").bombs
    assert not read("f() { f; }; f").bombs


def test_doubt_that_comes_twice_is_told_once() -> None:
    assert len(read("$x; $x").doubts) == 1


def test_words_without_a_shell_are_read_as_they_are() -> None:
    reading = read_words(["env", "X=1", "rm", "$HOME"], home=HOME, folder=FOLDER)

    assert started(reading) == ["env X=1 rm '$HOME'", "rm '$HOME'"]
    assert read_words(["env"] * 40, home=HOME, folder=FOLDER).doubts


def test_loop_sees_what_an_earlier_round_has_left() -> None:
    assert read("v=ls; while a; do $v x; v=rm; done").doubts


def test_second_reader_can_raise_a_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tongs.policy.shell.grammar._names", lambda text: iter(["other"]))

    assert "two readers disagree" in read("a; b").doubts[0]
    assert read("a b").doubts == ()
