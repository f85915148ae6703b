"""The parameters of a function as a schema, and its call with checked arguments."""

# ruff: noqa: TID251, PLC0415 - as in hints.py

from __future__ import annotations

from collections.abc import Callable, Mapping

from tongs.core.annotations import Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.record import dataclass, field
from tongs.core.result import ToolResult
from tongs.library import docstring
from tongs.library.hints import Convert, Reader, Unreadable, refused
from tongs.library.structures import Part, property_of


@dataclass(frozen=True, slots=True)
class Signature:
    """`converts` has the parameters whose objects are not the data itself."""

    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None
    about: str
    converts: Mapping[str, Convert] = field(default_factory=dict)
    positional: tuple[str, ...] = ()

    def bound(self, function: Callable[..., Any]) -> Callable[[Mapping[str, Any]], Any]:
        """The function as one that takes all its arguments in one mapping."""
        if not self.converts and not self.positional:
            return lambda arguments: function(**arguments)
        return lambda arguments: self._called(function, arguments)

    def _called(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        given = dict(arguments)
        for name, convert in self.converts.items():
            if name in given:
                given[name] = _converted(name, convert, given[name])
        first = [given.pop(name) for name in self.positional if name in given]
        return function(*first, **given)


def read(function: Callable[..., Any], name: str) -> Signature:
    """Raises ToolError INVALID_DEFINITION for what cannot be a schema."""
    import inspect
    import typing

    try:
        signature = inspect.signature(function)
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError, ValueError) as error:
        raise refused(name, error) from None
    told = docstring.read(inspect.getdoc(function))
    reader = Reader()
    schema: dict[str, Any] = {"type": "object", "properties": {}, "required": []}
    converts: dict[str, Convert] = {}
    positional = []
    further: Any = False
    try:
        for each in signature.parameters.values():
            hint = hints.get(each.name, Any)
            if each.kind is each.VAR_POSITIONAL:
                raise Unreadable(f"`*{each.name}`: the arguments of a tool have names")
            if each.kind is each.VAR_KEYWORD:
                further = reader.read(hint).schema or True
                continue
            if each.kind is each.POSITIONAL_ONLY:
                positional.append(each.name)
            part = _part(each, hint, told.parameters.get(each.name, ""))
            schema["properties"][each.name], convert = property_of(part, reader)
            if convert is not None:
                converts[each.name] = convert
            if each.default is each.empty:
                schema["required"].append(each.name)
        schema["additionalProperties"] = further
        output = _output(hints.get("return"))
    except Unreadable as error:
        raise refused(name, error) from None
    if reader.definitions:
        schema["$defs"] = reader.definitions
    return Signature(schema, output, told.about, converts, tuple(positional))


def _part(parameter: Any, hint: Any, told: str) -> Part:
    from tongs.library.structures import NOT_GIVEN

    default = NOT_GIVEN if parameter.default is parameter.empty else parameter.default
    return Part(parameter.name, hint, default, told)


def _output(hint: Any) -> dict[str, Any] | None:
    """What a function promises to return, where it says more than that it is data."""
    import typing

    if hint in (None, Any, typing.Any, str, type(None), ToolResult, dict, list, object):
        return None
    own = Reader()
    try:
        schema = own.read(hint).schema
    except Unreadable:
        return None  # a hint that only Python understands promises nothing here
    if own.definitions:
        schema = {**schema, "$defs": own.definitions}
    return schema or None


def _converted(name: str, convert: Convert, data: Any) -> Any:
    try:
        return convert(data)
    except (ValueError, TypeError, KeyError, ArithmeticError) as error:
        raise ToolError(
            ErrorCode.INVALID_ARGUMENTS,
            f"{name} cannot be {data!r:.80}: {error}",
            details={"violations": [{"path": [name], "message": str(error)}]},
        ) from None
