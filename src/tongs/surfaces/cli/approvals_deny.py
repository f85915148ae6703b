"""`tongs approvals deny`: deny a call that waits."""

from __future__ import annotations

from tongs.surfaces.cli import failure
from tongs.surfaces.cli.approvals_pending import question_wire
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser


def options(parser: Parser) -> None:
    parser.add_argument("id", metavar="ID")
    parser.add_argument("--reason", default="", metavar="TEXT")
    parser.add_argument("--json", action="store_true")


def run(invocation: Invocation) -> int:
    options = invocation.options
    question = invocation.runtime.approvals.deny(options.id, options.reason)
    if options.json:
        answer = {"approved": False, "reason": options.reason}
        invocation.console.data(failure.result_json({**question_wire(question), **answer}))
    else:
        invocation.console.say(f"denied {question.request.tool} ({options.id})")
    return failure.OK
