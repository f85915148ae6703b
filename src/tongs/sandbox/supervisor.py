"""What happens outside the Tongs process: the supervisor of one call and the payload it starts.

    Tongs ── control ──▶ supervisor ── fork, exec ──▶ payload ──▶ whatever it starts
          ◀── status ───

The supervisor is a subreaper, so whatever the payload leaves behind, daemons included, becomes its
child. When the payload ends, when Tongs orders it, or when the control pipe breaks because Tongs is
gone, it kills all of them and only then reports. `forkserver.py` runs this file without the package
around it: standard library only, and of that only what an interpreter loads cheaply.
"""

from __future__ import annotations

import errno
import gc
import os
import resource
import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Callable, Collection, Iterable, Sequence

    from tongs.core.annotations import NoReturn, TypeAlias

    # Everything is plain data that marshal can carry to the fork server.
    RequestData: TypeAlias = tuple[
        list[bytes], dict[bytes, bytes], list[bytes], bytes, list[tuple[int, int]]
    ]
else:
    import _signal  # the public module builds enums, which costs half an interpreter start

SIGCHLD: int = _signal.SIGCHLD
SIGTERM: int = _signal.SIGTERM

# What the kernel shows as the name of a supervisor.
NAME = b"tongs-call"

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

# Status messages, each one atomic write. ACCEPTED: from here on the payload may have run.
ACCEPTED = b"A\n"
FAILED = b"F"
ENDED = b"E"

# Steps a payload goes through before it is the program; FAILED names one of them.
STEP_SUPERVISE = b"supervise"
STEP_DIRECTORY = b"directory"
STEP_PRIVILEGES = b"privileges"
STEP_LIMITS = b"limits"
STEP_START = b"start"


class Request:
    """One payload. `candidates` are the paths to try, in the order of its own PATH."""

    __slots__ = ("argv", "candidates", "cwd", "environment", "limits")

    def __init__(
        self,
        argv: list[bytes],
        environment: dict[bytes, bytes],
        candidates: list[bytes],
        cwd: bytes,
        limits: list[tuple[int, int]],
    ) -> None:
        self.argv = argv
        self.environment = environment
        self.candidates = candidates
        self.cwd = cwd
        self.limits = limits

    def data(self) -> RequestData:
        return (self.argv, self.environment, self.candidates, self.cwd, self.limits)


def supervise(request: Request, descriptors: Sequence[int], parent: int) -> NoReturn:
    """Be the supervisor of one payload, from the fork to the exit.

    Called in a freshly forked process with all signals blocked. `descriptors` are the payload's
    stdin, stdout and stderr, then control and status.
    """
    try:
        woken = prepare(parent, descriptors)
        run(request, descriptors, woken)
    finally:
        os._exit(1)


def prepare(parent: int, kept: Collection[int]) -> int:
    """Make this process ready to supervise, before it knows what; a descriptor of its signals."""
    # A collection would run finalisers that belong to the process this one is a copy of.
    gc.disable()
    close_all_but(kept)
    os.setsid()
    _take_name()
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    woken = wake_on(SIGCHLD, SIGTERM)
    prctl(PR_SET_PDEATHSIG, SIGTERM)
    if os.getppid() != parent:
        os._exit(1)
    return woken


def _take_name() -> None:
    """A name by which `ancestry` knows that a process was started by a tool."""
    try:
        descriptor = os.open("/proc/self/comm", os.O_WRONLY)
    except OSError:
        return
    os.write(descriptor, NAME)
    os.close(descriptor)


def run(request: Request, descriptors: Sequence[int], woken: int) -> NoReturn:
    """Run the payload to its end, kill what is left of its tree, report, exit."""
    stdin, stdout, stderr, control, status = _above_standard(descriptors)
    os.write(status, ACCEPTED)
    payload = os.fork()
    if payload == 0:
        _become(request, (stdin, stdout, stderr), status)
    for descriptor in (stdin, stdout, stderr):
        os.close(descriptor)
    ended = _wait(payload, control, woken)
    killed = payload not in ended
    ended.update(kill_tree())
    os.write(status, b"%s %d %d\n" % (ENDED, ended[payload], killed))
    os._exit(0)


def kill_tree(spare: Collection[int] = ()) -> dict[int, int]:
    """Kill and reap every descendant of this process but `spare` and theirs; wait statuses by pid.

    Only a subreaper gets hold of daemons. Everything is stopped before anything is killed, since a
    process that sees its child die could start another.
    """
    ended: dict[int, int] = {}
    children = _children_reader()
    me = os.getpid()
    while True:
        if not spare and reap(ended):
            return ended
        roots = [pid for pid in children(me) if pid not in spare]
        if not roots:
            if spare:
                return ended
            # The kernel's list can miss a child while another one exits; look again shortly.
            select.poll().poll(5)
            continue
        stopped: set[int] = set()
        while fresh := _tree(roots, children) - stopped:
            _signal_all(fresh, _signal.SIGSTOP)
            stopped |= fresh
        _signal_all(stopped, _signal.SIGKILL)
        for root in roots:
            try:  # noqa: SIM105 - contextlib costs more to import than this file
                ended[root] = os.waitpid(root, 0)[1]
            except ChildProcessError:
                pass


