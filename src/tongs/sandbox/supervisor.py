"""What happens outside the Tongs process: the supervisor of one session, which starts its payloads.

    Tongs ◀── channel ──▶ supervisor ── fork ──▶ payload, exec ──▶ whatever it starts

The supervisor makes the session's world and forks a payload in it, which reads the request from
the channel itself: nobody stands between a call and the program it starts. The supervisor is the
first process of a pid namespace, or a subreaper: either way what a payload leaves behind, daemons
included, is its child. When a payload ends, when Tongs orders it, or when the channel breaks
because Tongs is gone, it kills all of them and only then reports. `forkserver.py` runs this file
without the package around it: standard library only, and of that only what an interpreter loads
cheaply.
"""

from __future__ import annotations

import gc
import os
import select

if __package__:
    from tongs.sandbox import confine, kernel, packets, payload, tree, watchdog
    from tongs.sandbox.orders import ENDED, FAILED, KILL, NAME, ORDERED, READY
else:
    import confine  # type: ignore[import-not-found,no-redef]  # the same files
    import kernel  # type: ignore[import-not-found,no-redef]
    import packets  # type: ignore[import-not-found,no-redef]
    import payload  # type: ignore[import-not-found,no-redef]
    import tree  # type: ignore[import-not-found,no-redef]
    import watchdog  # type: ignore[import-not-found,no-redef]
    from orders import (  # type: ignore[import-not-found,no-redef]
        ENDED,
        FAILED,
        KILL,
        NAME,
        ORDERED,
        READY,
    )

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Collection, Sequence

    from tongs.core.annotations import NoReturn
    from tongs.sandbox.orders import Jail
else:
    import _signal  # the public module builds enums, which costs half an interpreter start

SIGCHLD: int = _signal.SIGCHLD
SIGTERM: int = _signal.SIGTERM

# A supervisor that nobody has used for so long ends itself.
IDLE = 60_000


def start(jail: Jail, channel: int, groups: Sequence[str] = ()) -> int:
    """Fork the supervisor of a session; its pid. Where that fails, the channel is told, and 0.

    Must be called in a process with one thread and all signals blocked.
    """
    user, group = os.geteuid(), os.getegid()
    try:
        # The C library's fork cannot make namespaces, and one made later would not hold its maker.
        pid = kernel.clone(jail.namespaces) if jail.namespaces else os.fork()
    except OSError as error:
        # A copy: the channel itself is closed by whoever opened it.
        told = packets.end(os.dup(channel))
        packets.send(told, b"%s %s %d" % (FAILED, confine.NAMESPACES, error.errno or 0))
        told.close()
        return 0
    if pid == 0:
        try:
            Supervisor(jail, channel, user, group).serve(groups)
        finally:
            os._exit(1)
    if user == 0 and any(jail.watched):
        # The kernel does not count the processes of root, so the watchdog must not be outrun.
        watchdog.take_precedence(pid)
    return pid


