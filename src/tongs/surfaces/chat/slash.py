"""What a person has typed: words for the model, or a command that begins with a slash.

`/etc/hosts is what?` is text, since no command has a slash in its name; so is what follows `//`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tongs.core.annotations import Any, TypeAlias
from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.core.record import dataclass
from tongs.core.tool import Tool

_COMMAND = re.compile(r"/([^\s/]+)(?:\s+|\Z)")
_NAMED = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\Z")


@dataclass(frozen=True, slots=True)
class Words:
    """For the model."""

    text: str


@dataclass(frozen=True, slots=True)
class Slash:
    """`/name rest`; `rest` is as typed, without the blanks around it."""

    name: str
    rest: str = ""


Typed: TypeAlias = Words | Slash


def read(line: str) -> Typed:
    """What a line means."""
    text = line.strip()
    if text.startswith("//"):
        return Words(text[1:])
    if found := _COMMAND.match(text):
        return Slash(found[1], text[found.end() :].strip())
    return Words(text)


def split_words(text: str) -> list[str]:
    """Words as a shell divides them, where nothing but quotes and `\\` means anything.

    Raises ToolError where a quote is not closed.
    """
    words, last = divided(text)
    if last.open:
        what = "the \\ at the end" if last.open == "\\" else f"the quote {last.open}"
        raise ToolError(
            ErrorCode.INVALID_ARGUMENTS,
            f"nothing was run: {what} is left open",
            hint="quote a value as a whole: NAME='two words'",
        )
    return [*words, last.text] if last.began < len(text) else words


@dataclass(frozen=True, slots=True)
class Last:
    """The word at the end of a line, maybe empty: where it began, and what is open in it."""

    text: str
    began: int
    open: str = ""


def divided(text: str) -> tuple[list[str], Last]:
    """The words of a line that may be unfinished, and the last one apart."""
    words: list[str] = []
    word, quote, escaped, began = "", "", False, -1
    for place, character in enumerate(text):
        if began < 0 and not character.isspace():
            began = place
        if escaped:
            # In double quotes, a backslash before anything else is one.
            kept = "\\" if quote and character not in '"\\' else ""
            word, escaped = word + kept + character, False
        elif character == "\\" and quote != "'":
            escaped = True
        elif character == quote:
            quote = ""
        elif quote:
            word += character
        elif character in "'\"":
            quote = character
        elif not character.isspace():
            word += character
        elif began >= 0:
            words.append(word)
            word, began = "", -1
    still_open = "\\" if escaped else quote
    return words, Last(word, len(text) if began < 0 else began, still_open)


def texts_of(tool: Tool, words: Sequence[str]) -> list[str]:
    """Every word as NAME=VALUE: one without a name is for the next parameter that has none yet.

    Those that are required come first, then the others, each in the order of the definition.
    Raises ToolError where there are more words than parameters.
    """
    free = [name for name in order(tool) if name not in _named_in(tool, words)]
    texts = []
    for word in words:
        if name_of(tool, word):
            texts.append(word)
        elif free:
            texts.append(f"{free.pop(0)}={word}")
        else:
            raise _too_many(tool, word)
    return texts


def order(tool: Tool) -> list[str]:
    """The parameters of a tool, in the order in which words without a name are taken for them."""
    properties = _properties(tool)
    required = [name for name in properties if name in tool.input_schema.get("required", ())]
    return required + [name for name in properties if name not in required]


def name_of(tool: Tool, word: str) -> str:
    """The name in NAME=VALUE; empty where the word is a value, as an address with `?a=b` is."""
    name, equals, _ = word.partition("=")
    if equals and (name in _properties(tool) or _NAMED.match(name)):
        return name
    return ""


def _named_in(tool: Tool, words: Sequence[str]) -> set[str]:
    return {name for word in words if (name := name_of(tool, word))}


def _properties(tool: Tool) -> Mapping[str, Any]:
    properties: Mapping[str, Any] = tool.input_schema.get("properties", {})
    return properties


def _too_many(tool: Tool, word: str) -> ToolError:
    count = len(_properties(tool))
    takes = f"{count} parameter{'' if count == 1 else 's'}" if count else "no parameters"
    return ToolError(
        ErrorCode.INVALID_ARGUMENTS,
        f"{tool.name} was not run: `{word}` is one word too many, it takes {takes}",
        blocked_by=BlockedBy.SCHEMA,
        hint=usage(tool) if count else f"/{tool.name}",
    )


def usage(tool: Tool) -> str:
    """`/weather LOCATION [DAYS]`; a value of several words is quoted."""
    required = tool.input_schema.get("required", ())
    shown = [name if name in required else f"[{name}]" for name in order(tool)]
    return " ".join((f"/{tool.name}", *shown))
