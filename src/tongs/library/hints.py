"""Type hints as JSON Schema, and the way back: JSON data as the objects that a function expects.

`Reader` reads the hints of one tool. What it makes of a hint is a `Hint`: the schema, and how the
data becomes the object, where it is not the same thing.
"""

# ruff: noqa: TID251, PLC0415 - reading hints needs `typing`; whoever reads some has paid for it

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from enum import Enum

from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.record import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Iterator

Convert = Callable[[Any], Any]
Schema = dict[str, Any]

_SCALARS: dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    None: {"type": "null"},
}
# By module and name, so that nothing is imported for a type that nobody uses.
_TEXTS: dict[tuple[str, str], tuple[Schema, str]] = {
    ("datetime", "datetime"): ({"type": "string", "format": "date-time"}, "fromisoformat"),
    ("datetime", "date"): ({"type": "string", "format": "date"}, "fromisoformat"),
    ("datetime", "time"): ({"type": "string", "format": "time"}, "fromisoformat"),
    ("uuid", "UUID"): ({"type": "string", "format": "uuid"}, ""),
    ("decimal", "Decimal"): ({"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$"}, ""),
}
_LISTS = ("list", "Sequence", "MutableSequence", "Iterable", "Collection", "Container", "deque")
_SETS = ("set", "frozenset", "Set", "MutableSet", "AbstractSet")
_MAPPINGS = ("dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict")


@dataclass(frozen=True, slots=True)
class Hint:
    """`convert` is None where the data is the object."""

    schema: Schema
    convert: Convert | None = None


class Unreadable(Exception):
    """A hint that no schema can be made of."""


@dataclass(slots=True)
class Reader:
    """`definitions` are the schemas of types that contain themselves, by name."""

    definitions: dict[str, Schema] = field(default_factory=dict)
    # Types that are being read, innermost last, and those that were met inside themselves.
    _reading: list[Any] = field(default_factory=list)
    _recursive: dict[int, str] = field(default_factory=dict)
    _converted: dict[int, Convert | None] = field(default_factory=dict)

    def read(self, hint: Any) -> Hint:
        """Raises Unreadable."""
        import typing

        if hint in (Any, typing.Any, object) or hint is _EMPTY:
            return Hint({})
        try:
            if hint in _SCALARS:
                return Hint(dict(_SCALARS[hint]))
        except TypeError:
            pass  # what cannot be hashed is no scalar
        origin = typing.get_origin(hint)
        if origin is not None:
            return self._generic(hint, origin, typing.get_args(hint))
        if isinstance(hint, type):
            return self._class(hint)
        return self._named(hint)

    def _named(self, hint: Any) -> Hint:
        """NewType, `type X = …`, TypeVar: names for other types."""
        if (inner := getattr(hint, "__supertype__", None)) is not None:
            return self.read(inner)
        if type(hint).__name__ == "TypeAliasType":
            return self.read(hint.__value__)
        if type(hint).__name__ == "TypeVar":
            if hint.__constraints__:
                return self._union(hint.__constraints__)
            return self.read(hint.__bound__ if hint.__bound__ is not None else _EMPTY)
        return self._foreign(hint)

    def _generic(self, hint: Any, origin: Any, arguments: tuple[Any, ...]) -> Hint:
        import types
        import typing

        if origin is typing.Annotated:
            from tongs.library.annotated import annotated

            return annotated(self.read(arguments[0]), arguments[1:])
        if origin is typing.Literal:
            return _literal(arguments)
        if origin in (typing.Union, types.UnionType):
            return self._union(arguments)
        if origin in (typing.Required, typing.NotRequired, typing.Final, typing.ClassVar):
            return self.read(arguments[0])
        if origin is tuple:
            return self._tuple(arguments)
        name = getattr(origin, "__name__", "")
        if name in _LISTS or name in _SETS:
            return self._array(arguments[0] if arguments else _EMPTY, _collection(name))
        if name in _MAPPINGS:
            return self._mapping(arguments)
        return self._class(origin) if _is_structure(origin) else self._foreign(hint)

    def _class(self, hint: Any) -> Hint:
        from tongs.library.structures import structure

        if issubclass(hint, Enum):
            return _enum(hint)
        if (made := _text(hint)) is not None:
            return made
        name = hint.__name__
        if hint is tuple:
            return self._array(_EMPTY, tuple)
        if not _is_structure(hint):
            if name in _LISTS or name in _SETS:
                return self._array(_EMPTY, _collection(name))
            if name in _MAPPINGS:
                return Hint({"type": "object"})
            return self._foreign(hint)
        if any(hint is above for above in self._reading):
            return self._reference(hint)
        self._reading.append(hint)
        try:
            made = structure(hint, self)
        finally:
            self._reading.pop()
        if id(hint) not in self._recursive:
            return made
        self._converted[id(hint)] = made.convert
        self.definitions[self._recursive[id(hint)]] = made.schema
        return self._reference(hint)

    def _reference(self, hint: Any) -> Hint:
        """A type inside itself is named where it is met, and defined once."""
        name = self._recursive.get(id(hint))
        if name is None:
            name = self._recursive[id(hint)] = self.free_name(hint.__name__)

        def convert(data: Any) -> Any:
            inner = self._converted[id(hint)]
            return data if inner is None else inner(data)

        return Hint({"$ref": f"#/$defs/{name}"}, convert)

    def free_name(self, name: str) -> str:
        taken = {*self.definitions, *self._recursive.values()}
        names = (name if number == 1 else f"{name}{number}" for number in _numbers())
        return next(each for each in names if each not in taken)

    def _foreign(self, hint: Any) -> Hint:
        """A type that only pydantic knows, where the program uses it anyway."""
        from tongs.library.structures import adapted

        made = adapted(hint, self)
        if made is None:
            raise Unreadable(f"{_shown(hint)} cannot be written in JSON Schema")
        return made

    def _union(self, members: tuple[Any, ...]) -> Hint:
        read = [self.read(member) for member in members]
        schemas = [hint.schema for hint in read]
        if not all(schemas):
            return Hint({})  # one of them takes everything
        # `Literal[1] | None` may have said null already.
        distinct = [each for number, each in enumerate(schemas) if each not in schemas[:number]]
        schema = distinct[0] if len(distinct) == 1 else {"anyOf": distinct}
        if all(hint.convert is None for hint in read):
            return Hint(schema)
        return Hint(schema, lambda data: _chosen(read, self.definitions, data))

    def _array(self, item: Any, collection: Callable[[Any], Any] | None) -> Hint:
        hint = self.read(item)
        schema: Schema = {"type": "array", "items": hint.schema} if hint.schema else _ARRAY
        if collection in (set, frozenset):
            schema = {**schema, "uniqueItems": True}
        inner = hint.convert
        if inner is None:
            return Hint(dict(schema), collection)
        made = collection or list
        return Hint(schema, lambda data: made(inner(each) for each in data))

    def _tuple(self, items: tuple[Any, ...]) -> Hint:
        if len(items) == 2 and items[1] is ...:
            return self._array(items[0], tuple)
        read = [self.read(item) for item in items if item != ()]
        converts = [hint.convert or _same for hint in read]
        schema: Schema = {"type": "array", "items": False}
        schema |= {"minItems": len(read), "maxItems": len(read)}
        if read:
            schema["prefixItems"] = [hint.schema for hint in read]
        return Hint(
            schema,
            lambda data: tuple(each(item) for each, item in zip(converts, data, strict=True)),
        )

    def _mapping(self, arguments: tuple[Any, ...]) -> Hint:
        if not arguments:
            return Hint({"type": "object"})
        key, value = arguments
        keys, values = self.read(key), self.read(value)
        if keys.schema and keys.schema.get("type") != "string":
            raise Unreadable(f"keys are texts in JSON, and {_shown(key)} is none")
        schema: Schema = {"type": "object", "additionalProperties": values.schema or True}
        if keys.schema and keys.schema != {"type": "string"}:
            schema["propertyNames"] = keys.schema
        if keys.convert is None and values.convert is None:
            return Hint(schema)
        of_key, of_value = keys.convert or _same, values.convert or _same
        return Hint(schema, lambda data: {of_key(k): of_value(v) for k, v in data.items()})


