"""The filter in the running kernel. Every refusal stands beside the same act without a filter."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.sandbox.bpf_machine import ALLOW, Machine

from tongs.sandbox.bpf import AF_UNIX, NETWORK_FAMILIES, program
from tongs.sandbox.syscalls import AUDIT_ARCH, NUMBERS

MACHINE = os.uname().machine
CALLS = NUMBERS[MACHINE]

# Runs `act` behind the filter in argv, if there is one, and prints what it found.
STAGE = """
import ctypes, errno, fcntl, json, multiprocessing, os, resource, socket, struct, subprocess, sys
import threading

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long

def call(number, *arguments):
    given = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *given)
    return errno.errorcode[ctypes.get_errno()] if result == -1 else result

def attempt(action):
    try:
        action()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"

code = bytes.fromhex(sys.argv[1])
given = json.loads(sys.argv[2])
if code:
    array = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(array))
    assert libc.prctl(38, 1, 0, 0, 0) == 0, "PR_SET_NO_NEW_PRIVS"
    assert libc.prctl(22, 2, header, 0, 0) == 0, "PR_SET_SECCOMP"
"""


def stage(act: str, code: bytes, **given: object) -> subprocess.CompletedProcess[str]:
    ending = "\nprint(json.dumps(found))\n"
    argv = [sys.executable, "-c", STAGE + act + ending, code.hex(), json.dumps(given)]
    # In a session of its own: one act changes the priority of its process group.
    return subprocess.run(
        argv, capture_output=True, text=True, check=False, timeout=60, start_new_session=True
    )


def perform(act: str, code: bytes, **given: object) -> object:
    done = stage(act, code, **given)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def filtered(families: tuple[int, ...] = (), *, strict: bool = False, **options: bool) -> bytes:
    chosen = {"writes": False, "truncate": False} | options
    return program(MACHINE, families=families, strict=strict, **chosen)


UNFILTERED = b""
NO_NETWORK = filtered()
NETWORK = filtered(NETWORK_FAMILIES)
STRICT = filtered(strict=True)


@pytest.mark.parametrize("code", [NO_NETWORK, NETWORK, STRICT], ids=["plain", "network", "strict"])
def test_refused_calls_fail_in_the_kernel_as_in_the_interpreter(code: bytes) -> None:
    machine = Machine(code)
    # Bad descriptors and bad pointers everywhere: a call that got through would do nothing.
    arguments = (-1,) * 6
    answers = {n: machine.decide(AUDIT_ARCH[MACHINE], n, arguments) for n in range(1024)}
    refused = {str(number): answer for number, answer in answers.items() if answer != ALLOW}
    act = "found = {number: call(int(number), *[-1] * 6) for number in given['numbers']}"
    assert perform(act, code, numbers=list(refused)) == refused


def test_sockets_are_refused_and_pairs_work() -> None:
    act = """
def exchange():
    left, right = socket.socketpair()
    left.send(b"x")
    assert right.recv(1) == b"x"
kinds = [(2, 1, 0), (2, 2, 0), (10, 1, 0), (1, 1, 0), (1, 2, 0), (16, 3, 0)]
found = [attempt(lambda: socket.socket(*kind)) for kind in kinds], attempt(exchange)
"""
    assert perform(act, UNFILTERED) == [["done"] * 6, "done"]
    assert perform(act, NO_NETWORK) == [["EPERM"] * 6, "done"]


@pytest.mark.parametrize("family", [17, 29, 31, 38, 40, 44])
def test_families_beside_the_network_stay_closed_with_network(family: int) -> None:
    act = "found = attempt(lambda: socket.socket(given['family'], 1, 0))"
    assert perform(act, NETWORK, family=family) == "EPERM"


def test_a_pair_cannot_be_turned_to_a_socket_of_the_host(tmp_path: Path) -> None:
    act = """
def send(kind):
    left, right = socket.socketpair(socket.AF_UNIX, kind)
    try:
        left.connect(given["path"])
    except OSError:
        left.sendto(b"reached", given["path"])
    else:
        left.send(b"reached")
found = [attempt(lambda: send(kind)) for kind in (2, 3, 1)]
"""
    path = str(tmp_path / "log")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
        log.bind(path)
        log.setblocking(False)
        assert perform(act, UNFILTERED, path=path) == ["done", "done", "EISCONN"]
        assert [log.recv(9), log.recv(9)] == [b"reached", b"reached"]
        assert perform(act, NO_NETWORK, path=path) == ["EPERM", "EPERM", "EISCONN"]
        with pytest.raises(BlockingIOError):
            log.recv(9)


def test_with_network_a_call_connects_and_resolves_names() -> None:
    act = """
