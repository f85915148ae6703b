"""The loop alone: a scripted model, and tools that note what they are asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from tests.scripted import HANG, Scripted

from tongs import ToolError
from tongs.agent.events import (
    AgentEvent,
    CallEnded,
    CallStarted,
    Ended,
    Observe,
    Retrying,
    TextShown,
)
from tongs.agent.loop import MOST_CALLS, Agent, Carried, Numbered, Options, Outcome
from tongs.agent.retrying import MOST_TRIES, pause_before_retry
from tongs.core.conversation import (
    CallAnswered,
    Conversation,
    Finished,
    Message,
    ModelFailed,
    ModelSaid,
    TextArrived,
    ToolsAnswered,
    UserSaid,
    call_id,
)

START = Conversation("conv", "", "", "/p", "scripted", (UserSaid("go"),))


class FakeTools:
    """Answers each call with its name; `deny` and `hang` are names of tools that do so."""

    def __init__(self, deny: str = "", hang: str = "") -> None:
        self.ran: list[str] = []
        self.numbers: list[str] = []
        self.ended_when_cancelled = False
        self._deny = deny
        self._hang = hang
        self.hangs = asyncio.Event()

    def functions(self, form: str) -> Sequence[Mapping[str, Any]]:
        assert form == "openai"
        return [{"type": "function", "function": {"name": "look"}}]

    async def run(
        self, calls: Sequence[Numbered], observe: Observe, ended: Callable[[int, Carried], None]
    ) -> None:
        for place, call in enumerate(calls):
            made = call.made
            self.numbers.append(call.own_id)
            observe(CallStarted(made.id, call.own_id, made.name, made.arguments or {}))
            if made.name == self._hang:
                self.hangs.set()
                try:
                    await asyncio.Event().wait()
                finally:
                    self.ended_when_cancelled = True
            self.ran.append(made.name)
            denied = made.name == self._deny
            text = "denied" if denied else f"{made.name} done"
            ended(place, Carried(CallAnswered(made.id, made.name, text, not denied), denied))
            observe(CallEnded(made.id, call.own_id, made.name, not denied, text))


class Kept:
    """A journal in memory."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.answers: list[tuple[int, CallAnswered]] = []

    def add(self, message: Message) -> None:
        self.messages.append(message)

    def add_answer(self, position: int, answer: CallAnswered) -> None:
        self.answers.append((position, answer))


async def no_pause(seconds: float) -> None:
    """Nobody waits."""


def answered(
    model: Scripted, tools: FakeTools | None = None, journal: Kept | None = None, steps: int = 20
) -> tuple[Outcome, list[AgentEvent]]:
    async def go() -> tuple[Outcome, list[AgentEvent]]:
        events: list[AgentEvent] = []
        agent = Agent(model, tools or FakeTools(), Options(steps, "be kind", no_pause), journal)
        return await agent.answer(START, events.append), events

    return asyncio.run(go())


def is_whole(conversation: Conversation) -> bool:
    """Every call has its answer right after it, in its order."""
    messages = conversation.messages
    for at, message in enumerate(messages):
        if isinstance(message, ModelSaid) and message.calls:
            answers = messages[at + 1]
            assert isinstance(answers, ToolsAnswered)
            assert [a.id for a in answers.answers] == [c.id for c in message.calls]
    return True


def test_words_are_shown_as_they_come_and_kept_whole() -> None:
    kept = Kept()
    model = Scripted("it is fine")
    outcome, events = answered(model, journal=kept)
    assert (outcome.kind, outcome.text, outcome.steps) == ("ended", "it is fine", 1)
    assert [event.text for event in events if isinstance(event, TextShown)] == ["it", "is", "fine"]
    assert isinstance(events[-1], Ended)
    assert events[-1].to_data()["outcome"] == "ended"
    assert [type(message) for message in kept.messages] == [ModelSaid]
    assert model.asked[0][1:] == (["look"], "be kind")


def test_calls_are_carried_out_and_told_to_the_model() -> None:
    kept, tools = Kept(), FakeTools()
    model = Scripted([("look", {"x": 1}), ("look", {"x": 2})], "both done")
    outcome, _ = answered(model, tools, kept)
    assert outcome.kind == "ended"
    assert outcome.usage.input == 20
    told = model.asked[1][0][-1]
    assert isinstance(told, ToolsAnswered)
    assert [answer.text for answer in told.answers] == ["look done", "look done"]
    assert is_whole(outcome.conversation)
    assert tools.numbers == [call_id("conv", 1, 0), call_id("conv", 1, 1)]
    assert [position for position, _ in kept.answers] == [0, 1]


