"""Real servers from a client's settings: what is proposed for each is enough, and no more."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from tests.acceptance.conftest import TONGS, Outcome, Place

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]
NODE = ROOT / ".suites" / "node"
MODULES = NODE / "node_modules"
OFFICIAL = MODULES / "@modelcontextprotocol"
PYTHON = ROOT / ".venv" / "servers" / "bin"


def run(place: Place, *words: str) -> Outcome:
    path = f"{NODE / 'bin'}:{place.env['PATH']}"
    done = subprocess.run(
        [TONGS, *words],
        cwd=place.project,
        env={**place.env, "PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )
    return Outcome(done.stdout, done.stderr, done.returncode)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A project with a repository, and the settings of an agent that uses real servers."""
    assert MODULES.exists(), "hint: make node"
    assert PYTHON.exists(), "hint: make servers"
    made = Place(*(tmp_path / name for name in ("project", "home", "user", "global")))
    for folder in (made.project / ".tongs", made.home, made.user, made.glob):
        folder.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", made.project], check=True)
    docs = made.project / "docs"
    docs.mkdir()
    (docs / "a.txt").write_text("hello\n")
    servers = {
        "everything": ["node", str(OFFICIAL / "server-everything" / "dist" / "index.js"), "stdio"],
        "filesystem": [str(MODULES / ".bin" / "mcp-server-filesystem"), str(docs)],
        "git": [str(PYTHON / "mcp-server-git"), "--repository", str(made.project)],
        "time": [str(PYTHON / "python"), "-m", "mcp_server_time"],
    }
    settings = {name: {"command": words[0], "args": words[1:]} for name, words in servers.items()}
    (made.project / ".mcp.json").write_text(json.dumps({"mcpServers": settings}))
    return made


def test_imported_servers_start_with_what_was_proposed(place: Place) -> None:
    imported = run(place, "mcp", "import", "--user", "--yes")
    assert imported.code == 0, imported.stderr

    names = "everything filesystem git time".split()
    inspected = {name: run(place, "mcp", "inspect", name) for name in names}

    assert {name: done.code for name, done in inspected.items()} == dict.fromkeys(inspected, 0), {
        name: done.stderr for name, done in inspected.items() if done.code
    }
    docs = place.project / "docs"
    shown = run(place, "tool", "run", "filesystem__read_text_file", f"path={docs / 'a.txt'}")
    written = run(
        place, "tool", "run", "filesystem__write_file", f"path={docs / 'b.txt'}", "content=new"
    )
    assert (shown.stdout, written.code) == ("hello\n", 0), written.stderr
    assert (docs / "b.txt").read_text() == "new"
    status = run(place, "tool", "run", "git__git_status", f"repo_path={place.project}")
    assert "docs/" in status.stdout, status.stderr
