"""A process that has prepared a service and forks once for each request: a template.

Runs in the tool's own sandbox, in the interpreter of the tool and without the package around it, on
every Python since 3.8. Descriptor 0 is one end of a line of packets to Tongs:

    Tongs ▶ what it has to know, then any number of requests, each with stdout and stderr
    Tongs ◀ READY with what was read while preparing, or COLD with a reason; for each request
            ENDED with its wait status, or LEFT if something it has started is still alive

A request that nobody has read when this end closes comes back to Tongs as a reset of the line.

One child is always forked ahead. It takes the next request from the line itself, answers it, stops
and is killed, so nothing that happens in memory reaches another request. What it leaves on the disk
of its own world is removed, and where that is not possible, or a process is left, the template
ends: the supervisor then ends everything else. One that cannot be forked answers a single request
itself.

Nobody waits for the memory of one that was killed: to free it takes longer than most requests do.
"""

from __future__ import annotations

import _socket
import ctypes
import errno
import gc
import json
import os
import resource
import select
import signal
import stat
import sys
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from tongs.core.annotations import Any, NoReturn

READY = b"R"
COLD = b"C"
ENDED = b"E"
LEFT = b"L"

# A template that nobody has asked for so many milliseconds ends; Tongs has given it up before.
IDLE = 65_000
# Exit codes of a child that has answered nothing.
_UNUSED = 253
_UNCONFINED = 254

_LARGEST = 16 * 1024
_MOST_READ = 2000
_THREADS = "/proc/self/task"
_MOST_OPEN = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
_ALL = 0x40000000  # __WALL: also children of a clone that sends no signal

_PR_SET_CHILD_SUBREAPER = 36
_LANDLOCK_CREATE_RULESET = 444
_LANDLOCK_RESTRICT_SELF = 446
# Neither signals nor abstract sockets leave the child.
_SCOPES = 3


def main() -> NoReturn:
    line = Line(os.dup(0))
    told, _ = line.receive()
    if told is None:
        os._exit(0)
    walls, _, opening = told.partition(b"\n")
    Template(line, json.loads(walls)).serve(opening)


class Line:
    """Packets to and from Tongs: `packets` as far as it is needed here."""

    def __init__(self, descriptor: int) -> None:
        self._socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, descriptor)

    def fileno(self) -> int:
        return self._socket.fileno()

    def say(self, *words: bytes) -> None:
        try:
            self._socket.send(b" ".join(words))
        except OSError:
            os._exit(0)  # Tongs is gone

    def receive(self) -> tuple[bytes | None, list[int]]:
        space = _socket.CMSG_SPACE(4 * 6)
        try:
            data, ancillary, _, _ = self._socket.recvmsg(
                _LARGEST + 1, space, _socket.MSG_CMSG_CLOEXEC
            )
        except OSError:
            return None, []
        if not data:
            return None, []
        numbers = b"".join(content for _, _, content in ancillary)
        descriptors = [
            int.from_bytes(numbers[at : at + 4], sys.byteorder) for at in range(0, len(numbers), 4)
        ]
        if data[:1] == b"i":
            return data[1:], descriptors
        with open(descriptors.pop(), "rb", buffering=0) as file:
            return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0), descriptors

    def close(self) -> None:
        self._socket.close()

    @classmethod
    def rehearse(cls) -> None:
        """Receive something: after a fork, the first touch of a page copies it."""
        here, there = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
        given = b"".join(number.to_bytes(4, sys.byteorder) for number in (1, 2))
        here.sendmsg([b"i"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, given)])
        line = cls(there.detach())
        for descriptor in line.receive()[1]:
            os.close(descriptor)
        line.close()
        here.close()


