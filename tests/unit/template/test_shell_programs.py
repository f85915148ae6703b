"""A value never becomes the program of a second interpreter, nor chooses the program."""

from pathlib import Path

import pytest
from tests import real_shell

from tongs.template import shell
from tongs.template.shell import Rendered
from tongs.template.values import Slot, TemplateError

SLOTS = {
    **{name: Slot(name) for name in ("A", "B", "FILE", "s.output")},
    "N": Slot("N", "integer"),
    "FLAG": Slot("FLAG", "boolean"),
    "E": Slot("E", closed=True),
    "L": Slot("L", "array"),
}

RUN_AS_CODE = [
    'bash -c "echo {A}"',
    "sh -c 'echo {A}'",
    'bash -lc "x {A}"',
    'bash -e -c "x {A}"',
    "/bin/bash -c {A}",
    'env X=1 bash -c "{A}"',
    'sudo -u root sh -c "{A}"',
    'nohup nice -n 5 bash -c "{A}" &',
    'timeout 5 bash -c "{A}"',
    'eval "x {A}"',
    "eval {A}",
    'ssh host "ls {A}"',
    "ssh -p 22 host ls {A}",
    "ssh host -p 22 ls {A}",
    'su - bob -c "x {A}"',
    'su -c "x {A}" bob',
    'awk "/{A}/ {print}" f',
    "awk -F: '{print \"{A}\"}' f",
    'sed "s/x/{A}/" f',
    'sed -n -e "/{A}/p" f',
    'sed -ne "/{A}/p" f',
    'sed -i.bak f -e "s/{A}/x/"',
    'jq ".{A}" f',
    "jq -r '.x == \"{A}\"' f",
    "cat f | jq '.[\"{A}\"]'",
    "perl -e \"print '{A}'\"",
    'perl -lane "print {A}" f',
    "python -c \"print('{A}')\"",
    "python3 -c \"print('{A}')\"",
    'python3.11 -c "{A}"',
    "ls | xargs sh -c 'echo {A}'",
    'ls | xargs -I% bash -c "echo % {A}"',
    r"find . -exec sh -c 'echo {A}' \;",
    'find . -name x -execdir bash -c "{A}" {} +',
    'trap "rm {A}" EXIT',
    "source <(echo {A})",
    "bash <(echo {A})",
    ". /dev/stdin <<< {A}",
    'bash <<< "{A}"',
    "bash <<EOF\necho {A}\nEOF",
    "ssh host <<EOF\necho {A}\nEOF",
    "ssh host bash -s <<EOF\necho {A}\nEOF",
    "echo {A} | bash",
    "printf '%s' \"{A}\" | sudo sh",
    "cat <<EOF | bash\necho {A}\nEOF",
    'docker exec c sh -c "ls {A}"',
    'kubectl exec p -- bash -c "ls {A}"',
    '$(bash -c "{A}")',
    'echo `bash -c "{A}"`',
    'if bash -c "{A}"; then x; fi',
    'x | while read y; do eval "{A}"; done',
    "case x in a) eval {A};; esac",
    "let x={A}",
    'let "x = {A}"',
    "declare -i x={A}",
    "declare -i n; n={A}",
    "unset {A}",
    "read {A}",
    "printf -v {A} x",
    "test -v {A}",
    "[ -v {A} ]",
    "[[ -v {A} ]]",
    "[[ {A} -eq 1 ]]",
    '[[ 1 -lt "{A}" ]]',
    "echo $(( {A} + 1 ))",
    "(( x = {A} ))",
    "a[{A}]=1",
    "echo ${a[{A}]}",
    "echo ${x:{A}:1}",
    "a=( [{A}]=1 )",
    "for ((i=0; i<{A}; i++)); do x; done",
    "echo $(( $(echo {A}) + 1 ))",
    "echo $[ {A} ]",
    "PS4={A}",
    "BASH_ENV={A} bash x",
    "env BASH_ENV={A} bash x",
    'alias x="{A}"',
    'watch "ls {A}"',
    "node -e \"x('{A}')\"",
    'command bash -c "{A}"',
    'exec bash -c "{A}"',
    'time bash -c "{A}"',
    'time -p bash -c "{A}"',
    '! bash -c "{A}"',
    '{ bash -c "{A}"; }',
    "( eval {A} )",
    'flock f -c "x {A}"',
    'env -S "x {A}"',
    "export {A}=1",
    "eval {A}>f",
    'busybox sh -c "{A}"',
    'bash -o pipefail -c "{A}"',
    'php -r "{A}"',
    'ruby -e "{A}"',
    r'\bash -c "{A}"',
    '"bash" -c "{A}"',
    'declare "{A}=1"',
    'declare "$(echo {A})=1"',
    'declare "$x$(echo $(echo {A}))=1"',
    "local -n x={A}",
]
CHOOSES_THE_PROGRAM = [
    "{A} x",
    '"{A}" x',
    "./{A}",
    "sudo {A}",
    "env {A} x",
    "timeout 5 {A}",
    "xargs {A}",
    "{L}",
]
HARMLESS = [
    "jq '.x' {FILE}",
    "jq --arg a {A} '.[$a]' f",
    "jq '.x' f --arg a {A}",
    "echo '{s.output}' | jq '.a | {b: .c}'",
    "echo '{s.output}' | jq 'group_by(.a.b) | map({author: .[0].c, n: length}) | reverse'",
    "printf {A}",
    "printf -- {A} x",
    "printf 'x{A}' {B}",
    r"""echo '{s.output}' | jq -r '.[] | "\(.author): \(.count) commits"'""",
    "awk -v x={A} '{print x}' f",
    "awk '{print $1}' {FILE}",
    "awk -F {A} '{print $1}'",
    "sed -n 1p {FILE}",
    "sed -e 's/a/b/' {FILE}",
    "sed -f prog.sed {FILE}",
    "bash -c 'echo \"$1\"' _ {A}",
    "bash {FILE}",
    "bash script.sh {A}",
    "python3 script.py {A}",
    "python3 -m http.server --directory {A}",
    "python3 -c 'import sys; print(sys.argv[1])' {A}",
    "ssh {A} uptime",
    "ssh -i {FILE} host uptime",
    "su {A}",
    r'find {A} -name "{B}" -exec grep x {} \;',
    'find . -exec grep "{A}" {} +',
    "xargs -a {FILE} rm",
    "ls | xargs -I% cp % {A}",
    "trap 'rm -f \"$f\"' EXIT; f={A}",
    "source {FILE}",
    'curl "x/{A}" | bash',
    "cat {FILE} | bash",
    "command -v {A}",
    "env X={A} ls",
    "sudo -u {A} ls",
    "timeout {A} ls",
    "PATH={A}:$PATH ls",
    "read -p {A} x",
    "read -r x <<< {A}",
    "printf '%s' {A}",
    "[[ $(wc -l < {FILE}) -gt 3 ]]",
    "[[ {A} == x* ]]",
    "[ {A} -eq 1 ]",
    "echo $(( $(wc -l < {FILE}) + 1 ))",
    "echo $(( {N} + 1 ))",
    'bash -c "sleep {N}"',
    'bash -c "{RAW:A}"',
    'ssh host "restart {E}"',
    "{RAW:A} x",
    "{E} x",
    "export X={A}",
    'declare -r X="{A}"',
    "local x={A}",
    "for x in {A} {L}; do echo; done",
    "docker run -e X={A} image",
    "docker exec c ls {A}",
    "git log --format={A}",
    "echo bash -c {A}",
    "grep -e {A} f",
    "echo \"{A}\" | ssh host 'cat > f'",
    "cat <<EOF | ssh host 'cat > f'\n{A}\nEOF",
    "psql -c x <<EOF\n{A}\nEOF",
    "case {A} in x) echo;; esac",
    'if [ "{A}" = y ]; then echo; fi',
    "python3 script.py <<EOF\n{A}\nEOF",
    "perl -ne 'print' < {FILE}",
    "perl -i -pe 's/a/b/' {FILE}",
    "echo {A} > {FILE} 2>&1",
    "curl -s 'wttr.in/{A}?format={B}'",
    "node script.js {A}",
    "xargs -n1 echo {A}",
    "env | grep {A}",
    "time ls {A}",
    "exec 3< {FILE}",
    "test {A} = x",
    "a[{N}]=1",
    "unset x; echo {A}",
    "let x={N}",
]

