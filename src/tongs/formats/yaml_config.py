"""`uses.config`, `uses.profile`, `with.config`: values for `{config.KEY}`, tighter settings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from tongs.config.named import CONFIGS, PROFILES, merged, problems_of, settings_of, values_of
from tongs.core.annotations import Any, TypeAlias
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.permissions import Bound
from tongs.core.record import dataclass, field
from tongs.formats.yaml_steps import Compiler, Path
from tongs.schema.document import Document
from tongs.schema.nearest import did_you_mean
from tongs.template.values import Slot

PREFIX = "config"
# Which of the two a tool names, and how.
_KEYS = {"config": CONFIGS, "configs": CONFIGS, "profile": PROFILES, "profiles": PROFILES}
_REFERENCE = re.compile(r"(?<![${])\{(?:(?:RAW|URL|JSON):)?(config\.[\w.-]+)\}")
# Texts in which no placeholder is filled in.
_PLAIN = frozenset(("with", "uses", "parameters", "description", "examples", "outputs", "name"))
# What a tool's own config may say besides values; all of it can only tighten.
_TIGHTENING = {
    "security": ("auto_deny", "enforcement", "max_permissions"),
    "limits": None,
    "tools": None,
}

# Kind and name, as in `("profiles", "work")`.
Key: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class UsedConfig:
    """A named config as its user sees it; `problem` says why there is none."""

    values: Mapping[str, Any] = field(default_factory=dict)
    # Checked settings, all of which may tighten.
    settings: tuple[Document, ...] = ()
    problem: ToolError | None = None


Used: TypeAlias = Mapping[Key, UsedConfig]
FindConfigs: TypeAlias = Callable[[Iterable[Key]], Used]


@dataclass(frozen=True, slots=True)
class Applied:
    """What the configs of one tool come to."""

    slots: Mapping[str, Slot]
    constants: Mapping[str, Any]
    bound: Bound | None
    refusal: ToolError | None


def names_used(data: Mapping[str, Any]) -> list[Key]:
    """Every config that a definition and the tools inside it name, in the order they speak."""
    found = list(_own_names(data))
    for inner in (data.get("with") or {}).get("tools") or ():
        found += names_used(inner)
    return list(dict.fromkeys(found))


def applied(
    compiler: Compiler, data: Mapping[str, Any], path: Path, name: str, used: Used | None
) -> Applied | None:
    """The configs of a definition that the schema has accepted; None if it has none.

    Without `used` nothing is known about the named ones, as where a stranger's file is linted.
    """
    names = list(_own_names(data))
    inline = (data.get("with") or {}).get("config")
    if not names and inline is None:
        return None
    if any(step.get("name") == PREFIX for step in data.get("steps") or ()):
        compiler.problem((*path, "steps"), "a step cannot be called `config` beside a config")
    values: dict[str, Any] = {}
    documents: list[Document] = []
    refusal = None
    for key in names if used is not None else ():
        one = (used or {})[key]
        refusal = refusal or one.problem
        values = merged(values, one.values)
        documents += one.settings
    if inline is not None:
        document = compiler.document.at((*path, "with", "config"))
        if not compiler.checked:
            compiler.problems += problems_of(document)
            _refuse_loosening(compiler, document)
        values = merged(values, values_of(inline))
        documents.append(settings_of(document))
    bound = None if compiler.problems else _bound(documents, name)
    constants = flat(values)
    slots, unknown = _slots(data, constants, closed=not names)
    if names and any(slot.type == "array" for slot in slots.values()):
        compiler.checked = False  # it was one text when it was checked
    if unknown and not (names and used is None):
        refusal = refusal or _unknown(name, unknown[0], values)
        if not names:
            assert refusal is not None, "made one line above"
            compiler.problem((*path, "with", "config"), refusal.message, hint=refusal.hint)
    return Applied(slots, {n: constants[n] for n in slots if n in constants}, bound, refusal)


def flat(values: Mapping[str, Any], prefix: str = PREFIX) -> dict[str, Any]:
    """Every value by its name in a placeholder, mappings as a whole and each of their keys."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{prefix}.{key}"
        found[name] = value
        if isinstance(value, dict):
            found |= flat(value, name)
    return found


def _own_names(data: Mapping[str, Any]) -> Iterator[Key]:
    uses = data.get("uses") or {}
    for key, kind in _KEYS.items():
        written = uses.get(key) or ()
        for name in (written,) if isinstance(written, str) else written:
            yield kind, name


def _slots(
    data: Mapping[str, Any], constants: Mapping[str, Any], *, closed: bool
) -> tuple[dict[str, Slot], list[str]]:
    """The names that the texts use, and those that no config has.

    What stands in the definition itself is its author's text (`closed`). What comes from another
    file is not: that file may change after the definition was checked.
    """
    slots, unknown = {}, []
    for name in dict.fromkeys(_references(data)):
        kind = "array" if isinstance(constants.get(name), list) else "string"
        slots[name] = Slot(name, kind, closed=closed)
        if name not in constants:
            unknown.append(name)
    return slots, unknown


def _references(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield from _REFERENCE.findall(data)
    elif isinstance(data, dict):
        for key, value in data.items():
            if key not in _PLAIN:
                yield from _references(value)
    elif isinstance(data, list):
        for value in data:
            yield from _references(value)


def _bound(documents: list[Document], name: str) -> Bound | None:
    from tongs.config.merging import bound_of  # noqa: PLC0415 - few tools use a config

    bound = Bound()
    for document in documents:
        bound = bound.meet(bound_of(document, name))
    return None if bound == Bound() else bound


def _refuse_loosening(compiler: Compiler, document: Document) -> None:
    """An author who writes a line that can have no effect hears about it."""
    for key, inner in settings_of(document).data.items():
        allowed = _TIGHTENING.get(key, ())
        wrong: list[Path] = []
        if key == "tools" and isinstance(inner, dict):
            entries = ((n, e) for n, e in inner.items() if isinstance(e, dict))
            wrong = [(key, n, k) for n, e in entries for k in e if k in ("permissions", "envs")]
        elif allowed == ():
            wrong = [(key,)]
        elif allowed is not None and isinstance(inner, dict):
            wrong = [(key, one) for one in inner if one not in allowed]
        for where in wrong:
            problem = document.problem(
                where,
                "has no effect: a tool's own config can only tighten",
                hint="remove it; the person's config.yml may say it",
            )
            compiler.problems.append(problem)


def _unknown(tool: str, name: str, values: Mapping[str, Any]) -> ToolError:
    known = [n for n, value in flat(values).items() if not isinstance(value, dict)]
    listed = ", ".join(f"{{{n}}}" for n in known) or "no values"
    return ToolError(
        ErrorCode.INVALID_DEFINITION,
        f"{tool}: no config has the value {{{name}}}{did_you_mean(name, known)}",
        details={"known": known},
        hint=f"there is: {listed}",
    )
