"""The commands of the chat itself: `/help`, `/tools` and the others."""

# ruff: noqa: PLC0415 - what one command needs is loaded by that command

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable

from tongs.core.annotations import TYPE_CHECKING
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.scope import Scope
from tongs.core.tool import Tool
from tongs.output import visible
from tongs.surfaces.chat.completing import Known
from tongs.surfaces.chat.slash import Slash, split_words
from tongs.surfaces.cli.table import one_line, table

if TYPE_CHECKING:
    from tongs.surfaces.chat.session import Session

COMMANDS = {
    "help": "what can be typed here",
    "tools": "the tools that the model has, and those you can run",
    "give": "hand the result of your last /TOOL to the model; WORDS are your message with it",
    "approve": "calls that wait, and decisions of this session; /approve ID answers one",
    "model": "which model answers; /model NAME changes it",
    "save": "write the conversation to FILE: Markdown, or JSON for a name that ends so",
    "quit": "end the chat; it is kept",
}
_USAGE = {
    "give": "/give [WORDS]",
    "approve": "/approve [ID | revoke ID]",
    "model": "/model [NAME]",
    "save": "/save FILE",
}
_KEYS = """\
Enter sends, Alt-Enter (or Esc Enter) begins another line. Tab completes. Up and Down: what you
typed before. Ctrl-C stops the answer or the call; at an empty prompt, twice ends the chat."""
_TOOLS = """\
/TOOL WORDS runs a tool yourself: words are its parameters in their order, or NAME=VALUE.
A value with blanks is quoted. A line that begins with // goes to the model with one slash."""


async def carry_out(session: Session, slash: Slash) -> None:
    """Raises ToolError."""
    await _DONE_BY[slash.name](session, slash.rest)


def known(session: Session) -> Known:
    """What Tab knows in this chat."""

    def tools() -> Iterable[tuple[str, str]]:
        entries = (*session.runtime.entries(), *session.runtime.entries(Scope.BUILTIN))
        found = {e.name: e.description for e in entries if not e.shadowed and not e.broken}
        return sorted(found.items())

    def tool(name: str) -> Tool | None:
        try:
            return session.runtime.find(name)
        except ToolError:
            return None

    def values(command: str) -> Iterable[str]:
        match command:
            case "approve":
                return (question.id for question in session.runtime.approvals.pending())
            case "model":
                return session.runtime.settings.models.named
        return ()

    return Known(COMMANDS, tools, tool, values, session.runtime.places.cwd)


async def _help(session: Session, rest: str) -> None:
    rows = [(_USAGE.get(name, f"/{name}"), summary) for name, summary in COMMANDS.items()]
    lines = table(("COMMAND", ""), rows)[1:]
    session.screen.write("\n".join((_KEYS, "", _TOOLS, "", *lines, "")))


async def _tools(session: Session, rest: str) -> None:
    offered = session.chat.offer.tools
    entries = (*session.runtime.entries(), *session.runtime.entries(Scope.BUILTIN))
    rows = {each.name: (each.level, each.description) for each in entries if not each.shadowed}
    for name, tool in offered.items():
        rows.setdefault(name, (str(tool.level), tool.description))
    lines = table(
        ("NAME", "MODEL", "MAY", "DESCRIPTION"),
        [
            (name, "yes" if name in offered else "-", level, visible(one_line(text)))
            for name, (level, text) in sorted(rows.items())
        ],
        session.screen.width(),
    )
    session.screen.write("".join(f"{line}\n" for line in lines))


async def _give(session: Session, rest: str) -> None:
    if session.given is None:
        raise _wrong("there is no result to give", "run a tool first: /TOOL WORDS")
    message = session.given.message(rest)
    session.given = None
    await session.say(message)


async def _approve(session: Session, rest: str) -> None:
    from tongs.surfaces.chat import approvals

    match rest.split():
        case []:
            approvals.show(session)
        case ["revoke", wanted]:
            approvals.revoke(session, wanted)
        case [wanted]:
            await approvals.answer(session, wanted)
        case _:
            raise _wrong("this cannot be understood", _USAGE["approve"])


async def _model(session: Session, rest: str) -> None:
    if rest:
        await session.change_model(rest)
    session.screen.say("model", session.chat.agent.model.name, "green")
    named = ", ".join(session.runtime.settings.models.named)
    if not rest:
        session.screen.say("configured", named or "none; /model provider:name", "dim")


async def _save(session: Session, rest: str) -> None:
    from tongs.store.files import write_whole
    from tongs.surfaces.chat.exporting import exported, format_of

    words = split_words(rest)
    if len(words) != 1:
        raise _wrong("it needs the name of one file", _USAGE["save"])
    path = _located(session, words[0])
    if _is_there(path) and not await session.ask(
        lambda terminal: terminal.agrees(f"replace {visible(words[0])}?")
    ):
        return
    text = exported(session.chat.conversation, format_of(path))
    try:
        write_whole(path, text.encode())
    except OSError as error:
        raise _wrong(f"{words[0]} was not written: {error.strerror}", "") from None
    session.screen.say("saved", words[0], "green")


async def _quit(session: Session, rest: str) -> None:
    session.end()


def _located(session: Session, name: str) -> str:
    return os.path.join(session.runtime.places.cwd, os.path.expanduser(name))


def _is_there(path: str) -> bool:
    return os.path.lexists(path)


def _wrong(message: str, hint: str) -> ToolError:
    return ToolError(ErrorCode.INVALID_ARGUMENTS, message, hint=hint)


_DONE_BY: dict[str, Callable[[Session, str], Awaitable[None]]] = {
    "help": _help,
    "tools": _tools,
    "give": _give,
    "approve": _approve,
    "model": _model,
    "save": _save,
    "quit": _quit,
}
