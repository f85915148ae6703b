"""Holds the person to what they decided once: `never` as a rule, `always` as an answer.

An `always` is no rule: it answers a question that a rule asked, and only that rule's. Where several
ask about one call, each needs an answer; so a rule added later asks in spite of what was said.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence

from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.approval import ApprovalRequest, ApprovalResponse, Span
from tongs.core.call import CallerKind, ToolCall
from tongs.core.decision import Decision, Verdict
from tongs.core.errors import DefinitionInvalid, ErrorCode, ToolError
from tongs.core.execution import Place
from tongs.core.moments import utc
from tongs.core.permissions import Permissions
from tongs.core.record import replace
from tongs.core.tool import Origin, Tool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tongs.policy.conditions import When
    from tongs.policy.looking import Case, Look
    from tongs.store.remembered import Remembered, RememberedStore

_FILE = "approvals.yml"
# Seconds for which nobody looks whether another process has made the first decision by now.
_RECENT = 0.05


class Remembering:
    """The Memory of a runtime, and one of its rules."""

    def __init__(self, state: str, place: Place, parse: Callable[[bytes, str], Any]) -> None:
        self._state = state
        self._path = os.path.join(state, _FILE)
        self._place = place
        self._parse = parse
        self._look: Look | None = None
        # By id, each with what it was made from: a person may edit the file.
        self._compiled: dict[str, tuple[Mapping[str, Any], When]] = {}
        self._session: list[Remembered] = []
        self._opened: RememberedStore | None = None
        self._look_again = 0.0

    @property
    def store(self) -> RememberedStore:
        """Loaded when the first decision is made or looked for: most people never make one."""
        if self._opened is None:
            from tongs.store.remembered import RememberedStore  # noqa: PLC0415 - see above

            self._opened = RememberedStore(self._state, self._parse)
        return self._opened

    @property
    def session(self) -> tuple[Remembered, ...]:
        """What holds until this process ends."""
        return tuple(self._session)

    def forget(self, wanted: str) -> Remembered | None:
        """Take back a decision of this session; what it was."""
        for entry in self._session:
            if entry.id == wanted:
                self._session.remove(entry)
                return entry
        return None

    def check(self, call: ToolCall, tool: Tool) -> Verdict | None:
        """The rule: what the person never wants is denied, whoever asks for it."""
        if self._nothing_decided():
            return None
        project = tool.origin.project or self._place.root
        found = list(self._matching("never", call, tool, project))
        for entry, sure in sorted(found, key=lambda one: not one[1]):
            if not sure and (call.caller.kind is CallerKind.PERSON or call.caller.agreed):
                # Whoever typed the call has answered.
                continue
            words = f" ({entry.reason})" if entry.reason else ""
            what = "it" if sure else "what this could be"
            return Verdict(
                Decision.DENY if sure else Decision.ASK,
                f"remembered {entry.id}",
                f"you decided on {entry.at[:10]} never to allow {what}{words}",
                hint=f"to take that back: tongs approvals revoke {entry.id}",
            )
        return None

    def recall(self, request: ApprovalRequest) -> ApprovalResponse | None:
        if self._nothing_decided():
            return None
        from tongs.policy.when import speaks_of_arguments  # noqa: PLC0415 - as in `_matching`

        call, tool = _as_call(request)
        caller, answers = _caller(request), dict.fromkeys(request.rules, "")
        for entry, _ in self._matching("always", call, tool, request.project):
            if not request.whole and speaks_of_arguments(entry.when):
                continue
            open_still = answers.get(entry.answers) == "" and entry.caller == caller
            if open_still and _is_same_thing(entry, request):
                answers[entry.answers] = entry.id
        if not all(answers.values()):
            return None
        said = ", ".join(dict.fromkeys(answers.values()))
        return ApprovalResponse(approved=True, approver=f"remembered {said}")

    def remember(self, request: ApprovalRequest, response: ApprovalResponse) -> None:
        from tongs.store.remembered import ALWAYS, NEVER, Remembered  # noqa: PLC0415 - rare

        wanted = response.remember
        if wanted is None:
            return
        if response.approved and not request.definition and wanted.span is not Span.SESSION:
            raise ToolError(
                ErrorCode.APPROVAL_DENIED,
                f"{request.tool} has no definition that could be pinned, so it can be allowed"
                " for this session only",
            )
        first = Remembered(
            id=os.urandom(4).hex(),
            decision=ALWAYS if response.approved else NEVER,
            when=wanted.when,
            span=wanted.span,
            project=request.project if wanted.span is Span.PROJECT else "",
            until=wanted.until,
            answers=request.rule,
            caller=_caller(request),
            definition=request.definition,
            permissions=request.permissions.to_wire(),
            by=response.approver,
            at=utc(),
            reason=response.reason,
        )
        entries = [first]
        if response.approved:
            # One for each rule that asked: which of them ask next time is not known now.
            entries += [replace(first, id=os.urandom(4).hex(), answers=r) for r in request.also]
        if wanted.span is Span.SESSION:
            self._session += entries
        else:
            self._keep(entries)

    def _nothing_decided(self) -> bool:
        """Whether there is no decision at all, as for most people; our own count at once."""
        if self._session or self._opened is not None:
            return False
        now = time.monotonic()
        if now < self._look_again:
            return True
        if os.path.lexists(self._path):
            return False
        self._look_again = now + _RECENT
        return True

    def _keep(self, entries: Sequence[Remembered]) -> None:
        try:
            self.store.add(*entries)
        except (OSError, UnicodeError, DefinitionInvalid) as error:
            raise ToolError(
                ErrorCode.APPROVAL_DENIED,
                f"the decision could not be kept in {self._path}: {error}",
                hint="answer once instead, or free some space",
            ) from None

    def _matching(
        self, decision: str, call: ToolCall, tool: Tool, project: str
    ) -> Iterator[tuple[Remembered, bool]]:
        """Each with whether it is sure; an answer has to be."""
        from tongs.policy.command_pattern import Match  # noqa: PLC0415 - only with something to match

        now, case = utc(), self._case(call, tool)
        for entry in (*self._session, *self.store.entries()):
            if entry.decision != decision or entry.is_over(now):
                continue
            if entry.span is Span.PROJECT and entry.project != project:
                continue
            found = self._when(entry).look(case, every=decision == "always").match
            if found is not Match.NO:
                yield entry, found is Match.YES

    def _case(self, call: ToolCall, tool: Tool) -> Case:
        if self._look is None:
            from tongs.policy.looking import Look  # noqa: PLC0415 - as above

            self._look = Look(self._place)
        return self._look(call, tool)

    def _when(self, entry: Remembered) -> When:
        known = self._compiled.get(entry.id)
        if known is None or known[0] != entry.when:
            from tongs.policy.when import compiled  # noqa: PLC0415 - as above

            known = self._compiled[entry.id] = (entry.when, compiled(entry.when))
        return known[1]


def _as_call(request: ApprovalRequest) -> tuple[ToolCall, Tool]:
    origin = Origin(digest=request.definition, project=request.project)
    call = ToolCall(request.step_id, request.tool, request.args, request.caller)
    return call, Tool(request.tool, tags=request.tags, origin=origin)


def _caller(request: ApprovalRequest) -> str:
    return f"{request.caller.kind} {request.caller.name}"


def _is_same_thing(entry: Remembered, request: ApprovalRequest) -> bool:
    """The definition and permissions the answer was given for; any change asks again."""
    if "tool" in entry.when:
        same = entry.permissions == request.permissions.to_wire()
        return same and entry.definition == request.definition
    # A tag names several tools, none of which may touch more than the person saw.
    return entry.permissions is not None and request.permissions.within(_of(entry.permissions))


def _of(wire: Mapping[str, Any]) -> Permissions:
    permissions = Permissions.from_data({**wire, "secrets": dict.fromkeys(wire["secrets"])})
    # What may be read as scratch may be read.
    scratch = tuple(wire["fs"].get("scratch", ()))
    return Permissions(
        permissions.network, permissions.read, permissions.write, permissions.secrets, scratch
    )
