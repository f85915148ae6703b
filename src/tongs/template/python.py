"""Values in an author's Python source.

In code a placeholder becomes a Python literal. Inside a string literal it becomes text escaped for
exactly that kind of literal, so that the value is exact and can never end it. In a comment it
stays as it is: text there means nothing, except where it would declare an encoding.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from enum import Enum, auto

from tongs.core.annotations import TypeAlias
from tongs.core.record import dataclass
from tongs.template.placeholder import Literal, Mode, Placeholder, find, names, raw_names, written
from tongs.template.python_programs import refuse_program_text
from tongs.template.python_source import Place, Spot, scan
from tongs.template.values import (
    ABSENT,
    Slots,
    TemplateError,
    Value,
    ValueRefused,
    Values,
    number_text,
    plain_text,
    utf8,
)


class Form(Enum):
    """How a value is written into one place of the source."""

    RAW = auto()
    CODE = auto()
    OWNER = auto()  # code whose attribute is asked for: `{N}.real`
    FIELD = auto()
    TEXT = auto()
    BYTES = auto()
    FORMATTED = auto()
    FORMAT_SPEC = auto()


@dataclass(frozen=True, slots=True)
class Hole:
    """A placeholder and the form its value takes there."""

    placeholder: Placeholder
    form: Form

    def fill(self, values: Values) -> str:
        """The text that stands for the value."""
        value = written(values.get(self.placeholder.slot.name, ABSENT), self.placeholder)
        return _WRITERS[self.form](value, self.placeholder)


Part: TypeAlias = str | Hole


@dataclass(frozen=True, slots=True)
class PythonTemplate:
    """A Python source ready for values."""

    parts: tuple[Part, ...]
    names: frozenset[str]
    raw_names: frozenset[str]

    def render(self, values: Values) -> str:
        """The source with every value in its place. Raises `ValueRefused`."""
        return "".join(part if isinstance(part, str) else part.fill(values) for part in self.parts)


def compile(text: str, slots: Slots) -> PythonTemplate:  # noqa: A001 - one name in all languages
    """Prepare the source; raises `TemplateError` where no value could be written safely."""
    items = list(find(text, slots))
    if not items:
        return PythonTemplate((text,), frozenset(), frozenset())
    _refuse_other_encodings(text)
    scanned = scan(text, items)
    for spot in scanned.spots:
        refuse_program_text(text, spot, scanned.parentheses)
    edits: list[tuple[int, int, Part]] = [(r.start, r.end, r.text) for r in scanned.rewrites]
    edits += [
        (spot.item.start, spot.item.end, _part(text, spot))
        for spot in scanned.spots
        if not _stays(spot)
    ]
    parts = tuple(_assemble(text, edits))
    used = [part.placeholder for part in parts if isinstance(part, Hole)]
    return PythonTemplate(parts, names(used), raw_names(used))


def _assemble(text: str, edits: list[tuple[int, int, Part]]) -> list[Part]:
    parts: list[Part] = []
    done = 0
    for start, end, part in sorted(edits, key=lambda edit: edit[0]):
        parts += [text[done:start], part]
        done = end
    return [*parts, text[done:]]


# In the first line, or in the second if the first holds no code (PEP 263).
_ENCODING = re.compile(
    r"(?:[ \t\f]*(?:#[^\r\n]*)?(?:\r\n?|\n))??[ \t\f]*#[^\r\n]*?coding[:=][ \t]*([-\w.]+)"
)


def _refuse_other_encodings(text: str) -> None:
    """In some encodings a byte of the author's text can swallow the backslash that follows it."""
    declared = _ENCODING.match(text.removeprefix("\ufeff"))
    if declared and declared[1].lower().replace("_", "-") not in {"utf-8", "utf8", "ascii"}:
        raise TemplateError(
            f"placeholders need a source in UTF-8, not {declared[1]}", offset=declared.start(1)
        )


def _stays(spot: Spot) -> bool:
    """In the text of an f-string `{{A}}` already is Python's own way to write `{A}`."""
    if spot.place is Place.COMMENT:
        return True
    formatted = spot.literal is not None and spot.literal.formatted
    return isinstance(spot.item, Literal) and spot.place is Place.TEXT and formatted


def _part(text: str, spot: Spot) -> Part:
    if isinstance(spot.item, Literal):
        return spot.item.text
    if spot.item.mode is Mode.RAW:
        return Hole(spot.item, Form.RAW)
    return Hole(spot.item, _form(text, spot, spot.item))


def _form(text: str, spot: Spot, placeholder: Placeholder) -> Form:
    if spot.place is Place.FORMAT_SPEC:
        return Form.FORMAT_SPEC
    if spot.place is Place.TEXT:
        assert spot.literal is not None, "text stands in a literal"
        if spot.literal.depth:
            # Before 3.12 no backslash may stand there, so not every text could be written.
            raise _needs_a_name(placeholder, "a placeholder in a string")
        if spot.literal.binary:
            return Form.BYTES
        return Form.FORMATTED if spot.literal.formatted else Form.TEXT
    _refuse_touching(text, placeholder)
    if spot.place is Place.FIELD:
        if placeholder.slot.mapped:
            raise _needs_a_name(placeholder, "a boolean with the author's text")
        return Form.FIELD
    if placeholder.slot.mapped:
        _refuse_open_code(placeholder)
    return Form.OWNER if text.startswith(".", placeholder.end) else Form.CODE


