"""`bash:`, `python:`, `script:` …: text for an interpreter, with values bound outside of it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping

from tongs.core.annotations import TYPE_CHECKING
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Executor, World
from tongs.executors.step import FileOf, Prepared, StepExecutor
from tongs.template.plan import Script, Step
from tongs.template.values import Values, utf8
from tongs.template.words import arguments_words

if TYPE_CHECKING:
    from tongs.template.cmd import CmdScript
    from tongs.template.pwsh import PwshScript
    from tongs.template.shell import Rendered
    from tongs.template.values import Absent

# Keys of Prepared.files.
SCRIPT = "script"
PREAMBLE = "preamble"


def create(executors: Mapping[str, Executor]) -> StepExecutor:
    return StepExecutor(prepare)


def prepare(step: Step, values: Values, world: World) -> Prepared:
    assert isinstance(step.action, Script)
    arguments: list[str] = []
    if step.arguments is not None:
        arguments = arguments_words(step.arguments.render(values))
    return _LANGUAGES[step.action.shell](step.action, values, arguments, world)


def _bash(script: Script, values: Values, arguments: list[str], world: World) -> Prepared:
    rendered: Rendered = script.template.render(values)
    shown = rendered.preamble.removeprefix("unset BASH_ENV\n") + rendered.script
    argv: tuple[str | FileOf, ...] = (
        _interpreter(world, script.shell),
        FileOf(SCRIPT),
        *arguments,
    )
    if not rendered.preamble:
        return Prepared(argv, {SCRIPT: utf8(rendered.script)}, preview=_shown(shown, arguments))
    return Prepared(
        argv,
        {SCRIPT: utf8(rendered.script), PREAMBLE: utf8(rendered.preamble)},
        # Read by bash before the script, which so keeps the author's line numbers.
        {"BASH_ENV": FileOf(PREAMBLE)},
        preview=_shown(shown, arguments),
    )


def _python(script: Script, values: Values, arguments: list[str], world: World) -> Prepared:
    source: str = script.template.render(values)
    return Prepared(
        (_interpreter(world, "python"), FileOf(SCRIPT), *arguments),
        {SCRIPT: source.encode("utf-8", "surrogatepass")},
        preview=_shown(source, arguments),
    )


def _pwsh(script: Script, values: Values, arguments: list[str], world: World) -> Prepared:
    rendered: PwshScript = script.template.render(values)
    program = _interpreter(world, "pwsh")
    return Prepared(
        (program, "-NoProfile", "-NonInteractive", "-File", FileOf("script.ps1"), *arguments),
        {"script.ps1": utf8(rendered.script), "values.json": utf8(rendered.values_json)},
        {"TONGS_VALUES": FileOf("values.json")},
        preview=_shown(f"# values: {rendered.values_json}\n{rendered.script}", arguments),
    )


def _cmd(script: Script, values: Values, arguments: list[str], world: World) -> Prepared:
    if world.platform != "windows":
        raise ToolError(
            ErrorCode.UNSUPPORTED_PLATFORM,
            f"`cmd` scripts run on Windows only, this is {world.platform}",
            hint="add a `bash:` text beside `cmd:`; the platform chooses",
        )
    rendered: CmdScript = script.template.render(values)
    return Prepared(
        (_interpreter(world, "cmd"), "/d", "/c", FileOf("script.cmd"), *arguments),
        # cmd loses its place in files that have only line feeds.
        {"script.cmd": utf8(rendered.script.replace("\n", "\r\n"))},
        rendered.environment,
        preview=_shown(rendered.script, arguments),
    )


def _custom(script: Script, values: Values, arguments: list[str], world: World) -> Prepared:
    """`shell: "zsh {0} {1}"`: the script file and the arguments, as words."""
    rendered: str | Absent = script.template.render(values)
    source = rendered if isinstance(rendered, str) else ""
    argv: list[str | FileOf] = []
    for word in script.command:
        if word == "{1}":
            argv += arguments
        else:
            argv.append(FileOf(SCRIPT) if word == "{0}" else word)
    return Prepared(tuple(argv), {SCRIPT: utf8(source)}, preview=_shown(source, arguments))


_LANGUAGES: Mapping[str, Callable[[Script, Values, list[str], World], Prepared]] = {
    "bash": _bash,
    "sh": _bash,
    "python": _python,
    "pwsh": _pwsh,
    "cmd": _cmd,
    "custom": _custom,
}


def _interpreter(world: World, shell: str) -> str:
    """The configured program for a language, or its usual name, found on PATH when it starts."""
    usual = {"python": "python3"}.get(shell, shell)
    return world.interpreters.get(shell, usual)


def _shown(source: str, arguments: list[str]) -> str:
    text = source.rstrip("\n")
    return text if not arguments else f"set -- {shlex.join(arguments)}\n{text}"
