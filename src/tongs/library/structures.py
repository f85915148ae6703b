"""Classes with named parts as objects of JSON: data classes, TypedDict, NamedTuple, pydantic."""

# ruff: noqa: TID251, PLC0415 - as in hints.py

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress

from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.record import dataclass
from tongs.library import docstring
from tongs.library.answers import NotJson, as_json

if TYPE_CHECKING:
    from tongs.library.hints import Hint, Reader


@dataclass(frozen=True, slots=True)
class Part:
    """One named part. Its `default` is NOT_GIVEN, or _HIDDEN where nobody can say what it is."""

    name: str
    hint: Any
    default: Any
    description: str = ""


NOT_GIVEN = object()
_HIDDEN = object()


def is_structure(hint: Any) -> bool:
    if not isinstance(hint, type):
        return False
    return (
        hasattr(hint, "__dataclass_fields__")
        or hasattr(hint, "model_json_schema")
        or hasattr(hint, "__required_keys__")
        or (issubclass(hint, tuple) and hasattr(hint, "_fields"))
    )


def structure(hint: Any, reader: Reader) -> Hint:
    """Raises Unreadable."""
    from tongs.library.hints import Hint

    if hasattr(hint, "model_json_schema"):
        return Hint(hoisted(hint.model_json_schema(), reader), hint.model_validate)
    parts, make = _parts(hint)
    properties: dict[str, Any] = {}
    converts: dict[str, Callable[[Any], Any]] = {}
    for part in parts:
        schema, convert = property_of(part, reader)
        properties[part.name] = schema
        if convert is not None:
            converts[part.name] = convert
    required = [part.name for part in parts if part.default is NOT_GIVEN]
    schema = {"type": "object", "properties": properties, "required": required}
    schema["additionalProperties"] = False
    # `dataclass` writes a docstring of its own, which repeats the signature.
    about = docstring.read(hint.__doc__).about
    if about and not about.startswith(f"{hint.__name__}("):
        schema["description"] = about
    if make is None and not converts:
        return Hint(schema)
    made = make or dict

    def build(data: Mapping[str, Any]) -> Any:
        return made(**{k: converts[k](v) if k in converts else v for k, v in data.items()})

    return Hint(schema, build)


def property_of(part: Part, reader: Reader) -> tuple[dict[str, Any], Callable[[Any], Any] | None]:
    """The schema of one part or parameter, with what is known of it."""
    from tongs.library.hints import Unreadable

    try:
        hint = reader.read(part.hint)
    except Unreadable as error:
        raise Unreadable(f"`{part.name}`: {error}") from None
    schema = hint.schema
    if part.default is None and schema and not _takes_none(schema):
        schema = {"anyOf": [schema, {"type": "null"}]}  # `x: int = None`, as many write it
        inner = hint.convert
        nullable = None if inner is None else lambda data: None if data is None else inner(data)
    else:
        nullable = hint.convert
    if part.description:
        schema = {"description": part.description, **schema}
    if part.default not in (NOT_GIVEN, _HIDDEN):
        with suppress(NotJson):  # then Python's own default is taken, and nobody is told it
            schema = {**schema, "default": as_json(part.default)}
    return schema, nullable


def hoisted(schema: dict[str, Any], reader: Reader) -> dict[str, Any]:
    """A schema whose `$defs` have become those of the whole tool, each under a free name."""
    inner = schema.get("$defs")
    if not inner:
        return schema
    names = {
        name: name if reader.definitions.get(name) == entry else reader.free_name(name)
        for name, entry in inner.items()
    }
    for name, entry in inner.items():
        reader.definitions[names[name]] = renamed(entry, names)
    made: dict[str, Any] = renamed({k: v for k, v in schema.items() if k != "$defs"}, names)
    return made


def renamed(schema: Any, names: Mapping[str, str]) -> Any:
    """The schema with every `$ref` led to the new name."""
    if isinstance(schema, list):
        return [renamed(each, names) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: renamed(each, names) for key, each in schema.items()}
    if isinstance(reference := made.get("$ref"), str):
        name = reference.removeprefix("#/$defs/")
        made["$ref"] = f"#/$defs/{names.get(name, name)}"
    return made


def adapted(hint: Any, reader: Reader) -> Hint | None:
    """What pydantic makes of a type; None where nobody uses pydantic, or it cannot either."""
    from tongs.library.hints import Hint

    if "pydantic" not in sys.modules:
        return None
    import pydantic

    try:
        adapter = pydantic.TypeAdapter(hint)
        schema = adapter.json_schema()
    except (pydantic.PydanticUserError, pydantic.errors.PydanticInvalidForJsonSchema):
        return None
    return Hint(hoisted(schema, reader), adapter.validate_python) if schema else None


def _parts(hint: Any) -> tuple[list[Part], Callable[..., Any] | None]:
    import typing

    try:
        hints = typing.get_type_hints(hint, include_extras=True)
    except NameError as error:
        from tongs.library.hints import Unreadable

        raise Unreadable(f"{hint.__qualname__}: {error}") from None
    told = docstring.read(hint.__doc__).parameters
    if hasattr(hint, "__required_keys__"):
        given = [
            (name, NOT_GIVEN if _is_required(hint, name, hints[name]) else _HIDDEN)
            for name in hints
        ]
        return [Part(n, hints[n], default, told.get(n, "")) for n, default in given], None
    if hasattr(hint, "_fields"):
        defaults = hint._field_defaults
        given = [(name, defaults.get(name, NOT_GIVEN)) for name in hint._fields]
        return [Part(n, hints.get(n, Any), d, told.get(n, "")) for n, d in given], hint
    import dataclasses

    parts = []
    for each in dataclasses.fields(hint):
        if each.init:
            text = str(each.metadata.get("description", "")) or told.get(each.name, "")
            parts.append(Part(each.name, hints[each.name], _default(each), text))
    return parts, hint


def _is_required(hint: Any, name: str, inner: Any) -> bool:
    """Python itself overlooks `NotRequired` where annotations are texts."""
    import typing

    said = {typing.Required: True, typing.NotRequired: False}.get(typing.get_origin(inner))
    return name in hint.__required_keys__ if said is None else said


def _default(each: Any) -> Any:
    import dataclasses

    if each.default is not dataclasses.MISSING:
        return each.default
    if each.default_factory is not dataclasses.MISSING:
        # One that makes an empty list says so; another may do anything.
        return each.default_factory() if each.default_factory in (list, dict) else _HIDDEN
    return NOT_GIVEN


def _takes_none(schema: Mapping[str, Any]) -> bool:
    return (
        schema.get("type") == "null"
        or any(_takes_none(each) for each in schema.get("anyOf", ()))
        or (None in schema.get("enum", ()))
    )
