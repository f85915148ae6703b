"""A tool: the one thing all five sources become."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum

from tongs.core.annotations import Any, Protocol
from tongs.core.errors import ToolError
from tongs.core.permissions import Bound, Permissions
from tongs.core.record import dataclass, field
from tongs.core.scope import Scope


class Level(StrEnum):
    """How much a tool claims to do; each covers the ones before it."""

    READ = "read"
    WRITE = "write"
    RUN = "run"

    @property
    def rank(self) -> int:
        return _RANKS[self]


# Asked several times per call, and iterating an enum is slow.
_RANKS = {level: rank for rank, level in enumerate(Level)}
_WIDEST_FIRST = tuple(reversed(Level))


class Trust(StrEnum):
    """Whether a definition may run, and why."""

    PLACE = "place"
    ACCEPTED = "accepted"
    # Its author works on it, and said so for a while.
    DEV = "dev"
    UNTRUSTED = "untrusted"
    CHANGED = "changed"
    # An agent created or changed it, and no person has read it as it is now.
    REVIEW = "review"

    @property
    def holds(self) -> bool:
        return self in (Trust.PLACE, Trust.ACCEPTED, Trust.DEV)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a definition was read from; `digest` is the hash of the very bytes that were read."""

    scope: Scope = Scope.LOCAL
    path: str = ""
    format: str = "python"
    # Which folder family: "tongs", or the foreign "cycod", "kodelet", "glee".
    family: str = "tongs"
    digest: str = ""
    # The project the definition belongs to; None in user and global scope.
    project: str | None = None
    # Which tool of a file that may define several.
    member: str = ""

    @property
    def qualifier(self) -> str:
        return self.format if self.family == "tongs" else self.family


@dataclass(frozen=True, slots=True)
class Tool:
    """`plan` belongs to the executor named by `executor`; nobody else looks into it."""

    name: str
    description: str = ""
    input_schema: Mapping[str, Any] = field(
        default_factory=lambda: {"type": "object", "properties": {}}
    )
    output_schema: Mapping[str, Any] | None = None
    executor: str = "function"
    plan: Any = None
    tags: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()
    # None: derived from the tags.
    permissions: Permissions | None = None
    # Only what the definition itself sets; the rest follows the config.
    limits: Mapping[str, Any] = field(default_factory=dict)
    timeout: float | None = 60.0
    # None: nothing is said, so its level decides. False is believed of the program's own tools.
    requires_approval: bool | Callable[[Mapping[str, Any]], bool] | None = None
    approval_reason: str = ""
    # Runs without asking where its walls stand. Only what comes with Tongs is believed this.
    automatic: bool | Callable[[Mapping[str, Any]], bool] = False
    # Whether a call may go on in the background while its caller does something else.
    background: bool = True
    examples: tuple[Mapping[str, Any], ...] = ()
    version: str = ""
    idempotent: bool = False
    origin: Origin = field(default_factory=Origin)
    trust: Trust = Trust.PLACE
    # Defined inside another tool: its name is that tool's affair, and no grant is meant for it.
    private: bool = False
    # Tools only this one may call, by the name it calls them.
    helpers: Mapping[str, Tool] = field(default_factory=dict)
    # Where its processes start, as written, as far as no caller has a say in it (SEMANTICS 28).
    working_directories: tuple[str, ...] = ()
    # Parameters inserted as they are ({RAW:X}), shown to whoever approves.
    raw_parameters: tuple[str, ...] = ()
    # Programs and packages that must be there: `jq`, `git>=2.30`, `python:pandas`.
    requires: tuple[str, ...] = ()
    # Files and folders the tool itself consists of: it may read them, whatever else it may.
    parts: tuple[str, ...] = ()
    # What the configs that it uses take away.
    bound: Bound | None = None
    # Why it cannot be called as things are, though its own definition is fine.
    refusal: ToolError | None = None
    # The argument that is a command for a shell, and the one that says where it starts.
    command_argument: str = ""
    folder_argument: str = "cwd"
    # What lies around its interpreter: it may read that and never write it, and nobody pins it.
    # Nothing here leads through a link but what is one itself, which is shown and grants nothing.
    programs: tuple[str, ...] = ()
    # The agent that created it: every call asks, and the ceiling holds. Empty: a person did.
    creator: str = ""
    # Of a tool that is a function of the program itself (seed 002): it is given the arguments, and
    # answers with a ToolResult or any value, now or when it is awaited.
    execute: Callable[[Mapping[str, Any]], Any] | None = None
    # Whether `execute` blocks, so that an event loop has it run in a thread.
    blocking: bool = False

    @property
    def level(self) -> Level:
        """From the security tags; a tool without one is treated as able to do anything."""
        for level in _WIDEST_FIRST:
            if level in self.tags:
                return level
        return Level.RUN

    @property
    def is_own(self) -> bool:
        """Whether it is a function of the program itself, which no file and no agent can define."""
        return self.executor == "function" and self.execute is not None

    @property
    def qualified_name(self) -> str:
        return f"{self.origin.qualifier}:{self.name}"


def as_tags(given: Iterable[str]) -> tuple[str, ...]:
    """A text is one tag, not as many as it has letters."""
    return (given,) if isinstance(given, str) else tuple(given)


class ToolLike(Protocol):
    """What a program writes that is a tool: a `BaseTool`, or a function with `@tool`."""

    def as_tool(self) -> Tool: ...
