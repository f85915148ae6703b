"""Template processes, seen from Tongs: kept between the calls of a tool, one call at a time.

What a template says is the word of a process that runs the code of a tool. Nothing is believed that
could reach beyond this very tool: no descriptor is taken from it, and only what the tool may read
is looked at because a template has named it.
"""

from __future__ import annotations

import _socket  # the public module costs a whole interpreter start for its enums
import _thread  # as in channel.py
import json
import os
import select
import time
from collections.abc import Callable, Collection, Hashable, Mapping

from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.permissions import covered
from tongs.core.record import dataclass
from tongs.sandbox import orders, packets
from tongs.sandbox.waiting import poll

if TYPE_CHECKING:
    from tongs.sandbox.channel import Channel, Pool
    from tongs.sandbox.orders import Request

# What a template says, as in its program.
READY, COLD, ENDED, LEFT = b"R", b"C", b"E", b"L"

# The program of a template, and what it loads: handed to the call as files.
PROGRAM = "warm_template.py"
WORLD = "warm_world.py"
# Templates that are kept or at work; beyond that calls get an interpreter of their own.
MOST = 8
# Seconds after which one that nobody has used ends, and after which none is used any more: what a
# module computes when it is imported should not be believed forever.
IDLE = 60.0
OLDEST = 600.0
# Seconds for which a service that could not be kept is not tried again.
COLD_FOR = 60.0
# Seconds between two looks at all that wait.
_SWEEP = 5.0
# The largest packet: what was read while preparing, and how a request has ended.
_LARGEST, _LARGEST_REPORT = 256 * 1024, 64
# What a line says when it has nothing more to say itself; nobody reads it.
_GONE = b"gone"

_sources: dict[str, bytes] = {}


@dataclass(frozen=True, slots=True)
class Warmth:
    """What a template has to know of its world: the folders that belong to the call alone.

    None means the folder of its scratch. `around` is where these lie on a device of their own.
    """

    abi: int
    folders: tuple[str, ...] | None = None
    around: str = ""


def source(name: str) -> bytes:
    if name not in _sources:
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name), "rb") as file:
            _sources[name] = file.read()
    return _sources[name]


