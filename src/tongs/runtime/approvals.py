"""What a person does about approvals: look, answer, and take back. No tool may do any of it."""

from __future__ import annotations

from collections.abc import Mapping

from tongs.core.annotations import Any
from tongs.core.approval import ApprovalResponse, Question
from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.core.record import dataclass, replace
from tongs.runtime.definitions import refusals_said, refuse_inside_a_call
from tongs.runtime.remembering import Remembering
from tongs.schema.check import validated
from tongs.store.approvals import ApprovalStore
from tongs.store.remembered import Remembered

_WHY_NOT = {
    "approved": "it is approved already",
    "denied": "it is denied already",
    "used": "it was approved, and the call has run",
    "withdrawn": "the call that asked has given up",
    "expired": "its time is over",
}


@dataclass(frozen=True, slots=True)
class ApprovalDesk:
    """`Runtime.approvals`."""

    store: ApprovalStore
    memory: Remembering

    def remembered(self) -> list[Remembered]:
        refuse_inside_a_call("look at approvals")
        return list(self.memory.store.entries())

    def of_session(self) -> list[Remembered]:
        """What was decided until this process ends."""
        refuse_inside_a_call("look at approvals")
        return list(self.memory.session)

    def revoke(self, wanted: str) -> Remembered:
        """Forget a remembered decision; what it was."""
        refuse_inside_a_call("change approvals")
        if (of_session := self.memory.forget(wanted)) is not None:
            return of_session
        with refusals_said(f"{wanted} was not revoked"):
            found = self.memory.store.revoke(wanted)
        if found is None:
            raise _unknown(wanted, "tongs approvals list")
        return found

    def pending(self) -> list[Question]:
        refuse_inside_a_call("look at approvals")
        return self.store.pending()

    def question(self, wanted: str) -> Question:
        """The question of this id that waits for its answer; ToolError says what became of it."""
        for question in self.pending():
            if question.id == wanted:
                return question
        raise self._too_late(wanted)

    def approve(self, wanted: str, arguments: Mapping[str, Any] | None = None) -> Question:
        """Allow the call, with other arguments if some are given; they are checked here, too."""
        return self.reply(wanted, ApprovalResponse(True, arguments, "user"))

    def deny(self, wanted: str, reason: str = "") -> Question:
        return self.reply(wanted, ApprovalResponse(False, None, "user", reason))

    def reply(self, wanted: str, response: ApprovalResponse) -> Question:
        """Answer in the name of whoever `response` says; ToolError if that was too late."""
        refuse_inside_a_call("answer a call that waits")
        question = self.question(wanted)
        if response.modified_args is not None:
            checked = validated(question.request.input_schema, dict(response.modified_args))
            response = replace(response, modified_args=checked)
        if not self.store.answer(question.id, response):
            raise self._too_late(question.id)
        return question

    def _too_late(self, wanted: str) -> ToolError:
        state = self.store.state_of(wanted)
        if not state:
            return _unknown(wanted, "tongs approvals pending")
        return ToolError(
            ErrorCode.DENIED,
            f"{wanted} cannot be answered: {_WHY_NOT.get(state, state)}",
            details={"state": state},
            blocked_by=BlockedBy.APPROVAL,
            hint="tongs approvals pending shows what waits",
        )


def _unknown(wanted: str, where: str) -> ToolError:
    return ToolError(ErrorCode.TOOL_NOT_FOUND, f"there is no approval `{wanted}`", hint=where)
