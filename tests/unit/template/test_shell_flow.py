"""A value that reaches an interpreter by a detour: a variable, a pipe, several words, a name."""

from pathlib import Path

import pytest
from tests import real_shell

from tongs.template import shell
from tongs.template.shell import Rendered
from tongs.template.values import Slot, TemplateError

SLOTS = {
    **{name: Slot(name) for name in ("A", "B", "FILE", "s.output")},
    "L": Slot("L", "array"),
    "N": Slot("N", "integer"),
}
ARITHMETIC = "a[$(touch canary)]"
LIST = "($(touch canary))"

# A script, and a value that ran its code where the script was accepted (bash 5.2).
DETOURS = [
    # by a variable
    ("x='{A}'; (( x )) || true", ARITHMETIC),
    ("x='{A}'; echo $((x + 1))", ARITHMETIC),
    ("x='{A}'; y=$x; echo $((y + 1))", ARITHMETIC),
    ("x='{A}'; [[ $x -gt 1 ]]", ARITHMETIC),
    ("x='{A}'; for ((i = 0; i < x; i++)); do :; done", ARITHMETIC),
    ("x='{A}'; b=(1); echo ${b[x]}", ARITHMETIC),
    ("x='{A}'; n=abc; echo ${n:x}", ARITHMETIC),
    ("x='{A}'; x=$((x + 1))", ARITHMETIC),
    ("x='{A}'; echo ${!x}", ARITHMETIC),
    ("x='{A}'; echo ${x@P}", "$(touch canary)"),
    ("x='{A}'; eval \"$x\"", "touch canary"),
    ("x='{A}'; bash -c \"echo $x\"", "; touch canary"),
    ("x='{A}'; bash <<EOF\necho $x\nEOF", "; touch canary"),
    ("x='{A}'; echo \"$x\" | bash", "touch canary"),
    ("x='{A}'; $x", "touch canary"),
    ("f() { local x='{A}'; echo $((x)); }; f", ARITHMETIC),
    ("for x in '{A}'; do echo $((x)); done", ARITHMETIC),
    ("read -r x <<< '{A}'; echo $((x))", ARITHMETIC),
    ("while read -r x; do echo $((x)); done <<< '{A}'", ARITHMETIC),
    ("mapfile -t x <<< '{A}'; echo $((x))", ARITHMETIC),
    ("printf -v x %s '{A}'; echo $((x))", ARITHMETIC),
    # by what another command prints
    ("[[ $(echo '{A}') -eq 1 ]]", ARITHMETIC),
    ("[[ -v $(echo '{A}') ]]", ARITHMETIC),
    ("echo $(( $(cat <<< '{A}') ))", ARITHMETIC),
    ("echo $(( `echo '{A}'` ))", ARITHMETIC),
    ("echo $(( $(basename '{A}') ))", ARITHMETIC),
    ("echo $(( $(echo '{A}' | tr x y) ))", ARITHMETIC),
    ("echo '{A}' | tee x | bash", "touch canary"),
    ("echo '{A}' | tr x y | sh", "touch canary"),
    ("{ echo '{A}'; } | bash", "touch canary"),
    ("(echo '{A}') | bash", "touch canary"),
    ("if true; then echo '{A}'; fi | bash", "touch canary"),
    ("{ (echo '{A}') } | bash", "touch canary"),
    ("for i in '{A}'; do echo \"$i\"; done | bash", "touch canary"),
    ("echo '{A}' | { bash; }", "touch canary"),
    ("{ bash; } <<< '{A}'", "touch canary"),
    ("bash < <(echo '{A}')", "touch canary"),
    (". /dev/stdin < <(echo '{A}')", "touch canary"),
    ("bash /dev/fd/3 3<<< '{A}'", "touch canary"),
    ("source /proc/self/fd/0 <<< '{A}'", "touch canary"),
    ("echo '{A}' | xargs -I% sh -c 'echo %'", "; touch canary"),
    ("xargs -I% sh -c 'echo %' <<< '{A}'", "; touch canary"),
    ("echo '{A}' | xargs env", "touch canary"),
    ("echo '{A}' | xargs bash", '-c "touch canary"'),
    # by the names and attributes of variables
    ("[ ! -v '{A}' ]", ARITHMETIC),
    ("[ -n x -a -v '{A}' ]", ARITHMETIC),
    ("declare -a x='{A}'", LIST),
    ("declare -A x='{A}'", "([a]=$(touch canary))"),
    ("f() { local -a x='{A}'; }; f", LIST),
    ("x=(); declare x='{A}'", LIST),
    ("RANDOM='{A}'", ARITHMETIC),
    ("OPTIND='{A}'", ARITHMETIC),
    ("for SECONDS in '{A}'; do :; done", ARITHMETIC),
    ("export PS4='{A}'; set -x; :", "$(touch canary)"),
    ("read -r PS4 <<< '{A}'; set -x; :", "$(touch canary)"),
    ("printf '-{A}' x", "v" + ARITHMETIC),
    # by programs that do more than they say
    ("time -- bash -c '{A}'", "touch canary"),
    ("perl -ne 1 '{A}'", "touch canary|"),
    ("perl -pe 1 -- '{A}'", "touch canary|"),
    ("printf 'all:\\n\\t@echo $(X)\\n' > Makefile; make X='{A}'", "$(shell touch canary)"),
    ("echo x > f; tar cf f.tar f; tar xf f.tar --to-command='{A}'", "touch canary"),
    ("echo x | split --filter='{A}'", "touch canary"),
]


