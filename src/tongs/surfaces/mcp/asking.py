"""Who is asked about a call that came by MCP.

Where the client shows forms, it is asked: by a request of ours in the earlier protocol, and in the
later one by an answer that says what is missing, after which the client makes the call again. Both
ways the question lies in the queue first, so that a person can answer it elsewhere, and exactly one
answer counts. Of what the client sends back, nothing is believed but a mark that we have made.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from tongs.core.annotations import Any
from tongs.core.approval import (
    ELICITATION,
    ApprovalRequest,
    ApprovalResponse,
    Approver,
    Question,
    Settled,
)
from tongs.core.call import ToolCall
from tongs.core.digest import digest_of
from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.core.execution import Waiter
from tongs.core.record import dataclass
from tongs.runtime import Runtime
from tongs.store.seal import Seal
from tongs.surfaces.mcp import forms
from tongs.surfaces.mcp.clients import can_be_asked, is_modern
from tongs.surfaces.mcp.options import Options
from tongs.surfaces.mcp.running import Parked, Pending, Running

# Of the one question in an answer that says what is missing.
KEY = "approval"
# How often a form is shown again that was filled in wrongly.
_ATTEMPTS = 3
# Seconds that a call waits which has begun, unless `approvals.wait` says otherwise.
_PATIENCE = 600.0
# Seconds between two looks at whether somebody else has answered.
_PAUSE = 0.05


class Asker:
    """Makes the approver of one call, and turns what waits into a question to the client."""

    def __init__(self, runtime: Runtime, options: Options) -> None:
        self._runtime = runtime
        self._options = options
        self._seal = Seal(runtime.places.state)
        self.parked = Parked()

    def approver(self, context: Any, running: Running, waiter: Waiter) -> Approver | None:
        """`running` is told what the client has to be asked, and when a person is waited for."""
        approving, settings = self._runtime.approving, self._runtime.settings.approvals
        if self._options.approvals == "deny":
            return None
        if self._options.approvals == "terminal":
            from tongs.approvers.terminal import Terminal  # noqa: PLC0415 - needs a terminal

            asks = approving.approver(waiter, terminal=Terminal.reach)
        elif not self._asks(context):
            asks = approving.approver(waiter, wait=None if settings.configured else 0)
        elif is_modern(context):
            asks = _Waiting(self._runtime, waiter, running, self.parked).ask
        else:
            client = running.call.caller.name
            voice = ClientVoice(context, client, asyncio.get_running_loop())
            asks = approving.approver(waiter, voices=[voice])

        async def ask(request: ApprovalRequest) -> ApprovalResponse | None:
            running.waits()
            return await asks(request)

        return ask

    def _asks(self, context: Any) -> bool:
        """Whether the client is asked. Whoever is named to decide decides instead of it."""
        settings = self._runtime.settings.approvals
        named = bool(settings.command) or settings.webhook is not None
        wanted = self._options.approvals == "form" and settings.mcp and not named
        return wanted and can_be_asked(context)

    def form(self, call: ToolCall, pending: Pending, trouble: str = "") -> dict[str, Any]:
        """An answer that asks: the client shows the form, and makes the call again with it."""
        assert pending.request is not None
        params = {
            "mode": "form",
            "message": forms.message(pending.request, trouble, pending.question),
            "requestedSchema": forms.schema(pending.request),
        }
        mark = {
            "question": pending.question,
            "call": fingerprint(call),
            "digest": pending.request.digest,
            "nested": pending.nested,
        }
        return {
            "resultType": "input_required",
            "inputRequests": {KEY: {"method": "elicitation/create", "params": params}},
            "requestState": self._seal.close(mark),
        }

    def answered(
        self, context: Any, call: ToolCall, params: Any
    ) -> dict[str, Any] | Running | None:
        """Take the client's answer down, for the call that now comes again.

        Gives the same question again where the form was filled in wrongly, and the call that goes
        on where it has begun. Raises ToolError where the answer comes too late, and MCPError for a
        mark that is not ours, or not of this call.
        """
        if params.request_state is None:
            return None
        mark = self._seal.open(params.request_state)
        if mark is None or mark.get("call") != fingerprint(call):
            whose = "was not made here" if mark is None else "is that of another call"
            self._runtime.refuse(call, _refused(call, f"the state that came with it {whose}"))
            raise MCPError(INVALID_PARAMS, f"requestState {whose}")
        if not self._asks(context):
            # Where it was made, clients were asked.
            raise _refused(call, "clients are not asked here")
        number, nested = str(mark["question"]), bool(mark["nested"])
        if nested and number not in self.parked:
            raise _refused(call, "the call that asked has ended")
        state = self._runtime.approvals.store.state_of(number)
        # Where somebody was faster, elsewhere, the call finds that answer, or has found it.
        if nested and state != "pending":
            return self.parked.take(number)
        if state in ("approved", "denied"):
            return None
        given = (params.input_responses or {}).get(KEY)
        again = self._taken_down(call, mark, given)
        if again is not None or not nested:
            return again
        return self.parked.take(number)

    def _taken_down(
        self, call: ToolCall, mark: Mapping[str, Any], given: Any
    ) -> dict[str, Any] | None:
        desk = self._runtime.approvals
        try:
            question = desk.question(str(mark["question"]))
            request = question.request
            if request.digest != mark["digest"]:
                raise _refused(call, "its question is about something else")
            try:
                response = _filled(request, given, call.caller.name)
            except forms.Mistaken as mistaken:
                pending = Pending(question.id, request, bool(mark["nested"]))
                return self.form(call, pending, str(mistaken))
            desk.reply(question.id, response)
        except ToolError as error:
            raise _refused(call, error.message) from None
        return None


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Leaves the question in the queue, for the same call to find its answer when it comes again.

    A call inside of it, and a server that asks something, wait for the answer instead: what ran
    before must not run again.
    """

    runtime: Runtime
    waiter: Waiter
    running: Running
    parked: Parked

    async def ask(self, request: ApprovalRequest) -> ApprovalResponse | None:
        approving, wait = self.runtime.approving, self.runtime.settings.approvals.wait
        if request.step_id != self.running.call.id or request.rule == ELICITATION:
            wait = _PATIENCE if wait is None else wait

            def announce(question: Question) -> None:
                if not self.parked.full:
                    self.running.ask(question.id, request)

            return await approving.approver(self.waiter, wait=wait, announce=announce)(request)
        try:
            return await approving.approver(self.waiter, wait=0)(request)
        except ToolError as error:
            if error.code is ErrorCode.APPROVAL_PENDING:
                self.running.pending = Pending(str(error.details["approval"]), request)
            raise


