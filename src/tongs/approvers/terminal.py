"""Asks the person at the terminal: shows what will really run, and takes one of a few answers.

`Terminal` is the pair of streams a person reads and types at, `TerminalApprover` the Approver that
uses it. Everything a stranger wrote is shown with its hidden characters written out.
"""

from __future__ import annotations

import os
import select
import sys
import termios
from collections.abc import Callable

from tongs.approvers.terminal_editing import EditText, edit, edit_outside
from tongs.approvers.terminal_question import description, is_cut
from tongs.approvers.terminal_scope import chosen
from tongs.core.annotations import TextIO
from tongs.core.approval import ELICITATION, ApprovalRequest, ApprovalResponse, Settled
from tongs.core.record import dataclass
from tongs.output import visible

# Between two looks at whether somebody else has answered.
_PAUSE = 0.2

_QUESTION = "[a]llow once  [e]dit  [A]lways  [N]ever  [d]eny  [?]: "
# Of what an MCP server asks.
_FORM = "[e] fill in and send  [a] send as it stands  [d]ecline  [?]: "
_FORM_HELP = """\
e         fill in the fields here, and send them to the server; E in your own editor
a         send the fields as they stand above
d [WHY]   send nothing
v         show everything, however long it is"""
_HELP = """\
a         allow this call, this once
e         edit the arguments here first; E in your own editor ($VISUAL or $EDITOR)
A         allow this and calls like it from now on: you choose which, where, and until when
N         never allow this or calls like it: you choose as with A
d [WHY]   deny this call; the reason goes back to whoever made it
v         show everything, however long it is
What you remember with A and N: tongs approvals list, tongs approvals revoke ID"""
_ELSEWHERE = "answered elsewhere, or no longer asked"


class Withdrawn(Exception):
    """The question has found its answer elsewhere."""


def never_settled() -> bool:
    """For a question that nobody else can answer."""
    return False


@dataclass(frozen=True, slots=True)
class Terminal:
    """Where a person can be asked. Answers are whole lines, so no stray key is a decision."""

    reader: TextIO
    writer: TextIO
    # Who is asked here is told so by `Withdrawn`.
    settled: Settled = never_settled

    @staticmethod
    def reach(stdin: TextIO | None = None, stderr: TextIO | None = None) -> Terminal | None:
        """The person's terminal, also when stdin is a pipe; None where there is none."""
        stdin, stderr = stdin or sys.stdin, stderr or sys.stderr
        if _is_terminal(stdin) and _is_terminal(stderr):
            return Terminal(stdin, stderr)
        try:
            descriptor = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return None
        reader = os.fdopen(descriptor, encoding="utf-8", errors="surrogateescape")
        writer = os.fdopen(os.dup(descriptor), "w", encoding="utf-8", errors="backslashreplace")
        return Terminal(reader, writer)

    def show(self, text: str) -> None:
        """Print text from anywhere, safe to look at."""
        self.writer.write(visible(text) + "\n")
        self.writer.flush()

    def ask(self, question: str) -> str | None:
        """One line of answer; None when the person closed the input."""
        self._forget_typed_ahead()
        self.writer.write(question)
        self.writer.flush()
        if self.settled is not never_settled:
            self._wait_for_line()
        answer = self.reader.readline()
        if not answer:
            self.writer.write("\n")
            return None
        return answer.strip()

    def agrees(self, question: str) -> bool:
        """Only a plain yes is a yes."""
        answer = self.ask(f"{question} [y/N] ")
        return answer is not None and answer.lower() in ("y", "yes")

    def _wait_for_line(self) -> None:
        while not select.select([self.reader], [], [], _PAUSE)[0]:
            if self.settled():
                self.writer.write("\n")
                raise Withdrawn

    def _forget_typed_ahead(self) -> None:
        # What was typed or pasted before the question was there cannot be an answer to it.
        try:
            termios.tcflush(self.reader.fileno(), termios.TCIFLUSH)
        except (OSError, termios.error):
            return


class TerminalApprover:
    """Blocks until the person has answered. Nobody there means no answer: None.

    `editor` opens a text in the person's own editor.
    """

    def __init__(
        self,
        terminal: Terminal | None = None,
        editor: EditText | None = None,
        note: Callable[[], str] = str,
    ) -> None:
        self._terminal = terminal
        self._editor = editor
        # Said below the question: how else it can be answered.
        self._note = note

    async def __call__(self, request: ApprovalRequest) -> ApprovalResponse | None:
        return self.ask(request, never_settled)

    def ask(self, request: ApprovalRequest, settled: Settled) -> ApprovalResponse | None:
        terminal = self._terminal or Terminal.reach()
        if terminal is None:
            return None
        terminal = Terminal(terminal.reader, terminal.writer, settled)
        terminal.show(description(request))
        if note := self._note():
            terminal.show(note)
        try:
            return self._answer(terminal, request)
        except Withdrawn:
            terminal.show(_ELSEWHERE)
            return None

    def _answer(self, terminal: Terminal, request: ApprovalRequest) -> ApprovalResponse:
        is_form = request.rule == ELICITATION
        while True:
            answer = terminal.ask(_FORM if is_form else _QUESTION)
            if answer is None:
                return _denied("the input was closed")
            if answer[:1] == "d":
                return _denied(answer[1:].strip() or terminal.ask("why (optional): ") or "")
            response = None
            match answer:
                case "a" | "allow":
                    response = ApprovalResponse(approved=True, approver="terminal")
                case "e" | "E":
                    response = self._edited(terminal, request, outside=answer == "E")
                case "A" | "N" if not is_form:
                    response = _remembered(terminal, request, approved=answer == "A")
                case "v":
                    terminal.show(description(request, whole=True))
                case "?":
                    terminal.show(_FORM_HELP if is_form else _HELP)
                case _:
                    more = ", v" if is_cut(request) else ""
                    words = "a, e, d" if is_form else "a, e, A, N, d"
                    terminal.show(f"please answer {words}{more} or ?")
            if response is not None:
                return response

    def _edited(
        self, terminal: Terminal, request: ApprovalRequest, *, outside: bool
    ) -> ApprovalResponse | None:
        if outside:
            arguments = edit_outside(terminal, request.args, self._editor)
        else:
            arguments = edit(terminal, request.args)
        if arguments is None:
            return None
        return ApprovalResponse(approved=True, modified_args=arguments, approver="terminal")


def _remembered(
    terminal: Terminal, request: ApprovalRequest, *, approved: bool
) -> ApprovalResponse | None:
    remember = chosen(terminal, request, approved=approved)
    if remember is None:
        return None
    why = "" if approved else terminal.ask("why (optional): ") or ""
    return ApprovalResponse(approved, approver="terminal", reason=why, remember=remember)


def _denied(reason: str) -> ApprovalResponse:
    return ApprovalResponse(approved=False, approver="terminal", reason=reason)


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:
        return False
