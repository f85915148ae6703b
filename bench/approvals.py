"""What asking costs: a call nothing asks about, one answered from memory, one from the store."""

from __future__ import annotations

import json
from collections.abc import Iterator

from bench.measuring import ratios, repeated
from bench.pipeline import ARGUMENTS, TOOLS
from bench.rows import Row
from bench.world import World
from tongs import ApprovalRequest, ApprovalResponse, Approver, Caller, CallerKind, Runtime, ToolCall
from tongs.core.approval import Remember, Span
from tongs.core.driving import drive
from tongs.core.parts import Door
from tongs.core.record import replace
from tongs.pipeline import run
from tongs.sandbox.waiting import BlockingWaiter

SECTION = "Approvals, multiples of a call that nothing asks about"
REFERENCE = "not asked"
CALLS = 100
STORED = 10
_AGENT = Caller(CallerKind.AGENT, "bench")


def rows(world: World, rounds: int) -> Iterator[Row]:
    with Runtime.open(world.project) as runtime:
        tool = TOOLS[1]
        runtime.register(replace(tool, origin=replace(tool.origin, digest="0" * 64)))
        asking = runtime._parts  # noqa: SLF001 - the same with other rules, to compare
        with Runtime.open(world.project, auto_approve=["tool:read"]) as allowing:
            allowed = replace(asking, decide=allowing._parts.decide)  # noqa: SLF001 - as above

        async def yes(request: ApprovalRequest) -> ApprovalResponse:
            return ApprovalResponse(approved=True)

        async def always(request: ApprovalRequest) -> ApprovalResponse:
            remember = Remember({"tool": request.tool}, Span.USER)
            return ApprovalResponse(approved=True, remember=remember)

        async def stored(request: ApprovalRequest) -> ApprovalResponse | None:
            question = runtime.approving.store.ask(request, 60, awaited=True)
            runtime.approving.store.answer(question.id, ApprovalResponse(approved=True))
            return runtime.approving.store.take(question.id)

        def called(parts: object, approver: Approver | None) -> None:
            call = ToolCall("bench", "forecast_now", json.loads(ARGUMENTS), _AGENT)
            result = drive(run(call, parts, Door(BlockingWaiter(), approver)))  # type: ignore[arg-type]  # Parts
            if not result.ok:
                raise RuntimeError(f"the call was refused: {result.error}")

        works = {
            REFERENCE: repeated(lambda: called(allowed, None), CALLS),
            "asked": repeated(lambda: called(asking, yes), CALLS),
            "stored": repeated(lambda: called(asking, stored), STORED),
        }
        measured = ratios(works, REFERENCE, rounds)
        called(asking, always)
        works = {
            REFERENCE: works[REFERENCE],
            "remembered": repeated(lambda: called(asking, None), CALLS),
        }
        remembered = ratios(works, REFERENCE, rounds)
    yield Row(SECTION, "asked, answered in the process", measured["asked"])
    yield Row(SECTION, "answered from memory", remembered["remembered"])
    note = "asked, answered, taken and spent: four synced writes"
    yield Row(SECTION, "stored, answered elsewhere", measured["stored"], note=note)
