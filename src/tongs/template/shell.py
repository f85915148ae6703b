"""Put values into bash and sh text so that no value can become code.

A value never enters the script. It is bound to a variable in a preamble, and the placeholder
becomes a reference that fits its quotes: the shell never reads the result of `${v}` again.
`shell_commands` and `shell_words` find out how each place is read, `shell_programs` refuses places
where a second interpreter (`bash -c`, `awk`, `ssh` …) would read the value as its program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tongs.core.record import dataclass, field
from tongs.template.leading import Reading, guarded, reading, refuse_option
from tongs.template.placeholder import (
    Literal,
    Mode,
    Placeholder,
    find,
    names,
    raw_names,
    written,
)
from tongs.template.shell_commands import scan
from tongs.template.shell_cursor import Edit, Mark, Quote, Site, Word
from tongs.template.values import (
    ABSENT,
    Slots,
    TemplateError,
    Value,
    ValueRefused,
    Values,
    plain_text,
)


@dataclass(frozen=True, slots=True)
class Rendered:
    """What to run.

    bash: `preamble` is the content of the file that BASH_ENV names (empty if there is nothing to
    bind), and `script` keeps the author's line numbers. sh: `preamble` is empty, and the bindings
    stand on the script's first line.
    """

    script: str
    preamble: str


@dataclass(frozen=True, slots=True)
class ShellTemplate:
    """A checked template: author's text and sites in turn."""

    dialect: str
    pieces: tuple[str | Site, ...]
    # What the names of our variables start with.
    variable: str
    # Placeholders whose value must not begin with a dash, by their offset, with the program.
    guarded: Mapping[int, str] = field(default_factory=dict)

    @property
    def names(self) -> frozenset[str]:
        """The slots this template uses."""
        return names(piece.item for piece in self.pieces if isinstance(piece, Site))

    @property
    def raw_names(self) -> frozenset[str]:
        """Those of them that it inserts as they are."""
        return raw_names(piece.item for piece in self.pieces if isinstance(piece, Site))

    def render(self, values: Values) -> Rendered:
        """The script for these values; raises only `ValueRefused`."""
        bindings = _Bindings(self.variable)
        script = "".join(
            piece if isinstance(piece, str) else self._inserted(piece, values, bindings)
            for piece in self.pieces
        )
        if not bindings.assignments:
            return Rendered(script, "")
        if self.dialect == "sh":
            return Rendered("; ".join([*bindings.assignments, script]), "")
        return Rendered(script, "\n".join(["unset BASH_ENV", *bindings.assignments, ""]))

    def _inserted(self, site: Site, values: Values, bindings: _Bindings) -> str:
        program = self.guarded.get(site.item.start)
        if program is not None and isinstance(site.item, Placeholder):
            refuse_option(site.item, values, program)
        return _insertion(site, values, bindings)


def compile(  # noqa: A001 - one name in all languages
    text: str, slots: Slots, *, dialect: str = "bash", checked: bool = False
) -> ShellTemplate:
    """Place every placeholder of `text`, or raise `TemplateError`.

    `checked` says that this very text already passed `check_programs`.
    """
    marks = _marks(text, slots)
    if not marks:
        return ShellTemplate(dialect, (text,), "")
    found = scan(text, marks, dialect)
    for site in found.sites:
        _refuse_unsafe_place(site, dialect)
    if not checked:
        from tongs.template.shell_programs import errors  # noqa: PLC0415 - a warm run skips it

        for error in errors(found):
            raise error
    dashes = {
        item.start: program
        for command in found.commands
        for item, program in guarded([_reading(word) for word in command.words])
    }
    return ShellTemplate(
        dialect, _pieces(text, found.sites, found.edits), _free_prefix(text), dashes
    )


def check_programs(text: str, slots: Slots, *, dialect: str = "bash") -> list[TemplateError]:
    """Every placeholder that stands where a second interpreter would run its value."""
    from tongs.template.shell_programs import errors  # noqa: PLC0415 - a warm run skips it

    return errors(scan(text, _marks(text, slots), dialect))


def quoted(text: str) -> str:
    """`text` as one shell word, the POSIX way."""
    return "'" + text.replace("'", "'\\''") + "'"


def _reading(word: Word) -> Reading:
    """A word as `guarded` looks at it."""
    text = word.text.replace("'", "").replace('"', "")
    if not word.sites:
        return text, None
    item = word.sites[0].item
    fixed, _, _ = text.partition("{")
    return reading(fixed, item if isinstance(item, Placeholder) else None)


def _marks(text: str, slots: Slots) -> list[Mark]:
    return [Mark(item.start, item.end, item) for item in find(text, slots)]


