"""Programs that would run as somebody else, and what root could still do."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Mapping
from typing import Any

from tests.escape.attack import KERNEL, OUT_WRITABLE, PLAIN, PROJECT_READABLE, ROOT, Attack
from tests.escape.scene import Scene

TOPIC = "privileges"

STRANGER = 54321


def _setuid_program(scene: Scene) -> Mapping[str, Any]:
    """A program that runs as another user and waits for input.

    Root arranges one of its own; an ordinary user finds what the system has.
    """
    if os.geteuid() == 0:
        program = scene.project / "cat"
        shutil.copy(shutil.which("cat") or "/bin/cat", program)
        os.chown(program, STRANGER, STRANGER)
        program.chmod(0o6755)
        return {"program": str(program)}
    return {"program": shutil.which("su") or "/bin/su"}


# The new identity shows as soon as the program runs; a moment later it will not come any more.
SETUID = """
import subprocess, time
process = subprocess.Popen(
    [W.program], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
until = time.monotonic() + 0.3
while time.monotonic() < until and process.poll() is None:
    status = dict(line.split(":", 1) for line in read(f"/proc/{process.pid}/status").splitlines())
    real, effective = status["Uid"].split()[:2]
    if real != effective:
        escaped("user", effective)
        break
    time.sleep(0.01)
process.kill()
"""


def _strangers_file(scene: Scene) -> Mapping[str, Any]:
    file = scene.project / "strangers.txt"
    file.write_text(scene.secret())
    if os.geteuid() == 0:
        os.chown(file, STRANGER, STRANGER)
    file.chmod(stat.S_IRUSR if os.geteuid() == 0 else 0)
    return {"file": str(file)}


ATTACKS = (
    Attack(
        "a program that runs as another user",
        TOPIC,
        SETUID,
        permissions=PROJECT_READABLE,
        arrange=_setuid_program,
        control=PLAIN,
    ),
    Attack(
        "a program made to run as its owner",
        TOPIC,
        """
import shutil
shutil.copy(W.python, "out/program")
os.chmod("out/program", 0o4755)
import stat
if os.stat("out/program").st_mode & stat.S_ISUID:
    os.chown("out/program", 54321, 54321)
    escaped("it belongs to somebody else")
""",
        permissions=OUT_WRITABLE,
        needs=ROOT,
        otherwise=("EPERM",),
    ),
    Attack(
        "a file that only root may read, in a folder for reading",
        TOPIC,
        "print(read(W.file))",
        permissions=PROJECT_READABLE,
        arrange=_strangers_file,
        needs=ROOT,
        otherwise=("EACCES",),
    ),
    Attack(
        "becoming another user",
        TOPIC,
        "os.setuid(54321); escaped(os.getuid())",
        needs=ROOT,
        otherwise=("EPERM",),
    ),
    Attack(
        "leaving the groups",
        TOPIC,
        "os.setgroups([54321]); escaped(os.getgroups())",
        needs=ROOT,
        otherwise=("EPERM",),
    ),
    Attack(
        "the capabilities of root",
        TOPIC,
        """
for line in read("/proc/self/status").splitlines():
    if line.startswith(("CapEff", "CapPrm", "CapInh", "CapAmb")) and int(line.split()[1], 16):
        escaped(line)
# Something only they allow, for an ordinary user to be refused.
os.setgroups([])
""",
        needs=ROOT,
        otherwise=("EPERM",),
    ),
    Attack(
        "new privileges at exec",
        TOPIC,
        """
if "NoNewPrivs:\\t0" in read("/proc/self/status"):
    escaped("exec may add privileges")
""",
        control=PLAIN,
    ),
    Attack(
        "the name of the machine",
        TOPIC,
        """
name = os.uname().nodename.encode()
call("sethostname", name, len(name))
escaped("set to what it was")
""",
        needs=ROOT,
        otherwise=("EPERM",),
    ),
    Attack(
        "the log of the kernel",
        TOPIC,
        """
content = ctypes.create_string_buffer(4096)
escaped(call("syslog", 3, content, 4096), "bytes")
""",
        needs=ROOT,
        otherwise=("EPERM",),
    ),
    Attack(
        "a program loaded into the kernel",
        TOPIC,
        """
import struct
attributes = ctypes.create_string_buffer(struct.pack("=IIIII", 2, 4, 8, 1, 0), 128)
escaped("map", call("bpf", 0, attributes, 128))
""",
        needs=ROOT,
        otherwise=("EPERM",),
    ),
    Attack(
        "page faults handled by oneself",
        TOPIC,
        'escaped(call("userfaultfd", 1))',
        needs=KERNEL,
        otherwise=("ENOSYS", "EPERM"),
    ),
    Attack(
        "counters of the processor",
        TOPIC,
        """
import struct
attributes = ctypes.create_string_buffer(128)
struct.pack_into("=IIQ", attributes, 0, 1, 128, 1)
struct.pack_into("=Q", attributes, 40, 0b1100000)
escaped(call("perf_event_open", attributes, 0, -1, -1, 0))
""",
        needs=KERNEL,
        otherwise=("EACCES", "ENOSYS"),
    ),
    Attack(
        "a module for the kernel",
        TOPIC,
        """
# Garbage, which the kernel looks at only for somebody who may load modules.
try:
    call("init_module", ctypes.create_string_buffer(64), 64, b"")
except OSError as error:
    if error.errno not in (errno.EPERM, errno.ENOSYS):
        escaped(error)
    else:
        raise
""",
        needs=KERNEL,
        otherwise=("EPERM", "ENOSYS"),
    ),
    Attack(
        "a setting of the kernel",
        TOPIC,
        """
# Writes what is there already: the right to do so is the escape.
with open("/proc/sys/kernel/core_pattern", "r+") as file:
    value = file.read()
    file.seek(0)
    file.write(value)
escaped("core_pattern, which names a program that runs as root")
""",
        needs=ROOT,
        otherwise=("EACCES",),
    ),
    Attack(
        "the keys for emergencies",
        TOPIC,
        'escaped(os.open("/proc/sysrq-trigger", os.O_WRONLY))',
        needs=KERNEL,
        otherwise=("EACCES", "ENOENT"),
    ),
    Attack(
        "all memory of the machine",
        TOPIC,
        """
for path in ("/proc/kcore", "/dev/mem", "/dev/port"):
    fd = attempt(os.open, path, os.O_RDONLY)
    if fd is not None:
        escaped(path)
""",
        needs=KERNEL,
        otherwise=("EACCES", "ENOENT", "EPERM"),
    ),
    Attack(
        "settings of devices and file systems",
        TOPIC,
        """
for path in ("/sys/class/net", "/sys/kernel", "/sys/fs"):
    if attempt(os.listdir, path):
        escaped(path)
""",
    ),
    Attack(
        "a control group of one's own",
        TOPIC,
        """
made = False
for top in ("/sys/fs/cgroup", "/sys/fs/cgroup/pids", "/sys/fs/cgroup/unified"):
    path = f"{top}/tongs-escape-{os.getpid()}"
    if os.path.isdir(top) and attempt(lambda: os.mkdir(path) or True):
        os.rmdir(path)
        escaped(path)
        break
else:
    raise FileNotFoundError(2, "no control groups")
""",
        needs=ROOT,
        otherwise=("EACCES", "EROFS", "EPERM", "ENOENT"),
    ),
    Attack(
        "higher limits for oneself",
        TOPIC,
        """
import resource
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
call("prlimit64", 0, resource.RLIMIT_NOFILE, (ctypes.c_ulong * 2)(hard + 1, hard + 1), 0)
escaped(hard + 1)
""",
        needs=KERNEL,
        otherwise=("EPERM",),
    ),
)
