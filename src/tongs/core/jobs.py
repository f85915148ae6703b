"""Calls that go on while their caller does something else."""

from __future__ import annotations

from collections.abc import Sequence

from tongs.core.annotations import TYPE_CHECKING, Protocol
from tongs.core.errors import ErrorCode, ToolError

if TYPE_CHECKING:
    from tongs.core.result import ToolResult

RUNNING = "running"
DONE = "done"
FAILED = "failed"
STOPPED = "stopped"


class Job(Protocol):
    """One background call, from the moment it has begun."""

    @property
    def id(self) -> str: ...

    @property
    def tool(self) -> str: ...

    @property
    def status(self) -> str:
        """RUNNING, DONE, FAILED or STOPPED."""

    @property
    def started_at(self) -> float:
        """Seconds since the epoch."""

    @property
    def duration(self) -> float:
        """Seconds, until now or until it ended."""

    @property
    def result(self) -> ToolResult | None:
        """What came of it, once it has ended."""

    def text(self) -> tuple[int, str]:
        """Its output so far without secrets, and how many lines of it were dropped before."""

    def stop(self) -> None:
        """Order its end, with everything it has started."""

    def wait(self, seconds: float) -> bool:
        """Block until it has ended; False where it has not in that time."""


class Jobs(Protocol):
    """The jobs of one session."""

    def all(self) -> Sequence[Job]: ...

    def get(self, handle: str) -> Job:
        """Raises ToolError for what is no job of this session."""


class NoJobs:
    """A session in which nothing runs in the background."""

    def all(self) -> Sequence[Job]:
        return ()

    def get(self, handle: str) -> Job:
        raise unknown(handle)


def unknown(handle: str) -> ToolError:
    return ToolError(
        ErrorCode.FILE_NOT_FOUND,
        f"there is no job `{handle[:80]}` in this session",
        hint="job_status without arguments lists the jobs there are; they end with their session",
    )
