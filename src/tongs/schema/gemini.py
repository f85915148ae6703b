"""A schema in the words that Gemini's function declarations have: a part of OpenAPI's.

There are no references, no lists of types and no numbers to choose from; what cannot be said is
told in words.
"""

from __future__ import annotations

from collections.abc import Mapping

from tongs.core.annotations import Any
from tongs.core.record import dataclass, field
from tongs.schema.strict import Loss, said

Schema = dict[str, Any]

_KEPT = frozenset(
    "description title minItems maxItems minLength maxLength minProperties maxProperties"
    " minimum maximum pattern default".split()
)
_FORMATS = frozenset("date-time enum int32 int64 float double".split())
_SILENT = frozenset(
    "$schema $id $comment examples deprecated readOnly writeOnly $defs type format enum const"
    " properties required items anyOf oneOf allOf additionalProperties $ref".split()
)
_DEEPEST = 20


def gemini(schema: Mapping[str, Any]) -> tuple[Schema, list[Loss]]:
    """The schema for a function declaration, and what it lost."""
    reading = _Reading(dict(schema.get("$defs") or {}))
    return reading.made(schema, "", ()), reading.losses


@dataclass(slots=True)
class _Reading:
    definitions: Mapping[str, Any]
    losses: list[Loss] = field(default_factory=list)

    def made(self, schema: Any, where: str, above: tuple[str, ...]) -> Schema:
        if not isinstance(schema, Mapping):
            return self._anything(where)
        if "$ref" in schema:
            return self._referred(schema, where, above)
        if isinstance(members := schema.get("allOf"), list):
            schema = _merged(schema, members)
        notes: list[str] = []
        made: Schema = {}
        for key, each in schema.items():
            if key in _KEPT:
                made[key] = each
            elif key not in _SILENT:
                self._lose(where, key, each, notes)
        made |= self._kind(schema, where, above)
        self._choices(schema, made, where, notes)
        self._format(schema, made, where, notes)
        if notes:
            made["description"] = f"{made.get('description', '')} ({', '.join(notes)})".strip()
        return made

    def _kind(self, schema: Mapping[str, Any], where: str, above: tuple[str, ...]) -> Schema:
        kinds = schema.get("type")
        several = [kind for kind in kinds if kind != "null"] if isinstance(kinds, list) else []
        choices = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
        if len(several) > 1:
            choices = [{**schema, "type": kind} for kind in several]
        made: Schema = {}
        if (isinstance(kinds, list) and "null" in kinds) or _NULL in choices:
            made["nullable"] = True
        choices = [choice for choice in choices if choice != _NULL]
        if choices:
            return made | self._any_of(choices, where, above)
        kind = several[0] if several else kinds if isinstance(kinds, str) else _implied(schema)
        if kind is None:
            return made | self._anything(where)
        made["type"] = kind.upper()
        if kind == "object":
            made |= self._object(schema, where, above)
        if kind == "array":
            made["items"] = self.made(schema.get("items", True), f"{where}/items", above)
        return made

    def _any_of(self, choices: list[Any], where: str, above: tuple[str, ...]) -> Schema:
        inner = [self.made(each, f"{where}/anyOf/{n}", above) for n, each in enumerate(choices)]
        return inner[0] if len(inner) == 1 else {"anyOf": inner}

    def _object(self, schema: Mapping[str, Any], where: str, above: tuple[str, ...]) -> Schema:
        properties = schema.get("properties") or {}
        if not properties:
            return {}
        made: Schema = {
            "properties": {
                name: self.made(each, f"{where}/{name}", above) for name, each in properties.items()
            },
            "propertyOrdering": list(properties),
        }
        if schema.get("required"):
            made["required"] = list(schema["required"])
        return made

    def _format(
        self, schema: Mapping[str, Any], made: Schema, where: str, notes: list[str]
    ) -> None:
        if (named := schema.get("format")) in _FORMATS:
            made["format"] = named
        elif named is not None:
            self._lose(where, "format", named, notes)
        if schema.get("additionalProperties") not in (None, True, False):
            self._lose(where, "additionalProperties", "…", notes)

    def _choices(
        self, schema: Mapping[str, Any], made: Schema, where: str, notes: list[str]
    ) -> None:
        values = schema.get("enum", [schema["const"]] if "const" in schema else None)
        if values is None:
            return
        if None in values:
            made["nullable"] = True
        texts = [value for value in values if value is not None]
        if all(isinstance(value, str) for value in texts) and made.get("type") == "STRING":
            made["enum"], made["format"] = texts, "enum"
        else:
            self._lose(where, "enum", values, notes)

    def _referred(self, schema: Mapping[str, Any], where: str, above: tuple[str, ...]) -> Schema:
        name = str(schema["$ref"]).removeprefix("#/$defs/")
        target = self.definitions.get(name)
        if name in above or len(above) > _DEEPEST or not isinstance(target, Mapping):
            self.losses.append(Loss(where, f"what `{name}` has inside itself is not told"))
            return {"type": "OBJECT"}
        rest = {key: each for key, each in schema.items() if key != "$ref"}
        return self.made({**target, **rest}, where, (*above, name))

    def _anything(self, where: str) -> Schema:
        self.losses.append(Loss(where, "any value is taken, and a text is asked for"))
        return {"type": "STRING"}

    def _lose(self, where: str, key: str, value: Any, notes: list[str]) -> None:
        self.losses.append(Loss(where, f"`{key}` is only told in words"))
        notes.append(said(key, value))


_NULL = {"type": "null"}


def _merged(schema: Mapping[str, Any], members: list[Any]) -> Schema:
    """All of them in one, where a later one wins; properties and required ones are joined."""
    made: Schema = {}
    own = {key: each for key, each in schema.items() if key != "allOf"}
    for part in (*(each for each in members if isinstance(each, Mapping)), own):
        properties = {**made.get("properties", {}), **(part.get("properties") or {})}
        required = [*made.get("required", ()), *(part.get("required") or ())]
        made = {**made, **part}
        if properties:
            made["properties"] = properties
        if required:
            made["required"] = list(dict.fromkeys(required))
    return made


def _implied(schema: Mapping[str, Any]) -> str | None:
    """The type that is not written, and follows from the rest."""
    if "properties" in schema:
        return "object"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    kinds = {type(value) for value in values if value is not None}
    names = {str: "string", int: "integer", float: "number", bool: "boolean"}
    return names.get(kinds.pop()) if len(kinds) == 1 else None
