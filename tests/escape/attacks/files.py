"""Files outside the lists, by name and by every trick that gives a file another name."""

from __future__ import annotations

import os
import pwd
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.escape.attack import (
    KERNEL,
    NEVER_GRANTED,
    OUT_WRITABLE,
    PROJECT_READABLE,
    ROOT,
    Attack,
    reading,
    writing,
)
from tests.escape.scene import Scene

from tongs.core.permissions import Permissions

READ = "files for reading"
WRITE = "files for writing"


def _reads(name: str, script: str, **how: Any) -> Attack:
    how = {"permissions": OUT_WRITABLE, **how}
    return Attack(name, READ, script, **how)


def _writes(name: str, script: str, **how: Any) -> Attack:
    how = {"permissions": OUT_WRITABLE, **how}
    return Attack(name, WRITE, script, **how)


def _writer(scene: Scene) -> Mapping[str, Any]:
    """Somebody outside who works on the project meanwhile."""
    over = threading.Event()
    scene.kept["kept off"] = kept_off = threading.Event()

    def work() -> None:
        while not over.wait(0.02):
            try:
                os.close(os.open(scene.project / "data.txt", os.O_WRONLY | os.O_NONBLOCK))
            except BlockingIOError:
                kept_off.set()

    worker = threading.Thread(target=work)
    worker.start()
    scene.stack.callback(worker.join)
    scene.stack.callback(over.set)
    return {}


def _kept_off(scene: Scene) -> Iterable[str]:
    if scene.kept["kept off"].is_set():
        yield "somebody outside was kept from writing their file"


def _users(scene: Scene) -> Mapping[str, Any]:
    return {"users": {user.pw_name for user in pwd.getpwall() if user.pw_uid != os.getuid()}}


def _temporary(scene: Scene) -> Mapping[str, Any]:
    """A temporary file of somebody else, where temporary files lie."""
    path = Path("/tmp", f"tongs-escape-{os.getpid()}")
    path.write_text(scene.secret())
    scene.stack.callback(path.unlink, missing_ok=True)
    return {"temporary": str(path)}


PLACES = (
    "/ /tmp /var/tmp /dev/shm /run /var/run /etc /usr /usr/lib /usr/local/bin /opt /var/lib /srv"
).split()


def _places(scene: Scene) -> Mapping[str, Any]:
    """Where everybody, or root, can write, and every mount. What is left there goes again."""
    mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    name = f"tongs-escape-{os.getpid()}"
    left = [Path(place, name) for place in dict.fromkeys((*PLACES, *mounts))]
    scene.kept["left"] = left
    scene.stack.callback(_remove, left)
    # A control shows that it can be done, and for that a few places are enough.
    return {"places": [str(path) for path in (left[: len(PLACES)] if scene.control else left)]}


def _remove(paths: Iterable[Path]) -> None:
    for path in filter(Path.exists, paths):
        path.unlink()


def _left(scene: Scene) -> Iterable[str]:
    for path in scene.kept["left"]:
        if path.exists():
            yield f"{path.parent} was written to"


LEAVE = """
# A mount that only this process sees may lead to a place that has another name outside.
mounts = [line.split()[4] for line in read("/proc/self/mountinfo").splitlines()] * (not W.control)
for path in {*W.places, *(f"{mount}/tongs-escape-{W.tongs}" for mount in mounts)}:
    try:
        with open(path, "w") as file:
            file.write("left")
        print("wrote to", path)
    except OSError:
        pass
"""

HANDLE = """
import struct
handle = ctypes.create_string_buffer(struct.pack("=Ii", 128, 0), 136)
mount = ctypes.c_int()
call("name_to_handle_at", -100, os.fsencode({path}), handle, ctypes.byref(mount), 0)
near = os.open({near}, os.O_RDONLY)
fd = call("open_by_handle_at", near, handle, os.O_RDONLY)
print(os.pread(fd, 100, 0).decode())
"""

