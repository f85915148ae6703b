"""Calls that outlive a request, and what is told of them meanwhile."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from tongs.core.approval import ApprovalRequest
from tongs.core.call import ToolCall
from tongs.core.execution import STDOUT, OutputArrived, Progressed, StepEnded, StepStarted
from tongs.core.result import ToolResult
from tongs.surfaces.mcp import progress
from tongs.surfaces.mcp.progress import telling
from tongs.surfaces.mcp.running import Parked, Running

REQUEST = ApprovalRequest("1.1", "t", {}, "look")


def running(question: str, end: asyncio.Event) -> Running:
    made = Running(ToolCall("1", "t"))

    async def call() -> ToolResult:
        made.ask(question, REQUEST)
        await end.wait()
        return ToolResult("1", "done")

    made.task = asyncio.ensure_future(call())
    return made


def test_a_call_that_asks_waits_for_the_request_that_brings_the_answer() -> None:
    async def main() -> None:
        end, parked = asyncio.Event(), Parked()
        call = running("q", end)
        assert await call.until_asked() is None
        parked.keep(call)
        assert "q" in parked

        end.set()
        taken = parked.take("q")
        assert taken is call
        assert await taken.until_asked() == ToolResult("1", "done")
        assert "q" not in parked

    asyncio.run(main())


def test_results_are_kept_for_a_while_and_calls_are_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tongs.surfaces.mcp.running._MOST", 2)

    async def main() -> None:
        parked, ends = Parked(), [asyncio.Event() for _ in range(3)]
        for number, end in enumerate(ends):
            call = running(str(number), end)
            await call.until_asked()
            parked.keep(call)
            if number == 0:
                end.set()
                await asyncio.sleep(0)
        assert ["0" in parked, "1" in parked, "2" in parked] == [False, True, True]
        assert parked.full

        await parked.close()
        with pytest.raises(asyncio.CancelledError):
            await parked.take("1").until_asked()

    asyncio.run(main())


class Client:
    def __init__(self) -> None:
        self.told: list[tuple[float, str]] = []
        self.beat = asyncio.Event()
        self.meta: Any = {"progress_token": 1}
        self.session = SimpleNamespace(report_progress=self.report)

    async def report(self, number: float, total: float | None, message: str) -> None:
        self.told.append((number, message))
        if message.endswith(" s)"):
            self.beat.set()


def test_a_client_that_wants_to_know_hears_what_happens_and_that_it_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(progress, "_HEARTBEAT", 0.01)
    monkeypatch.setattr(progress, "_APART", 0.0)
    client = Client()

    async def main() -> None:
        async with telling(client) as told:
            assert told is not None
            for event in (
                StepStarted("one", 1, 2),
                StepEnded("one", 1, 2, 0, 0.1),
                OutputArrived(STDOUT, b"a line\x1b\n\n"),
                Progressed(1, 2),
                Progressed(3, None, "three"),
            ):
                told.observe(event)
                await asyncio.sleep(0.002)
            told.waits()
            await asyncio.wait_for(client.beat.wait(), 20)

    asyncio.run(main())
    said = [message for _, message in client.told]
    assert "step 1 of 2: one" in said
    assert "step 1 of 2: one has ended" in said
    assert "a line\\x1b" in said
    assert "1 of 2" in said
    assert "three" in said
    assert "waiting for a person's approval" in said
    assert [number for number, _ in client.told] == list(range(1, len(said) + 1))


def test_who_does_not_ask_hears_nothing() -> None:
    client = Client()
    client.meta = None

    async def main() -> None:
        async with telling(client) as told:
            assert told is None

    asyncio.run(main())
    assert client.told == []
