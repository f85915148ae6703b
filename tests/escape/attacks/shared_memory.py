"""Memory, queues and semaphores that all processes of a machine share by name."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.escape.attack import KERNEL, OUT_WRITABLE, Attack
from tests.escape.scene import Scene

TOPIC = "shared memory and queues"

_NUMBERS = {
    # In the order of _NAMES.
    "x86_64": (29, 30, 31, 68, 69, 71, 64, 66, 240, 241, 242),
    "aarch64": (194, 196, 195, 186, 189, 187, 190, 191, 180, 181, 182),
}
_NAMES = (
    "shmget shmat shmctl msgget msgsnd msgctl semget semctl mq_open mq_unlink mq_timedsend"
).split()


def _call(name: str, *arguments: Any) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    number = _NUMBERS[os.uname().machine][_NAMES.index(name)]
    result = int(libc.syscall(number, *arguments))
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), name)
    return result


def _key() -> int:
    return 0x70000000 | os.getpid()


def _segment(scene: Scene) -> Mapping[str, Any]:
    number = _call("shmget", _key(), 4096, 0o1666)
    scene.stack.callback(_call, "shmctl", number, 0, 0)
    address = _call("shmat", number, 0, 0)
    secret = scene.secret().encode()
    ctypes.memmove(address, secret, len(secret))
    ctypes.CDLL(None).shmdt(ctypes.c_void_p(address))
    return {"key": _key(), "number": number}


def _queue(scene: Scene) -> Mapping[str, Any]:
    number = _call("msgget", _key(), 0o1666)
    scene.stack.callback(_call, "msgctl", number, 0, 0)
    secret = scene.secret().encode()
    message = ctypes.create_string_buffer((1).to_bytes(8, "little") + secret)
    _call("msgsnd", number, message, len(secret), 0)
    return {"key": _key(), "number": number}


def _semaphore(scene: Scene) -> Mapping[str, Any]:
    number = _call("semget", _key(), 1, 0o1666)
    scene.stack.callback(_call, "semctl", number, 0, 0)
    scene.kept["semaphore"] = number
    return {"key": _key()}


def _raised(scene: Scene) -> Iterable[str]:
    value = _call("semctl", scene.kept["semaphore"], 0, 12)
    if value:
        yield f"the semaphore was raised to {value}"


def _posix_queue(scene: Scene) -> Mapping[str, Any]:
    name = f"tongs-escape-{os.getpid()}"
    number = _call("mq_open", name.encode(), os.O_CREAT | os.O_RDWR, 0o600, 0)
    scene.stack.callback(os.close, number)
    scene.stack.callback(_call, "mq_unlink", name.encode())
    secret = scene.secret().encode()
    _call("mq_timedsend", number, secret, len(secret), 0, 0)
    return {"queue": name}


def _file(scene: Scene) -> Mapping[str, Any]:
    path = Path("/dev/shm", f"tongs-escape-{os.getpid()}")
    path.write_text(scene.secret())
    scene.stack.callback(path.unlink, missing_ok=True)
    return {"file": str(path)}


def _left(scene: Scene) -> Iterable[str]:
    path = Path("/dev/shm", f"tongs-escape-{os.getpid()}-left")
    if path.exists():
        path.unlink()
        yield "a file was left in /dev/shm"


def _left_segment(scene: Scene) -> Iterable[str]:
    try:
        number = _call("shmget", _key() ^ 1, 0, 0)
    except FileNotFoundError:
        return
    _call("shmctl", number, 0, 0)
    yield "a segment was left"


ATTACKS = (
    Attack(
        "a segment of System V",
        TOPIC,
        """
number = call("shmget", W.key, 0, 0)
print(ctypes.string_at(call("shmat", number, 0, 0o10000), 60).decode())
""",
        arrange=_segment,
    ),
    Attack(
        "a segment of System V by its number",
        TOPIC,
        'print(ctypes.string_at(call("shmat", W.number, 0, 0o10000), 60).decode())',
        arrange=_segment,
    ),
    Attack(
        "a segment of System V left behind",
        TOPIC,
        'call("shmget", W.segment, 4096, 0o1666)',
        arrange=lambda scene: {"segment": _key() ^ 1},
        evidence=_left_segment,
    ),
    Attack(
        "a queue of System V",
        TOPIC,
        """
number = call("msgget", W.key, 0)
message = ctypes.create_string_buffer(108)
call("msgrcv", number, message, 99, 0, 0o4000)
print(message.raw[8:].strip(b"\\0").decode())
""",
        arrange=_queue,
    ),
    Attack(
        "a semaphore of System V",
        TOPIC,
        """
import struct
call("semop", call("semget", W.key, 0, 0), struct.pack("=Hhh", 0, 5, 0), 1)
""",
        arrange=_semaphore,
        evidence=_raised,
    ),
    Attack(
        "a queue of POSIX",
        TOPIC,
        """
queue = call("mq_open", W.queue.encode(), 0o4000, 0, 0)
message = ctypes.create_string_buffer(9000)
call("mq_timedreceive", queue, message, 8999, 0, 0)
print(message.value.decode())
""",
        arrange=_posix_queue,
        needs=KERNEL,
        otherwise=("ENOSYS",),
    ),
    Attack(
        "a list of what is shared",
        TOPIC,
        """
if f"{W.number}" in read("/proc/sysvipc/shm").split():
    escaped("it is listed")
""",
        arrange=_segment,
    ),
    Attack("a file in shared memory", TOPIC, "print(read(W.file))", arrange=_file),
    Attack(
        "a file left in shared memory",
        TOPIC,
        'open(f"/dev/shm/tongs-escape-{W.tongs}-left", "w").close()',
        evidence=_left,
        permissions=OUT_WRITABLE,
    ),
    Attack(
        "the names in shared memory",
        TOPIC,
        """
if os.path.basename(W.file) in os.listdir("/dev/shm"):
    escaped("it is listed")
""",
        arrange=_file,
    ),
)
