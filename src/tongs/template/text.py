"""Values in plain fields: input, environment, working-directory, arguments.

No language surrounds the placeholder, so nothing is quoted: the value is the text. A field that is
exactly one placeholder keeps the value's JSON type, and is absent where the value is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tongs.core.annotations import Any, TypeAlias
from tongs.core.record import dataclass
from tongs.template.placeholder import Literal, Placeholder, find, names, raw_names, written
from tongs.template.values import (
    ABSENT,
    NO_UNICODE,
    Absent,
    Slots,
    Value,
    ValueRefused,
    Values,
    is_unicode,
    plain_text,
    without_absent,
)


@dataclass(frozen=True, slots=True)
class Variable:
    """`${NAME}`: a variable of the environment that the tool would get."""

    name: str


Part: TypeAlias = str | Placeholder | Variable


@dataclass(frozen=True, slots=True)
class TextTemplate:
    """One field ready for values. `environment` says that it may name variables."""

    parts: tuple[Part, ...]
    names: frozenset[str]
    raw_names: frozenset[str]
    environment: bool = False

    def render(self, values: Values, environment: Mapping[str, str] | None = None) -> str | Absent:
        """The text; ABSENT if the whole field is one placeholder without a value.

        An unset variable is empty. Raises `ValueRefused` for a NUL where the field may name
        variables: the operating system takes none in an environment.
        """
        if (whole := self._whole) is not None:
            value = _field_value(whole, values)
            if value is ABSENT or value is None:
                return ABSENT
        return _joined(self, values, environment or {})

    def render_json(self, values: Values) -> Value:
        """Like `render`, but a field that is exactly one placeholder keeps its JSON type."""
        whole = self._whole
        return self.render(values) if whole is None else _field_value(whole, values)

    @property
    def _whole(self) -> Placeholder | None:
        part = self.parts[0] if len(self.parts) == 1 else None
        return part if isinstance(part, Placeholder) else None


def compile(  # noqa: A001 - one name in all languages
    text: str, slots: Slots, *, environment: bool = False
) -> TextTemplate:
    """Prepare one field; with `environment`, `${NAME}` means a variable.

    Variables are found in the author's text only, in the same pass as the placeholders: a value
    that contains `${HOME}` stays as it is.
    """
    parts = tuple(_parts(text, slots, environment=environment))
    return TextTemplate(parts, names(parts), raw_names(parts), environment)


def expand_environment(text: str, environment: Mapping[str, str]) -> str:
    """The text with each `${NAME}` replaced by the variable's value; unset is empty."""
    return _joined(compile(text, {}, environment=True), {}, environment)


@dataclass(frozen=True, slots=True)
class DataTemplate:
    """A nested structure whose texts are templates."""

    data: Any
    names: frozenset[str]
    raw_names: frozenset[str]

    def render(self, values: Values) -> Value:
        """The structure with values; absent entries of objects and lists are dropped."""
        return without_absent(
            self.data,
            lambda each: each.render_json(values) if isinstance(each, TextTemplate) else each,
        )


def compile_data(data: Any, slots: Slots) -> DataTemplate:
    """Prepare every text inside objects and lists; keys and other values stay as they are."""
    compiled = _compiled(data, slots)
    templates = list(_templates(compiled))
    return DataTemplate(
        compiled,
        frozenset[str]().union(*(template.names for template in templates)),
        frozenset[str]().union(*(template.raw_names for template in templates)),
    )


_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)\}")


def _parts(text: str, slots: Slots, *, environment: bool) -> Iterator[Part]:
    done = 0
    for item in find(text, slots):
        yield from _authors(text[done : item.start], environment=environment)
        yield item.text if isinstance(item, Literal) else item
        done = item.end
    yield from _authors(text[done:], environment=environment)


def _authors(text: str, *, environment: bool) -> Iterator[Part]:
    pieces = _VARIABLE.split(text) if environment else [text]
    # `split` puts the captured names at the odd places.
    for index, piece in enumerate(pieces):
        if index % 2:
            yield Variable(piece)
        elif piece:
            yield piece


def _joined(template: TextTemplate, values: Values, environment: Mapping[str, str]) -> str:
    return "".join(_part_text(part, template, values, environment) for part in template.parts)


def _part_text(
    part: Part, template: TextTemplate, values: Values, environment: Mapping[str, str]
) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Variable):
        return environment.get(part.name, "")
    text = plain_text(_field_value(part, values))
    if template.environment and "\0" in text:
        raise ValueRefused(part.slot.name, "may not contain a NUL character here")
    if template.environment and not is_unicode(text):
        raise ValueRefused(part.slot.name, NO_UNICODE)
    return text


def _field_value(placeholder: Placeholder, values: Values) -> Value:
    """The value in this field; a mapped boolean is the author's text, or absent without one."""
    value = values.get(placeholder.slot.name, ABSENT)
    if isinstance(value, bool) and placeholder.slot.mapped:
        text = placeholder.slot.authors_text(value)
        value = ABSENT if text is None else text
    return written(value, placeholder)


def _compiled(data: Any, slots: Slots) -> Any:
    if isinstance(data, str):
        return compile(data, slots)
    if isinstance(data, Mapping):
        return {key: _compiled(entry, slots) for key, entry in data.items()}
    if isinstance(data, list | tuple):
        return [_compiled(element, slots) for element in data]
    return data


def _templates(compiled: Any) -> Iterator[TextTemplate]:
    if isinstance(compiled, TextTemplate):
        yield compiled
    elif isinstance(compiled, dict | list):
        for entry in compiled.values() if isinstance(compiled, dict) else compiled:
            yield from _templates(entry)


__all__ = [
    "DataTemplate",
    "TextTemplate",
    "compile",
    "compile_data",
    "expand_environment",
]
