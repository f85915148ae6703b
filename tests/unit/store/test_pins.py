"""What a server's tools were when they were accepted."""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from tongs.core.annotations import Any
from tongs.core.errors import ToolError
from tongs.core.scope import Scope
from tongs.core.servers import ServerSpec, definition_digest
from tongs.store.pins import FIRST_USE, PERSON, Pinned, PinStore

GIT = ServerSpec("git", ("git-server",))


def tool(name: str, description: str = "does it", **more: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": {"type": "object"}, **more}


@pytest.fixture
def store(tmp_path: Path) -> PinStore:
    return PinStore(str(tmp_path))


def told(store: PinStore, *tools: dict[str, Any], spec: ServerSpec = GIT) -> Pinned:
    return store.seen(spec, tools, title="Git", version="1")


def test_the_first_connection_pins_what_it_tells(store: PinStore) -> None:
    told(store, tool("status", icons=["x"]), tool("log"))

    pinned = store.of(GIT)

    assert pinned is not None
    assert (pinned.server, pinned.title, pinned.version, pinned.held) == ("git", "Git", "1", [])
    status = pinned.tools["status"]
    assert status.accepted == tool("status")
    assert (status.digest, status.by) == (definition_digest(tool("status")), FIRST_USE)


def test_a_server_that_was_never_connected_has_no_pins(store: PinStore) -> None:
    assert store.of(GIT) is None
    assert store.all() == []
    assert not store.forget(GIT)


def test_what_is_told_differently_or_new_is_held_back(store: PinStore) -> None:
    told(store, tool("status"), tool("log"))

    pinned = told(store, tool("status", "sends your keys away"), tool("log"), tool("push"))

    assert {pin.name for pin in pinned.held} == {"status", "push"}
    assert pinned.tools["status"].accepted == tool("status")
    assert pinned.tools["push"].accepted is None
    assert pinned.tools["push"].digest == ""


def test_a_server_that_says_the_old_thing_again_is_fine_again(store: PinStore) -> None:
    told(store, tool("status"))
    told(store, tool("status", "other"), tool("push"))

    pinned = told(store, tool("status"))

    assert pinned.held == []
    assert list(pinned.tools) == ["status"]


def test_a_tool_that_is_gone_comes_back_only_as_it_was(store: PinStore) -> None:
    told(store, tool("status"), tool("log"))
    assert told(store, tool("log")).tools["status"].gone

    assert not told(store, tool("status"), tool("log")).tools["status"].gone
    told(store, tool("log"))
    assert told(store, tool("status", "other"), tool("log")).tools["status"].changed


def test_a_person_accepts_what_they_were_shown_and_nothing_else(store: PinStore) -> None:
    told(store, tool("status"), tool("log"))
    told(store, tool("status", "new words"), tool("push"))

    pinned = store.accept(GIT, [tool("status", "new words")])

    assert pinned.tools["status"].accepted == tool("status", "new words")
    assert pinned.tools["status"].by == PERSON
    assert [pin.name for pin in pinned.held] == ["push"]
    assert "log" not in pinned.tools


def test_accepting_the_same_again_keeps_when_it_was_accepted(store: PinStore) -> None:
    told(store, tool("status"))

    assert store.accept(GIT, [tool("status")]).tools["status"].by == FIRST_USE


def test_a_project_s_server_of_the_same_name_is_another_one(
    store: PinStore, tmp_path: Path
) -> None:
    theirs = ServerSpec("git", ("x",), scope=Scope.LOCAL, project=str(tmp_path / "app"))
    told(store, tool("status"))
    told(store, tool("status", "theirs"), spec=theirs)

    mine, other = store.of(GIT), store.of(theirs)

    assert mine is not None
    assert other is not None
    assert (mine.held, other.held) == ([], [])
    assert other.project == str(tmp_path / "app")
    assert store.forget(theirs)
    assert store.of(theirs) is None
    assert store.of(GIT) is not None


def test_another_process_sees_it(store: PinStore, tmp_path: Path) -> None:
    other = PinStore(str(tmp_path))
    assert other.of(GIT) is None
    told(store, tool("status"))

    assert other.of(GIT) == store.of(GIT)


def test_the_same_again_writes_nothing(store: PinStore, tmp_path: Path) -> None:
    told(store, tool("status"))
    file = tmp_path / "mcp" / "pins.json"
    before = file.stat()

    told(store, tool("status"))

    assert file.stat() == before
    assert file.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "mcp").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    "written",
    [
        "no JSON",
        "[]",
        '{"git": 5}',
        '{"git": {"tools": []}}',
        '{"git": {"server": 5, "tools": {}}}',
    ],
)
def test_what_cannot_be_understood_accepts_nothing(
    written: str, store: PinStore, tmp_path: Path
) -> None:
    (tmp_path / "mcp").mkdir()
    (tmp_path / "mcp" / "pins.json").write_text(written)

    pinned = store.of(GIT)
    assert pinned is not None
    assert pinned.tools == {}


@pytest.mark.parametrize("written", ["no JSON", "[]", '{"git": 5}', "[" * 100_000])
def test_a_spoiled_file_makes_no_server_a_new_one(
    written: str, store: PinStore, tmp_path: Path
) -> None:
    (tmp_path / "mcp").mkdir()
    file = tmp_path / "mcp" / "pins.json"
    file.write_text(written)

    with suppress(ToolError):
        told(store, tool("status", "now does something else"))

    pinned = store.of(GIT)
    assert pinned is not None
    assert [pin.name for pin in pinned.tools.values() if pin.accepted] == []


def test_what_is_too_large_to_be_read_again_is_not_written(
    store: PinStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(store, tool("status"))
    monkeypatch.setattr("tongs.store.pins._LARGEST", 2000)

    with pytest.raises(ToolError, match="not pinned"):
        told(store, tool("status"), tool("large", "x" * 2000))

    pinned = store.of(GIT)
    assert pinned is not None
    assert list(pinned.tools) == ["status"]


def test_a_spoiled_pin_is_none(store: PinStore, tmp_path: Path) -> None:
    told(store, tool("status"), tool("log"), tool("push"))
    file = tmp_path / "mcp" / "pins.json"
    data = json.loads(file.read_text())
    data["git"]["tools"]["status"] = 5
    data["git"]["tools"]["log"]["accepted"] = "text"
    file.write_text(json.dumps(data))

    pinned = store.of(GIT)

    assert pinned is not None
    assert list(pinned.tools) == ["push"]


def test_two_that_connect_at_once_lose_nothing(tmp_path: Path) -> None:
    specs = [ServerSpec(f"s{number}", ("x",)) for number in range(8)]
    threads = [
        threading.Thread(target=told, args=(PinStore(str(tmp_path)), tool("a")), kwargs={"spec": s})
        for s in specs
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(PinStore(str(tmp_path)).all()) == 8
