"""Landlock masks by ABI: as tables, and as the running kernel takes them."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tongs.sandbox import rights

ALL = range(1, rights.NEWEST + 1)

FIRST_READING = {"EXECUTE", "READ_FILE", "READ_DIR"}
FIRST_WRITING = FIRST_READING | set(
    "WRITE_FILE REMOVE_DIR REMOVE_FILE MAKE_DIR MAKE_REG MAKE_SOCK MAKE_FIFO MAKE_SYM".split()
)
DEVICE_NODES = {"MAKE_CHAR", "MAKE_BLOCK"}

# By ABI: what it adds to the handled rights, and to those of a write root.
ADDED: dict[int, set[str]] = {2: {"REFER"}, 3: {"TRUNCATE"}, 5: {"IOCTL_DEV"}}


def names(mask: int) -> set[str]:
    """The rights of a mask, by the names of linux/landlock.h in its order."""
    order = """
        EXECUTE WRITE_FILE READ_FILE READ_DIR REMOVE_DIR REMOVE_FILE MAKE_CHAR MAKE_DIR MAKE_REG
        MAKE_SOCK MAKE_FIFO MAKE_BLOCK MAKE_SYM REFER TRUNCATE IOCTL_DEV
    """.split()
    assert mask < 1 << len(order)
    return {name for bit, name in enumerate(order) if mask & 1 << bit}


def added_up_to(abi: int) -> set[str]:
    return {name for since, more in ADDED.items() if since <= abi for name in more}


def test_each_constant_is_the_bit_of_its_name() -> None:
    every = names((1 << 16) - 1)

    assert {name: names(getattr(rights, name)) for name in every} == {
        name: {name} for name in every
    }


@pytest.mark.parametrize("abi", ALL)
def test_every_right_that_the_abi_knows_is_handled(abi: int) -> None:
    assert names(rights.handled_files(abi)) == FIRST_WRITING | DEVICE_NODES | added_up_to(abi)


@pytest.mark.parametrize("abi", ALL)
def test_a_read_root_grants_to_read_list_and_run(abi: int) -> None:
    assert names(rights.reading(abi)) == FIRST_READING


@pytest.mark.parametrize("abi", ALL)
def test_a_write_root_grants_everything_but_device_nodes_and_ioctl(abi: int) -> None:
    assert names(rights.writing(abi)) == FIRST_WRITING | added_up_to(abi) - {"IOCTL_DEV"}


@pytest.mark.parametrize("abi", ALL)
def test_a_device_is_read_and_written_and_takes_ioctl_where_that_can_be_refused(abi: int) -> None:
    ioctl = {"IOCTL_DEV"} if abi >= 5 else set()

    assert names(rights.devices(abi)) == {"READ_FILE", "WRITE_FILE"} | ioctl


@pytest.mark.parametrize("abi", ALL)
def test_an_entry_that_is_a_file_keeps_the_rights_of_a_file(abi: int) -> None:
    truncate = {"TRUNCATE"} if abi >= 3 else set()

    assert names(rights.for_file(rights.reading(abi))) == {"EXECUTE", "READ_FILE"}
    assert names(rights.for_file(rights.writing(abi))) == {
        "EXECUTE",
        "READ_FILE",
        "WRITE_FILE",
        *truncate,
    }
    assert rights.for_file(rights.devices(abi)) == rights.devices(abi)


@pytest.mark.parametrize(
    ("abi", "network", "scopes", "flags"),
    [
        (0, 0, 0, 0),
        (1, 0, 0, 0),
        (3, 0, 0, 0),
        (4, 0b11, 0, 0),
        (5, 0b11, 0, 0),
        (6, 0b11, 0b11, 0),
        # Nothing before an exec is logged, nothing of nested domains; bit 1 would log after it.
        (7, 0b11, 0b11, 0b101),
        (8, 0b11, 0b11, 0b101),
    ],
)
def test_network_scopes_and_log_flags_come_with_their_abi(
    abi: int, network: int, scopes: int, flags: int
) -> None:
    assert (rights.handled_network(abi), rights.scoped(abi), rights.restrict_flags(abi)) == (
        network,
        scopes,
        flags,
    )


@pytest.mark.parametrize("abi", [8, 9, 1000])
def test_an_unknown_abi_is_used_as_the_newest_known(abi: int) -> None:
    assert everything(abi) == everything(rights.NEWEST)


@pytest.mark.parametrize("abi", [0, -1])
def test_without_landlock_there_is_nothing(abi: int) -> None:
    assert everything(abi) == (0, 0, 0, 0, 0, 0, 0, b"", b"")


def everything(abi: int) -> tuple[object, ...]:
    return (
        rights.handled_files(abi),
        rights.reading(abi),
        rights.writing(abi),
        rights.devices(abi),
        rights.handled_network(abi),
        rights.scoped(abi),
        rights.restrict_flags(abi),
        rights.ruleset_attribute(abi, network=False),
        rights.ruleset_attribute(abi, network=True),
    )


@pytest.mark.parametrize(
    ("abi", "size"), [(1, 8), (2, 8), (3, 8), (4, 16), (5, 16), (6, 24), (7, 24), (9, 24)]
)
def test_the_attribute_is_as_long_as_the_abi_knows_it(abi: int, size: int) -> None:
    words = [rights.handled_files(abi), 0b11, 0b11][: size // 8]

    assert rights.ruleset_attribute(abi, network=False) == struct.pack(f"={len(words)}Q", *words)


def test_a_granted_network_leaves_tcp_unhandled_and_keeps_the_scopes() -> None:
    assert rights.ruleset_attribute(7, network=True) == struct.pack(
        "=3Q", rights.handled_files(7), 0, 0b11
    )


def test_a_path_rule_is_packed() -> None:
    assert rights.path_rule(0x1234, 77) == struct.pack("=Qi", 0x1234, 77)
    assert rights.path_rule(rights.READ_FILE, -1) == struct.pack("=Qi", 4, -1)


def test_the_module_loads_nothing_but_itself() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", LOADING, rights.__file__],
        env={},  # nothing that makes an interpreter load more
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split() == ["__future__", "rights"]


LOADING = """
import sys
before = set(sys.modules)
sys.path.insert(0, sys.argv[1].rpartition("/")[0])
import rights
print(*sorted(set(sys.modules) - before))
"""

# Restricts itself by the masks of the ABI in argv[2] and says what each attempt came to.
CONFINED = r"""
import ctypes, errno, fcntl, json, os, signal, socket, sys
sys.path.insert(0, sys.argv[1])
import rights

