"""What reaches the MCP server over HTTP: by host, origin and token."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tongs.surfaces.mcp.guard import Guard

TOKEN = "0123456789abcdef"
LOCAL = {"host": "127.0.0.1:8080"}


async def nothing(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 299, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def status(guard: Guard, headers: dict[str, str], method: str = "POST", path: str = "/mcp") -> int:
    refusal = guard.refusal(method, path, headers)
    return 200 if refusal is None else refusal.status


def answer(guard: Guard, headers: list[tuple[str, str]], method: str = "POST") -> Any:
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    scope = {"type": "http", "method": method, "path": "/mcp", "headers": raw}
    asyncio.run(guard(scope, nothing, send))  # type: ignore[arg-type]
    return sent[0]["status"], {name.decode(): value.decode() for name, value in sent[0]["headers"]}


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:1", "127.0.0.1:8080", "[::1]:8080", "LocalHost"]
)
def test_loopback_is_known_under_its_own_names(host: str) -> None:
    assert status(Guard(nothing), {"host": host}) == 200


@pytest.mark.parametrize(
    "host",
    ["", "evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example",
     "localhost@evil.example", "[::1", "[evil", "\0"],
)  # fmt: skip
def test_a_name_that_somebody_else_lets_point_here_is_refused(host: str) -> None:
    assert status(Guard(nothing), {"host": host}) == 421


def test_a_host_may_be_allowed_with_or_without_its_port() -> None:
    guard = Guard(nothing, hosts=["tools.example", "other.example:8443"])

    known = ["tools.example", "TOOLS.example:1", "other.example:8443", "other.example"]

    assert [status(guard, {"host": host}) for host in known] == [200, 200, 200, 421]


@pytest.mark.parametrize("origin", ["http://localhost:6274", "https://127.0.0.1", "http://[::1]:1"])
def test_pages_of_this_machine_are_known(origin: str) -> None:
    assert status(Guard(nothing), {**LOCAL, "origin": origin}) == 200


@pytest.mark.parametrize(
    "origin",
    ["", "null", "http://evil.example", "http://localhost.evil.example", "file://", "http://[::1",
     "http://localhost@evil.example", "ftp://localhost", "localhost"],
)  # fmt: skip
def test_a_page_of_somebody_else_is_refused(origin: str) -> None:
    assert status(Guard(nothing), {**LOCAL, "origin": origin}) == 403


def test_only_an_allowed_page_may_read_answers() -> None:
    guard = Guard(nothing, origins=["https://app.example/"])

    allowed = answer(guard, [("host", "localhost"), ("origin", "https://app.example")])
    local = answer(guard, [("host", "localhost"), ("origin", "http://localhost:1")])

    assert allowed[1]["access-control-allow-origin"] == "https://app.example"
    assert local == (299, {})


def test_a_browser_may_ask_before_it_has_the_token() -> None:
    guard = Guard(nothing, token=TOKEN, origins=["https://app.example"])
    page = [("host", "localhost"), ("origin", "https://app.example")]

    asked, headers = answer(guard, page, method="OPTIONS")

    assert asked == 204
    assert "authorization" in headers["access-control-allow-headers"]
    assert answer(guard, page)[0] == 401


@pytest.mark.parametrize(
    ("given", "expected"),
    [(f"Bearer {TOKEN}", 200), (f"bearer  {TOKEN} ", 200), ("", 401), (TOKEN, 401), ("Bearer", 401),
     (f"Basic {TOKEN}", 401), (f"Bearer {TOKEN}x", 401), (f"Bearer {TOKEN[:-1]}", 401)],
)  # fmt: skip
def test_the_token_has_to_be_that_very_one(given: str, expected: int) -> None:
    assert status(Guard(nothing, token=TOKEN), {**LOCAL, "authorization": given}) == expected


def test_a_token_of_any_characters_works() -> None:
    guard = Guard(nothing, token="schlüssel-schlüssel")

    sent = "Bearer schlüssel-schlüssel".encode().decode("latin-1")

    assert status(guard, {**LOCAL, "authorization": sent}) == 200


def test_who_has_no_token_is_told_how_to_come_back() -> None:
    refused, headers = answer(Guard(nothing, token=TOKEN), [("host", "localhost")])

    assert (refused, headers["www-authenticate"]) == (401, 'Bearer realm="tongs"')


@pytest.mark.parametrize("name", ["host", "origin", "authorization"])
def test_a_header_given_twice_counts_as_none(name: str) -> None:
    good = {"host": "localhost", "origin": "http://localhost", "authorization": f"Bearer {TOKEN}"}
    twice = [*good.items(), (name, good[name])]

    guard = Guard(nothing, token=TOKEN)

    assert answer(guard, list(good.items()))[0] == 299
    assert answer(guard, twice)[0] in (401, 403, 421)


def test_without_sessions_there_is_nothing_to_listen_to_or_to_end() -> None:
    asked = [status(Guard(nothing), LOCAL, method) for method in ("GET", "DELETE", "PUT")]

    assert asked == [405, 405, 405]
    assert status(Guard(nothing, stateless=False), LOCAL, "GET") == 200


def test_another_path_is_told_where_to_go() -> None:
    assert status(Guard(nothing), LOCAL, path="/") == 404
