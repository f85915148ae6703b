"""Large output on disk: private, bounded, paged, and reachable by its handle alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import STDERR, STDOUT
from tongs.store.spool import DAY, Spool, SpoolLimits


def kept(spool: Spool, data: bytes, call_id: str = "call") -> str:
    writer = spool.open(call_id)
    writer.write(STDOUT, data)
    writer.close()
    return writer.handle


def aged(folder: Path, handle: str, seconds: float) -> None:
    for file in folder.glob(f"{handle}.*"):
        moment = file.stat().st_mtime - seconds
        os.utime(file, (moment, moment))


def test_streams_are_read_back_in_pages(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path))
    writer = spool.open("call")
    for stream, data in ((STDOUT, b"abc"), (STDERR, b"12"), (STDOUT, b"def")):
        writer.write(stream, data)

    counts = writer.close()

    assert counts == {STDOUT: 6, STDERR: 2}
    assert [spool.size(writer.handle), spool.size(writer.handle, STDERR)] == [6, 2]
    assert [spool.read(writer.handle, at, 4) for at in (0, 4, 8)] == [b"abcd", b"ef", b""]
    assert spool.read(writer.handle, 1, 9, STDERR) == b"2"


def test_a_silent_stream_is_empty_and_no_error(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path))
    handle = kept(spool, b"x")

    assert (spool.size(handle, STDERR), spool.read(handle, 0, 9, STDERR)) == (0, b"")


def test_folder_and_files_are_private_whatever_was_there(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "spool"
    folder.mkdir(parents=True)
    folder.chmod(0o755)

    handle = kept(Spool(str(folder)), b"x")

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / f"{handle}.1").stat().st_mode) == 0o600


def test_a_handle_names_the_call_and_cannot_be_guessed(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path))

    handles = {spool.open("../call 1").handle for _ in range(100)}

    assert len(handles) == 100
    assert {handle.partition(".")[0] for handle in handles} == {"___call_1"}
    assert all(len(handle.rpartition(".")[2]) == 32 for handle in handles)
    assert "." not in spool.open("").handle


@pytest.mark.parametrize(
    "handle", ["", ".", "..", "../secret", "/etc/passwd", "a/b", "x.1", "A" * 32, "0" * 32]
)
def test_what_is_no_handle_reads_nothing(tmp_path: Path, handle: str) -> None:
    folder = tmp_path / "spool"
    spool = Spool(str(folder))
    kept(spool, b"x")
    (tmp_path / "secret.1").write_bytes(b"secret")

    for read in (spool.size, lambda name: spool.read(name, 0, 100)):
        with pytest.raises(ToolError) as caught:
            read(handle)
        assert caught.value.code == ErrorCode.FILE_NOT_FOUND


def test_a_link_in_the_folder_is_not_followed(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path / "spool"))
    handle = kept(spool, b"x")
    file = tmp_path / "spool" / f"{handle}.1"
    file.unlink()
    file.symlink_to("/etc/passwd")

    with pytest.raises(OSError, match="symbolic links"):
        spool.read(handle, 0, 10)


@pytest.mark.parametrize(("offset", "length"), [(-1, 5), (0, -1)])
def test_a_page_cannot_be_negative(tmp_path: Path, offset: int, length: int) -> None:
    spool = Spool(str(tmp_path))
    handle = kept(spool, b"x")

    with pytest.raises(ToolError) as caught:
        spool.read(handle, offset, length)

    assert caught.value.code == ErrorCode.INVALID_ARGUMENTS


def test_one_call_keeps_so_much_and_no_more(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path), SpoolLimits(call=10))
    first = spool.open("call")
    first.write(STDOUT, b"x" * 8)
    first.write(STDERR, b"y" * 8)
    first.write(STDOUT, b"z")
    counts = first.close()

    second = spool.open("call", used=sum(counts.values()))
    second.write(STDOUT, b"more")

    assert counts == {STDOUT: 8, STDERR: 2}
    assert second.close() == {}


def test_large_pieces_pass_the_block_they_are_collected_in(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path))
    writer = spool.open("call")
    pieces = [os.urandom(size) for size in (10, 200_000, 100_000, 1_000_000, 5)]

    for piece in pieces:
        writer.write(STDOUT, piece)

    assert writer.close() == {STDOUT: 1_300_015}
    assert spool.read(writer.handle, 0, 2_000_000) == b"".join(pieces)


def test_output_is_dropped_after_a_day(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path))
    old, young = kept(spool, b"old"), kept(spool, b"young")
    aged(tmp_path, old, DAY + 1)
    aged(tmp_path, young, DAY - 60)

    spool.sweep()

    assert spool.read(young, 0, 9) == b"young"
    with pytest.raises(ToolError) as caught:
        spool.read(old, 0, 9)
    assert "24 hours" in caught.value.hint


def test_the_oldest_makes_room_for_the_newest(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path), SpoolLimits(total=1000))
    handles = []
    for number in range(4):
        handles.append(kept(spool, b"x" * 300))
        aged(tmp_path, handles[-1], 100 - number)

    newest = kept(spool, b"x" * 300)

    left = {file.name.removesuffix(".1") for file in tmp_path.iterdir()}
    assert left == {handles[2], handles[3], newest}


def test_the_bound_holds_while_one_writer_goes_on(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path), SpoolLimits(total=20 * 1024**2))
    old = kept(spool, b"x" * 5 * 1024**2)
    aged(tmp_path, old, 100)
    writer = spool.open("call")

    for _ in range(17):
        writer.write(STDOUT, b"y" * 1024**2)

    assert not (tmp_path / f"{old}.1").exists()
    writer.close()


def test_other_files_in_the_folder_are_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_bytes(b"x")
    os.utime(other, (0, 0))

    kept(Spool(str(tmp_path)), b"y")

    assert other.exists()


def test_a_full_disk_ends_what_is_kept_without_an_error(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path))
    writer = spool.open("call")
    writer.write(STDOUT, b"x" * 300_000)
    # /dev/full takes the place of a disk that fills up in the middle.
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, writer._files[STDOUT]._descriptor)
    os.close(full)

    writer.write(STDOUT, b"y" * 300_000)
    writer.write(STDERR, b"later")

    assert writer.close() == {STDOUT: 300_000}


def test_a_folder_that_cannot_be_made_is_the_callers_to_know(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(OSError, match="Not a directory"):
        Spool(str(tmp_path / "file" / "spool")).open("call")
