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
import gc
import json
import os
import resource
import signal
import sys
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tongs.core.annotations import Any, NoReturn

READY = b"R"
COLD = b"C"
ENDED = b"E"
LEFT = b"L"

# A template that nobody has asked for so many seconds ends; Tongs has given it up before.
IDLE = 65
# Exit codes of a child that has answered nothing.
_UNUSED = 253
_UNCONFINED = 254

_LARGEST = 16 * 1024
_THREADS = "/proc/self/task"
# Its links where there is one thread: one for each, and the folder's own two.
_ALONE = 3
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

    def wait_at_most(self, seconds: int) -> None:
        """From here on nothing comes when nothing came for so long."""
        limit = bytes((ctypes.c_long * 2)(seconds, 0))
        self._socket.setsockopt(_socket.SOL_SOCKET, _socket.SO_RCVTIMEO, limit)

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
        """Say and receive something: after a fork, the first touch of a page copies it."""
        here, there = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
        given = b"".join(number.to_bytes(4, sys.byteorder) for number in (1, 2))
        here.sendmsg([b"i"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, given)])
        line = cls(there.detach())
        for descriptor in line.receive()[1]:
            os.close(descriptor)
        line.say(ENDED, b"%d" % 0)
        line.close()
        here.close()


class Template:
    def __init__(self, line: Line, walls: dict[str, Any]) -> None:
        self._line = line
        self._abi: int = walls["abi"]
        self._memory: int = walls["memory"]
        self._looks = _loaded(walls["world"])
        self._world = self._looks.World(walls["folders"], walls["around"])
        self._program = _loaded(walls["program"])
        self._runner = self._program.Runner()
        # Loaded now: from here on the code of the tool could stand in its place.
        self._call = ctypes.CDLL(None, use_errno=True).syscall

    def serve(self, opening: bytes) -> NoReturn:
        # What a request leaves behind becomes a child of this process, which then knows of it.
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        reads = self._looks.Reads()
        out = self._program.own_stdout()
        cold = self._runner.prepare(opening)
        reads.finish()
        known = {0, 1, 2, out, self._line.fileno()}
        cold = cold or self._looks.why_not(known, self._world, self._memory) or reads.too_many
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
        self._line.wait_at_most(IDLE)
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
        hears, says = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        child = os.fork()
        if child == 0:
            try:
                os.close(hears)
                self._answer(says)
            finally:
                os._exit(_UNUSED)
        os.close(says)
        kin = Kin(child)
        _rehearse_the_end(child)
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
        left = self._looks.is_something_left()
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
        ours = os.fstat(says)
        _let_go(says, ours, b"", says, says, 0)
        request, descriptors = self._line.receive()
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


def _loaded(path: str) -> Any:
    """The program of the service, as a module that nobody can import."""
    made = types.ModuleType("service")
    with open(path, "rb") as file:
        exec(compile(file.read(), path, "exec"), made.__dict__)
    return made


def _depart(code: int, says: int, ours: os.stat_result) -> NoReturn:
    """Say with which code this process ends, and stop: whoever waits for it kills it then."""
    try:
        _let_go(says, ours, bytes((code,)), 0, _MOST_OPEN, signal.SIGSTOP)
    finally:
        os._exit(code)  # whatever the tool has made of the descriptor


def _let_go(says: int, ours: os.stat_result, word: bytes, first: int, last: int, stop: int) -> None:
    """Let go of all that is open from `first` to `last`, say the word, and signal this process.

    Not while a thread could open something in its place, or where a tool has closed `says`.
    """
    if os.stat(_THREADS).st_nlink == _ALONE and os.path.samestat(os.fstat(says), ours):
        os.closerange(first, says)
        os.closerange(says + 1, last)
        os.write(says, word)
        os.kill(os.getpid(), stop)


def _word(hears: int) -> int | None:
    """The code that a child says it ends with, which is its own to choose."""
    try:
        return next(iter(os.read(hears, 1)), None)
    except BlockingIOError:
        return None


def _rehearse_the_end(child: int) -> None:
    """Do what comes when a request has ended, without consequence: as in `Line.rehearse`."""
    hears, says = os.pipe()
    os.write(says, b"0")
    _word(hears)
    os.close(hears)
    os.close(says)
    os.kill(child, 0)
    Line.rehearse()


class Kin:
    """What the kernel knows of a child's threads and of whom it has started."""

    def __init__(self, child: int) -> None:
        self._child = child
        self._opened: list[int] = []
        try:
            for name in f"{child}/task", f"{child}/task/{child}/children", "thread-self/children":
                self._opened.append(os.open(f"/proc/{name}", os.O_RDONLY))
        except OSError:
            self.close()
        self.is_alone()  # now, since after a fork the first touch of a page copies it

    def is_alone(self) -> bool:
        """Whether nobody is left but the child, which was killed: then none of it runs again."""
        try:
            # Its children become ours when it is gone, so those of the child are asked for first.
            threads, theirs, ours = self._opened
            return (
                os.fstat(threads).st_nlink == _ALONE
                and not os.pread(theirs, 1, 0)
                and os.pread(ours, _LARGEST, 0).split() == [b"%d" % self._child]
            )
        except (OSError, ValueError):
            return False  # nothing of this is to be seen

    def close(self) -> None:
        while self._opened:
            os.close(self._opened.pop())


def _seed_anew() -> None:
    """Else every request would get the same random numbers; `random` sees to it by itself."""
    seed = getattr(sys.modules.get("numpy.random"), "seed", None)
    if callable(seed):
        seed()


if __name__ == "__main__":
    main()
