"""A schema as the strict modes of model APIs take it, and what is lost on the way.

A strict mode makes the model's arguments fit the schema, but knows only some keywords. What it does
not know is taken out and told to the model in words; the call is still checked against the whole
schema. A schema that cannot be said at all stays as it was, and the tool is not strict.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tongs.core.annotations import Any
from tongs.core.record import dataclass, field

Schema = dict[str, Any]

# They say nothing about a value.
_SILENT = frozenset("title $schema $id $comment examples deprecated readOnly writeOnly".split())
_BRANCHES = frozenset(
    "allOf not if then else dependentSchemas dependentRequired patternProperties prefixItems"
    " contains unevaluatedProperties unevaluatedItems propertyNames".split()
)


@dataclass(frozen=True, slots=True)
class Loss:
    """Something that an export could not say. `where` leads to the place in the schema."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" if self.where else self.what


@dataclass(frozen=True, slots=True)
class Strictness:
    """What one API's strict mode knows."""

    keywords: frozenset[str]
    # Whether a property that may be left out has to be there, with null in its place.
    all_required: bool
    formats: frozenset[str]


_COMMON = (
    "type properties required additionalProperties items anyOf enum const description $ref $defs"
)
_FORMATS = frozenset("date-time time date duration email hostname ipv4 ipv6 uuid".split())
OPENAI = Strictness(
    frozenset(
        f"{_COMMON} pattern format multipleOf minimum maximum exclusiveMinimum exclusiveMaximum"
        " minItems maxItems".split()
    ),
    all_required=True,
    formats=_FORMATS,
)
ANTHROPIC = Strictness(
    frozenset(f"{_COMMON} pattern format default".split()),
    all_required=False,
    formats=_FORMATS | {"uri"},
)


