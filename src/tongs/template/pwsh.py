"""Values in an author's PowerShell script. Unproven: not run against a real PowerShell.

Values travel in a JSON file that a preamble reads into variables; a placeholder becomes a
reference to its variable. PowerShell never parses the content of a variable, so no value can be
code. A single-quoted string that takes values becomes a double-quoted one with the author's
text escaped: one string stays one string, so nothing changes in how the code around it binds.
"""

from __future__ import annotations

import json
import math
import re

from tongs.core.annotations import TypeAlias
from tongs.core.record import dataclass
from tongs.template.placeholder import Literal, Mode, Placeholder, find, names, raw_names, written
from tongs.template.pwsh_source import Place, Spot, scan
from tongs.template.values import ABSENT, Slots, TemplateError, Value, Values, plain_text

# The executor puts the path of the file with `values_json` into this variable.
VALUES_VARIABLE = "TONGS_VALUES"


@dataclass(frozen=True, slots=True)
class PwshScript:
    """A script to run, and the content of the file that `TONGS_VALUES` must name (UTF-8)."""

    script: str
    values_json: str


@dataclass(frozen=True, slots=True)
class Reference:
    """A placeholder that reads a variable; as `text` inside quotes, else with its own type."""

    placeholder: Placeholder
    index: int
    text: bool

    @property
    def key(self) -> str:
        """The name in the file; text and typed value of one placeholder stand side by side."""
        return f"{'s' if self.text else 't'}{self.index}"

    @property
    def variable(self) -> str:
        """Braces, so that no letter after the reference can become part of the name."""
        return f"${{__{self.key}}}"


@dataclass(frozen=True, slots=True)
class Code:
    """A placeholder whose text is code: `RAW:`, or a boolean with the author's own text."""

    placeholder: Placeholder


Part: TypeAlias = str | Reference | Code


@dataclass(frozen=True, slots=True)
class PwshTemplate:
    """A PowerShell script ready for values."""

    parts: tuple[Part, ...]
    names: frozenset[str]
    raw_names: frozenset[str]

    def render(self, values: Values) -> PwshScript:
        """The script with its preamble, and the values for the file beside it."""
        references = {part.variable: part for part in self.parts if isinstance(part, Reference)}
        script = "".join(_text(part, values) for part in self.parts)
        if not references:
            return PwshScript(script, "{}")
        stored = {reference.key: _stored(reference, values) for reference in references.values()}
        fetched = (f"{name} = {_fetch(ref.key, stored)}" for name, ref in references.items())
        # On the author's first line, so that PowerShell's messages count lines as the author does.
        return PwshScript("; ".join([_READ, *fetched, script]), json.dumps(stored))


def compile(text: str, slots: Slots) -> PwshTemplate:  # noqa: A001 - one name in all languages
    """Prepare the script; raises `TemplateError` where a value could be read as code."""
    items = list(find(text, slots))
    if not items:
        return PwshTemplate((text,), frozenset(), frozenset())
    scanned = scan(text, items)
    spots = [spot for spot in scanned.spots if spot.place is not Place.COMMENT]
    _refuse_program_text(text, spots, scanned.comments)
    numbers: dict[tuple[str, Mode], int] = {}
    edits: list[tuple[int, int, Part]] = [(r.start, r.end, r.text) for r in scanned.rewrites]
    edits += [(s.item.start, s.item.end, _part(text, s, numbers)) for s in spots]
    parts: list[Part] = []
    done = 0
    for start, end, part in sorted(edits, key=lambda edit: edit[0]):
        parts += [text[done:start], part]
        done = end
    parts.append(text[done:])
    if any(isinstance(part, Reference) for part in parts) and (head := _HEAD.match(text)):
        raise TemplateError(
            f"`{head[1]}` must be the first statement, before the values can be read",
            offset=head.start(1),
            hint="use $args or placeholders instead of param()",
        )
    used = [part.placeholder for part in parts if not isinstance(part, str)]
    return PwshTemplate(tuple(parts), names(used), raw_names(used))


_HEAD = re.compile(
    r"(?:\s|#[^\r\n]*|<#.*?#>)*(param\b|using\b|\[CmdletBinding\b)", re.IGNORECASE | re.DOTALL
)


def _part(text: str, spot: Spot, numbers: dict[tuple[str, Mode], int]) -> Part:
    item = spot.item
    if isinstance(item, Literal):
        return item.text
    if item.mode is Mode.RAW:
        return Code(item)
    if spot.place is Place.CODE and item.slot.mapped:
        _refuse_open_code(item)
        return Code(item)
    if spot.place is Place.CODE:
        _refuse_touching(text, item)
    index = numbers.setdefault((item.slot.name, item.mode), len(numbers))
    return Reference(item, index, text=spot.place is Place.TEXT)


