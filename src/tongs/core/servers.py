"""MCP servers: what a config says of one, and what one says of its tools.

A server is somebody else's program. What it says is data, checked and cut before anybody reads it;
what it may do is said in the config, and held by the walls around its process.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from tongs.core.annotations import TYPE_CHECKING, Any, Protocol
from tongs.core.digest import digest_of
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.permissions import Permissions
from tongs.core.record import dataclass, field
from tongs.core.scope import Scope

if TYPE_CHECKING:
    from tongs.core.execution import Waiter

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

    @property
    def address(self) -> str:
        """The url without what only the server has to know: a user, a password, a query."""
        from urllib.parse import urlsplit  # noqa: PLC0415 - remote ones only

        if not self.url:
            return ""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    @property
    def wanted(self) -> Permissions:
        """What its process is to have, as written: without a word, it reads the project."""
        if self.permissions is not None:
            return self.permissions
        return Permissions(network=True) if self.remote else Permissions(read=(".",))

    @property
    def identity(self) -> str:
        """Two with the same one can share a process or a connection."""
        wanted = self.wanted.to_wire()
        how = [self.name, self.command, self.cwd, self.url, wanted, self.project, self.idle]
        given = [dict(self.env), dict(self.headers), dict(self.limits), self.start_timeout]
        return digest_of(json.dumps([how, given], sort_keys=True, default=str).encode())


@dataclass(frozen=True, slots=True)
class ServerTool:
    """A tool as its server describes it, checked: the plan of a tool with the executor `mcp`."""

    server: ServerSpec
    name: str
    # As it came, but for what is never shown: name, title, description, schemas, annotations.
    definition: Mapping[str, Any]
    # Hash of the definition, which a person or the first use has accepted.
    digest: str


@dataclass(frozen=True, slots=True)
class Listing:
    """What a server says of itself and its tools: checked, cut, and nothing hidden in it."""

    tools: tuple[Mapping[str, Any], ...]
    name: str = ""
    version: str = ""
    instructions: str = ""
    # What was left out, and why: one line each, for a person.
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ServerRequest:
    """What one call wants of a server."""

    tool: ServerTool
    arguments: Mapping[str, Any]
    # As `time.monotonic` counts.
    deadline: float | None = None
    # Those that must hold around the server: a call may insist on more than its config does.
    walls: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """What a server gave for one call, without its secrets. `content` are blocks as in MCP."""

    content: tuple[Mapping[str, Any], ...]
    structured: Any = None
    failed: bool = False
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ServerForm:
    """What a server asks the person in the midst of a call: text of a stranger, made visible."""

    message: str
    # A JSON Schema with flat properties; empty where it wants to send the person to a page.
    schema: Mapping[str, Any] = field(default_factory=dict)
    url: str = ""


@dataclass(frozen=True, slots=True)
class ServerState:
    """How a server is. `since` is in seconds since the epoch, 0 where it never ran."""

    name: str
    # idle, starting, running or failed.
    status: str
    why: str = ""
    since: float = 0.0
    version: str = ""


class ServerCall(Protocol):
    """Whoever makes a call: what a server says before its answer reaches them here."""

    def progress(self, done: float, total: float | None, message: str) -> None: ...

    async def fill_in(self, form: ServerForm) -> Mapping[str, Any] | None:
        """What the person has filled in; None where they did not want to, or nobody was asked."""


class Servers(Protocol):
    """The way to MCP servers, which are started when they are first needed and then shared."""

    async def listed(self, spec: ServerSpec, waiter: Waiter) -> Listing:
        """What the server offers now. Raises ToolError where it cannot be reached."""

    async def call(self, request: ServerRequest, call: ServerCall, waiter: Waiter) -> ServerAnswer:
        """Raises ToolError: UNTRUSTED where the tool is no longer what was accepted, TIMEOUT."""

    def state(self, name: str) -> ServerState: ...

    def close(self) -> None:
        """End all of them, and everything that they have started."""


class NoServers:
    """Where nobody can reach one."""

    async def listed(self, spec: ServerSpec, waiter: Waiter) -> Listing:
        raise _none(spec)

    async def call(self, request: ServerRequest, call: ServerCall, waiter: Waiter) -> ServerAnswer:
        raise _none(request.tool.server)

    def state(self, name: str) -> ServerState:
        return ServerState(name, "idle")

    def close(self) -> None:
        """Nothing was started."""


def _none(spec: ServerSpec) -> ToolError:
    return ToolError(ErrorCode.INTERNAL_ERROR, f"{spec.name}: MCP servers cannot be reached here")