def test_the_call_stands_in_the_journal_before_it_runs() -> None:
    seen: list[int] = []
    kept = Kept()

    class Looks(FakeTools):
        async def run(self, *given: Any) -> None:
            seen.append(len(kept.messages))
            await super().run(*given)

    answered(Scripted([("look", {})], "ok"), Looks(), kept)
    assert seen == [1]


def test_it_ended_denied_where_the_last_calls_were_denied() -> None:
    outcome, _ = answered(Scripted([("rm", {})], "I may not"), FakeTools(deny="rm"))
    assert outcome.kind == "denied"


def test_a_denial_that_the_model_found_a_way_after_is_none() -> None:
    model = Scripted([("rm", {})], [("look", {})], "found it")
    outcome, _ = answered(model, FakeTools(deny="rm"))
    assert outcome.kind == "ended"


def test_after_the_last_step_no_call_is_run_and_each_is_answered() -> None:
    tools = FakeTools()
    model = Scripted([("look", {})], [("look", {}), ("look", {})])
    outcome, _ = answered(model, tools, steps=2)
    assert (outcome.kind, outcome.steps, tools.ran) == ("step-limit", 2, ["look"])
    assert is_whole(outcome.conversation)
    last = outcome.conversation.messages[-1]
    assert isinstance(last, ToolsAnswered)
    assert all("steps" in answer.text for answer in last.answers)


@pytest.mark.parametrize(("calls", "left"), [(MOST_CALLS, 0), (5000, 1)])
def test_the_calls_of_one_step_have_an_end_and_the_model_hears_of_it(calls: int, left: int) -> None:
    model, tools, journal = Scripted([("look", {})] * calls, "ok"), FakeTools(), Kept()
    outcome, _ = answered(model, tools, journal)
    assert len(tools.ran) == MOST_CALLS
    assert is_whole(outcome.conversation)
    assert len(journal.answers) == MOST_CALLS + left
    assert sum("nor any after it" in answer.text for _, answer in journal.answers) == left


def test_a_rate_limit_is_waited_for_and_said() -> None:
    model = Scripted(ModelFailed("rate", "slow down", retry_after=3.0), "now it works")
    outcome, events = answered(model)
    assert outcome.kind == "ended"
    (retry,) = [event for event in events if isinstance(event, Retrying)]
    assert (retry.kind, retry.seconds, retry.attempt) == ("rate", 3.0, 1)


@pytest.mark.parametrize("kind", ["auth", "bad-request", "unavailable"])
def test_what_will_not_change_is_not_tried_again(kind: str) -> None:
    model = Scripted(ModelFailed(kind, "no", "do that"))
    outcome, events = answered(model)
    assert (outcome.kind, len(model.asked)) == ("failed", 1)
    ended = events[-1]
    assert isinstance(ended, Ended)
    assert ended.error == {"kind": kind, "message": "no", "hint": "do that"}


def test_a_model_that_stays_away_is_given_up() -> None:
    model = Scripted(*[ModelFailed("connection", "gone")] * MOST_TRIES)
    outcome, events = answered(model)
    assert outcome.kind == "failed"
    assert len([event for event in events if isinstance(event, Retrying)]) == MOST_TRIES - 1


def test_pauses_grow_and_a_long_one_is_not_waited_for() -> None:
    first, third = (pause_before_retry(ModelFailed("server", ""), tries) for tries in (1, 3))
    assert first is not None
    assert third is not None
    assert 0.5 <= first <= 1
    assert 2 <= third <= 4
    assert pause_before_retry(ModelFailed("rate", "", retry_after=3600), 1) is None


def test_words_that_were_shown_are_not_said_twice() -> None:
    broken: list[Any] = [TextArrived("half "), ModelFailed("connection", "reset")]
    model = Scripted(broken)
    outcome, _ = answered(model)
    assert (outcome.kind, outcome.text, len(model.asked)) == ("failed", "half ", 1)
    assert outcome.conversation.messages[-1] == ModelSaid("half ")


def test_a_stream_without_an_end_is_a_failure() -> None:
    outcome, _ = answered(Scripted([TextArrived("hm")]))
    assert outcome.failure is not None
    assert "in the middle" in outcome.failure.message


