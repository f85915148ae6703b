"""`tongs approvals pending`: the calls that wait for an approval, or everything about one."""

from __future__ import annotations

import time

from tongs.core.annotations import Any
from tongs.core.approval import Question
from tongs.core.moments import utc
from tongs.surfaces.cli import failure
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser
from tongs.surfaces.cli.table import one_line, table


def options(parser: Parser) -> None:
    parser.add_argument("id", metavar="ID", nargs="?")
    parser.add_argument("--json", action="store_true")


def run(invocation: Invocation) -> int:
    desk, wanted = invocation.runtime.approvals, invocation.options.id
    found = desk.pending() if wanted is None else [desk.question(wanted)]
    if invocation.options.json:
        wires = [question_wire(question) for question in found]
        invocation.console.data(failure.result_json(wires if wanted is None else wires[0]))
    elif wanted is not None:
        show(invocation, found[0])
    elif not found:
        invocation.console.say("nothing waits for an approval")
    else:
        header = ("ID", "TOOL", "ASKED BY", "RULE", "AGO", "WAITING")
        for line in table(header, [_row(question) for question in found]):
            invocation.console.data(f"{line}\n")
    return failure.OK


def show(invocation: Invocation, question: Question) -> None:
    """All that a person has to know before they answer."""
    from tongs.approvers.terminal_question import description  # noqa: PLC0415 - only where shown

    invocation.console.data(f"{description(question.request, whole=True)}\n")


def question_wire(question: Question) -> dict[str, Any]:
    from tongs.core.approval_wire import request_wire  # noqa: PLC0415 - only for programs

    return {
        "id": question.id,
        "asked": utc(question.asked),
        "expires": utc(question.expires),
        "awaited": question.awaited,
        "request": request_wire(question.request),
    }


def _row(question: Question) -> tuple[str, ...]:
    request = question.request
    return (
        question.id,
        one_line(request.tool),
        one_line(request.caller.name),
        one_line(", ".join(request.rules)),
        _ago(time.time() - question.asked),
        "yes" if question.awaited else "no, the call must be made again",
    )


def _ago(seconds: float) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return f"{int(seconds)}s"