class NotStrict(Exception):
    """The schema says something that no strict mode can."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(reason)
        self.loss = Loss(where, f"not strict: {reason}")


def strict(schema: Mapping[str, Any], strictness: Strictness) -> tuple[Schema, list[Loss]]:
    """The schema for a strict mode, and what it lost. Raises NotStrict."""
    reading = _Reading(strictness)
    made = reading.made(dict(schema), "")
    return made, reading.losses


@dataclass(slots=True)
class _Reading:
    strictness: Strictness
    losses: list[Loss] = field(default_factory=list)

    def made(self, schema: Any, where: str) -> Schema:
        if schema is True or schema == {}:
            raise NotStrict(where, "it takes any value")
        if not isinstance(schema, Mapping):
            raise NotStrict(where, "it takes no value")
        given = {key: each for key, each in schema.items() if key not in _SILENT}
        given = self._branches(given, where)
        if "$ref" in given:
            return {"$ref": given["$ref"], **self._definitions(given, where)}
        notes: list[str] = []
        made: Schema = {}
        for key, each in given.items():
            if key in ("properties", "required", "items", "anyOf", "$defs", "additionalProperties"):
                continue
            if self._knows(key, each):
                made[key] = each
            else:
                self._lose(where, key, each, notes)
        made |= self._parts(given, where)
        made |= self._definitions(given, where)
        if not made.keys() & {"type", "anyOf", "enum", "const"}:
            raise NotStrict(where, "it has no type")
        return _noted(made, notes)

    def _knows(self, key: str, value: Any) -> bool:
        named = key != "format" or value in self.strictness.formats
        return named and key in self.strictness.keywords

    def _parts(self, given: Schema, where: str) -> Schema:
        made: Schema = {}
        if "anyOf" in given:
            made["anyOf"] = [
                self.made(each, f"{where}/anyOf/{number}")
                for number, each in enumerate(given["anyOf"])
            ]
        kinds = _types(given)
        if "object" in kinds or "properties" in given:
            made |= self._object(given, where)
        if "array" in kinds:
            if "items" not in given:
                raise NotStrict(where, "its items may be anything")
            made["items"] = self.made(given["items"], f"{where}/items")
        return made

    def _object(self, given: Schema, where: str) -> Schema:
        properties = given.get("properties") or {}
        further = given.get("additionalProperties", True)
        if further not in (True, False) or (not properties and further is not False and where):
            raise NotStrict(where, "it takes keys that are not known")
        if further is True and properties:
            self.losses.append(Loss(where, "no other keys than the ones that are named"))
        required = list(given.get("required", ()))
        made: Schema = {}
        for name, each in properties.items():
            inner = self.made(each, f"{where}/{name}")
            optional = name not in required and self.strictness.all_required
            made[name] = nullable(inner) if optional else inner
        wanted = list(made) if self.strictness.all_required else required
        return {"properties": made, "required": wanted, "additionalProperties": False}

    def _branches(self, given: Schema, where: str) -> Schema:
        """`oneOf` becomes `anyOf`; one `allOf` its only member; others cannot be said."""
        if "oneOf" in given:
            self.losses.append(Loss(where, "more than one of its choices may fit"))
            rest = {key: each for key, each in given.items() if key != "oneOf"}
            given = {**rest, "anyOf": [*rest.get("anyOf", ()), *given["oneOf"]]}
        members = given.get("allOf")
        if isinstance(members, list) and len(members) == 1 and isinstance(members[0], Mapping):
            rest = {key: each for key, each in given.items() if key != "allOf"}
            given = {**members[0], **rest}
        if found := sorted(given.keys() & _BRANCHES):
            raise NotStrict(where, f"`{found[0]}` cannot be said there")
        return given

    def _definitions(self, given: Schema, where: str) -> Schema:
        inner = given.get("$defs")
        if not inner:
            return {}
        return {"$defs": {k: self.made(each, f"{where}/$defs/{k}") for k, each in inner.items()}}

    def _lose(self, where: str, key: str, value: Any, notes: list[str]) -> None:
        self.losses.append(Loss(where, f"`{key}` is only told in words"))
        notes.append(said(key, value))


def said(key: str, value: Any) -> str:
    """A keyword in words, for a description."""
    from json import dumps  # noqa: PLC0415 - only where something is lost

    return f"{key}: {dumps(value, ensure_ascii=False, default=str)}"


def _noted(schema: Schema, notes: Iterable[str]) -> Schema:
    kept = [note for note in notes if note != "default: null"]
    if not kept:
        return schema
    text = f"{schema.get('description', '')} ({', '.join(kept)})".strip()
    return {**schema, "description": text}


def nullable(schema: Schema) -> Schema:
    """The schema that also takes null."""
    kinds = _types(schema)
    if "null" in kinds or None in schema.get("enum", ()):
        return schema
    if any(
        isinstance(each, Mapping) and "null" in _types(each) for each in schema.get("anyOf", ())
    ):
        return schema
    description = {"description": schema["description"]} if "description" in schema else {}
    bare = {key: each for key, each in schema.items() if key != "description"}
    return {"anyOf": [bare, {"type": "null"}], **description}


def _types(schema: Mapping[str, Any]) -> list[str]:
    kind = schema.get("type")
    return list(kind) if isinstance(kind, list) else [] if kind is None else [str(kind)]


def without_nulls(schema: Mapping[str, Any], value: Any) -> Any:
    """A model's arguments without the nulls that a strict mode made it write.

    Only where the property may be left out, and null is no value that it takes.
    """
    if isinstance(value, list):
        items = schema.get("items")
        return [without_nulls(items, each) for each in value] if isinstance(items, dict) else value
    if not isinstance(value, dict):
        return value
    properties = schema.get("properties") or {}
    required = schema.get("required") or ()
    kept = {}
    for name, each in value.items():
        entry = properties.get(name)
        if not isinstance(entry, Mapping):
            kept[name] = each
        elif each is not None or name in required or takes_null(entry, schema):
            kept[name] = without_nulls(entry, each)
    return kept


def takes_null(entry: Mapping[str, Any], root: Mapping[str, Any]) -> bool:
    from tongs.schema.check import violations  # noqa: PLC0415 - only where a null came

    whole = {**entry, "$defs": root["$defs"]} if "$defs" in root else dict(entry)
    return not violations(whole, None)
