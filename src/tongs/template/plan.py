"""What a YAML tool does, with every template compiled: the steps between format and executors."""

from __future__ import annotations

from collections.abc import Mapping

from tongs.core.annotations import TYPE_CHECKING, Any, TypeAlias
from tongs.core.record import dataclass, field
from tongs.template.values import ABSENT, Slots, Values

if TYPE_CHECKING:
    from tongs.core.servers import ServerSpec
    from tongs.template.text import DataTemplate, TextTemplate
    from tongs.template.words import WordsTemplate

# As `core.servers` has it, which most tools can do without.
SEPARATOR = "__"
# What a step leaves behind for the steps after it.
STEP_PROPERTIES = ("output", "stdout", "stderr", "exit-code")


@dataclass(frozen=True, slots=True)
class Process:
    """`run:`: one program, its words split once, no shell around it."""

    words: WordsTemplate


@dataclass(frozen=True, slots=True)
class Script:
    """`bash:`, `python:`, `script:` …: text for an interpreter.

    `shell` is a known name, or "custom" with `command` as the words of the author's template.
    """

    shell: str
    # Compiled by the module of its language; the script executor knows what it renders to.
    template: Any
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Nested:
    """`tool:`: another tool, through the same pipeline; `server` names the MCP server it is on."""

    tool: str
    server: str | None = None

    @property
    def called(self) -> str:
        """The name that the call is made by."""
        return f"{self.server}{SEPARATOR}{self.tool}" if self.server else self.tool


Action: TypeAlias = Process | Script | Nested


@dataclass(frozen=True, slots=True)
class Step:
    name: str
    action: Action
    arguments: DataTemplate | None = None
    input: TextTemplate | None = None
    timeout: float | None = None
    working_directory: TextTemplate | None = None
    environment: tuple[tuple[str, TextTemplate], ...] = ()
    continue_on_error: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """All steps of a tool; the tool-level working directory and environment hold for each."""

    steps: tuple[Step, ...]
    slots: Slots
    # Written as `steps:`; a tool written without it reports no steps.
    several: bool = False
    working_directory: TextTemplate | None = None
    environment: tuple[tuple[str, TextTemplate], ...] = ()
    # Tools named by `uses`, whether a step calls them or not.
    uses: tuple[str, ...] = ()
    # MCP servers named by `uses`, and those that the definition brings along for itself.
    uses_servers: tuple[str, ...] = ()
    servers: Mapping[str, ServerSpec] = field(default_factory=dict)
    # What `{config.KEY}` stands for; a caller has no say in it.
    constants: Values = field(default_factory=dict)
    # The named configs that it was made with, as the format knows them.
    configs: Mapping[tuple[str, str], Any] = field(default_factory=dict)

    def values(self, arguments: Values) -> dict[str, Any]:
        """Every slot with its argument; what was not given is absent, not empty."""
        given = {name: arguments.get(name, ABSENT) for name in self.slots}
        return {**given, **self.constants}

    @property
    def nested_names(self) -> tuple[str, ...]:
        """The tools that the steps call, each once; not those of servers."""
        return tuple(dict.fromkeys(call.tool for call in self._calls() if not call.server))

    @property
    def nested_served(self) -> tuple[tuple[str, str], ...]:
        """The tools of servers that the steps call, each once: the server, and its tool."""
        called = [(call.server, call.tool) for call in self._calls() if call.server]
        return tuple(dict.fromkeys(called))

    @property
    def calls_servers(self) -> bool:
        return bool(self.uses_servers) or any(call.server for call in self._calls())

    def _calls(self) -> list[Nested]:
        return [step.action for step in self.steps if isinstance(step.action, Nested)]
