"""Values in PowerShell scripts: references per context, the values file, refusals."""

import json
from typing import Any

import pytest

from tongs.template import pwsh
from tongs.template.values import ABSENT, Slot, TemplateError

SLOTS = {
    "A": Slot("A"),
    "B": Slot("B"),
    "L": Slot("L", "array"),
    "N": Slot("N", "number"),
    "KIND": Slot("KIND", closed=True),
    "FLAG": Slot("FLAG", "boolean"),
    "ALL": Slot("ALL", "boolean", true_value="-Recurse"),
}
READ = "$__values = [System.IO.File]::ReadAllText($env:TONGS_VALUES) | ConvertFrom-Json; "
T0 = "${__t0} = $__values.t0.Substring(1); "
S0 = "${__s0} = $__values.s0.Substring(1); "


def body(text: str, **values: Any) -> str:
    """The script without its preamble."""
    script = pwsh.compile(text, SLOTS).render({"A": "v", **values}).script
    return script.removeprefix(READ).removeprefix(T0).removeprefix(S0)


def stored(text: str, **values: Any) -> Any:
    return json.loads(pwsh.compile(text, SLOTS).render(values).values_json)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Get-Item {A}", "Get-Item ${__t0}"),
        ("f ({A}) --x={A} $h[{A}]", "f (${__t0}) --x=${__t0} $h[${__t0}]"),
        ('"x{A}y"', '"x${__s0}y"'),
        ('"say ""{A}"" `"{A}"', '"say ""${__s0}"" `"${__s0}"'),
        ("“{A}„", "“${__s0}„"),
        ("'x{A}y'", '"x${__s0}y"'),
        ("'it''s $x `n \"q\" {A}'", '"it\'s `$x ``n `"q`" ${__s0}"'),
        ("‘‚‛’’{A}“’", '"‚’${__s0}`“"'),
        ('@"\n"{A}" $x\n"@', '@"\n"${__s0}" $x\n"@'),
        ('@"\n`n{A}\n"@ + 1', '@"\n`n${__s0}\n"@ + 1'),
        ("@'\n$x `n '' {A}\n\"@\n'@", '@"\n`$x ``n \'\' ${__s0}\n`"@\n"@'),
        ("@’ \r\n{A}\r\n‘@", '@" \r\n${__s0}\r\n"@'),
        ('"$(Get-Item {A}) (b)"', '"$(Get-Item ${__t0}) (b)"'),
        ("\"$(f 'a{A}' (1) )\"", '"$(f "a${__s0}" (1) )"'),
        ('"${env:X"}{A}"', '"${env:X"}${__s0}"'),
        ('"$x{A}"', '"$x${__s0}"'),
        ("${a'b} = {A}", "${a'b} = ${__t0}"),
        ("a `' {A}", "a `' ${__t0}"),
        ("a#b\n{A}", "a#b\n${__t0}"),
        ("x --% 1 2\n{A}", "x --% 1 2\n${__t0}"),
        ("1 < 2; @(1) {A}", "1 < 2; @(1) ${__t0}"),
        ("'{{A}} $x' {A}", "'{A} $x' ${__t0}"),
        ("@'\n{{A}} $x\n'@\n{A}", "@'\n{A} $x\n'@\n${__t0}"),
        ("{RAW:A} '{RAW:A}' \"{RAW:A}\"", "v 'v' \"v\""),
    ],
)
def test_a_reference_fits_its_context(text: str, expected: str) -> None:
    script = pwsh.compile(text, SLOTS).render({"A": "v"}).script

    assert script.endswith(expected)
    assert body(text).removeprefix(T0).removeprefix(S0) == expected


@pytest.mark.parametrize(
    "text", ["# {A} ' \"\n1", "<# {A} ' \n #>1", "f;#{A}", "(1)#{A}", "{RAW:B} # {{A}}"]
)
def test_a_comment_keeps_the_placeholder_unused(text: str) -> None:
    template = pwsh.compile(text, SLOTS)

    assert template.names <= {"B"}
    assert template.render({"B": "{RAW:B}"}) == pwsh.PwshScript(text, "{}")


def test_a_script_without_placeholders_is_unchanged() -> None:
    assert pwsh.compile("'open {x}", SLOTS).render({}) == pwsh.PwshScript("'open {x}", "{}")


def test_values_travel_in_the_file_only() -> None:
    hostile = "'; iex 'x' #\n\"$(x)`’\ud800"
    script = pwsh.compile("f {A} '{A}'", SLOTS).render({"A": hostile})

    assert script.script == READ + T0 + S0 + 'f ${__t0} "${__s0}"'
    assert json.loads(script.values_json) == {"t0": "=" + hostile, "s0": "=" + hostile}
    assert script.values_json.isascii()


