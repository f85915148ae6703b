"""The process that becomes the program of a tool: told what to run, then locked in.

Part of the supervisor; runs without the package around it.
"""

from __future__ import annotations

import errno
import marshal
import os

if __package__:
    from tongs.sandbox import confine, kernel, packets
    from tongs.sandbox.orders import ACCEPTED, DIRECTORY, FAILED, KILL, START, SUPERVISE, Request
else:
    import confine  # type: ignore[import-not-found,no-redef]  # the same files
    import kernel  # type: ignore[import-not-found,no-redef]
    import packets  # type: ignore[import-not-found,no-redef]
    from orders import (  # type: ignore[import-not-found,no-redef]
        ACCEPTED,
        DIRECTORY,
        FAILED,
        KILL,
        START,
        SUPERVISE,
        Request,
    )

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    import signal as _signal

    from tongs.core.annotations import NoReturn
    from tongs.sandbox.orders import Jail
else:
    import _signal  # the public module builds enums, which costs half an interpreter start


def wait_and_become(jail: Jail, ruleset: int, channel: _socket.socket, take: int) -> NoReturn:
    """Wait for a request on `channel`, lock this process in, become its program.

    `take` gets a byte when there is a request. Where it fails, the channel is told why.
    """
    step = SUPERVISE
    number = 0
    try:
        supervisor = os.getppid()
        kernel.prctl(kernel.PR_SET_PDEATHSIG, _signal.SIGKILL)
        if os.getppid() != supervisor:
            os._exit(127)
        os.setsid()
        confine.lock_ahead(jail, ruleset)
        request = _awaited(channel, take)
        for name, data in request.files.items():
            _put(jail.files + b"/" + name, data)
        step = DIRECTORY
        os.chdir(request.cwd)
        confine.lock(jail, ruleset, request.limits)
        step = START
        _execute(request)
    except confine.Failed as failed:
        step, number = failed.step, failed.number
    except OSError as error:
        number = error.errno or 0
    except MemoryError:
        number = errno.ENOMEM
    finally:
        # The channel closes by itself when the program starts, so only failures come here.
        packets.send(channel, b"%s %s %d" % (FAILED, step, number))
        os._exit(127)


def _awaited(channel: _socket.socket, take: int) -> Request:
    """The request, with its standard descriptors in place."""
    message: bytes | None = KILL
    descriptors: list[int] = []
    while message == KILL:
        message, descriptors = packets.receive(channel)
    if message is None:
        os._exit(0)
    os.write(take, b"\0")
    os.close(take)
    packets.send(channel, ACCEPTED)
    for target, descriptor in enumerate(descriptors):
        os.dup2(descriptor, target)
    return Request(**marshal.loads(message))


def _put(path: bytes, data: bytes) -> None:
    """A new file that its owner may read and, where it has a #! line, run."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:  # noqa: SIM105 - contextlib costs more to import than this file
        os.unlink(path)
    except FileNotFoundError:
        pass
    with open(os.open(path, flags, 0o500), "wb", buffering=0) as file:
        rest = memoryview(data)
        while rest:
            rest = rest[file.write(rest) :]


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
