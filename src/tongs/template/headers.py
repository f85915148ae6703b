"""Headers of a request that somebody else wrote: which may be sent, and to whom."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
# These follow from the address, the body and the connection; another value is how one request is
# made to look like two.
_NOT_THE_AUTHORS = frozenset(
    "connection content-length expect host keep-alive proxy-authenticate proxy-authorization "
    "proxy-connection te trailer transfer-encoding upgrade".split()
)
# Names that say themselves that what they carry is for one host only.
_FOR_ONE_HOST = re.compile(
    "auth|cookie|credential|key|passw|secret|session|signature|token", re.IGNORECASE
)


def is_name(text: str) -> bool:
    return _TOKEN.fullmatch(text) is not None


def is_set_by_tongs(name: str) -> bool:
    return name.lower() in _NOT_THE_AUTHORS


def has_control(value: str) -> bool:
    """A line break, or another character that could end the header."""
    return _CONTROL.search(value) is not None


def is_for_one_host(name: str) -> bool:
    return _FOR_ONE_HOST.search(name) is not None
