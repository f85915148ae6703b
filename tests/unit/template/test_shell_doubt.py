"""Where the scanner is not sure, the template is refused at load; what it knows, it accepts."""

import pytest

from tongs.template import shell
from tongs.template.values import Slot, TemplateError

SLOTS = {
    "A": Slot("A"),
    "WORD": Slot("WORD", "boolean", true_value="-w"),
    "N": Slot("N", "integer"),
}

UNSURE = [
    # never closed
    "echo {A} 'x",
    'echo {A} "x',
    "echo {A} $'x",
    "echo {A} `x",
    "echo {A} $(x",
    "echo {A} ${x:-y",
    "echo {A} $((1 + 2)",
    "( echo {A}",
    "a=( {A}",
    "a=( {A} ;",
    "[[ {A} == x",
    "[[ x =~ ({A}",
    "echo @({A}",
    "if true; then echo {A}",
    "while true; do echo {A}",
    "{ echo {A}",
    "case {A} in x) echo",
    "case {A} in x) echo ;;",
    "cat <<EOF\n{A}\n",
    "cat <<EOF {A}",
    "echo $(cat <<EOF {A})",
    # in the wrong place
    "echo {A} )",
    "echo {A} ;; x",
    "echo {A} (x)",
    "fi {A}",
    "echo; done; echo {A}",
    "if true; do echo {A}; done",
    "for x in a; do echo; done {A}",
    "( echo ) {A}",
    "(( 1 )) {A}",
    "for {A} in x; do :; done",
    "for x {A} in y; do :; done",
    "f{A}() { :; }",
    "function f{A} { :; }",
    "case {A} x) :;; esac",
    "case {A} in x y) :;; esac",
    "case {A} in ;; esac",
    "[[ {A} x ]]",
    "[[ a {A} b ]]",
    "[[ ( {A} ]]",
    "[[ {A} ; x ]]",
    "a=(x){A}",
    "echo {A} >",
    "echo {A} > ; x",
    # a backslash would take the reference's own meaning
    "echo \\{A}",
    'echo "\\{A}"',
    "echo $'\\{A}'",
    "cat <<EOF\n\\{A}\nEOF",
    "echo `echo \\\\{A}`",
    # shells read it differently, or nobody knows
    "echo ${{A}}",
    "echo ${!{A}}",
    "echo ${x{A}}",
    "echo ${ echo {A}; }",
    "echo \"${x:-'{A}'}\"",
    "echo \"${x:-$'{A}'}\"",
    "echo ${x:-{{A}}}",
    "cat <<EOF\n${x:-'{A}'}\nEOF",
    "cat <<EOF\n${x#{A}}\nEOF",
    'cat <<EOF\n`echo \\"{A}\\"`\nEOF',
    "cat <<E{A}F\nx\nEF",
    "cat <<$x\n{A}\n$x",
    "cat <<'E F'\n{A}\nE F",
    "echo `cat <<'EOF'\n{A}\nEOF\n`",
    'cat <<EOF "a\nb"\n{A}\nEOF',
    "echo $\\\n(echo {A})",
    "cat <\\\n<EOF\n{A}\nEOF",
    "echo $(( (1) {A}",
    pytest.param("echo " + "$(echo " * 2000 + "{A}" + ")" * 2000, id="nested too deeply"),
    # what stands for text would join the name before it
    "echo $x{RAW:A}",
    "echo $x{WORD}",
    "echo `echo $x{WORD}`",
]