def refusal(text: str) -> TemplateError:
    with pytest.raises(TemplateError) as refused:
        shell.compile(text, SLOTS)
    return refused.value


@pytest.mark.parametrize(("text", "attack"), DETOURS)
def test_a_value_that_would_run_after_a_detour_is_refused(
    text: str, attack: str, tmp_path: Path
) -> None:
    real_shell.run(Rendered(text.replace("{A}", attack), ""), tmp_path)

    assert (tmp_path / real_shell.CANARY).exists()
    assert refusal(text).rule in ("second-interpreter", "program-name")


@pytest.mark.parametrize(
    "text",
    [
        "[ {L} ]",
        "[ -n {L} ]",
        "[ {A} {B} ]",
        "printf {L}",
        "env X={L} ls",
        "timeout {L} ls",
        "nice -n {L} ls",
        "bash {L}",
        "python3 {L}",
        "ssh {L}",
        "awk -F {L} 1 f",
        "perl -{A} x",
        "perl --{A} x",
    ],
)
def test_several_words_or_an_option_from_a_value_are_refused(text: str) -> None:
    assert refusal(text).rule == "second-interpreter"


@pytest.mark.parametrize(
    "text",
    [
        "psql -c \"select '{A}'\"",
        "psql db <<EOF\nselect '{A}'\nEOF",
        "mysql -e \"select '{A}'\" db",
        "sqlite3 f.db \"select '{A}'\"",
        "sqlite3 -separator , f.db {A}",
        "osascript -e 'display notification \"{A}\"'",
        'vim -es -c "s/x/{A}/" f',
        "ed f <<< {A}",
        "gdb -batch -ex {A}",
        'echo "rm {A}" | at now',
        'echo "0 0 * * * rm {A}" | crontab -',
        "script -qc {A} /dev/null",
        "rsync -e {A} a b",
        'sshpass -p x ssh host "ls {A}"',
        "fd x -x sh -c {A}",
        "tcsh -c {A}",
        "echo {A} | parallel",
    ],
)
def test_more_programs_that_read_one_of_their_words_as_code(text: str) -> None:
    assert refusal(text).rule == "second-interpreter"


@pytest.mark.parametrize(
    "text",
    [
        "x={A}; echo ${x:0:10} ${x^^} ${#x} $(( ${#x} + 1 ))",
        'x={A}; [ "$x" -gt 3 ]',
        'x={A}; [[ $x == a* && -f "$x" ]]',
        "x={A}; x=${x//[^0-9]/}; echo $((x + 1))",
        'x={A}; x=$(clean "$x"); echo $((x + 1))',
        "x={N}; echo $((x + 1))",
        'x={FILE}; echo $(( $(wc -l < "$x") + 1 ))',
        "n=$(grep -c -- {A} {FILE}); [[ $n -gt 0 ]]",
        "n=$(printf %d {s.output}); echo $((n + 1))",
        "i=0; for f in {L}; do i=$((i + 1)); done",
        'declare -A seen; for f in {L}; do seen[$f]=1; echo "${seen[$f]}"; done',
        "declare -A m=([a]={A})",
        "declare -a a=({A})",
        "a=({L} [a-z]*); echo ${a[0]}",
        'x={A}; bash -c \'echo "$1"\' _ "$x"',
        "x={A}; trap 'rm -f \"$x\"' EXIT",
        'x={A}; ssh -- "$x" uptime',
        "x={A}; awk -v v=\"$x\" '{print v}'",
        'x={FILE}; bash "$x"',
        "echo $(( $(echo {A} | wc -c) - 1 ))",
        "echo {A} | xargs",
        "echo {A} | xargs -n1 echo",
        "printf '%s\\0' {L} | xargs -0 rm --",
        "{ echo {A}; } > f",
        'echo {A} | while read -r x; do echo "$x"; done',
        "while read -r x; do echo; done < <(ls {FILE})",
        "[ {A} = {B} ]",
        '[ "{A}" != "" -a "{B}" != "" ]',
        "psql -v a={A} -f q.sql",
        "psql -d {A} -c 'select 1'",
        "sqlite3 -separator , {FILE} 'select 1'",
        "mysql -u {A} -e 'select 1' {B}",
        "vim {FILE}",
        "tar czf {A} {L}",
        "rsync -av {A} {B}",
        "sort -k 2 {FILE}",
        "make -C {FILE} all",
        "crontab -l | grep {A}",
        "osascript -e 'on run argv' -e end {A}",
        "bash -- {L}",
    ],
)
def test_the_same_detours_without_danger_are_fine(text: str) -> None:
    assert shell.compile(text, SLOTS).names


def test_the_error_stands_where_the_value_enters() -> None:
    text = "x={A}; echo; echo $((x + 1))"

    error = refusal(text)

    assert text[error.offset :].startswith("{A}")
    assert error.message == "arithmetic with $x would run code in the value of {A}"
    assert "[ … ] instead of [[ … ]]" in error.hint


def test_a_backslash_in_a_quoted_heredoc_delimiter_is_refused() -> None:
    """Such a delimiter keeps its backslash, and the line that ends the body has it, too."""
    assert refusal("cat <<'a\\b'\nx\nab\necho '{A}'\na\\b\n").rule == "shell-syntax"