class Template:
    def __init__(self, line: Line, walls: dict[str, Any]) -> None:
        self._line = line
        self._abi: int = walls["abi"]
        self._memory: int = walls["memory"]
        self._world = World(walls["folders"], walls["around"])
        self._program = _loaded(walls["program"])
        self._runner = self._program.Runner()
        # Loaded now: from here on the code of the tool could stand in its place.
        self._call = ctypes.CDLL(None, use_errno=True).syscall

    def serve(self, opening: bytes) -> NoReturn:
        # What a request leaves behind becomes a child of this process, which then knows of it.
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        reads = Reads()
        out = self._program.own_stdout()
        cold = self._runner.prepare(opening)
        reads.finish()
        cold = cold or self._why_not(out) or reads.too_many
        if cold:
            self._serve_once(cold, out)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os.close(out)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(nowhere, standard)
        os.close(nowhere)
        gc.collect()
        gc.freeze()
        try:  # noqa: SIM105 - contextlib costs as much as the rest of this file
            # Whoever is woken in this class waits for the one that has woken it.
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
        except OSError:
            pass
        self._line.say(READY, json.dumps(reads.seen).encode())
        while self._serve_next():
            pass
        os._exit(0)

    def _serve_once(self, reason: str, out: int) -> NoReturn:
        """This very process answers, and that is all it does."""
        self._line.say(COLD, reason.encode("utf-8", "replace"))
        request, descriptors = self._line.receive()
        if request is None:
            os._exit(0)
        for descriptor in descriptors:
            os.close(descriptor)
        self._line.close()
        self._program.leave(self._runner.answer(request, out))
        os._exit(1)

    def _serve_next(self) -> bool:
        """One request, from the fork to the end; whether there can be another."""
        hears, says = os.pipe()
        os.set_blocking(says, False)
        child = os.fork()
        if child == 0:
            try:
                os.close(hears)
                self._answer(says)
            finally:
                os._exit(_UNUSED)
        os.close(says)
        kin = Kin(child)
        told, ended = False, None
        status = os.waitpid(child, os.WUNTRACED | _ALL)[1]
        while os.WIFSTOPPED(status):
            # Without a word it has stopped for reasons of its own, and its time runs out.
            if (code := _word(hears)) is not None:
                os.kill(child, signal.SIGKILL)
                ended = code << 8
                if told := kin.is_alone():
                    self._line.say(ENDED, b"%d" % ended)
            status = os.waitpid(child, os.WUNTRACED | _ALL)[1]
        kin.close()
        os.close(hears)
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) in (_UNUSED, _UNCONFINED):
            return False
        left = _is_something_left()
        if not told:
            self._line.say(LEFT if left else ENDED, b"%d" % (status if ended is None else ended))
            os.sched_yield()  # Tongs may have to run on this very processor
        return not left and self._world.restored()

    def _answer(self, says: int) -> None:
        os.setsid()
        try:
            self._confine()
        except OSError:
            os._exit(_UNCONFINED)
        _seed_anew()
        Line.rehearse()
        self._runner.rehearse()
        ours, _ = os.fstat(says), os.stat(_THREADS)
        poller = select.poll()
        poller.register(self._line.fileno(), select.POLLIN)
        request, descriptors = self._line.receive() if poller.poll(IDLE) else (None, [])
        if request is None:
            return
        self._line.close()
        # As `own_stdout` did for the template: what is printed goes to stderr.
        out, stderr = descriptors
        os.dup2(stderr, 1)
        os.dup2(stderr, 2)
        os.close(stderr)
        code = self._runner.answer(request, out)
        self._program.finish()
        _depart(code, says, ours)

    def _confine(self) -> None:
        """What keeps a request from the template and so from those that come after it.

        All other walls stand around both. In a domain of its own it can signal nobody outside, nor
        look into their memory.
        """
        words = (ctypes.c_uint64 * 3)(0, 0, _SCOPES)
        ruleset = self._call(_LANDLOCK_CREATE_RULESET, words, ctypes.c_size_t(24), 0)
        # As for every payload: what is refused is no news for the log of the machine.
        flags = 5 if self._abi >= 7 else 0
        if ruleset < 0 or self._call(_LANDLOCK_RESTRICT_SELF, ruleset, flags):
            raise OSError(ctypes.get_errno(), "landlock")
        os.close(ruleset)
        # Message queues would outlive it, and nobody could see them.
        resource.setrlimit(resource.RLIMIT_MSGQUEUE, (0, 0))

    def _why_not(self, out: int) -> str:
        """Why a fork would not do: what two processes would share, or one of them would lack."""
        ours = {0, 1, 2, out, self._line.fileno()}
        status = _text("/proc/self/status")
        threads = int(status.partition("\nThreads:")[2].split()[0])
        resident = int(_text("/proc/self/statm").split()[1]) * os.sysconf("SC_PAGE_SIZE")
        if threads > 1:
            return f"its import has started threads ({threads - 1})"
        if shared := [*_open_files(ours)]:
            return f"its import has left something open ({shared[0]})"
        # Writable, and not copied by a fork.
        if any(m.split(None, 2)[1][1::2] == "ws" for m in _text("/proc/self/maps").splitlines()):
            return "its import has made memory that processes share"
        if _is_something_left():
            return "its import has left a process running"
        if any(signal.getitimer(which)[0] for which in range(3)):
            return "its import has set a timer"
        if not self._world.is_as_before():
            return "its import has left temporary files"
        if resident > self._memory // 4:
            return "its import takes more than a quarter of limits.memory"
        return ""


