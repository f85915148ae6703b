"""What is known about files outside, and what can be changed without opening them."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.escape.attack import (
    KERNEL,
    LANDLOCK,
    OUT_WRITABLE,
    PROJECT_READABLE,
    Attack,
)
from tests.escape.scene import Scene

TOPIC = "metadata"

# Landlock has no right for these. Without a write list the filter refuses the calls as a whole.
METADATA = {LANDLOCK: "metadata"}
STAT = {LANDLOCK: "stat"}

CHANGES = {
    "the mode": "os.chmod({path}, 0o777)",
    "the mode by the newest call": 'call("fchmodat2", -100, os.fsencode({path}), 0o711, 0)',
    "the mode through a descriptor": "fd = os.open({path}, os.O_RDONLY); os.fchmod(fd, 0o777)",
    "the owner": "os.chown({path}, os.getuid(), os.getgid())",
    "the times": "os.utime({path}, (1, 1))",
    "an attribute": 'os.setxattr({path}, "user.escape", b"changed")',
}

# FS_IOC_GETFLAGS and FS_IOC_SETFLAGS, FS_NODUMP_FL: the owner needs no right to write for it.
FLAGS = """
import fcntl
fd = os.open({path}, os.O_RDONLY)
flags = ctypes.c_long()
fcntl.ioctl(fd, 0x80086601, flags)
flags.value |= 0x40
fcntl.ioctl(fd, 0x40086602, flags)
"""


def _changes(where: str, path: str, **how: Any) -> list[Attack]:
    return [
        Attack(f"{what} of a file {where}", TOPIC, script.format(path=path), **how)
        for what, script in CHANGES.items()
    ]


def _named(path: str) -> list[Attack]:
    """With a descriptor it takes the right to read, which no tier grants outside."""
    where = "outside, while a folder may be written"
    held = "the mode through a descriptor"
    changes = _changes(where, path, permissions=OUT_WRITABLE)
    return [
        change if change.name.startswith(held) else replace(change, declared=METADATA)
        for change in changes
    ]


def _toucher(scene: Scene) -> Mapping[str, Any]:
    """Somebody outside who works with their files."""
    over = threading.Event()

    def touch() -> None:
        while not over.wait(0.02):
            (scene.outside / "folder/inner.txt").read_bytes()

    worker = threading.Thread(target=touch)
    worker.start()
    scene.stack.callback(worker.join)
    scene.stack.callback(over.set)
    return {}


def _attribute(scene: Scene) -> Mapping[str, Any]:
    os.setxattr(scene.outside / "secret.txt", "user.note", scene.secret().encode())
    return {}


def _link(scene: Scene) -> Mapping[str, Any]:
    (scene.outside / "link").symlink_to("folder")
    return {}


def _old(scene: Scene) -> Mapping[str, Any]:
    os.utime(scene.outside / "secret.txt", (time.time() - 1000,) * 2)
    return {}


ATTACKS = (
    *_changes("outside", "W.target"),
    *_changes("in a folder for reading", 'W.project + "/data.txt"', permissions=PROJECT_READABLE),
    *_named("W.target"),
    *_changes(
        "in a folder for reading, while another may be written",
        'W.project + "/data.txt"',
        permissions=OUT_WRITABLE,
        declared=METADATA,
    ),
    Attack(
        "the flags of a file in a folder for reading",
        TOPIC,
        FLAGS.format(path='W.project + "/data.txt"'),
        permissions=PROJECT_READABLE,
        needs=KERNEL,
        otherwise=("ENOTTY", "EOPNOTSUPP"),
    ),
    Attack(
        "the flags of a file in a folder for reading, while another may be written",
        TOPIC,
        FLAGS.format(path='W.project + "/data.txt"'),
        permissions=OUT_WRITABLE,
        declared=METADATA,
        needs=KERNEL,
        otherwise=("ENOTTY", "EOPNOTSUPP"),
    ),
    Attack(
        "the mode of a file outside by a descriptor without rights",
        TOPIC,
        """
fd = os.open(W.target, os.O_PATH)
os.chmod(f"/proc/self/fd/{fd}", 0o777)
""",
    ),
    Attack("the mode of a folder outside", TOPIC, "os.chmod(W.outside, 0o777)"),
    Attack(
        "the size of a file outside", TOPIC, "escaped(os.stat(W.secret).st_size)", declared=STAT
    ),
    Attack(
        "whether a file exists outside",
        TOPIC,
        """
if os.access(W.secret, os.F_OK) and not os.access(W.secret + ".not", os.F_OK):
    escaped("it exists")
""",
        declared=STAT,
    ),
    Attack(
        "when a file outside was changed last",
        TOPIC,
        "escaped(os.stat(W.secret, follow_symlinks=False).st_mtime)",
        arrange=_old,
        declared=STAT,
    ),
    Attack(
        "where a link outside leads",
        TOPIC,
        'escaped(os.readlink(W.outside + "/link"))',
        arrange=_link,
        declared=STAT,
    ),
    Attack(
        "the attributes of a file outside",
        TOPIC,
        'print(os.getxattr(W.secret, "user.note").decode())',
        arrange=_attribute,
        declared=STAT,
    ),
    Attack(
        "how full the disk outside is",
        TOPIC,
        "escaped(os.statvfs(W.outside).f_bfree)",
        declared=STAT,
    ),
    Attack(
        "a working directory outside",
        TOPIC,
        "os.chdir(W.outside); escaped(os.getcwd())",
        declared=STAT,
    ),
    Attack(
        "watching what others do with their files",
        TOPIC,
        """
import select
watch = _libc.inotify_init1(0)
call("inotify_add_watch", watch, os.fsencode(W.outside + "/folder"), 0xFFF)
if select.select([watch], [], [], 3)[0]:
    escaped(os.read(watch, 4096))
""",
        arrange=_toucher,
    ),
    Attack(
        "watching a file system as a whole",
        TOPIC,
        """
escaped("watching", call("fanotify_init", 0x200, 0))
""",
        needs=KERNEL,
        otherwise=("ENOSYS", "EPERM"),
    ),
    Attack(
        "the handle of a file outside",
        TOPIC,
        """
import struct
handle = ctypes.create_string_buffer(struct.pack("=Ii", 128, 0), 136)
mount = ctypes.c_int()
call("name_to_handle_at", -100, os.fsencode(W.secret), handle, ctypes.byref(mount), 0)
escaped("handle", handle.raw[:32].hex())
""",
        needs=KERNEL,
        otherwise=("EOPNOTSUPP",),
    ),
)