def test_types_survive_in_code_and_are_text_in_quotes() -> None:
    text = "f {L} {N} {FLAG} {A} '{L} {N} {FLAG} {A}'"
    values = {"L": [1, "2024-01-01", True, {"k": 1}], "N": 2.5, "FLAG": True}

    assert stored(text, **values) == {
        "t0": [1, "=2024-01-01", True, '={"k": 1}'], "t1": 2.5, "t2": True, "t3": None,
        "s0": '=1 2024-01-01 true {"k": 1}', "s1": "=2.5", "s2": "=true", "s3": "=",
    }  # fmt: skip
    script = pwsh.compile(text, SLOTS).render(values).script
    assert "${__t1} = $__values.t1; " in script
    assert "${__t0} = @($__values.t0 | ForEach-Object {" in script


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, None), (ABSENT, None), ({"a": 1}, '={"a": 1}'), (float("inf"), "=inf"), ([], [])],
)
def test_what_has_no_own_type_is_text(value: Any, expected: Any) -> None:
    assert stored("f {A}", A=value) == {"t0": expected}


def test_modes_are_variables_of_their_own() -> None:
    assert stored("f {A} {URL:A} '{URL:A}'", A="a b") == {
        "t0": "=a b", "t1": "=a%20b", "s1": "=a%20b",
    }  # fmt: skip


def test_a_mapped_boolean_inserts_the_authors_code() -> None:
    assert body("ls {ALL}", ALL=True) == "ls -Recurse"
    assert body("ls {ALL}", ALL=False) == "ls "
    assert stored("'{ALL}'", ALL=True) == {"s0": "=-Recurse"}


@pytest.mark.parametrize("code", ["'open", "x #", "x `", '"'])
def test_the_authors_code_for_a_boolean_must_be_complete(code: str) -> None:
    with pytest.raises(TemplateError):
        pwsh.compile("f {X}", {"X": Slot("X", "boolean", false_value=code)})


def test_the_names_in_use_are_known() -> None:
    template = pwsh.compile("f {A} {RAW:B}", SLOTS)

    assert (template.names, template.raw_names) == (frozenset("AB"), frozenset("B"))


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("f 'open {A}", 2),
        ('f "open {A}', 2),
        ('f "x""{A}', 2),
        ("@'\n{A}", 0),
        ('@"\n{A}', 0),
        ('"$(f {A}"', 8),
        ('"$(f {A}', 0),
        ('@"\n$(f {A}\n"@', 11),
        ("<# {A}", 0),
        ("{A} ${x", 4),
        ('"{A}${x"', 4),
        ("f `{A}", 2),
        ('"`{A}"', 1),
        ("a#{A}", 1),
        ("a#'\n{A}", 1),
        ('"$(a#b\n){A}"', 4),
        ("x --% {A}", 2),
        ("'{A}{RAW:B}'", 0),
        ("{A}.txt", 0),
        ("{A}[0]", 0),
        ("{A}::x", 0),
        ("@{A}", 1),
        ('"$(' * 30 + "{A}", 60),
        ("# x\n<# y #> param($x)\n{A}", 12),
        ("using namespace X\n{A}", 0),
        ("[CmdletBinding()]param()\n'{A}'", 0),
    ],
)
def test_on_doubt_the_script_is_refused(text: str, offset: int) -> None:
    with pytest.raises(TemplateError) as refused:
        pwsh.compile(text, SLOTS)

    assert refused.value.offset == offset


@pytest.mark.parametrize(
    "text",
    [
        "iex {A}",
        'Invoke-Expression "ls {A}"',
        "$c = 'ls {A}'\niex $c",
        "[ScriptBlock]::Create('{A}')",
        "$ExecutionContext.InvokeCommand.ExpandString('{A}')",
        'pwsh -Command "ls {A}"',
        "powershell.exe -NoProfile -c {A}",
        "pwsh `\n -c {A}",
        "pwsh `\r\n -c {A}",
        "pwsh -enc {A}",
        "cmd /c dir {A}",
        "bash -lc 'ls {A}'",
        'python -c "\nprint({A})"',
    ],
)
def test_program_text_is_refused(text: str) -> None:
    with pytest.raises(TemplateError) as refused:
        pwsh.compile(text, SLOTS)

    assert refused.value.rule == "second-interpreter"


@pytest.mark.parametrize(
    "text",
    [
        "iex {N}",
        "iex '{KIND}' {{A}}",
        "iex {RAW:A}",
        "# not iex\nls {A}",
        "pwsh -ExecutionPolicy Bypass -File x.ps1 {A}",
        "pwsh -c 'ls'\nls {A}",
        "pwsh -c 'ls'\r\nls {A}",
        "ls complex-iex-name {A}",
    ],
)
def test_harmless_program_text_is_allowed(text: str) -> None:
    pwsh.compile(text, SLOTS)
