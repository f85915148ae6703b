"""The chat itself: line by line, given to the model or carried out, until the person ends it."""

# ruff: noqa: PLC0415 - what one command needs is loaded by that command

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine

from tongs.approvers.terminal import Terminal, Withdrawn
from tongs.core.annotations import TYPE_CHECKING, Any, TypeAlias, TypeVar
from tongs.core.approval import ApprovalRequest, ApprovalResponse, Question
from tongs.core.conversation import ChatModel
from tongs.core.errors import ToolError
from tongs.core.tool import Tool
from tongs.runtime.chatting import Wishes, began_elsewhere, open_chat
from tongs.surfaces.chat import commands
from tongs.surfaces.chat.calling import Given, call_tool
from tongs.surfaces.chat.connecting import Connecting
from tongs.surfaces.chat.prompt import Interrupted, Prompt
from tongs.surfaces.chat.rendering import STOPPED, recap
from tongs.surfaces.chat.screen import Screen
from tongs.surfaces.chat.slash import Slash, Words, read

if TYPE_CHECKING:
    from tongs.runtime import Runtime

T = TypeVar("T")
Stop: TypeAlias = Callable[[], object]


class Session:
    """One chat on one terminal. `models` makes the model of a name; raises ToolError."""

    def __init__(
        self,
        runtime: Runtime,
        screen: Screen,
        terminal: Terminal,
        wishes: Wishes,
        models: Callable[[str | None], ChatModel],
    ) -> None:
        self.runtime = runtime
        self.screen = screen
        # The last call that the person made, until the model has it.
        self.given: Given | None = None
        self._terminal = terminal
        self._wishes = wishes
        self._models = models
        self.chat = open_chat(
            runtime, models(None), wishes, approver=self.approve, review=self._review
        )
        self._ends = False
        self._ended_by = ""
        # What is said as soon as the person has the terminal.
        self._notices: list[tuple[str, str, str]] = []
        # Ends what is under way.
        self._stop: Stop | None = None
        self._prompt = Prompt(runtime.places.state, commands.known(self), self.status)

    async def run(self) -> str:
        """Until the person ends it; or the name of the signal that did."""
        self._greet()
        self._listen()
        connecting = Connecting(self)
        if not self._wishes.no_tools:
            connecting.begin()
        # Meanwhile the person types.
        asyncio.get_running_loop().run_in_executor(None, self.chat.agent.model.load)
        try:
            await self._talk()
        finally:
            await connecting.close()
        self._farewell()
        return self._ended_by

    async def _talk(self) -> None:
        warned = False
        while not self._ends:
            self._show_notices()
            try:
                line = await self._prompt.read()
            except Interrupted as interrupted:
                if warned and not interrupted.typed:
                    break
                warned = not interrupted.typed
                if warned:
                    self.screen.say("hint", "Ctrl-C again, or Ctrl-D, ends the chat", "cyan")
                continue
            except OSError:
                # The terminal is gone, and the signal that says so is on its way.
                self._terminate("SIGHUP")
                break
            warned = False
            if line is None:
                break
            # The prompt has taken the signals for itself.
            self._listen()
            await self._guarded(self._typed(line))

    def notice(self, word: str, text: str, color: str) -> None:
        """Something that happened by itself: it never stands in the middle of an answer."""
        self._notices.append((word, text, color))
        self._prompt.above(self._show_notices)

    def _show_notices(self) -> None:
        while self._notices:
            self.screen.say(*self._notices.pop(0))

    def status(self) -> str:
        """The line below the prompt."""
        places = self.runtime.places
        project = places.root
        if project.startswith(places.home + "/"):
            project = "~" + project[len(places.home) :]
        return f" {self.chat.agent.model.name}   /help   Ctrl-D ends   {project}"

    def end(self) -> None:
        self._ends = True

    async def change_model(self, name: str) -> None:
        """Go on with another model. Raises ToolError, and then nothing has changed."""
        before = self.chat.agent.model
        self.chat.use(self._models(name))
        await before.aclose()

    def offer_also(self, tool: Tool) -> None:
        """To the model, from now on: the person trusts it, and has not said which tools it gets."""
        wishes = self._wishes
        if not (wishes.tools or wishes.tags or wishes.no_tools):
            self.chat.offer.tools.setdefault(tool.name, tool)

    async def say(self, text: str) -> None:
        """Let the model answer."""
        async with self.screen.working():
            with self._stoppable(self.chat.stop):
                await self.chat.say(text, self.screen.model)

    async def ask(self, question: Callable[[Terminal], T]) -> T | None:
        """Something that the person answers on the terminal; None where it was stopped."""
        over: list[bool] = []
        here = Terminal(self._terminal.reader, self._terminal.writer, lambda: bool(over))
        with self.screen.held():
            work = asyncio.ensure_future(asyncio.to_thread(_answer, question, here))
            try:
                return await asyncio.shield(work)
            except asyncio.CancelledError:
                # Until it has ended, it would take the keys of whoever reads next.
                over.append(True)
                await asyncio.wait([work])
                raise

    async def approve(self, request: ApprovalRequest) -> ApprovalResponse | None:
        """The approver of every call of this chat."""
        from tongs.sandbox.waiting import LoopWaiter

        def announce(question: Question) -> None:
            where = f"tongs approvals approve {question.id}"
            self.screen.say("waiting", f"for an approval; from another terminal: {where}", "cyan")

        approver = self.runtime.approving.approver(
            LoopWaiter(), terminal=lambda: self._terminal, announce=announce
        )
        with self.screen.held():
            return await approver(request)

    async def _review(self, tool: Tool) -> bool | None:
        from tongs.surfaces.cli.review import ask_to_approve

        return await self.ask(lambda terminal: ask_to_approve(self.runtime, terminal, tool))

    async def _typed(self, line: str) -> None:
        match read(line):
            case Words(text):
                await self.say(text)
            case Slash() as slash if slash.name in commands.COMMANDS:
                await self._stopped_by_keys(commands.carry_out(self, slash))
            case Slash() as slash:
                async with self.screen.working(own=True):
                    await self._stopped_by_keys(call_tool(self, slash))

    async def _stopped_by_keys(self, work: Coroutine[Any, Any, None]) -> None:
        """Carry it out; Ctrl-C ends it."""
        task = asyncio.ensure_future(work)
        with self._stoppable(task.cancel):
            await asyncio.wait([task])
        if task.cancelled():
            self.screen.say("stopped", STOPPED, "yellow")
        else:
            task.result()

    def _stoppable(self, stop: Stop) -> _Stoppable:
        return _Stoppable(self, stop)

    async def _guarded(self, work: Awaitable[None]) -> None:
        """What goes wrong with one line does not end the chat."""
        try:
            await work
        except ToolError as error:
            self.show_error(error)

    def show_error(self, error: ToolError) -> None:
        from tongs.surfaces.cli import failure

        refused = failure.exit_code(error) == failure.DENIED
        word, color = ("denied", "yellow") if refused else ("error", "red")
        self.screen.say(word, error.message, color)
        if error.hint:
            self.screen.say("hint", error.hint, "cyan")

    def set_stop(self, stop: Stop | None) -> Stop | None:
        """What Ctrl-C does from now on; what it did before."""
        before, self._stop = self._stop, stop
        return before

    def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:  # as under `nohup`
                loop.add_signal_handler(number, self._terminate, number.name)

    def _interrupt(self) -> None:
        if self._stop is not None:
            self._stop()

    def _terminate(self, by: str) -> None:
        self.screen.leave_terminal_that_hung_up()
        self._ended_by = by
        self._ends = True
        self._interrupt()
        self._prompt.close()

    def _greet(self) -> None:
        conversation = self.chat.conversation
        self.screen.write(recap(conversation, self.screen.paint))
        if elsewhere := began_elsewhere(self.chat, self.runtime.places.root):
            self.screen.say("warning", elsewhere, "yellow")
        waiting = len(self.runtime.approvals.pending())
        if waiting:
            calls = "1 call waits" if waiting == 1 else f"{waiting} calls wait"
            self.screen.say("approvals", f"{calls} for an answer: /approve", "yellow")
        offered = len(self.chat.offer.tools)
        tools = f"{offered} tool{'' if offered == 1 else 's'}"
        about = f"{self.chat.agent.model.name}, {tools}; Alt-Enter begins another line, /help"
        self.screen.say("tongs chat", about, "bold")

    def _farewell(self) -> None:
        conversation = self.chat.conversation
        if self._ended_by:
            self.screen.say("ended", f"by {self._ended_by}", "yellow")
        if conversation.messages:
            self.screen.say("kept", f"tongs chat --continue {conversation.id}", "dim")


class _Stoppable:
    """While it is entered, Ctrl-C calls `stop`."""

    def __init__(self, session: Session, stop: Stop) -> None:
        self._session = session
        self._stop = stop
        self._before: Stop | None = None

    def __enter__(self) -> None:
        self._before = self._session.set_stop(self._stop)

    def __exit__(self, *exc: object) -> None:
        self._session.set_stop(self._before)


def _answer(question: Callable[[Terminal], T], terminal: Terminal) -> T | None:
    try:
        return question(terminal)
    except Withdrawn:
        return None
