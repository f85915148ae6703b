"""The chain: one locked write per record, whoever writes, whatever breaks."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tongs.audit import chain as chain_module
from tongs.audit import locking
from tongs.audit.chain import Chain
from tongs.audit.entry import NOTHING, sealed
from tongs.audit.verify import entries, verify

BODY = '"event":"TOOL_STARTED","call":"c1"'


def first(folder: Path) -> Path:
    return folder / "chain-000001.jsonl"


def events(folder: Path) -> list[str]:
    return [str(entry.data()["event"]) for entry in entries(str(folder))]


def findings(folder: Path) -> list[str]:
    return [f"{Path(one.file).name}:{one.line}" for one in verify(str(folder)).findings]


def test_each_record_holds_the_hash_of_the_one_before(tmp_path: Path) -> None:
    chain = Chain(str(tmp_path))

    chain.append(BODY)
    chain.append(BODY)
    chain.close()

    found = list(entries(str(tmp_path)))
    assert [entry.seq for entry in found] == [1, 2, 3]
    assert [entry.prev for entry in found] == [NOTHING, found[0].hash, found[1].hash]
    assert events(tmp_path) == ["CHAIN_OPENED", "TOOL_STARTED", "TOOL_STARTED"]
    assert verify(str(tmp_path)).ok


def test_two_writers_keep_one_chain(tmp_path: Path) -> None:
    one, other = Chain(str(tmp_path)), Chain(str(tmp_path))

    for _ in range(3):
        one.append(BODY)
        other.append(BODY)

    assert verify(str(tmp_path)).ok
    assert [entry.seq for entry in entries(str(tmp_path))] == list(range(1, 8))


def test_threads_keep_one_chain(tmp_path: Path) -> None:
    chain = Chain(str(tmp_path))
    threads = [
        threading.Thread(target=lambda: [chain.append(BODY) for _ in range(100)]) for _ in range(4)
    ]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    found = verify(str(tmp_path))
    assert (found.ok, found.records) == (True, 401)


def test_forked_child_does_not_share_the_lock(tmp_path: Path) -> None:
    chain = Chain(str(tmp_path))
    chain.append(BODY)
    pid = os.fork()
    if pid == 0:
        try:
            for _ in range(200):
                chain.append(BODY)
        finally:
            os._exit(0)
    for _ in range(200):
        chain.append(BODY)
    os.waitpid(pid, 0)

    found = verify(str(tmp_path))
    assert (found.ok, found.records) == (True, 402)


def test_torn_last_line_is_covered_by_the_next_record(tmp_path: Path) -> None:
    chain = Chain(str(tmp_path))
    chain.append(BODY)
    chain.close()
    with first(tmp_path).open("ab") as file:
        file.write(b'{"seq":3,"prev":"ab')
    assert verify(str(tmp_path)).ok  # a note: somebody crashed

    Chain(str(tmp_path)).append(BODY)

    found = verify(str(tmp_path))
    assert found.ok
    assert [(one.line, one.note) for one in found.findings] == [(3, True)]
    *_, last = entries(str(tmp_path))
    assert (last.seq, last.data()["torn"]["size"]) == (3, 19)


def test_torn_bytes_that_were_changed_later_are_found(tmp_path: Path) -> None:
    Chain(str(tmp_path)).append(BODY)
    with first(tmp_path).open("ab") as file:
        file.write(b"torn")
    Chain(str(tmp_path)).append(BODY)

    first(tmp_path).write_bytes(first(tmp_path).read_bytes().replace(b"\ntorn\n", b"\nTorn\n"))

    assert not verify(str(tmp_path)).ok
    assert findings(tmp_path) == ["chain-000001.jsonl:3"]


def test_chain_goes_on_after_a_record_that_somebody_changed(tmp_path: Path) -> None:
    Chain(str(tmp_path)).append(BODY)
    text = first(tmp_path).read_bytes()
    first(tmp_path).write_bytes(text.replace(b'"c1"', b'"c2"'))

    Chain(str(tmp_path)).append(BODY)

    assert findings(tmp_path) == ["chain-000001.jsonl:2"]
    assert not verify(str(tmp_path)).ok


def test_full_file_is_closed_and_the_chain_goes_on_in_the_next(tmp_path: Path) -> None:
    chain = Chain(str(tmp_path), largest=1000)
    for _ in range(20):
        chain.append(BODY)
    other = Chain(str(tmp_path), largest=1000)
    other.append(BODY)
    chain.append(BODY)

    found = verify(str(tmp_path))
    assert (found.ok, found.files > 3) == (True, True)
    named = events(tmp_path)
    assert named.count("TOOL_STARTED") == 22
    assert named.count("CHAIN_OPENED") == named.count("CHAIN_CLOSED") + 1 == found.files


def test_writer_finds_the_file_that_another_has_opened(tmp_path: Path) -> None:
    stale = Chain(str(tmp_path), largest=1000)
    stale.append(BODY)
    busy = Chain(str(tmp_path), largest=1000)
    for _ in range(40):
        busy.append(BODY)

    stale.append(BODY)

    assert verify(str(tmp_path)).ok
    assert events(tmp_path).count("TOOL_STARTED") == 42


def test_crash_between_two_files_leaves_a_chain_that_goes_on(tmp_path: Path) -> None:
    chain = Chain(str(tmp_path), largest=1000)
    for _ in range(5):
        chain.append(BODY)
    (tmp_path / "chain-000002.jsonl").write_bytes(b"")

    Chain(str(tmp_path)).append(BODY)

    assert verify(str(tmp_path)).ok
    assert len(list(tmp_path.iterdir())) == 2


def test_removed_file_is_not_written_to_any_longer(tmp_path: Path) -> None:
    chain = Chain(str(tmp_path))
    chain.append(BODY)
    first(tmp_path).unlink()
    chain.append(BODY, sync=True)
    chain.append(BODY)

    found = verify(str(tmp_path))
    assert [finding.message for finding in found.findings] == [
        "records 1 to 3 are missing before record 4"
    ]


FILL = """
import sys
from tongs.audit.chain import Chain
from tongs.audit.verify import verify
chain = Chain(sys.argv[1])
body = sys.argv[2] + ',"x":"' + "x" * 3000 + '"'
for _ in range(2):
    try:
        for _ in range(100):
            chain.append(body)
    except OSError as error:
        print(error.strerror, verify(sys.argv[1]).findings)
