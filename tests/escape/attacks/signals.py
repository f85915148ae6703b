"""Signals to processes outside, by every call that sends one."""

from __future__ import annotations

from tests.escape.attack import Attack

TOPIC = "signals"

ATTACKS = (
    Attack("a signal by number", TOPIC, "os.kill(W.victim, 9)"),
    Attack("a signal to a group", TOPIC, "os.killpg(W.victim, 9)"),
    Attack("a signal to a thread", TOPIC, 'call("tgkill", W.victim, W.victim, 9)'),
    Attack(
        "a signal with a value",
        TOPIC,
        """
information = ctypes.create_string_buffer(128)
import struct
struct.pack_into("=iii", information, 0, 10, 0, -1)
call("rt_sigqueueinfo", W.victim, 10, information)
""",
    ),
    Attack(
        "a signal by descriptor",
        TOPIC,
        """
process = call("pidfd_open", W.victim, 0)
call("pidfd_send_signal", process, 9, 0, 0)
""",
    ),
    Attack(
        "a signal through a directory of /proc",
        TOPIC,
        """
process = os.open(f"/proc/{W.victim}", os.O_RDONLY | os.O_DIRECTORY)
call("pidfd_send_signal", process, 9, 0, 0)
""",
    ),
    Attack(
        "a signal that the kernel sends for a pipe",
        TOPIC,
        """
import fcntl
reading, writing = os.pipe()
fcntl.fcntl(reading, fcntl.F_SETOWN, W.victim)
fcntl.fcntl(reading, 10, 10)  # F_SETSIG, SIGUSR1
fcntl.fcntl(reading, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
os.write(writing, b"x")
import time
time.sleep(0.05)
""",
    ),
    Attack("a process stopped for as long as one likes", TOPIC, "os.kill(W.victim, 19)"),
    Attack("a signal to Tongs", TOPIC, "os.kill(W.tongs, 18); escaped('it was sent')"),
)
