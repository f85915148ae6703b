"""Runs in the environment of `make agents`: what the SDKs and frameworks say of exported tools.

Reads the exports from the file that is named, and prints what each check counted.
"""

from __future__ import annotations

import asyncio
import copy
import json
import sys
from typing import Any

import anthropic.types
import mcp.types
import openai.types.chat
import openai.types.responses
from agents.strict_schema import ensure_strict_json_schema
from google.genai import types as gemini
from openai.types.chat.chat_completion_message_tool_call import (
    ChatCompletionMessageToolCall,
    Function,
)
from pydantic import TypeAdapter
from pydantic_ai.profiles.openai import OpenAIJsonSchemaTransformer

from tongs import tool
from tongs.testing import project


def fits(kind: Any, data: Any) -> None:
    """With no key beyond those of the type."""
    TypeAdapter(kind).validate_python(data)
    known = set(kind.__annotations__)
    assert set(data) <= known, set(data) - known


def check_openai(exported: dict[str, Any]) -> int:
    for each in exported["openai"]:
        fits(openai.types.chat.ChatCompletionFunctionToolParam, each)
    for each in exported["openai-responses"]:
        fits(openai.types.responses.FunctionToolParam, each)
    return len(exported["openai"])


def check_anthropic(exported: dict[str, Any]) -> int:
    for each in (*exported["anthropic"], *exported["anthropic-strict"]):
        fits(anthropic.types.ToolParam, each)
    return len(exported["anthropic"])


def check_gemini(exported: dict[str, Any]) -> int:
    (group,) = exported["gemini"]
    made = gemini.Tool.model_validate(group)  # it refuses what it does not know
    assert made.function_declarations is not None
    return len(made.function_declarations)


def check_mcp(exported: dict[str, Any]) -> int:
    for each in exported["mcp"]:
        mcp.types.Tool.model_validate(each)
    return len(exported["mcp"])


def strict_ones(exported: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        each["function"] for each in exported["openai-strict"] if each["function"].get("strict")
    ]


def check_pydantic_ai(exported: dict[str, Any]) -> int:
    """Its transformer says whether a schema may be used in strict mode as it is."""
    for each in strict_ones(exported):
        transformer = OpenAIJsonSchemaTransformer(copy.deepcopy(each["parameters"]), strict=None)
        transformer.walk()
        assert transformer.is_strict_compatible, each["name"]
    return len(strict_ones(exported))


def check_openai_agents(exported: dict[str, Any]) -> int:
    """It makes schemas strict, or raises; what is strict already it leaves alone."""
    for each in strict_ones(exported):
        given = copy.deepcopy(each["parameters"])
        assert ensure_strict_json_schema(given) == each["parameters"], each["name"]
    return len(strict_ones(exported))


@tool(tags=["read"])
def add(a: int, b: int = 2) -> int:
    """Add."""
    return a + b


def check_calls(exported: dict[str, Any]) -> int:
    """Calls as objects of the SDKs, and answers that fit their types."""
    call = ChatCompletionMessageToolCall(
        id="c1", type="function", function=Function(name="add", arguments='{"a": 1, "b": null}')
    )
    block = anthropic.types.ToolUseBlock(
        id="t1", type="tool_use", name="add", input={"a": 1}, caller={"type": "direct"}
    )
    with project(tools=[add], auto_approve=["*"]) as it:
        (message,) = asyncio.run(it.runtime.handle_openai([call]))
        (reply,) = asyncio.run(it.runtime.handle_anthropic([block]))
    fits(openai.types.chat.ChatCompletionToolMessageParam, message)
    fits(anthropic.types.ToolResultBlockParam, reply["content"][0])
    assert message == {"role": "tool", "tool_call_id": "c1", "content": "3"}
    assert reply["content"][0]["content"] == "3"
    return 2


CHECKS = {
    "openai": check_openai,
    "anthropic": check_anthropic,
    "google-genai": check_gemini,
    "mcp": check_mcp,
    "pydantic-ai strict": check_pydantic_ai,
    "openai-agents strict": check_openai_agents,
    "calls": check_calls,
}

if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        data = json.load(file)
    print(json.dumps({name: check(data) for name, check in CHECKS.items()}))
