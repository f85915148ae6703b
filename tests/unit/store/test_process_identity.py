"""Telling whether a process is still the one it was."""

import os
import signal
import subprocess
import sys

from tongs.store.process_identity import is_alive, own_identity

TELL = "from tongs.store.process_identity import own_identity; print(own_identity(), flush=True)"


def test_this_process_is_alive() -> None:
    assert is_alive(own_identity())
    assert is_alive(own_identity() + "/anything")


def test_a_process_is_alive_until_it_ends() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", f"{TELL}; input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    identity = process.stdout.readline().strip()
    assert is_alive(identity)

    process.send_signal(signal.SIGKILL)
    # Not yet buried: a zombie does nothing any more.
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert not is_alive(identity)
    process.communicate()
    assert not is_alive(identity)


def test_another_process_of_the_same_number_is_another_one() -> None:
    boot, pid, start = own_identity().split(":")

    assert not is_alive(f"{boot}:{pid}:{int(start) + 1}")
    assert not is_alive(f"another-boot:{pid}:{start}")


def test_what_is_no_identity_is_not_alive() -> None:
    for text in ("", ":", "x", "a:b:c", f"{own_identity().partition(':')[0]}::"):
        assert not is_alive(text)