# A template that is refused, and a value that shows why: with it, plain replacement runs code.
# Binding the value to a variable does not help, since the second interpreter reads it again.
ATTACKS = [
    ('bash -c "echo {A}"', "; touch canary"),
    ("sh -c 'echo {A}'", "; touch canary"),
    ('env X=1 nice -n 1 bash -c "echo {A}"', "; touch canary"),
    ("timeout 5 bash -c 'echo {A}'", "; touch canary"),
    ("command bash -c 'echo {A}'", "; touch canary"),
    ("exec bash -c 'echo {A}'", "; touch canary"),
    ("eval 'echo {A}'", "; touch canary"),
    ("awk 'BEGIN { print \"{A}\" }'", '" system("touch canary") "'),
    ("echo x | sed 's/x/{A}/'", "/e;e touch canary\n#"),
    ("perl -e 'print \"{A}\"'", '"; system("touch canary"); "'),
    ("python3 -c 'print(\"{A}\")'", '"); import os; os.system("touch canary"); ("'),
    ("echo x | xargs sh -c 'echo {A}'", "; touch canary"),
    (r"find . -maxdepth 0 -exec sh -c 'echo {A}' \;", "; touch canary"),
    ("trap 'echo {A}' EXIT", "; touch canary"),
    ("source <(echo 'echo {A}')", "; touch canary"),
    ("bash <(echo 'echo {A}')", "; touch canary"),
    ("bash <<< 'echo {A}'", "; touch canary"),
    ("bash <<EOF\necho {A}\nEOF", "; touch canary"),
    ("cat <<EOF | bash\necho {A}\nEOF", "; touch canary"),
    ("echo 'echo {A}' | bash", "; touch canary"),
    ("printf '%s' 'echo {A}' | env sh", "; touch canary"),
    ("echo $(( {A} ))", "a[$(touch canary)]"),
    ("echo $(( $(echo '{A}') ))", "a[$(touch canary)]"),
    ("(( x = {A} ))", "a[$(touch canary)]"),
    ("let 'x = {A}'", "a[$(touch canary)]"),
    ("[[ '{A}' -eq 1 ]]", "a[$(touch canary)]"),
    ("[[ -v '{A}' ]]", "a[$(touch canary)]"),
    ("test -v '{A}'", "a[$(touch canary)]"),
    ("declare -i x='{A}'", "a[$(touch canary)]"),
    ("declare -i x; x='{A}'", "a[$(touch canary)]"),
    ("a['{A}']=1", "$(touch canary)"),
    ("x=abc; echo ${x:'{A}'}", "a[$(touch canary)]"),
    ("a=(1); unset '{A}'", "a[$(touch canary)]"),
    ("read '{A}' <<< x", "a[$(touch canary)]"),
    ("printf -v '{A}' x", "a[$(touch canary)]"),
    ("printf '{A}' x", "-va[$(touch canary)]"),
    ("PS4='{A}'; set -x; :", "$(touch canary)"),
    ("BASH_ENV='{A}' bash -c :", "$(touch canary)"),
    ("{A}", "touch canary"),
]