_EMPTY = object()
_ARRAY: Schema = {"type": "array"}


def _same(data: Any) -> Any:
    return data


def _numbers() -> Iterator[int]:
    from itertools import count

    return count(1)


def _collection(name: str) -> Callable[[Any], Any] | None:
    if name == "frozenset":
        return frozenset
    if name in _SETS:
        return set
    if name == "deque":
        from collections import deque

        return deque
    return None


def _is_structure(hint: Any) -> bool:
    from tongs.library.structures import is_structure

    return is_structure(hint)


def _text(hint: Any) -> Hint | None:
    """A class that is written as a text."""
    if hint is bytes:
        from base64 import b64decode

        return Hint({"type": "string", "contentEncoding": "base64"}, b64decode)
    if hint is not os.PathLike and issubclass(hint, os.PathLike):
        # `Path` is made as what it is here; an abstract one as a path of this system.
        return Hint({"type": "string"}, hint)
    known = _TEXTS.get((hint.__module__, hint.__qualname__))
    if known is None:
        return None
    schema, maker = known
    return Hint(dict(schema), getattr(hint, maker) if maker else hint)


def _enum(hint: type[Enum]) -> Hint:
    """By value, where JSON can write the values, else by name."""
    values = [member.value for member in hint]
    if not all(type(value) in (str, int, float, bool, type(None)) for value in values):
        return Hint({"type": "string", "enum": list(hint.__members__)}, lambda name: hint[name])
    return Hint(_choices(values), hint)


def _literal(values: tuple[Any, ...]) -> Hint:
    plain = [value.value if isinstance(value, Enum) else value for value in values]
    if not all(type(value) in (str, int, bool, type(None)) for value in plain):
        raise Unreadable(f"Literal{list(values)} has a value that JSON cannot write")
    if not any(isinstance(value, Enum) for value in values):
        return Hint(_choices(plain))
    back = {(type(text), text): value for text, value in zip(plain, values, strict=True)}
    return Hint(_choices(plain), lambda data: back[type(data), data])


def _choices(values: list[Any]) -> Schema:
    kinds = {_SCALARS[type(value)]["type"] for value in values}
    kind = {"type": kinds.pop()} if len(kinds) == 1 else {}
    return {**kind, "enum": list(values)}


def _chosen(read: list[Hint], definitions: Mapping[str, Schema], data: Any) -> Any:
    """The object of the first type that the data fits."""
    from tongs.schema.check import violations

    for hint in read:
        schema = {**hint.schema, "$defs": dict(definitions)} if definitions else hint.schema
        if not violations(schema, data):
            return data if hint.convert is None else hint.convert(data)
    return data


def _shown(hint: Any) -> str:
    return str(getattr(hint, "__qualname__", None) or hint).replace("typing.", "")


def refused(where: str, reason: object) -> ToolError:
    return ToolError(
        ErrorCode.INVALID_DEFINITION,
        f"{where}: {reason}",
        hint="hint it with what JSON has, a data class, or pass `parameters=` to @tool",
    )
