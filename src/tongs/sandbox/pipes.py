"""The pipes between Tongs and one payload."""

from __future__ import annotations

import os


class Pipes:
    """Made together, closed together. Tongs' own ends do not block.

    `given` are the ends for the payload: stdin, stdout, stderr; the last two where it has no use
    for the first.
    """

    __slots__ = ("_kept", "given", "stderr", "stdin", "stdout")

    def __init__(self, *, with_stdin: bool | None) -> None:
        self.given: list[int] = []
        self._kept: set[int] = set()
        try:
            self.stdin = -1
            if with_stdin is not None:
                self.stdin = self._outgoing() if with_stdin else self._nothing()
            self.stdout = self._incoming()
            self.stderr = self._incoming()
        except BaseException:
            self.close()
            raise

    def hand_over(self) -> None:
        """Close the given ends, once the payload has its own copies."""
        while self.given:
            os.close(self.given.pop())

    def is_open(self, descriptor: int) -> bool:
        return descriptor in self._kept

    def release(self, descriptor: int) -> None:
        """Close one of the kept ends; again is no error."""
        if descriptor in self._kept:
            self._kept.remove(descriptor)
            os.close(descriptor)

    def close(self) -> None:
        self.hand_over()
        for descriptor in tuple(self._kept):
            self.release(descriptor)

    def _incoming(self) -> int:
        reading, writing = os.pipe()
        return self._split(reading, writing)

    def _outgoing(self) -> int:
        reading, writing = os.pipe()
        return self._split(writing, reading)

    def _nothing(self) -> int:
        # Not an empty pipe: many programs take a pipe for data that they are meant to read.
        self.given.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
        return -1

    def _split(self, kept: int, given: int) -> int:
        self._kept.add(kept)
        self.given.append(given)
        os.set_blocking(kept, False)
        return kept
