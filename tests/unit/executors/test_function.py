"""Functions of the program itself, through the whole pipeline."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from tongs import ErrorCode, Runtime, Tool, ToolError, ToolRegistry, ToolResult, tool

if TYPE_CHECKING:
    from tests.unit.conftest import Project


OVER = threading.Event()


@tool
def thread() -> int:
    """Which thread runs it."""
    return threading.get_ident()


@tool(blocking=True)
def patient() -> int:
    """Which thread runs it."""
    return threading.get_ident()


@tool
async def waiting(seconds: float) -> str:
    """Wait."""
    await asyncio.sleep(seconds)
    return "waited"


@tool(timeout=0.05)
async def endless() -> None:
    """Wait for ever."""
    await asyncio.Event().wait()


@tool(timeout=0.01, blocking=True)
def stuck() -> str:
    """Hold its thread until the test is over."""
    OVER.wait(20)
    return "at last"


@tool(timeout=0.001)
def slow() -> str:
    """Take longer than it may."""
    time.sleep(0.005)
    return "done"


@tool
def leaving() -> None:
    """Try to end the program."""
    sys.exit(3)


@tool
async def impatient() -> None:
    """Give up by itself."""
    raise TimeoutError("the server is slow")


@pytest.fixture
def runtime(project: Project) -> Runtime:
    tools = [thread, patient, waiting, endless, stuck, slow, leaving, impatient]
    return project.runtime(auto_approve=["*"], tools=tools)


def test_sync_function_runs_where_it_is_called(runtime: Runtime) -> None:
    assert runtime.call_sync("thread").value == threading.get_ident()
    assert runtime.call_sync("patient").value == threading.get_ident()
    assert asyncio.run(runtime.call("thread")).value == threading.get_ident()


def test_function_that_blocks_leaves_the_event_loop_alone(runtime: Runtime) -> None:
    assert asyncio.run(runtime.call("patient")).value != threading.get_ident()


def test_async_function_is_awaited_with_a_loop_and_without(runtime: Runtime) -> None:
    assert runtime.call_sync("waiting", seconds=0.001).output == "waited"
    assert asyncio.run(runtime.call("waiting", seconds=0.001)).output == "waited"


def test_async_function_in_a_sync_call_inside_a_loop_says_what_to_do(runtime: Runtime) -> None:
    async def main() -> Any:
        return runtime.call_sync("waiting", seconds=0.001)

    error = asyncio.run(main()).error

    assert error.code is ErrorCode.EXECUTION_ERROR
    assert "await" in error.hint


def test_async_function_is_stopped_in_time(runtime: Runtime) -> None:
    results = [runtime.call_sync("endless"), asyncio.run(runtime.call("endless"))]

    assert [result.error.code for result in results if result.error] == [ErrorCode.TIMEOUT] * 2


def test_function_that_blocks_an_event_loops_thread_is_left_in_time(runtime: Runtime) -> None:
    OVER.clear()

    async def main() -> ToolResult:
        try:
            return await runtime.call("stuck")
        finally:
            OVER.set()  # or the loop would wait for its thread

    error = asyncio.run(main()).error

    assert error is not None
    assert (error.code, error.message) == (
        ErrorCode.TIMEOUT,
        "stuck did not end after 0.01 s: its thread cannot be ended and goes on",
    )


def test_job_leaves_a_function_that_blocks_in_time(project: Project) -> None:
    OVER.clear()
    try:
        with Runtime.open(project.root, auto_approve=["*"], tools=[stuck]) as runtime:
            handle = runtime.call_sync("stuck", background=True).value["job"]
            told = runtime.call_sync("job_status", job=handle, wait=10).value
    finally:
        OVER.set()

    assert (told["status"], told["error"]["code"]) == ("failed", "TIMEOUT")


def test_plain_function_that_takes_too_long_says_that_nothing_stopped_it(runtime: Runtime) -> None:
    for result in (runtime.call_sync("slow"), asyncio.run(runtime.call("slow"))):
        assert result.output == "done"
        assert "timeout" in result.metadata["notEnforced"]
        assert "longer than its timeout" in result.warnings[0]


def test_only_what_cannot_be_stopped_says_so(runtime: Runtime) -> None:
    def lacks(result: ToolResult) -> bool:
        return "timeout" in result.metadata["notEnforced"]

    assert lacks(runtime.call_sync("thread"))
    assert lacks(runtime.call_sync("patient"))
    assert lacks(runtime.call_sync("leaving"))
    assert not lacks(runtime.call_sync("waiting", seconds=0))
    assert not lacks(asyncio.run(runtime.call("patient")))


def test_timeout_of_the_functions_own_is_its_error(runtime: Runtime) -> None:
    error = runtime.call_sync("impatient").error

    assert error is not None
    assert error.message == "impatient raised TimeoutError: the server is slow"


def test_function_cannot_end_the_program(runtime: Runtime) -> None:
    error = runtime.call_sync("leaving").error

    assert error is not None
    assert "sys.exit(3)" in error.message


def test_result_says_that_nothing_was_enforced(runtime: Runtime) -> None:
    for name in ("thread", "leaving"):
        metadata = runtime.call_sync(name).metadata

        assert metadata["enforced"] == []
        assert {"network", "fs.read", "fs.write"} <= set(metadata["notEnforced"])


@tool
def much() -> str:
    """Say a lot."""
    return "".join(f"line {number}\n" for number in range(200_000))


def test_large_output_is_cut_and_read_back_by_its_handle(project: Project) -> None:
    runtime = project.runtime(auto_approve=["*"], tools=[much])

    result = runtime.call_sync("much")
    handle = result.metadata["outputHandle"]
    last = runtime.call_sync("output_read", handle=handle, offset=-1)

    assert len(result.output) == 1024 * 1024
    assert result.value == much()
    assert f"the whole is kept as {handle}" in result.warnings[0]
    assert last.output == "line 199999\n"


def test_call_is_recorded_and_denied_like_any_other(project: Project) -> None:
    runtime = project.runtime(tools=[thread], auto_deny=["thread"])

    error = runtime.call_sync("thread").error

    assert error is not None
    assert error.code is ErrorCode.DENIED
    assert "name=thread" in project.audit()


def test_wrong_arguments_name_the_right_ones_and_no_command(runtime: Runtime) -> None:
    error = runtime.call_sync("waiting", secnds=1).error

    assert error is not None
    assert error.hint == "waiting takes seconds"


def test_runtime_of_a_folder_that_is_not_there_is_refused(project: Project) -> None:
    with pytest.raises(ToolError, match="there is no folder"):
        Runtime.open(project.root / "nowhere")


def test_tool_without_a_function_says_so(project: Project) -> None:
    runtime = project.runtime(auto_approve=["*"], tools=[Tool("empty")])

    error = runtime.call_sync("empty").error

    assert error is not None
    assert error.code is ErrorCode.INVALID_DEFINITION


def test_cancelled_call_cancels_the_function(runtime: Runtime) -> None:
    async def main() -> None:
        call = asyncio.ensure_future(runtime.call("waiting", seconds=60))
        await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(main())


def test_sync_call_starts_no_thread(runtime: Runtime) -> None:
    before = os.listdir("/proc/self/task")

    runtime.call_sync("thread")

    assert os.listdir("/proc/self/task") == before


@pytest.mark.parametrize("wrong", [5, len, "name"])
def test_only_tools_are_registered(wrong: Any) -> None:
    with pytest.raises(ToolError, match="is no tool"):
        ToolRegistry().register(wrong)


def test_qualified_name_of_a_registered_tool_works(runtime: Runtime) -> None:
    assert runtime.find("python:thread").name == "thread"
    assert runtime.call_sync("thred").error.details["nearest"][0] == "thread"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"output": 5}, "output is int; expected text"),
        ({"output": None}, "output is None; expected text"),
        ({"output": {"a": 1}}, "output is dict; expected text"),
        ({"metadata": None}, "metadata is None; expected a dict"),
        ({"warnings": ["fine", 5]}, "warning is int; expected text"),
        ({"error": ValueError("no")}, "error is ValueError; expected a ToolError or text"),
    ],
)
def test_result_with_a_field_of_the_wrong_type_is_an_error_of_the_tool(
    runtime: Runtime, wrong: dict[str, Any], said: str
) -> None:
    runtime.register(Tool("own", "Make its result.", execute=lambda args: ToolResult(**wrong)))

    result = runtime.call_sync("own")

    assert result.error is not None
    assert result.error.code is ErrorCode.EXECUTION_ERROR
    assert result.error.message == f"it returned a ToolResult whose {said}"


def test_text_for_the_warnings_of_a_result_is_one_warning(runtime: Runtime) -> None:
    made = ToolResult(output="done", warnings="it is late")
    runtime.register(Tool("own", "Make its result.", execute=lambda args: made))

    assert runtime.call_sync("own").warnings == ("it is late",)
