"""The body of an answer as text that a model can read."""

from __future__ import annotations

import re

from tongs.output import visible
from tongs.template.web import WebAnswer

HTML = frozenset({"text/html", "application/xhtml+xml"})
_TEXTS = frozenset(
    "application/json application/xml application/javascript application/ecmascript"
    " application/x-www-form-urlencoded application/yaml application/x-yaml application/toml"
    " application/x-ndjson application/sql application/graphql image/svg+xml".split()
)
_META = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
# How much of a page is looked at for the charset it names itself, as browsers do.
_META_BYTES = 1024
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def is_text(answer: WebAnswer) -> bool:
    """By its type; where it has none, by whether it looks like text."""
    kind = answer.type
    if kind.startswith("text/") or kind in _TEXTS or kind in HTML:
        return True
    if kind.endswith(("+json", "+xml", "+yaml")):
        return True
    if kind:
        return False
    try:
        text = answer.body.decode()
    except UnicodeDecodeError:
        return False
    return _CONTROLS.search(text) is None


def size_of(answer: WebAnswer) -> str:
    """What stands for a body that is no text."""
    return f"[binary: {visible(answer.type) or 'unknown type'}, {len(answer.body)} bytes]"


def page(answer: WebAnswer) -> str:
    """HTML as Markdown."""
    # In Rust, and linear: the parsers written in Python take minutes for a hostile page.
    from html_to_markdown import ConversionOptions, convert  # noqa: PLC0415 - pages only

    options = ConversionOptions(extract_metadata=False, skip_images=True)
    found = convert(_with_own_charset(answer), options)
    return (found.content or "").strip() + "\n"


def _with_own_charset(answer: WebAnswer) -> str:
    if "charset=" in answer.headers.get("content-type", "").lower():
        return answer.text
    named = _META.search(answer.body[:_META_BYTES])
    if named is None:
        return answer.text
    try:
        return answer.body.decode(named[1].decode(), "replace")
    except (LookupError, ValueError):
        return answer.text  # no charset anybody knows
