"""A program that stays in its world: its streams, and what its supervisor says of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection

from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Command
from tongs.sandbox import failures, orders
from tongs.sandbox.pipes import Pipes
from tongs.sandbox.pump import Line


class TreeLink:
    """From the request to the end of the whole tree. `readable` as in `failures.start_failure`."""

    def __init__(
        self,
        command: Command,
        pipes: Pipes,
        channel: Line,
        exceeded: Callable[[], str],
        readable: Collection[str] | None,
    ) -> None:
        self._command = command
        self._pipes = pipes
        self._channel = channel
        self._exceeded = exceeded
        self._readable = readable
        self._why: ToolError | None = None

    @property
    def stdin(self) -> int:
        return self._pipes.stdin

    @property
    def stdout(self) -> int:
        return self._pipes.stdout

    @property
    def stderr(self) -> int:
        return self._pipes.stderr

    @property
    def control(self) -> int:
        return self._channel.fileno()

    def ended(self) -> ToolError | None:
        if self._why is None:
            while not self._channel.over and self._channel.listen():
                pass
            said = {words[0]: words[1:] for words in self._channel.said}
            if self._channel.over or orders.ENDED in said or orders.FAILED in said:
                self._why = self._reason(said)
        return self._why

    def close_stdin(self) -> None:
        self._pipes.release(self._pipes.stdin)

    def kill(self) -> None:
        if self._why is None:
            self._channel.kill()

    def close(self) -> None:
        self._pipes.close()

    def _reason(self, said: dict[bytes, list[bytes]]) -> ToolError:
        if orders.FAILED in said:
            step, number = said[orders.FAILED]
            return failures.start_failure(self._command, step, int(number), self._readable)
        status, *why = said.get(orders.ENDED, [])[:2] or [b""]
        reason = b"".join(why)
        exceeded = "" if reason == orders.ORDERED else reason.decode() or self._exceeded()
        if exceeded:
            return ToolError(
                ErrorCode.EXECUTION_ERROR,
                f"`{self._command.argv[0]}` was ended: it passed its limit of {exceeded}",
                details={"exceeded": exceeded},
            )
        if not status:
            return failures.supervisor_lost(self._command, accepted=orders.ACCEPTED in said)
        return ToolError(
            ErrorCode.EXECUTION_ERROR, f"`{self._command.argv[0]}` {_ended(int(status))}"
        )


def _ended(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"was ended by signal {os.WTERMSIG(status)}"
    return f"ended with exit code {os.WEXITSTATUS(status)}"