class Reads:
    """What is read while the service prepares: if that changes, it has to prepare again."""

    def __init__(self) -> None:
        self.seen: dict[str, list[int]] = {}
        self._watching = True
        self._fixed = tuple(
            {os.path.realpath(path) + os.sep for path in (sys.prefix, sys.base_prefix)}
            | {
                path + os.sep
                for path in ("/usr", "/lib", "/lib64", "/proc", "/dev", "/run", "/sys")
            }
        )
        sys.addaudithook(self._heard)

    @property
    def too_many(self) -> str:
        return "its import reads too many files" if len(self.seen) > _MOST_READ else ""

    def finish(self) -> None:
        self._watching = False
        files = [getattr(module, "__file__", None) for module in [*sys.modules.values()]]
        for path in files:
            self._add(path)
        # A package that is installed or removed changes its folder.
        for path in sys.path:
            self._add(path, everywhere=True)

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._watching and event == "open":
            self._add(arguments[0])

    def _add(self, path: Any, *, everywhere: bool = False) -> None:
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        if not isinstance(path, str) or not path or len(self.seen) > _MOST_READ:
            return
        path = os.path.abspath(path)
        if path in self.seen or (path.startswith(self._fixed) and not everywhere):
            return
        try:
            facts = os.stat(path)
        except OSError:
            return
        folder = stat.S_ISDIR(facts.st_mode)
        # Of the tool's own folder everything that counts is watched by itself.
        if not folder or path.startswith(self._fixed):
            stamp = [facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size, facts.st_ino]
            self.seen[path] = stamp


class World:
    """The folders that belong to the call alone, and what was in them when nothing had run yet."""

    def __init__(self, folders: list[str], around: str) -> None:
        # In a private root what lies on another device was granted, and is not ours to touch.
        self._device = os.lstat(around).st_dev if around else None
        self._folders = [path for path in folders if self._is_ours(os.lstat(path))]
        self._before = self._state()
        # A folder's own times change with what is in it, so they are put back.
        self._times = {
            path: os.lstat(path) for path, facts in self._before.items() if stat.S_ISDIR(facts[0])
        }

    def is_as_before(self) -> bool:
        try:
            return self._state() == self._before
        except OSError:
            return False

    def restored(self) -> bool:
        """Remove whatever was added; whether all is as it was."""
        try:
            now = self._state()
            if now != self._before:
                # Those below before what they lie in.
                for path in sorted(now.keys() - self._before.keys(), reverse=True):
                    (os.rmdir if stat.S_ISDIR(now[path][0]) else os.unlink)(path)
                if self._state() != self._before:
                    return False
        except OSError:
            return False
        for path, facts in self._times.items():
            try:
                os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
            except OSError:
                break  # not permitted where nothing may be written
        return True

    def _state(self) -> dict[str, tuple[Any, ...]]:
        found: dict[str, tuple[Any, ...]] = {}
        for folder in self._folders:
            facts = os.lstat(folder)
            found[folder] = (facts.st_mode, facts.st_ino, *os.listxattr(folder))
            found.update(self._inside(folder))
        for kind in ("shm", "sem", "msg"):
            # System V keeps these without a process; the first line is a heading.
            found[kind] = (0, *_lines(f"/proc/sysvipc/{kind}")[1:])
        return found

    def _inside(self, top: str) -> Iterator[tuple[str, tuple[Any, ...]]]:
        pending = [top]
        while pending:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    facts = entry.stat(follow_symlinks=False)
                    if not self._is_ours(facts):
                        continue
                    if stat.S_ISDIR(facts.st_mode):
                        pending.append(entry.path)
                        yield entry.path, (facts.st_mode, facts.st_ino, *os.listxattr(entry.path))
                        continue
                    if stat.S_ISLNK(facts.st_mode):
                        yield entry.path, (facts.st_mode, facts.st_ino, os.readlink(entry.path))
                        continue
                    times = (facts.st_mtime_ns, facts.st_size)
                    attributes = os.listxattr(entry.path)
                    yield entry.path, (facts.st_mode, facts.st_ino, *times, *attributes)

    def _is_ours(self, facts: os.stat_result) -> bool:
        return self._device is None or facts.st_dev == self._device


