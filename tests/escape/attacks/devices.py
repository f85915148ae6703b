"""Devices, and dumps of memory."""

from __future__ import annotations

from tests.escape.attack import KERNEL, OUT_WRITABLE, PLAIN, ROOT, Attack

TOPIC = "devices and core dumps"

ATTACKS = (
    Attack(
        "a device file for all memory",
        TOPIC,
        'os.mknod("out/mem", 0o20600, os.makedev(1, 1)); escaped("made")',
        permissions=OUT_WRITABLE,
        needs=ROOT,
        otherwise=("EPERM",),
    ),
    Attack(
        "a device file for a disk",
        TOPIC,
        'os.mknod("out/disk", 0o60600, os.makedev(7, 0)); escaped("made")',
        permissions=OUT_WRITABLE,
        needs=ROOT,
        otherwise=("EPERM",),
    ),
    Attack(
        "a device file in the scratch folder",
        TOPIC,
        """
path = W.scratch + "/null"
os.mknod(path, 0o20600, os.makedev(1, 3))
escaped("made")
""",
        needs=ROOT,
        otherwise=("EPERM",),
    ),
    Attack(
        "the disks of the machine",
        TOPIC,
        """
found = [line.split()[3] for line in read("/proc/partitions").splitlines()[2:]]
for name in found:
    fd = attempt(os.open, "/dev/" + name, os.O_RDONLY)
    if fd is not None:
        escaped(name)
        break
""",
        needs=KERNEL,
        otherwise=("EACCES", "ENOENT", "ENXIO", "EPERM", "ENOMEDIUM"),
    ),
    Attack(
        "the messages of the kernel",
        TOPIC,
        'escaped(os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK))',
        needs=ROOT,
        otherwise=("EACCES", "EPERM"),
    ),
    Attack(
        "a message in the kernel's log",
        TOPIC,
        'escaped(os.open("/dev/kmsg", os.O_WRONLY))',
        needs=ROOT,
        otherwise=("EACCES", "EPERM"),
    ),
    Attack(
        "devices that lead to other machines and file systems",
        TOPIC,
        """
names = (
    "kvm vsock vhost-vsock vhost-net fuse net/tun loop-control userfaultfd autofs btrfs-control"
    " mapper/control uinput hwrng"
)
for name in names.split():
    fd = attempt(os.open, "/dev/" + name, os.O_RDONLY | os.O_NONBLOCK)
    if fd is not None:
        escaped(name)
""",
        needs=KERNEL,
        otherwise=("EACCES", "ENOENT", "EPERM", "ENODEV"),
    ),
    Attack(
        "a core dump",
        TOPIC,
        """
import resource, signal
hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
if hard == 0:
    raise PermissionError(errno.EPERM, "no dumps")
resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
child = os.fork()
if child == 0:
    os.chdir("out")
    os.kill(os.getpid(), signal.SIGQUIT)
status = os.waitpid(child, 0)[1]
# A system that hands dumps to a program does so at any limit but the ones that forbid it.
if os.WCOREDUMP(status) or not read("/proc/sys/kernel/core_pattern").startswith("core"):
    escaped("a dump was made")
""",
        permissions=OUT_WRITABLE,
        control=PLAIN,
        needs=KERNEL,
        otherwise=("EPERM",),
    ),
)
