"""A server in the settings of each client."""

from __future__ import annotations

import tomllib

import pytest

from tongs.authoring.mcp_clients import CLIENTS, Client, settings_folder
from tongs.authoring.mcp_clients.changing import (
    CannotChange,
    Taken,
    installed,
    removed,
    settings,
    snippet,
)

CODEX = CLIENTS["codex"]
CURSOR = CLIENTS["cursor"]
ENTRY = {"command": "/opt/my tools/tongs", "args": ["mcp", "serve", "--tools", 'a "b"']}

TOML = """# mine
model = "o"  # fast

[mcp_servers.docs]  # the manual
command = "docs"

[mcp_servers.docs.env]
A = "1" # one

[projects."/x"]
trust_level = "trusted"
"""


@pytest.mark.parametrize("name", CLIENTS)
def test_an_entry_is_read_back_as_it_was_meant_whatever_the_client(name: str) -> None:
    client = CLIENTS[name]
    entry = client.entry("/opt/my tools/tongs", ["mcp", "serve", "\\ \" ' é"], {"TONGS_HOME": "/h"})

    first = installed(client, "", "tongs", entry)
    second = installed(client, first.text, "tongs", entry)

    assert settings(client, first.text) == {client.key: {"tongs": entry}}
    assert settings(client, snippet(client, "tongs", entry)) == settings(client, first.text)
    assert second.text == first.text
    gone = removed(client, first.text, "tongs").text
    assert settings(client, gone).get(client.key, {}) == {}
    assert removed(client, gone, "tongs").text == gone


def test_comments_of_toml_stay_and_removal_gives_the_text_back() -> None:
    added = installed(CODEX, TOML, "tongs", ENTRY).text
    changed = installed(CODEX, added, "tongs", {**ENTRY, "env": {"X": "1"}}).text

    assert added.startswith(TOML)
    assert tomllib.loads(changed)["mcp_servers"]["tongs"] == {**ENTRY, "env": {"X": "1"}}
    assert changed.startswith(TOML)
    assert removed(CODEX, added, "tongs").text == TOML
    assert removed(CODEX, changed, "tongs").text == TOML


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = {docs = {command = "d"}}\n',
        'mcp_servers.docs.command = "d"\n',
        "[mcp_servers]\n# none yet\n\n[other]\na = 1",
        '[mcp_servers."odd name"]\ncommand = "d"\r\n',
        "a = 1\r\nb = 2\r\n",
    ],
)
def test_every_way_to_write_a_table_is_added_to(text: str) -> None:
    added = installed(CODEX, text, "tongs", ENTRY).text

    data = tomllib.loads(added)
    assert data["mcp_servers"].pop("tongs") == ENTRY
    before = tomllib.loads(text)
    assert data == {"mcp_servers": {}, **before}
    assert tomllib.loads(removed(CODEX, added, "tongs").text) in (before, data)


def test_what_a_person_added_to_the_entry_stays() -> None:
    text = """{"mcpServers": {"tongs": {
      // at home
      "command": "/old/tongs", "args": ["mcp", "serve"],
      "env": {"A": "1"}, "trust": true
    }}}"""

    change = installed(CURSOR, text, "tongs", {**ENTRY, "env": {"TONGS_HOME": "/h"}})

    assert settings(CURSOR, change.text)["mcpServers"]["tongs"] == {
        **ENTRY,
        "env": {"A": "1", "TONGS_HOME": "/h"},
        "trust": True,
    }
    assert "// at home" in change.text


def test_a_server_of_somebody_else_keeps_its_name_unless_forced() -> None:
    text = '{"mcpServers": {"tongs": {"command": "hammer", "args": ["mcp"]}}}'

    for change in (installed, removed):
        arguments = (ENTRY,) if change is installed else ()
        with pytest.raises(Taken):
            change(CURSOR, text, "tongs", *arguments)  # type: ignore[operator]  # two of one shape
    forced = installed(CURSOR, text, "tongs", ENTRY, force=True)

    assert settings(CURSOR, forced.text) == {"mcpServers": {"tongs": ENTRY}}


