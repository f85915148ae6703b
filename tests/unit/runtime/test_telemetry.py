"""Each call is a span, each step of it a span inside; nothing where nobody has asked for it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tongs import ApprovalRequest, ApprovalResponse, ErrorCode, Runtime, ToolError
from tongs.runtime import telemetry

if TYPE_CHECKING:
    from tests.unit.conftest import Project

STEPS = ["find", "validate", "decide", "execute", "normalise", "record"]


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """A program that has set up OpenTelemetry: the real SDK, which keeps what it would send."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    # The API lets a provider be set once in a process, so this stands for `set_tracer_provider`.
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    yield exporter
    provider.shutdown()


def names(spans: InMemorySpanExporter) -> list[str]:
    return [span.name for span in spans.get_finished_spans()]


def called(spans: InMemorySpanExporter) -> ReadableSpan:
    (span,) = [one for one in spans.get_finished_spans() if one.name.startswith("execute_tool")]
    return span


def test_each_step_is_a_span_inside_the_span_of_the_call(
    project: Project, spans: InMemorySpanExporter
) -> None:
    project.write("t", "description: says hi\nbash: echo hi {A}\nparameters: {A: {}}\n")

    project.runtime(auto_approve=["*"]).call_sync("t", A="secret-argument")

    assert names(spans) == [*(f"tongs.{step}" for step in STEPS), "execute_tool t"]
    call = called(spans)
    assert call.context is not None
    inner = spans.get_finished_spans()[:-1]
    assert {span.parent.span_id for span in inner if span.parent} == {call.context.span_id}
    attributes = dict(call.attributes or {})
    identity = attributes.pop("gen_ai.tool.call.id")
    assert len(str(identity)) == 12
    assert attributes == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "t",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.description": "says hi",
        "tongs.caller": "library",
        "tongs.caller.kind": "program",
        "tongs.tool.source": "yaml:t",
        "tongs.tool.executor": "script",
    }
    assert call.status.is_unset
    everything = "".join(span.to_json() for span in spans.get_finished_spans())
    assert "secret-argument" not in everything


def test_failure_is_its_code(project: Project, spans: InMemorySpanExporter) -> None:
    project.write("t", "bash: echo private words; exit 3\n")

    project.runtime(auto_approve=["*"]).call_sync("t")

    call = called(spans)
    assert (call.attributes or {})["error.type"] == "EXECUTION_ERROR"
    assert (call.status.is_ok, call.status.description) == (False, "EXECUTION_ERROR")
    assert "private words" not in call.to_json()


def test_asking_a_person_is_a_step_of_its_own(
    project: Project, spans: InMemorySpanExporter
) -> None:
    async def person(request: ApprovalRequest) -> ApprovalResponse:
        return ApprovalResponse(approved=True)

    project.write("t", "bash: echo hi\n")

    project.runtime(approver=person).call_sync("t")

    assert "tongs.approve" in names(spans)


def test_unknown_tool_is_a_span_that_failed(project: Project, spans: InMemorySpanExporter) -> None:
    project.runtime().call_sync("nosuch")

    assert names(spans) == [
        "tongs.find",
        "tongs.normalise",
        "tongs.record",
        "execute_tool nosuch",
    ]
    assert (called(spans).attributes or {})["error.type"] == "TOOL_NOT_FOUND"


def test_call_of_another_tool_lies_inside_the_step_that_makes_it(
    project: Project, spans: InMemorySpanExporter
) -> None:
    project.write("inner", "bash: echo hi\n")
    project.write("outer", "steps:\n- {name: a, tool: inner}\n")

    project.runtime(auto_approve=["*"]).call_sync("outer")

    found = {span.name: span for span in spans.get_finished_spans()}
    inner = found["execute_tool inner"].parent
    # The last of that name to end is the outer call's.
    execute = found["tongs.execute"].context
    assert inner is not None
    assert execute is not None
    assert inner.span_id == execute.span_id


def test_cancelled_call_ends_its_spans(project: Project, spans: InMemorySpanExporter) -> None:
    project.write("t", "bash: touch begun; sleep 60\n")

    async def cancel() -> None:
        call = asyncio.create_task(project.runtime(auto_approve=["*"]).call("t"))
        while not (project.root / "begun").exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.01)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(cancel())

    assert (called(spans).attributes or {})["error.type"] == "CANCELLED"


def test_config_asks_for_spans_too(project: Project, spans: InMemorySpanExporter) -> None:
    (project.home / "config.yml").write_text("telemetry: true\n")
    project.write("t", "bash: echo hi\n")

    project.runtime(auto_approve=["*"]).call_sync("t")

    assert called(spans).name == "execute_tool t"


def test_project_that_is_not_trusted_cannot_ask_for_spans(project: Project) -> None:
    (project.root / ".tongs" / "config.yml").write_text("telemetry: true\n")

    settings = project.runtime().settings

    assert not settings.telemetry
    assert [problem.field for problem in settings.ignored] == ["telemetry"]


def test_api_that_another_thread_is_loading_follows_no_call(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = ModuleType("opentelemetry.trace")
    half.__spec__ = ModuleSpec(half.__name__, None)
    half.__spec__._initializing = True  # type: ignore[attr-defined]  # as the import system does
    monkeypatch.setitem(sys.modules, half.__name__, half)

    assert project.define_and_run("bash: echo it ran\n").output == "it ran\n"


def test_config_that_asks_for_spans_needs_the_package(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)

    with pytest.raises(ToolError) as raised:
        telemetry.watching(configured=True)

    assert raised.value.code is ErrorCode.INVALID_DEFINITION
    assert "tongs[telemetry]" in raised.value.hint


def test_program_without_a_provider_costs_nothing(project: Project) -> None:
    project.write("t", "bash: echo hi\n")
    watch = project.runtime()._parts.watch

    assert watch(None) is telemetry.unwatched  # type: ignore[arg-type]  # not looked at


def test_nothing_of_opentelemetry_is_imported_by_a_call(project: Project) -> None:
    project.write("t", "bash: echo hi\n")
    program = (
        "import sys; from tongs import Runtime\n"
        "with Runtime.open(auto_approve=['*']) as rt: print(rt.call_sync('t').output, end='')\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout == "hi\n[]\n"


def test_runtime_is_told_before_the_first_call(project: Project) -> None:
    (project.home / "config.yml").write_text("telemetry: true\n")

    with Runtime.open(project.root) as runtime:
        assert runtime.settings.telemetry
