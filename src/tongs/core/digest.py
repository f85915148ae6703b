"""The one hash of everything that is pinned: definitions, settings, and names made from paths."""

from __future__ import annotations


def digest_of(data: bytes) -> str:
    """SHA-256 in hexadecimal, as it stands in records."""
    from hashlib import sha256  # noqa: PLC0415 - loads OpenSSL, which `--help` does not need

    return sha256(data).hexdigest()
