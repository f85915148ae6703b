"""Asks a server: the request is posted as JSON, the answer is the body of its response."""

from __future__ import annotations

import json
from collections.abc import Callable

from tongs.core.annotations import TypeAlias
from tongs.core.approval import ApprovalRequest, ApprovalResponse, Settled
from tongs.core.approval_wire import WrongAnswer, request_wire, strangers_answer
from tongs.core.errors import ToolError

# Posts these bytes; the status and the body. Raises ToolError where there is no response.
Post: TypeAlias = Callable[[bytes, Settled], tuple[int, bytes]]

_OK = 200
# It took the question, and the answer comes by another way.
_ACCEPTED = 202


class WebhookApprover:
    """`host` is shown to people; the address itself may hold what is nobody's business."""

    def __init__(self, host: str, post: Post) -> None:
        self._name = f"webhook {host}"
        self._post = post

    def ask(self, request: ApprovalRequest, settled: Settled) -> ApprovalResponse | None:
        asked = json.dumps(request_wire(request), default=str).encode()
        try:
            status, body = self._post(asked, settled)
        except ToolError as error:
            return None if settled() else self._denied(error.message)
        if status == _ACCEPTED:
            return None
        if status != _OK:
            return self._denied(f"it answered with status {status}")
        try:
            return strangers_answer(body, self._name)
        except WrongAnswer as wrong:
            return self._denied(str(wrong))

    def _denied(self, reason: str) -> ApprovalResponse:
        return ApprovalResponse(approved=False, approver=self._name, reason=reason)