def _refuse_unsafe_place(site: Site, dialect: str) -> None:
    item = site.item
    if isinstance(item, Literal) or item.mode is Mode.RAW or site.quote is Quote.COMMENT:
        return
    name = item.slot.name
    if site.evaluated and not item.slot.harmless:
        raise TemplateError(
            f"{{{name}}} stands where the shell evaluates arithmetic, which can run commands",
            offset=item.start,
            hint=f"give {name} the type integer or number, or an enum",
            rule="second-interpreter",
        )
    if dialect == "sh" and site.quote is Quote.BARE and item.slot.type == "array":
        raise TemplateError(
            f"{{{name}}} is an array, and sh has no arrays",
            offset=item.start,
            hint=f'use bash, or write "{{{name}}}" for one text joined by blanks',
            rule="array-in-sh",
        )


def _pieces(text: str, sites: Sequence[Site], edits: Sequence[Edit]) -> tuple[str | Site, ...]:
    changes: list[tuple[int, int, str | Site]] = [(s.item.start, s.item.end, s) for s in sites]
    changes += [(edit.start, edit.end, edit.text) for edit in edits]
    changes.sort(key=lambda change: change[0])
    pieces: list[str | Site] = []
    at = 0
    for start, end, change in changes:
        pieces += (text[at:start], change)
        at = end
    pieces.append(text[at:])
    return tuple(pieces)


def _free_prefix(text: str) -> str:
    """A start for our variables that the author's text does not use."""
    prefix = "__t"
    while prefix in text:
        prefix += "_"
    return prefix


class _Bindings:
    """The variables of one rendering; equal values of one placeholder share theirs."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._names: dict[tuple[str, Mode, bool], str] = {}
        self.assignments: list[str] = []

    def name(self, item: Placeholder, value: Value, *, as_array: bool) -> str:
        """The variable that holds the value of this placeholder, bound on first use."""
        key = (item.slot.name, item.mode, as_array)
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = f"{self._prefix}{len(self._names)}"
            if as_array:
                bound = "(" + " ".join(quoted(_checked(element, item)) for element in value) + ")"
            else:
                bound = quoted(_checked(value, item))
            self.assignments.append(f"{name}={bound}")
        return name


def _checked(value: Value, item: Placeholder) -> str:
    text = plain_text(value, item.slot)
    if "\0" in text:
        raise ValueRefused(item.slot.name, "contains a NUL character, which no shell can hold")
    return text


def _insertion(site: Site, values: Values, bindings: _Bindings) -> str:
    """What stands in the script instead of this placeholder."""
    item, quote = site.item, site.quote
    if isinstance(item, Literal):
        return item.text
    if quote is Quote.COMMENT:
        return ""
    given = values.get(item.slot.name, ABSENT)
    _refuse_wrong_type(given, item)
    value = written(given, item)
    if item.mode is Mode.RAW or (item.slot.mapped and value is not ABSENT):
        return _authors_text(site, item, value)
    if value is ABSENT and site.alone:
        return ""
    if quote is Quote.BARE and isinstance(value, list) and item.slot.type == "array":
        return '"${' + bindings.name(item, value, as_array=True) + '[@]}"'
    reference = "${" + bindings.name(item, value, as_array=False) + "}"
    if quote in (Quote.BARE, Quote.FIELD):
        return f'"{reference}"'
    if quote is Quote.SINGLE:
        return f"'\"{reference}\"'"
    if quote is Quote.ANSI:
        return f"'\"{reference}\"$'"
    return reference


def _authors_text(site: Site, item: Placeholder, value: Value) -> str:
    """RAW and mapped booleans: code as the author wrote it."""
    text = _checked(value, item)
    if site.quote is Quote.VERBATIM:
        return text.replace("\\", "\\\\").replace("$", "\\$").replace("`", "\\`")
    bare = site.quote is Quote.FIELD or (site.quote is Quote.BARE and not site.alone)
    # Where there must be a word, or another text would join what stands around it.
    return '""' if bare and not text and item.mode is not Mode.RAW else text


def _refuse_wrong_type(value: Value, item: Placeholder) -> None:
    """Numbers and booleans may stand where text may not, so nothing else may pass for one."""
    if value is ABSENT or item.slot.closed:
        return
    if item.slot.type in ("number", "integer") and (
        isinstance(value, bool) or not isinstance(value, int | float)
    ):
        raise ValueRefused(item.slot.name, f"must be a {item.slot.type}")
    if item.slot.type == "boolean" and not isinstance(value, bool):
        raise ValueRefused(item.slot.name, "must be a boolean")