abi, base, network, port = int(sys.argv[2]), sys.argv[3], sys.argv[4] == "network", int(sys.argv[5])
libc = ctypes.CDLL(None, use_errno=True)

def call(number, *words):
    answer = libc.syscall(number, *words)
    if answer < 0:
        raise OSError(ctypes.get_errno(), f"call {number}: {os.strerror(ctypes.get_errno())}")
    return answer

attribute = rights.ruleset_attribute(abi, network=network)
ruleset = call(rights.CREATE_RULESET, attribute, ctypes.c_size_t(len(attribute)), 0)

def grant(path, mask):
    descriptor = os.open(path, os.O_PATH)
    call(rights.ADD_RULE, ruleset, rights.RULE_PATH_BENEATH, rights.path_rule(mask, descriptor), 0)

grant(f"{base}/in", rights.reading(abi))
grant(f"{base}/out", rights.writing(abi))
grant(f"{base}/one", rights.for_file(rights.reading(abi)))
grant(f"{base}/two", rights.for_file(rights.writing(abi)))
grant("/dev/null", rights.devices(abi))
grant("/dev/zero", rights.for_file(rights.reading(abi)))
grant("/dev/random", rights.devices(abi))
try:
    grant(f"{base}/one", rights.reading(abi))
    unmasked = "ok"
except OSError as error:
    unmasked = errno.errorcode[error.errno]

plain = socket.socket()
held = os.open(f"{base}/in/held", os.O_RDWR)  # opened before: no rule takes it away
libc.prctl(38, 1, 0, 0, 0)
call(rights.RESTRICT_SELF, ruleset, rights.restrict_flags(abi))

def attempt(work):
    try:
        work()
        return "ok"
    except OSError as error:
        return errno.errorcode[error.errno]

def read(path):
    return attempt(lambda: open(f"{base}/{path}", "rb").read())

def write(path, flags=0):
    return attempt(lambda: os.close(os.open(f"{base}/{path}", os.O_WRONLY | flags)))

def connect():
    # Made before: asking for a name would read files outside.
    plain.connect(("127.0.0.1", port))

