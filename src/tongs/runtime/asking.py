"""Puts together who is asked: the terminal, the queue, a program, a server."""

from __future__ import annotations

import _thread  # the public module is one that a command line never needs
import os
from collections.abc import Callable, Mapping, Sequence

from tongs.approvers.queue import QueueApprover
from tongs.config.environment import editor
from tongs.config.settings import Approvals, Webhook
from tongs.core.annotations import TYPE_CHECKING
from tongs.core.approval import (
    ApprovalRequest,
    ApprovalResponse,
    Approver,
    Question,
    Settled,
    Voice,
)
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Waiter
from tongs.core.record import dataclass
from tongs.store.approvals import KEPT, ApprovalStore

if TYPE_CHECKING:
    from tongs.approvers.command import Ended
    from tongs.approvers.terminal import Terminal, TerminalApprover

_GRACE = 5.0


@dataclass(frozen=True, slots=True)
class Asking:
    """Makes approvers. `host` is the environment of this process."""

    store: ApprovalStore
    settings: Approvals
    host: Mapping[str, str]
    home: str

    def approver(
        self,
        waiter: Waiter,
        terminal: Terminal | None = None,
        *,
        wait: float | None = None,
        announce: Callable[[Question], None] = lambda question: None,
        voices: Sequence[Voice] = (),
    ) -> Approver | None:
        """None where nobody can be asked, so that the call is denied at once.

        Without anything in the config the person at the terminal is asked and nothing is stored:
        there is nobody else who could answer.
        """
        settings = self.settings
        wait = settings.wait if wait is None else wait
        if wait is None and not settings.configured and not voices:
            return None if terminal is None else _asked_by(waiter, self.at(terminal))
        asked = [*self._voices(), *voices]
        if terminal is not None:
            asked.append(self.at(terminal))
        if wait is None:
            # Who is asked has its own clock, and says more than ours would.
            wait = KEPT if voices or terminal is not None else settings.timeout + _GRACE
        return QueueApprover(self.store, waiter, wait, asked, announce)

    def edited(self, text: str) -> str | None:
        """The text as the person's own editor left it. Raises ToolError."""
        import shlex  # noqa: PLC0415 - rare

        from tongs.sandbox.own_program import edited  # noqa: PLC0415 - loads subprocess

        command = shlex.split(editor(self.host) or "")
        if not command:
            raise ToolError(
                ErrorCode.INVALID_ARGUMENTS, "no editor is known", hint="set VISUAL or EDITOR"
            )
        try:
            return edited(command, self.host, text, "arguments.json")
        except OSError as error:
            raise ToolError(
                ErrorCode.EXECUTION_ERROR, f"the editor {command[0]} failed: {error.strerror}"
            ) from None

    def at(self, terminal: Terminal) -> TerminalApprover:
        """The person there, with their own editor."""
        from tongs.approvers.terminal import TerminalApprover  # noqa: PLC0415 - not without one

        return TerminalApprover(terminal, self.edited if editor(self.host) else None)

    def _voices(self) -> list[Voice]:
        from tongs.approvers.command import CommandApprover  # noqa: PLC0415 - where configured
        from tongs.approvers.webhook import WebhookApprover  # noqa: PLC0415 - as above

        voices: list[Voice] = []
        if self.settings.command:
            voices.append(CommandApprover(self.settings.command, self._run))
        if (webhook := self.settings.webhook) is not None:
            host = _host(webhook)
            voices.append(WebhookApprover(host, lambda body, over: self._post(webhook, body, over)))
        return voices

    def _run(self, stdin: bytes, settled: Settled) -> Ended:
        from tongs.approvers.command import Ended  # noqa: PLC0415 - as above
        from tongs.core.approval_wire import LARGEST_ANSWER  # noqa: PLC0415 - as above
        from tongs.sandbox.own_program import answered  # noqa: PLC0415 - loads subprocess

        argv, seconds = self.settings.command, self.settings.timeout
        try:
            code, stdout, stderr = answered(
                (
                    os.path.join(self.home, argv[0][2:]) if argv[0][:2] == "~/" else argv[0],
                    *argv[1:],
                ),
                self.host,
                stdin,
                seconds=seconds,
                most=LARGEST_ANSWER,
                settled=settled,
            )
        except OSError as error:
            return Ended(None, trouble=f"it could not be started: {error.strerror}")
        if len(stdout) > LARGEST_ANSWER:
            return Ended(None, trouble=f"the answer is larger than {LARGEST_ANSWER} bytes")
        if code is None:
            return Ended(None, trouble=f"it did not answer within {seconds:g}s")
        return Ended(code, stdout, stderr)

    def _post(self, webhook: Webhook, body: bytes, settled: Settled) -> tuple[int, bytes]:
        from tongs.runtime.posting import post  # noqa: PLC0415 - loads the HTTP library
        from tongs.runtime.secrets import header_values  # noqa: PLC0415 - only for this one

        headers = header_values(webhook.headers, self.host, self.home, "approvals.webhook")
        return post(webhook.url, headers, body, self.settings.timeout, settled)


def _asked_by(waiter: Waiter, approver: TerminalApprover) -> Approver:
    """A person takes their time: where others go on meanwhile, the question has its own thread."""
    if not waiter.leaves_work:
        return approver

    async def ask(request: ApprovalRequest) -> ApprovalResponse | None:
        over: list[bool] = []
        asking = _thread.allocate_lock()

        def work() -> ApprovalResponse | None:
            with asking:
                return approver.ask(request, lambda: bool(over))

        try:
            return await waiter.blocking(work)
        except BaseException:
            # Nobody waits for the answer any more. Until the question is gone, it would take the
            # keys of whoever reads next.
            over.append(True)
            await waiter.blocking(lambda: asking.acquire(timeout=_GRACE))
            raise

    return ask


def _host(webhook: Webhook) -> str:
    from tongs.template.url import divided  # noqa: PLC0415 - where configured

    try:
        return divided(webhook.url)[0].host
    except ValueError as error:
        raise ToolError(
            ErrorCode.INVALID_DEFINITION, f"approvals.webhook.url is no address: {error}"
        ) from None