def connect():
    with socket.create_connection(("localhost", given["port"])) as connection:
        connection.send(b"x")
found = {
    "connect": attempt(connect),
    "unix": attempt(lambda: socket.socket(socket.AF_UNIX)),
    "raw": attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)),
    "routes": attempt(lambda: socket.socket(16, socket.SOCK_RAW, 0)),
    "devices": attempt(lambda: socket.socket(16, socket.SOCK_RAW, 15)),
}
"""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        allowed = perform(act, NETWORK, port=port)
        refused = perform(act, NO_NETWORK, port=port)
    assert allowed == {
        "connect": "done",
        "unix": "EPERM",
        "raw": "EPERM",
        "routes": "done",
        "devices": "EPERM",
    }
    assert refused == dict.fromkeys(["connect", "unix", "raw", "routes", "devices"], "EPERM")


def test_unix_sockets_open_where_they_are_given() -> None:
    act = """
kinds = (1, 2, 5)
found = [attempt(lambda: socket.socket(socket.AF_UNIX, kind)) for kind in kinds]
found += [attempt(lambda: socket.socketpair(socket.AF_UNIX, kind)) for kind in kinds]
"""
    assert perform(act, filtered((AF_UNIX,))) == ["done"] * 6


@pytest.mark.parametrize("code", [NO_NETWORK, STRICT], ids=["plain", "strict"])
def test_programs_threads_and_processes_work(code: bytes) -> None:
    act = """
def double(value):
    return 2 * value
with multiprocessing.get_context("fork").Pool(2) as pool:
    pooled = pool.map(double, [1, 2, 3])
