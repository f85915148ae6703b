"""`tongs mcp install`: Tongs in the settings of other programs."""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from pathlib import Path

import pytest
from tests.acceptance.conftest import TONGS, Place, Run

from tongs.authoring.mcp_clients import CLIENTS

# Each client's own file, from the home.
OWN = {
    "claude-code": ".claude.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
    "vscode": ".config/Code/User/mcp.json",
    "cursor": ".cursor/mcp.json",
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
}
SHARED = {
    "claude-code": ".mcp.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
    "vscode": ".vscode/mcp.json",
    "cursor": ".cursor/mcp.json",
}
COMMENTED = """{
  // mine
  "mcpServers": {
    "docs": {"command": "docs"} // the manual
  }
}
"""


def servers(client: str, path: Path) -> dict[str, object]:
    text = path.read_text(encoding="utf-8")
    data = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    found: dict[str, object] = data[CLIENTS[client].key]
    return found


@pytest.mark.parametrize("client", OWN)
def test_each_client_is_set_up_once_and_undone(client: str, place: Place, tongs: Run) -> None:
    path = place.home / OWN[client]

    first = tongs("mcp", "install", client, "--", "--tools", "read_file,my tool", "--tags", "a'b")
    written = path.read_bytes()
    second = tongs("mcp", "install", client, "--", "--tools", "read_file,my tool", "--tags", "a'b")

    assert (first.code, second.code) == (0, 0)
    entry = servers(client, path)["tongs"]
    assert isinstance(entry, dict)
    assert entry.pop("type", "stdio") == "stdio"
    assert entry == {
        "command": TONGS,
        "args": ["mcp", "serve", "--tools", "read_file,my tool", "--tags", "a'b"],
        # A client may not hand these on.
        "env": {"TONGS_HOME": str(place.user), "TONGS_GLOBAL": str(place.glob)},
    }
    assert "nothing to do" in second.stderr
    assert path.read_bytes() == written
    assert path.stat().st_mode & 0o777 == 0o600

    removed = tongs("mcp", "install", client, "--remove")
    again = tongs("mcp", "install", client, "--remove")

    assert (removed.code, again.code) == (0, 0)
    assert b"tongs" not in path.read_bytes()
    assert "nothing to do" in again.stderr


@pytest.mark.parametrize("client", SHARED)
def test_the_file_of_a_project_names_the_command_by_its_name(
    client: str, place: Place, tongs: Run
) -> None:
    reached = {"PATH": f"{Path(TONGS).parent}:{place.env['PATH']}"}

    done = tongs("mcp", "install", client, "--project", env=reached)

    assert done.code == 0, done.stderr
    entry = servers(client, place.project / SHARED[client])["tongs"]
    assert isinstance(entry, dict)
    assert (entry["command"], entry["args"]) == ("tongs", ["mcp", "serve"])
    assert "env" not in entry
    assert not (place.home / OWN[client]).exists()


def test_a_path_of_this_machine_in_a_shared_file_is_said(place: Place, tongs: Run) -> None:
    done = tongs("mcp", "install", "cursor", "--project", env={"PATH": "/usr/bin:/bin"})

    assert "is a path of this machine" in done.stderr
    no_project = tongs("mcp", "install", "claude-desktop", "--project")
    assert (no_project.code, "no settings of projects" in no_project.stderr) == (2, True)


def test_comments_stay_and_the_file_as_it_was_is_kept(place: Place, tongs: Run) -> None:
    path = place.home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text(COMMENTED)
    path.chmod(0o640)

    assert tongs("mcp", "install", "cursor").code == 0

    assert "// mine" in path.read_text()
    assert "// the manual" in path.read_text()
    kept = path.with_name("mcp.json.before-tongs")
    assert kept.read_text() == COMMENTED
    assert {each.stat().st_mode & 0o777 for each in (path, kept)} == {0o640}
    assert tongs("mcp", "install", "cursor", "--", "--tags", "read").code == 0
    # The first copy stays, and there is one of what was before the second change.
    assert kept.read_text() == COMMENTED
    assert "mcp.json.before-tongs.2" in os.listdir(path.parent)
    assert tongs("mcp", "install", "cursor", "--remove").code == 0
    assert path.read_text() == COMMENTED


def test_comments_of_codex_stay(place: Place, tongs: Run) -> None:
    path = place.home / ".codex" / "config.toml"
    path.parent.mkdir()
    before = '# mine\nmodel = "o" # fast\n\n[mcp_servers.docs] # manual\ncommand = "docs"\n'
    path.write_text(before)

    assert tongs("mcp", "install", "codex").code == 0
    assert path.read_text().startswith(before)
    assert tongs("mcp", "install", "codex", "--remove").code == 0
    assert path.read_text() == before


