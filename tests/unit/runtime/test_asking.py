"""Servers and programs that decide, and what can go wrong with them."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.store.test_approvals import REQUEST
from tests.web import Reply, Web

from tongs.approvers.terminal import Terminal
from tongs.config.settings import Approvals, Webhook
from tongs.core.approval import ApprovalResponse
from tongs.core.driving import drive
from tongs.core.errors import ErrorCode, ToolError
from tongs.runtime.asking import Asking
from tongs.runtime.posting import post
from tongs.sandbox.waiting import BlockingWaiter, LoopWaiter
from tongs.store.approvals import ApprovalStore


@pytest.fixture
def silence() -> Iterator[str]:
    """A server that takes a request and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/x"


def asking(folder: Path, settings: Approvals, **host: str) -> Asking:
    return Asking(ApprovalStore(str(folder / "state")), settings, host, str(folder))


def answer(made: Asking) -> ApprovalResponse:
    approver = made.approver(BlockingWaiter())
    assert approver is not None
    response = drive(approver(REQUEST))  # type: ignore[arg-type]  # a coroutine
    assert response is not None
    return response


def test_nothing_configured_and_no_terminal_is_nobody(tmp_path: Path) -> None:
    assert asking(tmp_path, Approvals()).approver(BlockingWaiter()) is None


def test_a_header_may_stand_in_the_environment_or_in_a_file(tmp_path: Path, web: Web) -> None:
    web.answer = lambda asked: Reply.of({"approved": True})
    (tmp_path / "token").write_text("from a file\n")
    (tmp_path / "token").chmod(0o600)
    headers = {
        "A": "env:TOKEN",
        "B": "file:~/token",
        "C": f"file:{tmp_path}/token",
        "D": "plain: x",
    }

    response = answer(asking(tmp_path, Approvals(webhook=Webhook(web.url, headers)), TOKEN="t"))

    assert (response.approved, response.approver) == (True, "webhook 127.0.0.1")
    sent = web.asked[0].headers
    assert [sent[name] for name in "abcd"] == ["t", "from a file", "from a file", "plain: x"]


@pytest.mark.parametrize("value", ["env:TOKEN", "file:nowhere"])
def test_a_header_that_is_not_there_is_a_denial(tmp_path: Path, web: Web, value: str) -> None:
    webhook = Webhook(web.url, {"A": value})

    response = answer(asking(tmp_path, Approvals(webhook=webhook)))

    assert not response.approved
    assert response.reason == f"{value} of approvals.webhook is not there"
    assert web.asked == []


@pytest.mark.parametrize(
    ("mode", "text", "reason"),
    [(0o644, "x", "others may read"), (0o600, "a\nb", "holds a line break or another control")],
)
def test_a_header_that_is_no_secret_is_a_denial(
    tmp_path: Path, web: Web, mode: int, text: str, reason: str
) -> None:
    (tmp_path / "token").write_text(text)
    (tmp_path / "token").chmod(mode)
    webhook = Webhook(web.url, {"A": "file:~/token"})

    response = answer(asking(tmp_path, Approvals(webhook=webhook)))

    assert response.reason.startswith(f"file:~/token of approvals.webhook {reason}")
    assert web.asked == []


def test_a_server_that_cannot_be_reached_is_a_denial(tmp_path: Path) -> None:
    response = answer(asking(tmp_path, Approvals(webhook=Webhook("http://127.0.0.1:1/"))))

    assert not response.approved
    assert "it cannot be reached" in response.reason


def test_what_is_no_address_is_said(tmp_path: Path) -> None:
    with pytest.raises(ToolError) as raised:
        answer(asking(tmp_path, Approvals(webhook=Webhook("http:///x"))))

    assert raised.value.code is ErrorCode.INVALID_DEFINITION


def test_a_silent_server_is_a_denial_when_its_time_is_over(tmp_path: Path, silence: str) -> None:
    settings = Approvals(webhook=Webhook(silence), timeout=0.5)

    response = answer(asking(tmp_path, settings))

    assert (response.approved, response.reason) == (False, "it did not answer within 0.5s")


def test_one_byte_at_a_time_does_not_stretch_the_time(web: Web) -> None:
    def drip() -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
        while True:
            time.sleep(0.05)
            yield b" "

    web.answer = lambda asked: Reply(pieces=drip())
    begun = time.monotonic()

    with pytest.raises(ToolError) as raised:
        post(web.url, {}, b"{}", 0.5, lambda: False)

    assert raised.value.code is ErrorCode.TIMEOUT
    assert time.monotonic() - begun < 10


def test_nobody_waits_for_a_server_once_the_question_is_settled(silence: str) -> None:
    settled = threading.Event()
    threading.Timer(0.3, settled.set).start()
    begun = time.monotonic()

    with pytest.raises(ToolError):
        post(silence, {}, b"{}", 60, settled.is_set)

    assert time.monotonic() - begun < 20


def test_an_encoded_answer_is_not_unpacked(web: Web) -> None:
    web.answer = lambda asked: Reply(200, b"\x1f\x8b", {"Content-Encoding": "gzip"})

    with pytest.raises(ToolError) as raised:
        post(web.url, {}, b"{}", 20, lambda: False)

    assert raised.value.code is ErrorCode.HTTP_ERROR


def test_an_answer_without_end_is_not_read_to_its_end(web: Web) -> None:
    web.answer = lambda asked: Reply(200, b"x" * 5_000_000)

    status, body = post(web.url, {}, b"{}", 20, lambda: False)

    assert status == 200
    assert len(body) < 5_000_000


def test_without_an_editor_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(ToolError) as raised:
        asking(tmp_path, Approvals()).edited("x")
    assert raised.value.code is ErrorCode.INVALID_ARGUMENTS

    with pytest.raises(ToolError) as raised:
        asking(tmp_path, Approvals(), EDITOR="/nowhere/ed").edited("x")
    assert raised.value.code is ErrorCode.EXECUTION_ERROR


def test_a_question_that_nobody_waits_for_has_left_the_terminal(tmp_path: Path) -> None:
    master, slave = os.openpty()
    with os.fdopen(slave, "r+b", buffering=0) as line:
        reader = os.fdopen(os.dup(line.fileno()), encoding="utf-8")
        writer = os.fdopen(os.dup(line.fileno()), "w", encoding="utf-8")
        approver = asking(tmp_path, Approvals()).approver(LoopWaiter(), Terminal(reader, writer))
        assert approver is not None

        async def stopped() -> None:
            question = asyncio.ensure_future(approver(REQUEST))  # type: ignore[arg-type]  # a coroutine
            while b"[a]llow once" not in await asyncio.to_thread(os.read, master, 4096):
                pass
            question.cancel()
            with pytest.raises(asyncio.CancelledError):
                await question
            # What is typed now is for somebody else, and still there.
            os.write(master, b"for the prompt\n")
            assert await asyncio.to_thread(reader.readline) == "for the prompt\n"

        asyncio.run(stopped())
        reader.close()
        writer.close()
    os.close(master)
