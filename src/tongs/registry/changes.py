"""How a server's tool differs from what was accepted of it: in words, and as text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from tongs.core.annotations import Any
from tongs.output import visible

Definition = Mapping[str, Any]

_LONGEST = 60


def in_words(accepted: Definition | None, told: Definition | None) -> list[str]:
    """What changed, a line for each thing; empty where nothing did."""
    if accepted is None:
        return ["it is new"]
    if told is None:
        return ["it is gone"]
    found = [
        f"its {key} changed" for key in ("title", "description") if _differ(accepted, told, key)
    ]
    found += _schema_changes(accepted.get("inputSchema") or {}, told.get("inputSchema") or {})
    if _differ(accepted, told, "outputSchema"):
        found.append("its output schema changed")
    before, now = accepted.get("annotations") or {}, told.get("annotations") or {}
    found += [
        f"its claim {visible(str(key))} was {_short(before.get(key))} and is {_short(now.get(key))}"
        for key in sorted({*before, *now})
        if before.get(key) != now.get(key)
    ]
    return found


def as_text(definition: Definition | None) -> str:
    """The whole definition for a person to read: no hidden character, one fact a line."""
    if definition is None:
        return ""
    lines = [f"name: {definition.get('name', '')}"]
    for key in ("title", "description"):
        if key in definition:
            lines += [f"{key}:", *(f"  {line}" for line in str(definition[key]).splitlines())]
    for key in ("inputSchema", "outputSchema", "annotations"):
        if key in definition:
            dumped = json.dumps(definition[key], indent=2, sort_keys=True, ensure_ascii=False)
            lines += [f"{key}:", *(f"  {line}" for line in dumped.splitlines())]
    return "\n".join(visible(line) for line in lines) + "\n"


def difference(accepted: Definition | None, told: Definition | None) -> str:
    """What changed, as `-` and `+` lines with some context."""
    import difflib  # noqa: PLC0415 - only where somebody looks

    before, now = as_text(accepted).splitlines(), as_text(told).splitlines()
    lines: Sequence[str] = list(difflib.unified_diff(before, now, lineterm="", n=3))
    return "\n".join(line for line in lines[2:] if not line.startswith("@@"))


def _differ(accepted: Definition, told: Definition, key: str) -> bool:
    return bool(accepted.get(key) != told.get(key))


def _schema_changes(before: Definition, now: Definition) -> Iterator[str]:
    if before == now:
        return
    old, new = _properties(before), _properties(now)
    words = [f"the parameter {visible(name)} is new" for name in new if name not in old]
    words += [f"the parameter {visible(name)} is gone" for name in old if name not in new]
    words += [
        f"the parameter {visible(name)} changed"
        for name in old
        if name in new and old[name] != new[name]
    ]
    wanted = _required(now) - _required(before)
    words += [f"{visible(name)} is required now" for name in sorted(wanted & set(old))]
    yield from words or ["its input schema changed"]


def _properties(schema: Definition) -> Mapping[str, Any]:
    found = schema.get("properties")
    return found if isinstance(found, Mapping) else {}


def _required(schema: Definition) -> set[str]:
    found = schema.get("required")
    return {name for name in found if isinstance(name, str)} if isinstance(found, list) else set()


def _short(value: Any) -> str:
    if value is None:
        return "not made"
    text = visible(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