class Template:
    """One template process, from its start to its end. As a channel it serves one `Pump`."""

    def __init__(self, key: Hashable, channel: Channel, readable: Collection[str]) -> None:
        """`readable` is what the tool may read."""
        self.key = key
        self._readable = readable
        self.channel = channel
        self.said: list[list[bytes]] = []
        self.over = False
        # Why it cannot be kept.
        self.cold = ""
        self._line, self._theirs = packets.pair()
        self._reads: Mapping[str, list[int]] | None = None
        self._hung_up = False
        # The wait status of a request that left something running.
        self._left = b""
        self._made = time.monotonic()
        self.used = self._made
        self._kills = 0

    def start(self, request: Request, descriptors: list[int], told: bytes) -> None:
        """Start its program, with the standard output and error of its first call."""
        try:
            self.channel.send(request, [self._theirs.fileno(), *descriptors])
        finally:
            self._theirs.close()
        self._send(told, [])

    def ask(self, request: bytes, descriptors: list[int]) -> None:
        """Hand over a request. It counts as taken unless the line says that it was not."""
        self.said[:] = [[orders.ACCEPTED]]
        self._send(request, descriptors)

    def fileno(self) -> int:
        return self.channel.fileno() if self._hung_up else self._line.fileno()

    def kill(self) -> None:
        self.channel.kill()

    def listen(self) -> bool:
        """Take in one report, if there is one: of the template, and after its end of its guard."""
        return self._listen_to_guard() if self._hung_up else self._listen()

    @property
    def can_stay(self) -> bool:
        """Whether another call may be asked of it, after one that went well."""
        return self._reads is not None and not self._hung_up and not self.over

    @property
    def is_fit(self) -> bool:
        """Whether it still is what it would be if it were started now."""
        if self.is_gone or time.monotonic() - self._made > OLDEST:
            return False
        return all(_stamp(path) == was for path, was in (self._reads or {}).items())

    def was_short_of_memory(self) -> bool:
        """Whether its cgroup has ended a process of it since this was last asked."""
        if self.channel.group is None:
            return False
        before, self._kills = self._kills, self.channel.group.killed()
        return self._kills > before

    @property
    def is_gone(self) -> bool:
        """Whether it has ended, or was not used for so long that it is about to."""
        if time.monotonic() - self.used > IDLE or not self.channel.alive:
            return True
        # Its end, or a word that nobody has asked for.
        return poll(self._line.fileno(), select.POLLIN)

    def end(self, pool: Pool) -> None:
        self._line.close()
        self._theirs.close()
        pool.give_back(self.channel)

    def _send(self, data: bytes, descriptors: list[int]) -> None:
        try:
            packets.send(self._line, data, descriptors)
        except OSError:
            self._hang_up(unread=True)

    def _listen(self) -> bool:
        try:
            # Without room for descriptors: the kernel drops what comes with it.
            most = _LARGEST if self._reads is None else _LARGEST_REPORT
            data = self._line.recv(most, _socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            # What the other end has not read when it closes resets the line.
            self._hang_up(unread=True)
            return True
        word, _, rest = data.partition(b" ")
        if word == READY:
            self._reads = self._parsed(rest)
        elif word == COLD:
            self.cold = rest.decode("utf-8", "replace")[:200]
        elif word == ENDED and rest.isdigit():
            self.said.append([orders.ENDED, rest])
        elif word == LEFT and rest.isdigit():
            self._left = rest
            self._hang_up()
        else:
            self._hang_up()
        return True

    def _parsed(self, data: bytes) -> Mapping[str, list[int]] | None:
        """The files that the tool may read itself, each as it was when it was read."""
        try:
            found: Any = json.loads(data)
        except (ValueError, RecursionError):
            return None
        if not isinstance(found, dict):
            return None
        return {
            path: was
            for path, was in found.items()
            if "\0" not in path and covered(path, self._readable)
        }

    def _hang_up(self, *, unread: bool = False) -> None:
        """From here on only its supervisor knows what became of it."""
        self._hung_up = True
        if unread:
            self.said.clear()
        self.said.append([_GONE])

    def _listen_to_guard(self) -> bool:
        known = len(self.channel.said)
        heard = self.channel.listen()
        for word, *rest in self.channel.said[known:]:
            if word == orders.ENDED and self._left:
                self.said.append([word, self._left, *rest[1:]])
            elif word in (orders.ENDED, orders.FAILED):
                self.said.append([word, *rest])
        self.over = self.channel.over
        return heard


class Templates:
    """The templates of one sandbox. Any thread may take one; whoever has it is alone with it."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._waiting: list[Template] = []
        self._at_work = 0
        self._cold: dict[Hashable, float] = {}
        self._lock = _thread.allocate_lock()
        self._owner = os.getpid()
        self._swept = time.monotonic()

    def take(
        self, key: Hashable, readable: Collection[str], make: Callable[[], Channel]
    ) -> Template | None:
        """One that waits for this key, or a new one; None where there is none to be had."""
        self._forget_in_a_copy()
        with self._lock:
            if self._cold.get(key, 0.0) > time.monotonic():
                return None
            found, unfit = None, []
            # The one that was used last is most likely to be fit.
            for at in range(len(self._waiting) - 1, -1, -1):
                if self._waiting[at].key == key:
                    template = self._waiting.pop(at)
                    if template.is_fit:
                        found = template
                        break
                    unfit.append(template)
            if found is None and len(self._waiting) + self._at_work >= MOST and self._waiting:
                unfit.append(self._waiting.pop(0))
            full = found is None and self._at_work >= MOST
            self._at_work += 0 if full else 1
        for template in unfit:
            template.end(self._pool)
        if full or found is not None:
            return found
        try:
            return Template(key, make(), readable)
        except BaseException:
            self._finish()
            raise

    def give_back(self, template: Template, *, keep: bool) -> None:
        if template.cold:
            with self._lock:
                if len(self._cold) > 8 * MOST:
                    self._cold.clear()
                self._cold[template.key] = time.monotonic() + COLD_FOR
        if not keep or os.getpid() != self._owner:
            template.end(self._pool)
            self._finish()
            return
        template.used = time.monotonic()
        with self._lock:
            self._at_work -= 1
            self._waiting.append(template)

    def sweep(self) -> None:
        """End those that nobody has used for a while; most have ended themselves by then."""
        self._forget_in_a_copy()
        if time.monotonic() - self._swept < _SWEEP:
            return
        self._swept = time.monotonic()
        with self._lock:
            gone = [template for template in self._waiting if template.is_gone]
            self._waiting = [template for template in self._waiting if template not in gone]
        for template in gone:
            template.end(self._pool)

    def close(self) -> None:
        self._forget_in_a_copy()
        with self._lock:
            waiting, self._waiting = self._waiting, []
            self._cold = {}
        for template in waiting:
            template.end(self._pool)

    def __del__(self) -> None:
        self.close()

    def _finish(self) -> None:
        with self._lock:
            self._at_work -= 1

    def _forget_in_a_copy(self) -> None:
        """In a forked copy: what waits belongs to the original, and so does the lock's state."""
        if os.getpid() != self._owner:
            self._waiting, self._at_work, self._owner = [], 0, os.getpid()
            self._lock = _thread.allocate_lock()


def told(
    warmth: Warmth, program: str, world: str, scratch: str, memory: int, opening: bytes
) -> bytes:
    """What a template hears first. `program` is where the file of the service lies."""
    walls = {
        "program": program,
        "world": world,
        "folders": [scratch] if warmth.folders is None else list(warmth.folders),
        "around": warmth.around,
        "abi": warmth.abi,
        "memory": memory,
    }
    return json.dumps(walls).encode() + b"\n" + opening


def _stamp(path: str) -> list[int]:
    try:
        facts = os.stat(path)
    except (OSError, ValueError):
        return []
    return [facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size, facts.st_ino]
