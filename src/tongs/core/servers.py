"""MCP servers: what a config says of one, and what one says of its tools.

A server is somebody else's program. What it says is data, checked and cut before anybody reads it;
what it may do is said in the config, and held by the walls around its process.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from tongs.core.annotations import Any
from tongs.core.digest import digest_of
from tongs.core.permissions import Permissions
from tongs.core.record import dataclass, field
from tongs.core.scope import Scope

# Between the name of a server and that of its tool, where both are one name.
SEPARATOR = "__"

# What of a tool's definition is pinned: all that a model or a person decides by.
DEFINED = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")


def definition_of(told: Mapping[str, Any]) -> dict[str, Any]:
    """What counts of a tool as a server tells it. Icons, `_meta` and unknown members do not."""
    return {key: told[key] for key in DEFINED if told.get(key) is not None}


def definition_digest(definition: Mapping[str, Any]) -> str:
    """The hash of a definition, whatever the order of its members; as `ServerTool.digest`."""
    counted = definition_of(definition)
    return digest_of(json.dumps(counted, sort_keys=True, separators=(",", ":")).encode())


@dataclass(frozen=True, slots=True)
class ToolTerms:
    """What the config says of one tool of a server (`mcp.servers.NAME.tools.TOOL`)."""

    enabled: bool = True
    # Empty: by what the server's permissions let it do at most.
    tags: tuple[str, ...] = ()
    # None: as the rules say.
    approval: bool | None = None
    # Seconds; None: as the server.
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """One server of `mcp.servers`: a program that is started, or an address.

    Values of `env` and `headers` may be references to secrets, as `env:NAME`.
    """

    name: str
    # A program and its words; empty where there is an address.
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    # Empty: the project.
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    # None: it reads the project, and nothing else.
    permissions: Permissions | None = None
    # Of its process, as in `limits` of a tool.
    limits: Mapping[str, Any] = field(default_factory=dict)
    # Seconds for one call, for the start, and without a call until it is ended.
    timeout: float = 60.0
    start_timeout: float = 30.0
    idle: float = 300.0
    enabled: bool = True
    tools: Mapping[str, ToolTerms] = field(default_factory=dict)
    # Where it is written: `file:line`, and whose file that is.
    source: str = ""
    scope: Scope = Scope.USER
    project: str | None = None

    @property
    def remote(self) -> bool:
        return bool(self.url)


@dataclass(frozen=True, slots=True)
class ServerTool:
    """A tool as its server describes it, checked: the plan of a tool with the executor `mcp`."""

    server: ServerSpec
    name: str
    # As it came, but for what is never shown: name, title, description, schemas, annotations.
    definition: Mapping[str, Any]
    # Hash of the definition, which a person or the first use has accepted.
    digest: str
