"""Each call as a span of OpenTelemetry, with one span inside it for each step of the pipeline.

Names are those of the GenAI conventions of OpenTelemetry. Arguments and output are in no span:
whoever may read traces need not be somebody who may read those.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from tongs.core.annotations import Any
from tongs.core.call import ToolCall
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.parts import Steps, unwatched
from tongs.core.result import ToolResult
from tongs.core.tool import Tool

_API = "opentelemetry.trace"


def watching(*, configured: bool) -> Callable[[ToolCall], Steps]:
    """How calls are followed: always where the config says so, else where a program asks for it.

    Raises ToolError where the config says so and it cannot be done.
    """
    if not configured:
        return _where_set_up
    try:
        from opentelemetry import trace  # noqa: PLC0415 - only where a person asked for it
    except ImportError:
        raise ToolError(
            ErrorCode.INVALID_DEFINITION,
            "telemetry is true in the config, and opentelemetry-api is not installed",
            hint="pip install 'tongs[telemetry]', or take the line out",
        ) from None
    return lambda call: CallSpans(trace, call)


def _where_set_up(call: ToolCall) -> Steps:
    """Nothing is imported: whoever has a tracer provider has loaded the API."""
    api = sys.modules.get(_API)
    if api is None or _is_being_loaded(api):
        return unwatched
    if isinstance(api.get_tracer_provider(), api.ProxyTracerProvider):
        return unwatched
    return CallSpans(api, call)


def _is_being_loaded(module: Any) -> bool:
    """By another thread, for a model perhaps: it has nothing to offer yet."""
    return bool(getattr(module.__spec__, "_initializing", False))


class CallSpans:
    """The span of a call, and the one of the step that it is at."""

    def __init__(self, api: Any, call: ToolCall) -> None:
        from opentelemetry import context  # noqa: PLC0415 - the program has loaded it

        self._api = api
        self._context = context
        self._tracer = api.get_tracer("tongs")
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.call.id": call.id,
            "tongs.caller": call.caller.name,
            "tongs.caller.kind": str(call.caller.kind),
        }
        self._call = self._tracer.start_span(f"execute_tool {call.name}", attributes=attributes)
        self._inside = context.attach(api.set_span_in_context(self._call))
        self._step: Any = None
        self._at: Any = None

    def __call__(self, name: str) -> None:
        self._end_step()
        self._step = self._tracer.start_span(f"tongs.{name}")
        # What the step does itself, such as the calls of other tools, lies inside it.
        self._at = self._context.attach(self._api.set_span_in_context(self._step))

    def end(self, tool: Tool | None, result: ToolResult) -> None:
        self._end_step()
        if (error := result.error) is not None:
            # The code alone: a message may hold what the tool has said.
            self._call.set_attribute("error.type", str(error.code))
            self._call.set_status(self._api.Status(self._api.StatusCode.ERROR, str(error.code)))
        if tool is not None:
            self._call.update_name(f"execute_tool {tool.name}")
            self._call.set_attributes(
                {
                    "gen_ai.tool.name": tool.name,
                    "gen_ai.tool.type": "function",
                    "gen_ai.tool.description": tool.description,
                    "tongs.tool.source": tool.qualified_name,
                    "tongs.tool.executor": tool.executor,
                }
            )
        self._context.detach(self._inside)
        self._call.end()

    def _end_step(self) -> None:
        if self._step is not None:
            self._context.detach(self._at)
            self._step.end()