said = {
    "unmasked": unmasked,
    "read inside": read("in/text"),
    "list inside": attempt(lambda: os.listdir(f"{base}/in")),
    "write inside": write("in/text"),
    "create inside": write("in/new", os.O_CREAT | os.O_EXCL),
    "truncate inside": attempt(lambda: os.truncate(f"{base}/in/text", 0)),
    "read one": read("one"),
    "truncate one": attempt(lambda: os.truncate(f"{base}/one", 0)),
    "write two": write("two", os.O_TRUNC),
    "truncate two": attempt(lambda: os.truncate(f"{base}/two", 0)),
    "read outside": read("secret"),
    "list outside": attempt(lambda: os.listdir(base)),
    "create": write("out/new", os.O_CREAT | os.O_EXCL),
    "overwrite": write("out/new", os.O_TRUNC),
    "folder": attempt(lambda: os.mkdir(f"{base}/out/sub")),
    "link": attempt(lambda: os.symlink("new", f"{base}/out/link")),
    "fifo": attempt(lambda: os.mkfifo(f"{base}/out/fifo")),
    "device": attempt(lambda: os.mknod(f"{base}/out/null", 0o20666, os.makedev(1, 3))),
    "move": attempt(lambda: os.rename(f"{base}/out/new", f"{base}/out/sub/new")),
    "take": attempt(lambda: os.rename(f"{base}/in/text", f"{base}/out/text")),
    "remove": attempt(lambda: os.unlink(f"{base}/out/link")),
    "null": attempt(lambda: os.close(os.open("/dev/null", os.O_RDWR | os.O_CREAT | os.O_TRUNC))),
    # RNDGETENTCNT: both are devices that may be read, one is granted as such.
    "ioctl granted": attempt(lambda: fcntl.ioctl(os.open("/dev/random", 0), 0x80045200, b"1234")),
    "ioctl read": attempt(lambda: fcntl.ioctl(os.open("/dev/zero", 0), 0x80045200, b"1234")),
    "held": attempt(lambda: os.ftruncate(held, 0)),
    "signal": attempt(lambda: os.kill(os.getppid(), 0)),
    "connect": attempt(connect),
}
print(json.dumps(said))
"""


def attempts(
    abi: int, base: Path, *, network: bool = False, program: str = CONFINED
) -> dict[str, Any]:
    for folder in ("in", "out"):
        (base / folder).mkdir()
    for file in ("in/text", "in/held", "one", "two", "secret"):
        (base / file).write_text("text")
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = subprocess.run(
            [
                *(sys.executable, "-I", "-c", program, str(Path(rights.__file__).parent)),
                *(str(abi), str(base), "network" if network else "", str(server.getsockname()[1])),
            ],
            env={},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.stderr == ""
    said: dict[str, Any] = json.loads(done.stdout)
    return said


@pytest.mark.parametrize("abi", ALL)
def test_the_kernel_takes_the_masks_of_each_abi_and_holds_them(abi: int, tmp_path: Path) -> None:
    said = attempts(abi, tmp_path)

    truncate = "EACCES" if abi >= 3 else "ok"
    assert said == {
        # Why `for_file` exists.
        "unmasked": "EINVAL",
        "read inside": "ok",
        "list inside": "ok",
        "write inside": "EACCES",
        "create inside": "EACCES",
        "truncate inside": truncate,
        "read one": "ok",
        "truncate one": truncate,
        "write two": "ok",
        "truncate two": "ok",
        "read outside": "EACCES",
        "list outside": "EACCES",
        "create": "ok",
        "overwrite": "ok",
        "folder": "ok",
        "link": "ok",
        "fifo": "ok",
        "device": "EACCES",
        # Without REFER nothing changes its folder, even inside a write root.
        "move": "ok" if abi >= 2 else "EXDEV",
        "take": "EACCES",
        "remove": "ok",
        "null": "ok",
        "ioctl granted": "ok",
        # ENOTTY: the device itself was asked, and knows no such request.
        "ioctl read": "EACCES" if abi >= 5 else "ENOTTY",
        "held": "ok",
        "signal": "EPERM" if abi >= 6 else "ok",
        "connect": "EACCES" if abi >= 4 else "ok",
    }


def test_a_granted_network_can_be_used_under_the_newest_masks(tmp_path: Path) -> None:
    assert attempts(rights.NEWEST, tmp_path, network=True)["connect"] == "ok"


def test_control_without_the_restriction_every_attempt_succeeds(tmp_path: Path) -> None:
    free = CONFINED.replace("call(rights.RESTRICT_SELF, ruleset, rights.restrict_flags(abi))", "")
    assert free != CONFINED

    said = attempts(rights.NEWEST, tmp_path, program=free)

    # The kernel refuses the rule, the device the request; and only root makes device nodes.
    assert (said.pop("unmasked"), said.pop("ioctl read")) == ("EINVAL", "ENOTTY")
    assert said.pop("device") == ("ok" if os.geteuid() == 0 else "EPERM")
    assert set(said.values()) == {"ok"}
