"""A program under permissions that a person has typed, through the same pipeline as any tool."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.network import within
from tongs.core.permissions import Permissions, covered
from tongs.core.record import dataclass, field
from tongs.core.tool import Level, Tool

if TYPE_CHECKING:
    from tongs.config.places import Places
    from tongs.core.result import ToolResult
    from tongs.runtime import Runtime

# What the audit log calls it. No definition can have this name: a blank is not allowed in one.
NAME = "sandbox run"

# So that the record tells what was run.
_SCHEMA = {
    "type": "object",
    "properties": {"command": {"type": "array", "items": {"type": "string"}}},
    "required": ["command"],
}


@dataclass(frozen=True, slots=True)
class Trial:
    """A program, its words as they are, and all that it may touch; every path is absolute."""

    command: tuple[str, ...]
    permissions: Permissions
    environment: Mapping[str, str] = field(default_factory=dict)
    # Names of `Limits`.
    limits: Mapping[str, Any] = field(default_factory=dict)
    timeout: float | None = None


def tool_of(trial: Trial) -> Tool:
    """A tool that nobody else can call, and that no grant of the config is meant for."""
    from tongs.template.plan import Plan, Process, Step  # noqa: PLC0415 - as the formats do
    from tongs.template.text import TextTemplate  # noqa: PLC0415 - as above
    from tongs.template.words import Word, WordsTemplate  # noqa: PLC0415 - as above

    nothing: frozenset[str] = frozenset()
    # Not compiled from text: a brace or a quote in what was typed means nothing.
    words = tuple(Word((word,), bare=False) for word in trial.command)
    process = Process(WordsTemplate(words, nothing, nothing, windows=False))
    environment = tuple(
        (name, TextTemplate((value,), nothing, nothing))
        for name, value in trial.environment.items()
    )
    return Tool(
        name=NAME,
        input_schema=_SCHEMA,
        executor="process",
        plan=Plan((Step(NAME, process),), {}, environment=environment),
        tags=(Level.RUN.value,),
        permissions=trial.permissions,
        limits=trial.limits,
        timeout=trial.timeout,
        private=True,
    )


def missing_options(result: ToolResult, trial: Trial, runtime: Runtime) -> list[str]:
    """The options that would grant what the failure points at, as they are typed."""
    if result.error is None:
        return []
    return [
        option
        for line in result.error.details.get("grants") or ()
        for option in _options(_parsed(line), trial, runtime.places)
    ]


def _parsed(line: str) -> dict[str, Any]:
    """A line as the explanation gives it, for a definition."""
    from tongs.schema.document import parse  # noqa: PLC0415 - for failures only

    data = parse(line.encode(), "grant").data
    return data if isinstance(data, dict) else {}


def _options(block: Mapping[str, Any], trial: Trial, places: Places) -> Iterator[str]:
    given = trial.permissions
    wanted = Permissions.from_data(block.get("permissions") or {})
    wanted = wanted.resolved(places.root, places.home)
    if not within(wanted.network, given.network):
        hosts = () if isinstance(wanted.network, bool) else wanted.network
        yield from (f"--host {host}" for host in hosts if not within((host,), given.network))
        if wanted.network is True:
            yield "--network"
    for option, paths, had in (
        ("--read", wanted.read, given.readable),
        ("--write", wanted.write, given.write),
    ):
        yield from (f"{option} {_typed(p, places.cwd)}" for p in paths if not covered(p, had))
    limits = block.get("limits") or {}
    yield from (f"--{name} {limits[name]}" for name in ("memory", "processes") if name in limits)


def _typed(path: str, cwd: str) -> str:
    import shlex  # noqa: PLC0415 - for failures only

    near = os.path.relpath(path, cwd) if covered(path, (cwd,)) else path
    return shlex.quote(near)


def granted_environment(wanted: Sequence[tuple[str, str | None]]) -> dict[str, str]:
    """Variables to set; None for a value takes the person's own, and skips what is not set."""
    from tongs.config.environment import host_environment  # noqa: PLC0415 - the one way to it

    host = host_environment()
    found = {name: host.get(name) if value is None else value for name, value in wanted}
    return {name: value for name, value in found.items() if value is not None}
