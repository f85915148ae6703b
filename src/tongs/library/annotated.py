"""What stands in `Annotated` beside a type: a description, or bounds."""

from __future__ import annotations

from collections.abc import Mapping

from tongs.core.annotations import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tongs.library.hints import Hint

# Attributes of the objects that pydantic and `annotated_types` use for bounds.
_BOUNDS = {
    "gt": "exclusiveMinimum",
    "ge": "minimum",
    "lt": "exclusiveMaximum",
    "le": "maximum",
    "multiple_of": "multipleOf",
    "pattern": "pattern",
}
_SIZES = {
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}


def annotated(hint: Hint, notes: tuple[Any, ...]) -> Hint:
    """The hint with what the notes say: a text describes, a mapping is schema, others bound."""
    from tongs.core.record import replace  # noqa: PLC0415 - keeps the name local to its one use

    schema = dict(hint.schema)
    for note in notes:
        _apply(schema, note)
    return replace(hint, schema=schema)


def _apply(schema: dict[str, Any], note: Any) -> None:
    if isinstance(note, str):
        schema["description"] = note
        return
    if isinstance(note, Mapping):
        schema.update(note)
        return
    for name in ("description", "documentation"):  # of pydantic's Field, of typing_extensions' Doc
        if isinstance(text := getattr(note, name, None), str):
            schema["description"] = text
    for name, keyword in _BOUNDS.items():
        bound = getattr(note, name, None)
        if isinstance(bound, int | float | str) and not isinstance(bound, bool):
            schema[keyword] = bound
    shortest, longest = _SIZES.get(str(schema.get("type")), _SIZES["string"])
    for name, keyword in (("min_length", shortest), ("max_length", longest)):
        if isinstance(size := getattr(note, name, None), int):
            schema[keyword] = size
    inner = getattr(note, "metadata", None)
    for each in inner if isinstance(inner, list | tuple) else ():
        _apply(schema, each)