def test_print_shows_and_changes_nothing(place: Place, tongs: Run) -> None:
    done = tongs("mcp", "install", "codex", "--name", "mine", "--print")

    assert done.code == 0
    assert tomllib.loads(done.stdout)["mcp_servers"]["mine"]["args"] == ["mcp", "serve"]
    assert str(place.home / ".codex" / "config.toml") in done.stderr
    assert not (place.home / ".codex").exists()


@pytest.mark.parametrize(
    "text",
    [b"{", b"\xff\xfe{}", b"[]", b'{"mcpServers": 1}', b'{"a": 1, "a": 2}', b"[" * 200_000],
)
def test_what_cannot_be_understood_is_not_touched(text: bytes, place: Place, tongs: Run) -> None:
    path = place.home / ".claude.json"
    path.write_bytes(text)

    done = tongs("mcp", "install", "claude-code")

    assert done.code == 2
    assert f"{path} was not changed: it " in done.stderr
    # The lines to paste.
    assert '"mcpServers": {' in done.stderr
    assert "Traceback" not in done.stderr
    assert path.read_bytes() == text
    assert os.listdir(place.home) == [".claude.json"]


def test_a_file_that_is_too_large_is_not_touched(place: Place, tongs: Run) -> None:
    path = place.home / ".claude.json"
    with path.open("wb") as file:
        file.truncate(33 * 1024 * 1024)

    done = tongs("mcp", "install", "claude-code")

    assert (done.code, "is larger than 32 MiB" in done.stderr) == (1, True)


def test_another_server_of_the_name_is_not_replaced(place: Place, tongs: Run) -> None:
    path = place.home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text('{"mcpServers": {"tongs": {"command": "hammer"}}}')

    refused = [tongs("mcp", "install", "cursor", *more) for more in ([], ["--remove"])]
    assert [done.code for done in refused] == [2, 2]
    assert "choose another name with --name, or add --force" in refused[0].stderr
    assert "hammer" in path.read_text()

    assert tongs("mcp", "install", "cursor", "--force").code == 0
    assert "hammer" not in path.read_text()


def test_a_link_of_the_person_stays_and_leads_to_what_is_changed(place: Place, tongs: Run) -> None:
    real = place.home / "dotfiles" / "claude.json"
    real.parent.mkdir()
    real.write_text("{}\n")
    (place.home / ".claude.json").symlink_to(real)

    assert tongs("mcp", "install", "claude-code").code == 0

    assert (place.home / ".claude.json").is_symlink()
    assert "tongs" in real.read_text()
    assert (real.parent / "claude.json.before-tongs").read_text() == "{}\n"


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_link_in_a_project_leads_nowhere_else(what: str, place: Place, tongs: Run) -> None:
    (place.home / "mcp.json").write_text("{}")
    if what == "file":
        (place.project / ".mcp.json").symlink_to(place.home / "mcp.json")
    else:
        (place.project / ".cursor").symlink_to(place.home)

    done = tongs("mcp", "install", "claude-code" if what == "file" else "cursor", "--project")

    assert done.code == 1
    assert "leads out of the project" in done.stderr
    assert (place.home / "mcp.json").read_text() == "{}"


def test_places_that_cannot_be_written_are_named(place: Place, tongs: Run) -> None:
    (place.home / ".codex").write_text("in the way")
    (place.home / ".cursor" / "mcp.json").mkdir(parents=True)
    os.mkfifo(place.home / ".claude.json")

    outcomes = [tongs("mcp", "install", client) for client in ("codex", "cursor", "claude-code")]

    assert [done.code for done in outcomes] == [1, 1, 1]
    assert all("was not changed" in done.stderr for done in outcomes)
    assert not any("Traceback" in done.stderr for done in outcomes)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["cursr"], "did you mean `cursor`?"),
        (["emacs"], "one of claude-code, codex"),
        ([], "CLIENT is missing"),
        (["cursor", "--name", "a b"], "is no name that every client takes"),
        (["cursor", "--profile", "x"], "--profile is for the server"),
        (["cursor", "--", "--tolls", "x"], "did you mean `--tools`?"),
        (["cursor", "--tools", "x"], "unknown option `--tools`"),
    ],
)
def test_mistakes_are_said_before_anything_is_written(
    arguments: list[str], said: str, place: Place, tongs: Run
) -> None:
    done = tongs("mcp", "install", *arguments)

    assert done.code == 2
    assert said in done.stderr
    assert os.listdir(place.home) == []


def test_a_link_to_the_command_is_written_as_it_was_typed(place: Place, tongs: Run) -> None:
    # As pipx and uv install: the link stays when what it leads to is replaced.
    linked = place.home / "my bin" / "tongs"
    linked.parent.mkdir()
    linked.symlink_to(TONGS)

    assert tongs("mcp", "install", "cursor", command=str(linked)).code == 0

    entry = servers("cursor", place.home / ".cursor" / "mcp.json")["tongs"]
    assert isinstance(entry, dict)
    assert entry["command"] == str(linked)
    assert shutil.which(str(linked)) is not None
