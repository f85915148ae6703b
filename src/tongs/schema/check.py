"""Values against JSON Schema 2020-12: every violation at once, in words a person can act on.

A schema must not be changed after it was first used here: compiled validators are kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tongs.core.annotations import Any, NoReturn
from tongs.schema.document import PathTuple
from tongs.schema.quick import certainly_valid
from tongs.schema.violation import Invalid, Violation

__all__ = [
    "Invalid",
    "SchemaInvalid",
    "Violation",
    "check_root",
    "check_schema",
    "validated",
    "violations",
    "with_defaults",
]

_MAX_VIOLATIONS = 100
_MAX_DEPTH = 100
_MAX_COMPILED = 2048
_CARRIED = {str, int, bool, type(None)}
_SCALARS = {str, int, float, bool, type(None)}
# In this order: asking the abstract class is slow.
_OBJECT = (dict, Mapping)
# Older versions are read as 2020-12, as most of their authors mean them.
_DIALECT = r"https?://json-schema\.org/(?:draft[-/][\w-]+/)?schema#?\Z"


class SchemaInvalid(ValueError):
    """The schema itself is wrong; `path` leads to the place."""

    def __init__(self, message: str, path: PathTuple = ()) -> None:
        super().__init__(message)
        self.message = message
        self.path = path


# By identity, holding the schema so that the identity cannot be given to another one.
_compiled: dict[int, tuple[Any, Any]] = {}


def violations(
    schema: Mapping[str, Any] | bool, value: Any, *, mask: bool = False
) -> list[Violation]:
    """Everything in `value` that `schema` refuses; with `mask` no message repeats a value."""
    # Where the engine is there already, it is the faster one.
    if id(schema) not in _compiled and certainly_valid(schema, value):
        return []
    found: list[Violation] = []
    if not _is_flat_json(value):
        from tongs.schema.violation_text import not_json  # noqa: PLC0415 - few values are worth it

        found = not_json(value, _MAX_DEPTH)
        if found:
            return found
    validator = _validator(schema)
    # Most values are valid, and asking that alone is several times cheaper.
    if validator.is_valid(value):
        return []
    from tongs.schema.violation_text import describe  # noqa: PLC0415 - where something is wrong

    for error in validator.iter_errors(value):
        found += describe(error, schema, mask=mask)
        if len(found) >= _MAX_VIOLATIONS:
            break
    return list(dict.fromkeys(found))[:_MAX_VIOLATIONS]


def with_defaults(schema: Mapping[str, Any] | bool, value: Any) -> Any:
    """A copy of `value` in which absent properties have their `default`; `value` is not touched."""
    if type(value) in _SCALARS or isinstance(schema, bool):
        return value
    if isinstance(value, list):
        items = schema.get("items")
        if not isinstance(items, dict):
            return value
        return [with_defaults(items, element) for element in value]
    if not isinstance(value, _OBJECT):
        return value
    filled = dict(value)
    properties = schema.get("properties")
    if not isinstance(properties, _OBJECT):
        return filled
    for name, rule in properties.items():
        # In a scalar nothing can be absent.
        if type(filled.get(name, ...)) in _SCALARS or not isinstance(rule, _OBJECT):
            continue
        if name in filled:
            filled[name] = with_defaults(rule, filled[name])
        elif "default" in rule:
            filled[name] = with_defaults(rule, _copied(rule["default"]))
    return filled


def validated(schema: Mapping[str, Any] | bool, value: Any, *, mask: bool = False) -> Any:
    """`value` with defaults, or Invalid (INVALID_ARGUMENTS) naming every violation."""
    filled = with_defaults(schema, value)
    found = violations(schema, filled, mask=mask)
    if found:
        raise Invalid(found)
    return filled


def check_root(schema: Any) -> None:
    """Refuse (SchemaInvalid) a schema that is no valid 2020-12 schema with `object` at its root."""
    if not isinstance(schema, Mapping):
        raise SchemaInvalid("a schema must be an object")
    if schema.get("type") != "object":
        got = "no type" if "type" not in schema else f"`{schema['type']}`"
        raise SchemaInvalid(f"the root of the schema must have the type `object`, got {got}")
    _compile(schema)


def check_schema(schema: Any) -> None:
    """Refuse (SchemaInvalid) what is no valid 2020-12 schema, whatever its root."""
    if not isinstance(schema, Mapping | bool):
        raise SchemaInvalid("a schema must be an object or a boolean")
    _compile(schema)


def _is_flat_json(value: Any) -> bool:
    """An object of texts and whole numbers, as most arguments are: JSON can carry that."""
    if type(value) is not dict:
        return False
    try:
        for name, entry in value.items():
            if type(name) is not str or type(entry) not in _CARRIED:
                return False
            if not name.isascii():
                name.encode()
            if type(entry) is str and not entry.isascii():
                entry.encode()
    except UnicodeEncodeError:
        return False
    return True


def _validator(schema: Any) -> Any:
    known = _compiled.get(id(schema))
    if known is not None:
        return known[1]
    validator = _compile(schema)
    if len(_compiled) >= _MAX_COMPILED:
        _compiled.clear()
    _compiled[id(schema)] = (schema, validator)
    return validator


def _compile(schema: Any) -> Any:
    import jsonschema_rs  # noqa: PLC0415 - costs more than a bare Python start

    plain = dict(schema) if isinstance(schema, Mapping) else schema
    _check_dialect(plain)
    try:
        return jsonschema_rs.Draft202012Validator(plain, retriever=_refuse)
    except jsonschema_rs.ValidationError as error:
        raise SchemaInvalid(_schema_trouble(error), tuple(error.instance_path)) from None
    except (ValueError, OverflowError, RecursionError) as error:
        raise SchemaInvalid(f"the schema is no JSON: {error}") from None


def _check_dialect(schema: Any) -> None:
    """Refuse a dialect of somebody's own: what its keywords mean stands in a document elsewhere."""
    dialect = schema.get("$schema") if isinstance(schema, dict) else None
    if isinstance(dialect, str) and not re.match(_DIALECT, dialect):
        named = f"`$schema` may only name a version of JSON Schema itself: {dialect}"
        raise SchemaInvalid(named, ("$schema",))


def _schema_trouble(error: Any) -> str:
    from tongs.schema.violation_text import describe  # noqa: PLC0415 - only where it is wrong

    if error.kind.name == "$ref":
        if "retrieving it failed" in error.message:
            target = error.message.split("'")[1]
            return f"a `$ref` may only point into the schema itself: {target}"
        return f"the schema is wrong: {error.message}"
    return "the schema is wrong: " + "; ".join(map(str, describe(error, {}, mask=False)))


def _refuse(uri: str) -> NoReturn:
    # The engine would otherwise fetch http: and read file: addresses while compiling.
    raise ValueError(f"not fetched: {uri}")


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_copied(entry) for entry in value]
    return value
