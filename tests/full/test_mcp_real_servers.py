"""Servers that others wrote, behind the walls of the gateway: all their tools, and real calls.

`make test-full` fetches them: everything, filesystem and memory for Node, git and time for Python.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from tests.mcp_world import ServerWorld, serving

from tongs.core.permissions import Permissions
from tongs.core.servers import ServerSpec

pytestmark = pytest.mark.full

Hosted = Callable[..., AbstractContextManager[ServerWorld]]

HERE = Path(__file__).resolve().parents[2]
NODE = HERE / ".suites" / "node"
PYTHON = HERE / ".venv" / "servers"


def of_node(
    package: str,
    *words: str,
    read: tuple[str, ...] = (".",),
    write: tuple[str, ...] = (),
    **env: str,
) -> ServerSpec:
    program = NODE / "node_modules" / "@modelcontextprotocol" / package / "dist" / "index.js"
    return ServerSpec(
        package.removeprefix("server-"),
        command=(str((NODE / "bin" / "node").resolve()), str(program), *words),
        permissions=Permissions(read=(*read, str(NODE)), write=write),
        env=env,
    )


def of_python(program: str, *words: str, write: tuple[str, ...] = ()) -> ServerSpec:
    return ServerSpec(
        program.removeprefix("mcp-server-"),
        command=(str(PYTHON / "bin" / "python"), str(PYTHON / "bin" / program), *words),
        permissions=Permissions(read=(".", str(PYTHON), sys.base_prefix), write=write),
    )


@pytest.fixture
def hosted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hosted:
    @contextmanager
    def make(spec: ServerSpec, walls: str = "strict") -> Iterator[ServerWorld]:
        config = f"security: {{enforcement: '{walls}'}}\n"
        with serving(tmp_path, monkeypatch, spec, config) as world:
            world.accept()
            assert world.listing is not None
            assert list(world.listing.problems) == []
            yield world

    return make


def names(world: ServerWorld) -> set[str]:
    assert world.listing is not None
    return {tool["name"] for tool in world.listing.tools}


def test_everything(hosted: Hosted) -> None:
    with hosted(of_node("server-everything", "stdio")) as world:
        assert len(names(world)) == 16
        assert world.call("echo", message="hello").output == "Echo: hello"
        assert "5" in world.call("get-sum", a=2, b=3).output
        picture = world.call("get-tiny-image")
        assert picture.metadata["blocks"][0]["mimeType"] == "image/png"
        structured = world.call("get-structured-content", location="New York")
        assert structured.value["temperature"]
        assert "NODE" not in world.call("get-env").output


@pytest.mark.parametrize("walls", ["strict", "off"])
def test_filesystem_cannot_leave_what_was_granted_though_it_was_told_that_it_may(
    hosted: Hosted, tmp_path: Path, walls: str
) -> None:
    """The server is told to serve the folder above the project; `off` is the twin."""
    outside, granted = tmp_path / "outside", tmp_path / "project" / "granted"
    outside.mkdir()
    granted.mkdir(parents=True)
    (outside / "secret.txt").write_text("hush")
    (granted / "open.txt").write_text("news")
    # Without the project, of which it would be told as a root: then it goes by its own words.
    spec = of_node("server-filesystem", str(tmp_path), read=(), write=(str(granted),))
    with hosted(replace(spec, cwd=str(granted)), walls) as world:
        assert len(names(world)) == 14
        assert str(tmp_path) in world.call("list_allowed_directories").output
        assert "news" in world.call("read_text_file", path=str(granted / "open.txt")).output
        assert world.call("write_file", path=str(granted / "new.txt"), content="made").ok
        secret = world.call("read_text_file", path=str(outside / "secret.txt"))
        wrote = world.call("write_file", path=str(outside / "new.txt"), content="x")

    assert (granted / "new.txt").read_text() == "made"
    left = ("hush" in secret.output, wrote.ok, (outside / "new.txt").exists())
    assert left == ((walls == "off"),) * 3


def test_memory_keeps_its_graph_where_it_may(hosted: Hosted, tmp_path: Path) -> None:
    kept = tmp_path / "project" / "memory.jsonl"
    spec = of_node("server-memory", write=(str(kept.parent),), MEMORY_FILE_PATH=str(kept))
    entity = {"name": "Ann", "entityType": "person", "observations": ["likes tea"]}
    with hosted(spec) as world:
        assert len(names(world)) == 9
        assert world.call("create_entities", entities=[entity]).ok
        found = world.call("search_nodes", query="tea")

    assert "Ann" in found.output
    assert json.loads(kept.read_text().splitlines()[0])["name"] == "Ann"


def test_git_reads_the_repository(hosted: Hosted, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
    for words in (["init", "-q"], [*who, "commit", "-q", "--allow-empty", "-m", "First deed"]):
        subprocess.run(["git", *words], cwd=project, check=True)
    with hosted(of_python("mcp-server-git", "--repository", str(project))) as world:
        assert len(names(world)) == 12
        assert "First deed" in world.call("git_log", repo_path=str(project)).output
        # It may read the repository, and not write it.
        (project / "new").write_text("x")
        assert not world.call("git_add", repo_path=str(project), files=["new"]).ok
        assert "new" in world.call("git_status", repo_path=str(project)).output


def test_time_tells_the_time(hosted: Hosted) -> None:
    with hosted(of_python("mcp-server-time", "--local-timezone", "UTC")) as world:
        assert names(world) == {"get_current_time", "convert_time"}
        told = json.loads(world.call("get_current_time", timezone="UTC").output)

    assert told["timezone"] == "UTC"