def children_of_this_process() -> list[int]:
    return _children_reader()(os.getpid())


def prctl(option: int, value: int) -> None:
    """prctl(2). Raises OSError where it is refused."""
    if not _prctl:
        _prctl.append(_find_prctl())
    if _prctl[0](option, value) != 0:
        raise OSError(errno.EPERM, f"prctl({option}) refused")


# Found once, before a fork, and inherited by the child.
_prctl: list[Callable[[int, int], int]] = []


def _find_prctl() -> Callable[[int, int], int]:
    try:
        # `ctypes` builds classes for every C type, which costs seven times what its core does.
        import _ctypes  # noqa: PLC0415 - loads a shared library, needed only where processes start

        address = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")  # type: ignore[arg-type]  # None: this program
        call = _ctypes.call_function
        return lambda option, value: int(call(address, (option, value, 0, 0, 0)))
    except (ImportError, AttributeError, OSError):
        import ctypes  # noqa: PLC0415 - heavy, and only where its private core changed

        function = ctypes.CDLL(None).prctl
        return lambda option, value: int(function(option, value, 0, 0, 0))


def _become(request: Request, standard: Sequence[int], status: int) -> NoReturn:
    """Turn this process into the payload, or say which step failed and exit."""
    step = STEP_SUPERVISE
    number = 0
    try:
        supervisor = os.getppid()
        prctl(PR_SET_PDEATHSIG, _signal.SIGKILL)
        if os.getppid() != supervisor:
            os._exit(127)
        os.setsid()
        for target, descriptor in enumerate(standard):
            os.dup2(descriptor, target)
        step = STEP_DIRECTORY
        os.chdir(request.cwd)
        step = STEP_PRIVILEGES
        prctl(PR_SET_NO_NEW_PRIVS, 1)
        step = STEP_LIMITS
        for limit, value in request.limits:
            _lower(limit, value)
        step = STEP_START
        _execute(request)
    except OSError as error:
        number = error.errno or 0
    except MemoryError:
        number = errno.ENOMEM
    finally:
        # The status pipe closes by itself when the program starts, so only failures come here.
        os.write(status, b"%s %s %d\n" % (FAILED, step, number))
        os._exit(127)


def _execute(request: Request) -> None:
    """As execvpe: the first candidate that can run; else the most telling error."""
    telling = errno.ENOENT
    for path in request.candidates:
        try:
            os.execve(path, request.argv, request.environment)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.ELOOP):
                telling = errno.EACCES
            elif error.errno not in (errno.ENOENT, errno.ENOTDIR):
                raise
    raise OSError(telling, os.strerror(telling))


def _lower(limit: int, value: int) -> None:
    """Set a resource limit, never above what this process was itself given."""
    hard = resource.getrlimit(limit)[1]
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(limit, (value, value))


def _wait(payload: int, control: int, woken: int) -> dict[int, int]:
    """Wait statuses of what has ended once the payload is over or has to be killed."""
    ended: dict[int, int] = {}
    poller = select.poll()
    poller.register(control, select.POLLIN)
    poller.register(woken, select.POLLIN)
    while True:
        ready = [descriptor for descriptor, _ in poller.poll()]
        signals = os.read(woken, 512) if woken in ready else b""
        reap(ended)
        if payload in ended or control in ready or _signal.SIGTERM in signals:
            return ended
        ended.clear()


def reap(ended: dict[int, int]) -> bool:
    """Collect what is over; True when this process has no children left."""
    try:
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return False
            ended[pid] = status
    except ChildProcessError:
        return True


def _tree(roots: Iterable[int], children: Callable[[int], list[int]]) -> set[int]:
    found: set[int] = set()
    pending = list(roots)
    while pending:
        pid = pending.pop()
        if pid not in found:
            found.add(pid)
            pending.extend(children(pid))
    return found


def _children_reader() -> Callable[[int], list[int]]:
    me = os.getpid()
    return _listed_children if os.path.exists(f"/proc/{me}/task/{me}/children") else _scanned()


def _listed_children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        # A child belongs to the thread that forked it.
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb", buffering=0) as listed:
                found.extend(map(int, (listed.read() or b"").split()))
    except OSError:
        pass  # it is gone, or just going
    return found


def _scanned() -> Callable[[int], list[int]]:
    """For kernels built without the list of children: every process, by its parent."""

    def children(pid: int) -> list[int]:
        found = []
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    with open(f"/proc/{name}/stat", "rb", buffering=0) as stat:
                        text = stat.read() or b""
                except OSError:
                    continue
                # The name before it may hold spaces and brackets of its own.
                if int(text.rpartition(b")")[2].split()[1]) == pid:
                    found.append(int(name))
        return found

    return children


def _signal_all(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        try:  # noqa: SIM105 - as above
            os.kill(pid, number)
        except OSError:
            pass  # already gone


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


def _above_standard(descriptors: Sequence[int]) -> list[int]:
    """The same files at numbers above 2, where dup2 onto the standard ones cannot hit them."""
    if min(descriptors) > 2:
        return list(descriptors)
    import fcntl  # noqa: PLC0415 - only where Tongs itself was started with closed descriptors

    return [
        number if number > 2 else fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 3)
        for number in descriptors
    ]


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
