"""Records as they come, across files."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from tongs.audit.chain import Chain
from tongs.audit.following import Follower
from tongs.audit.index import Index
from tongs.audit.query import Query

BODY = '"event":"TOOL_STARTED","call":"c1"'


def test_follower_goes_on_in_the_next_file(tmp_path: Path) -> None:
    chain = Chain(str(tmp_path), largest=1000)
    chain.append(BODY)
    follower = Follower(str(tmp_path))
    for _ in range(10):
        chain.append(BODY)

    found = list(islice(follower.follow(), 10))

    assert [entry.seq for entry in found] == list(range(3, 13))


def test_follower_waits_for_the_first_file_and_for_whole_lines(tmp_path: Path) -> None:
    follower = Follower(str(tmp_path))
    file = tmp_path / "chain-000001.jsonl"
    pauses: list[int] = []

    def pause() -> None:
        pauses.append(1)
        if len(pauses) == 1:
            file.write_bytes(b"half a lin")
        elif len(pauses) == 2:
            Chain(str(tmp_path)).append(BODY)

    (entry,) = islice(follower.follow(pause), 1)

    assert (entry.data()["event"], len(pauses)) == ("TOOL_STARTED", 2)


def test_follower_begins_again_where_somebody_put_another_file(tmp_path: Path) -> None:
    Chain(str(tmp_path)).append(f'{BODY},"x":"{"x" * 5000}"')
    follower = Follower(str(tmp_path))
    (tmp_path / "chain-000001.jsonl").unlink()
    Chain(str(tmp_path)).append(BODY)

    assert [entry.seq for entry in islice(follower.follow(), 2)] == [1, 2]


def test_index_grows_with_the_chain_and_is_made_anew_for_another_version(tmp_path: Path) -> None:
    import sqlite3

    chain = Chain(str(tmp_path), largest=1000)
    for number in range(10):
        chain.append(f'"event":"X","tool":"t","call":"c{number}","caller":"\\ud800"')
        with Index(str(tmp_path)) as index:
            assert len(list(index.find(Query(tool="t")))) == number + 1
    with sqlite3.connect(tmp_path / "index.db") as database:
        database.execute("PRAGMA user_version = 99")
    database.close()

    with Index(str(tmp_path)) as index:
        assert len(list(index.find(Query(caller="\ud800")))) == 10
        assert len(list(index.find(Query(family="c1")))) == 1


def test_index_of_a_folder_that_cannot_be_written_lives_in_memory(tmp_path: Path) -> None:
    Chain(str(tmp_path)).append(BODY)
    # A folder of that name cannot be removed as a file, nor opened as a database.
    (tmp_path / "index.db").mkdir()

    with Index(str(tmp_path)) as index:
        assert len(list(index.find(Query()))) == 2


def test_record_that_is_gone_is_left_out(tmp_path: Path) -> None:
    chain = Chain(str(tmp_path), largest=1000)
    for _ in range(10):
        chain.append(BODY)
    with Index(str(tmp_path)) as index:
        (tmp_path / "chain-000001.jsonl").unlink()

        assert [one["seq"] for one in index.find(Query(seq=2))] == []
