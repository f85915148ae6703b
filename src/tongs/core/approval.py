"""Asking a person, as in seed 002: the request, the answer, and who asks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import StrEnum

from tongs.core.annotations import Any, Protocol, TypeAlias
from tongs.core.call import Caller, ToolCall
from tongs.core.digest import digest_of
from tongs.core.permissions import Permissions
from tongs.core.record import dataclass, field
from tongs.core.tool import Tool

# The rule of a question that an MCP server asks in the midst of a call: `args` are the fields of
# its form, and the answer is for the server. It is never remembered.
ELICITATION = "elicitation"

# Characters of standard input that a question shows.
_SHOWN = 200


class Span(StrEnum):
    """For whom a remembered decision holds: until this process ends, in one project, everywhere."""

    SESSION = "session"
    PROJECT = "project"
    USER = "user"


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a call would make of one file; a side is None where there is no file."""

    path: str
    before: str | None = None
    after: str | None = None


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """Everything a person needs to decide. `preview` is what will really run."""

    step_id: str
    tool: str
    args: Mapping[str, Any]
    reason: str
    rule: str = ""
    preview: str = ""
    caller: Caller = field(default_factory=Caller)
    permissions: Permissions = field(default_factory=Permissions)
    # Which of the permissions and limits are promises only on this machine.
    not_enforced: tuple[str, ...] = ()
    raw_parameters: tuple[str, ...] = ()
    input_schema: Mapping[str, Any] = field(default_factory=dict)
    # The very thing that is approved: `bound_to` of tool, arguments and permissions.
    digest: str = ""
    # Of the definition alone.
    definition: str = ""
    tags: tuple[str, ...] = ()
    # The project the call belongs to: its real path.
    project: str = ""
    # The files it would write, where its executor can tell.
    changes: tuple[FileChange, ...] = ()
    # The names of the other rules that ask; whoever answers, answers all of them.
    also: tuple[str, ...] = ()
    # What comes by standard input: its size, its digest and its beginning; empty for nothing.
    stdin: str = ""
    # Whether `args` tell all that the call was given: no secret was taken out of them, and nothing
    # comes by standard input. Else another call could look like this one.
    whole: bool = True

    @property
    def rules(self) -> tuple[str, ...]:
        return (self.rule, *self.also)


@dataclass(frozen=True, slots=True)
class Remember:
    """What the person wants from now on: the answer holds for every call that `when` matches.

    `when` is written as in a rule of the config.
    """

    when: Mapping[str, Any]
    span: Span = Span.SESSION
    # The moment it ends, as 2026-11-15T18:00:00Z; empty: never.
    until: str = ""


@dataclass(frozen=True, slots=True)
class ApprovalResponse:
    approved: bool
    modified_args: Mapping[str, Any] | None = None
    approver: str = ""
    reason: str = ""
    remember: Remember | None = None
    # Under which it is kept, where it outlives the process.
    id: str = ""


class Approver(Protocol):
    """Asks whoever decides. Answers None when nobody can be reached: the call is then denied."""

    async def __call__(self, request: ApprovalRequest) -> ApprovalResponse | None: ...


# Whether a question has found its answer elsewhere, so that nobody need be asked any more.
Settled: TypeAlias = Callable[[], bool]


class Voice(Protocol):
    """One of several who are asked at once, each in a thread of its own."""

    def ask(self, request: ApprovalRequest, settled: Settled) -> ApprovalResponse | None:
        """Block for the answer; None where there is none, and soon after `settled` is true."""


@dataclass(frozen=True, slots=True)
class Question:
    """A request that is kept until it is answered."""

    id: str
    request: ApprovalRequest
    # Seconds since the epoch.
    asked: float
    expires: float
    # Whether a call waits for the answer now; else the same call has to be made again.
    awaited: bool
    is_open: bool = True


class ApprovalQueue(Protocol):
    """Questions and answers that outlive this process. Exactly one answer to each wins."""

    def ask(self, request: ApprovalRequest, seconds: float, *, awaited: bool) -> Question:
        """The question of this very call, made earlier and still good, or a new one."""

    def answer(self, question: str, response: ApprovalResponse) -> bool:
        """Whether this answer is the one that counts."""

    def withdraw(self, question: str) -> bool:
        """Whether there was no answer yet, so that none can come any more."""

    def is_open(self, question: str) -> bool: ...

    def take(self, question: str) -> ApprovalResponse | None:
        """The answer, for whoever is about to act on it; an approval is given to one only."""


def described(data: bytes, redact: Callable[[str], str]) -> str:
    """Enough of standard input for a person to know it again; secrets go before it is cut."""
    text = redact(data.decode(errors="replace"))
    head = json.dumps(text[:_SHOWN], ensure_ascii=False)
    more = " …" if len(text) > _SHOWN else ""
    return f"{len(data)} bytes, sha256 {digest_of(data)}: {head}{more}"


def bound_to(tool: Tool, call: ToolCall, permissions: Permissions) -> str:
    """What an approval holds for: this definition, these arguments, these permissions.

    And standard input, and, where something is replaced or removed, that thing as it is.
    """
    thing = [tool.qualified_name, tool.origin.digest, call.arguments, permissions.to_wire()]
    if call.at_stake:
        thing.append(call.at_stake)
    if call.input:
        # Under a name, so that it cannot pass for what is at stake.
        thing.append({"stdin": digest_of(call.input)})
    return digest_of(json.dumps(thing, sort_keys=True, default=str).encode())
