"""Other doors into the same kernel: the calls of other architectures, made by machine code."""

from __future__ import annotations

import platform

from tests.escape.attack import KERNEL, NESTING, Attack

TOPIC = "other system call tables"

# A few bytes of machine code in memory that may be run. Two forks, since a filter may kill for it.
MACHINE_CODE = """
import mmap, struct
memory = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40,
                   prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
def run(code):
    memory[0:len(code)] = code
    reading, writing = os.pipe()
    if os.fork() == 0:
        function = ctypes.CFUNCTYPE(ctypes.c_int)(address)
        os.write(writing, struct.pack("=i", function()))
        os._exit(0)
    os.close(writing)
    answer = os.read(reading, 4)
    status = os.wait()[1]
    if not answer:
        raise OSError(errno.EPERM, f"killed by signal {os.WTERMSIG(status)}")
    result = struct.unpack("=i", answer)[0]
    if result < 0:
        raise OSError(-result, os.strerror(-result))
    return result
def old(number, first=0, second=0, third=0):
    # push rbx; mov eax, ebx, ecx, edx; int 0x80; pop rbx; ret
    return run(b"\\x53\\xb8" + struct.pack("=I", number) + b"\\xbb" + struct.pack("=I", first)
               + b"\\xb9" + struct.pack("=I", second) + b"\\xba" + struct.pack("=I", third)
               + b"\\xcd\\x80\\x5b\\xc3")
def at(offset, content):
    memory[offset:offset + len(content)] = content
    assert address + offset < 1 << 32
    return address + offset
"""
NO_32_BIT = ("ENOSYS", "EPERM", "EFAULT")

X86_64 = (
    Attack(
        "a socket by the calls of 32 bits",
        TOPIC,
        MACHINE_CODE + 'escaped("socket", old(359, 2, 1, 0))',
        needs=KERNEL,
        otherwise=NO_32_BIT,
    ),
    Attack(
        "a socket by the oldest call of 32 bits",
        TOPIC,
        MACHINE_CODE
        + """
arguments = at(1024, struct.pack("=III", 2, 1, 0))
escaped("socket", old(102, 1, arguments))
""",
        needs=KERNEL,
        otherwise=NO_32_BIT,
    ),
    Attack(
        "a secret by the calls of 32 bits",
        TOPIC,
        MACHINE_CODE
        + """
path = at(1024, os.fsencode(W.secret) + b"\\0")
escaped("file", old(5, path, 0))
""",
        needs=KERNEL,
        otherwise=NO_32_BIT,
    ),
    Attack(
        "a user namespace by the calls of 32 bits",
        TOPIC,
        MACHINE_CODE + "escaped(old(310, 0x10000000))",
        needs=NESTING,
        otherwise=NO_32_BIT,
    ),
    Attack(
        "a key ring by the calls of 32 bits",
        TOPIC,
        MACHINE_CODE + "escaped(old(288, 1, 0))",
        needs=KERNEL,
        otherwise=NO_32_BIT,
    ),
    Attack(
        "a signal by the calls of 32 bits",
        TOPIC,
        MACHINE_CODE + "old(37, W.victim, 9)",
        needs=KERNEL,
        otherwise=NO_32_BIT,
    ),
    Attack(
        "a socket by the calls of x32",
        TOPIC,
        "escaped(call(0x40000000 | 41, 2, 1, 0))",
        needs=KERNEL,
        otherwise=("ENOSYS",),
    ),
    Attack(
        "a trace by the calls of x32",
        TOPIC,
        "escaped(call(0x40000000 | 521, 16, W.victim, 0, 0))",
        needs=KERNEL,
        otherwise=("ENOSYS",),
    ),
)

ATTACKS = X86_64 if platform.machine() == "x86_64" else ()
