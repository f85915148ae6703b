"""Marks that a stranger carries for us and cannot make: a text with a proof that it is ours.

The key lies in the state folder, which no tool can read, so that every process of this person
knows the marks of every other.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
from collections.abc import Mapping

from tongs.core.annotations import Any
from tongs.store.files import private_folder

_SIZE = 32
_LONGEST = 4096


class Seal:
    def __init__(self, state: str) -> None:
        self._path = os.path.join(state, "seal.key")
        self._key = b""

    def close(self, data: Mapping[str, Any]) -> str:
        """`data` as a text that `open` knows again."""
        body = json.dumps(dict(data), sort_keys=True).encode()
        return f"{_text(body)}.{_text(self._proof(body))}"

    def open(self, sealed: str) -> dict[str, Any] | None:
        """What was sealed; None for anything that is not exactly as `close` made it."""
        if len(sealed) > _LONGEST:
            return None
        first, _, second = sealed.partition(".")
        try:
            body, proof = _bytes(first), _bytes(second)
        except ValueError:
            return None
        if not hmac.compare_digest(proof, self._proof(body)):
            return None
        if sealed != f"{_text(body)}.{_text(proof)}":
            return None  # another spelling of the same bytes
        found: dict[str, Any] = json.loads(body)
        return found

    def _proof(self, body: bytes) -> bytes:
        if not self._key:
            self._key = self._read() or self._made()
        return hmac.new(self._key, b"tongs.seal\0" + body, hashlib.sha256).digest()

    def _read(self) -> bytes:
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            return b""
        with open(descriptor, "rb") as file:
            found = file.read(_SIZE + 1)
        return found if len(found) == _SIZE else b""

    def _made(self) -> bytes:
        """Whole or not there, and the first one stays: others may have sealed with it."""
        private_folder(os.path.dirname(self._path))
        beside = f"{self._path}.{os.urandom(6).hex()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        descriptor = os.open(beside, flags, 0o600)
        try:
            os.write(descriptor, os.urandom(_SIZE))
            os.fsync(descriptor)
            os.close(descriptor)
            try:
                os.link(beside, self._path)
            except FileExistsError:
                if not self._read():  # cut off by a full disk, so that nothing was sealed with it
                    os.replace(beside, self._path)
                    return self._read()
        finally:
            if os.path.lexists(beside):
                os.unlink(beside)
        return self._read()


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
