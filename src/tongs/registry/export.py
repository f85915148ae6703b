"""Tools as the APIs of models take them, and what could not be said there.

`export(tools, format)` makes the list for one format. Names are those of `names.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence

from tongs.core.annotations import Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.record import dataclass
from tongs.core.tool import Level, Tool
from tongs.output import visible
from tongs.registry.names import ModelNames
from tongs.schema.gemini import gemini
from tongs.schema.strict import ANTHROPIC, OPENAI, Loss, NotStrict, Strictness, strict

# The most that OpenAI takes.
_LONGEST_DESCRIPTION = 1024
_EXAMPLES = 2
_NETWORK = frozenset({"api", "net", "network", "web", "http"})


@dataclass(frozen=True, slots=True)
class Lost:
    """What an export could not say of one tool."""

    tool: str
    loss: Loss

    def __str__(self) -> str:
        return f"{self.tool}: {self.loss}"


@dataclass(frozen=True, slots=True)
class Exported:
    """`data` is JSON, or the text of a document."""

    data: Any
    losses: tuple[Lost, ...] = ()


@dataclass(frozen=True, slots=True)
class _Said:
    """One tool as a model hears of it."""

    tool: Tool
    name: str
    description: str
    schema: dict[str, Any]
    strict: bool
    losses: list[Loss]


def export(
    tools: Iterable[Tool],
    form: str,
    *,
    strict: bool = False,
    names: Callable[[Tool], str] | None = None,
) -> Exported:
    """`names` gives another name than a tool's own to be offered by."""
    if form not in FORMATS:
        raise ToolError(
            ErrorCode.INVALID_ARGUMENTS,
            f"there is no format `{form}`",
            hint=f"one of {', '.join(FORMATS)}",
        )
    given = list(tools)
    called = [tool.name if names is None else names(tool) for tool in given]
    model = ModelNames(called)
    speak = FORMATS[form]
    said = [
        _said(tool, model.to_model(name), form, wanted=strict)
        for tool, name in zip(given, called, strict=True)
    ]
    lost = [Lost(each.tool.name, loss) for each in said for loss in each.losses]
    return Exported(speak(said), tuple(lost))


def _said(tool: Tool, name: str, form: str, *, wanted: bool) -> _Said:
    description = described(tool)
    losses: list[Loss] = []
    if form.startswith("openai") and len(description) > _LONGEST_DESCRIPTION:
        losses.append(Loss("", f"its description is cut after {_LONGEST_DESCRIPTION} characters"))
        description = description[: _LONGEST_DESCRIPTION - 1] + "…"
    schema = plain_schema(tool.input_schema)
    is_strict = False
    if form == "gemini":
        schema, lost = gemini(schema)
        losses += lost
    elif wanted and (strictness := _STRICT.get(form)) is not None:
        schema, is_strict, lost = _strictly(schema, strictness)
        losses += lost
    return _Said(tool, name, description, schema, is_strict, losses)


def _strictly(
    schema: dict[str, Any], strictness: Strictness
) -> tuple[dict[str, Any], bool, list[Loss]]:
    try:
        made, lost = strict(schema, strictness)
    except NotStrict as cannot:
        return schema, False, [cannot.loss]
    return made, True, lost


_STRICT = {"openai": OPENAI, "openai-flat": OPENAI, "openai-responses": OPENAI}
_STRICT["anthropic"] = ANTHROPIC


def described(tool: Tool) -> str:
    """What a model reads of a tool, with two of its examples (SEMANTICS 39)."""
    text = visible(tool.description)
    for example in tool.examples[:_EXAMPLES]:
        given = json.dumps(example.get("params", {}), ensure_ascii=False)
        line = f"\nExample: {given}"
        if "expected_output" in example:
            wanted = example["expected_output"]
            shown = wanted if isinstance(wanted, str) else json.dumps(wanted, ensure_ascii=False)
            line += f" -> {' '.join(shown.split())[:200]}"
        text += visible(line)
    return text.strip()


def plain_schema(schema: Any) -> Any:
    """A copy that is JSON, whatever mappings the author used."""
    if isinstance(schema, Mapping):
        return {str(key): plain_schema(each) for key, each in schema.items()}
    if isinstance(schema, list | tuple):
        return [plain_schema(each) for each in schema]
    return visible(schema) if isinstance(schema, str) else schema


