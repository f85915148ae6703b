"""What the pipeline is given: the parts a runtime wires once, and the door a call came in by."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from tongs.core.annotations import TYPE_CHECKING, Any, Protocol, TypeAlias
from tongs.core.approval import ApprovalRequest, ApprovalResponse, Approver
from tongs.core.call import ToolCall
from tongs.core.decision import Verdict
from tongs.core.errors import ToolError
from tongs.core.execution import (
    Executor,
    Observer,
    Sandbox,
    SpoolOpener,
    Waiter,
    World,
)
from tongs.core.jobs import Jobs, NoJobs
from tongs.core.permissions import Bound, Limits, Permissions
from tongs.core.record import dataclass, field
from tongs.core.result import ToolResult
from tongs.core.scope import Scope
from tongs.core.servers import NoServers, Servers
from tongs.core.tool import Tool

if TYPE_CHECKING:
    from tongs.core.redacting import Redacting


class Audit(Protocol):
    """Keeps what happened: each method appends one record, the arguments without their secrets.

    `asked`, `answered` and `began` raise ToolError where the record cannot be kept: what must be
    recorded and cannot be does not happen.
    """

    def asked(self, call: ToolCall, tool: Tool, request: ApprovalRequest) -> None: ...

    def answered(self, call: ToolCall, tool: Tool, response: ApprovalResponse) -> None: ...

    def began(
        self,
        call: ToolCall,
        tool: Tool,
        verdict: Verdict,
        allowance: Allowance,
        response: ApprovalResponse | None,
    ) -> None:
        """The call is about to run, and why it may; nothing of it has run yet."""

    def ended(
        self, call: ToolCall, tool: Tool | None, result: ToolResult, *, started: bool
    ) -> Sequence[str]:
        """What could not be recorded, for whoever made the call."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """What the person's config and the caller leave of a tool's wishes."""

    permissions: Permissions
    limits: Limits
    timeout: float | None
    # The values of the declared secrets, by name, as soon as the call may run; only these are
    # injected, and all are redacted.
    secrets: Mapping[str, str]
    environment: Mapping[str, str]
    # Hosts with a private address that a list of hosts may reach.
    private_hosts: tuple[str, ...] = ()
    # What the tool's own configs and those of its callers take away.
    bound: Bound = field(default_factory=Bound)


Decide: TypeAlias = Callable[[ToolCall, Tool], Verdict]


class Memory(Protocol):
    """What the person decided once and wants to be held to."""

    def recall(self, request: ApprovalRequest) -> ApprovalResponse | None:
        """The answer given before, where it holds for this very question."""

    def remember(self, request: ApprovalRequest, response: ApprovalResponse) -> None:
        """Keep an answer whose `remember` says for what it holds."""


class Forgetful:
    """Asks every time."""

    def recall(self, request: ApprovalRequest) -> ApprovalResponse | None:
        return None

    def remember(self, request: ApprovalRequest, response: ApprovalResponse) -> None:
        """Nothing is kept."""


class Steps(Protocol):
    """Told of each step of one call as it begins, and of the end."""

    def __call__(self, step: str, /) -> None: ...

    def end(self, tool: Tool | None, result: ToolResult) -> None: ...


class Unwatched:
    """Nobody looks."""

    def __call__(self, step: str, /) -> None:
        """Nothing is noted."""

    def end(self, tool: Tool | None, result: ToolResult) -> None:
        """Nothing is noted."""


unwatched = Unwatched()


async def _nothing_required(tool: Tool, waiter: Waiter) -> None:
    """For a pipeline whose tools need nothing to be installed."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a runtime wires together once. Every part is replaceable behind its Protocol."""

    find: Callable[[ToolCall, Scope], Tool]
    validate: Callable[[Tool, Mapping[str, Any]], dict[str, Any]]
    decide: Decide
    allow: Callable[[ToolCall, Tool], Allowance]
    executors: Mapping[str, Executor]
    sandbox: Sandbox
    audit: Audit
    world: Callable[[Tool, Allowance], World]
    # Keeps the traceback, without what the second argument takes out of it.
    unexpected: Callable[[Exception, Callable[[str], str]], ToolError]
    # Looks up the values of the secrets a call is given. Raises ToolError where one is missing.
    reveal: Callable[[Tool, Allowance, Waiter], Awaitable[Allowance]]
    # The values of a tool's secrets as far as they can be had without asking anybody: to take them
    # out of what is said of a call that was not given them. Never raises.
    known: Callable[[Tool], Sequence[str]] = lambda tool: ()
    # Raises ToolError where a tool is no longer what it was when it was found.
    confirm: Callable[[Tool], None] = lambda tool: None
    # How much of the walls the person insists on; anything but "strict" is said in every result.
    enforcement: str = "strict"
    # Raises ToolError where something is not installed that the tool requires.
    require: Callable[[Tool, Waiter], Awaitable[None]] = _nothing_required
    memory: Memory = field(default_factory=Forgetful)
    # Uses an approval up, right before anything runs; raises ToolError if another call has.
    spend: Callable[[ApprovalResponse], None] = lambda response: None
    # Whoever follows a call from step to step: telemetry.
    watch: Callable[[ToolCall], Steps] = lambda call: unwatched
    # What the project's tools consist of beside their folders, for a call that may write.
    held: Callable[[], tuple[str, ...]] = tuple
    # Where an output goes that is larger than its limit; None: the rest of it is lost.
    spool: SpoolOpener | None = None
    # As `Context.search`.
    search: Callable[[str, int], Sequence[tuple[str, Tool]]] = lambda query, limit: ()
    jobs: Jobs = field(default_factory=NoJobs)
    servers: Servers = field(default_factory=NoServers)


@dataclass(frozen=True, slots=True)
class Door:
    """Where a call came in: who can be asked there, who watches, and how waiting is done."""

    waiter: Waiter
    approver: Approver | None = None
    observe: Observer = lambda event: None
    scope: Scope = Scope.ANY
    timeout: float | None = None
    deadline: float | None = None
    # Takes out the secrets of this call and of those around it; None where there are none.
    redactor: Redacting | None = None
