"""Values in an author's batch script. Unproven: not run against a real cmd.

Values travel in environment variables, and a placeholder becomes `!__T0!`. cmd replaces these
(delayed expansion) after it has split the line into commands and does not read the result again,
so no `&`, `|`, `%` or quote in a value can become code. It does read a line twice in a pipe, after
`call`, in `for` and in a nested cmd: there a placeholder that could carry code is refused.

cmd knows no words: the value is exact text, and a program that must get it as one argument needs
the author's quotes around it. The executor writes the script with CRLF.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tongs.core.annotations import TypeAlias
from tongs.core.record import dataclass
from tongs.template.placeholder import Literal, Mode, Placeholder, find, names, raw_names, written
from tongs.template.values import ABSENT, Slots, TemplateError, ValueRefused, Values, plain_text

# A line of cmd holds 8191 characters, after the values are in it.
_LONGEST_VALUE = 8000
_PROLOGUE = "@setlocal EnableExtensions EnableDelayedExpansion\n"


@dataclass(frozen=True, slots=True)
class CmdScript:
    """A script to run, and the variables its environment needs besides the usual ones."""

    script: str
    environment: dict[str, str]


@dataclass(frozen=True, slots=True)
class Reference:
    """A placeholder that reads a variable."""

    placeholder: Placeholder
    variable: str


@dataclass(frozen=True, slots=True)
class Code:
    """A placeholder whose text is code: `RAW:`, or a boolean with the author's own text."""

    placeholder: Placeholder


Part: TypeAlias = str | Reference | Code


@dataclass(frozen=True, slots=True)
class CmdTemplate:
    """A batch script ready for values."""

    parts: tuple[Part, ...]
    names: frozenset[str]
    raw_names: frozenset[str]

    def render(self, values: Values) -> CmdScript:
        """The script and its variables. Raises `ValueRefused` for what no variable can carry."""
        references = {part.variable: part for part in self.parts if isinstance(part, Reference)}
        texts = {name: _carried(ref.placeholder, values) for name, ref in references.items()}
        script = "".join(_text(part, values) for part in self.parts)
        # An unset variable reads as empty; an empty one cannot be set.
        return CmdScript(script, {name: text for name, text in texts.items() if text})


def compile(text: str, slots: Slots) -> CmdTemplate:  # noqa: A001 - one name in all languages
    """Prepare the script; raises `TemplateError` where a value could be read as code."""
    if not any(find(text, slots)):
        return CmdTemplate((text,), frozenset(), frozenset())
    _refuse_lost_expansion(text)
    # An author who turned delayed expansion on means expansion by `!`; any other means a `!`.
    scanner = _Scanner(text, slots, escape_marks=not _DELAYED.search(text))
    parts: list[Part] = [_PROLOGUE]
    for line in _LINE.finditer(text):
        parts += scanner.line(line.start(), line.end())
    used = [part.placeholder for part in parts if not isinstance(part, str)]
    return CmdTemplate(tuple(parts), names(used), raw_names(used))


_DELAYED = re.compile(r"\benabledelayedexpansion\b", re.IGNORECASE)
_UNDELAYED = re.compile(r"\b(?:disabledelayedexpansion|endlocal)\b", re.IGNORECASE)
# One logical line: a caret at the end continues it.
_LINE = re.compile(r"(?:[^\r\n^]|\^(?:\r\n|[\s\S])?)+(?:\r\n|[\r\n])?|\r\n|[\r\n]")
_COMMENT = re.compile(r"\s*@?\s*(?:rem(?![\w.])|::)", re.IGNORECASE)
_READ_TWICE = re.compile(
    r"(?:^|[&|(@]|\b(?:do|else)\b)\s*@?\s*(?:call|for|start|forfiles|cmd|pwsh|powershell)(?![\w-])"
    r"|\bcmd(?:\.exe)?\"?\s+/|\bset\s+/a",
    re.IGNORECASE,
)
_SETS = re.compile(r"\bset\s+(?:/p\s+)?\"?([^=\"\s]+)=", re.IGNORECASE)


def _refuse_lost_expansion(text: str) -> None:
    if lost := _UNDELAYED.search(text):
        raise TemplateError(f"after `{lost[0]}` no value could be read", offset=lost.start())


