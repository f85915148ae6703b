"""What is held of a process' output: the head of each stream, and the whole in the spool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from io import BytesIO

from tongs.core.annotations import TYPE_CHECKING
from tongs.core.execution import STDERR, STDOUT, Completed, SpoolWriter

if TYPE_CHECKING:
    from tongs.core.redacting import Redacting, RedactingStream


class Capture:
    """Takes output as it arrives. `limit` bytes of each stream are held; beyond it, all is spooled.

    `open_spool` is called at most once, when a stream first passes the limit; None from it, or a
    spool that is full, means that the rest is counted and lost. What is spooled is redacted; what
    is held is not, since the next step of a tool may need it.
    """

    def __init__(
        self,
        limit: int,
        open_spool: Callable[[], SpoolWriter | None],
        redactor: Redacting | None = None,
    ) -> None:
        self._limit = limit
        self._open_spool = open_spool
        self.redactor = redactor
        # BytesIO hands out its buffer without a copy, so a large limit is not paid for twice.
        self._held = {STDOUT: BytesIO(), STDERR: BytesIO()}
        # Made when the second stream speaks: until then the order of arrival is the first one.
        self._both: BytesIO | None = None
        self._sizes = {STDOUT: 0, STDERR: 0}
        self._spooled: Mapping[int, int] = {}
        self._spool: SpoolWriter | None = None
        self._overflowed = False

    def add(self, stream: int, data: bytes) -> None:
        held = self._held[stream]
        room = self._limit - held.tell()
        self._sizes[stream] += len(data)
        if len(data) > room and not self._overflowed:
            self._overflow()
        if self._spool is not None:
            self._spool.write(stream, data)
        if room > 0:
            kept = data[:room]
            if self._both is None and self._other(stream).tell():
                self._both = BytesIO()
                self._both.write(self._other(stream).getvalue())
            held.write(kept)
            if self._both is not None:
                self._both.write(kept)

    def close(self) -> None:
        """No more comes; only now `lost` and `spooled` are known."""
        if self._spool is not None:
            self._spooled = self._spool.close()

    def completed(
        self,
        *,
        exit_code: int | None,
        signal: int | None,
        timed_out: bool,
        duration: float,
        exceeded: str = "",
        warm: bool = False,
        cold: str = "",
    ) -> Completed:
        """How the process ended, with what it said."""
        return Completed(
            exit_code=exit_code,
            signal=signal,
            timed_out=timed_out,
            exceeded=exceeded,
            duration=duration,
            stdout=self.stdout,
            stderr=self.stderr,
            output=self.output,
            stdout_size=self.stdout_size,
            stderr_size=self.stderr_size,
            spool=self.spool,
            lost=self.lost,
            redactor=self.redactor,
            warm=warm,
            cold=cold,
        )

    @property
    def stdout(self) -> bytes:
        return self._whole_secrets(STDOUT)

    @property
    def stderr(self) -> bytes:
        return self._whole_secrets(STDERR)

    @property
    def output(self) -> bytes:
        """What is held of both, in the order it arrived."""
        if self._both is None:
            return self.stdout or self.stderr
        both = self._both.getvalue()
        if self.redactor is None or sum(self._sizes.values()) == len(both):
            return both
        return both[: self.redactor.settled(both)]

    @property
    def stdout_size(self) -> int:
        return self._sizes[STDOUT]

    @property
    def stderr_size(self) -> int:
        return self._sizes[STDERR]

    @property
    def spool(self) -> str | None:
        return None if self._spool is None else self._spool.handle

    @property
    def spooled(self) -> int:
        return sum(self._spooled.values())

    @property
    def lost(self) -> int:
        """Bytes that are neither held nor spooled. Both hold a head of the stream."""
        if not self._overflowed:
            return 0
        return sum(
            size - max(self._held[stream].tell(), self._spooled.get(stream, 0))
            for stream, size in self._sizes.items()
        )

    def _overflow(self) -> None:
        self._overflowed = True
        self._spool = self._open_spool()
        if self._spool is not None and self.redactor is not None:
            self._spool = RedactedSpool(self._spool, self.redactor)
        if self._spool is not None:
            for stream, held in self._held.items():
                if held.tell():
                    self._spool.write(stream, held.getvalue())

    def _other(self, stream: int) -> BytesIO:
        return self._held[STDERR if stream == STDOUT else STDOUT]

    def _whole_secrets(self, stream: int) -> bytes:
        """What is held; where it was cut, not inside of a secret, of which a part would be left."""
        held = self._held[stream].getvalue()
        if self.redactor is None or self._sizes[stream] == len(held):
            return held
        return held[: self.redactor.settled(held)]


class RedactedSpool:
    """A spool that no secret reaches. It counts what it was given, as if all of it was written."""

    def __init__(self, spool: SpoolWriter, redactor: Redacting) -> None:
        self._spool = spool
        self._redactor = redactor
        self._streams: dict[int, RedactingStream] = {}
        self._given: dict[int, int] = {}
        self._written: dict[int, int] = {}

    @property
    def handle(self) -> str:
        return self._spool.handle

    def write(self, stream: int, data: bytes) -> None:
        if stream not in self._streams:
            self._streams[stream] = self._redactor.stream()
            self._given[stream] = self._written[stream] = 0
        self._given[stream] += len(data)
        self._pass_on(stream, self._streams[stream].feed(data))

    def close(self) -> Mapping[int, int]:
        for stream, redacting in self._streams.items():
            self._pass_on(stream, redacting.end())
        kept = self._spool.close()
        return {
            stream: given if kept.get(stream, 0) == self._written[stream] else kept.get(stream, 0)
            for stream, given in self._given.items()
        }

    def _pass_on(self, stream: int, data: bytes) -> None:
        self._written[stream] += len(data)
        if data:
            self._spool.write(stream, data)
