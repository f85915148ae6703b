"""A model's calls: read in whatever shape they come, carried out, and answered in their order."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from tongs import ApprovalRequest, ApprovalResponse, Caller, CallerKind, Runtime, ToolResult, tool
from tongs.runtime.call_shapes import MOST_SHOWN, told
from tongs.testing import Person

if TYPE_CHECKING:
    from tests.unit.conftest import Project

events: list[str] = []


@tool(tags=["read"])
async def look(name: str, times: int | None = None, deep: int = 1) -> str:
    """Look at something."""
    events.append(f"{name} begins")
    await asyncio.sleep(0)
    events.append(f"{name} ends")
    return f"seen {name} {times} {deep}"


@tool(tags=["write"], name="change.it")
async def change(name: str) -> str:
    """Change something."""
    events.append(f"{name} begins")
    await asyncio.sleep(0)
    events.append(f"{name} ends")
    return f"changed {name}"


@pytest.fixture
def runtime(project: Project) -> Runtime:
    events.clear()
    return project.runtime(auto_approve=["tool:write"], tools=[look, change])


def chat(*calls: tuple[str, Any]) -> list[dict[str, Any]]:
    """Calls as chat completions have them."""
    return [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {
                "name": name,
                "arguments": given if isinstance(given, str) else json.dumps(given),
            },
        }
        for number, (name, given) in enumerate(calls)
    ]


def objects(data: Any) -> Any:
    """The same as an SDK has it."""
    if isinstance(data, dict):
        # The arguments themselves are plain data in every SDK.
        return SimpleNamespace(
            **{key: value if key == "input" else objects(value) for key, value in data.items()}
        )
    return [objects(each) for each in data] if isinstance(data, list) else data


def answered(runtime: Runtime, calls: Any, **options: Any) -> list[dict[str, Any]]:
    return asyncio.run(runtime.handle_openai(calls, **options))


def test_calls_that_read_run_together_and_others_alone(runtime: Runtime) -> None:
    calls = chat(
        ("look", {"name": "a"}),
        ("look", {"name": "b"}),
        ("change_it", {"name": "c"}),
        ("look", {"name": "d"}),
    )

    messages = answered(runtime, calls)

    assert events == [
        *("a begins", "b begins", "a ends", "b ends"),
        *("c begins", "c ends"),
        *("d begins", "d ends"),
    ]
    assert messages == [
        {"role": "tool", "tool_call_id": "call_0", "content": "seen a None 1"},
        {"role": "tool", "tool_call_id": "call_1", "content": "seen b None 1"},
        {"role": "tool", "tool_call_id": "call_2", "content": "changed c"},
        {"role": "tool", "tool_call_id": "call_3", "content": "seen d None 1"},
    ]


def test_whatever_a_model_sends_is_answered(runtime: Runtime) -> None:
    calls = chat(
        ("look", '{"name": '),
        ("look", "[1]"),
        ("nothing", {}),
        ("look", {"name": 5}),
        ("look", ""),
        ("look", {"name": "x"}),
    )
    calls.append({"id": "call_6", "type": "function", "function": None})

    contents = [message["content"] for message in answered(runtime, calls)]

    assert [content.split(":")[1].strip() for content in contents[:5]] == [
        "INVALID_ARGUMENTS",
        "INVALID_ARGUMENTS",
        "TOOL_NOT_FOUND",
        "INVALID_ARGUMENTS",
        "INVALID_ARGUMENTS",
    ]
    assert contents[5] == "seen x None 1"
    assert "no call of a function" in contents[6]


def test_refused_calls_are_in_the_audit_log(runtime: Runtime, project: Project) -> None:
    answered(runtime, chat(("look", "{"), ("nothing", {})))

    lines = project.audit()

    assert lines.count("name=look") == 1
    assert lines.count("name=nothing") == 1


def test_null_of_a_strict_mode_is_left_out_where_it_is_no_value(runtime: Runtime) -> None:
    calls = chat(("look", {"name": "a", "times": None, "deep": None}))

    assert answered(runtime, calls)[0]["content"] == "seen a None 1"


@pytest.mark.parametrize("shape", [lambda data: data, objects], ids=["dicts", "objects"])
def test_answers_of_both_apis_of_openai_are_read(runtime: Runtime, shape: Any) -> None:
    calls = chat(("look", {"name": "a"}))
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    whole = {"id": "c", "choices": [{"message": message}]}
    thinking = {"type": "reasoning", "id": "r"}
    item = {
        "type": "function_call",
        "id": "fc",
        "call_id": "call_0",
        "name": "look",
        "arguments": '{"name": "a"}',
    }
    seen = [{"role": "tool", "tool_call_id": "call_0", "content": "seen a None 1"}]

    for given in (calls, message, whole):
        assert answered(runtime, shape(given)) == seen
    for given in ([thinking, item], {"id": "r", "output": [thinking, item]}):
        assert answered(runtime, shape(given)) == [
            {"type": "function_call_output", "call_id": "call_0", "output": "seen a None 1"}
        ]
    nothing = {"role": "assistant", "content": "hello", "tool_calls": None}
    assert answered(runtime, shape(nothing)) == []
    assert answered(runtime, None) == []


@pytest.mark.parametrize("shape", [lambda data: data, objects], ids=["dicts", "objects"])
def test_blocks_of_anthropic_are_read(runtime: Runtime, shape: Any) -> None:
    blocks = [
        {"type": "text", "text": "let me look"},
        {"type": "tool_use", "id": "t1", "name": "look", "input": {"name": "a"}},
        {"type": "tool_use", "id": "t2", "name": "look", "input": {}},
    ]

    for given in (blocks, {"role": "assistant", "content": blocks}):
        (message,) = asyncio.run(runtime.handle_anthropic(shape(given)))

        assert message["role"] == "user"
        first, second = message["content"]
        assert first == {"type": "tool_result", "tool_use_id": "t1", "content": "seen a None 1"}
        assert (second["tool_use_id"], second["is_error"]) == ("t2", True)
    assert asyncio.run(runtime.handle_anthropic([blocks[0]])) == []
    assert asyncio.run(runtime.handle_anthropic("text")) == []


@pytest.mark.parametrize("given_to", ["call", "runtime"])
def test_person_is_asked_one_question_at_a_time(project: Project, given_to: str) -> None:
    open_questions: list[int] = [0]
    most: list[int] = []

    async def ask(request: ApprovalRequest) -> ApprovalResponse:
        open_questions[0] += 1
        most.append(open_questions[0])
        await asyncio.sleep(0)
        open_questions[0] -= 1
        return ApprovalResponse(approved=True)

    runtime = project.runtime(tools=[look], approver=ask if given_to == "runtime" else None)
    options = {"approver": ask} if given_to == "call" else {}

    answered(runtime, chat(*[("look", {"name": str(n)}) for n in range(3)]), **options)

    assert most == [1, 1, 1]


def test_program_of_the_config_is_asked_one_question_at_a_time(project: Project) -> None:
    log = project.root / "asked"
    slow = f"echo begin >> {log}; cat > /dev/null; sleep 0.1; echo end >> {log}"
    script = f"{slow}; echo '{{\"approved\": true}}'"
    config = f"approvals:\n  command: [sh, -c, {json.dumps(script)}]\n"
    (project.home / "config.yml").write_text(config)
    runtime = project.runtime(tools=[look])

    told = answered(runtime, chat(*[("look", {"name": str(n)}) for n in range(3)]))

    assert all("seen" in message["content"] for message in told)
    assert log.read_text().split() == ["begin", "end"] * 3


def test_model_is_told_what_really_ran(project: Project) -> None:
    person = Person.edits(name="b")
    runtime = project.runtime(tools=[change], approver=person)

    (message,) = answered(runtime, chat(("change_it", {"name": "a"})))

    assert message["content"] == (
        "changed b\nwarning: test person changed the arguments before allowing it;"
        ' it ran with {"name": "b"}'
    )


def test_caller_is_an_agent_unless_somebody_says_otherwise(project: Project) -> None:
    person = Person()
    runtime = project.runtime(tools=[look], approver=person)
    calls = chat(("look", {"name": "a"}))

    answered(runtime, calls)
    answered(runtime, calls, caller=Caller(CallerKind.AGENT, "ada"))

    assert [(request.caller.kind, request.caller.name) for request in person.asked] == [
        (CallerKind.AGENT, "model"),
        (CallerKind.AGENT, "ada"),
    ]


def test_model_sees_the_head_and_the_tail_of_much() -> None:
    text = "a" * MOST_SHOWN + "b" * 100

    seen = told(ToolResult(output=text, metadata={"outputHandle": "h1"}))

    assert seen.startswith("aaa")
    assert seen.endswith("b")
    assert "[… 100 characters are left out here; the whole is kept as h1 …]" in seen


def test_model_reads_what_it_was_not_shown(project: Project) -> None:
    @tool(tags=["read"])
    def much() -> str:
        """Say a lot."""
        return "".join(f"line {number}\n" for number in range(50_000))

    runtime = project.runtime(tools=[much], auto_approve=["tool:read"])
    for (message,) in (
        answered(runtime, chat(("much", {}))),
        runtime.handle_openai_sync(chat(("much", {}))),
    ):
        handle = message["content"].partition("the whole is kept as ")[2].split()[0]
        rest = {"handle": handle, "offset": 25_000, "limit": 1}
        (page,) = answered(runtime, chat(("output_read", rest)))
        assert page["content"] == "line 25000\n"


def test_nothing_hidden_reaches_a_model() -> None:
    assert told(ToolResult(output="\x1b[2J\u200bhi", warnings=["w"])) == (
        "\\x1b[2J\\u200bhi\nwarning: w"
    )
    assert told(ToolResult()) == "(no output)"


def test_failure_tells_what_came_before_it_and_what_can_be_done() -> None:
    from tongs import ToolError

    error = ToolError("EXECUTION_ERROR", "it broke", details={"confined": "off"}, hint="mend it")

    assert told(ToolResult(output="half", error=error)) == (
        "error: EXECUTION_ERROR: it broke\noutput before it failed:\nhalf\nconfined: off"
        "\nhint: mend it"
    )


@pytest.mark.parametrize("choices", [{"a": 1}, 5, "text", [None], [5]])
def test_answer_whose_choices_are_none_is_no_call(runtime: Runtime, choices: Any) -> None:
    (message,) = answered(runtime, {"choices": choices})

    assert "this is no call of a function" in message["content"]


def test_call_of_another_type_is_answered_under_its_id(runtime: Runtime) -> None:
    own = {"id": "c1", "type": "custom", "custom": {"name": "look", "input": "x"}}
    new = {"id": "c2", "type": "dance", "dance": {}}
    item = {"type": "custom_tool_call", "id": "i", "call_id": "c3", "name": "look", "input": "x"}
    said = "error: INVALID_ARGUMENTS: nothing was run: this is a call of type {}; expected one"

    (alone,) = answered(runtime, [own])
    first, second = answered(runtime, {"role": "assistant", "tool_calls": [own, new]})
    (third,) = answered(runtime, {"output": [{"type": "reasoning", "id": "r"}, item]})

    assert alone == first
    assert (first["tool_call_id"], second["tool_call_id"]) == ("c1", "c2")
    assert (third["type"], third["call_id"]) == ("custom_tool_call_output", "c3")
    assert first["content"].startswith(said.format("custom"))
    assert second["content"].startswith(said.format("dance"))
    assert third["output"].startswith(said.format("custom_tool_call"))
    assert events == []


@pytest.mark.parametrize("shape", [dict, objects])
def test_one_block_alone_is_a_call(runtime: Runtime, shape: Any) -> None:
    block = {"type": "tool_use", "id": "t1", "name": "look", "input": {"name": "a"}}

    (message,) = asyncio.run(runtime.handle_anthropic(shape(block)))
    (inside,) = asyncio.run(runtime.handle_anthropic({"role": "assistant", "content": block}))

    assert message == inside
    assert message["content"] == [
        {"type": "tool_result", "tool_use_id": "t1", "content": "seen a None 1"}
    ]
