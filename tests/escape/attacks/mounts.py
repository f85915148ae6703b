"""Another view of the file system: mounts, namespaces, roots."""

from __future__ import annotations

from typing import Any

from tests.escape.attack import NESTING, OUT_WRITABLE, PROJECT_READABLE, ROOT, Attack

TOPIC = "mounts and namespaces"

# A world of one's own first, where it can be had: then nothing of the host is changed by a control.
APART = """
try:
    call("unshare", 0x10020000)
except OSError as error:
    refused(error)
"""
NO_NESTING = ("EPERM", "ENOSPC", "EACCES", "EINVAL")


def _mounts(name: str, script: str, **how: Any) -> Attack:
    how = {"permissions": OUT_WRITABLE, "needs": NESTING, "otherwise": NO_NESTING, **how}
    return Attack(name, TOPIC, APART + script, **how)


def _namespace(name: str, flag: int) -> Attack:
    # A user namespace comes with it, so that an ordinary user can have the others, too.
    script = f'call("unshare", 0x10000000 | {flag:#x}); escaped("a namespace")'
    return Attack(f"a {name} namespace", TOPIC, script, needs=NESTING, otherwise=NO_NESTING)


ATTACKS = (
    _mounts(
        "a folder outside shown inside",
        """
call("mount", os.fsencode(W.outside), b"out", 0, 0x1000, 0)
print(read("out/secret.txt"))
""",
    ),
    _mounts(
        "the root shown inside",
        """
call("mount", b"/", b"out", 0, 0x5000, 0)
escaped("mounted")
""",
    ),
    _mounts(
        "a file system of one's own over the project",
        """
call("mount", b"none", os.fsencode(W.project), b"tmpfs", 0, 0)
escaped("mounted")
""",
    ),
    _mounts(
        "a read-only folder made writable",
        """
attempt(call, "mount", os.fsencode(W.project), os.fsencode(W.project), 0, 0x1000, 0)
call("mount", 0, os.fsencode(W.project), 0, 0x1020, 0)
escaped("remounted")
""",
        permissions=PROJECT_READABLE,
    ),
    _mounts(
        "a mount taken away",
        """
attempt(call, "mount", os.fsencode(W.project), os.fsencode(W.project), 0, 0x1000, 0)
call("umount2", os.fsencode(W.project), 2)
escaped("unmounted")
""",
    ),
    _mounts(
        "every mount taken away, one after the other",
        """
attempt(call, "mount", os.fsencode(W.project), os.fsencode(W.project), 0, 0x1000, 0)
gone = 0
for line in reversed(read("/proc/self/mountinfo").splitlines()):
    try:
        call("umount2", os.fsencode(line.split()[4]), 2)
        gone += 1
    except OSError as error:
        last = error
if gone:
    escaped(gone, "unmounted")
else:
    raise last
""",
    ),
    _mounts(
        "a copy of a mount by the new calls",
        """
tree = call("open_tree", -100, os.fsencode(W.outside), 1)
call("move_mount", tree, b"", -100, b"out", 4)
print(read("out/secret.txt"))
""",
    ),
    _mounts(
        "a new file system by the new calls",
        """
system = call("fsopen", b"tmpfs", 0)
call("fsconfig", system, 6, 0, 0, 0)
escaped(call("fsmount", system, 0, 0))
""",
    ),
    _mounts(
        "a file system picked up by the new calls",
        """
escaped(call("fspick", -100, b"/", 0))
""",
    ),
    _mounts(
        "the attributes of a mount",
        """
attempt(call, "mount", os.fsencode(W.project), os.fsencode(W.project), 0, 0x1000, 0)
attributes = (ctypes.c_ulong * 4)(0, 1, 0, 0)
call("mount_setattr", -100, os.fsencode(W.project), 0x8000, attributes, 32)
escaped("changed")
""",
    ),
    _mounts(
        "another root",
        """
attempt(call, "mount", b"none", b"out", b"tmpfs", 0, 0)
os.chdir("out")
call("pivot_root", b".", b".")
escaped("pivoted")
""",
    ),
    _mounts(
        "a root within the root, and out of it again",
        """
os.mkdir("out/jail")
here = os.open("/", os.O_RDONLY)
call("chroot", b"out/jail")
os.fchdir(here)
for _ in range(40):
    os.chdir("..")
call("chroot", b".")
escaped("left the root")
""",
    ),
    _mounts(
        "a new /proc, which shows more",
        """
attempt(call, "unshare", 0x20000000)
if os.fork() == 0:
    try:
        call("mount", b"proc", b"out", b"proc", 0, 0)
        escaped("mounted")
    except OSError as error:
        refused(error)
    os._exit(0)
os.wait()
""",
    ),
    _namespace("user", 0),
    _namespace("mount", 0x00020000),
    _namespace("network", 0x40000000),
    _namespace("process", 0x20000000),
    Attack(
        "a user namespace by clone",
        TOPIC,
        """
child = call("clone", 0x10000000 | 17, 0, 0, 0, 0)
if child == 0:
    escaped("a namespace")
    os._exit(0)
os.waitpid(child, 0)
""",
        needs=NESTING,
        otherwise=NO_NESTING,
    ),
    Attack(
        "a user namespace by the newer clone, whose flags no filter sees",
        TOPIC,
        """
import struct
packed = struct.pack("=QQQQQQQQ", 0x10000000, 0, 0, 0, 17, 0, 0, 0)
arguments = ctypes.create_string_buffer(packed, 64)
child = call("clone3", arguments, 64)
if child == 0:
    escaped("a namespace")
    os._exit(0)
os.waitpid(child, 0)
""",
        needs=NESTING,
        otherwise=(*NO_NESTING, "ENOSYS"),
    ),
    Attack(
        "the namespace of a process outside",
        TOPIC,
        """
namespace = os.open(f"/proc/{W.victim}/ns/uts", os.O_RDONLY)
call("setns", namespace, 0)
escaped("entered")
""",
        needs=ROOT,
        otherwise=("EPERM",),
    ),
    Attack(
        "all namespaces of a process outside by its descriptor",
        TOPIC,
        """
process = call("pidfd_open", W.victim, 0)
call("setns", process, 0x04000000)
escaped("entered")
""",
        needs=ROOT,
        otherwise=("EPERM",),
    ),
    Attack(
        "the namespaces of the supervisor",
        TOPIC,
        """
namespace = os.open(f"/proc/{os.getppid()}/ns/mnt", os.O_RDONLY)
call("setns", namespace, 0)
print(read(W.secret))
""",
        needs=ROOT,
        otherwise=("EPERM",),
    ),
)
