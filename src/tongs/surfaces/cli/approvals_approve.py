"""`tongs approvals approve`: allow a call that waits, as it is or with other arguments."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

import json

from tongs.core.annotations import Any
from tongs.core.approval import Question
from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.surfaces.cli import failure
from tongs.surfaces.cli.approvals_pending import question_wire
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser, UsageError


def options(parser: Parser) -> None:
    parser.add_argument("id", metavar="ID")
    parser.add_argument("--edit", action="store_true")
    parser.add_argument("--editor", action="store_true")
    parser.add_argument("--arguments", metavar="JSON")
    parser.add_argument("--json", action="store_true")


def run(invocation: Invocation) -> int:
    options, desk = invocation.options, invocation.runtime.approvals
    if sum((options.edit, options.editor, options.arguments is not None)) > 1:
        raise UsageError("approvals approve: --edit, --editor and --arguments exclude each other")
    question = desk.question(options.id)
    arguments = _arguments(invocation, question)
    desk.approve(options.id, arguments)
    if options.json:
        answer = {"approved": True, "modifiedArgs": arguments}
        invocation.console.data(failure.result_json({**question_wire(question), **answer}))
        return failure.OK
    what = question.request.tool
    invocation.console.say(f"approved {what} ({options.id})")
    if not question.awaited:
        invocation.console.say("nobody waits for it now: it runs when the same call is made again")
    return failure.OK


def _arguments(invocation: Invocation, question: Question) -> dict[str, Any] | None:
    """What the call shall run with; None where it stays as it is."""
    options, request = invocation.options, question.request
    if options.arguments is not None:
        return _object(options.arguments)
    if not options.edit and not options.editor:
        return None
    terminal = invocation.terminal()
    if terminal is None:
        raise ToolError(
            ErrorCode.APPROVAL_DENIED,
            f"{question.id} was not approved: there is no terminal to edit on",
            blocked_by=BlockedBy.APPROVAL,
            hint=f"tongs approvals approve {question.id} --arguments '{{…}}'",
        )
    from tongs.approvers.terminal_editing import edit, edit_outside
    from tongs.approvers.terminal_question import description

    terminal.show(description(request))
    if options.editor:
        edited = edit_outside(terminal, request.args, invocation.runtime.approving.edited)
    else:
        edited = edit(terminal, request.args)
    if edited is None:
        raise ToolError(ErrorCode.CANCELLED, f"{question.id} was not approved: you gave up editing")
    return edited


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UsageError(f"approvals approve --arguments: this is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise UsageError("approvals approve --arguments: it must be one JSON object: {…}")
    return value
