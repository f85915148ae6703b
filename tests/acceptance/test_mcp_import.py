"""`tongs mcp import`: servers of other programs, brought under Tongs."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
import yaml
from tests.acceptance.conftest import Place, Run, Show

FILE = Path(__file__).parents[1] / "data" / "mcp" / "mcp.json"
NPM = {"network": True, "fs": {"read": [], "write": ["~/.npm"]}}
WANTED = {
    "github": {
        "command": "npx",
        "args": ["-y", "@modelcontextprotocol/server-github"],
        "env": {"GITHUB_TOKEN": "env:GITHUB_TOKEN"},
        "permissions": NPM,
    },
    "my-server": {
        "command": "/opt/my tools/srv",
        "args": ["it's", 'a "b"'],
        "permissions": {"network": False, "fs": {"read": ["."], "write": []}},
    },
    "docs": {
        "url": "https://mcp.example.org/mcp",
        "headers": {"Authorization": "Bearer env:DOCS_TOKEN"},
        "permissions": {"network": ["mcp.example.org"], "fs": {"read": [], "write": []}},
    },
}


def written(path: Path) -> object:
    return yaml.safe_load(path.read_text(encoding="utf-8"))["mcp"]["servers"]


def test_servers_are_shown_and_written_only_with_a_word(place: Place, tongs: Run) -> None:
    config = place.user / "config.yml"

    shown = tongs("mcp", "import", str(FILE))

    assert shown.code == 3
    assert "add --yes" in shown.stderr
    assert not config.exists()
    assert yaml.safe_load(shown.stdout)["mcp"]["servers"] == WANTED
    assert shown.stderr.splitlines()[1:6] == [
        "warning: tongs is left out: it is Tongs itself",
        f"github: npx -y @modelcontextprotocol/server-github ({FILE})",
        "  it may use the network, since npx fetches the server",
        "  it may write ~/.npm, where npx keeps it",
        "  it sees nothing of the project; add `.` to fs.read if it has to",
    ]
    assert "it gets GITHUB_TOKEN of your environment" in shown.stderr
    assert "old is left out: it speaks the older transport SSE" in shown.stderr

    done = tongs("mcp", "import", str(FILE), "--yes")

    assert done.code == 0, done.stderr
    assert written(config) == WANTED
    assert "not-a-real-token" not in config.read_text() + done.stdout + done.stderr
    # What is granted has to exist.
    assert (place.home / ".npm").is_dir()
    assert tongs("lint", str(config)).code == 0

    again = tongs("mcp", "import", str(FILE), "--yes")

    assert (again.code, again.stderr.splitlines()[-1]) == (0, "nothing to do")


def test_what_a_config_says_already_stays(place: Place, tongs: Run) -> None:
    config = place.user / "config.yml"
    before = (
        "# mine\nlimits:\n  memory: 1GiB  # enough\n\nmcp:\n  servers:\n    docs: {command: d}\n"
    )
    config.write_text(before)

    done = tongs("mcp", "import", str(FILE), "--yes", "--only", "docs,github")

    assert done.code == 0, done.stderr
    assert config.read_text().startswith(before)
    assert written(config) == {"docs": {"command": "d"}, "github": WANTED["github"]}
    assert "docs is left out: your config has another server of this name" in done.stderr

    forced = tongs("mcp", "import", str(FILE), "--yes", "--only", "docs", "--force")

    assert forced.code == 0, forced.stderr
    assert written(config) == {"docs": WANTED["docs"], "github": WANTED["github"]}


def test_a_person_is_asked(place: Place, screen: Show) -> None:
    config = place.user / "config.yml"

    refusing = screen("mcp", "import", str(FILE), "--only", "docs")
    refusing.wait_for(f"write this server to {config}?")
    refusing.type("n\n")
    assert refusing.end() == 3
    assert not config.exists()

    agreeing = screen("mcp", "import", str(FILE), "--only", "docs")
    agreeing.wait_for(f"write this server to {config}?")
    agreeing.type("y\n")
    assert agreeing.end() == 0
    assert written(config) == {"docs": WANTED["docs"]}


def test_servers_of_a_project_belong_to_it(place: Place, tongs: Run) -> None:
    shutil.copy(FILE, place.project / ".mcp.json")

    # The only file that is there.
    done = tongs("mcp", "import", "--yes", "--only", "github")

    assert done.code == 0, done.stderr
    config = place.project / ".tongs" / "config.yml"
    assert written(config) == {"github": WANTED["github"]}
    assert f"tongs trust {config}" in done.stderr


def test_settings_of_a_client_are_found_and_several_are_listed(place: Place, tongs: Run) -> None:
    shutil.copy(FILE, place.project / ".mcp.json")
    codex = place.home / ".codex" / "config.toml"
    codex.parent.mkdir()
    codex.write_text('[mcp_servers.docs]\ncommand = "docs-server"\n')

    unclear = tongs("mcp", "import")
    assert unclear.code == 2
    assert unclear.stdout.splitlines() == [str(place.project / ".mcp.json"), str(codex)]

    done = tongs("mcp", "import", "--client", "codex", "--yes")
    assert done.code == 0, done.stderr
    assert written(place.user / "config.yml") == {
        "docs": {
            "command": "docs-server",
            "permissions": {"network": False, "fs": {"read": ["."], "write": []}},
        }
    }


@pytest.mark.parametrize(
    "text",
    [b"{", b"[]", b"\xff", b"[" * 200_000, b"<xml/>"],
)
def test_a_file_that_cannot_be_understood_is_said(text: bytes, place: Place, tongs: Run) -> None:
    (place.project / "mcp.json").write_bytes(text)

    done = tongs("mcp", "import", "mcp.json", "--yes")

    assert done.code == 2
    assert "was not imported: it " in done.stderr
    assert "Traceback" not in done.stderr
    assert not (place.user / "config.yml").exists()


def test_a_stranger_cannot_add_lines_to_what_is_said(place: Place, tongs: Run) -> None:
    name = "a\\nb\\u001b[2J\\u202e"
    args = '["x\\n  it may read nothing", "\\u001b[2J", "\\u202e"]'
    (place.project / "mcp.json").write_text(
        f'{{"mcpServers": {{"{name}": {{"command": "srv", "args": {args}}}}}}}'
    )

    done = tongs("mcp", "import", "mcp.json")

    shown = done.stderr + done.stdout
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "  it may read nothing" not in done.stderr.splitlines()
    assert list(yaml.safe_load(done.stdout)["mcp"]["servers"]) == ["a-b-2J"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "there are no settings of a client here"),
        (["nothing.json"], "there is no file"),
        (["--client", "curser"], "did you mean `cursor`?"),
        (["--client", "cursor"], "there are no settings of Cursor here"),
        ([str(FILE), "--client", "cursor"], "give one of them"),
        ([str(FILE), "--only", "github,gitlab"], "there is no server `gitlab`"),
        ([str(FILE), "--scope", "global"], "invalid choice"),
    ],
)
def test_mistakes_are_said(arguments: list[str], said: str, place: Place, tongs: Run) -> None:
    done = tongs("mcp", "import", *arguments, "--yes")

    assert done.code in (1, 2)
    assert said in done.stderr
    assert os.listdir(place.user) in ([], ["state"])
