"""The loop: a model says something, its calls are carried out and answered, until it makes none.

Whatever happens, every call that stands in the conversation has an answer after it, so that the
conversation can go on: a provider refuses one in which a call has none.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing

from tongs.agent.events import (
    AgentEvent,
    CallStarted,
    CallWritten,
    Ended,
    Observe,
    Retrying,
    StepEnded,
    TextShown,
    ThinkingShown,
)
from tongs.agent.retrying import pause_before_retry
from tongs.core.annotations import Any, Protocol
from tongs.core.conversation import (
    CallAnswered,
    CallArriving,
    CallMade,
    ChatModel,
    Conversation,
    Finished,
    Message,
    ModelEvent,
    ModelFailed,
    ModelSaid,
    TextArrived,
    ThinkingArrived,
    ToolsAnswered,
    Usage,
    call_id,
)
from tongs.core.record import dataclass, replace

MOST_STEPS = 20
# Calls of one step: without an end to them, the most steps would bound nothing.
MOST_CALLS = 128
_STOPPED = "error: CANCELLED: the person stopped it; part of its work may be done"
_NEVER_RUN = "error: CANCELLED: the person stopped everything before it was run"
_TOO_MANY = f"error: neither this call nor any after it was run: {MOST_CALLS} at once are the most"
_GIVEN_UP = "error: it was not run: the answer was refused"
_NO_STEP_LEFT = "error: it was not run: the most steps for one answer are used up"


@dataclass(frozen=True, slots=True)
class Numbered:
    """A call, and the id under which it is recorded."""

    own_id: str
    made: CallMade


@dataclass(frozen=True, slots=True)
class Carried:
    """What came of one call. `denied`: a rule or a person said no, or nobody could be asked."""

    answer: CallAnswered
    denied: bool = False


class Tools(Protocol):
    """What a model is offered. The only way from a model to a tool."""

    def functions(self, form: str) -> Sequence[Mapping[str, Any]]:
        """As a model's API takes them; asked before each step, since a search adds to them."""

    async def run(
        self,
        calls: Sequence[Numbered],
        observe: Observe,
        ended: Callable[[int, Carried], None],
    ) -> None:
        """Carry out the calls of one turn; `ended` is told of each by its position, once.

        Never raises for a tool. When it is cancelled, nothing runs any more once it has ended.
        """


class Journal(Protocol):
    """Keeps what is said as it is said."""

    def add(self, message: Message) -> None: ...

    def add_answer(self, position: int, answer: CallAnswered) -> None:
        """One of the answers of the `ToolsAnswered` that comes when all are there."""


class NoJournal:
    """For a conversation that nobody wants to keep."""

    def add(self, message: Message) -> None:
        """It is in the outcome."""

    def add_answer(self, position: int, answer: CallAnswered) -> None:
        """As above."""


@dataclass(frozen=True, slots=True)
class Options:
    max_steps: int = MOST_STEPS
    instructions: str = ""
    # How a pause is made; nobody wants to wait for it in a test.
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an answer came to its end: ended, denied, step-limit, failed or stopped.

    `denied`: the model gave its answer after the last of its calls were denied. `cut`: the answer
    reached the provider's limit of length.
    """

    kind: str
    conversation: Conversation
    text: str = ""
    steps: int = 0
    usage: Usage = Usage()
    failure: ModelFailed | None = None
    cut: bool = False

    def event(self) -> Ended:
        error = {}
        if (failed := self.failure) is not None:
            error = {"kind": failed.kind, "message": failed.message, "hint": failed.hint}
        where = self.conversation.id
        return Ended(self.kind, self.text, self.steps, self.usage, where, error)


class Agent:
    """One model with its tools. One answer at a time."""

    def __init__(
        self,
        model: ChatModel,
        tools: Tools,
        options: Options | None = None,
        journal: Journal | None = None,
    ) -> None:
        self.model = model
        self.tools = tools
        self._options = options or Options()
        self._journal = journal or NoJournal()
        self._work: asyncio.Task[Outcome] | None = None
        self._stopping = False

    async def answer(self, conversation: Conversation, observe: Observe) -> Outcome:
        """Let the model answer what was said last; never raises for the model or a tool.

        When the task that waits here is cancelled, everything ends as with `stop`, and the
        cancellation goes on.
        """
        turn = _Turn(conversation, observe, self._journal)
        self._stopping = False
        self._work = asyncio.ensure_future(self._answer(turn))
        try:
            outcome = await self._work
        except asyncio.CancelledError:
            # The task below has ended by now, with everything that it had under way.
            outcome = turn.stopped()
            if not self._stopping:
                raise
        finally:
            self._work = None
        observe(outcome.event())
        return outcome

    def stop(self) -> None:
        """End the request or the calls that are under way; `answer` then says `stopped`."""
        if self._work is not None:
            self._stopping = True
            self._work.cancel()

    async def _answer(self, turn: _Turn) -> Outcome:
        try:
            for step in range(1, self._options.max_steps + 1):
                finished = await self._said(turn)
                turn.add(_with_few_calls(finished.said), step)
                if finished.stop == "refusal":
                    turn.answer_rest(_GIVEN_UP)
                    return turn.outcome("failed", _refused(finished.said))
                if not finished.said.calls:
                    kind = "denied" if turn.denied else "ended"
                    return replace(turn.outcome(kind), cut=finished.stop == "length")
                if step < self._options.max_steps:
                    await self._carried_out(turn)
            turn.answer_rest(_NO_STEP_LEFT)
            return turn.outcome("step-limit")
        except ModelFailed as failed:
            return turn.outcome("failed", _with_hint(failed))

    async def _said(self, turn: _Turn) -> Finished:
        """The model's next words, asked for again where that may help."""
        tries = 0
        while True:
            tries += 1
            turn.partial = ""
            try:
                return await self._asked(turn)
            except ModelFailed as failed:
                # What was shown cannot be taken back.
                wait = None if turn.partial else pause_before_retry(failed, tries)
                if wait is None:
                    turn.keep_partial()
                    raise
                turn.observe(Retrying(failed.kind, failed.message, wait, tries))
                await self._options.pause(wait)

    async def _asked(self, turn: _Turn) -> Finished:
        functions = self.tools.functions(self.model.form)
        messages = turn.conversation.messages
        stream = self.model.stream(messages, functions, self._options.instructions)
        async with aclosing(_closable(stream)) as events:
            async for event in events:
                match event:
                    case TextArrived(text):
                        turn.partial += text
                        turn.observe(TextShown(text))
                    case ThinkingArrived(text):
                        turn.observe(ThinkingShown(text))
                    case CallArriving(made, name):
                        turn.observe(CallWritten(made, name))
                    case Finished():
                        turn.partial = ""
                        return event
        raise ModelFailed("connection", f"{self.model.name} ended its answer in the middle")

    async def _carried_out(self, turn: _Turn) -> None:
        await self.tools.run(turn.numbered()[:MOST_CALLS], turn.watch, turn.ended)
        turn.answer_rest(_TOO_MANY)


