"""What is recorded of each event: a record in the chain, and a line in the readable copy."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from hashlib import sha256

from tongs.audit.chain import Chain
from tongs.audit.fields import arguments, quoted, text_of, word
from tongs.audit.readable import ReadableLog, said, said_once
from tongs.core.annotations import Any
from tongs.core.approval import ApprovalRequest, ApprovalResponse
from tongs.core.call import CallerKind, ToolCall
from tongs.core.decision import Decision, Verdict
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.parts import Allowance
from tongs.core.permissions import Permissions
from tongs.core.result import ToolResult
from tongs.core.tool import Tool

_DECISIONS = {decision: decision.name.lower() for decision in Decision}
_FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
# Tools, and sets of walls, whose words are kept in memory.
_MOST_KEPT = 64


class AuditLog:
    """`Audit` of the pipeline, and what happens to definitions.

    Everything but the end of a call raises ToolError where the chain cannot be written; the copy is
    for reading, and only warns.
    """

    def __init__(
        self,
        chain: Chain,
        copy: ReadableLog | None = None,
        project: str = "",
        after: Callable[[int], None] | None = None,
    ) -> None:
        """`after` is told the number of the last record whenever a call has ended."""
        self.chain = chain
        self._after = after
        self._copy = copy
        self._project = quoted(project)
        self._known: dict[int, tuple[Tool, Allowance, str]] = {}
        self._walls: dict[tuple[str, ...], tuple[str, str]] = {}
        self._callers: dict[tuple[str, str, CallerKind], str] = {}
        # A call that begins also ends, mostly as the next thing that happens.
        self._last: tuple[ToolCall, Tool | None, str] | None = None

    def created(self, name: str, creator: str, permissions: Permissions | None) -> None:
        wire = None if permissions is None else permissions.to_wire()
        if wire is not None and not wire["secrets"]:
            del wire["secrets"]  # as the seed writes it
        self.event("TOOL_CREATED", name=name, creator=creator, permissions=wire)

    def approved(self, name: str, approver: str, digest: str) -> None:
        """A person has reviewed a tool that an agent created, as it is with this digest."""
        self.event("TOOL_APPROVED", name=name, approver=approver, digest=digest)

    def removed(self, name: str, remover: str) -> None:
        self.event("TOOL_REMOVED", name=name, remover=remover)

    def trusted(self, name: str, approver: str, digest: str) -> None:
        self.event("TOOL_TRUSTED", name=name, approver=approver, digest=digest)

    def event(self, event: str, /, **fields: Any) -> None:
        """A decision of a person, on the disk before anything follows from it.

        `name` is what it is about. Raises ToolError where it cannot be recorded.
        """
        name = str(fields["name"])
        said = {_WIRE.get(key, key): value for key, value in fields.items() if value is not None}
        words = ",".join([f"{quoted(key)}:{text_of(value)}" for key, value in said.items()])
        body = f'"event":{quoted(event)},{words},"project":{self._project}'
        self._must(body, f"{name} {_UNDONE.get(event, 'was left as it was')}", sync=True)
        self._show(event, fields)

    def asked(self, call: ToolCall, tool: Tool, request: ApprovalRequest) -> None:
        text, _ = arguments(call.arguments)
        also = f',"also":{text_of([*request.also])}' if request.also else ""
        self._must(
            f'"event":"APPROVAL_REQUESTED",{self._call(call, tool)},{text}'
            f',"rule":{word(request.rule)}{also},"reason":{word(request.reason)}'
            f',"digest":{quoted(request.digest)}'
            f',"permissions":{text_of(request.permissions.to_wire())}',
            f"{tool.name} was not run",
            sync=True,
        )
        self._show(
            "APPROVAL_REQUESTED",
            {
                "name": tool.name,
                "caller": call.caller.name,
                "rule": request.rule,
                "call": call.id,
            },
        )

    def answered(self, call: ToolCall, tool: Tool, response: ApprovalResponse) -> None:
        """The readable copy tells of a denial where the call ends."""
        event = "TOOL_APPROVED" if response.approved else "APPROVAL_DENIED"
        who = response.approver or "user"
        edited = None
        body = f'"event":"{event}",{self._call(call, tool)},"approver":{word(who)}'
        if response.approved and response.modified_args is not None:
            # Those of the call: they are the edited ones, without their secrets.
            text, edited = arguments(call.arguments)
            body += f',"modified":true,{text}'
        if response.reason:
            body += f',"reason":{word(response.reason)}'
        if response.id:
            body += f',"approval":{word(response.id)}'
        if response.remember is not None:
            body += f',"remembered":{quoted(response.remember.span)}'
        self._must(body, f"{tool.name} was not run", sync=True)
        if response.approved:
            told = {"name": tool.name, "approver": who, "call": call.id, "modified": edited}
            self._show(event, told)

    def began(
        self,
        call: ToolCall,
        tool: Tool,
        verdict: Verdict,
        allowance: Allowance,
        response: ApprovalResponse | None,
    ) -> None:
        """Before anything of the call runs. The readable copy tells of it when it has ended."""
        body = (
            f'"event":"TOOL_STARTED",{self._call(call, tool)}'
            f',"decision":"{_DECISIONS[verdict.decision]}","rule":{word(verdict.rule)}'
            f",{arguments(call.arguments)[0]}{self._may(tool, allowance)}"
        )
        if response is not None:
            body += f',"approver":{word(response.approver or "user")}'
            if response.id:
                body += f',"approval":{word(response.id)}'
        self._must(body, f"{tool.name} was not run")

    def ended(
        self, call: ToolCall, tool: Tool | None, result: ToolResult, *, started: bool
    ) -> list[str]:
        """What could not be recorded, for whoever made the call."""
        error, metadata = result.error, result.metadata
        status = "success" if error is None else "error" if started else "denied"
        body = f'{self._call(call, tool)},"status":"{status}"'
        code = rule = None
        if error is not None:
            code, rule = str(error.code), error.details.get("rule")
            body += f',"code":{quoted(code)}'
            if rule is not None:
                body += f',"rule":{word(rule)}'
        if started:
            # They stand in the record of its beginning, and were found to be plain data.
            shown: Any = call.arguments
            body = f'"event":"TOOL_EXECUTED",{body}{self._outcome(result)}'
        else:
            text, shown = arguments(call.arguments)
            reason = "" if error is None else f',"reason":{word(error.message)}'
            body = f'"event":"TOOL_DENIED",{body}{reason},{text},"project":{self._project}'
        trouble = self._try(body)
        if error is not None and error.details.get("unrecorded"):
            trouble = []  # that is what the error says already
        if self._after is not None:
            self._after(self.chain.seq)
        if self._copy is None:
            return trouble
        name = call.name if tool is None else tool.name
        line = f"TOOL_{'EXECUTED' if started else 'DENIED'} name={said(name)} params={said(shown)}"
        line += f" status={status}"
        if code is not None:
            line += f" code={said(code)}"
        if rule is not None:
            line += f" rule={said(rule)}"
        line += f" caller={said(call.caller.name)} call={said_once(call.id)}"
        return trouble + self._copy.write(line + self._told_last(tool, metadata))

    def _told_last(self, tool: Tool | None, metadata: Mapping[str, Any]) -> str:
        """The definition and the walls of a call, for the readable line."""
        line = ""
        if tool is not None and (digest := tool.origin.digest):
            line = f" digest={digest[:16]}"
        if enforcement := metadata.get("enforcement"):
            line += f" enforcement={said(enforcement)}"
        if lacking := metadata.get("notEnforced"):
            line += f" not_enforced={self._names(lacking)[1]}"
        return line

    def close(self) -> None:
        self.chain.close()
        if self._copy is not None:
            self._copy.close()

    def _call(self, call: ToolCall, tool: Tool | None) -> str:
        """Who calls what: in every record of a call."""
        last = self._last
        if last is not None and last[0] is call and last[1] is tool:
            return last[2]
        body = f'"call":{word(call.id)},{self._who(call, tool)}'
        if call.parent:
            body += f',"parent":{word(call.parent)}'
        self._last = (call, tool, body)
        return body

    def _who(self, call: ToolCall, tool: Tool | None) -> str:
        """The same for every call of a tool by the same caller."""
        caller = call.caller
        if tool is None:
            return f'"tool":{word(call.name)},"caller":{word(caller.name)},"kind":"{caller.kind}"'
        known = self._callers.get((tool.name, caller.name, caller.kind))
        if known is None:
            if len(self._callers) >= _MOST_KEPT:
                self._callers.clear()
            known = f'"tool":{word(tool.name)},"caller":{word(caller.name)},"kind":"{caller.kind}"'
            self._callers[tool.name, caller.name, caller.kind] = known
        return known

    def _may(self, tool: Tool, allowance: Allowance) -> str:
        """What the call may do, and by which definition: the same for every call of a tool."""
        known = self._known.get(id(tool))
        if known is None or known[0] is not tool or known[1] is not allowance:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            body = (
                f',"definition":{quoted(tool.origin.digest)},"source":{quoted(tool.qualified_name)}'
                f',"permissions":{text_of(allowance.permissions.to_wire())}'
                f',"project":{self._project}'
            )
            known = self._known[id(tool)] = (tool, allowance, body)
        return known[2]

    def _outcome(self, result: ToolResult) -> str:
        """What came of a call that ran."""
        metadata, output = result.metadata, result.output
        data = output.encode("utf-8", "surrogatepass")
        body = (
            f',"durationMs":{metadata.get("durationMs", 0):g}'
            f',"outputSize":{len(data)},"outputHash":"{sha256(data).hexdigest()}"'
        )
        details = {} if result.error is None else result.error.details
        if (exit_code := metadata.get("exitCode", details.get("exitCode"))) is not None:
            body += f',"exit":{text_of(exit_code)}'
        if names := metadata.get("enforced"):
            body += f',"enforced":{self._names(names)[0]}'
        if names := metadata.get("notEnforced"):
            body += f',"notEnforced":{self._names(names)[0]}'
        if (enforcement := metadata.get("enforcement")) is not None:
            body += f',"enforcement":{text_of(enforcement)}'
        return body

    def _names(self, names: Any) -> tuple[str, str]:
        """The walls of a call, for the chain and for the copy: few sets, in every record."""
        key = tuple(names)
        known = self._walls.get(key)
        if known is None:
            if len(self._walls) >= _MOST_KEPT:
                self._walls.clear()
            known = self._walls[key] = (text_of(list(key)), said(list(key)))
        return known

    def _must(self, body: str, undone: str, *, sync: bool = False) -> None:
        try:
            self.chain.append(body, sync=sync)
        except OSError as error:
            folder = self.chain.folder
            raise ToolError(
                ErrorCode.INTERNAL_ERROR,
                f"{undone}: the audit record cannot be written: {error.strerror}",
                details={"unrecorded": folder},
                hint=f"make room in {folder}; what cannot be recorded is not done"
                if error.errno in _FULL
                else f"check who may write to {folder}; what cannot be recorded is not done",
            ) from None

    def _try(self, body: str) -> list[str]:
        try:
            self.chain.append(body)
        except OSError as error:
            return [f"the end of the call is not in the audit record: {error.strerror}"]
        return []

    def _show(self, event: str, fields: Mapping[str, Any]) -> list[str]:
        return [] if self._copy is None else self._copy.append(event, fields)


# Names of fields that are written otherwise in the chain than in the readable line.
_WIRE = {"name": "tool"}

_UNDONE = {
    "TOOL_CREATED": "was not created",
    "TOOL_REMOVED": "was not removed",
    "TOOL_TRUSTED": "was not accepted",
}