def _flat(each: _Said) -> dict[str, Any]:
    made = {"name": each.name, "description": each.description, "parameters": each.schema}
    return {**made, "strict": True} if each.strict else made


def _openai_flat(said: Sequence[_Said]) -> Any:
    return [_flat(each) for each in said]


def _openai(said: Sequence[_Said]) -> Any:
    return [{"type": "function", "function": _flat(each)} for each in said]


def _responses(said: Sequence[_Said]) -> Any:
    # This API takes a tool without `strict` for a strict one.
    return [{"type": "function", **_flat(each), "strict": each.strict} for each in said]


def _anthropic(said: Sequence[_Said]) -> Any:
    made = []
    for each in said:
        one = {"name": each.name, "description": each.description, "input_schema": each.schema}
        made.append({**one, "strict": True} if each.strict else one)
    return made


def _gemini(said: Sequence[_Said]) -> Any:
    declarations = []
    for each in said:
        declared: dict[str, Any] = {"name": each.name, "description": each.description}
        if each.schema.get("properties"):  # an object without properties is refused
            declared["parameters"] = each.schema
        declarations.append(declared)
    return [{"functionDeclarations": declarations}] if declarations else []


def _mcp(said: Sequence[_Said]) -> Any:
    made = []
    for each in said:
        tool = each.tool
        reads = tool.level is Level.READ
        one: dict[str, Any] = {
            "name": each.name,
            "description": each.description,
            "inputSchema": each.schema,
            "annotations": {
                "readOnlyHint": reads,
                "destructiveHint": not reads,
                "idempotentHint": tool.idempotent or reads,
                "openWorldHint": _reaches_out(tool),
            },
        }
        output = tool.output_schema
        if isinstance(output, Mapping) and output.get("type") == "object":
            one["outputSchema"] = plain_schema(output)
        made.append(one)
    return made


def _reaches_out(tool: Tool) -> bool:
    if tool.permissions is not None:
        return bool(tool.permissions.network)
    return not _NETWORK.isdisjoint(tool.tags)


def _markdown(said: Sequence[_Said]) -> str:
    sections = ["# Tools\n"]
    for each in said:
        lines = [f"## {each.name}\n", f"{each.description}\n"]
        properties = each.schema.get("properties") or {}
        if properties:
            lines += ["| argument | type | required | description |", "|---|---|---|---|"]
        required = each.schema.get("required") or ()
        for name, entry in properties.items():
            cells = (name, _kind(entry), "yes" if name in required else _default(entry))
            lines.append(f"| {' | '.join(map(_cell, (*cells, _about(entry))))} |")
        may = f"{each.tool.level}, network" if _reaches_out(each.tool) else str(each.tool.level)
        lines.append(f"\nMay: {may}\n" if properties else f"May: {may}\n")
        sections.append("\n".join(lines))
    return "\n".join(sections)


def _kind(entry: Any) -> str:
    if not isinstance(entry, Mapping):
        return "any"
    if "enum" in entry:
        return " or ".join(json.dumps(value, ensure_ascii=False) for value in entry["enum"])
    if "anyOf" in entry:
        return " or ".join(map(_kind, entry["anyOf"]))
    if "$ref" in entry:
        return str(entry["$ref"]).rpartition("/")[2]
    kind = entry.get("type", "any")
    named = " or ".join(kind) if isinstance(kind, list) else str(kind)
    return f"{named} of {_kind(entry['items'])}" if "items" in entry else named


def _default(entry: Any) -> str:
    if isinstance(entry, Mapping) and entry.get("default") is not None:
        return f"no, {json.dumps(entry['default'], ensure_ascii=False)}"
    return "no"


def _about(entry: Any) -> str:
    return str(entry.get("description", "")) if isinstance(entry, Mapping) else ""


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


FORMATS: dict[str, Callable[[Sequence[_Said]], Any]] = {
    "openai": _openai,
    "openai-responses": _responses,
    "openai-flat": _openai_flat,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "mcp": _mcp,
    "markdown": _markdown,
}