def refusal(text: str, dialect: str = "bash") -> TemplateError:
    with pytest.raises(TemplateError) as refused:
        shell.compile(text, SLOTS, dialect=dialect)
    return refused.value


@pytest.mark.parametrize("text", RUN_AS_CODE)
def test_a_value_in_a_second_program_is_refused(text: str) -> None:
    error = refusal(text)

    assert error.rule == "second-interpreter"
    assert text[error.offset :].startswith(("{A}", "{L}"))
    assert error.hint != ""


@pytest.mark.parametrize("text", CHOOSES_THE_PROGRAM)
def test_a_value_that_chooses_the_program_is_refused(text: str) -> None:
    error = refusal(text)

    assert (error.rule, error.hint != "") == ("program-name", True)


@pytest.mark.parametrize("text", HARMLESS)
def test_a_value_elsewhere_in_such_a_command_is_fine(text: str) -> None:
    assert shell.check_programs(text, SLOTS) == []
    assert shell.compile(text, SLOTS).names


@pytest.mark.parametrize("text", [*RUN_AS_CODE, *CHOOSES_THE_PROGRAM])
@pytest.mark.parametrize("harmless", ["{E}", "{N}", "{FLAG}", "{RAW:A}"])
def test_numbers_booleans_enums_and_raw_may_stand_there(text: str, harmless: str) -> None:
    text = text.replace("{A}", harmless).replace("{L}", harmless)

    assert shell.compile(text, SLOTS).names