def _needs_a_name(placeholder: Placeholder, what: str) -> TemplateError:
    return TemplateError(
        f"{what} cannot stand inside an f-string's braces",
        offset=placeholder.start,
        hint=f"assign it to a name first: `value = {{{placeholder.slot.name}}}`",
    )


# The braces cover two placeholders side by side; Python accepts nothing else there.
_GLUE_BEFORE = re.compile(r"[\w.'\"}]")
_GLUE_AFTER = re.compile(r"[\w'\"{]")


def _refuse_touching(text: str, placeholder: Placeholder) -> None:
    """A literal must stand alone: `f{A}` would make an f-string of it, `''{A}` a triple quote."""
    before, after = text[: placeholder.start][-1:], text[placeholder.end :][:1]
    if _GLUE_BEFORE.match(before) or _GLUE_AFTER.match(after):
        raise TemplateError(
            "a placeholder in code must not touch a name, a number, a quote or a brace",
            offset=placeholder.start,
            hint="put a blank between them, or write the whole text inside one pair of quotes",
        )


def _refuse_open_code(placeholder: Placeholder) -> None:
    """The author's code for a boolean must leave the code after it as it was: no open quote."""
    slot = placeholder.slot
    for code in filter(None, (slot.true_value, slot.false_value)):
        end = Placeholder(slot, Mode.SAFE, len(code), len(code) + 2)
        try:
            closed = scan(code + "{}", [end]).spots == [Spot(end, Place.CODE, None)]
        except TemplateError:
            closed = False
        if not closed or code.endswith("\\"):
            raise TemplateError(
                f"the text for {slot.name} is no complete piece of code: {code}",
                offset=placeholder.start,
            )


def _literal(value: Value, text: Callable[[str], str]) -> str:
    """A Python expression for a JSON value that binds tighter than any operator around it."""
    if value is ABSENT or value is None or isinstance(value, bool):
        return str(None if value is ABSENT else value)
    if isinstance(value, str):
        return text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({text(str(value))})"
    if isinstance(value, int | float):
        # `-1 ** 2` is not `(-1) ** 2`.
        return f"({number_text(value)})" if value < 0 else number_text(value)
    if isinstance(value, list):
        return "[" + ", ".join(_literal(element, text) for element in value) + "]"
    pairs = (f"{_literal(key, text)}: {_literal(entry, text)}" for key, entry in value.items())
    return "{" + ", ".join(pairs) + "}"


def _code(value: Value, placeholder: Placeholder) -> str:
    if isinstance(value, bool) and placeholder.slot.mapped:
        return placeholder.slot.authors_text(value) or ""
    # `ascii`, so that the value is exact whatever the encoding, and shows no hidden characters.
    return _literal(value, ascii)


def _owner(value: Value, placeholder: Placeholder) -> str:
    return f"({_code(value, placeholder)})"


def _field(value: Value, _: Placeholder) -> str:
    # In parentheses, since a number's own dot would swallow the dot of `{N}.real`.
    return f"({_literal(value, _without_quotes)})"


def _without_quotes(text: str) -> str:
    """An expression with no quote and no backslash: Python 3.11 allows neither in a field."""
    return f"str().join(map(chr, [{', '.join(str(ord(char)) for char in text)}]))"


def _escaped(text: str) -> str:
    """The text as it is written between quotes of any kind."""
    return ascii(text + "\"'")[1:-4].replace('"', '\\"')


def _text(value: Value, placeholder: Placeholder) -> str:
    return _escaped(plain_text(value, placeholder.slot))


def _formatted(value: Value, placeholder: Placeholder) -> str:
    return _text(value, placeholder).replace("{", "{{").replace("}", "}}")


def _bytes(value: Value, placeholder: Placeholder) -> str:
    # As Latin-1 every byte is the character of its number, whose escape is `\xNN` in both kinds.
    return _escaped(utf8(plain_text(value, placeholder.slot)).decode("latin-1"))


_SPEC_TEXT = re.compile(r"[^\\'\"{}\x00-\x1f\x7f\ud800-\udfff]*\Z")


def _format_spec(value: Value, placeholder: Placeholder) -> str:
    text = plain_text(value, placeholder.slot)
    if not _SPEC_TEXT.match(text):
        # Python has no escape for these that all versions read alike in this place.
        raise ValueRefused(
            placeholder.slot.name, "may hold no quote, brace, backslash or control character here"
        )
    return text


def _raw(value: Value, placeholder: Placeholder) -> str:
    return plain_text(value, placeholder.slot)


_WRITERS: dict[Form, Callable[[Value, Placeholder], str]] = {
    Form.RAW: _raw,
    Form.CODE: _code,
    Form.OWNER: _owner,
    Form.FIELD: _field,
    Form.TEXT: _text,
    Form.BYTES: _bytes,
    Form.FORMATTED: _formatted,
    Form.FORMAT_SPEC: _format_spec,
}

__all__ = ["PythonTemplate", "compile"]
