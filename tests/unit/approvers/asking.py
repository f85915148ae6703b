"""Asks for one approval on the terminal it is started on; the answer goes to the named file.

python asking.py FILE [loop] [form]      with `loop`, from inside a running event loop; with `form`,
                                         what an MCP server asks
"""

import asyncio
import json
import sys
from pathlib import Path

from tongs.approvers.terminal import TerminalApprover
from tongs.core.approval import ELICITATION, ApprovalRequest, ApprovalResponse
from tongs.core.call import Caller, CallerKind
from tongs.core.permissions import Permissions, Secret

REQUEST = ApprovalRequest(
    step_id="1",
    tool="deploy",
    args={"TARGET": "prod", "CMD": "rm \u202ex"},
    reason="it costs money",
    rule="approval.required",
    preview="bash:\n  deploy prod\x1b[2J",
    caller=Caller(CallerKind.AGENT, "claude"),
    permissions=Permissions(network=("h",), write=("./out",), secrets=(Secret("TOKEN"),)),
    raw_parameters=("CMD",),
)

FORM = ApprovalRequest(
    step_id="1",
    tool="deeds__ask",
    args={"name": ""},
    reason="the server deeds asks",
    rule=ELICITATION,
    preview="the MCP server deeds asks, not Tongs: Who are you?",
)


def asked() -> ApprovalRequest:
    return FORM if "form" in sys.argv else REQUEST


def without_loop() -> ApprovalResponse | None:
    """As the synchronous pipeline drives it: the coroutine never suspends."""
    work = TerminalApprover()(asked())
    try:
        work.send(None)
    except StopIteration as finished:
        answer: ApprovalResponse | None = finished.value
        return answer
    raise AssertionError("the approver waited for an event loop")


async def in_loop() -> ApprovalResponse | None:
    return await TerminalApprover()(asked())


if __name__ == "__main__":
    answer = asyncio.run(in_loop()) if "loop" in sys.argv else without_loop()
    fields = (
        None
        if answer is None
        else [answer.approved, answer.modified_args, answer.approver, answer.reason]
    )
    Path(sys.argv[1]).write_text(json.dumps(fields), encoding="utf-8")