class Supervisor:
    """One session, from the fork to the exit."""

    def __init__(self, jail: Jail, channel: int, user: int, group: int) -> None:
        # A collection would run finalisers that belong to the process this one is a copy of.
        gc.disable()
        self._jail = jail
        self._user, self._group = user, group
        self._channel = packets.end(_alone_with(channel))
        self._woken = -1
        self._ruleset = -1
        self._payload = 0
        self._dismissed = False

    def serve(self, groups: Sequence[str]) -> NoReturn:
        try:
            proxy = self._prepare(groups)
            link = self._fork_payload()
        except confine.Failed as failed:
            self._say(b"%s %s %d" % (FAILED, failed.step, failed.number))
            os._exit(1)
        self._say(READY, proxy)
        for descriptor in proxy:
            os.close(descriptor)
        if self._is_taken(link):
            self._attend()
            while self._is_wanted() and self._is_taken(self._fork_payload()):
                self._attend()
        self._kill()
        os._exit(0)

    def _prepare(self, groups: Sequence[str]) -> list[int]:
        """Make the world. What has to be handed to Tongs: the listening socket of a proxy."""
        os.setsid()
        _take_name()
        _forget_arguments()
        _be_first_to_go()
        self._woken = wake_on(SIGCHLD, SIGTERM)
        confine.enter_groups(groups)
        self._ruleset = confine.make_world(self._jail, self._user, self._group)
        proxy = [confine.listen_inside()] if self._jail.proxy else []
        confine.give_up_privileges(self._jail)
        if self._jail.namespaces:
            # The kernel ends a namespace with its first process, so there is nothing to do first.
            kernel.prctl(kernel.PR_SET_PDEATHSIG, _signal.SIGKILL)
            kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
        else:
            kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
            kernel.prctl(kernel.PR_SET_PDEATHSIG, SIGTERM)
        # Whoever started this process may be gone already. What matters is that Tongs is there.
        if self._channel.fileno() in self._events({self._channel.fileno(): 0}, 0):
            os._exit(1)
        return proxy

    def _fork_payload(self) -> int:
        """A payload that reads the next request; a descriptor that says when it has one."""
        taken, take = os.pipe()
        self._payload = os.fork()
        if self._payload == 0:
            os.close(taken)
            payload.wait_and_become(self._jail, self._ruleset, self._channel, take)
        os.close(take)
        return taken

    def _is_taken(self, link: int) -> bool:
        """Whether the payload got a request; else it is dead, or nobody wants this session.

        A request that a dead one left unread must not be run by another: Tongs repeats it.
        """
        watched = {link: select.POLLIN, self._channel.fileno(): 0}
        try:
            while not self._dismissed:
                events = self._events(watched, IDLE)
                if link in events:
                    return bool(os.read(link, 1))
                if not events or self._channel.fileno() in events:
                    return False
            return False
        finally:
            os.close(link)

    def _is_wanted(self) -> bool:
        """Whether another request is there; it is left for the payload to read."""
        while not self._dismissed:
            if self._channel.fileno() in self._events({self._channel.fileno(): select.POLLIN}):
                message = packets.peek(self._channel)
                if message is None:
                    return False
                if message != KILL:
                    return True
                packets.receive(self._channel)  # it came when the payload was over already
        return False

    def _attend(self) -> None:
        """Wait for the end of the payload, end all it has left, and report."""
        ended, reason = self._wait()
        ended.update(self._kill())
        self._say(b"%s %d %s" % (ENDED, ended[self._payload], reason))

    def _events(self, watched: dict[int, int], timeout: int | None = None) -> dict[int, int]:
        """What of `watched` and the signals is there; the signals are taken in."""
        poller = select.poll()
        poller.register(self._woken, select.POLLIN)
        for descriptor, mask in watched.items():
            poller.register(descriptor, mask)
        events = dict(poller.poll(timeout))
        if self._woken in events and SIGTERM in os.read(self._woken, 512):
            self._dismissed = True
        return events

    def _wait(self) -> tuple[dict[int, int], bytes]:
        """Wait statuses once the payload is over or has to go, and in this case why."""
        ended: dict[int, int] = {}
        watched = any(self._jail.watched)
        stored = self._stored if self._jail.namespaces else None
        dog = watchdog.Watchdog(*self._jail.watched, self._members, stored)
        channel = self._channel.fileno()
        # A payload may be over before anybody waits for it, and the signal that said so taken in.
        events = {self._woken: select.POLLIN}
        while True:
            tree.reap(ended)
            if self._payload in ended:
                return ended, b""
            if channel in events or self._dismissed:
                # An order to kill, or Tongs is gone; it sends nothing else meanwhile.
                return ended, ORDERED
            # By the clock: signals that keep coming must not keep it from looking.
            if watched and not dog.wait() and (exceeded := dog.check()):
                return ended, exceeded
            ended.clear()
            timeout = dog.wait() if watched else None
            events = self._events({channel: select.POLLIN}, timeout)

    def _kill(self) -> dict[int, int]:
        return tree.kill_namespace() if self._jail.namespaces else tree.kill_tree()

    def _members(self) -> set[int]:
        if self._jail.namespaces:
            return {int(name) for name in os.listdir("/proc") if name.isdigit()} - {1}
        reader = tree.children_reader()
        me = os.getpid()
        return tree.descendants([me], reader) - {me}

    def _stored(self) -> int:
        """What the call keeps in its private root, which is memory, too."""
        facts = os.statvfs("/")
        return (facts.f_blocks - facts.f_bfree) * facts.f_frsize + _shared_memory()

    def _say(self, message: bytes, descriptors: Sequence[int] = ()) -> None:
        try:  # noqa: SIM105 - contextlib costs more to import than this file
            packets.send(self._channel, message, descriptors)
        except OSError:
            pass  # Tongs is gone, which the next poll tells as well


def _shared_memory() -> int:
    """Bytes in segments of System V, which outlive whoever has made them."""
    try:
        with open("/proc/sysvipc/shm", "rb", buffering=0) as file:
            lines = (file.read(1 << 20) or b"").splitlines()
    except OSError:
        return 0
    column = lines[0].split().index(b"rss")
    return sum(int(line.split()[column]) for line in lines[1:])


def wake_on(*signals: int) -> int:
    """A descriptor that gets a byte for each of these signals.

    All others take their default, for the payload too, which expects SIGPIPE to end it where
    Python ignores it. Of these few it gets the default because exec keeps no handlers.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    _signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in _signal.valid_signals():
        if number in signals:
            _signal.signal(number, lambda *_: None)
        elif _signal.getsignal(number) not in (_signal.SIG_DFL, None):
            _signal.signal(number, _signal.SIG_DFL)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
    return reading


def _alone_with(channel: int) -> int:
    """Close every other descriptor; the standard ones lead nowhere. The number it has then."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    if channel <= 2:
        import fcntl  # noqa: PLC0415 - only where Tongs itself was started with closed descriptors

        channel = fcntl.fcntl(channel, fcntl.F_DUPFD_CLOEXEC, 3)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    close_all_but((0, 1, 2, channel))
    return channel


def close_all_but(kept: Collection[int]) -> None:
    for name in os.listdir("/proc/self/fd"):
        number = int(name)
        if number in kept:
            os.set_inheritable(number, False)
            continue
        try:  # noqa: SIM105 - as above
            os.close(number)
        except OSError:
            pass  # the one that listed the folder


def _take_name() -> None:
    """A name by which `ancestry` knows that a process was started by a tool."""
    _written("/proc/self/comm", NAME)


def _forget_arguments() -> None:
    """What the process that was copied was started with is not for the call to read."""
    try:
        with open("/proc/self/stat", "rb", buffering=0) as file:
            fields = (file.read() or b"").rpartition(b")")[2].split()
        # arg_start and arg_end, as proc(5) counts them; two fields come before the bracket.
        start, end = int(fields[45]), int(fields[46])
        with open("/proc/self/mem", "r+b", buffering=0) as memory:
            memory.seek(start)
            memory.write(bytes(end - start))
    except (OSError, IndexError, ValueError):
        pass  # they are the tool's own most of the time


def _be_first_to_go() -> None:
    """When memory runs out, a tool goes before what people work with."""
    _written("/proc/self/oom_score_adj", b"1000")


def _written(path: str, data: bytes) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY)
    except OSError:
        return
    try:
        os.write(descriptor, data)
    except OSError:
        pass
    finally:
        os.close(descriptor)
