"""A conversation as a document: Markdown to read, JSON to read back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from tongs.core.conversation import (
    CallMade,
    Conversation,
    Message,
    ModelSaid,
    ToolsAnswered,
    UserSaid,
)
from tongs.output import visible

FORMATS = ("markdown", "json")


def exported(conversation: Conversation, form: str) -> str:
    """As a text that ends with a newline."""
    return as_json(conversation) if form == "json" else as_markdown(conversation)


def format_of(path: str) -> str:
    """The format that the name of a file asks for."""
    return "json" if path.lower().endswith(".json") else "markdown"


def as_json(conversation: Conversation) -> str:
    text = json.dumps(conversation.to_data(), indent=2, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character, which UTF-8 cannot hold
        text = json.dumps(conversation.to_data(), indent=2)
    return text + "\n"


def as_markdown(conversation: Conversation) -> str:
    """For a reader, so with hidden characters written out.

    What somebody said is a quotation, what a tool wrote a block of code: nothing in it can pass for
    a heading of ours, and so for the words of another.
    """
    title = " ".join(conversation.title.split()) or "Conversation"
    about = (conversation.started, conversation.model, conversation.project)
    head = [f"# {title}", " · ".join((*about, f"conversation {conversation.id}"))]
    parts = [*head, *(part for message in conversation.messages for part in _parts(message))]
    return visible("\n\n".join(parts)) + "\n"


def _parts(message: Message) -> Iterator[str]:
    match message:
        case UserSaid(text):
            yield "## You"
            yield _quoted(text)
        case ModelSaid():
            yield f"## {message.model or 'Model'}"
            if message.text:
                yield _quoted(message.text)
            for call in message.calls:
                yield _call(call)
        case ToolsAnswered(answers):
            for answer in answers:
                how = "Result" if answer.ok else "No result"
                yield f"**{how} of {_code(answer.name)}**"
                yield fenced(answer.text)


def _call(call: CallMade) -> str:
    if call.arguments is None:
        why = " ".join(call.error.split())
        return f"**Call of {_code(call.name)}** ({why})\n\n{fenced(call.raw)}"
    arguments = json.dumps(dict(call.arguments), indent=2, ensure_ascii=False)
    return f"**Call of {_code(call.name)}**\n\n{fenced(arguments, 'json')}"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def _code(name: str) -> str:
    """A name that a model made up may be any text."""
    return f"`{' '.join(name.split()).replace('`', chr(39))}`"


def fenced(text: str, language: str = "") -> str:
    """A code block that nothing in the text can end."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
