"""What of a server's answer is passed on as it is."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from tongs.executors import mcp_attachments
from tongs.executors.mcp_attachments import attachments_of

PNG = b"\x89PNG\r\n\x1a\n" + b"data"


def image(data: bytes = PNG, mime: str = "image/png", kind: str = "image") -> dict[str, Any]:
    return {"type": kind, "mimeType": mime, "data": base64.b64encode(data).decode()}


def paper(data: bytes, mime: str) -> dict[str, Any]:
    blob = base64.b64encode(data).decode()
    return {"type": "resource", "resource": {"uri": "file:///x", "mimeType": mime, "blob": blob}}


@pytest.mark.parametrize(
    ("block", "kind", "mime"),
    [
        (image(), "image", "image/png"),
        (image(mime="IMAGE/PNG; q=1"), "image", "image/png"),
        (image(b"RIFF0000WAVEfmt", "audio/wav", "audio"), "audio", "audio/wav"),
        (paper(b"%PDF-1.7", "application/pdf"), "resource", "application/pdf"),
        (paper(PNG, "image/png"), "resource", "image/png"),
    ],
)
def test_what_is_what_it_says_is_passed_on(block: dict[str, Any], kind: str, mime: str) -> None:
    (passed,), problems = attachments_of([{"type": "text", "text": "x"}, block])

    assert (passed.kind, passed.mime, problems) == (kind, mime, [])


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        (image(b"<svg onload='x'/>", "image/svg+xml"), "none that is passed on"),
        (image(b"<script>", "text/html"), "none that is passed on"),
        (image(b"<script>", "image/png"), "no image/png"),
        (image(b"%PDF-1.7", "application/pdf"), "none that is passed on"),
        (image(kind="audio"), "none that is passed on"),
        ({"type": "image", "mimeType": "image/png", "data": "no base64 \x1b"}, "no base64"),
        (image(PNG + b"x" * mcp_attachments.LARGEST), "too large"),
    ],
)
def test_whatever_else_is_described_only(block: dict[str, Any], reason: str) -> None:
    passed, (problem,) = attachments_of([block])

    assert passed == []
    assert reason in problem


def test_there_are_few_and_not_large_together() -> None:
    many, problems = attachments_of([image()] * 20)
    large, _ = attachments_of([image(PNG + b"x" * (3 << 20))] * 5)

    assert len(many) == mcp_attachments.MOST
    assert len(problems) == 1
    assert sum(len(one.data) for one in large) <= mcp_attachments.LARGEST_TOGETHER
