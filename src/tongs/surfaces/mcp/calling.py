"""`tools/call`: a client's call, on the one path of all calls."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Mapping

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from tongs.core.annotations import Any, TypeVar
from tongs.core.call import ToolCall
from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.core.parts import Door
from tongs.core.record import dataclass
from tongs.core.result import ToolResult
from tongs.core.tool import Tool
from tongs.runtime import Runtime
from tongs.sandbox.waiting import LoopWaiter
from tongs.schema.check import validated
from tongs.schema.strict import without_nulls
from tongs.surfaces.mcp import meta
from tongs.surfaces.mcp.asking import Asker, Pending, is_modern
from tongs.surfaces.mcp.clients import caller_of
from tongs.surfaces.mcp.offers import Offers
from tongs.surfaces.mcp.progress import telling
from tongs.surfaces.mcp.resources import Resources
from tongs.surfaces.mcp.results import error_wire, wire_result

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Calls:
    runtime: Runtime
    offers: Offers
    asker: Asker
    kept: Resources

    async def __call__(self, context: Any, params: Any) -> dict[str, Any]:
        caller = caller_of(context)
        call = ToolCall(os.urandom(6).hex(), params.name, params.arguments or {}, caller)
        try:
            call, tool = self._meant(call)
        except ToolError as error:
            refused = self.runtime.refuse(call, error)
            if error.code is ErrorCode.TOOL_NOT_FOUND and params.name not in self.offers.metas:
                said = error_wire(error)
                raise MCPError(INVALID_PARAMS, said["message"], {"hint": said["hint"]}) from None
            return wire_result(refused, None)
        asked = self.asker.answered(call, params) if is_modern(context) else None
        if isinstance(asked, ToolError):
            return wire_result(self.runtime.refuse(call, asked), None)
        if asked is not None:
            return asked
        pending = Pending()
        result = await self._result(context, call, tool, pending)
        if pending.asks(result):
            return self.asker.form(call, pending)
        # `tongs_tool` has promised nothing, whatever it calls.
        return wire_result(result, None if self._by_name(params.name) else tool)

    async def _result(
        self, context: Any, call: ToolCall, tool: Tool, pending: Pending
    ) -> ToolResult:
        waiter = LoopWaiter()
        async with telling(context) as progress:
            waits = _nobody if progress is None else progress.waits
            approver = self.asker.approver(context, call, waiter, pending, waits)
            watch = _nobody if progress is None else progress.observe
            result = await whole(self._run(call, tool, Door(waiter, approver, watch)))
        self.kept.note(tool.name, result)
        return result

    async def _run(self, call: ToolCall, tool: Tool, door: Door) -> ToolResult:
        if call.name in self.offers.metas:
            return await self.runtime.run_tool(call, tool, door)
        return await self.runtime.run(call, door)

    def _meant(self, call: ToolCall) -> tuple[ToolCall, Tool]:
        """The call as it is carried out: one by `tongs_tool` is a call of the tool it names."""
        name, arguments = call.name, call.arguments
        if name in self.offers.metas:
            tool = self.offers.metas[name]
            if not self._by_name(name):
                return call, tool
            given = validated(tool.input_schema, dict(arguments))
            name, arguments = given["name"], given["params"]
            if name in self.offers.metas:
                raise _not_through_itself(name)
        name, tool = self.offers.meant(name)
        return _renamed(call, name, without_nulls(tool.input_schema, dict(arguments))), tool

    def _by_name(self, name: str) -> bool:
        return name in self.offers.metas and meta.kind_of(name) == meta.CALL


def _nobody(*news: Any) -> None:
    """Nobody wants to know."""


async def whole(work: Coroutine[Any, Any, T]) -> T:
    """What `work` gives. If nobody wants it any more it is cancelled once, and then waited for:
    it has processes to end and a record to write, which a second cancellation would cut short."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.cancel()
        await _ended(task)
        raise


async def _ended(task: asyncio.Future[Any]) -> None:
    from anyio import CancelScope  # noqa: PLC0415 - only where something is cancelled

    with CancelScope(shield=True):
        await asyncio.wait({task})


def _renamed(call: ToolCall, name: str, arguments: Mapping[str, Any]) -> ToolCall:
    return ToolCall(call.id, name, arguments, call.caller)


def _not_through_itself(name: str) -> ToolError:
    return ToolError(
        ErrorCode.INVALID_ARGUMENTS,
        f"{name} is called directly, not by its name",
        blocked_by=BlockedBy.SCHEMA,
    )
