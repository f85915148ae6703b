"""Whoever wants to know is told within a second what came, changed and went."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tongs import Runtime
from tongs.runtime.watching import Changes, watch


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TONGS_HOME", str(tmp_path / "user"))
    monkeypatch.setenv("TONGS_GLOBAL", str(tmp_path / "global"))
    (tmp_path / "project" / ".git").mkdir(parents=True)
    return tmp_path / "project"


class Told:
    """Collects what `watch` says, in a thread, until it is told to stop."""

    def __init__(self, runtime: Runtime) -> None:
        self.changes: list[tuple[float, Changes]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._listen, args=(runtime,))
        self._thread.start()
        time.sleep(0.3)  # it looks at what there is before anything happens

    def _listen(self, runtime: Runtime) -> None:
        for changes, _ in watch(runtime, stop=self._stop):
            self.changes.append((time.monotonic(), changes))

    def next(self, count: int) -> Changes:
        until = time.monotonic() + 10
        while len(self.changes) < count and time.monotonic() < until:
            time.sleep(0.01)
        return self.changes[count - 1][1]

    def close(self) -> None:
        self._stop.set()
        self._thread.join(10)
        assert not self._thread.is_alive()


@pytest.fixture
def told(project: Path) -> Iterator[Told]:
    with Runtime.open(project) as runtime:
        made = Told(runtime)
        yield made
        made.close()


def test_tools_that_come_change_and_go_are_told(project: Path, told: Told) -> None:
    # The folder itself does not exist yet.
    tools = project / ".tongs" / "tools"
    tools.mkdir(parents=True)
    (tools / "t.yaml").write_text("description: one\nrun: 'true'\n")
    assert told.next(1) == Changes(added=("yaml:t",))

    (tools / "t.yaml").write_text("description: two\nrun: 'true'\n")
    assert told.next(2) == Changes(changed=("yaml:t",))

    (tools / "t.yaml").unlink()
    assert told.next(3) == Changes(removed=("yaml:t",))


def test_nothing_is_told_of_what_is_no_tool(project: Path, told: Told) -> None:
    tools = project / ".tongs" / "tools"
    tools.mkdir(parents=True)
    (tools / "notes.txt").write_text("nothing")
    (tools / "t.yaml").write_text("run: 'true'\n")

    assert told.next(1) == Changes(added=("yaml:t",))
    assert len(told.changes) == 1


def test_a_running_process_finds_what_is_new_and_loses_what_is_gone(project: Path) -> None:
    tools = project / ".tongs" / "tools"
    tools.mkdir(parents=True)
    with Runtime.open(project) as runtime:
        (tools / "t.yaml").write_text("description: one\nrun: 'true'\n")
        assert runtime.find("t").description == "one"

        (tools / "t.yaml").write_text("description: two\nrun: 'true'\n")
        assert runtime.find("t").description == "two"

        (tools / "t.yaml").unlink()
        assert runtime.call_sync("t").error is not None


def test_a_call_in_flight_is_not_lost_when_its_tool_goes(project: Path) -> None:
    tools = project / ".tongs" / "tools"
    tools.mkdir(parents=True)
    (tools / "t.yaml").write_text("bash: echo started; sleep 1; echo done\n")
    with Runtime.open(project, auto_approve=["*"]) as runtime:
        runtime.definitions.accept(runtime.find("t"))
        results = []
        thread = threading.Thread(target=lambda: results.append(runtime.call_sync("t")))
        thread.start()
        time.sleep(0.4)

        (tools / "t.yaml").unlink()
        thread.join()

    assert results[0].output == "started\ndone\n"


def test_threads_may_look_for_tools_at_the_same_time(project: Path) -> None:
    tools = project / ".tongs" / "tools"
    tools.mkdir(parents=True)
    for number in range(30):
        (tools / f"t{number}.yaml").write_text(f"description: d{number}\nrun: 'true'\n")
    found: list[list[str]] = []
    with Runtime.open(project) as runtime:

        def look() -> None:
            found.append([entry.name for entry in runtime.entries()])

        threads = [threading.Thread(target=look) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert len(found) == 8
    assert all(names == found[0] and len(names) == 30 for names in found)
