"""An agent with the real pipeline: what it is offered, asked about, told, and what is kept."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.alive import ended, started
from tests.scripted import Scripted

from tongs import ApprovalRequest, ApprovalResponse, Runtime, ToolError
from tongs.agent.events import (
    AgentEvent,
    CallEnded,
    CallOutput,
    CallStarted,
    QuestionAnswered,
    QuestionAsked,
)
from tongs.agent.loop import Outcome
from tongs.core.conversation import CallMade, ModelSaid, ToolsAnswered, UserSaid
from tongs.core.tool import Tool
from tongs.runtime.agent_tools import unfinished
from tongs.runtime.chatting import Chat, Wishes, began_elsewhere, open_chat
from tongs.runtime.model_calls import MOST_AT_ONCE
from tongs.store.conversations import ConversationStore

if TYPE_CHECKING:
    from tests.unit.conftest import Project

LOOK = "description: look\nbash: echo seen {X}\nparameters: {X: {}}\ntags: [read]\n"


def said(chat: Chat, text: str = "go") -> tuple[Outcome, list[AgentEvent]]:
    events: list[AgentEvent] = []
    return asyncio.run(chat.say(text, events.append)), events


def opened(project: Project, model: Scripted, wishes: Wishes | None = None, **more: Any) -> Chat:
    runtime = Runtime.open(project.root, auto_approve=more.pop("allow", ()))
    project._open.append(runtime)
    return open_chat(runtime, model, wishes or Wishes(), **more)


def told(model: Scripted) -> list[str]:
    """What the model heard of its last calls."""
    last = model.asked[-1][0][-1]
    assert isinstance(last, ToolsAnswered)
    return [answer.text for answer in last.answers]


def test_a_call_runs_in_the_sandbox_and_is_recorded_under_its_id(project: Project) -> None:
    project.write("look", LOOK)
    model = Scripted([("look", {"X": "it"})], "done")
    outcome, events = said(opened(project, model, allow=["tool:read"]))
    assert outcome.kind == "ended"
    assert told(model) == ["seen it\n"]
    (began,) = [event for event in events if isinstance(event, CallStarted)]
    output = b"".join(event.data for event in events if isinstance(event, CallOutput))
    assert output == b"seen it\n"
    recorded = [record for record in project.records() if record["event"] == "TOOL_EXECUTED"]
    assert [record["call"] for record in recorded] == [began.call]
    assert "model scripted" in json.dumps(recorded)


def test_output_is_cut_between_characters() -> None:
    for text in ("a", "é", "€", "𝄞"):
        whole = f"x{text}".encode()
        for end in range(1, len(whole) + 1):
            part = whole[:end]
            assert part[: end - unfinished(part)].decode() == (
                "x" if end < len(whole) else f"x{text}"
            )
    assert [unfinished(data) for data in (b"", b"\x80\x80\x80\x80", b"\xff")] == [0, 0, 1]


def test_malformed_calls_and_unknown_tools_are_told_to_the_model(project: Project) -> None:
    project.write("look", LOOK)
    model = Scripted([("look", "{X: "), ("lok", {}), ("look", {"Y": 1})], "sorry")
    outcome, events = said(opened(project, model))
    assert outcome.kind == "ended"
    no_json, unknown, wrong = told(model)
    assert "no JSON" in no_json
    assert "{X: " in no_json
    assert "TOOL_NOT_FOUND" in unknown
    assert "INVALID_ARGUMENTS" in wrong
    assert all(not event.ok for event in events if isinstance(event, CallEnded))


def test_a_denial_with_its_reason_is_told_to_the_model(project: Project) -> None:
    project.write("act", "description: acts\nbash: echo acted\n")

    async def no(request: ApprovalRequest) -> ApprovalResponse:
        return ApprovalResponse(approved=False, approver="terminal", reason="not on Fridays")

    model = Scripted([("act", {})], "well")
    outcome, events = said(opened(project, model, approver=no))
    assert outcome.kind == "denied"
    assert "not on Fridays" in told(model)[0]
    asked = [event for event in events if isinstance(event, QuestionAsked | QuestionAnswered)]
    assert [event.to_data()["event"] for event in asked] == ["question", "answer"]


def test_edited_arguments_run_and_the_model_is_told_of_them(project: Project) -> None:
    project.write("say", "description: says\nbash: echo {X}\nparameters: {X: {}}\n")

    async def edit(request: ApprovalRequest) -> ApprovalResponse:
        return ApprovalResponse(approved=True, modified_args={"X": "tame"}, approver="terminal")

    model = Scripted([("say", {"X": "wild"})], "ok")
    said(opened(project, model, approver=edit))
    assert "tame" in told(model)[0]
    assert "warning: " in told(model)[0]


def test_with_nobody_to_ask_the_call_is_denied(project: Project) -> None:
    project.write("act", "description: acts\nbash: echo acted\n")
    model = Scripted([("act", {})], "well")
    outcome, _ = said(opened(project, model))
    assert outcome.kind == "denied"
    assert "nobody could be asked" in told(model)[0]


@pytest.mark.parametrize(
    ("both", "order"),
    [("", ["call", "call", "result", "result"]), ("one", ["call", "result", "call", "result"])],
)
def test_calls_run_side_by_side_unless_one_may_see_what_the_other_changes(
    project: Project, both: str, order: list[str]
) -> None:
    for name in ("one", "two"):
        (project.root / name).mkdir()
        text = (
            f"description: works in {name}\n"
            f"bash: echo hello > {name}/file\n"
            f"permissions: {{fs: {{read: [{both or name}], write: [{name}]}}}}\n"
        )
        project.write(name, text)
    model = Scripted([("one", {}), ("two", {})], "ok")
    _, events = said(opened(project, model, allow=["*"]))
    kinds = [e.to_data()["event"] for e in events if isinstance(e, CallStarted | CallEnded)]
    assert kinds == order
    assert told(model) == ["(no output)", "(no output)"]


@pytest.mark.parametrize(("calls", "most"), [(3, 3), (30, MOST_AT_ONCE)])
def test_many_calls_of_one_turn_run_a_few_at_once(project: Project, calls: int, most: int) -> None:
    running: list[int] = []
    counts: list[int] = []

    async def wait(arguments: Mapping[str, Any]) -> str:
        running.append(1)
        await asyncio.sleep(0.01)
        counts.append(len(running))
        running.pop()
        return "waited"

    model = Scripted([("wait", {})] * calls, "ok")
    runtime = Runtime.open(project.root, auto_approve=["wait"])
    project._open.append(runtime)
    runtime.register(Tool("wait", "waits", {"type": "object"}, tags=("read",), execute=wait))
    said(open_chat(runtime, model, Wishes()))
    assert told(model) == ["waited"] * calls
    assert max(counts) == most


def test_where_one_answer_cannot_be_kept_no_other_call_goes_on(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write("look", LOOK)
    project.write("slow", "description: s\nbash: sleep 300\ntags: [read]\n")
    model = Scripted([("slow", {}), ("look", {"X": "1"})], "never")
    chat = opened(project, model, allow=["tool:read"])

    def full(*given: object) -> None:
        raise ToolError("EXECUTION_ERROR", "no space left")

    monkeypatch.setattr("tongs.store.conversations.StoredJournal.add_answer", full)
    with pytest.raises(ToolError, match="no space left"):
        said(chat)
    done = [record for record in project.records() if record["event"] == "TOOL_EXECUTED"]
    assert sorted(record["tool"] for record in done) == ["look", "slow"]


@pytest.mark.parametrize("lost", [True, False])
def test_a_call_whose_answer_could_not_be_kept_is_told_to_the_model_later(
    project: Project, monkeypatch: pytest.MonkeyPatch, lost: bool
) -> None:
    project.write("look", LOOK)
    model = Scripted([("look", {"X": "1"})], *(() if lost else ("ok",)), "I see")
    chat = opened(project, model, allow=["tool:read"])

    def full(*given: object) -> None:
        raise ToolError("EXECUTION_ERROR", "no space left")

    with monkeypatch.context() as patch, pytest.raises(ToolError) if lost else nullcontext():
        if lost:
            patch.setattr("tongs.store.conversations.StoredJournal.add_answer", full)
        said(chat)
    said(chat, "and?")
    _, made, answers, *_, last = model.asked[-1][0]
    assert isinstance(made, ModelSaid)
    assert isinstance(answers, ToolsAnswered)
    assert ("it ran and ended well" in answers.answers[0].text) is lost
    assert last == UserSaid("and?")


def test_to_stop_ends_the_process_tree_of_the_call(project: Project) -> None:
    word = f"32{os.getpid() % 100000:05d}"
    project.write("slow", f"description: s\nbash: 'sleep {word} & echo begun; wait'\n")
    model = Scripted([("slow", {})], "never")
    chat = opened(project, model, allow=["*"])
    pids: list[int] = []

    async def go() -> Outcome:
        def observe(event: AgentEvent) -> None:
            if isinstance(event, CallOutput):
                pids.extend(started(word))
                chat.stop()

        return await asyncio.wait_for(chat.say("go", observe), 20)

    outcome = asyncio.run(go())
    assert outcome.kind == "stopped"
    assert ended(pids)
    last = outcome.conversation.messages[-1]
    assert isinstance(last, ToolsAnswered)
    assert "stopped it" in last.answers[0].text


def test_with_many_tools_the_model_finds_the_others(project: Project) -> None:
    for number in range(6):
        project.write(f"tool{number}", f"description: number {number}\nbash: echo {number}\n")
    project.write("zebra", "description: counts zebras\nbash: echo 3\ntags: [read]\n")
    model = Scripted([("tools_search", {"query": "zebras"})], [("zebra", {})], "three")
    outcome, _ = said(opened(project, model, Wishes(most_offered=3), allow=["tool:read"]))
    assert outcome.kind == "ended"
    first, second = model.asked[0][1], model.asked[1][1]
    assert len(first) == 3
    assert "tools_search" in first
    assert "zebra" not in first
    assert "zebra" in second
    assert told(model) == ["3\n"]


@pytest.mark.parametrize(("tags", "found"), [((), True), (("small",), False)])
def test_a_search_finds_no_tool_without_the_tags_that_the_person_chose(
    project: Project, tags: tuple[str, ...], found: bool
) -> None:
    for number in range(4):
        text = f"description: number {number}\nbash: echo {number}\ntags: [read, small]\n"
        project.write(f"tool{number}", text)
    project.write("zebra", "description: counts zebras\nbash: echo 3\ntags: [read]\n")
    model = Scripted([("tools_search", {"query": "zebras"})], [("zebra", {})], "three")
    said(opened(project, model, Wishes(tags=tags, most_offered=3), allow=["tool:read"]))
    assert ("zebra" in model.asked[1][1]) is found
    assert (told(model) == ["3\n"]) is found


def test_tools_by_name_and_no_tools(project: Project) -> None:
    project.write("look", LOOK)
    model = Scripted("hi", "hi")
    said(opened(project, model, Wishes(tools=("look",))))
    said(opened(project, model, Wishes(no_tools=True)))
    assert [names for _, names, _ in model.asked] == [["look"], []]


ECHO = {
    "description": "greets",
    "kind": "command",
    "inputs": {"schema": {"type": "object", "properties": {}}},
    "exec": {"command": {"entrypoint": "echo", "args": ["hello"]}},
    "permissions": {"network": False, "fs": {"read": [], "write": []}, "secrets": {}},
}


def test_a_tool_that_the_model_creates_is_used_after_a_review(project: Project) -> None:
    seen: list[str] = []

    async def yes(request: ApprovalRequest) -> ApprovalResponse:
        return ApprovalResponse(approved=True, approver="terminal")

    model = Scripted(
        [("tool_create", {"name": "greet", "definition": ECHO})], [("greet", {})], "done"
    )
    runtime = Runtime.open(project.root)
    project._open.append(runtime)

    async def review(tool: Any) -> bool:
        from tongs.runtime.reviewing import approve, of_tool

        seen.append(tool.name)
        approve(runtime, of_tool(runtime, tool))
        return True

    outcome, events = said(open_chat(runtime, model, Wishes(), approver=yes, review=review))
    assert outcome.kind == "ended"
    assert (seen, told(model)) == (["greet"], ["hello\n"])
    assert "greet" in model.asked[1][1]
    asked = [event.tool for event in events if isinstance(event, QuestionAsked)]
    assert asked == ["greet"]  # each of its calls asks; its review was the question before


def test_a_tool_that_the_person_does_not_approve_cannot_be_called(project: Project) -> None:
    async def review(tool: Any) -> bool:
        return False

    model = Scripted(
        [("tool_create", {"name": "greet", "definition": ECHO})], [("greet", {})], "well"
    )
    said(opened(project, model, review=review, allow=["*"]))
    assert "TOOL_NOT_FOUND" in told(model)[0]


def test_a_model_creates_no_tool_beyond_the_ceiling(project: Project) -> None:
    async def review(tool: Any) -> bool:
        raise AssertionError("there is nothing to review")

    wide = {**ECHO, "permissions": {"network": True, "fs": {}, "secrets": {}}}
    model = Scripted([("tool_create", {"name": "greet", "definition": wide})], "well")
    said(opened(project, model, review=review))
    assert "error: " in told(model)[0]
    assert not (project.tools / "greet").exists()


def test_tool_create_is_offered_only_where_somebody_reviews_and_no_rule_forbids_it(
    project: Project,
) -> None:
    async def review(tool: Any) -> bool:
        return False

    model = Scripted("hi", "hi", "hi")
    said(opened(project, model))
    said(opened(project, model, review=review))
    (project.home / "config.yml").write_text("security: {auto_deny: [tool_create]}\n")
    said(opened(project, model, review=review))
    assert ["tool_create" in names for _, names, _ in model.asked] == [False, True, False]


def test_a_conversation_goes_on_where_it_ended(project: Project) -> None:
    said(opened(project, Scripted("first answer")), "first question")
    model = Scripted("second answer")
    said(opened(project, model, Wishes(resume="")), "second question")
    assert model.asked[0][0] == (
        UserSaid("first question"),
        ModelSaid("first answer", (), model.asked[0][0][1].usage, "scripted"),  # type: ignore[union-attr]
        UserSaid("second question"),
    )


@pytest.mark.parametrize("elsewhere", [True, False])
def test_a_conversation_of_another_project_says_so(
    project: Project, tmp_path: Path, elsewhere: bool
) -> None:
    model = Scripted("hi", "still")
    first = opened(project, model)
    said(first)
    other = tmp_path / "other"
    (other / ".tongs").mkdir(parents=True)
    root = other if elsewhere else project.root
    runtime = Runtime.open(root)
    project._open.append(runtime)
    chat = open_chat(runtime, model, Wishes(resume=first.conversation.id))
    said(chat)
    assert bool(began_elsewhere(chat, str(root))) is elsewhere
    assert (f"began in {project.root} and goes on in {root}" in model.asked[-1][2]) is elsewhere


def test_there_may_be_nothing_to_go_on_with(project: Project) -> None:
    with pytest.raises(ToolError, match="no conversation in this project"):
        opened(project, Scripted(), Wishes(resume=""))


@pytest.mark.parametrize(
    ("happened", "expected"),
    [
        ("nothing", "it was not run"),
        ("ran", "it ran and ended well"),
        ("denied", "it was denied"),
        ("asked", "waits for a person's approval"),
    ],
)
def test_after_a_crash_the_record_says_what_became_of_a_call(
    project: Project, happened: str, expected: str
) -> None:
    from tongs.core.call import Caller, CallerKind, ToolCall
    from tongs.core.conversation import call_id
    from tongs.runtime.asking import Asking

    project.write("look", LOOK)
    project.write("act", "description: acts\nbash: echo acted\n")
    runtime = project.runtime()
    store = ConversationStore(runtime.places.state)
    conversation = store.begin(runtime.places.root, "scripted")
    journal = store.journal(conversation)
    journal.add(UserSaid("go"))
    name = "look" if happened == "ran" else "act"
    journal.add(ModelSaid("", (CallMade("a", name, {"X": "1"}),)))
    given = {"X": "1"} if name == "look" else {}
    call = ToolCall(
        call_id(conversation.id, 1, 0), name, given, Caller(CallerKind.AGENT, "model scripted")
    )
    if happened == "asked":
        from tongs.sandbox.waiting import BlockingWaiter

        asking = runtime.approving._asking()
        assert isinstance(asking, Asking)
        approver = asking.approver(BlockingWaiter(), None, wait=0)
        runtime.run_sync(call, approver=approver)
    elif happened != "nothing":
        allowed = project.runtime(auto_approve=["tool:read"])
        allowed.run_sync(call)
    model = Scripted("I see")
    said(opened(project, model, Wishes(resume=conversation.id)), "and?")
    answers = model.asked[0][0][2]
    assert isinstance(answers, ToolsAnswered)
    assert answers.answers[0].text.startswith("interrupted: ")
    assert expected in answers.answers[0].text