class _Turn:
    """What one answer has come to by now."""

    def __init__(self, conversation: Conversation, observe: Observe, journal: Journal) -> None:
        self.conversation = conversation
        self.observe = observe
        # What was shown of words that are not whole yet.
        self.partial = ""
        # Whether one of the calls that were answered last was denied.
        self.denied = False
        self._journal = journal
        self._steps = 0
        self._usage = Usage()
        self._text = ""
        # The calls that wait for answers, by position, and those that began.
        self._waiting: dict[int, CallMade] = {}
        self._answers: dict[int, CallAnswered] = {}
        self._began: set[str] = set()

    def add(self, said: ModelSaid, step: int) -> None:
        """Kept before any of its calls runs. A provider takes no message that is empty."""
        if said.text or said.calls:
            self._append(said)
        self._steps, self._text = step, said.text
        used = said.usage
        self._usage = Usage(self._usage.input + used.input, self._usage.output + used.output)
        self._waiting = dict(enumerate(said.calls))
        self.observe(StepEnded(step, len(said.calls), used))

    def numbered(self) -> list[Numbered]:
        place = len(self.conversation.messages) - 1
        made = self._waiting.items()
        self.denied = False
        return [Numbered(call_id(self.conversation.id, place, at), call) for at, call in made]

    def watch(self, event: AgentEvent) -> None:
        if isinstance(event, CallStarted):
            self._began.add(event.call)
        self.observe(event)

    def ended(self, position: int, carried: Carried) -> None:
        self._journal.add_answer(position, carried.answer)
        self._answers[position] = carried.answer
        del self._waiting[position]
        self.denied = self.denied or carried.denied

    def answer_rest(self, text: str) -> None:
        """Answer what has no answer yet, and put all answers into the conversation."""
        place = len(self.conversation.messages) - 1
        for at, call in list(self._waiting.items()):
            began = call_id(self.conversation.id, place, at) in self._began
            said = _STOPPED if began else text
            self.ended(at, Carried(CallAnswered(call.id, call.name, said, ok=False)))
        if self._answers:
            answers = tuple(self._answers[at] for at in sorted(self._answers))
            self._answers = {}
            self._began = set()
            self._append(ToolsAnswered(answers))

    def keep_partial(self) -> None:
        """What was said until the model was stopped, or broke off."""
        if self.partial:
            self._text = self.partial
            self._append(ModelSaid(self.partial))
            self.partial = ""

    def stopped(self) -> Outcome:
        self.answer_rest(_NEVER_RUN)
        self.keep_partial()
        return self.outcome("stopped")

    def outcome(self, kind: str, failure: ModelFailed | None = None) -> Outcome:
        said = (self._text, self._steps, self._usage)
        return Outcome(kind, self.conversation, *said, failure)

    def _append(self, message: Message) -> None:
        self._journal.add(message)
        before = self.conversation
        self.conversation = replace(before, messages=(*before.messages, message))


async def _closable(stream: AsyncIterator[ModelEvent]) -> AsyncGenerator[ModelEvent, None]:
    """Any iterator as a generator, which ends the one below it when it is closed."""
    try:
        async for event in stream:
            yield event
    finally:
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()


def _with_few_calls(said: ModelSaid) -> ModelSaid:
    """With those that are carried out and one more, by whose answer the model hears of the others.

    Each call costs a line in the journal. What only its provider reads has all of them, and goes.
    """
    if len(said.calls) <= MOST_CALLS:
        return said
    return replace(said, calls=said.calls[: MOST_CALLS + 1], details={})


def _refused(said: ModelSaid) -> ModelFailed:
    # On one line: below it stand lines of ours.
    text = " ".join(said.text.split())[:300]
    words = f": {text}" if text else ""
    hint = "say it in other words, or ask another model: --model"
    return ModelFailed("refused", f"the model refuses to answer{words}", hint)


def _with_hint(failed: ModelFailed) -> ModelFailed:
    if failed.kind != "context" or failed.hint:
        return failed
    hint = "begin a new conversation, offer fewer tools (--tools, --tags), or take a larger model"
    return ModelFailed(failed.kind, failed.message, hint, failed.retry_after)
