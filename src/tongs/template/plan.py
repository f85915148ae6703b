"""What a YAML tool does, with every template compiled: the steps between format and executors."""

from __future__ import annotations

from collections.abc import Mapping

from tongs.core.annotations import TYPE_CHECKING, Any, TypeAlias
from tongs.core.record import dataclass, field
from tongs.template.values import ABSENT, Slots, Values

if TYPE_CHECKING:
    from tongs.template.text import DataTemplate, TextTemplate
    from tongs.template.words import WordsTemplate

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
    # Keys of the definition this version cannot honour; a call says so instead of ignoring them.
    unsupported: tuple[str, ...] = ()
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
        """The tools that the steps call, each once."""
        names = [step.action.tool for step in self.steps if isinstance(step.action, Nested)]
        return tuple(dict.fromkeys(names))
