"""Background calls, with real processes: a handle at once, and no process outlives the session."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests import alive
from tests.acceptance.conftest import WITHOUT_USERNS, Place
from tests.web import Asked, Reply, Web

from tongs import Runtime, ToolResult
from tongs.core.call import Caller, CallerKind, ToolCall

AGENT = Caller(CallerKind.AGENT, "claude")

Open = Callable[..., Runtime]


@pytest.fixture
def open_runtime(place: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    for key, value in place.env.items():
        monkeypatch.setenv(key, value)
    opened: list[Runtime] = []

    def make(**options: Any) -> Runtime:
        opened.append(Runtime.open(place.project, **{"auto_approve": ["*"], **options}))
        return opened[-1]

    yield make
    for runtime in opened:
        runtime.close()


@pytest.fixture
def runtime(open_runtime: Open) -> Runtime:
    return open_runtime()


def word() -> str:
    """A duration for `sleep` that no other process has."""
    return f"9{secrets.randbelow(10**9)}"


def job(result: ToolResult) -> str:
    assert result.error is None
    return str(result.value["job"])


def records(place: Place) -> list[dict[str, Any]]:
    """What the chain says about calls."""
    lines = (place.state / "audit" / "chain-000001.jsonl").read_text().splitlines()
    return [record for record in map(json.loads, lines) if "call" in record]


# Without a loop -----------------------------------------------------------------------------------


def test_handle_comes_at_once_and_the_output_while_it_runs(runtime: Runtime) -> None:
    started = runtime.call_sync(
        "shell", command="echo one; echo two >&2; read -t 60 < <(sleep 60)", background=True
    )
    handle = job(started)
    while "two" not in runtime.call_sync("job_output", job=handle).output:
        assert runtime.call_sync("job_status", job=handle, wait=0.05).value["status"] == "running"

    ended = runtime.call_sync("job_stop", job=handle)

    assert started.output == f"shell goes on in the background as {handle}"
    assert started.value == {"job": handle, "status": "running"}
    assert (ended.value["status"], ended.value["error"]["code"]) == ("stopped", "CANCELLED")
    output = runtime.call_sync("job_output", job=handle).value
    assert {key: output[key] for key in ("status", "from", "next", "firstLine", "lastLine")} == {
        "status": "stopped",
        "from": 1,
        "next": None,
        "firstLine": 1,
        "lastLine": 2,
    }


def test_job_that_ends_by_itself_tells_how(runtime: Runtime) -> None:
    handles = [
        job(runtime.call_sync("shell", command=f"echo {code}; exit {code}", background=True))
        for code in (0, 3)
    ]

    told = [runtime.call_sync("job_status", job=handle, wait=30).value for handle in handles]

    assert [(each["status"], each["exitCode"]) for each in told] == [("done", 0), ("failed", 3)]
    assert told[1]["error"]["code"] == "EXECUTION_ERROR"
    every = runtime.call_sync("job_status").value["jobs"]
    assert [each["job"] for each in every] == handles


def test_output_is_read_by_pages_and_by_what_is_in_a_line(runtime: Runtime) -> None:
    handle = job(runtime.call_sync("shell", command="seq 1 1000", background=True))
    runtime.call_sync("job_status", job=handle, wait=30)

    def read(**arguments: Any) -> tuple[str, int | None]:
        value = runtime.call_sync("job_output", job=handle, **arguments).value
        return value["output"], value["next"]

    assert read(limit=2) == ("1\n2\n", 3)
    assert read(offset=999, limit=5) == ("999\n1000\n", None)
    assert read(offset=-1) == ("1000\n", None)
    assert read(offset=5000) == ("", None)
    assert read(grep="99", limit=2) == ("99: 99\n199: 199\n", 299)
    assert read(grep="99", offset=200, limit=2) == ("299: 299\n399: 399\n", 499)
    assert read(grep="^[89]99$") == ("899: 899\n999: 999\n", None)
    assert read(grep="no such line") == ("", None)
    assert read(grep="1", offset=5000) == ("", None)


def test_what_is_no_regular_expression_is_refused_as_by_output_read(runtime: Runtime) -> None:
    handle = job(runtime.call_sync("shell", command="echo x", background=True))

    error = runtime.call_sync("job_output", job=handle, grep="(").error

    assert error is not None
    assert error.code.value == "INVALID_ARGUMENTS"
    assert "backslash" in error.hint


def test_beginning_of_endless_output_is_dropped_and_said(runtime: Runtime) -> None:
    handle = job(
        runtime.call_sync("shell", command="seq -f %099.0f 1 60000; echo end", background=True)
    )
    runtime.call_sync("job_status", job=handle, wait=30)

    tail = runtime.call_sync("job_output", job=handle, offset=-1)
    head = runtime.call_sync("job_output", job=handle, limit=1)

    assert tail.output == "end\n"
    assert (tail.value["lastLine"], head.value["from"]) == (60001, head.value["firstLine"])
    assert 10_000 < head.value["firstLine"] < 60_000
    assert int(head.output) == head.value["firstLine"]
    assert "were dropped" in head.warnings[0]


def test_secret_in_the_output_of_a_job_is_redacted(
    open_runtime: Open, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "s3cr3t-value")
    place.tool(
        "leak",
        'bash: printf s3cr; sleep 0.2; printf "3t-value\\n"; echo "$TOKEN"; sleep 30\n'
        "permissions: {secrets: {TOKEN: {}}}\n",
        scope="user",
    )
    runtime = open_runtime()
    handle = job(runtime.call_sync("leak", background=True))
    while (value := runtime.call_sync("job_output", job=handle).value)["lastLine"] < 2:
        runtime.call_sync("job_status", job=handle, wait=0.05)

    assert value["output"] == "[redacted]\n[redacted]\n"


@pytest.mark.parametrize(
    "definition",
    [
        "bash: sleep {WORD}\nparameters: {WORD: {}}\n",
        "steps:\n  - bash: echo one\n  - bash: sleep {WORD}\nparameters: {WORD: {}}\n",
        "run: sleep {WORD}\nparameters: {WORD: {}}\n",
    ],
)
def test_any_tool_can_run_in_the_background(
    open_runtime: Open, place: Place, definition: str
) -> None:
    place.tool("long", definition, scope="user")
    runtime, mark = open_runtime(), word()

    handle = job(runtime.call_sync("long", WORD=mark, background=True))
    pids = alive.started(mark)
    stopped = runtime.call_sync("job_stop", job=handle)

    assert stopped.value["status"] == "stopped"
    assert alive.ended(pids)


def test_job_of_a_request_ends_while_the_host_is_silent(open_runtime: Open, place: Place) -> None:
    asked = threading.Event()
    release = threading.Event()

    def answer(request: Asked) -> Reply:
        asked.set()
        release.wait(30)
        return Reply()

    web = Web(answer)
    try:
        (place.user / "config.yml").write_text("security: {allow_private_hosts: [127.0.0.1]}\n")
        runtime = open_runtime()
        handle = job(runtime.call_sync("web_fetch", url=web.url, background=True))
        assert asked.wait(30)

        stopped = runtime.call_sync("job_stop", job=handle)
    finally:
        release.set()
        web.close()

    assert stopped.value["status"] == "stopped"


def test_refused_call_is_no_job(open_runtime: Open, place: Place) -> None:
    runtime = open_runtime(auto_approve=[])

    wrong = runtime.call_sync("shell", comand="ls", background=True)
    unknown = runtime.call_sync("no_such_tool", background=True)
    unasked = runtime.call_sync("shell", command="touch ran", background=True, caller=AGENT)
    itself = runtime.call_sync("job_status", background=True)

    codes = [str(each.error.code) for each in (wrong, unknown, unasked, itself) if each.error]
    assert codes == [
        "INVALID_ARGUMENTS",
        "TOOL_NOT_FOUND",
        "APPROVAL_DENIED",
        "INVALID_ARGUMENTS",
    ]
    assert runtime.call_sync("job_status").value == {"jobs": []}
    denied = [each for each in records(place) if each["event"] == "TOOL_DENIED"]
    assert len(denied) == 4
    assert not (place.project / "ran").exists()


def test_there_are_only_so_many_jobs(runtime: Runtime) -> None:
    handles = [
        job(runtime.call_sync("shell", command="sleep 100", background=True)) for _ in range(16)
    ]

    too_many = runtime.call_sync("shell", command="sleep 100", background=True)
    assert runtime.call_sync("job_stop", job=handles[0]).value["status"] == "stopped"
    again = runtime.call_sync("shell", command="sleep 100", background=True)

    assert too_many.error is not None
    assert "16 jobs are running" in too_many.error.message
    assert again.ok


def test_unknown_job_is_said(runtime: Runtime) -> None:
    for name in ("job_status", "job_output", "job_stop"):
        result = runtime.call_sync(name, job="job-none")
        assert result.error is not None
        assert str(result.error.code) == "FILE_NOT_FOUND"


def test_begin_and_end_of_a_job_are_recorded(runtime: Runtime, place: Place) -> None:
    handle = job(runtime.call_sync("shell", command="sleep 100", background=True))
    before = [each["event"] for each in records(place)]
    runtime.call_sync("job_stop", job=handle)

    began, ended = [each for each in records(place) if each["tool"] == "shell"]
    assert before == ["TOOL_STARTED"]
    assert began["event"] == "TOOL_STARTED"
    assert (ended["event"], ended["code"]) == ("TOOL_EXECUTED", "CANCELLED")


def test_model_says_background_in_the_arguments(runtime: Runtime) -> None:
    call = ToolCall("c1", "shell", {"command": "sleep 100", "background": True}, AGENT)

    started = runtime.run_sync(call)
    waited = runtime.run_sync(ToolCall("c2", "shell", {"command": "echo a", "background": False}))

    assert started.value["status"] == "running"
    assert waited.output == "a\n"


def test_argument_of_a_tool_that_happens_to_be_called_background_is_its_own(
    open_runtime: Open, place: Place
) -> None:
    place.tool("paint", "bash: echo {background}\nparameters: {background: {}}\n", scope="user")

    assert open_runtime().call_sync("paint", {"background": "blue"}).output == "blue\n"


def test_call_inside_a_tool_has_no_background(open_runtime: Open, place: Place) -> None:
    place.tool(
        "outer",
        "tool: shell\narguments: {command: sleep 100, background: true}\n",
        scope="user",
    )

    result = open_runtime().call_sync("outer")

    assert result.error is not None
    assert "a call inside another one ends with it" in result.error.message


def test_closed_session_has_ended_its_jobs(runtime: Runtime) -> None:
    mark = word()
    handle = job(
        runtime.call_sync("shell", command=f"setsid sleep {mark} & sleep {mark}", background=True)
    )
    pids = alive.started(mark, 2)

    runtime.close()

    assert alive.ended(pids)
    late = runtime.call_sync("shell", command="echo x", background=True)
    assert late.error is not None
    assert "this runtime is closed" in late.error.message
    assert handle


# On an event loop ---------------------------------------------------------------------------------


def test_jobs_of_a_loop_run_beside_each_other_and_end_with_it(open_runtime: Open) -> None:
    mark = word()

    async def session() -> list[Any]:
        async with open_runtime() as runtime:
            quick = job(await runtime.call("shell", command="echo quick", background=True))
            slow = job(await runtime.call("shell", command=f"sleep {mark}", background=True))
            told = (await runtime.call("job_status", job=quick, wait=30)).value["status"]
            output = (await runtime.call("job_output", job=quick)).output
            alive.started(mark)
            stopped = (await runtime.call("job_stop", job=slow)).value["status"]
            left = alive.with_word(mark)
            await runtime.call("shell", command=f"sleep {mark}", background=True)
            alive.started(mark)
        return [told, output, stopped, left, alive.with_word(mark)]

    assert asyncio.run(session()) == ["done", "quick\n", "stopped", [], []]


def test_loop_that_is_over_has_ended_its_jobs(open_runtime: Open, place: Place) -> None:
    mark = word()

    async def session() -> None:
        with open_runtime() as runtime:
            await runtime.call("shell", command=f"sleep {mark}", background=True)
            alive.started(mark)

    asyncio.run(session())

    assert alive.with_word(mark) == []
    assert records(place)[-1]["code"] == "CANCELLED"


def test_person_is_asked_before_a_job_begins(open_runtime: Open) -> None:
    from tongs.core.approval import ApprovalRequest, ApprovalResponse

    asked: list[str] = []

    async def approver(request: ApprovalRequest) -> ApprovalResponse:
        await asyncio.sleep(0)
        asked.append(request.tool)
        return ApprovalResponse(approved=len(asked) == 1, approver="ann")

    async def session() -> list[ToolResult]:
        async with open_runtime(auto_approve=[], approver=approver) as runtime:
            given = {"caller": AGENT, "background": True}
            return [await runtime.call("shell", {"command": "echo x"}, **given) for _ in range(2)]

    allowed, denied = asyncio.run(session())

    assert asked == ["shell", "shell"]
    assert allowed.value["status"] in ("running", "done")
    assert denied.error is not None
    assert str(denied.error.code) == "APPROVAL_DENIED"


# Whatever becomes of Tongs ------------------------------------------------------------------------

PROGRAM = """
import sys, time
from tongs import Runtime
runtime = Runtime.open(auto_approve=["*"])
command = "setsid sleep {0} & sleep {0}".format(sys.argv[1])
runtime.call_sync("shell", command=command, background=True)
print("started", flush=True)
if sys.argv[2] == "wait":
    time.sleep(600)
