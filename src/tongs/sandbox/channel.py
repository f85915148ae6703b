"""Tongs' end of the line to one supervisor, and supervisors that wait to be used."""

from __future__ import annotations

import _thread  # the public module is one that a command line never needs
import os
import select
from collections.abc import Callable, Hashable

from tongs.core.annotations import TYPE_CHECKING
from tongs.core.errors import ToolError
from tongs.core.record import dataclass
from tongs.sandbox import orders, packets
from tongs.sandbox.orders import Jail, Request
from tongs.sandbox.scratch import Scratch
from tongs.sandbox.waiting import poll

if TYPE_CHECKING:
    from tongs.sandbox.cgroups import Group
    from tongs.sandbox.launch import Launched, Launcher

# Supervisors kept ready for a policy that is in use. One is taken while the next is being made.
# Where a call found none, there are twice as many from then on, up to a bound.
READY = 2
MOST_READY = 32
# Scratch folders that wait for another call.
_SCRATCHES = 32
# Policies for which some are kept; the one that was not used for longest gives way.
_POLICIES = 8


@dataclass(frozen=True, slots=True)
class Blueprint:
    """How to make the world of a session. Two with the same key make the same world."""

    key: Hashable
    # The scratch folder belongs to one session; it is made when it is first asked for.
    draw: Callable[[Scratch], Jail]
    # The cgroup that holds the whole session, where there is one.
    group: Callable[[], Group] | None = None
    temp_root: str = "/tmp"


class Channel:
    """A supervisor, from its start to its end."""

    def __init__(
        self, blueprint: Blueprint, launcher: Launcher, scratch: Scratch | None = None
    ) -> None:
        self.scratch = scratch or Scratch(blueprint.temp_root)
        jail = blueprint.draw(self.scratch)
        self._socket, theirs = packets.pair()
        self._launched: Launched | None = None
        self.group: Group | None = None
        # What came with the report of readiness: the socket of a proxy.
        self.descriptors: list[int] = []
        self.said: list[list[bytes]] = []
        self.over = False
        try:
            if blueprint.group is not None:
                self.group = blueprint.group()
            groups = () if self.group is None else self.group.procs
            self._launched = launcher.launch(jail, theirs.fileno(), groups)
        except BaseException:
            self.close()
            if self.group is not None:
                self.group.leave()
            raise
        finally:
            theirs.close()

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def alive(self) -> bool:
        """Whether it still waits. A supervisor that nobody used for a while is gone."""
        while not self.over and poll(self.fileno(), select.POLLIN) and self.listen():
            pass
        return not self.over and self._launched is not None and not self._launched.doomed

    def send(self, request: Request, descriptors: list[int]) -> None:
        """Hand over a request. Where nobody takes it, `over` tells."""
        assert self._launched is not None
        self.said.clear()
        try:
            packets.send(self._socket, self._launched.packed(request), descriptors)
        except OSError:
            self._hear_out()

    def kill(self) -> None:
        """Order the end of the payload and all it has started."""
        try:
            packets.send(self._socket, orders.KILL)
        except OSError:
            self._hear_out()

    def _hear_out(self) -> None:
        """Nobody is there any more. Its last words tell why, and whether something has run."""
        while not self.over and self.listen():
            pass
        self.over = True

    def listen(self) -> bool:
        """Take in one report, if there is one."""
        try:
            message, descriptors = packets.receive(self._socket, wait=False)
        except BlockingIOError:
            return False
        self.descriptors += descriptors
        if message is None:
            self.over = True
        else:
            self.said.append(message.split())
        return True

    def close(self) -> None:
        """End the supervisor with everything it has started, and remove the scratch folder."""
        self.end()
        self.scratch.close()

    def release(self) -> Scratch:
        """The scratch folder, which is from here on somebody else's to remove."""
        scratch, self.scratch = self.scratch, Scratch(os.devnull)
        return scratch

    def end(self) -> bool:
        """End the supervisor with everything it has started; False if it had died before."""
        # Only an unexpected end leaves something to look for.
        died = self.over and not any(said[0] == orders.ENDED for said in self.said)
        self.over = True
        while self.descriptors:
            os.close(self.descriptors.pop())
        self._socket.close()
        if self._launched is not None:
            self._launched.finish(died=died)
            self._launched = None
        if died and self.group is not None:
            # Those who would have killed the tree may have died together.
            self.group.kill()
        return not died


