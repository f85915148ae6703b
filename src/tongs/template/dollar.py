"""`${x}` in a manifest: a field with the names of inputs, secrets and `tool_dir` in it.

One pass: a value is never looked at again. `$${x}` writes `${x}` itself.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from tongs.core.annotations import Any, TypeAlias
from tongs.core.record import dataclass
from tongs.template.values import (
    ABSENT,
    TemplateError,
    Value,
    Values,
    plain_text,
    without_absent,
)

_NAME = re.compile(r"\$(\$?)\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class Name:
    """Stands for a value."""

    name: str


Part: TypeAlias = str | Name


@dataclass(frozen=True, slots=True)
class DollarText:
    """One text, cut at its names."""

    parts: tuple[Part, ...]

    @property
    def names(self) -> frozenset[str]:
        return frozenset(part.name for part in self.parts if isinstance(part, Name))

    @property
    def whole(self) -> str | None:
        """The name, where the text is nothing else."""
        part = self.parts[0] if len(self.parts) == 1 else None
        return part.name if isinstance(part, Name) else None

    def value(self, values: Values) -> Value:
        """A text that is one name keeps the type of its value, and is absent with it."""
        if self.whole is not None:
            return values.get(self.whole, ABSENT)
        return self.text(values)

    def text(self, values: Values) -> str:
        """The text; what is absent is empty."""
        return "".join(
            part if isinstance(part, str) else plain_text(values.get(part.name, ABSENT))
            for part in self.parts
        )


def compile(text: str, known: Collection[str]) -> DollarText:  # noqa: A001 - as in all languages
    """Raises TemplateError for a name that nobody declared."""
    return DollarText(tuple(_parts(text, known)))


def _parts(text: str, known: Collection[str]) -> Iterator[Part]:
    done = 0
    written = ""
    for match in _NAME.finditer(text):
        written += text[done : match.start()]
        done = match.end()
        if match[1]:
            written += "${" + match[2] + "}"
            continue
        if match[2] not in known:
            raise TemplateError(
                f"${{{match[2]}}} is no input, no declared secret and not `tool_dir`",
                offset=match.start(),
                hint=f"declare it, or write $${{{match[2]}}} for the text itself",
                rule="unknown-name",
            )
        if written:
            yield written
        written = ""
        yield Name(match[2])
    written += text[done:]
    if written or not done:
        yield written


def filled(data: Any, values: Values) -> Any:
    """The structure with values; absent entries are dropped. ABSENT if it is absent itself."""
    return without_absent(
        data, lambda each: each.value(values) if isinstance(each, DollarText) else each
    )


def words(data: Any, values: Values) -> list[str]:
    """A list as words of a command line: an array gives as many as it has items."""
    found: list[str] = []
    for value in filled(list(data), values):
        many = value if isinstance(value, list) else [value]
        found += [plain_text(each) for each in many]
    return found


__all__ = [
    "DollarText",
    "Name",
    "compile",
    "filled",
    "words",
]
