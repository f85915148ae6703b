"""The compiled fork server: how it is told what to do, and that it was built from what is here."""

from __future__ import annotations

import _socket
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.unit.sandbox.running import MODES, World, command, is_alive

from tongs.core.errors import ErrorCode, ToolError
from tongs.core.permissions import Permissions
from tongs.sandbox import KEYS, compiled, mounts, orders, packets
from tongs.sandbox.forkclient import ForkServer

TOOLS = Path(__file__).resolve().parents[3] / "tools"


def number(value: int) -> bytes:
    return b"i" + value.to_bytes(8, sys.byteorder)


def text(value: bytes) -> bytes:
    return b"b" + len(value).to_bytes(4, sys.byteorder) + value + b"\0"


def test_values_are_packed_with_their_kind_and_length() -> None:
    assert compiled.packed(7) == number(7)
    assert compiled.packed(b"name") == text(b"name")
    nested = b"l" + (2).to_bytes(4, sys.byteorder) + number(1) + text(b"")
    assert compiled.packed([1, b""]) == nested


def test_numbers_take_the_64_bits_of_the_kernel() -> None:
    assert compiled.packed(2**64 - 1) == compiled.packed(-1) == b"i" + b"\xff" * 8


@pytest.mark.parametrize(
    ("step", "fields"),
    [
        ((mounts.BIND, b"/a", b"/b", 1, 2, 3), (0, b"/a", b"/b", 1, 2, 3)),
        ((mounts.OVERLAY, b"/a", b"/b", 2, 3), (1, b"/a", b"/b", 0, 2, 3)),
        ((mounts.FOLDER, b"/b", 0o700), (2, b"", b"/b", 0o700, 0, 0)),
        ((mounts.FILE, b"/b", b"data"), (3, b"data", b"/b", 0, 0, 0)),
        ((mounts.LINK, b"/b", b"text"), (4, b"text", b"/b", 0, 0, 0)),
        ((mounts.PIN, b"/b"), (5, b"", b"/b", 0, 0, 0)),
        ((mounts.PROTECT, b"/b"), (6, b"", b"/b", 0, 0, 0)),
        ((mounts.HIDE, b"/b"), (7, b"", b"/b", 0, 0, 0)),
        ((mounts.PROC,), (8, b"", b"", 0, 0, 0)),
    ],
)
def test_every_step_of_a_view_has_the_same_fields(
    step: tuple[bytes | int | str, ...], fields: tuple[bytes | int, ...]
) -> None:
    order = compiled.packed_order(orders.Jail(view=[step]), ())

    assert compiled.packed(fields) in order


def test_what_a_policy_shares_is_packed_once() -> None:
    jail = orders.Jail(abi=7, rules=[(b"/usr", 4, 0, 0)])
    first = jail.with_rules([(b"/first", 4, 0, 0)])
    second = jail.with_rules([(b"/second", 4, 0, 0)])

    packed = [compiled.packed_order(made, ()) for made in (first, second)]

    assert first.packed is second.packed is jail.packed
    assert [b"/first" in packed[0], b"/second" in packed[0]] == [True, False]
    assert [b"/first" in packed[1], b"/second" in packed[1]] == [False, True]


def test_it_was_built_from_the_sources_that_are_here() -> None:
    asked = "import native; print(native.digest())"
    done = subprocess.run([sys.executable, "-c", asked], cwd=TOOLS, capture_output=True, check=True)

    assert done.stdout.strip() in Path(compiled.PROGRAM).read_bytes()


@contextmanager
def pair() -> Iterator[tuple[_socket.socket, _socket.socket]]:
    both = packets.pair()
    try:
        yield both
    finally:
        for end in both:
            end.close()


@pytest.mark.parametrize(
    "order",
    [
        b"",
        b"x",
        b"l\xff\xff\xff\xff",
        compiled.packed(1),
        compiled.packed([[], [], []]),
        compiled.packed_order(orders.Jail(), ())[:-1],
        compiled.packed_order(orders.Jail(view=[(mounts.PIN, b"/b")]), ())[:40],
    ],
)
def test_an_order_it_cannot_read_starts_nothing_and_does_no_harm(order: bytes) -> None:
    server = ForkServer(compiled.program())
    with pair() as (ours, theirs):
        server.launch(orders.Jail(), theirs.fileno(), ())
        packets.receive(ours)
        assert server._requests is not None
        with pair() as (told, given):
            packets.send(server._requests, order, [given.fileno()])
            given.close()

            assert packets.receive(told) == (None, [])
        assert is_alive(server._pid)
    server.close()


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("size", [0, 100, 200_000])
def test_a_request_of_any_size_arrives_whole(key: str, size: int) -> None:
    world = World.of("native", key)
    words = ["a" * 100] * (size // 100)

    completed = world.run(command("sh", "-c", 'echo "$#"; echo "$*" | wc -c', "sh", *words))
    world.close()

    assert completed.stdout.split() == [b"%d" % len(words), b"%d" % max(1, 101 * len(words))]


def test_where_it_cannot_be_started_the_one_in_python_is(tmp_path: Path) -> None:
    broken = tmp_path / "forkserver"
    broken.write_bytes(b"\x7fELF of another machine")
    broken.chmod(0o700)
    server = ForkServer(str(broken))
    with pair() as (ours, theirs):
        launched = server.launch(orders.Jail(), theirs.fileno(), ())

        assert packets.receive(ours)[0] == orders.READY
    assert os.readlink(f"/proc/{server._pid}/exe") == os.path.realpath(sys.executable)
    assert launched.packed(orders.Request([b"true"], {}, [], b"/", [], {}))[:1] != b"l"
    server.close()


def test_where_it_ends_at_once_the_one_in_python_takes_over() -> None:
    world = World.of("native")
    world.session()
    world.fork_server._program = "/bin/false"

    completed = world.run(command("echo", "hi"))
    world.close()

    assert completed.stdout == b"hi\n"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("key", KEYS)
def test_a_directory_with_a_nul_is_refused(mode: str, key: str) -> None:
    world = World.of(mode, key)

    with pytest.raises(ToolError) as caught:
        world.run(command("pwd", cwd="/usr\0/x"))
    world.close()

    assert caught.value.code == ErrorCode.EXECUTION_ERROR


@pytest.mark.parametrize("key", ["namespaces", "landlock"])
@pytest.mark.parametrize("path", ["/proc\0x", "/\0x", "/usr\0"])
def test_a_granted_path_with_a_nul_is_refused(key: str, path: str) -> None:
    world = World.of("native", key, permissions=Permissions(read=(path,)))

    with pytest.raises(ToolError) as caught:
        world.run(command("true"))
    world.close()

    assert caught.value.code == ErrorCode.PERMISSION_DENIED


def test_an_order_with_a_nul_in_a_path_starts_nothing() -> None:
    jail = orders.Jail(abi=7, rules=[(b"/usr\0x", 4, 0, 0)])
    server = ForkServer(compiled.program())
    with pair() as (ours, theirs):
        server.launch(jail, theirs.fileno(), ())
        theirs.close()

        assert packets.receive(ours) == (None, [])
    server.close()


def test_a_program_of_another_protocol_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(compiled.PROGRAM, tmp_path / "tongs-forkserver-0")
    monkeypatch.setattr(compiled, "PROGRAM", str(tmp_path / "tongs-forkserver-1"))

    assert compiled.program() == ""