@pytest.mark.parametrize(("text", "attack"), ATTACKS)
def test_what_is_refused_would_run_the_value(text: str, attack: str, tmp_path: Path) -> None:
    real_shell.run(Rendered(text.replace("{A}", attack), ""), tmp_path)

    assert (tmp_path / real_shell.CANARY).exists()
    assert refusal(text).rule in ("second-interpreter", "program-name")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('bash -c "x {A}"', """pass the value as an argument: bash -c '… "$1"' _ {A}"""),
        ("jq '.{A}'", "pass the value as a variable: jq --arg value {A} '… $value …'"),
        ("awk '/{A}/'", "pass the value as a variable: awk -v value={A} '… value …'"),
    ],
)
def test_the_refusal_shows_the_safe_form(text: str, hint: str) -> None:
    assert refusal(text).hint == hint


@pytest.mark.parametrize(
    "text",
    [
        """bash -c 'printf %s "$1"' _ {A}""",
        "jq -rn --arg value {A} '$value'",
        "awk -v value={A} 'BEGIN { printf \"%s\\n\", value }'",
        "python3 -c 'import sys; print(sys.argv[1])' {A}",
        "perl -e 'print $ARGV[0]' -- {A}",
        "value={A}; trap 'printf %s \"$value\"' EXIT",
        "echo x | xargs sh -c 'printf %s \"$1\"' _ {A}",
    ],
)
def test_the_safe_forms_are_safe(text: str, tmp_path: Path) -> None:
    value = """it's; "$(touch canary)"; touch canary"""

    out = real_shell.output(text, {"A": value}, tmp_path)

    assert out.decode().rstrip("\n") == value
    assert not (tmp_path / real_shell.CANARY).exists()


def test_every_place_is_reported_once_in_the_order_of_the_text() -> None:
    text = 'eval "{A}" {B}; ls {A}; sh -c "{B}" {A}; awk {FILE}'

    found = shell.check_programs(text, SLOTS)

    assert [text[error.offset :][:3] for error in found] == ["{A}", "{B}", "{B}", "{FI"]


def test_a_definition_that_passed_before_is_not_checked_again() -> None:
    assert shell.compile("eval {A}", SLOTS, checked=True).names == {"A"}


@pytest.mark.parametrize("text", ["echo $(( {A} ))", "a[{A}]=1"])
def test_arithmetic_is_refused_even_then(text: str) -> None:
    with pytest.raises(TemplateError):
        shell.compile(text, SLOTS, checked=True)


def test_escaped_placeholder_among_options_is_the_authors_text() -> None:
    assert shell.check_programs("sed -{{A}}n 1p {A}", {"A": Slot("A")}) == []
