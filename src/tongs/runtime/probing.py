"""Steps of the story of a tool, and those in which an executable says what it is."""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Mapping
from enum import Enum

from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.errors import ToolError
from tongs.core.execution import Completed
from tongs.core.record import dataclass
from tongs.core.tool import Origin
from tongs.formats.executable import CONFIG, DESCRIPTION
from tongs.output import decoded
from tongs.runtime.describing import has_timeout, read_description
from tongs.sandbox.failures import interpreter_missing

if TYPE_CHECKING:
    from tongs.runtime.describing import Describer


class State(Enum):
    OK = "ok"
    FAIL = "FAIL"
    # Nothing is wrong with the tool, but the person should know.
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that was looked at. `lines` are more of it, `hint` what to do."""

    name: str
    state: State
    text: str
    lines: tuple[str, ...] = ()
    hint: str = ""

    def to_wire(self) -> dict[str, Any]:
        return {
            "step": self.name,
            "state": self.state.value.lower(),
            "text": self.text,
            "lines": list(self.lines),
            "hint": self.hint,
        }


class Stopped(Exception):
    """Nothing further can be said; carries the step that failed."""

    def __init__(self, step: Step) -> None:
        super().__init__(step.text)
        self.step = step


def probed(
    describer: Describer, origin: Origin, data: bytes
) -> Generator[Step, None, Mapping[str, Any]]:
    """`description`, run now and not taken from the cache, with all that it wrote to stderr."""
    try:
        said, took = _answered(describer, origin, data, DESCRIPTION)
    except ToolError as error:
        reason, hint = interpreter_missing(data) or (error.message, error.hint)
        raise Stopped(Step("probe", State.FAIL, reason, hint=hint)) from None
    description: Mapping[str, Any]
    problem, description = read_description(said)
    if problem:
        text = problem.partition("`description` ")[2].split("\n")[0]
        raise Stopped(Step("probe", State.FAIL, f"`description` {text}", _stderr(said)))
    text = f"`description` answered {len(said.stdout)} bytes in {took:.0f} ms"
    yield Step("probe", State.OK, text, _stderr(said))
    return description


def configured(
    describer: Describer, origin: Origin, data: bytes
) -> Generator[Step, None, Mapping[str, Any]]:
    """`config`, which nobody has to know."""
    try:
        said, _ = _answered(describer, origin, data, CONFIG)
        answer: Any = json.loads(said.stdout) if said.exit_code == 0 else None
    except (ToolError, ValueError, RecursionError):
        answer = None
    if has_timeout(answer):
        yield Step("probe", State.OK, f"`config` sets the timeout to {answer['timeout']}")
        return {"timeout": answer["timeout"]}
    yield Step("probe", State.OK, "`config` is not answered, and need not be")
    return {}


def _answered(
    describer: Describer, origin: Origin, data: bytes, verb: str
) -> tuple[Completed, float]:
    begun = time.monotonic()
    said = describer.answer(origin, data, verb)
    return said, (time.monotonic() - begun) * 1000


def _stderr(said: Completed) -> tuple[str, ...]:
    return tuple(f"stderr: {line}" for line in decoded(said.stderr).splitlines()[-20:])


def first_line(data: bytes) -> str:
    line = decoded(data[:200].partition(b"\n")[0])
    return f"starts with {line}" if line.startswith("#!") else "a program without `#!`"