SURE = [
    "if true; then echo {A}; elif x; then :; else :; fi 2>&1",
    "while read -r x; do echo {A}; done < f 3>&1",
    "for x do echo {A}; done",
    "for x; do echo {A}; done",
    "for x\nin a b; do echo {A}; done",
    "for ((i = 0; i < 3; i++)) do echo {A}; done",
    "select x in {A}; do break; done",
    "until x; do echo {A}; done &",
    "function f { echo {A}; }",
    "function f() ( echo {A} )",
    "f ()\n{\n echo {A}\n}\nf",
    "time -p echo {A}",
    "! echo {A} && echo || :",
    "!(true); echo {A}",
    "coproc echo {A}",
    "exec 3<> f; echo {A}>&3 &> g",
    "echo {fd}> f {A} |& cat",
    "case {A} in (a|b) : ;& c) : ;;& *) ;; esac > f",
    "case {A} in\n # it's a comment\n a) :\nesac",
    "case {A}\nin a) echo esac;; esac",
    "case x in a) cat <<EOF ;;\n{A}\nEOF\nesac",
    "( cat <<EOF )\n{A}\nEOF\n",
    "[[ ! ( {A} == x || -n {A} ) && a < b ]]",
    "[[ $x =~ ^( a b|[[:space:]])+$ && {A} ]]",
    "[[ x =~ a ]] && echo {A}",
    "[[ x =~ ((a|b)c) ]] && echo {A} $(( } ))",
    "echo $[1 + 2] $((3 * (4 + 5))) $(( a[1] )) {A}",
    "echo ${x[1]} ${x[@]@Q} ${!x*} ${!x@} ${#x} ${#} ${x:1:2} ${x: -1} ${x^^} ${x,} {A}",
    "echo $$ $? $# $! $@ $* $- $0 $1 $ {A}",
    'echo "$" "a$" \'$\' $"x" {A}',
    "a=( # it's\n {A} \\\n [1]=x [a-z]* ) b+=(x)",
    "a[1]=x a[b[1]]+=y echo {A}",
    "echo [a-z]* {a,b} ~ ?(x|y) +(a b) {A}",
    "echo a#b {A} #'",
    'echo {A} `echo "x"` "`echo \\"x\\"`"',
    "cat <<A <<'B' {A}\n$(\nA\n`\nB\n",
    "cat <<EOF\na\\\nEOF\n{A}\nEOF",
    "cat <<EOF; echo {A}\n$(echo '{A}' # )\n) `echo {A}`\nEOF",
    "echo ${x:-'}'\"}\"\\}$(echo })} {A}",
    "echo \"${x:-'}'}\" \"${x:-$'}'}\" {A}",
    "cat < <(echo {A}) > >(cat)",
    'echo ${x/{A}/{A}} ${x%%"{A}"} {A}',
    "echo \\' \\\" \\` \\\\ {A} \\\n {A}",
    "x=1 y={A} z= cmd; >f x={A} cmd",
    "\n\n{ :; }; echo {A}\n\n",
    "echo {{A}} # {A}",
    "echo $'a{b' {A}",
    "[[ $(a $(b)) == x ]] && echo $(( $(a $(b)) + 1 )) {A}",
    'echo "${x:-"a"}" "${x:-$y}" "${x:-`y`}" {A}',
]


@pytest.mark.parametrize("text", UNSURE)
def test_a_doubt_is_refused_at_load(text: str) -> None:
    with pytest.raises(TemplateError) as refused:
        shell.compile(text, SLOTS)

    assert refused.value.rule == "shell-syntax"
    assert 0 <= refused.value.offset <= len(text)


@pytest.mark.parametrize("text", SURE)
def test_the_shells_own_syntax_is_understood(text: str) -> None:
    assert shell.compile(text, SLOTS).names <= {"A"}


@pytest.mark.parametrize(
    "text", ["echo $'x' {A}", "cat <<< {A}", "echo \"${x:-'a'}\" {A}", "cat <<< x; echo {A}"]
)
def test_sh_is_not_bash(text: str) -> None:
    with pytest.raises(TemplateError) as refused:
        shell.compile(text, SLOTS, dialect="sh")

    assert refused.value.rule == "shell-syntax"
    assert shell.compile(text, SLOTS, dialect="bash").names == {"A"}


def test_the_hint_shows_both_readings_of_a_backslash() -> None:
    with pytest.raises(TemplateError) as refused:
        shell.compile('echo "\\{A}"', SLOTS)

    assert (refused.value.offset, refused.value.hint) == (
        6,
        "write \\\\{A} for a backslash and the value, or {{A}} for the text {A}",
    )


def test_a_doubt_inside_backticks_points_at_them() -> None:
    with pytest.raises(TemplateError) as refused:
        shell.compile("echo `echo 'x {A}`", SLOTS)

    assert refused.value.offset == 5
