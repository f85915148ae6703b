"""Asks a program of the person's own: the request on its stdin, the answer on its stdout, JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence

from tongs.core.annotations import TypeAlias
from tongs.core.approval import ApprovalRequest, ApprovalResponse, Settled
from tongs.core.approval_wire import WrongAnswer, request_wire, strangers_answer
from tongs.core.record import dataclass


@dataclass(frozen=True, slots=True)
class Ended:
    """How the program ended; `trouble` says why there is nothing to read."""

    code: int | None
    stdout: bytes = b""
    stderr: str = ""
    trouble: str = ""


# Starts the program with these bytes on its stdin, and ends it when the question is settled.
RunOwn: TypeAlias = Callable[[bytes, Settled], Ended]


class CommandApprover:
    """What is no answer, whatever the reason, is a denial that names the reason."""

    def __init__(self, argv: Sequence[str], run: RunOwn) -> None:
        self._name = f"command {os.path.basename(argv[0])}"
        self._run = run

    def ask(self, request: ApprovalRequest, settled: Settled) -> ApprovalResponse | None:
        asked = json.dumps(request_wire(request), default=str).encode()
        ended = self._run(asked, settled)
        if settled():
            return None
        if ended.trouble:
            return self._denied(ended.trouble)
        if ended.code != 0:
            said = f": {ended.stderr.strip()}" if ended.stderr.strip() else ""
            return self._denied(f"it ended with code {ended.code}{said}")
        try:
            return strangers_answer(ended.stdout, self._name)
        except WrongAnswer as wrong:
            return self._denied(str(wrong))

    def _denied(self, reason: str) -> ApprovalResponse:
        return ApprovalResponse(approved=False, approver=self._name, reason=reason)