def _refuse_open_code(placeholder: Placeholder) -> None:
    """The author's code for a boolean must leave the code after it as it was: no open quote."""
    slot = placeholder.slot
    for code in filter(None, (slot.true_value, slot.false_value)):
        end = Placeholder(slot, Mode.SAFE, len(code), len(code) + 2)
        try:
            closed = scan(code + "{}", [end]).spots == [Spot(end, Place.CODE, len(code))]
        except TemplateError:
            closed = False
        if not closed:
            raise TemplateError(
                f"the text for {slot.name} is no complete piece of code: {code}",
                offset=placeholder.start,
            )


def _refuse_touching(text: str, placeholder: Placeholder) -> None:
    """`{A}.txt` would ask for the property `txt`, and `@{A}` reads as a hash table."""
    name = placeholder.slot.name
    if text[: placeholder.start].endswith("@") or re.match(r"[.(\[]|::", text[placeholder.end :]):
        raise TemplateError(
            f"what touches {{{name}}} here may be part of the text or of the code",
            offset=placeholder.start,
            hint=f'write "{{{name}}}.txt" for text, or ({{{name}}}).Length for code',
        )


_RUNS_TEXT = re.compile(
    r"(?<![\w-])(?:iex|invoke-expression)(?![\w-])"
    r"|\[scriptblock\]\s*::\s*create\b|\bexpandstring\b|\binvokescript\b",
    re.IGNORECASE,
)
_RUNS_ARGUMENT = re.compile(
    r"\b(?:pwsh|powershell)(?:\.exe)?\b.*\s[-/](?:c\w*|e(?:nc?\w*|c)?)(?!\w)"
    r"|\bcmd(?:\.exe)?\s.*/[ckr](?!\w)|\b(?:ba|da|k|z)?sh\s.*-\w*c(?!\w)"
    r"|\b(?:python[\d.]*|perl|ruby|node)(?:\.exe)?\s.*-[ce](?!\w)",
    re.IGNORECASE | re.DOTALL,
)
# A backtick at the end of a line continues it.
_LINE_BREAK = re.compile(r"(?<![`\r])\n|(?<!`)\r\n?")


def _refuse_program_text(text: str, spots: list[Spot], comments: list[tuple[int, int]]) -> None:
    """No quoting is right for two languages at once, so such a value must be harmless or RAW."""
    for start, end in comments:
        text = text[:start] + " " * (end - start) + text[end:]
    runs_text = _RUNS_TEXT.search(text) is not None
    for spot in spots:
        item = spot.item
        if isinstance(item, Literal) or item.mode is Mode.RAW or item.slot.harmless:
            continue
        # From the start of the string around it: the command stands before that.
        line = _LINE_BREAK.split(text[: spot.start])[-1] + text[spot.start : item.start]
        if runs_text or _RUNS_ARGUMENT.search(line):
            name = item.slot.name
            raise TemplateError(
                f"{name} may become part of a program's text",
                offset=item.start,
                hint=f"pass it as an argument instead, or write {{RAW:{name}}} to insert code",
                rule="second-interpreter",
            )


# Not by `Get-Content`, which an author may have given another meaning by an alias.
_READ = f"$__values = [System.IO.File]::ReadAllText($env:{VALUES_VARIABLE}) | ConvertFrom-Json"


def _stored(reference: Reference, values: Values) -> Value:
    """The JSON for the file. Texts begin with `=`, since PowerShell turns `"2024-01-01"` to a date.

    What has no type of its own in PowerShell (an object) is JSON text, as in every other language.
    """
    placeholder = reference.placeholder
    value = written(values.get(placeholder.slot.name, ABSENT), placeholder)
    if reference.text:
        return _marked(plain_text(value, placeholder.slot))
    return [_typed(element) for element in value] if isinstance(value, list) else _typed(value)


def _typed(value: Value) -> Value:
    if value is ABSENT or value is None or isinstance(value, bool):
        return None if value is ABSENT else value
    if isinstance(value, int | float) and math.isfinite(value):
        return value
    return _marked(plain_text(value))


def _marked(text: str) -> str:
    return "=" + text


def _fetch(key: str, stored: dict[str, Value]) -> str:
    """The expression that gives back what `_stored` wrote."""
    if isinstance(stored[key], str):
        return f"$__values.{key}.Substring(1)"
    if isinstance(stored[key], list):
        unmarked = "if ($_ -is [string]) { $_.Substring(1) } else { $_ }"
        # `@(…)`, since an array of one element would otherwise become the element.
        return f"@($__values.{key} | ForEach-Object {{ {unmarked} }})"
    return f"$__values.{key}"


def _text(part: Part, values: Values) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Reference):
        return part.variable
    return plain_text(values.get(part.placeholder.slot.name, ABSENT), part.placeholder.slot)


__all__ = ["VALUES_VARIABLE", "PwshScript", "PwshTemplate", "compile"]
