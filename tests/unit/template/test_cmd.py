"""Values in batch scripts: references, marks, and what cmd would read twice."""

from typing import Any

import pytest

from tongs.template import cmd
from tongs.template.cmd import CmdScript
from tongs.template.values import Slot, TemplateError, ValueRefused

SLOTS = {
    "A": Slot("A"),
    "B": Slot("B"),
    "N": Slot("N", "integer"),
    "KIND": Slot("KIND", closed=True),
    "WIDE": Slot("WIDE", "boolean", true_value="/w"),
}
PROLOGUE = "@setlocal EnableExtensions EnableDelayedExpansion\n"


def render(text: str, **values: Any) -> CmdScript:
    return cmd.compile(text, SLOTS).render(values)


def body(text: str, **values: Any) -> str:
    return render(text, **values).script.removeprefix(PROLOGUE)


def test_values_travel_in_variables() -> None:
    hostile = '& del * | "%PATH%" ^ !X!'

    assert render('echo {A} "{A}" {B} {JSON:A}', A=hostile, B=5.0) == CmdScript(
        PROLOGUE + 'echo !__T0! "!__T0!" !__T1! !__T2!',
        {"__T0": hostile, "__T1": "5", "__T2": '& del * | \\"%PATH%\\" ^ !X!'},
    )


def test_an_absent_value_is_an_unset_variable() -> None:
    assert render("echo [{A}]") == CmdScript(PROLOGUE + "echo [!__T0!]", {})


def test_a_script_without_placeholders_is_unchanged() -> None:
    assert render("echo hi! ^^ | more\n") == CmdScript("echo hi! ^^ | more\n", {})


def test_the_authors_exclamation_marks_stay_marks() -> None:
    assert body('echo hi! ^! "no!" {A}\necho yes!\r\necho ^& {A}') == (
        'echo hi^^! ^^! "no^!" !__T0!\necho yes^^!\r\necho ^& !__T0!'
    )


def test_an_author_who_expands_by_marks_keeps_them() -> None:
    script = 'setlocal EnableDelayedExpansion\nset "X={A}"\necho !X! ^^!'

    assert body(script) == 'setlocal EnableDelayedExpansion\nset "X=!__T0!"\necho !X! ^^!'


def test_a_comment_keeps_the_placeholder_unused() -> None:
    text = "rem {A}!\n@REM {A}\n:: {A} | x\necho ok"
    template = cmd.compile(text, SLOTS)

    assert template.render({}) == CmdScript(PROLOGUE + text, {})
    assert template.names == frozenset()


def test_carets_without_values_or_marks_stay() -> None:
    assert body('echo ^^ "a^b" ^\n x | more\necho {A} ^\n & echo') == (
        'echo ^^ "a^b" ^\n x | more\necho !__T0! ^\n & echo'
    )


def test_a_mapped_boolean_inserts_the_authors_code() -> None:
    assert body('dir {WIDE} "{WIDE}"', WIDE=True) == 'dir /w "!__T0!"'
    assert body("dir {WIDE}", WIDE=False) == "dir "


def test_raw_and_doubled_braces() -> None:
    template = cmd.compile("echo {RAW:A} {{A}} | more", SLOTS)

    assert template.render({"A": "a & b"}).script == PROLOGUE + "echo a & b {A} | more"
    assert (template.names, template.raw_names) == (frozenset("A"), frozenset("A"))


@pytest.mark.parametrize("value", ["a\nb", "a\r", "a\0", "x" * 8001])
def test_what_no_variable_can_carry_is_refused(value: str) -> None:
    with pytest.raises(ValueRefused):
        render("echo {A}", A=value)


@pytest.mark.parametrize(
    "line",
    [
        "echo {A} | more",
        "type x ^\n| find {A}",
        "call other {A}",
        "for %%i in ({A}) do echo %%i",
        "if exist x (call y {A})",
        "for /l %%i in (1,1,3) do call x {A}",
        'cmd /c "echo {A}"',
        "C:\\Windows\\cmd.exe /c {A}",
        "start {A}",
        "set /a X={A}+1",
        "set X={A}\necho %X%",
        'set "X={A}"\necho %x:~0,1%',
    ],
)
def test_what_cmd_would_read_twice_is_refused(line: str) -> None:
    with pytest.raises(TemplateError) as refused:
        cmd.compile(line, SLOTS)

    assert refused.value.rule == "second-interpreter"


@pytest.mark.parametrize(
    "line",
    [
        "echo {N} | more",
        "call other {KIND}",
        "set /a X={N}+1",
        'echo "a | b {A}"',
        "echo {A} ^| x",
        "echo {A} || echo failed",
        "recall {A}",
        "set X={A}\necho !X!",
        "call other\necho {A}",
    ],
)
def test_what_is_read_once_or_harmless_is_allowed(line: str) -> None:
    cmd.compile(line, SLOTS)


@pytest.mark.parametrize(
    "text",
    ["endlocal\necho {A}", "setlocal DisableDelayedExpansion\necho {A}", 'echo "a^b" {A}',
     "echo ^^ {A}", "echo ^{A}", "echo {A} ! ^^"],
)  # fmt: skip
def test_on_doubt_the_script_is_refused(text: str) -> None:
    with pytest.raises(TemplateError):
        cmd.compile(text, SLOTS)