"""


def program(place: Place, mark: str, what: str, *, namespaces: bool) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-c", PROGRAM, mark, what]
    if not namespaces:
        words = [sys.executable, WITHOUT_USERNS, "--", *words]
    return subprocess.Popen(words, cwd=place.project, env=place.env, stdout=subprocess.PIPE)


@pytest.mark.parametrize("namespaces", [True, False], ids=["namespaces", "landlock"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_killed_session_leaves_no_process(
    place: Place, namespaces: bool, number: signal.Signals
) -> None:
    mark = word()
    running = program(place, mark, "wait", namespaces=namespaces)
    assert running.stdout is not None
    assert running.stdout.readline() == b"started\n"
    # The program itself has the word, too.
    pids = [pid for pid in alive.started(mark, 3) if pid != running.pid]

    os.kill(running.pid, number)
    running.communicate()

    assert len(pids) >= 2
    assert alive.ended(pids)


@pytest.mark.parametrize("namespaces", [True, False], ids=["namespaces", "landlock"])
def test_program_that_ends_does_not_wait_for_its_jobs(place: Place, namespaces: bool) -> None:
    mark = word()
    running = program(place, mark, "end", namespaces=namespaces)

    running.communicate(timeout=60)

    assert running.returncode == 0
    assert alive.ended(alive.with_word(mark))
    assert records(place)[-1]["code"] == "CANCELLED"


def test_job_tools_are_in_the_list(tmp_path: Path, open_runtime: Open) -> None:
    names = {"job_status", "job_output", "job_stop", "shell", "run_code"}

    assert names <= {tool.name for tool in map(open_runtime().find, sorted(names))}
    assert json.dumps(open_runtime().find("shell").input_schema)
