"""The tools of an agent: its offer behind the pipeline, and all that happens, for who watches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tongs.agent.events import (
    CallEnded,
    CallOutput,
    CallStarted,
    Observe,
    QuestionAnswered,
    QuestionAsked,
)
from tongs.agent.loop import Carried, Numbered
from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.approval import ApprovalRequest, ApprovalResponse, Approver
from tongs.core.call import Caller
from tongs.core.conversation import CallAnswered
from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.core.execution import STDERR, STDOUT, Event, Observer, OutputArrived
from tongs.core.result import ToolResult
from tongs.pipeline.question import CHANGED
from tongs.runtime.call_shapes import Asked, told

if TYPE_CHECKING:
    from tongs.runtime import Runtime
    from tongs.runtime.offering import Offer

DENIALS = frozenset(
    {ErrorCode.DENIED, ErrorCode.APPROVAL_DENIED, ErrorCode.APPROVAL_PENDING, ErrorCode.UNTRUSTED}
)
_MOST_RAW = 200


class AgentTools:
    """What one agent may call. `approver` is asked about its calls; None: whom the config names."""

    def __init__(
        self, runtime: Runtime, offer: Offer, caller: Caller, approver: Approver | None = None
    ) -> None:
        self.offer = offer
        self._runtime = runtime
        self._caller = caller
        self._approver = approver
        # The functions, and the form and the tools that they are made of.
        self._made: tuple[Any, Sequence[Mapping[str, Any]]] | None = None

    def functions(self, form: str) -> Sequence[Mapping[str, Any]]:
        """Made once for what is offered: most steps add nothing to it."""
        offered = (form, tuple(self.offer.tools.values()))
        if self._made is None or self._made[0] != offered:
            self._made = (offered, self.offer.export(form).data)
        return self._made[1]

    async def run(
        self,
        calls: Sequence[Numbered],
        observe: Observe,
        ended: Callable[[int, Carried], None],
    ) -> None:
        asked = [_asked(call) for call in calls]
        watch = _Watch(asked, observe, ended)
        await self.offer.carry_out(
            asked, caller=self._caller, approver=self._asking(observe), watch=watch
        )

    def _asking(self, observe: Observe) -> Approver | None:
        """Who is asked, so that each question and its answer is seen."""
        from tongs.sandbox.waiting import LoopWaiter  # noqa: PLC0415 - needs asyncio

        approver = self._runtime.who_answers(self._approver, LoopWaiter())
        if approver is None:
            return None

        async def ask(request: ApprovalRequest) -> ApprovalResponse | None:
            call, tool = request.step_id, request.tool
            observe(QuestionAsked(call, tool, request.args, request.reason))
            response = None
            try:
                response = await approver(request)
            finally:
                # Also where nobody answered: whoever shows the question takes it away.
                said = response or ApprovalResponse(approved=False, reason="no answer")
                edited = said.modified_args
                observe(QuestionAnswered(call, tool, said.approved, said.reason, edited))
            return response

        return ask


class _Watch:
    """Turns what the pipeline says into events. A call is known by where it stands."""

    def __init__(
        self, asked: Sequence[Asked], observe: Observe, ended: Callable[[int, Carried], None]
    ) -> None:
        self._places = {call.own_id: place for place, call in enumerate(asked)}
        self._observe = observe
        self._ended = ended

    def began(self, call: Asked) -> None:
        self._observe(CallStarted(call.id, call.own_id, call.name, call.arguments))

    def observer(self, call: Asked) -> Observer:
        # What is not a whole character yet, by stream.
        begun = {STDOUT: b"", STDERR: b""}

        def observe(event: Event) -> None:
            if not isinstance(event, OutputArrived):
                return
            data = begun[event.stream] + event.data
            end = len(data) - unfinished(data)
            begun[event.stream] = data[end:]
            if end:
                stream = "stdout" if event.stream == STDOUT else "stderr"
                self._observe(CallOutput(call.id, stream, data[:end]))

        return observe

    def ended(self, call: Asked, result: ToolResult) -> None:
        error = result.error
        code = "" if error is None else str(error.code)
        text, denied = told(result), code in DENIALS
        answer = CallAnswered(call.id, call.name, text, result.ok)
        self._ended(self._places[call.own_id], Carried(answer, denied))
        seconds = float(result.metadata.get("durationMs", 0)) / 1000
        output = result.output if result.ok else ""
        how = (result.ok, text, code, denied, seconds, output, _unseen(result))
        self._observe(CallEnded(call.id, call.own_id, call.name, *how))


def _unseen(result: ToolResult) -> tuple[str, ...]:
    """The warnings of a call, but for that of an edit: whoever made it knows."""
    edited = "modifiedArguments" in result.metadata
    return tuple(said for said in result.warnings if not (edited and CHANGED in said))


def unfinished(data: bytes) -> int:
    """How many bytes at the end are the beginning of a character of UTF-8."""
    for back in range(1, min(len(data), 3) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            return back if back < (2 if byte < 0xE0 else 3 if byte < 0xF0 else 4) else 0
        if byte < 0x80:
            return 0
    return 0


def _asked(call: Numbered) -> Asked:
    made = call.made
    error = None
    if made.arguments is None:
        wrong = made.error or "the arguments are no JSON object"
        raw = f"; got {made.raw[:_MOST_RAW]}" if made.raw else ""
        error = ToolError(
            ErrorCode.INVALID_ARGUMENTS,
            f"nothing was run: {wrong}{raw}",
            blocked_by=BlockedBy.SCHEMA,
        )
    return Asked(made.id, made.name, made.arguments or {}, error, own_id=call.own_id)