@pytest.mark.parametrize(
    ("client", "text", "reason"),
    [
        (CURSOR, "{", 'is no JSON: line 1: a key in quotes, or "}", was expected'),
        (CURSOR, "[]", "holds no keys"),
        (CURSOR, '{"mcpServers": []}', "has something else than servers at `mcpServers`"),
        (
            CURSOR,
            '{"mcpServers": {"tongs": 1}}',
            "has something else than a server at `mcpServers.tongs`",
        ),
        (CODEX, "a = [", "is no TOML"),
        (CODEX, "mcp_servers = 1", "has something else than servers at `mcp_servers`"),
        (CODEX, "a = " + "[" * 5000, "is no TOML: it is nested too deeply"),
    ],
)
def test_what_cannot_be_understood_is_refused(client: Client, text: str, reason: str) -> None:
    with pytest.raises(CannotChange) as refused:
        installed(client, text, "tongs", ENTRY)

    assert str(refused.value).startswith(reason)


def test_settings_lie_where_each_platform_keeps_them() -> None:
    def files(platform: str, home: str, env: dict[str, str]) -> list[str]:
        return [client.user_file(platform, home, env) for client in CLIENTS.values()]

    assert files("linux", "/h", {}) == [
        "/h/.claude.json",
        "/h/.codex/config.toml",
        "/h/.gemini/settings.json",
        "/h/.config/Code/User/mcp.json",
        "/h/.cursor/mcp.json",
        "/h/.config/Claude/claude_desktop_config.json",
    ]
    assert files("darwin", "/h", {})[3::2] == [
        "/h/Library/Application Support/Code/User/mcp.json",
        "/h/Library/Application Support/Claude/claude_desktop_config.json",
    ]
    moved = {
        "CLAUDE_CONFIG_DIR": "/c",
        "CODEX_HOME": "/x",
        "GEMINI_CLI_HOME": "/g",
        "XDG_CONFIG_HOME": "/xdg",
    }
    assert files("linux", "/h", moved) == [
        "/c/.claude.json",
        "/x/config.toml",
        "/g/.gemini/settings.json",
        "/xdg/Code/User/mcp.json",
        "/h/.cursor/mcp.json",
        "/xdg/Claude/claude_desktop_config.json",
    ]
    assert settings_folder("win32", "/h", {"APPDATA": "/roaming"}) == "/roaming"
    # A relative path would depend on where somebody stands.
    assert files("linux", "/h", {"CODEX_HOME": "x", "XDG_CONFIG_HOME": "y"}) == files(
        "linux", "/h", {}
    )


def test_a_table_of_variables_is_changed_in_place() -> None:
    text = """[mcp_servers.tongs]
command = "/old/tongs" # mine
args = ["mcp", "serve"]
startup_timeout_sec = 30

[mcp_servers.tongs.env]
A = "1" # one
"""

    change = installed(CODEX, text, "tongs", {**ENTRY, "env": {"TONGS_HOME": "/h"}})

    assert tomllib.loads(change.text)["mcp_servers"]["tongs"] == {
        **ENTRY,
        "startup_timeout_sec": 30,
        "env": {"A": "1", "TONGS_HOME": "/h"},
    }
    assert "# mine" in change.text
    assert "# one" in change.text


def test_a_server_that_is_replaced_loses_what_was_not_its_own() -> None:
    text = '[mcp_servers.tongs]\nurl = "https://x.example"\nenv = {A = "1"}\n'

    change = installed(CODEX, text, "tongs", ENTRY, force=True)

    assert tomllib.loads(change.text) == {"mcp_servers": {"tongs": ENTRY}}


@pytest.mark.parametrize(
    ("client", "text"), [(CODEX, ""), (CODEX, "a = 1"), (CURSOR, '{"a": 1}'), (CURSOR, "")]
)
def test_what_is_not_there_is_not_removed(client: Client, text: str) -> None:
    assert removed(client, text, "tongs").text == text


def test_what_would_not_be_read_back_as_it_was_meant_is_refused() -> None:
    # No number equals itself here, so nobody can tell that nothing else has changed.
    with pytest.raises(CannotChange, match="unusual"):
        installed(CODEX, "a = nan\n", "tongs", ENTRY)
