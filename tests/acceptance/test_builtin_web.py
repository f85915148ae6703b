"""The built-in web tools against real servers on the loopback interface, which a person granted."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from tests.acceptance.conftest import Place
from tests.web import Asked, Reply, Web

from tongs import Runtime, ToolResult
from tongs.core.call import Caller, CallerKind

PERSON = Caller(CallerKind.PERSON, "user")
AGENT = Caller(CallerKind.AGENT, "claude")
PAGE = (
    "<html><head><title>T</title><style>p{}</style></head><body><h1>Hi</h1>"
    "<p>a <b>bold</b> <a href='https://x.example/'>link</a></p><script>evil()</script></body>"
)

Call = Callable[..., ToolResult]


@pytest.fixture
def call(place: Place, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Calls a tool as a person would by typing, under this config."""
    for key, value in place.env.items():
        monkeypatch.setenv(key, value)

    def run(
        name: str,
        config: dict[str, Any] | None = None,
        caller: Caller = PERSON,
        **arguments: Any,
    ) -> ToolResult:
        granted = {"security": {"allow_private_hosts": ["127.0.0.1", "127.0.0.2"]}}
        (place.user / "config.yml").write_text(json.dumps({**granted, **(config or {})}))
        with Runtime.open(place.project, single_thread=True) as runtime:
            return runtime.call_sync(name, arguments, caller=caller)

    return run


def code(result: ToolResult) -> str:
    return "" if result.error is None else str(result.error.code)


def typed(kind: str, body: bytes) -> Callable[[Asked], Reply]:
    return lambda asked: Reply(200, body, {"Content-Type": kind} if kind else {})


# web_fetch ----------------------------------------------------------------------------------------


def test_fetch_gives_status_headers_and_body(call: Call, web: Web) -> None:
    web.answer = typed("application/json", b'{"a": 1}')

    result = call("web_fetch", url=f"{web.url}/x?q=a b#part".replace(" ", "%20"))

    assert result.error is None
    assert (result.value["status"], result.value["body"]) == (200, '{"a": 1}')
    assert result.value["headers"]["content-type"] == "application/json"
    assert result.output == '{"a": 1}'
    (asked,) = web.asked
    assert (asked.method, asked.target) == ("GET", "/x?q=a%20b")
    assert asked.headers["user-agent"].startswith("tongs/")


def test_fetch_posts_what_it_is_given(call: Call, web: Web) -> None:
    call("fetch", url=web.url, method="POST", body="a=ü", headers={"X-Mine": "1"})

    (asked,) = web.asked
    assert (asked.method, asked.target, asked.body) == ("POST", "/", "a=ü".encode())
    assert asked.headers["x-mine"] == "1"


@pytest.mark.parametrize(
    ("kind", "body", "expected"),
    [
        (
            "text/html; charset=utf-8",
            PAGE.encode(),
            "# Hi\n\na **bold** [link](https://x.example/)\n",
        ),
        ("text/html", b"<meta charset=latin-1><p>caf\xe9", "café\n"),
        ("text/plain; charset=latin-1", b"caf\xe9", "café"),
        ("application/xml", b"<a>1</a>", "<a>1</a>"),
        ("application/atom+xml", b"<feed/>", "<feed/>"),
        ("", b"plain", "plain"),
        ("", b"\x00\x01", "[binary: unknown type, 2 bytes]"),
        ("image/png", b"\x89PNG....", "[binary: image/png, 8 bytes]"),
        ("application/pdf", b"%PDF", "[binary: application/pdf, 4 bytes]"),
    ],
)
def test_body_is_what_a_reader_can_use(
    call: Call, web: Web, kind: str, body: bytes, expected: str
) -> None:
    web.answer = typed(kind, body)

    assert call("web_fetch", url=web.url).value["body"] == expected


