"""Asks the person at the terminal: shows what will really run, takes allow, edit or deny.

`Terminal` is the pair of streams a person reads and types at, `TerminalApprover` the Approver that
uses it. Everything a stranger wrote is shown with its hidden characters written out.
"""

# ruff: noqa: PLC0415 - prompt_toolkit is large, and only editing needs it

from __future__ import annotations

import json
import os
import sys
import termios
from collections.abc import Mapping

from tongs.config.terminal import is_dumb
from tongs.core.annotations import Any, TextIO
from tongs.core.approval import ApprovalRequest, ApprovalResponse
from tongs.core.permissions import Permissions
from tongs.core.record import dataclass
from tongs.output import visible

_QUESTION = "[a]llow once  [e]dit  [d]eny: "


@dataclass(frozen=True, slots=True)
class Terminal:
    """Where a person can be asked. Answers are whole lines, so no stray key is a decision."""

    reader: TextIO
    writer: TextIO

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
        answer = self.reader.readline()
        if not answer:
            self.writer.write("\n")
            return None
        return answer.strip()

    def agrees(self, question: str) -> bool:
        """Only a plain yes is a yes."""
        answer = self.ask(f"{question} [y/N] ")
        return answer is not None and answer.lower() in ("y", "yes")

    def _forget_typed_ahead(self) -> None:
        # What was typed or pasted before the question was there cannot be an answer to it.
        try:
            termios.tcflush(self.reader.fileno(), termios.TCIFLUSH)
        except (OSError, termios.error):
            return


class TerminalApprover:
    """Blocks until the person has answered. Nobody there means no answer: None."""

    def __init__(self, terminal: Terminal | None = None) -> None:
        self._terminal = terminal

    async def __call__(self, request: ApprovalRequest) -> ApprovalResponse | None:
        terminal = self._terminal or Terminal.reach()
        if terminal is None:
            return None
        terminal.show(description(request))
        while True:
            answer = terminal.ask(_QUESTION)
            if answer is None:
                return _denied("the input was closed")
            match answer[:1]:
                case "a":
                    return ApprovalResponse(approved=True, approver="terminal")
                case "d":
                    return _denied(answer[1:].strip() or terminal.ask("why (optional): ") or "")
                case "e":
                    edited = edit(terminal, request.args)
                    if edited is not None:
                        return ApprovalResponse(
                            approved=True, modified_args=edited, approver="terminal"
                        )
                case _:
                    terminal.show("please answer a, e or d")


def description(request: ApprovalRequest) -> str:
    """What the person has to know, as in `deploy wants to run (asked by: …, rule: …)`."""
    rule = f", rule: {request.rule}" if request.rule else ""
    lines = [f"{request.tool} wants to run (asked by: {request.caller.name}{rule})"]
    if request.reason:
        lines.append(f"reason: {request.reason}")
    lines += [f"  | {line}" for line in request.preview.splitlines()]
    lines += _arguments(request)
    lines.append(permissions_line(request.permissions))
    if request.not_enforced:
        lines.append(f"not enforced here: {', '.join(request.not_enforced)}")
    # A reason or a path may hold newlines: none may look like a line, or a question, of ours.
    return "\n".join(" ".join(line.splitlines()) for line in lines)


def permissions_line(permissions: Permissions) -> str:
    """`network: off   reads: .   writes: none   secrets: none`."""
    network = permissions.network
    if isinstance(network, bool):
        reach = "on" if network else "off"
    else:
        reach = ", ".join(network) or "off"
    secrets = ", ".join(secret.name for secret in permissions.secrets)
    return "   ".join(
        (
            f"network: {reach}",
            f"reads: {', '.join(permissions.read) or 'none'}",
            f"writes: {', '.join(permissions.write) or 'none'}",
            f"secrets: {secrets or 'none'}",
        )
    )


def _arguments(request: ApprovalRequest) -> list[str]:
    size = max(map(len, request.args), default=0)
    lines = []
    for name, value in request.args.items():
        raw = "   RAW: inserted as code" if name in request.raw_parameters else ""
        lines.append(f"  {name:<{size}}  {as_json(value)}{raw}")
    return lines


def as_json(value: Any, *, indent: int | None = None) -> str:
    """JSON in which letters stay readable and every hidden character is an escape."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=str)
    if text.isascii():
        return text.replace("\x7f", "\\u007f")
    return "".join(
        character
        if character == "\n" or visible(character) == character
        else json.dumps(character)[1:-1]
        for character in text
    )


def edit(terminal: Terminal, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """The arguments as the person wants them; None when they gave up editing.

    Text that is no JSON object is said and edited again; whether it fits the tool is for the
    pipeline to check.
    """
    text = as_json(dict(arguments), indent=2)
    while True:
        edited = _edit_text(terminal, text)
        if edited is None:
            return None
        text = edited
        try:
            value = json.loads(text)
        except ValueError as error:
            terminal.show(f"this is no JSON: {error}")
            continue
        if isinstance(value, dict):
            return value
        terminal.show("the arguments must be one JSON object: {…}")


def _edit_text(terminal: Terminal, text: str) -> str | None:
    if is_dumb():
        return _retype(terminal, text)
    try:
        import prompt_toolkit  # noqa: F401 - only to see whether it is there
    except ImportError:
        return _retype(terminal, text)
    return _edit_in_place(terminal, text)


def _edit_in_place(terminal: Terminal, text: str) -> str | None:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.input import create_input
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
    from prompt_toolkit.output import create_output

    keys = KeyBindings()

    @keys.add("c-s")
    def _accept(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    session: PromptSession[str] = PromptSession(
        input=create_input(terminal.reader),
        output=create_output(terminal.writer),
        key_bindings=keys,
        multiline=True,
        bottom_toolbar="Ctrl-S: run with these arguments   Ctrl-C: back",
    )
    try:
        return session.prompt("", default=text, in_thread=_loop_is_running())
    except (EOFError, KeyboardInterrupt):
        return None


def _retype(terminal: Terminal, text: str) -> str | None:
    """Without cursor movement: show the arguments, take the new ones on one line."""
    terminal.show(text)
    return terminal.ask("new arguments as JSON on one line (empty: back): ") or None


def _loop_is_running() -> bool:
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _denied(reason: str) -> ApprovalResponse:
    return ApprovalResponse(approved=False, approver="terminal", reason=reason)


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:
        return False
