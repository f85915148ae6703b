"""What a model is offered, and how it finds the rest."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from tongs import BaseTool, ErrorCode, Runtime, ToolError, tool

if TYPE_CHECKING:
    from tests.unit.conftest import Project

GREET = "description: Greet somebody\nbash: echo hi\ntags: [read, social]\n"


@tool(tags=["read"])
def own() -> str:
    """A tool of the program."""
    return "own"


class Numbered(BaseTool):
    tags = ("read",)

    def __init__(self, number: int) -> None:
        self.name = f"number_{number}"
        self.description = f"Say the number {number}" + (" of zebras" if number == 40 else "")

    def execute(self, arguments: dict[str, Any]) -> str:
        return self.name


def names(runtime: Runtime, *wanted: int, **options: Any) -> list[str]:
    return [each.name for each in runtime.offered(*wanted, **options).list()]


def call(name: str, **arguments: Any) -> list[dict[str, Any]]:
    return [{"id": "1", "function": {"name": name, "arguments": json.dumps(arguments)}}]


def test_what_is_trusted_and_usable_is_offered(project: Project) -> None:
    project.write("greet", GREET)
    project.write("stranger", GREET, trusted=False)
    project.write("broken", "description: [", trusted=False)

    offered = names(project.runtime(tools=[own]))

    assert offered[:2] == ["own", "greet"]
    assert not {"stranger", "broken", "tools_search"} & set(offered)


def test_offer_can_be_narrowed_by_tag_and_by_name(project: Project) -> None:
    project.write("greet", GREET)
    runtime = project.runtime(tools=[own])

    assert names(runtime, tags=["social"]) == ["greet"]
    assert names(runtime, tools=["own", "builtin:tools_search"]) == ["own", "tools_search"]
    with pytest.raises(ToolError) as caught:
        runtime.offered(tools=["nothing"])
    assert caught.value.code is ErrorCode.TOOL_NOT_FOUND


def test_few_of_many_are_offered_with_the_search_for_the_others(project: Project) -> None:
    runtime = project.runtime(tools=[Numbered(n) for n in range(50)])

    assert names(runtime, 3) == ["number_0", "number_1", "tools_search"]
    assert names(runtime, 3, keep=["number_7"]) == ["number_7", "number_0", "tools_search"]


def test_tool_that_was_found_can_be_called_and_is_offered_from_then_on(project: Project) -> None:
    runtime = project.runtime(tools=[Numbered(n) for n in range(50)], auto_approve=["tool:read"])
    offer = runtime.offered(3)

    async def talk() -> list[str]:
        (before,) = await offer.handle_openai(call("number_40"))
        (search,) = await offer.handle_openai(call("tools_search", query="zebra"))
        (after,) = await offer.handle_openai(call("number_40"))
        return [message["content"] for message in (before, search, after)]

    before, search, after = asyncio.run(talk())

    assert before.startswith("error: TOOL_NOT_FOUND")
    assert search.startswith("number_40: Say the number 40 of zebras")
    assert after == "number_40"
    assert [each["name"] for each in offer.to_openai_functions()] == [
        *("number_0", "number_1", "tools_search", "number_40")
    ]


def test_search_gives_what_a_model_needs_to_call_it(project: Project) -> None:
    project.write("greet", GREET)
    runtime = project.runtime(auto_approve=["tool:read"])

    found = runtime.call_sync("tools_search", query="greeting")
    nothing = runtime.call_sync("tools_search", query="zebra")

    assert found.value == {
        "tools": [
            {
                "name": "greet",
                "description": "Greet somebody",
                "tags": ["read", "social"],
                "parameters": runtime.find("greet").input_schema,
            }
        ]
    }
    assert (nothing.ok, nothing.value) == (True, {"tools": []})
    assert [each.name for each in runtime.search("greet")] == ["greet"]


def test_built_in_is_called_though_a_definition_has_its_name(project: Project) -> None:
    path = project.write("tools_search", GREET, trusted=False)
    first = project.runtime()
    first.definitions.accept(first.at(str(path)))
    runtime = project.runtime(auto_approve=["*"], tools=[own])

    offer = runtime.offered(tools=["builtin:tools_search"])
    (message,) = offer.handle_openai_sync(call("tools_search", query="program"))
    (other,) = runtime.handle_openai_sync(call("tools_search"))

    assert message["content"] == "own: A tool of the program.\n"
    assert other["content"] == "hi\n"


def test_anthropic_offer_answers_only_for_its_own(project: Project) -> None:
    runtime = project.runtime(tools=[own], auto_approve=["*"])
    blocks = [{"type": "tool_use", "id": "1", "name": "own", "input": {}}]

    (allowed,) = asyncio.run(runtime.offered(tools=["own"]).handle_anthropic(blocks))
    (refused,) = runtime.offered(tools=["tools_search"]).handle_anthropic_sync(blocks)

    assert allowed["content"][0]["content"] == "own"
    assert refused["content"][0]["is_error"] is True


def test_executables_of_kodelet_are_offered_under_their_prefix(project: Project) -> None:
    folder = project.root / ".kodelet" / "tools"
    folder.mkdir(parents=True)
    program = folder / "hello"
    said = '{"name": "hello", "description": "d", "input_schema": {"type": "object"}}'
    program.write_text(
        f"#!/bin/sh\nif [ $1 = description ]; then echo '{said}'; else echo hi; fi\n"
    )
    program.chmod(0o755)
    first = project.runtime()
    first.definitions.accept(first.at(str(program)))
    runtime = project.runtime(auto_approve=["*"])
    offer = runtime.offered(tools=["hello"])

    (declared,) = offer.to_openai_functions()
    (message,) = offer.handle_openai_sync(call(declared["name"]))

    assert (declared["name"], message["content"]) == ("custom_tool_hello", "hi\n")


@pytest.mark.parametrize("name", ["read_file", "delete_file", "search_files"])
def test_words_of_a_name_find_that_tool_first(project: Project, name: str) -> None:
    words = name.replace("_", " ")

    assert [tool.name for tool in project.runtime().search(words, 1)] == [name]