def _loaded(path: str) -> Any:
    """The program of the service, as a module that nobody can import."""
    made = types.ModuleType("service")
    with open(path, "rb") as file:
        exec(compile(file.read(), path, "exec"), made.__dict__)
    return made


def _depart(code: int, says: int, ours: os.stat_result) -> NoReturn:
    """Say with which code this process ends, and stop: whoever waits for it kills it then.

    It lets go of all it holds before, but not while a thread could open something in its place.
    """
    try:
        # One link per thread, and the folder's own two. A tool may have closed the descriptor.
        if os.stat(_THREADS).st_nlink == 3 and os.path.samestat(os.fstat(says), ours):
            os.closerange(0, says)
            os.closerange(says + 1, _MOST_OPEN)
            os.write(says, bytes((code,)))
            os.kill(os.getpid(), signal.SIGSTOP)
    finally:
        os._exit(code)  # whatever the tool has made of the descriptor


def _word(hears: int) -> int | None:
    """The code that a child says it ends with, which is its own to choose."""
    ready, _, _ = select.select([hears], [], [], 0)
    return next(iter(os.read(hears, 1)), None) if ready else None


class Kin:
    """What the kernel knows of a child's threads and of whom it has started."""

    def __init__(self, child: int) -> None:
        self._child = child
        self._opened: list[int] = []
        try:
            for name in f"{child}/stat", f"{child}/task/{child}/children", "thread-self/children":
                self._opened.append(os.open(f"/proc/{name}", os.O_RDONLY))
        except OSError:
            self.close()
        self.is_alone()  # now, since after a fork the first touch of a page copies it

    def is_alone(self) -> bool:
        """Whether nobody is left but the child, which was killed: then none of it runs again."""
        try:
            # Its children become ours when it is gone, so those of the child are asked for first.
            facts, theirs, ours = [os.pread(each, _LARGEST, 0) for each in self._opened]
        except (OSError, ValueError):
            return False  # nothing of this is to be seen
        threads = int(facts.rpartition(b")")[2].split()[17])
        return threads == 1 and not theirs and ours.split() == [b"%d" % self._child]

    def close(self) -> None:
        while self._opened:
            os.close(self._opened.pop())


def _is_something_left() -> bool:
    """Whether a child is alive; those that have ended are forgotten."""
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG | _ALL)[0] == 0:
                return True
        except ChildProcessError:
            return False


def _open_files(known: set[int]) -> Iterator[str]:
    """What is open and would be shared: anything but devices that are the same for everybody."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) in known:
            continue
        try:
            facts = os.fstat(int(name))
            if not stat.S_ISCHR(facts.st_mode):
                yield os.readlink(f"/proc/self/fd/{name}")
        except OSError as error:
            if error.errno != errno.EBADF:  # the one that listed them
                yield f"descriptor {name}"


def _seed_anew() -> None:
    """Else every request would get the same random numbers; `random` sees to it by itself."""
    seed = getattr(sys.modules.get("numpy.random"), "seed", None)
    if callable(seed):
        seed()


def _text(path: str) -> str:
    with open(path, "rb", buffering=0) as file:
        return b"".join(iter(lambda: file.read(_LARGEST), b"")).decode("utf-8", "replace")


def _lines(path: str) -> list[str]:
    try:
        return _text(path).splitlines()
    except OSError:
        return []  # not for the call to see, and then not for it to make


if __name__ == "__main__":
    main()
