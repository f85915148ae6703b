"""`/approve`: calls that wait for an answer, and what was decided for this session."""

from __future__ import annotations

from tongs.approvers.terminal import Terminal
from tongs.core.annotations import TYPE_CHECKING
from tongs.core.approval import ApprovalResponse
from tongs.output import visible
from tongs.policy.when import in_words
from tongs.surfaces.chat.rendering import arguments_line
from tongs.surfaces.cli.table import one_line, table

if TYPE_CHECKING:
    from tongs.surfaces.chat.session import Session


def show(session: Session) -> None:
    desk = session.runtime.approvals
    lines = []
    waiting = [
        (q.id, q.request.tool, q.request.caller.name, arguments_line(q.request.args))
        for q in desk.pending()
    ]
    if waiting:
        lines += table(
            ("WAITING", "TOOL", "ASKED BY", "ARGUMENTS"), waiting, session.screen.width()
        )
    if decided := [(e.id, e.decision, one_line(in_words(e.when))) for e in desk.of_session()]:
        lines += table(("SESSION", "DECISION", "WHAT"), decided, session.screen.width())
    if not lines:
        lines = ["nothing waits, and nothing was decided for this session"]
    session.screen.write("".join(f"{visible(line)}\n" for line in lines))
    if waiting:
        session.screen.say("hint", f"/approve {waiting[0][0]} answers it", "cyan")


async def answer(session: Session, wanted: str) -> None:
    """Put the question as if it were asked now: allow, edit, deny, remember. Raises ToolError."""
    desk = session.runtime.approvals
    question = desk.question(wanted)

    def ask(terminal: Terminal) -> ApprovalResponse | None:
        approver = session.runtime.approving.at(terminal)
        return approver.ask(
            question.request, lambda: terminal.settled() or not desk.store.is_open(question.id)
        )

    response = await session.ask(ask)
    if response is None:
        return
    desk.reply(question.id, response)
    said = f"{question.request.tool} ({question.id})"
    if not response.approved:
        session.screen.say("denied", said, "yellow")
        return
    if response.modified_args is not None:
        said += f", with {arguments_line(response.modified_args)}"
    session.screen.say("approved", said, "green")
    if not question.awaited:
        again = "it runs once, when the same call is made again: say `go on`"
        session.screen.say("hint", again, "cyan")


def revoke(session: Session, wanted: str) -> None:
    """Raises ToolError."""
    session.runtime.approvals.revoke(wanted)
    session.screen.say("revoked", wanted, "green")
