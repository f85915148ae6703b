"""`tongs tool validate`: one tool, step by step, while it is being written."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

import os

from tongs.core.annotations import TYPE_CHECKING
from tongs.core.errors import ErrorCode, ToolError
from tongs.output import visible
from tongs.surfaces.cli.failure import OK, USAGE, result_json
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser, add_scope_options

if TYPE_CHECKING:
    from tongs.registry import Entry
    from tongs.runtime.probing import Step

_COLORS = {"ok": "green", "FAIL": "red", "note": "yellow"}


def options(parser: Parser) -> None:
    parser.add_argument("what", metavar="FILE|NAME")
    parser.add_argument("--yes", action="store_true")
    parser.add_argument("--json", action="store_true")
    add_scope_options(parser, default="any")


def run(invocation: Invocation) -> int:
    from tongs.runtime.probing import State
    from tongs.runtime.validating import Validating

    validating = Validating(invocation.runtime, lambda path: _may_run(invocation, path))
    steps = []
    for step in validating.steps(_entry(invocation)):
        steps.append(step)
        if not invocation.options.json:
            _show(invocation, step)
    failed = any(step.state is State.FAIL for step in steps)
    if invocation.options.json:
        wire = {"ok": not failed, "steps": [step.to_wire() for step in steps]}
        invocation.console.data(result_json(wire))
    return USAGE if failed else OK


def _entry(invocation: Invocation) -> Entry:
    word = invocation.options.what
    catalogue = invocation.runtime.definitions.catalogue
    if os.path.sep not in word and not os.path.isfile(word):
        return catalogue.entry(word, invocation.scope)
    if not os.path.exists(word):
        raise ToolError(ErrorCode.TOOL_NOT_FOUND, f"there is no file or folder `{word}`")
    return catalogue.folders.entry_at(word)


def _may_run(invocation: Invocation, path: str) -> bool:
    """Whether `description` of a file that nobody has trusted may run, behind walls."""
    if invocation.options.yes:
        return True
    terminal = invocation.terminal()
    if terminal is None:
        return False
    terminal.show(f"nobody has accepted {path} yet; it would run with no permissions at all")
    return terminal.agrees("run its `description` and `config` in the sandbox?")


def _show(invocation: Invocation, step: Step) -> None:
    """On one line each, so that nothing in a file can fake a step."""
    console = invocation.console
    state = step.state.value
    mark = console.paint(f"{state:<4}", _COLORS[state])
    lines = [f"{mark}  {step.name}: {_line(step.text)}"]
    lines += [f"        {_line(line)}" for line in step.lines]
    if step.hint:
        lines.append(f"        hint: {_line(step.hint)}")
    for line in lines:
        console.styled(f"{line}\n")
    console.flush()


def _line(text: str) -> str:
    return visible(" ".join(text.splitlines()))
