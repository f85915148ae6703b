"""Pictures, sound and papers of a server's answer, for clients that can show them.

Passed on is what is known to be what it says it is: of a few kinds, none of which can hold a
program for a browser, and few enough that a client can take them.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence

from tongs.core.annotations import Any
from tongs.core.result import Attachment

# Of one answer.
MOST = 8
LARGEST = 4 * 1024 * 1024
LARGEST_TOGETHER = 8 * 1024 * 1024

# How the data of each kind begins.
_BEGINNINGS: Mapping[str, re.Pattern[bytes]] = {
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/webp": re.compile(rb"RIFF.{4}WEBP", re.DOTALL),
    "audio/wav": re.compile(rb"RIFF.{4}WAVE", re.DOTALL),
    "audio/mpeg": re.compile(rb"ID3|\xff[\xe2-\xff]"),
    "audio/ogg": re.compile(rb"OggS"),
    "application/pdf": re.compile(rb"%PDF-"),
}


def attachments_of(content: Sequence[Mapping[str, Any]]) -> tuple[list[Attachment], list[str]]:
    """What can be passed on, and a line for each that cannot."""
    passed: list[Attachment] = []
    problems: list[str] = []
    left = LARGEST_TOGETHER
    for kind, mime, data in _candidates(content):
        made = _checked(kind, mime, data, min(left, LARGEST))
        if isinstance(made, str):
            problems.append(made)
        elif len(passed) >= MOST:
            problems.append(f"there are more than {MOST}")
        else:
            passed.append(made)
            left -= len(made.data)
    said = [f"a block of the answer was only described: {reason}" for reason in problems]
    return passed, list(dict.fromkeys(said))


def _candidates(content: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    for block in content:
        kind = str(block.get("type"))
        if kind in ("image", "audio"):
            yield kind, str(block["mimeType"]), str(block["data"])
        elif kind == "resource" and "blob" in block["resource"]:
            resource = block["resource"]
            yield kind, str(resource.get("mimeType", "")), str(resource["blob"])


def _checked(kind: str, mime: str, data: str, most: int) -> Attachment | str:
    mime = mime.partition(";")[0].strip().lower()
    begins = _BEGINNINGS.get(mime)
    if begins is None or kind not in ("resource", mime.partition("/")[0]):
        return "its type is none that is passed on"
    if len(data) > most * 4 // 3 + 4:
        return "it is too large"
    try:
        raw = base64.b64decode(data, validate=True)
    except ValueError:
        return "its data is no base64"
    if not begins.match(raw):
        return f"it is no {mime}"
    return Attachment(kind, mime, raw)
