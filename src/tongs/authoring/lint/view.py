"""A definition as the checks see it: its texts, their languages, and the names each text knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tongs.authoring.lint.rules import RULES
from tongs.core.annotations import Any
from tongs.core.errors import Problem, Severity
from tongs.core.record import dataclass
from tongs.schema.document import Document, PathTuple, field_name
from tongs.template.plan import STEP_PROPERTIES
from tongs.template.values import Slot, Slots

# The keys that hold a script, and the language each is short for.
SCRIPT_KEYS = {"bash": "bash", "cmd": "cmd", "pwsh": "pwsh", "python": "python"}
LANGUAGES = ("bash", "sh", "python", "pwsh", "cmd")
SHELLS = ("bash", "sh")


@dataclass(frozen=True, slots=True)
class Format:
    """What the linter has to be told about the YAML shape: `load` raises DefinitionInvalid."""

    load: Callable[[Document], object]
    slots: Callable[[Mapping[str, Any]], Mapping[str, Slot]]
    # The JSON Schema of the parameters.
    inputs: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    default_shell: str = "bash"


@dataclass(frozen=True, slots=True)
class Passage:
    """One text with placeholders. `language` is one of LANGUAGES, "custom", "run" or "text"."""

    path: PathTuple
    text: str
    language: str
    slots: Slots


@dataclass(frozen=True, slots=True)
class Action:
    """What a step does, or a tool that has no steps."""

    path: PathTuple
    data: Mapping[str, Any]
    name: str
    passages: tuple[Passage, ...]

    @property
    def scripts(self) -> list[Passage]:
        return [p for p in self.passages if p.language in (*LANGUAGES, "custom")]


@dataclass(frozen=True, slots=True)
class Definition:
    """A tool, or a tool inside `with.tools` of another (then `path` is not empty)."""

    document: Document
    path: PathTuple
    data: Mapping[str, Any]
    parameters: Slots
    actions: tuple[Action, ...]
    shared: tuple[Passage, ...]

    @property
    def passages(self) -> list[Passage]:
        return [*(p for action in self.actions for p in action.passages), *self.shared]

    @property
    def has_steps(self) -> bool:
        return "steps" in self.data

    def declared(self, parameter: str) -> Mapping[str, Any]:
        """What stands under a parameter's name; nothing for a step's property."""
        return (self.data.get("parameters") or {}).get(parameter) or {}

    def finding(
        self,
        rule: str,
        path: PathTuple,
        message: str,
        *,
        fix: str = "",
        offset: int | None = None,
        severity: Severity | None = None,
    ) -> Problem:
        """A Problem at `path` (from the top of the file) with what its rule says."""
        return Problem(
            file=self.document.source,
            message=message,
            line=self.document.line_of(path, offset),
            field=field_name(path),
            rule=rule,
            severity=severity or RULES[rule].severity,
            hint=fix or RULES[rule].fix,
        )


def definitions(document: Document, format_: Format) -> Iterator[Definition]:
    """The tool of a document that fits the schema, and every tool inside it."""
    yield from _definitions(document, (), document.data, format_)


def _definitions(
    document: Document, path: PathTuple, data: Mapping[str, Any], format_: Format
) -> Iterator[Definition]:
    slots = format_.slots(data.get("parameters") or {})
    actions = tuple(_actions(data, path, slots, format_))
    # A tool of one step has its timeout, directory and environment at tool level.
    shared = tuple(_fields(data, path, slots, ("working-directory", "environment")))
    yield Definition(document, path, data, slots, actions, shared)
    for index, inner in enumerate((data.get("with") or {}).get("tools") or ()):
        yield from _definitions(document, (*path, "with", "tools", index), inner, format_)


def _actions(
    data: Mapping[str, Any], path: PathTuple, slots: Slots, format_: Format
) -> Iterator[Action]:
    if "steps" not in data:
        passages = [*_programs(data, path, slots, format_)]
        passages += _fields(data, path, slots, ("arguments", "input"))
        yield Action(path, data, str(data.get("name") or "step1"), tuple(passages))
        return
    known = dict(slots)
    for index, step in enumerate(data["steps"]):
        where = (*path, "steps", index)
        name = str(step.get("name") or f"step{index + 1}")
        here = dict(known)
        passages = [*_programs(step, where, here, format_)]
        fields = ("arguments", "input", "working-directory", "environment")
        passages += _fields(step, where, here, fields)
        yield Action(where, step, name, tuple(passages))
        for kind in STEP_PROPERTIES:
            type_ = "integer" if kind == "exit-code" else "string"
            known[f"{name}.{kind}"] = Slot(f"{name}.{kind}", type_)


def _programs(
    data: Mapping[str, Any], path: PathTuple, slots: Slots, format_: Format
) -> Iterator[Passage]:
    for key, language in SCRIPT_KEYS.items():
        if key in data:
            yield Passage((*path, key), data[key], language, slots)
    if "run" in data:
        yield Passage((*path, "run"), data["run"], "run", slots)
    if "script" in data:
        shell = str(data.get("shell", "default"))
        shell = format_.default_shell if shell == "default" else shell
        language = shell if shell in LANGUAGES else "custom"
        yield Passage((*path, "script"), data["script"], language, slots)


def _fields(
    data: Mapping[str, Any], path: PathTuple, slots: Slots, keys: tuple[str, ...]
) -> Iterator[Passage]:
    for key in keys:
        yield from _texts(data.get(key), (*path, key), slots)


def _texts(value: Any, path: PathTuple, slots: Slots) -> Iterator[Passage]:
    if isinstance(value, str):
        yield Passage(path, value, "text", slots)
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield from _texts(entry, (*path, key), slots)
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            yield from _texts(entry, (*path, index), slots)