class Pool:
    """Hands out channels, of policies that were used before without a wait."""

    def __init__(self, launcher: Launcher) -> None:
        self._launcher = launcher
        self._waiting: dict[Hashable, list[Channel]] = {}
        self._wanted: dict[Hashable, int] = {}
        # How many are being made, by any thread.
        self._making: dict[Hashable, int] = {}
        # Folders that are as new, of one place: a pool serves one sandbox.
        self._scratches: list[Scratch] = []
        self._lock = _thread.allocate_lock()
        self._owner = os.getpid()

    def give_back(self, channel: Channel) -> None:
        """End a channel. Its cgroup is free when the last process in it is gone, a moment later."""
        if channel.end() and channel.scratch.is_as_new():
            self._keep(channel.release())
        else:
            channel.scratch.close()
        if channel.group is not None:
            channel.group.leave()

    def _keep(self, scratch: Scratch) -> None:
        with self._lock:
            # Who makes one call only has no use for it, and may not come to remove it.
            ours = self._launcher.ahead and os.getpid() == self._owner
            kept = ours and len(self._scratches) < _SCRATCHES
            if kept:
                self._scratches.append(scratch)
        if not kept:
            scratch.close()

    def _made(self, blueprint: Blueprint) -> Channel:
        with self._lock:
            scratch = self._scratches.pop() if self._scratches else None
        try:
            return Channel(blueprint, self._launcher, scratch)
        except BaseException:
            if scratch is not None:
                scratch.close()
            raise

    def take(self, blueprint: Blueprint) -> Channel:
        if os.getpid() != self._owner:
            # A forked copy: what waits belongs to the original, and so does the lock's state.
            self._waiting, self._scratches, self._owner = {}, [], os.getpid()
            self._making = {}
            self._lock = _thread.allocate_lock()
        while True:
            with self._lock:
                waiting = self._waiting.get(blueprint.key)
                channel = waiting.pop(0) if waiting else None
                if waiting is not None and channel is None:
                    self._want_more(blueprint.key)
            if channel is None:
                return self._made(blueprint)
            if channel.alive:
                return channel
            self.give_back(channel)

    def again(self, blueprint: Blueprint, gone: Channel) -> Channel:
        """Another one for a session whose supervisor was gone before it was used."""
        scratch = gone.release()
        self.give_back(gone)
        return Channel(blueprint, self._launcher, scratch)

    def refill(self, blueprint: Blueprint) -> None:
        """To be called when a taken channel is done with: the next call will find another."""
        if not self._launcher.ahead:
            return
        with self._lock:
            waiting = self._waiting.pop(blueprint.key, [])
            # The newest last, so that the first is the one to give way.
            self._waiting[blueprint.key] = waiting
            making = self._making.get(blueprint.key, 0)
            missing = self._wanted.get(blueprint.key, READY) - len(waiting) - making
            missing = max(0, missing)
            # Calls that end together would otherwise each make all of them.
            self._making[blueprint.key] = making + missing
            given_up = []
            if len(self._waiting) > _POLICIES:
                oldest = next(iter(self._waiting))
                given_up = self._waiting.pop(oldest)
                self._wanted.pop(oldest, None)
        for left in range(missing, 0, -1):
            made: Channel | None
            try:
                made = self._made(blueprint)
            except (OSError, ToolError):
                made = None  # the call is done; if it cannot be mended, the next one will say so
            with self._lock:
                self._making[blueprint.key] -= left if made is None else 1
                if made is None:
                    break
                # Meanwhile all may have been closed, or this policy have given way.
                if self._waiting.get(blueprint.key) is waiting:
                    waiting.append(made)
                else:
                    given_up.append(made)
        for channel in given_up:
            self.give_back(channel)

    def _want_more(self, key: Hashable) -> None:
        """Calls come faster than worlds are made, which takes long but costs little."""
        self._wanted[key] = min(2 * self._wanted.get(key, READY), MOST_READY)

    def close(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        for channels in waiting.values():
            for channel in channels:
                self.give_back(channel)
        self._launcher.close()
        with self._lock:
            scratches, self._scratches = self._scratches, []
        for scratch in scratches:
            scratch.close()

    def __del__(self) -> None:
        self.close()
