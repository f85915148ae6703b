"""`tongs run`: a model answers one prompt, with tools."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

import sys

from tongs.core.annotations import TYPE_CHECKING
from tongs.core.approval import ApprovalRequest, ApprovalResponse, Approver, Question
from tongs.surfaces.cli import failure
from tongs.surfaces.cli.invocation import Invocation, listed
from tongs.surfaces.cli.parser import Parser, UsageError

if TYPE_CHECKING:
    from tongs.agent.loop import Outcome
    from tongs.core.conversation import ChatModel
    from tongs.core.tool import Tool
    from tongs.runtime.chatting import Chat, Wishes
    from tongs.runtime.tool_creation import Review
    from tongs.surfaces.cli.run_shown import Shown

STEP_LIMIT = 5
_EXIT_CODES = {
    "ended": failure.OK,
    "denied": failure.DENIED,
    "step-limit": STEP_LIMIT,
    "failed": failure.FAILED,
    "stopped": failure.CANCELLED,
}
# Larger than what any model reads at once.
_MOST_INPUT = 16 * 1024 * 1024


def options(parser: Parser) -> None:
    parser.add_argument("prompt", nargs="*", default=[], metavar="PROMPT")
    agent_options(parser)
    parser.add_argument("--continue", dest="go_on", action="store_true")
    parser.add_argument("--conversation", metavar="ID")
    parser.add_argument("--copy", action="store_true")
    parser.add_argument("--json", action="store_true")


def agent_options(parser: Parser) -> None:
    """What every command takes that lets a model use tools."""
    parser.add_argument("--model", metavar="NAME")
    parser.add_argument("--base-url", metavar="URL")
    parser.add_argument("--max-steps", metavar="N")
    parser.add_argument("--tools", action="append", default=[], metavar="NAMES")
    parser.add_argument("--tags", action="append", default=[], metavar="TAGS")
    parser.add_argument("--no-tools", action="store_true")


def run(invocation: Invocation) -> int:
    from tongs.runtime.models import open_model

    options = invocation.options
    invocation.single_thread = False
    if options.go_on and options.conversation:
        raise UsageError("run: --continue and --conversation exclude each other")
    if options.copy and not (options.go_on or options.conversation):
        raise UsageError("run: --copy belongs to --continue and --conversation")
    wishes = wishes_of(invocation, "" if options.go_on else options.conversation)
    text = _prompt(options.prompt)
    named, address = options.model or "", options.base_url or ""
    model = open_model(invocation.runtime, named, address, invocation.console.warn)
    return answer(invocation, model, wishes, text)


def answer(invocation: Invocation, model: ChatModel, wishes: Wishes, text: str) -> int:
    """Let this model answer; the exit code tells how that went."""
    import asyncio

    from tongs.runtime.chatting import began_elsewhere, open_chat
    from tongs.surfaces.cli.run_shown import Shown

    shown = Shown(
        invocation.console, json=invocation.options.json, verbose=invocation.options.verbose > 0
    )
    chat = open_chat(
        invocation.runtime,
        model,
        wishes,
        approver=_approver(invocation),
        review=_reviewer(invocation, shown),
    )
    if elsewhere := began_elsewhere(chat, invocation.runtime.places.root):
        invocation.console.warn(elsewhere)
    _say_unconnected(invocation, wishes)
    outcome = asyncio.run(_said(invocation, chat, text, shown))
    shown.end(outcome)
    return _EXIT_CODES[outcome.kind]


def wishes_of(invocation: Invocation, resume: str | None) -> Wishes:
    """The options of `agent_options`. Raises UsageError."""
    from tongs.agent.loop import MOST_STEPS
    from tongs.runtime.chatting import Wishes

    options, command = invocation.options, " ".join(invocation.words)
    tools, tags = listed(options.tools), listed(options.tags)
    if options.no_tools and (tools or tags):
        raise UsageError(f"{command}: --no-tools excludes --tools and --tags")
    steps = MOST_STEPS
    if options.max_steps is not None:
        if not options.max_steps.isdecimal() or int(options.max_steps) < 1:
            message = f"{command}: --max-steps must be a number from 1 on, got {options.max_steps}"
            raise UsageError(message, f"tongs {command} --max-steps {MOST_STEPS}")
        steps = int(options.max_steps)
    return Wishes(tools, tags, options.no_tools, steps, resume, options.copy)


def _say_unconnected(invocation: Invocation, wishes: Wishes) -> None:
    """The model could have had more tools; nothing is started for one answer to find out."""
    runtime = invocation.runtime
    if runtime.settings.mcp.servers and not (wishes.tools or wishes.no_tools):
        from tongs.surfaces.cli.servers_shown import say_unconnected

        say_unconnected(invocation.console, runtime.server_tools.unconnected())


async def _said(invocation: Invocation, chat: Chat, text: str, shown: Shown) -> Outcome:
    import asyncio
    import signal

    from tongs.surfaces.chat.ticking import ticking

    def stop(by: str) -> None:
        invocation.console.leave_terminal_that_hung_up()
        shown.stopped_by = by
        chat.stop()

    loop = asyncio.get_running_loop()
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name)
        if signal.getsignal(number) != signal.SIG_IGN:  # as under `nohup`
            loop.add_signal_handler(number, stop, name)
    try:
        async with ticking(shown.tick):
            return await chat.say(text, shown)
    finally:
        await chat.aclose()
        await invocation.runtime.aclose()


def _prompt(words: list[str]) -> str:
    """What was typed, and below it what was piped in."""
    parts = [" ".join(words).strip()]
    if sys.stdin is not None and not sys.stdin.isatty():
        data = sys.stdin.buffer.read(_MOST_INPUT + 1)
        if len(data) > _MOST_INPUT:
            raise UsageError(f"run: standard input is larger than {_MOST_INPUT} bytes")
        parts.append(data.decode("utf-8", "replace").strip("\n"))
    text = "\n\n".join(part for part in parts if part.strip())
    if not text:
        raise UsageError("run: there is no prompt", 'tongs run "which files changed today?"')
    return text


def _approver(invocation: Invocation) -> Approver | None:
    """The person at the terminal, and whoever the config names; None where there is nobody."""
    terminal = invocation.terminal()
    if terminal is None and not invocation.runtime.settings.approvals.configured:
        return None

    def announce(question: Question) -> None:
        invocation.console.say(
            f"waiting for an approval; from another terminal: tongs approvals approve {question.id}"
        )

    async def ask(request: ApprovalRequest) -> ApprovalResponse | None:
        from tongs.sandbox.waiting import LoopWaiter

        approver = invocation.runtime.approving.approver(
            LoopWaiter(), terminal=lambda: terminal, announce=announce
        )
        return await approver(request)

    return ask


def _reviewer(invocation: Invocation, shown: Shown) -> Review | None:
    terminal = invocation.terminal()
    if terminal is None:
        return None

    async def review(tool: Tool) -> bool:
        from tongs.approvers.terminal import Terminal
        from tongs.sandbox.waiting import LoopWaiter
        from tongs.surfaces.cli.review import ask_to_approve

        over: list[bool] = []
        asking = Terminal(terminal.reader, terminal.writer, lambda: bool(over))
        with shown.held():
            try:
                return await LoopWaiter().blocking(
                    lambda: ask_to_approve(invocation.runtime, asking, tool)
                )
            finally:
                over.append(True)  # the thread would wait for an answer that nobody needs

    return review
