"""Runs in the environment of `make agents`: clients and agents that are made with MCP.

Reads which one, and how to start the server, from its arguments; prints what came of each call.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Coroutine
from typing import Any

from tests.full.mcp_by_sdk import ANSWERS, CALLS, plain

Server = dict[str, Any]
# What a model of openai-agents is given, by place.
GIVEN = ("system_instructions", "input", "model_settings", "tools")


def without_its_error(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def answering() -> Callable[..., Coroutine[Any, Any, Any]]:
    answers = iter(ANSWERS)

    async def answer(message: str, kind: Any, params: Any, context: Any) -> Any:
        return dict(next(answers))

    return answer


async def mcp2(server: Server) -> dict[str, Any]:
    """The client of the second major, which speaks the newest protocol."""
    import mcp_types as types
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    answers = iter(ANSWERS)

    async def elicited(context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content=dict(next(answers)))

    came: dict[str, Any] = {}
    transport = stdio_client(StdioServerParameters(**server))
    async with Client(transport, elicitation_callback=elicited) as client:
        came["protocol"] = client.protocol_version
        came["tools"] = [tool.name for tool in (await client.list_tools()).tools]
        for key, tool, arguments in CALLS:
            try:
                came[key] = plain(await client.call_tool(tool, arguments))
            except Exception as error:  # noqa: BLE001 - what a client raises is what is looked at
                came[key] = without_its_error(error)
    return came


async def fastmcp(server: Server) -> dict[str, Any]:
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport

    came: dict[str, Any] = {}
    async with Client(StdioTransport(**server), elicitation_handler=answering()) as client:
        came["protocol"] = client.protocol_version
        came["tools"] = [tool.name for tool in await client.list_tools()]
        for key, tool, arguments in CALLS:
            try:
                result = await client.call_tool(tool, arguments)
                came[key] = "\n".join(part.text for part in result.content)
            except Exception as error:  # noqa: BLE001 - as above
                came[key] = without_its_error(error)
    return came


async def pydantic_ai(server: Server) -> dict[str, Any]:
    """An agent whose model makes the calls one after the other."""
    from fastmcp.client.transports import StdioTransport
    from pydantic_ai import Agent
    from pydantic_ai.mcp import MCPToolset
    from pydantic_ai.messages import (
        ModelMessage,
        ModelResponse,
        RetryPromptPart,
        TextPart,
        ToolCallPart,
        ToolReturnPart,
    )
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    # This agent does not let a model call what is not there, or with what does not fit.
    calls = [each for each in CALLS if each[0] not in ("unknown", "invalid")]
    todo = iter(calls)
    told: list[str] = []
    names: list[str] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        names[:] = [tool.name for tool in info.function_tools]
        heard = (ToolReturnPart, RetryPromptPart)
        told.extend(str(part.content) for part in messages[-1].parts if isinstance(part, heard))
        following = next(todo, None)
        if following is None:
            return ModelResponse([TextPart("done")])
        return ModelResponse([ToolCallPart(following[1], following[2])])

    toolset: Any = MCPToolset(
        StdioTransport(**server), elicitation_handler=answering(), max_retries=9
    )
    agent = Agent(FunctionModel(model), toolsets=[toolset], retries=9)
    async with agent:
        await agent.run("go")
    came: dict[str, Any] = {key: each for (key, _, _), each in zip(calls, told, strict=True)}
    return {**came, "tools": names}


async def openai_agents(server: Server) -> dict[str, Any]:
    """An agent whose model makes the calls one after the other; it cannot be asked."""
    from agents import Agent, ModelResponse, Runner, Usage, set_tracing_disabled
    from agents.mcp import MCPServerStdio
    from agents.models.interface import Model
    from openai.types.responses import (
        ResponseFunctionToolCall,
        ResponseOutputMessage,
        ResponseOutputText,
    )

    set_tracing_disabled(True)
    approved: list[tuple[str, str, dict[str, Any]]] = [("again", "deploy", {"STAGE": "test"})]
    calls = [each for each in CALLS if each[0] in ("called", "failed", "allowed")] + approved
    came: dict[str, Any] = {}

    class Scripted(Model):
        number = 0

        async def get_response(self, *arguments: Any, **named: Any) -> ModelResponse:
            given = {**dict(zip(GIVEN, arguments, strict=False)), **named}
            came["tools"] = [tool.name for tool in given["tools"]]
            last = given["input"][-1]
            if isinstance(last, dict) and last.get("type") == "function_call_output":
                self.keep(last["output"])
            output: list[Any] = []
            if self.number < len(calls):
                _, name, arguments = calls[self.number]
                output = [
                    ResponseFunctionToolCall(
                        arguments=json.dumps(arguments),
                        call_id=f"call-{self.number}",
                        name=name,
                        type="function_call",
                    )
                ]
            else:
                said = ResponseOutputText(annotations=[], text="done", type="output_text")
                output = [
                    ResponseOutputMessage(
                        id="m", content=[said], role="assistant", status="completed", type="message"
                    )
                ]
            self.number += 1
            return ModelResponse(output=output, usage=Usage(), response_id=None)

        def keep(self, output: Any) -> None:
            text = output if isinstance(output, str) else output[0]["text"]
            came[calls[self.number - 1][0]] = text
            if "tongs approvals approve " in text:
                question = text.split("tongs approvals approve ")[1][:10]
                approve = [server["command"], "approvals", "approve", question]
                subprocess.run(approve, env=server["env"], cwd=server["cwd"], check=True)

        def stream_response(self, *arguments: Any, **more: Any) -> Any:
            raise NotImplementedError

    async with MCPServerStdio(server, client_session_timeout_seconds=30) as served:
        agent = Agent("test", mcp_servers=[served], model=Scripted())
        await Runner.run(agent, "go", max_turns=12)
    return came


if __name__ == "__main__":
    print(json.dumps(asyncio.run(globals()[sys.argv[1]](json.loads(sys.argv[2])))))