@dataclass(frozen=True, slots=True)
class ClientVoice:
    """Asks the client by a request of ours (the earlier protocol)."""

    context: Any
    client: str
    loop: asyncio.AbstractEventLoop

    def ask(self, request: ApprovalRequest, settled: Settled) -> ApprovalResponse | None:
        """In a thread of its own, as every voice; the request itself is the event loop's."""
        asked = asyncio.run_coroutine_threadsafe(self._elicit(request), self.loop)
        while True:
            try:
                return asked.result(_PAUSE)
            except TimeoutError:
                if settled():
                    asked.cancel()
                    return None
            except (MCPError, ValueError) as error:
                raise ToolError(
                    ErrorCode.APPROVAL_DENIED, f"the client could not be asked: {error}"
                ) from None

    async def _elicit(self, request: ApprovalRequest) -> ApprovalResponse:
        trouble = ""
        for _ in range(_ATTEMPTS):
            given = await self.context.session.elicit_form(
                forms.message(request, trouble),
                forms.schema(request),
                related_request_id=self.context.request_id,
            )
            try:
                return forms.answer(request, given.action, given.content, self.client)
            except forms.Mistaken as mistaken:
                trouble = str(mistaken)
        who = f"{self.client} (by MCP)"
        return ApprovalResponse(False, None, who, f"the answer decided nothing: {trouble}")


def _filled(request: ApprovalRequest, given: Any, client: str) -> ApprovalResponse:
    """What the client's answer decides; raises Mistaken."""
    action, content = getattr(given, "action", ""), getattr(given, "content", None)
    if not action:
        raise forms.Mistaken(f"the answer to `{KEY}` is missing")
    return forms.answer(request, action, content, client)


def fingerprint(call: ToolCall) -> str:
    """Of the call as the client made it: who, what, and with which arguments."""
    thing = [call.caller.name, call.name, dict(call.arguments)]
    return digest_of(json.dumps(thing, sort_keys=True, default=str).encode())


def _refused(call: ToolCall, why: str) -> ToolError:
    return ToolError(
        ErrorCode.APPROVAL_DENIED,
        f"{call.name} was not run: {why}",
        blocked_by=BlockedBy.APPROVAL,
        hint="make the call again to be asked again",
    )
