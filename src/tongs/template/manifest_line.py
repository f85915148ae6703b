"""The command line of a manifest as the checks of `run:` see it: no value of a caller is code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tongs.core.annotations import Any
from tongs.template.dollar import DollarText
from tongs.template.manifest import Names
from tongs.template.placeholder import Mode, Placeholder
from tongs.template.values import Slot, Slots, TemplateError
from tongs.template.words import Word, WordsTemplate, check_programs

# Findings are told apart by their places, so each text of a manifest gets so many of them.
_PLACES = 1000


def slots(names: Names, schema: Mapping[str, Any]) -> dict[str, Slot]:
    """What each name can carry: secrets and `tool_dir` are the person's own, inputs a caller's."""
    properties: Mapping[str, Any] = schema["properties"]
    own = {name: Slot(name, closed=True) for name in names.all - set(names.inputs)}
    return {**own, **{name: input_slot(name, properties[name]) for name in names.inputs}}


def input_slot(name: str, entry: Any) -> Slot:
    """What an input can carry; one that does not say its type could be a list of words."""
    if not isinstance(entry, Mapping):
        return Slot(name, "array")
    kind = entry.get("type", "array")
    if isinstance(kind, list):
        kind = "array" if "array" in kind else "string"
    return Slot(name, kind, closed="enum" in entry or "const" in entry)


def line(entrypoint: str, args: Sequence[DollarText], known: Slots) -> WordsTemplate:
    """The words that the manifest starts."""
    words = [Word((entrypoint,), bare=False)]
    for number, text in enumerate(args):
        pieces = tuple(_pieces(text, known, number))
        # A list fills several words, as a bare placeholder does.
        words.append(Word(pieces, bare=text.whole is not None))
    return WordsTemplate(tuple(words), frozenset(), frozenset(), windows=False)


def code_in(words: WordsTemplate, known: Slots) -> Iterator[tuple[int, TemplateError]]:
    """Every value that a program of the line would run, with the number of its argument."""
    for error in check_programs(words):
        yield error.offset // _PLACES, _as_written(error, known)


def code_read(
    words: WordsTemplate, stdin: Iterable[DollarText], known: Slots
) -> Iterator[TemplateError]:
    """Every value that a line without code in it would read from stdin, and run."""
    items = [
        piece
        for number, text in enumerate(stdin)
        for piece in _pieces(text, known, number)
        if isinstance(piece, Placeholder)
    ]
    for error in check_programs(words, items):
        yield _as_written(error, known)


def _pieces(text: DollarText, known: Slots, number: int) -> Iterator[str | Placeholder]:
    for place, part in enumerate(text.parts):
        if isinstance(part, str):
            yield part
        else:
            yield Placeholder(known[part.name], Mode.SAFE, number * _PLACES + place, 0)


def _as_written(error: TemplateError, known: Slots) -> TemplateError:
    """The same with `${x}`: a manifest does not write `{x}`."""
    message, hint = error.message, error.hint
    for name in known:
        placeholder = "{" + name + "}"
        message, hint = (text.replace(placeholder, f"${placeholder}") for text in (message, hint))
    return TemplateError(message, offset=error.offset, hint=hint, rule=error.rule)