@pytest.mark.parametrize(
    "hostile", ["<!--", "<a", "<div>", "<b>", "<ul><li>", "<table><tr><td>", "&"]
)
@pytest.mark.timeout(60)
def test_hostile_page_takes_no_time(call: Call, web: Web, hostile: str) -> None:
    web.answer = typed("text/html", (hostile * (2_000_000 // len(hostile))).encode())

    assert code(call("web_fetch", url=web.url, timeout=60)) == ""


def test_page_that_was_not_found_is_an_error_with_its_body(call: Call, web: Web) -> None:
    web.answer = lambda asked: Reply(404, b"no such page", {"Content-Type": "text/plain"})

    result = call("web_fetch", url=f"{web.url}/x")

    assert code(result) == "HTTP_ERROR"
    assert result.error is not None
    assert (
        result.error.message
        == f"web_fetch failed: {web.url}/x answered 404 Not Found: no such page"
    )
    assert (result.value["status"], result.value["body"]) == (404, "no such page")


def test_answer_beyond_five_megabytes_is_not_read(call: Call, web: Web) -> None:
    web.answer = typed("text/plain", b"x" * (5 * 1024 * 1024 + 1))
    too_large = call("web_fetch", url=web.url)
    web.answer = typed("text/plain", b"x" * (5 * 1024 * 1024))

    assert code(too_large) == "HTTP_ERROR"
    assert len(call("web_fetch", url=web.url).value["body"]) == 5 * 1024 * 1024


def test_silent_host_is_a_timeout(call: Call) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        result = call("web_fetch", url=f"http://127.0.0.1:{server.getsockname()[1]}", timeout=0.3)

    assert code(result) == "TIMEOUT"
    assert result.error is not None
    assert result.error.hint == "give `timeout` more seconds"


@pytest.mark.parametrize(
    "wrong",
    [
        {"url": "file:///etc/hosts"},
        {"url": "gopher://127.0.0.1/"},
        {"url": "//127.0.0.1/"},
        {"url": "http://"},
        {"url": "http://user:word@127.0.0.1/"},
        {"url": "http://127.0.0.1/ HTTP/1.1\r\nX: 1"},
        {"headers": {"X": "a\r\nHost: evil"}},
        {"headers": {"X\r\nY": "a"}},
        {"headers": {"Host": "evil"}},
        {"headers": {"Transfer-Encoding": "chunked"}},
        {"headers": {"a": "1", "A": "2"}},
        {"method": "DELETE"},
        {"body": 1},
    ],
)
def test_what_is_no_request_is_refused_before_anything_is_sent(
    call: Call, web: Web, wrong: dict[str, Any]
) -> None:
    assert code(call("web_fetch", **{"url": web.url, **wrong})) == "INVALID_ARGUMENTS"
    assert web.asked == []


# Where a request may go ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "0.0.0.0"]
)
def test_own_machine_is_reached_only_where_a_person_granted_it(
    call: Call, web: Web, host: str
) -> None:
    url = f"http://{host}:{web.port}/"
    nothing = {"security": {}}

    # The twin: the same URL on a plain client.
    plain = httpx2.get(url.replace("0x7f.1", "127.0.0.1").replace("2130706433", "127.0.0.1"))
    tools = ("web_fetch", "http_request")
    results = [call(name, config=nothing, url=url) for name in tools]

    assert plain.status_code == 200
    assert len(web.asked) == 1
    assert {code(result) for result in results} <= {"PERMISSION_DENIED", "INVALID_ARGUMENTS"}


@pytest.mark.parametrize(
    "url", ["http://169.254.169.254/latest/meta-data/", "http://10.0.0.1/", "http://[fd00::1]/"]
)
def test_private_addresses_are_refused(call: Call, url: str) -> None:
    result = call("web_fetch", config={"security": {}}, url=url)

    assert code(result) == "PERMISSION_DENIED"
    assert result.error is not None
    assert "allow_private_hosts" in result.error.hint


def test_redirect_to_a_private_address_is_refused(call: Call, web: Web, other: Web) -> None:
    web.answer = lambda asked: Reply.redirect(f"{other.url}/secret")
    only = {"security": {"allow_private_hosts": ["127.0.0.1"]}}

    plain = httpx2.get(web.url, follow_redirects=True)
    result = call("web_fetch", config=only, url=web.url)

    assert (plain.status_code, len(other.asked)) == (200, 1)
    assert code(result) == "PERMISSION_DENIED"
    assert len(other.asked) == 1


def test_redirect_of_an_agent_stays_on_the_host_that_was_allowed(
    call: Call, web: Web, other: Web
) -> None:
    def answer(asked: Asked) -> Reply:
        if asked.target == "/here":
            return Reply.redirect("/there")
        return Reply.redirect(other.url) if asked.target == "/out" else Reply.of({})

    web.answer = answer
    mine = {"web": {"allow": [f"127.0.0.1:{web.port}"]}}
    both = {"web": {"allow": [f"127.0.0.1:{web.port}", f"127.0.0.2:{other.port}"]}}

    within = call("web_fetch", config=mine, caller=AGENT, url=f"{web.url}/here")
    beyond = call("web_fetch", config=mine, caller=AGENT, url=f"{web.url}/out")
    reached = len(other.asked)
    named = call("web_fetch", config=both, caller=AGENT, url=f"{web.url}/out")
    by_person = call("web_fetch", config=mine, url=f"{web.url}/out")

    assert [code(each) for each in (within, beyond, named, by_person)] == [
        "",
        "PERMISSION_DENIED",
        "",
        "",
    ]
    assert reached == 0


def test_headers_of_the_caller_are_not_sent_on_to_another_host(
    call: Call, web: Web, other: Web
) -> None:
    web.answer = lambda asked: Reply.redirect(other.url)
    sent = {"Authorization": "Bearer mine", "X-Custom": "1", "Accept": "text/plain"}

    call("web_fetch", url=web.url, headers=sent)

    (asked,) = other.asked
    assert asked.headers.get("authorization") is None
    assert asked.headers.get("x-custom") is None
    assert asked.headers["accept"] == "text/plain"


# Who is asked -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("allow", "name", "arguments", "runs"),
    [
        (["127.0.0.1:*"], "web_fetch", {}, True),
        (["127.0.0.1:*"], "web_fetch", {"method": "POST", "body": "x"}, True),
        (["127.0.0.1:*"], "http_request", {}, True),
        (["127.0.0.1:*"], "http_request", {"method": "DELETE"}, False),
        (["127.0.0.1:1"], "web_fetch", {}, False),
        (["example.org"], "web_fetch", {}, False),
        ([], "web_fetch", {}, False),
        ([], "http_request", {}, False),
    ],
)
def test_agent_is_asked_about_hosts_that_nobody_has_allowed(
    call: Call, web: Web, allow: list[str], name: str, arguments: dict[str, Any], runs: bool
) -> None:
    config = {"web": {"allow": allow}}

    result = call(name, config=config, caller=AGENT, url=web.url, **arguments)

    assert (code(result), len(web.asked)) == (("", 1) if runs else ("APPROVAL_DENIED", 0))


def test_list_of_an_untrusted_project_allows_nothing(call: Call, web: Web, place: Place) -> None:
    (place.project / ".tongs" / "config.yml").write_text('web: {allow: ["127.0.0.1:*"]}\n')

    result = call("web_fetch", caller=AGENT, url=web.url)

    assert (code(result), web.asked) == ("APPROVAL_DENIED", [])


def test_entry_that_is_no_host_is_said(call: Call, web: Web) -> None:
    result = call("web_fetch", config={"web": {"allow": ["http://x/"]}}, url=web.url)

    assert code(result) == "INVALID_DEFINITION"
    assert result.error is not None
    assert "web.allow" in result.error.message


# http_request -------------------------------------------------------------------------------------


def test_request_sends_any_method_and_gives_any_answer(call: Call, web: Web) -> None:
    web.answer = lambda asked: Reply(418, b"<p>tea</p>", {"Content-Type": "text/html"})

    result = call("http_request", url=web.url, method="patch", json={"a": [1, None]})

    (asked,) = web.asked
    assert (asked.method, asked.json) == ("PATCH", {"a": [1, None]})
    assert asked.headers["content-type"] == "application/json"
    assert result.error is None
    assert (result.value["status"], result.value["body"]) == (418, "<p>tea</p>")


@pytest.mark.parametrize(
    "wrong",
    [{"method": "CONNECT"}, {"method": "TRACE"}, {"method": "A B"}, {"body": "a", "json": 1}],
)
def test_request_that_cannot_be_is_refused(call: Call, web: Web, wrong: dict[str, Any]) -> None:
    assert code(call("http_request", url=web.url, **wrong)) == "INVALID_ARGUMENTS"
    assert web.asked == []


# web_search ---------------------------------------------------------------------------------------

FOUND = [
    {"title": f"T{n}", "url": f"https://{n}.example/", "text": f"a <strong>b</strong> &amp; {n}"}
    for n in range(30)
]
EXPECTED = [
    {"title": f"T{n}", "url": f"https://{n}.example/", "snippet": f"a b & {n}"} for n in range(30)
]


def listed(snippet: str, count: int) -> list[dict[str, str]]:
    return [{"title": f["title"], "url": f["url"], snippet: f["text"]} for f in FOUND[:count]]


def brave(asked: Asked) -> Reply:
    """As the documented API: a key in its own header, results below `web`."""
    if asked.headers.get("x-subscription-token") != "k3y-value":
        return Reply.of({"type": "ErrorResponse", "error": {"detail": "invalid token"}}, 422)
    assert asked.method == "GET"
    assert asked.target == "/res/v1/web/search?q=caf%C3%A9%20%26%20co&count=3"
    return Reply.of({"type": "search", "web": {"results": listed("description", 3)}})


def tavily(asked: Asked) -> Reply:
    """As the documented API: a bearer token, and the question as JSON."""
    if asked.headers.get("authorization") != "Bearer k3y-value":
        return Reply.of({"detail": {"error": "Unauthorized"}}, 401)
    assert (asked.method, asked.target) == ("POST", "/search")
    assert asked.json == {"query": "café & co", "max_results": 3}
    return Reply.of({"query": "q", "results": listed("content", 3), "response_time": 1.0})


def searxng(asked: Asked) -> Reply:
    """As the documented API: JSON on request, and as many results as a page has."""
    assert (asked.method, asked.target) == ("GET", "/search?q=caf%C3%A9%20%26%20co&format=json")
    return Reply.of({"query": "q", "number_of_results": 0, "results": listed("content", 30)})


PROVIDERS = {"brave": brave, "tavily": tavily, "searxng": searxng}


def searching(provider: str, web: Web) -> dict[str, Any]:
    key = {} if provider == "searxng" else {"key": "SEARCH_KEY"}
    return {"web": {"search": {"provider": provider, "url": web.url, **key}}}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_search_gives_the_structure_of_the_seed(
    call: Call, web: Web, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEARCH_KEY", "k3y-value")
    web.answer = PROVIDERS[provider]
    config = searching(provider, web)

    result = call("web_search", config=config, caller=AGENT, query="café & co", numResults=3)

    assert result.error is None
    assert result.value == {"results": EXPECTED[:3]}
    assert result.output.startswith("1. T0\n   https://0.example/\n   a b & 0\n")
    assert result.warnings == ()


@pytest.mark.parametrize("provider", ["brave", "tavily"])
def test_wrong_key_is_said_and_never_shown(
    call: Call, web: Web, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEARCH_KEY", "wr0ng-value")
    web.answer = PROVIDERS[provider]

    result = call("web_search", config=searching(provider, web), query="x")

    assert code(result) == "HTTP_ERROR"
    assert "web.search.key" in json.dumps(result.to_wire())
    assert "wr0ng-value" not in json.dumps(result.to_wire())


def test_missing_key_is_said_before_anything_is_sent(call: Call, web: Web) -> None:
    result = call("web_search", config=searching("brave", web), query="x")

    assert (code(result), web.asked) == ("SECRET_MISSING", [])


@pytest.mark.parametrize(
    ("search", "said"),
    [
        (None, "no search provider is configured"),
        ({"provider": "brave"}, "web.search.key must name"),
        ({"provider": "searxng"}, "web.search.url must say"),
    ],
)
def test_what_is_not_configured_is_said(
    call: Call, search: dict[str, str] | None, said: str
) -> None:
    config = {} if search is None else {"web": {"search": search}}

    result = call("web_search", config=config, query="x")

    assert code(result) == "INVALID_DEFINITION"
    assert result.error is not None
    assert said in result.error.message
    assert "provider: brave" in result.error.hint


@pytest.mark.parametrize(
    "answer", [b"<html>", b"[]", b'{"results": 1}', b'{"results": ' + b"[" * 9999]
)
def test_answer_that_is_no_list_of_results_is_said(call: Call, web: Web, answer: bytes) -> None:
    web.answer = typed("application/json", answer)

    assert code(call("web_search", config=searching("searxng", web), query="x")) == "HTTP_ERROR"


def test_search_that_found_nothing_is_a_result(call: Call, web: Web) -> None:
    web.answer = lambda asked: Reply.of({"results": []})

    assert call("web_search", config=searching("searxng", web), query="x").value == {"results": []}


def test_searxng_without_json_says_what_to_change(call: Call, web: Web) -> None:
    web.answer = lambda asked: Reply(403, b"Forbidden")

    result = call("web_search", config=searching("searxng", web), query="x")

    assert result.error is not None
    assert "formats" in result.error.hint


def test_search_of_a_project_takes_the_place_of_the_built_in_one(
    call: Call, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.tool("web_search", "bash: echo mine\ntags: [read]\n", scope="user")

    assert call("web_search").output == "mine\n"
    assert code(call("builtin:web_search", query="x")) == "INVALID_DEFINITION"


# On an event loop ---------------------------------------------------------------------------------


def test_cancelled_fetch_hangs_up(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    for key, value in place.env.items():
        monkeypatch.setenv(key, value)
    (place.user / "config.yml").write_text("security: {allow_private_hosts: [127.0.0.1]}\n")

    async def session(port: int) -> None:
        async with Runtime.open(place.project, auto_approve=["*"]) as runtime:
            call = runtime.call("web_fetch", url=f"http://127.0.0.1:{port}/", timeout=60)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(call, 0.5)

    with socket.create_server(("127.0.0.1", 0)) as server:
        asyncio.run(session(server.getsockname()[1]))
        line, _ = server.accept()
        with line:
            line.settimeout(20)
            while line.recv(4096):
                pass  # until the other side has gone
