"""What an http tool sends, and what it makes of the answer: against a real server."""

from __future__ import annotations

import asyncio
import email.utils
import gzip
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.web import Asked, Reply, Web

from tongs import ErrorCode, ToolCall, ToolResult
from tongs.core.errors import BlockedBy
from tongs.core.execution import Command, NoProcesses
from tongs.executors.http_exchange import _retry_after
from tongs.store.spool import Spool

if TYPE_CHECKING:
    from tests.unit.conftest import Project

INPUTS = {"schema": {"type": "object", "properties": {name: {} for name in "abc"}}}
SECRETS = {"network": True, "secrets": {"API_KEY": {}, "SPARE_KEY": {"required": False}}}


Call = Callable[..., ToolResult]


@pytest.fixture
def call(project: Project, web: Web, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Defines an http tool over the server, which a person granted, and calls it."""
    (project.home / "config.yml").write_text("security: {allow_private_hosts: [127.0.0.1]}\n")
    monkeypatch.setenv("API_KEY", "k3y/ü+1")

    def run(
        http: dict[str, Any], arguments: dict[str, Any] | None = None, **more: Any
    ) -> ToolResult:
        http = {"url": "/", **http}
        if http["url"].startswith("/"):
            http["url"] = web.url + http["url"]
        data = {"inputs": INPUTS, "permissions": SECRETS, **more, "exec": {"http": http}}
        project.manifest("t", data)
        return project.run("t", **(arguments or {}))

    return run


def failed(result: ToolResult) -> tuple[str, str]:
    assert result.error is not None
    return str(result.error.code), result.error.message


def test_request_arrives_as_the_manifest_says(call: Call, web: Web) -> None:
    call(
        {
            "method": "POST",
            "url": "/v1/${a}/x?fixed=1&gone=${c}",
            "headers": {"X-Key": "${API_KEY}", "X-Gone": "${c}", "X-Part": "p-${c}", "X-N": 5},
            "query": {"list": "${b}", "gone": "${c}", "text": "a b"},
            "body": {"whole": "${b}", "text": "<${a}>", "gone": "${c}", "n": None},
        },
        {"a": "x/y z", "b": [1, "two"]},
    )

    (asked,) = web.asked
    assert asked.method == "POST"
    assert asked.target == "/v1/x%2Fy%20z/x?fixed=1&list=1&list=two&text=a%20b"
    assert asked.json == {"whole": [1, "two"], "text": "<x/y z>", "n": None}
    assert asked.headers == {
        "host": f"127.0.0.1:{web.port}",
        "x-key": "k3y/Ã¼+1",  # UTF-8, which this server reads as Latin-1
        "x-n": "5",
        "content-type": "application/json",
        "content-length": str(len(asked.body)),
        "user-agent": asked.headers["user-agent"],
        "accept-encoding": "gzip, deflate",
    }
    assert asked.headers["user-agent"].startswith("tongs/")


@pytest.mark.parametrize(
    ("http", "arguments", "body", "kind"),
    [
        ({"body": "plain ${a}"}, {"a": 1}, b"plain 1", "text/plain; charset=utf-8"),
        ({"body": "${a}"}, {"a": {"x": 1}}, b'{"x": 1}', "application/json"),
        ({"body": "${a}"}, {"a": "text"}, b"text", "text/plain; charset=utf-8"),
        ({"body": "${c}"}, {}, b"", None),
        ({"body": {"a": "${a}"}}, {"a": "ü"}, '{"a": "ü"}'.encode(), "application/json"),
        (
            {
                "body": {"a": "${a}", "n": 1},
                "headers": {"Content-Type": "application/x-www-form-urlencoded"},
            },
            {"a": "x&y"},
            b"a=x%26y&n=1",
            "application/x-www-form-urlencoded",
        ),
        (
            {"body": {"a": 1}, "headers": {"content-type": "application/vnd.api+json"}},
            {},
            b'{"a": 1}',
            "application/vnd.api+json",
        ),
    ],
)
def test_body_has_the_type_it_is(
    call: Call,
    web: Web,
    http: dict[str, Any],
    arguments: dict[str, Any],
    body: bytes,
    kind: str | None,
) -> None:
    assert call({"method": "POST", **http}, arguments).ok

    assert (web.asked[0].body, web.asked[0].headers.get("content-type")) == (body, kind)


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\0b", "a\x7f", ["a", "b\r"]])
def test_line_break_in_a_header_is_refused_before_anything_is_sent(
    call: Call, web: Web, value: object
) -> None:
    result = call({"headers": {"X-A": "v ${a}"}}, {"a": value})

    assert result.error is not None
    assert (result.error.code, result.error.details["parameter"]) == ("INVALID_ARGUMENTS", "a")
    assert web.asked == []


def test_secret_with_a_line_break_is_named_as_a_secret(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_KEY", "abcdef\n")

    result = call({"headers": {"X-Key": "${API_KEY}"}})

    assert failed(result)[1].startswith("t was not run: the secret API_KEY has a line break")


def test_answer_is_output_value_and_metadata(call: Call, web: Web) -> None:
    web.answer = lambda asked: Reply.of({"a": [1]})

    result = call({"url": "/x?k=${API_KEY}"})

    url = f"{web.url}/x?k=<API_KEY>"
    assert (result.ok, result.output, result.value) == (True, '{"a": [1]}', {"a": [1]})
    assert {k: v for k, v in result.metadata.items() if k != "durationMs"} == {
        "status": 200,
        "url": url,
        "contentType": "application/json",
        "bytes": 10,
        "redirects": 0,
        "enforced": ["network", "fs.read", "fs.write"],
        "notEnforced": [],
    }


@pytest.mark.parametrize(
    ("kind", "outputs", "body", "value", "warned"),
    [
        ("text/html", {}, b"{}", None, False),
        ("application/problem+json", {}, b"{}", {}, False),
        ("text/html", {"format": "json"}, b"[1]", [1], False),
        ("application/json", {"format": "text"}, b"[1]", None, False),
        ("application/json", {}, b"{", None, True),
        ("application/json", {"format": "json"}, b"", None, False),
        ("application/json", {}, b"[" * 100_000, None, True),
        ("application/json", {}, b"[" * 500 + b"]" * 500, None, True),
        ("application/json", {}, b"NaN", None, True),
        ("application/json", {}, json.dumps([[1]] * 200).encode(), [[1]] * 200, False),
    ],
)
def test_json_is_read_where_it_is_promised(
    call: Call, web: Web, kind: str, outputs: dict[str, str], body: bytes, value: Any, warned: bool
) -> None:
    web.answer = lambda asked: Reply(200, body, {"Content-Type": kind})

    result = call({}, outputs=outputs)

    assert (result.ok, result.output, result.value) == (True, body.decode(), value)
    assert bool(result.warnings) is warned


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("text/plain; charset=iso-8859-1", b"\xfc", "ü"),
        ("text/plain; charset=nonsense", "ü".encode(), "ü"),
        ("text/plain; charset=hex", b"61", "61"),
        ("text/plain", b"\xff", "\ufffd"),
    ],
)
def test_text_is_read_by_its_charset(
    call: Call, web: Web, kind: str, body: bytes, text: str
) -> None:
    web.answer = lambda asked: Reply(200, body, {"Content-Type": kind})

    assert call({}).output == text


RESULTS = {"web": {"results": [{"t": "A", "n": {"x": 1}}, {"t": "B"}, 3]}, "count": 2}


@pytest.mark.parametrize(
    ("response", "value"),
    [
        ({"json_path": "web.results"}, RESULTS["web"]["results"]),
        ({"json_path": "web.results[0].t"}, "A"),
        ({"json_path": "web.results.-1"}, 3),
        (
            {
                "json_path": "web.results",
                "fields": [{"name": "T", "path": "t"}, {"name": "X", "path": "n.x"}],
            },
            [{"T": "A", "X": 1}, {"T": "B", "X": None}, {"T": None, "X": None}],
        ),
        ({"fields": [{"name": "c", "path": "count"}]}, {"c": 2}),
    ],
)
def test_response_takes_the_answer_apart(
    call: Call, web: Web, response: dict[str, Any], value: Any
) -> None:
    web.answer = lambda asked: Reply.of(RESULTS)

    result = call({"response": response})

    assert result.value == value
    assert result.output == (value if isinstance(value, str) else json.dumps(value))


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("web.hits", "web has the keys results"),
        ("nothing", "the answer has the keys web, count"),
        ("web.results.t", "web.results is a list of 3, where `t` is no place"),
        ("web.results[3]", "web.results is a list of 3, where `3` is no place"),
        ("count.x", "count is a number, not an object"),
        ("web.results[0].t.x", "web.results.0.t is a text, not an object"),
    ],
)
def test_path_that_leads_nowhere_names_what_is_there(
    call: Call, web: Web, path: str, said: str
) -> None:
    web.answer = lambda asked: Reply.of(RESULTS)

    code, message = failed(call({"response": {"json_path": path}}))

    assert code == "HTTP_ERROR"
    assert message.endswith(said)


@pytest.mark.parametrize(
    ("data", "said"), [({}, "has no keys"), (None, "is null,"), (True, "is a boolean,")]
)
def test_path_into_nothing_is_told(call: Call, web: Web, data: Any, said: str) -> None:
    web.answer = lambda asked: Reply.of(data)

    assert said in failed(call({"response": {"json_path": "a"}}))[1]


def test_many_keys_are_not_all_named(call: Call, web: Web) -> None:
    web.answer = lambda asked: Reply.of({f"k{number}": 1 for number in range(25)})

    assert failed(call({"response": {"json_path": "a"}}))[1].endswith("k19 and 5 more")


def test_answer_that_is_no_json_is_an_error_where_parts_of_it_are_wanted(
    call: Call, web: Web
) -> None:
    web.answer = lambda asked: Reply(200, b"<html>")

    code, message = failed(call({"response": {"json_path": "a"}}))

    assert (code, "no JSON" in message) == ("HTTP_ERROR", True)


def test_other_status_is_an_error_with_what_the_host_said(call: Call, web: Web) -> None:
    web.answer = lambda asked: Reply(404, b"no \x1b[31mk3y/\xc3\xbc+1 " + b"x" * 3000)

    result = call({"url": "/x/${API_KEY}"})

    assert result.error is not None
    details = result.error.details
    assert (result.error.code, details["status"], details["reason"]) == (
        "HTTP_ERROR",
        404,
        "Not Found",
    )
    assert details["url"] == f"{web.url}/x/<API_KEY>"
    assert details["body"].startswith("no ")
    assert "\x1b" not in details["body"]
    assert len(details["body"]) < 2100
    assert "k3y" not in json.dumps(result.to_wire())


@pytest.mark.parametrize("status", [401, 403, 429])
def test_usual_refusals_say_what_to_do(call: Call, web: Web, status: int) -> None:
    web.answer = lambda asked: Reply(status, b"", {"Retry-After": "7"})

    result = call({})

    assert result.error is not None
    assert result.error.hint
    assert result.error.details["retryAfter"] == "7"


def test_long_error_is_not_read_to_its_end(call: Call, web: Web) -> None:
    web.answer = lambda asked: Reply(500, b"x" * 200_000)

    assert call({}).metadata["bytes"] == 64 * 1024


def test_head_has_no_body(call: Call, web: Web) -> None:
    web.answer = lambda asked: Reply(200, b"abc", {"Content-Type": "application/json"})

    result = call({"method": "HEAD"})

    assert (result.ok, result.output, web.asked[0].method) == (True, "", "HEAD")


def test_answer_that_is_too_large_is_not_read(call: Call, web: Web) -> None:
    web.answer = lambda asked: Reply(200, b"x" * 100_000)

    result = call({"max_bytes": "1KiB"})

    assert failed(result)[0] == "HTTP_ERROR"
    assert result.error is not None
    assert result.error.details["url"] == f"{web.url}/"


def test_large_answer_is_held_to_the_limit_and_kept_whole(
    call: Call, web: Web, project: Project
) -> None:
    text = json.dumps(["x" * 5000])
    web.answer = lambda asked: Reply(200, text.encode(), {"Content-Type": "application/json"})

    result = call({}, limits={"output": "1KiB"})

    handle = result.metadata["outputHandle"]
    assert (result.output, result.value) == (text[:1024], json.loads(text))
    assert result.metadata["outputSize"] == len(text)
    assert list(result.warnings) == [
        f"the output was cut: 1024 of {len(text)} bytes are here, the whole is kept as {handle}"
    ]
    spool = Spool(str(project.home / "state" / "spool"))
    assert spool.read(handle, 0, 10_000) == text.encode()


def test_large_answer_is_cut_where_nothing_can_be_kept(
    call: Call, web: Web, project: Project
) -> None:
    (project.home / "state").mkdir(exist_ok=True, mode=0o700)
    (project.home / "state" / "spool").write_text("in the way")
    web.answer = lambda asked: Reply(200, b"x" * 3000)

    result = call({}, limits={"output": "1KiB"})

    assert (result.output, result.ok) == ("x" * 1024, True)
    assert "outputHandle" not in result.metadata
    assert list(result.warnings) == [
        "the output was cut: 1024 of 3000 bytes are here; 1976 bytes were lost"
    ]


def test_small_answer_that_grows_is_stopped_when_it_has_grown(call: Call, web: Web) -> None:
    bomb = gzip.compress(b"0" * 300_000_000, 9)
    web.answer = lambda asked: Reply(200, bomb, {"Content-Encoding": "gzip"})
    assert len(bomb) < 512 * 1024

    begun = time.monotonic()
    code, message = failed(call({"max_bytes": "1MiB"}))

    assert (code, "larger than 1048576 bytes" in message) == ("HTTP_ERROR", True)
    assert time.monotonic() - begun < 5


def test_compressed_answer_is_read(call: Call, web: Web) -> None:
    web.answer = lambda asked: Reply(200, gzip.compress(b"hello"), {"Content-Encoding": "gzip"})

    assert call({}).output == "hello"


@pytest.mark.parametrize("encoding", ["gzip, gzip", "br", "zstd"])
def test_encoding_nobody_asked_for_is_refused(call: Call, web: Web, encoding: str) -> None:
    web.answer = lambda asked: Reply(200, b"x", {"Content-Encoding": encoding})

    assert failed(call({}))[0] == "HTTP_ERROR"


def test_damaged_answer_is_told(call: Call, web: Web) -> None:
    web.answer = lambda asked: Reply(200, b"no gzip", {"Content-Encoding": "gzip"})

    code, message = failed(call({}))

    assert (code, "is damaged" in message) == ("HTTP_ERROR", True)


@pytest.mark.parametrize(
    ("pieces", "said"),
    [([b"SSH-2.0-x\r\n"], "no HTTP that can be read"), ([], "no HTTP that can be read")],
)
def test_host_that_speaks_no_http_is_told(
    call: Call, web: Web, pieces: list[bytes], said: str
) -> None:
    web.answer = lambda asked: Reply(pieces=pieces)

    code, message = failed(call({}))

    assert (code, said in message) == ("HTTP_ERROR", True)


def test_nobody_there_is_told_plainly(call: Call) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]

        result = call({"url": f"http://127.0.0.1:{port}/"})

    assert failed(result) == (
        "HTTP_ERROR",
        f"t failed: 127.0.0.1:{port} cannot be reached: Connection refused",
    )
    assert result.error is not None
    assert result.error.details["status"] is None


def test_name_that_does_not_exist_is_told_plainly(call: Call) -> None:
    code, message = failed(call({"url": "http://no-such-host.invalid/"}))

    assert code == "HTTP_ERROR"
    assert message.startswith("t failed: no-such-host.invalid cannot be reached: ")


def dripping(asked: Asked) -> Reply:
    def pieces() -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nX-Drip: "
        for _ in range(100):
            time.sleep(0.05)
            yield b"x"

    return Reply(pieces=pieces())


def test_slow_drip_ends_with_the_timeout(call: Call, web: Web) -> None:
    web.answer = dripping

    begun = time.monotonic()
    result = call({"timeout_ms": 300})

    assert failed(result)[0] == "TIMEOUT"
    assert 0.25 < time.monotonic() - begun < 2


def test_silent_host_is_a_timeout(call: Call) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"

        code, message = failed(call({"url": url, "timeout_ms": 200}))

    assert code == "TIMEOUT"
    assert "in time" in message


def test_host_that_takes_no_body_is_a_timeout(call: Call) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"

        http = {"url": url, "method": "POST", "body": "${a}", "timeout_ms": 300}
        result = call(http, {"a": "x" * 20_000_000})

    assert failed(result)[0] == "TIMEOUT"


def failing(times: int, reply: Reply) -> Callable[[Asked], Reply]:
    left = iter([reply] * times)
    return lambda asked: next(left, Reply.of("done"))


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_trouble_of_the_moment_is_tried_again(call: Call, web: Web, status: int) -> None:
    web.answer = failing(2, Reply(status, b"", {"Retry-After": "0"}))

    result = call({"retries": 2})

    assert (result.value, result.metadata["retries"], len(web.asked)) == ("done", 2, 3)


def test_nothing_is_tried_again_unless_the_manifest_says_so(call: Call, web: Web) -> None:
    web.answer = failing(1, Reply(503, b"", {"Retry-After": "0"}))

    assert failed(call({}))[0] == "HTTP_ERROR"
    assert len(web.asked) == 1


def test_other_trouble_is_not_tried_again(call: Call, web: Web) -> None:
    web.answer = failing(1, Reply(500))

    assert failed(call({"retries": 3}))[0] == "HTTP_ERROR"
    assert len(web.asked) == 1


def test_retry_after_beyond_the_timeout_is_not_waited_for(call: Call, web: Web) -> None:
    web.answer = failing(1, Reply(503, b"", {"Retry-After": "60"}))

    begun = time.monotonic()
    result = call({"retries": 3, "timeout_ms": 2000})

    assert failed(result)[0] == "HTTP_ERROR"
    assert time.monotonic() - begun < 1


def test_refused_connection_is_tried_again(call: Call, web: Web) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]

    def serve() -> None:
        time.sleep(0.2)
        with socket.create_server(("127.0.0.1", port)) as late:
            line, _ = late.accept()
            with line:
                line.recv(4096)
                line.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    server = threading.Thread(target=serve)
    server.start()
    result = call({"url": f"http://127.0.0.1:{port}/", "retries": 3})
    server.join()

    assert (result.output, result.metadata["retries"]) == ("ok", 1)


def test_refused_connection_stays_refused_when_the_retries_are_used_up(call: Call) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/"

        assert failed(call({"url": url, "retries": 1}))[0] == "HTTP_ERROR"


def test_retry_after_may_be_a_date() -> None:
    in_a_minute = email.utils.formatdate(time.time() + 60, usegmt=True)

    assert 50 < (_retry_after(in_a_minute) or 0) <= 60
    assert _retry_after(email.utils.formatdate(0)) == 0
    assert _retry_after("soon") is None


def test_no_cookie_is_sent_back(call: Call, web: Web) -> None:
    web.answer = lambda asked: (
        Reply(302, b"", {"Location": "/b", "Set-Cookie": "c=1; Path=/"})
        if asked.target == "/"
        else Reply.of({})
    )

    result = call({})

    assert (result.ok, result.metadata["redirects"]) == (True, 1)
    assert [asked.headers.get("cookie") for asked in web.asked] == [None, None]


def test_proxy_of_the_environment_is_not_used(
    call: Call, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    assert call({}).ok


def test_network_of_the_caller_is_the_ceiling(call: Call, project: Project, web: Web) -> None:
    call({})
    web.asked.clear()
    project.write("outer", "tool: t\npermissions: {network: false, secrets: {API_KEY: {}}}\n")

    result = project.run("outer")

    assert result.error is not None
    assert (result.error.code, result.error.blocked_by) == ("PERMISSION_DENIED", BlockedBy.CEILING)
    assert result.error.hint == (
        "to grant it, write in the definition of outer:"
        f' permissions: {{network: ["127.0.0.1:{web.port}"]}}'
    )
    assert web.asked == []


def test_list_of_hosts_is_the_ceiling(call: Call, project: Project, web: Web) -> None:
    call({})
    web.asked.clear()
    project.write(
        "outer", "tool: t\npermissions: {network: [example.org], secrets: {API_KEY: {}}}\n"
    )

    assert failed(project.run("outer"))[0] == "PERMISSION_DENIED"
    assert web.asked == []


def test_list_that_nobody_can_read_is_told(call: Call, project: Project, web: Web) -> None:
    call({}, permissions={"network": [f"127.0.0.1:{web.port}"]})
    config = project.home / "config.yml"
    config.write_text(
        "security: {allow_private_hosts: [127.0.0.1]}\n"
        'tools: {t: {permissions: {network: ["[::::]"]}}}\n'
    )
    listed = project.run("t")
    config.write_text('security: {allow_private_hosts: ["[::::]"]}\n')
    granted = project.run("t")

    assert [failed(result)[0] for result in (listed, granted)] == ["INVALID_DEFINITION"] * 2


def test_failed_call_says_what_was_enforced(call: Call, web: Web) -> None:
    web.answer = lambda asked: Reply(pieces=[b"nothing"])

    assert call({}).metadata["enforced"] == ["network", "fs.read", "fs.write"]


def test_call_starts_no_process(call: Call, web: Web) -> None:
    before = threading.active_count()
    seen: list[set[str]] = []

    def children(asked: Asked) -> Reply:
        path = Path(f"/proc/self/task/{os.getpid()}/children")
        seen.append(set(path.read_text().split()))
        return Reply.of({})

    web.answer = children
    children(Asked("GET", "/", {}, b""))

    assert call({}).ok
    assert seen[1] == seen[0]
    assert threading.active_count() <= before + 1


def test_session_of_a_call_without_processes_has_none() -> None:
    session = NoProcesses(("network",))

    assert (session.enforced, session.not_enforced, session.scratch) == (("network",), (), "")
    with pytest.raises(RuntimeError):
        session.write("x", b"")
    with pytest.raises(RuntimeError):
        session.run(Command(("x",), {}, "/"), print).send(None)
    session.close()


def test_many_calls_at_once_share_nothing(call: Call, project: Project, web: Web) -> None:
    web.answer = lambda asked: Reply.of(asked.target)
    call({"url": "/${a}"}, {"a": "x"})
    runtime = project.runtime(auto_approve=["*"])

    async def all_of_them() -> list[ToolResult]:
        return await asyncio.gather(*(runtime.call("t", a=str(n)) for n in range(20)))

    results = asyncio.run(all_of_them())

    assert [result.value for result in results] == [f"/{number}" for number in range(20)]


def test_cancelled_call_hangs_up(call: Call, project: Project, web: Web) -> None:
    arrived, gone = threading.Event(), threading.Event()

    def stall(asked: Asked) -> Reply:
        def pieces() -> Iterator[bytes]:
            arrived.set()
            yield b"HTTP/1.1 200 OK\r\n"
            try:
                for _ in range(1000):
                    time.sleep(0.01)
                    yield b"X: y\r\n"
            except OSError:
                raise
            finally:
                gone.set()

        return Reply(pieces=pieces())

    call({})
    web.answer = stall
    runtime = project.runtime(auto_approve=["*"])

    async def cancelled() -> None:
        task = asyncio.ensure_future(runtime.call("t"))
        await asyncio.to_thread(arrived.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    begun = time.monotonic()
    asyncio.run(cancelled())

    assert gone.wait(5)
    assert time.monotonic() - begun < 4


def test_preview_shows_the_request_with_names_of_secrets(
    call: Call, project: Project, web: Web
) -> None:
    call(
        {
            "method": "POST",
            "url": "/x?k=${API_KEY}",
            "headers": {"Authorization": "Bearer ${API_KEY}"},
            "body": {"a": "${a}", "k": "${API_KEY}"},
        },
        {"a": "v"},
    )

    runtime = project.runtime()
    result = runtime.validate(ToolCall("c", "t", {"a": "\x1b[31m"}), preview=True)
    refused = runtime.validate(ToolCall("c", "t", {"a": "x"}), preview=True)

    assert result.output.split("\n")[:2] == [
        f"POST {web.url}/x?k=<API_KEY>",
        "Authorization: Bearer <API_KEY>",
    ]
    assert result.output.endswith('"k": "<API_KEY>"}')
    assert "\x1b" not in result.output
    assert refused.ok
    assert len(web.asked) == 1


def test_preview_refuses_what_the_call_would_refuse(call: Call, project: Project) -> None:
    call({"headers": {"X": "${a}"}}, {"a": "v"})

    result = project.runtime().validate(ToolCall("c", "t", {"a": "\n"}), preview=True)

    assert result.error is not None
    assert result.error.code is ErrorCode.INVALID_ARGUMENTS
