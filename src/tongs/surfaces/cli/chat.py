"""`tongs chat`: talk to a model that uses your tools; and the conversations that are kept."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

from tongs.core.annotations import TYPE_CHECKING
from tongs.core.errors import ErrorCode, ToolError
from tongs.surfaces.cli import failure
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser, UsageError
from tongs.surfaces.cli.run import agent_options, wishes_of

if TYPE_CHECKING:
    from tongs.approvers.terminal import Terminal
    from tongs.core.conversation import ChatModel
    from tongs.runtime.chatting import Wishes

_FORMATS = ("markdown", "json")


def options(parser: Parser) -> None:
    agent_options(parser)
    parser.add_argument("--continue", dest="resume", nargs="?", const="", metavar="ID")
    parser.add_argument("--copy", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--export", metavar="ID")
    parser.add_argument("--format", choices=_FORMATS)
    parser.add_argument("--delete", nargs="+", metavar="ID")
    parser.add_argument("--json", action="store_true")


def run(invocation: Invocation) -> int:
    options = invocation.options
    named = (options.export, options.delete, options.resume)
    if options.list + sum(each is not None for each in named) > 1:
        raise UsageError("chat: --list, --export, --delete and --continue exclude each other")
    if options.copy and options.resume is None:
        raise UsageError("chat: --copy belongs to --continue", "tongs chat --continue ID --copy")
    if options.format and options.export is None:
        raise UsageError("chat: --format belongs to --export", "tongs chat --export ID")
    if options.json and not options.list:
        raise UsageError("chat: --json belongs to --list", "tongs chat --export ID --format json")
    if options.list:
        return _list(invocation)
    if options.export is not None:
        return _export(invocation)
    if options.delete is not None:
        return _delete(invocation)
    wishes = wishes_of(invocation, options.resume)
    terminal = invocation.terminal()
    if terminal is None or not invocation.console.out_is_terminal:
        raise ToolError(
            ErrorCode.UNSUPPORTED_PLATFORM,
            "there is no terminal to chat on",
            hint='tongs run "PROMPT" answers once, without one',
        )
    return _chat(invocation, terminal, wishes)


def _chat(invocation: Invocation, terminal: Terminal, wishes: Wishes) -> int:
    import asyncio

    from tongs.surfaces.chat.screen import Screen
    from tongs.surfaces.chat.session import Session

    options = invocation.options
    invocation.single_thread = False
    runtime = invocation.runtime
    screen = Screen(invocation.console, thinking=options.verbose > 0)

    def warn(text: str) -> None:
        screen.say("warning", text, "yellow")

    def model(name: str | None) -> ChatModel:
        from tongs.runtime.models import open_model

        # The address is that of the model on the command line, and of no other.
        address = options.base_url if name is None else ""
        return open_model(runtime, name or options.model or "", address or "", warn)

    async def talk() -> str:
        try:
            session = Session(runtime, screen, terminal, wishes, model)
            try:
                return await session.run()
            finally:
                await session.chat.aclose()
        finally:
            await runtime.aclose()

    return failure.CANCELLED if asyncio.run(talk()) else failure.OK


def _list(invocation: Invocation) -> int:
    import time

    from tongs.runtime.conversations import listed
    from tongs.surfaces.cli.table import one_line, table

    found, console = listed(invocation.runtime), invocation.console
    if invocation.options.json:
        names = ("id", "title", "started", "changed", "project", "model", "messages")
        console.data(failure.result_json([{n: getattr(e, n) for n in names} for e in found]))
        return failure.OK
    if not found:
        console.say("no conversation is kept")
        return failure.OK
    rows = [
        (
            each.id,
            time.strftime("%Y-%m-%d %H:%M", time.localtime(each.changed)),
            each.model,
            each.project,
            one_line(each.title),
        )
        for each in found
    ]
    for line in table(("ID", "LAST USED", "MODEL", "PROJECT", "TITLE"), rows, console.width()):
        console.data(f"{line}\n")
    console.flush()
    here = [each.id for each in found if each.project == invocation.runtime.places.root]
    if here:
        console.hint(f"tongs chat --continue {here[0]}")
    return failure.OK


def _export(invocation: Invocation) -> int:
    from tongs.runtime.conversations import read
    from tongs.surfaces.chat.exporting import exported

    conversation = read(invocation.runtime, invocation.options.export)
    form = invocation.options.format or _FORMATS[0]
    invocation.console.data(exported(conversation, form))
    return failure.OK


def _delete(invocation: Invocation) -> int:
    from tongs.runtime.conversations import delete
    from tongs.surfaces.cli.table import one_line

    for name, title in delete(invocation.runtime, invocation.options.delete).items():
        invocation.console.say(f"deleted {name}: {one_line(title)}")
    return failure.OK
