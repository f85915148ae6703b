"""Who is asked about a call that came by MCP.

Where the client shows forms, it is asked: by a request of ours in the earlier protocol, and in the
later one by an answer that says what is missing, after which the client makes the call again. Both
ways the question lies in the queue first, so that a person can answer it elsewhere, and exactly one
answer counts. Of what the client sends back, nothing is believed but a mark that we have made.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from tongs.core.annotations import Any
from tongs.core.approval import (
    ApprovalRequest,
    ApprovalResponse,
    Approver,
    Settled,
)
from tongs.core.call import ToolCall
from tongs.core.digest import digest_of
from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.core.execution import Waiter
from tongs.core.record import dataclass
from tongs.core.result import ToolResult
from tongs.runtime import Runtime
from tongs.store.seal import Seal
from tongs.surfaces.mcp import forms
from tongs.surfaces.mcp.clients import can_be_asked
from tongs.surfaces.mcp.options import Options

# Of the one question in an answer that says what is missing.
KEY = "approval"
# How often a form is shown again that was filled in wrongly.
_ATTEMPTS = 3
# Seconds between two looks at whether somebody else has answered.
_PAUSE = 0.05


class Asker:
    """Makes the approver of one call, and turns what waits into a question to the client."""

    def __init__(self, runtime: Runtime, options: Options) -> None:
        self._runtime = runtime
        self._options = options
        self._seal = Seal(runtime.places.state)

    def approver(
        self,
        context: Any,
        call: ToolCall,
        waiter: Waiter,
        pending: Pending,
        waits: Callable[[], Any],
    ) -> Approver | None:
        """`pending` is told of what the client has to be asked; `waits` when a person is asked."""
        approving, settings = self._runtime.approving, self._runtime.settings.approvals
        if self._options.approvals == "deny":
            return None
        # Whoever is named to decide decides; a client is then not asked as well.
        named = settings.command or settings.webhook is not None
        forms_shown = self._options.approvals == "form" and settings.mcp and not named
        if self._options.approvals == "terminal":
            from tongs.approvers.terminal import Terminal  # noqa: PLC0415 - needs a terminal

            asks = approving.approver(waiter, terminal=Terminal.reach)
        elif not (forms_shown and can_be_asked(context)):
            asks = approving.approver(waiter, wait=None if settings.configured else 0)
        elif is_modern(context):
            asks = _Waiting(self._runtime, waiter, call, pending).ask
        else:
            voice = ClientVoice(context, call.caller.name, asyncio.get_running_loop())
            asks = approving.approver(waiter, voices=[voice])

        async def ask(request: ApprovalRequest) -> ApprovalResponse | None:
            waits()
            return await asks(request)

        return ask

    def form(self, call: ToolCall, pending: Pending, trouble: str = "") -> dict[str, Any]:
        """An answer that asks: the client shows the form, and makes the call again with it."""
        assert pending.request is not None
        params = {
            "mode": "form",
            "message": forms.message(pending.request, trouble, pending.question),
            "requestedSchema": forms.schema(pending.request),
        }
        mark = {"question": pending.question, "call": fingerprint(call)}
        return {
            "resultType": "input_required",
            "inputRequests": {KEY: {"method": "elicitation/create", "params": params}},
            "requestState": self._seal.close({**mark, "digest": pending.request.digest}),
        }

    def answered(self, call: ToolCall, params: Any) -> dict[str, Any] | ToolError | None:
        """Take the client's answer down, for the call that now comes again.

        Gives the same question again where the form was filled in wrongly, and the refusal where
        the answer came too late. Raises MCPError for a mark that is not ours, or not of this call.
        """
        if params.request_state is None:
            return None
        mark = self._seal.open(params.request_state)
        if mark is None or mark.get("call") != fingerprint(call):
            whose = "was not made here" if mark is None else "is that of another call"
            self._runtime.refuse(call, _refused(call, f"the state that came with it {whose}"))
            raise MCPError(INVALID_PARAMS, f"requestState {whose}")
        try:
            return self._taken_down(call, mark, (params.input_responses or {}).get(KEY))
        except ToolError as error:
            return _refused(call, error.message)

    def _taken_down(
        self, call: ToolCall, mark: dict[str, Any], given: Any
    ) -> dict[str, Any] | None:
        desk = self._runtime.approvals
        question = desk.question(str(mark["question"]))
        if question.request.digest != mark["digest"]:
            raise _refused(call, "its question is about something else")
        action, content = getattr(given, "action", ""), getattr(given, "content", None)
        try:
            if not action:
                raise forms.Mistaken(f"the answer to `{KEY}` is missing")
            response = forms.answer(question.request, action, content, call.caller.name)
        except forms.Mistaken as mistaken:
            return self.form(call, Pending(question.id, question.request), str(mistaken))
        desk.reply(question.id, response)
        return None


@dataclass(slots=True)
class Pending:
    """What the client has to be asked before the call can run; empty: nothing."""

    question: str = ""
    request: ApprovalRequest | None = None

    def asks(self, result: ToolResult) -> bool:
        """Whether that is why the call did not run."""
        error = result.error
        return (
            self.request is not None
            and error is not None
            and error.code is ErrorCode.APPROVAL_PENDING
            and error.details.get("approval") == self.question
        )


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Leaves the question in the queue, for the same call to find its answer when it comes again.

    A call inside of it asks nobody this way: what ran before it would run a second time.
    """

    runtime: Runtime
    waiter: Waiter
    call: ToolCall
    pending: Pending

    async def ask(self, request: ApprovalRequest) -> ApprovalResponse | None:
        own = request.step_id == self.call.id
        wait = None if not own and self.runtime.settings.approvals.configured else 0
        try:
            return await self.runtime.approving.approver(self.waiter, wait=wait)(request)
        except ToolError as error:
            if own and error.code is ErrorCode.APPROVAL_PENDING:
                self.pending.question = str(error.details["approval"])
                self.pending.request = request
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


def is_modern(context: Any) -> bool:
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


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