ATTACKS = (
    _reads("a secret by its path", "print(read(W.secret))", permissions=PROJECT_READABLE),
    _reads(
        "a secret by its path, with nothing granted",
        "print(read(W.secret))",
        permissions=Permissions(),
    ),
    _reads(
        "a project that is not granted",
        "escaped(read(W.project + '/data.txt'))",
        permissions=Permissions(),
    ),
    _reads(
        "a file beside the only one granted",
        "escaped(read(W.project + '/src/main.py'))",
        permissions=reading("data.txt"),
    ),
    _reads(
        "a folder beside the only one granted",
        "escaped(os.listdir(W.project + '/.git'))",
        permissions=reading("src"),
    ),
    _reads("a secret by dots", 'print(read("../../outside/secret.txt"))'),
    _reads("a secret through a link that was there", 'print(read("link"))'),
    _reads("a secret through a linked folder that was there", 'print(read("linked/secret.txt"))'),
    _reads(
        "a secret through a link of one's own",
        'os.symlink(W.secret, "out/mine"); print(read("out/mine"))',
    ),
    _reads(
        "a secret through a link in the scratch folder",
        'path = W.scratch + "/mine"; os.symlink(W.secret, path); print(read(path))',
    ),
    _reads("a secret through the root of /proc", 'print(read("/proc/self/root" + W.secret))'),
    _reads(
        "a secret through the working directory of /proc",
        'print(read("/proc/self/cwd/../../outside/secret.txt"))',
    ),
    _reads(
        "a secret through a thread of /proc", 'print(read(f"/proc/thread-self/root{W.secret}"))'
    ),
    _reads(
        "a secret through the root of the first process",
        'print(read(f"/proc/1/root{W.secret}"))',
        needs=KERNEL,
        otherwise=("EACCES",),
    ),
    _reads(
        "a secret through the root of the supervisor",
        'print(read(f"/proc/{os.getppid()}/root{W.secret}"))',
    ),
    _reads(
        "a secret through a folder that was opened",
        """
here = os.open(".", os.O_RDONLY)
print(read(os.open("../../outside/secret.txt", os.O_RDONLY, dir_fd=here)))
""",
    ),
    _reads(
        "a secret by a descriptor without rights, opened again",
        'fd = os.open(W.secret, os.O_PATH); print(read(f"/proc/self/fd/{fd}"))',
    ),
    _reads("a secret by a hard link", 'os.link(W.secret, "out/mine"); print(read("out/mine"))'),
    _reads(
        "a secret by a hard link from a descriptor",
        """
fd = os.open(W.secret, os.O_PATH)
call("linkat", -100, f"/proc/self/fd/{fd}".encode(), -100, b"out/mine", 0x400)
print(read("out/mine"))
""",
    ),
    _reads(
        "a secret moved to where one may read",
        'os.rename(W.secret, "out/mine"); print(read("out/mine"))',
    ),
    _reads(
        "a secret exchanged with a file of one's own",
        """
call("renameat2", -100, os.fsencode(W.secret), -100, b"out/old.txt", 2)
print(read("out/old.txt"))
""",
    ),
    _reads(
        "a folder moved to where one may read",
        'os.rename(W.outside + "/folder", "out/mine"); print(read("out/mine/inner.txt"))',
    ),
    _reads(
        "a secret by the handle of its file",
        HANDLE.format(path="W.secret", near="W.project"),
        needs=ROOT,
        otherwise=("EPERM", "EOPNOTSUPP"),
    ),
    _reads("the names in a folder outside", "escaped(os.listdir(W.outside))"),
    _reads(
        "the names in the root",
        """
seen = os.listdir("/")
if {"boot", "sys", "srv", "media"} & set(seen):
    escaped(seen)
""",
    ),
    _reads("a program outside", 'os.system(W.outside + "/program")'),
    _reads(
        "a program outside by descriptor",
        """
fd = os.open(W.outside + "/program", os.O_PATH)
os.set_inheritable(fd, True)
arguments = (ctypes.c_char_p * 2)(b"program", None)
if os.fork() == 0:
    try:
        call("execveat", fd, b"", arguments, (ctypes.c_char_p * 1)(None), 0x1000)
    except OSError as error:
        refused(error)
    os._exit(1)
os.wait()
""",
    ),
    _reads("a temporary file of somebody else", "print(read(W.temporary))", arrange=_temporary),
    _reads(
        "the users of the machine",
        """
# A made-up list of one's own name may be there.
if W.users & {line.partition(":")[0] for line in read("/etc/passwd").splitlines()}:
    escaped("others are listed")
""",
        arrange=_users,
    ),
    _reads(
        "the passwords of the machine",
        "escaped(len(read('/etc/shadow')))",
        needs=ROOT,
        otherwise=("EACCES",),
    ),
    _reads(
        "the id of the machine",
        """
for path in ("/etc/machine-id", "/etc/hostname"):
    if attempt(read, path):
        escaped(path)
""",
    ),
    _reads(
        "what runs on the machine",
        """
if set(os.listdir("/run")) & W.names:
    escaped("it is listed")
""",
        arrange=lambda scene: {"names": set(os.listdir("/run"))},
        permissions=PROJECT_READABLE,
    ),
    _writes(
        "a new file outside", 'open(W.outside + "/new", "w").close()', permissions=PROJECT_READABLE
    ),
    _writes(
        "a new file in a folder for reading",
        'open("new", "w").close()',
        permissions=PROJECT_READABLE,
    ),
    _writes("a new file beside a folder for writing", 'open("new", "w").close()'),
    _writes(
        "a new file with nothing granted",
        'open(W.project + "/new", "w").close()',
        permissions=Permissions(),
        cwd=".",
    ),
    _writes(
        "a new file at any place that would keep it",
        LEAVE,
        arrange=_places,
        evidence=_left,
    ),
    _writes("a file outside, by its path", 'open(W.target, "w").write("changed")'),
    _writes(
        "a file outside through a link of one's own",
        'os.symlink(W.target, "out/mine"); open("out/mine", "w").write("changed")',
    ),
    _writes(
        "a file outside through a linked folder",
        'os.symlink(W.outside, "out/mine"); open("out/mine/new", "w").write("changed")',
    ),
    _writes(
        "a file outside through dots", 'open("out/../../../outside/new", "w").write("changed")'
    ),
    _writes(
        "a file outside by a hard link",
        'os.link(W.target, "out/mine"); open("out/mine", "w").write("changed")',
    ),
    _writes(
        "a file for reading by a hard link",
        'os.link("data.txt", "out/mine"); open("out/mine", "w").write("changed")',
    ),
    _writes("a file for reading moved to where one may write", 'os.rename("data.txt", "out/mine")'),
    _writes(
        "a file for reading exchanged with one's own",
        'call("renameat2", -100, b"data.txt", -100, b"out/old.txt", 2)',
    ),
    _writes(
        "a file of one's own moved outside", 'os.rename("out/old.txt", W.outside + "/old.txt")'
    ),
    _writes("a file of one's own moved over another", 'os.rename("out/old.txt", "data.txt")'),
    _writes("a file of one's own linked outside", 'os.link("out/old.txt", W.outside + "/old.txt")'),
    _writes(
        "a nameless file linked outside",
        """
fd = os.open("out", os.O_TMPFILE | os.O_RDWR, 0o600)
os.write(fd, b"changed")
call("linkat", -100, f"/proc/self/fd/{fd}".encode(), -100, os.fsencode(W.outside + "/new"), 0x400)
""",
    ),
    _writes(
        "a nameless file outside",
        """
fd = os.open(W.outside, os.O_TMPFILE | os.O_RDWR, 0o600)
escaped(os.write(fd, b"changed"))
""",
    ),
    _writes(
        "a file for reading, opened again for writing",
        """
fd = os.open("data.txt", os.O_RDONLY)
os.write(os.open(f"/proc/self/fd/{fd}", os.O_WRONLY), b"changed")
""",
    ),
    _writes(
        "a file for reading, opened again by /dev/fd",
        """
fd = os.open("data.txt", os.O_RDONLY)
os.write(os.open(f"/dev/fd/{fd}", os.O_WRONLY), b"changed")
""",
    ),
    _writes(
        "a file outside by a descriptor without rights",
        'fd = os.open(W.target, os.O_PATH); open(f"/proc/self/fd/{fd}", "w").write("changed")',
    ),
    _writes("a file outside cut short", "os.truncate(W.target, 0)"),
    _writes(
        "a file for reading cut short", 'os.truncate("data.txt", 0)', permissions=PROJECT_READABLE
    ),
    _writes(
        "a file for reading cut short by opening it",
        'os.open("data.txt", os.O_RDONLY | os.O_TRUNC)',
    ),
    _writes("a file outside removed", "os.unlink(W.target)"),
    _writes("a file for reading removed", 'os.unlink("data.txt")'),
    _writes("a folder outside made", 'os.mkdir(W.outside + "/new")'),
    _writes(
        "a folder outside removed",
        'os.unlink(W.outside + "/folder/inner.txt"); os.rmdir(W.outside + "/folder")',
    ),
    _writes("a link made outside", 'os.symlink("/", W.outside + "/new")'),
    _writes("a pipe made outside", 'os.mkfifo(W.outside + "/new")'),
    _writes("the project folder itself renamed", "os.rename(W.project, W.project + '.old')"),
    _writes("the folder for writing itself renamed", 'os.rename("out", "elsewhere")'),
    _writes(
        "a folder for writing that is a link",
        'open(W.project + "/linked/new", "w").write("changed")',
        permissions=writing("linked"),
        refused=NEVER_GRANTED,
    ),
    _writes(
        "a folder for writing below a link",
        'open(W.project + "/linked/folder/new", "w").write("changed")',
        permissions=writing("linked/folder"),
        refused=NEVER_GRANTED,
    ),
    _writes(
        "a file beside the only one for writing",
        'open("out/new", "w").write("changed")',
        permissions=writing("out/old.txt"),
    ),
    _writes(
        "another file in place of the only one for writing",
        'open(W.scratch + "/x", "w").close(); os.rename(W.scratch + "/x", "out/old.txt")',
        permissions=writing("out/old.txt"),
        declared={},
    ),
    _writes(
        "the interpreter that runs the payload",
        "escaped(os.open(os.path.dirname(os.path.realpath(W.python)), os.O_TMPFILE | os.O_WRONLY))",
        needs=ROOT,
        otherwise=("EACCES",),
    ),
    _writes(
        "a file for reading, kept from others by a lease",
        """
import fcntl, signal, time
signal.signal(signal.SIGIO, signal.SIG_IGN)
fd = os.open("data.txt", os.O_RDONLY)
for _ in range(50):
    if attempt(lambda: fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK) or True):
        break
time.sleep(0.2)
""",
        arrange=_writer,
        evidence=_kept_off,
    ),
    _writes(
        "a file for reading, changed in memory",
        """
import mmap
fd = os.open("data.txt", os.O_RDWR)
with mmap.mmap(fd, 0) as memory:
    memory[0:4] = b"evil"
""",
    ),
)
