"""A tool that may only read gets a view it can write to, of which nothing may survive."""

from __future__ import annotations

from typing import Any

from tests.escape.attack import KERNEL, ROOT, Attack

from tongs.core.permissions import Permissions

TOPIC = "scratch view"

VIEW = Permissions(scratch=(".",))


def _in_view(name: str, script: str, **how: Any) -> Attack:
    how = {"permissions": VIEW, **how}
    return Attack(name, TOPIC, script, **how)


ATTACKS = (
    _in_view("a new file", 'open("new", "w").write("kept")'),
    _in_view("a file written over", 'open("data.txt", "w").write("evil")'),
    _in_view("a file written to", 'open("data.txt", "a").write("evil")'),
    _in_view("a file removed", 'os.unlink("data.txt")'),
    _in_view("a file renamed", 'os.rename("data.txt", "new")'),
    _in_view("a file cut short", 'os.truncate("data.txt", 0)'),
    _in_view(
        "a file exchanged with another",
        'call("renameat2", -100, b"data.txt", -100, b"out/old.txt", 2)',
    ),
    _in_view("a file by a hard link", 'os.link("data.txt", "new"); open("new", "a").write("evil")'),
    _in_view(
        "a file by a hard link made after it was changed",
        """
open("data.txt", "a").write("evil")
os.link("data.txt", "out/new")
open("out/new", "a").write("evil")
""",
    ),
    _in_view(
        "a file changed in memory",
        """
import mmap
with mmap.mmap(os.open("data.txt", os.O_RDWR), 0) as memory:
    memory[0:4] = b"evil"
""",
    ),
    _in_view(
        "a file opened for reading before another opens it for writing",
        """
first = os.open("data.txt", os.O_RDONLY)
open("data.txt", "a").write("evil")
os.write(os.open(f"/proc/self/fd/{first}", os.O_WRONLY), b"evil")
""",
    ),
    _in_view("the mode of a file", 'os.chmod("data.txt", 0o777)'),
    _in_view("the times of a file", 'os.utime("data.txt", (1, 1))'),
    _in_view("an attribute of a file", 'os.setxattr("data.txt", "user.escape", b"evil")'),
    _in_view(
        "the flags of a file",
        """
import fcntl
fd = os.open("data.txt", os.O_RDONLY)
flags = ctypes.c_long()
fcntl.ioctl(fd, 0x80086601, flags)
flags.value |= 0x40
fcntl.ioctl(fd, 0x40086602, flags)
""",
        needs=KERNEL,
        otherwise=("ENOTTY", "EOPNOTSUPP"),
    ),
    _in_view("a folder made", 'os.mkdir("new")'),
    _in_view("a folder removed with all in it", 'import shutil; shutil.rmtree("src")'),
    _in_view("a folder renamed", 'os.rename("src", "new")'),
    _in_view("a hook", 'open(".git/hooks/pre-commit", "w").write("evil")'),
    _in_view(
        "a nameless file given a name",
        """
fd = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)
call("linkat", -100, f"/proc/self/fd/{fd}".encode(), -100, b"new", 0x400)
""",
    ),
    _in_view(
        "a file outside through a link of one's own",
        'os.symlink(W.target, "new"); open("new", "a").write("evil")',
    ),
    _in_view(
        "a file outside through a link that was there",
        'open("linked/victim.txt", "a").write("evil")',
    ),
    _in_view("a secret through a link that was there", 'print(read("link"))'),
    _in_view(
        "a file that hides another", 'os.mknod("new", 0o20600, 0)', needs=ROOT, otherwise=("EPERM",)
    ),
    _in_view(
        "a folder led elsewhere by the view's own attributes",
        """
os.mkdir("new")
for name, value in (("redirect", os.fsencode(W.outside)), ("opaque", b"y"), ("metacopy", b"")):
    attempt(os.setxattr, "new", "user.overlay." + name, value)
print(attempt(read, "new/secret.txt"))
""",
    ),
    _in_view(
        "the folders that the view is made of",
        """
for line in read("/proc/self/mountinfo").splitlines():
    for option in line.split()[-1].split(","):
        name, _, path = option.partition("=")
        if name in ("upperdir", "workdir", "lowerdir"):
            for folder in path.split(":"):
                attempt(lambda: open(folder + "/data.txt", "w").write("evil"))
open("data.txt", "a").write("evil")
""",
    ),
    _in_view(
        "a daemon that goes on writing",
        """
reading, writing = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in (0, 1, 2):
            os.close(fd)
        while True:
            try:
                open("data.txt", "a").write("evil")
            except OSError:
                pass
            os.write(writing, b"x")
    os._exit(0)
os.wait()
os.read(reading, 1)
""",
        deadly=True,
    ),
    _in_view(
        "a payload that is killed while it writes",
        """
import signal
with open("data.txt", "a") as file:
    file.write("evil")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
""",
        deadly=True,
    ),
    _in_view(
        "a payload whose time is over while it writes",
        """
while True:
    open("data.txt", "a").write("evil")
""",
        deadly=True,
        timeout=0.5,
    ),
    _in_view(
        "a second step that finds what the first one left, and nobody else",
        'open("data.txt", "a").write("evil")',
        then='print(read("data.txt")); open("new", "w").write("evil")',
    ),
)
