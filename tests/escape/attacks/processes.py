"""Looking into processes outside: their environment, memory, files and descriptors."""

from __future__ import annotations

from tests.escape.attack import KERNEL, ROOT, Attack

TOPIC = "processes outside"

READ_MEMORY = """
class Part(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
"""

PTRACE = """
import os, time
PTRACE = _libc.ptrace
PTRACE.restype = ctypes.c_long
PTRACE.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
def trace(request, pid, address=0, data=0):
    ctypes.set_errno(0)
    result = PTRACE(request, pid, address, data)
    if result == -1 and ctypes.get_errno():
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
"""

ATTACKS = (
    Attack("the environment of another process", TOPIC, 'print(read(f"/proc/{W.victim}/environ"))'),
    Attack(
        "the command line of another process", TOPIC, 'print(read(f"/proc/{W.victim}/cmdline"))'
    ),
    Attack(
        "the memory of another process by its file",
        TOPIC,
        """
with open(f"/proc/{W.victim}/mem", "rb", buffering=0) as memory:
    memory.seek(W.victim_address)
    print(memory.read(64).strip(b"\\0").decode())
""",
    ),
    Attack(
        "the memory of another process changed by its file",
        TOPIC,
        """
with open(f"/proc/{W.victim}/mem", "r+b", buffering=0) as memory:
    memory.seek(W.victim_address)
    memory.write(b"changed")
""",
    ),
    Attack(
        "the memory map of another process",
        TOPIC,
        'escaped(read(f"/proc/{W.victim}/maps").split()[0])',
    ),
    Attack("the root of another process", TOPIC, 'print(read(f"/proc/{W.victim}/root{W.secret}"))'),
    Attack(
        "the working directory of another process",
        TOPIC,
        'escaped(os.listdir(f"/proc/{W.victim}/cwd/."))',
    ),
    Attack(
        "a deleted file that another process has open",
        TOPIC,
        'print(read(f"/proc/{W.victim}/fd/{W.victim_descriptor}"))',
    ),
    Attack(
        "a pipe that another process has open",
        TOPIC,
        """
fd = os.open(f"/proc/{W.victim}/fd/{W.victim_pipe}", os.O_RDONLY | os.O_NONBLOCK)
escaped("opened", fd)
""",
    ),
    Attack(
        "the descriptors of another process", TOPIC, 'escaped(os.listdir(f"/proc/{W.victim}/fd"))'
    ),
    Attack(
        "the namespaces of another process",
        TOPIC,
        'escaped(os.open(f"/proc/{W.victim}/ns/mnt", os.O_RDONLY))',
    ),
    Attack(
        "the state of another process",
        TOPIC,
        'escaped(read(f"/proc/{W.victim}/status").splitlines()[0])',
    ),
    Attack(
        "the list of all processes",
        TOPIC,
        """
seen = [int(name) for name in os.listdir("/proc") if name.isdigit()]
if W.victim in seen or W.tongs in seen:
    escaped(len(seen), "processes")
""",
    ),
    Attack(
        "the memory map of whoever is in charge of this call",
        TOPIC,
        'escaped(len(read(f"/proc/{os.getppid()}/maps")))',
    ),
    Attack(
        "tracing by attaching",
        TOPIC,
        PTRACE
        + """
trace(16, W.victim)
os.waitpid(W.victim, 0x40000000)
word = trace(1, W.victim, W.victim_address)
trace(17, W.victim)
escaped("read", word.to_bytes(8, "little", signed=True))
""",
    ),
    Attack(
        "tracing by seizing",
        TOPIC,
        PTRACE + "escaped(trace(0x4206, W.victim)); trace(0x4207, W.victim)",
    ),
    Attack(
        "another process's memory read by a call",
        TOPIC,
        READ_MEMORY
        + """
content = ctypes.create_string_buffer(64)
mine, theirs = Part(ctypes.addressof(content), 63), Part(W.victim_address, 63)
call("process_vm_readv", W.victim, ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0)
print(content.value.decode())
""",
    ),
    Attack(
        "another process's memory written by a call",
        TOPIC,
        READ_MEMORY
        + """
content = ctypes.create_string_buffer(b"changed")
mine, theirs = Part(ctypes.addressof(content), 7), Part(W.victim_address, 7)
call("process_vm_writev", W.victim, ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0)
""",
    ),
    Attack(
        "a descriptor taken out of another process",
        TOPIC,
        """
process = call("pidfd_open", W.victim, 0)
taken = call("pidfd_getfd", process, W.victim_descriptor, 0)
print(os.pread(taken, 100, 0).decode())
""",
    ),
    Attack(
        "comparing another process's descriptors with one's own",
        TOPIC,
        """
escaped(call("kcmp", os.getpid(), W.victim, 0, 0, W.victim_descriptor))
""",
        needs=KERNEL,
        otherwise=("ENOSYS",),
    ),
    Attack(
        "the addresses of another process's locks",
        TOPIC,
        """
head, length = ctypes.c_void_p(), ctypes.c_size_t()
number = dict(x86_64=274, aarch64=100)[os.uname().machine]
call(number, W.victim, ctypes.byref(head), ctypes.byref(length))
escaped(hex(head.value or 0))
""",
    ),
    Attack(
        "another process made the first to die when memory runs out",
        TOPIC,
        """
with open(f"/proc/{W.victim}/oom_score_adj", "w") as file:
    file.write("555")
""",
    ),
    Attack(
        "pages of another process moved",
        TOPIC,
        """
escaped(call("move_pages", W.victim, 0, 0, 0, 0, 0))
""",
        needs=KERNEL,
        otherwise=("ENOSYS",),
    ),
    Attack(
        "another process's memory advised away",
        TOPIC,
        READ_MEMORY
        + """
process = call("pidfd_open", W.victim, 0)
part = Part(W.victim_address & ~4095, 4096)
escaped(call("process_madvise", process, ctypes.byref(part), 1, 20, 0))
""",
        needs=ROOT,
        otherwise=("EPERM",),
    ),
    Attack(
        "watching another process by performance counters",
        TOPIC,
        """
attributes = ctypes.create_string_buffer(128)
import struct
struct.pack_into("=IIQ", attributes, 0, 1, 128, 1)  # software, task clock
struct.pack_into("=Q", attributes, 40, 0b1100000)  # neither kernel nor hypervisor
escaped(call("perf_event_open", attributes, W.victim, -1, -1, 0))
""",
        needs=KERNEL,
        otherwise=("EACCES", "ENOSYS"),
    ),
)