def test_a_conversation_that_is_too_long_says_what_to_do() -> None:
    outcome, _ = answered(Scripted(ModelFailed("context", "too many tokens")))
    assert outcome.failure is not None
    assert "new conversation" in outcome.failure.hint


def test_a_refusal_is_a_failure_and_an_answer_cut_short_is_said() -> None:
    outcome, _ = answered(Scripted([Finished(ModelSaid("never"), "refusal")]))
    assert outcome.failure is not None
    assert (outcome.kind, outcome.failure.kind) == ("failed", "refused")
    outcome, _ = answered(Scripted([Finished(ModelSaid("and th"), "length")]))
    assert (outcome.kind, outcome.cut) == ("ended", True)


def stopped(model: Scripted, tools: FakeTools, *, cancel: bool = False) -> Outcome | None:
    async def go() -> Outcome | None:
        agent = Agent(model, tools, Options(pause=no_pause), kept := Kept())
        work = asyncio.ensure_future(agent.answer(START, lambda event: None))
        hangs = [asyncio.ensure_future(each.wait()) for each in (model.waiting, tools.hangs)]
        await asyncio.wait(hangs, return_when=asyncio.FIRST_COMPLETED, timeout=5)
        for each in hangs:
            each.cancel()
        if cancel:
            work.cancel()
            with pytest.raises(asyncio.CancelledError):
                await work
            assert len(kept.answers) == 1
            return None
        agent.stop()
        return await work

    return asyncio.run(go())


def test_to_stop_ends_the_request_and_keeps_the_words() -> None:
    model = Scripted(f"so far {HANG}")
    outcome = stopped(model, FakeTools())
    assert outcome is not None
    assert (outcome.kind, outcome.text, model.closed) == ("stopped", "sofar", 1)
    assert outcome.conversation.messages[-1] == ModelSaid("sofar")


def test_to_stop_ends_the_call_and_answers_all_of_the_turn() -> None:
    tools = FakeTools(hang="sleep")
    outcome = stopped(Scripted([("look", {}), ("sleep", {}), ("look", {})]), tools)
    assert outcome is not None
    assert (outcome.kind, tools.ended_when_cancelled) == ("stopped", True)
    assert is_whole(outcome.conversation)
    last = outcome.conversation.messages[-1]
    assert isinstance(last, ToolsAnswered)
    done, half, never = (answer.text for answer in last.answers)
    assert done == "look done"
    assert "part of its work may be done" in half
    assert "before it was run" in never


def test_who_is_cancelled_leaves_a_whole_conversation_and_is_told() -> None:
    tools = FakeTools(hang="sleep")
    assert stopped(Scripted([("sleep", {})]), tools, cancel=True) is None
    assert tools.ended_when_cancelled


@pytest.mark.parametrize("moment", range(14))
def test_whenever_it_is_stopped_the_conversation_is_whole(moment: int) -> None:
    model = Scripted([("look", {}), ("rm", {})], [("look", {})], "at last done")
    kept = Kept()

    async def go() -> Outcome:
        agent = Agent(model, FakeTools(deny="rm"), Options(pause=no_pause), kept)
        seen: list[AgentEvent] = []

        def observe(event: AgentEvent) -> None:
            seen.append(event)
            if len(seen) == moment + 1:
                agent.stop()

        return await agent.answer(START, observe)

    outcome = asyncio.run(go())
    assert outcome.kind in ("stopped", "ended")
    assert is_whole(outcome.conversation)
    assert tuple(kept.messages) == outcome.conversation.messages[1:]
    answers = sum(
        len(message.answers) for message in kept.messages if isinstance(message, ToolsAnswered)
    )
    assert len(kept.answers) == answers


def test_an_empty_answer_is_no_message() -> None:
    outcome, _ = answered(Scripted([Finished(ModelSaid(""))]))
    assert (outcome.kind, outcome.conversation.messages) == ("ended", START.messages)


def test_what_cannot_be_kept_is_not_run() -> None:
    class Full(Kept):
        def add(self, message: Message) -> None:
            raise ToolError("EXECUTION_ERROR", "no space left")

    tools = FakeTools()
    with pytest.raises(ToolError, match="no space left"):
        answered(Scripted([("look", {})]), tools, Full())
    assert tools.ran == []


def test_an_agent_that_does_nothing_has_nothing_to_stop() -> None:
    Agent(Scripted(), FakeTools()).stop()