shell = subprocess.run(["/bin/sh", "-c", "echo $(echo a | nice cat)"], capture_output=True)
collected = []
threads = [threading.Thread(target=collected.append, args=(n,)) for n in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
newer = [call(given["clone3"], 0, 0), call(given["io_uring_setup"], 1, 0)]
found = [newer, sorted(collected), pooled, shell.stdout.decode()]
"""
    found = perform(act, code, **CALLS)
    assert found == [["ENOSYS", "ENOSYS"], [0, 1, 2, 3], [2, 4, 6], "a\n"]


def test_no_namespace_is_made() -> None:
    act = """
def made(flags):
    child = call(given["clone"], flags | 17, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    if isinstance(child, int):
        os.waitpid(child, 0)
        return "made"
    return child
found = [call(given["unshare"], 0), made(0), made(1 << 28), made(1 << 28 | 1 << 30)]
"""
    assert perform(act, UNFILTERED, **CALLS) == [0, "made", "made", "made"]
    assert perform(act, NO_NETWORK, **CALLS) == ["EPERM", "made", "EPERM", "EPERM"]


def test_codes_are_refused_whatever_their_upper_half_holds() -> None:
    act = """
codes = [0x5412, 0x100005412, 0x541C, 0x40086602, 0x40806685, 0x5413]
found = [call(given["ioctl"], -1, code) for code in codes]
"""
    assert perform(act, UNFILTERED, **CALLS) == ["EBADF"] * 6
    assert perform(act, NO_NETWORK, **CALLS) == ["EPERM"] * 3 + ["EBADF"] * 3
    assert perform(act, STRICT, **CALLS) == ["EPERM"] * 5 + ["EBADF"]
    writing = filtered(strict=True, writes=True)
    assert perform(act, writing, **CALLS) == ["EPERM"] * 3 + ["EBADF", "EPERM", "EBADF"]


def test_calls_newer_than_the_tables_do_not_exist() -> None:
    act = "found = [call(number) for number in given['numbers']]"
    assert perform(act, NO_NETWORK, numbers=[470, 471, 600]) == ["ENOSYS"] * 3


def test_only_the_own_process_is_changed() -> None:
    act = """
other = given["other"]
found = {
    "own limits": attempt(lambda: resource.prlimit(0, resource.RLIMIT_CORE, (0, 0))),
    "other limits": attempt(lambda: resource.prlimit(other, resource.RLIMIT_CORE)),
    "own priority": attempt(lambda: os.setpriority(os.PRIO_PROCESS, 0, 19)),
    "priority of the group": attempt(lambda: os.setpriority(os.PRIO_PGRP, 0, 19)),
    "processors": attempt(lambda: os.sched_setaffinity(0, os.sched_getaffinity(0))),
    "other processors": attempt(lambda: os.sched_setaffinity(other, os.sched_getaffinity(0))),
    "input and output": call(given["ioprio_set"], 1, 0, 3 << 13),
    "input and output of others": call(given["ioprio_set"], 1, other, 3 << 13),
}
"""
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE) as other:
        free = perform(act, UNFILTERED, **CALLS, other=other.pid)
        bound = [perform(act, code, **CALLS, other=other.pid) for code in (NO_NETWORK, STRICT)]
    refused = {
        "own limits": "done",
        "other limits": "EPERM",
        "own priority": "done",
        "priority of the group": "EPERM",
        "processors": "done",
        "other processors": "EPERM",
        "input and output": 0,
        "input and output of others": "EPERM",
    }
    assert bound == [refused, refused]
    done = dict.fromkeys(refused, "done")
    assert free == done | {"input and output": 0, "input and output of others": 0}


def test_without_namespaces_no_memory_is_shared_with_others() -> None:
    act = """
made = call(given["shmget"], 0, 4096, 0o600)
found = made if isinstance(made, str) else call(given["shmctl"], made, 0, 0)
"""
    answers = [perform(act, code, **CALLS) for code in (NO_NETWORK, STRICT)]
    assert answers == [0, "EPERM"]


def test_a_file_is_locked_but_not_leased(tmp_path: Path) -> None:
    act = """
with open(given["path"]) as file:
    found = [
        call(given["fcntl"], file.fileno(), command, fcntl.F_RDLCK)
        for command in (1024, 1 << 32 | 1024)
    ]
    found += [attempt(lambda: fcntl.lockf(file, fcntl.LOCK_SH)), fcntl.fcntl(file, 1025)]
"""
    path = tmp_path / "file"
    path.write_text("")
    leased, locked = [0, 0, "done", fcntl.F_RDLCK], ["EPERM", "EPERM", "done", fcntl.F_UNLCK]
    answers = [perform(act, code, path=str(path), **CALLS) for code in (UNFILTERED, NO_NETWORK)]
    assert answers == [leased, locked]


def test_without_network_an_end_of_a_pair_takes_no_name() -> None:
    act = """
ends = socket.socketpair()
found = attempt(lambda: ends[0].bind("\\0" + given["name"]))
"""
    name = f"tongs-test-{os.getpid()}"
    answers = [perform(act, code, name=name) for code in (UNFILTERED, NO_NETWORK, STRICT)]
    assert answers == ["done", "EPERM", "EPERM"]
    given = filtered((AF_UNIX,)), NETWORK
    assert [perform(act, code, name=name) for code in given] == ["done", "done"]


METADATA = """
path = given["path"]
found = [
    attempt(lambda: os.chmod(path, 0o640)),
    attempt(lambda: os.utime(path)),
    attempt(lambda: os.chown(path, -1, -1)),
    attempt(lambda: os.setxattr(path, "user.x", b"")) == "EPERM",
]
"""


def test_metadata_is_changed_only_where_something_may_be_written(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("")
    given = {"path": str(path)}
    assert perform(METADATA, STRICT, **given) == ["EPERM", "EPERM", "EPERM", True]
    writing = filtered(strict=True, writes=True)
    assert perform(METADATA, writing, **given) == ["done", "done", "done", False]


def test_a_file_opened_for_reading_keeps_its_content(tmp_path: Path) -> None:
    act = """
path = given["path"]
found = [attempt(lambda: os.open(path, mode | os.O_TRUNC)) for mode in given["modes"]]
"""
    path = tmp_path / "file"
    answers = []
    for code in (filtered(strict=True, truncate=True), STRICT):
        for mode in (os.O_RDONLY, 3, os.O_WRONLY, os.O_RDWR):
            path.write_text("content")
            found = perform(act, code, path=str(path), modes=[mode])
            answers.append((found, path.read_text()))
    emptied, kept = (["done"], ""), (["EPERM"], "content")
    assert answers == [emptied] * 4 + [kept, kept, emptied, emptied]


# A 64-bit process on aarch64 has no way to make a 32-bit call.
if MACHINE == "x86_64":

    def test_a_32_bit_call_kills_the_process() -> None:
        # push rbx; mov eax, 20 (getpid); int 0x80; pop rbx; ret
        act = """
import mmap
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(bytes.fromhex("53b814000000cd805bc3"))
start = ctypes.addressof(ctypes.c_char.from_buffer(page))
found = ctypes.CFUNCTYPE(ctypes.c_int)(start)() == os.getpid()
"""
        assert perform(act, UNFILTERED) is True
        assert stage(act, NO_NETWORK).returncode == -signal.SIGSYS