class _Scanner:
    def __init__(self, text: str, slots: Slots, *, escape_marks: bool) -> None:
        self.text = text
        self.items = {item.start: item for item in find(text, slots)}
        self.escape_marks = escape_marks
        self.numbers: dict[tuple[str, Mode], int] = {}

    def line(self, start: int, end: int) -> Iterator[Part]:
        """One logical line with references; a comment stays as it is."""
        line = self.text[start:end]
        items = [item for at, item in self.items.items() if start <= at < end]
        if _COMMENT.match(line) or not (items or "!" in line):
            yield line
            return
        risky = [item for item in items if isinstance(item, Placeholder) and _may_be_code(item)]
        for item in risky:
            self._refuse_second_reading(line, item)
        quoted = False
        pos = start
        while pos < end:
            if (item_here := self.items.get(pos)) is not None:
                yield self._item(item_here, quoted=quoted)
                pos = item_here.end
                continue
            unit = self.text[pos] if quoted else _unit(self.text, pos)
            if unit == "|" and not quoted and risky:
                raise _read_twice(risky[0], "a pipe")
            yield self._authors(unit, pos, quoted=quoted)
            quoted ^= unit == '"'
            pos += len(unit)

    def _item(self, item: Placeholder | Literal, *, quoted: bool) -> Part:
        if isinstance(item, Literal):
            return item.text
        if item.mode is Mode.RAW or (item.slot.mapped and not quoted):
            return Code(item)
        number = self.numbers.setdefault((item.slot.name, item.mode), len(self.numbers))
        return Reference(item, f"__T{number}")

    def _authors(self, unit: str, pos: int, *, quoted: bool) -> str:
        """The author's characters as they must read on a line with delayed expansion."""
        if unit[0] == "^" and pos + 1 in self.items:
            raise TemplateError("a caret stands before a placeholder", offset=pos)
        if not self.escape_marks:
            return unit
        if unit in ("!", "^!"):
            return "^!" if quoted else "^^!"
        if unit == "^^" or (unit == "^" and quoted):
            # Delayed expansion removes carets, but only from those parts of a line that hold a `!`.
            raise TemplateError("a literal `^` on a line with a value or a `!`", offset=pos)
        return unit

    def _refuse_second_reading(self, line: str, item: Placeholder) -> None:
        if found := _READ_TWICE.search(line):
            raise _read_twice(item, f"`{found[0].strip()}`")
        for name in _SETS.findall(line):
            if re.search(f"%{re.escape(name)}[%:]", self.text, re.IGNORECASE):
                raise _read_twice(item, f"`%{name}%`")


_UNIT = re.compile(r"\|\||\^(?:\r\n|[\s\S])?|[\s\S]")


def _unit(text: str, pos: int) -> str:
    """One character outside quotes, with the caret that escapes it; `||` is no pipe."""
    unit = _UNIT.match(text, pos)
    return unit[0] if unit else ""


def _may_be_code(item: Placeholder) -> bool:
    return item.mode is not Mode.RAW and not item.slot.harmless


def _read_twice(item: Placeholder, where: str) -> TemplateError:
    return TemplateError(
        f"cmd would read {item.slot.name} a second time, as code, in {where}",
        offset=item.start,
        hint=f"write {{RAW:{item.slot.name}}} to insert it as code, or use `run:`",
        rule="second-interpreter",
    )


def _carried(placeholder: Placeholder, values: Values) -> str:
    name = placeholder.slot.name
    value = written(values.get(name, ABSENT), placeholder)
    text = plain_text(value, placeholder.slot)
    if re.search(r"[\r\n\0]", text):
        raise ValueRefused(name, "may not contain a line break or NUL in a cmd script")
    if len(text) > _LONGEST_VALUE:
        raise ValueRefused(name, f"may not be longer than {_LONGEST_VALUE} characters for cmd")
    return text


def _text(part: Part, values: Values) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Reference):
        return f"!{part.variable}!"
    return plain_text(values.get(part.placeholder.slot.name, ABSENT), part.placeholder.slot)


__all__ = ["CmdScript", "CmdTemplate", "compile"]