"""


def test_full_disk_is_an_error_and_leaves_no_half_record(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = 'mount -t tmpfs -o size=64k tmpfs "$1" && shift && exec "$@"'
    command = [sys.executable, "-c", FILL, disk / "audit", BODY]

    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "_", disk, *command],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "No space left on device []\n" * 2


def test_file_size_limit_is_an_error_and_leaves_no_half_record(tmp_path: Path) -> None:
    program = (
        "import sys; from tongs.audit.chain import Chain\n"
        "chain = Chain(sys.argv[1])\n"
        "try:\n"
        "    for _ in range(1000): chain.append(sys.argv[2])\n"
        "except OSError as error: print(error.errno)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, tmp_path, BODY],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000)),
    )

    assert done.stdout == f"{errno.EFBIG}\n"
    assert verify(str(tmp_path)).findings == []
    assert first(tmp_path).stat().st_size <= 5000


def test_something_else_in_its_place_is_refused(tmp_path: Path) -> None:
    os.mkfifo(first(tmp_path))

    with pytest.raises(OSError, match="not a plain file"):
        Chain(str(tmp_path)).append(BODY)


def test_process_that_does_not_let_go_stops_nobody_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = Chain(str(tmp_path))
    chain.append(BODY)
    monkeypatch.setattr(chain_module, "wait", lambda held: locking.wait(held, 0.05))
    with first(tmp_path).open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(OSError, match="does not let go"):
            chain.append(BODY)

    chain.append(BODY)
    assert verify(str(tmp_path)).records == 3


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One more for each time that records are forced to the disk."""
    times: list[int] = []
    monkeypatch.setattr(chain_module, "_sync", times.append)
    return times


def test_ordinary_records_reach_the_disk_together(tmp_path: Path, synced: list[int]) -> None:
    chain = Chain(str(tmp_path), interval=60)
    chain.append(BODY)
    begun = len(synced)

    for _ in range(10):
        chain.append(BODY)
    assert len(synced) == begun
    chain.close()
    assert len(synced) == begun + 1
    chain.close()
    assert len(synced) == begun + 1


def test_decision_of_a_person_reaches_the_disk_at_once(tmp_path: Path, synced: list[int]) -> None:
    chain = Chain(str(tmp_path), interval=60)
    chain.append(BODY)
    begun = len(synced)

    chain.append(BODY, sync=True)

    assert len(synced) == begun + 1


def test_records_of_a_while_ago_reach_the_disk_with_the_next(
    tmp_path: Path, synced: list[int]
) -> None:
    chain = Chain(str(tmp_path), interval=0)
    chain.append(BODY)
    begun = len(synced)

    chain.append(BODY)

    assert len(synced) == begun + 1


def test_loop_that_is_idle_lets_the_last_record_reach_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import asyncio

    async def call() -> None:
        chain.append(BODY)
        reached.clear()
        await asyncio.wait_for(reached.wait(), 10)

    reached = asyncio.Event()
    monkeypatch.setattr(chain_module, "_sync", lambda descriptor: reached.set())
    chain = Chain(str(tmp_path), interval=0.01)
    asyncio.run(call())


def test_disk_that_fails_later_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warnings: list[str] = []
    chain = Chain(str(tmp_path), interval=60, warn=warnings.append)
    chain.append(BODY)

    def broken(descriptor: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(chain_module, "_sync", broken)
    chain.flush()
    assert warnings == ["the audit record may not have reached the disk: Input/output error"]
    with pytest.raises(OSError, match="Input/output error"):
        chain.append(BODY, sync=True)


def test_long_record_is_found_at_the_end_of_the_file(tmp_path: Path) -> None:
    Chain(str(tmp_path)).append(f'{BODY},"x":"{"x" * 100_000}"')
    Chain(str(tmp_path)).append(BODY)

    assert verify(str(tmp_path)).ok


def test_chain_that_somebody_emptied_still_names_what_was_there(tmp_path: Path) -> None:
    chain = Chain(str(tmp_path))
    chain.append(BODY)
    first(tmp_path).write_bytes(b"no record\n")

    chain.append(BODY)

    assert [finding.message for finding in verify(str(tmp_path)).findings] == [
        "this is not what was recorded: it is no record",
        "records 1 to 2 are missing before record 3",
    ]


def test_record_that_was_made_by_hand_is_out_of_place(tmp_path: Path) -> None:
    chain = Chain(str(tmp_path))
    chain.append(BODY)
    line, _ = sealed(3, NOTHING, BODY)
    with first(tmp_path).open("ab") as file:
        file.write(line)

    assert [finding.message for finding in verify(str(tmp_path)).findings] == [
        "record 3 does not follow the record before it: that one was replaced"
    ]
