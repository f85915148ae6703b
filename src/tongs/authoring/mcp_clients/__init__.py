"""Programs that speak MCP: where each keeps its settings, and how a server is written there."""

from __future__ import annotations

import os.path
from collections.abc import Mapping

from tongs.core.annotations import Any
from tongs.core.record import dataclass


@dataclass(frozen=True, slots=True)
class Client:
    """A program that starts MCP servers by its own settings."""

    name: str
    # As people call it.
    label: str
    # The key that holds the servers by name.
    key: str
    # The person's own file: below `base`, which is `~`, or `config` for the place where programs
    # of a desktop keep their settings.
    file: str
    base: str = "~"
    # A variable that moves the folder of the file, and what the file is called there.
    moved_by: str = ""
    moved_file: str = ""
    # The file of a project, from its root; empty where the client has none.
    project_file: str = ""
    # Whether an entry says `type: stdio`.
    typed: bool = False
    # What makes it read its settings again.
    then: str = ""
    then_project: str = ""

    @property
    def is_toml(self) -> bool:
        return self.file.endswith(".toml")

    def user_file(self, platform: str, home: str, env: Mapping[str, str]) -> str:
        """The person's own file, whether it exists or not."""
        moved = env.get(self.moved_by, "") if self.moved_by else ""
        if os.path.isabs(moved):
            return os.path.join(moved, self.moved_file)
        base = home if self.base == "~" else settings_folder(platform, home, env)
        return os.path.join(base, self.file)

    def entry(self, command: str, args: list[str], env: Mapping[str, str]) -> dict[str, Any]:
        """What the client needs to know of a server."""
        made: dict[str, Any] = {"type": "stdio"} if self.typed else {}
        made |= {"command": command, "args": args}
        return made | ({"env": dict(env)} if env else {})


def settings_folder(platform: str, home: str, env: Mapping[str, str]) -> str:
    """Where programs of a desktop keep their settings."""
    if platform == "darwin":
        return os.path.join(home, "Library", "Application Support")
    if platform == "win32":
        return env.get("APPDATA") or os.path.join(home, "AppData", "Roaming")
    chosen = env.get("XDG_CONFIG_HOME", "")
    return chosen if os.path.isabs(chosen) else os.path.join(home, ".config")


_ALL = (
    Client(
        name="claude-code",
        label="Claude Code",
        key="mcpServers",
        file=".claude.json",
        moved_by="CLAUDE_CONFIG_DIR",
        moved_file=".claude.json",
        project_file=".mcp.json",
        typed=True,
        then="start Claude Code again; /mcp lists its servers",
        then_project="start Claude Code again: it asks once whether to use what a project brings",
    ),
    Client(
        name="codex",
        label="Codex",
        key="mcp_servers",
        file=os.path.join(".codex", "config.toml"),
        moved_by="CODEX_HOME",
        moved_file="config.toml",
        project_file=os.path.join(".codex", "config.toml"),
        then="start Codex again; /mcp lists its servers",
        then_project="start Codex again: it reads the settings of projects that you trust in it",
    ),
    Client(
        name="gemini",
        label="Gemini CLI",
        key="mcpServers",
        file=os.path.join(".gemini", "settings.json"),
        moved_by="GEMINI_CLI_HOME",
        moved_file=os.path.join(".gemini", "settings.json"),
        project_file=os.path.join(".gemini", "settings.json"),
        then="start Gemini CLI again; /mcp lists its servers",
    ),
    Client(
        name="vscode",
        label="VS Code",
        key="servers",
        file=os.path.join("Code", "User", "mcp.json"),
        base="config",
        project_file=os.path.join(".vscode", "mcp.json"),
        typed=True,
        then="start it in VS Code: MCP: List Servers",
    ),
    Client(
        name="cursor",
        label="Cursor",
        key="mcpServers",
        file=os.path.join(".cursor", "mcp.json"),
        project_file=os.path.join(".cursor", "mcp.json"),
        typed=True,
        then="switch it on in Cursor: Settings, MCP",
    ),
    Client(
        name="claude-desktop",
        label="Claude Desktop",
        key="mcpServers",
        file=os.path.join("Claude", "claude_desktop_config.json"),
        base="config",
        then="quit Claude Desktop and start it again",
    ),
)

CLIENTS: Mapping[str, Client] = {client.name: client for client in _ALL}
