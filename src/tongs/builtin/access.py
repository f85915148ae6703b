"""Whether a call may touch a path: its permissions, and what no tool may change."""

from __future__ import annotations

import os.path
from collections.abc import Iterable, Sequence

from tongs.core.call import ToolCall
from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.core.execution import Place
from tongs.core.files import PROTECTED_NAMES
from tongs.core.permissions import Permissions, covered
from tongs.core.record import dataclass
from tongs.core.tool import Tool
from tongs.output import visible

# All of a repository's own folder: which part of it runs something is for git to know.
_PROTECTED = frozenset((*PROTECTED_NAMES, ".git"))


@dataclass(frozen=True, slots=True)
class Access:
    """What one call may do. `whole` are absolute paths in which nothing is a link."""

    call: ToolCall
    tool: Tool
    place: Place
    permissions: Permissions

    def permit(self, whole: str, path: str, *, write: bool) -> None:
        """ToolError, with the line that would grant it, where the call may not touch a path."""
        granted = self.permissions.write if write else self.permissions.readable
        if covered(whole, granted) and not self._is_state(whole):
            return
        key = "write" if write else "read"
        lack = Permissions(write=(whole,)) if write else Permissions(read=(whole,))
        by_caller = self.call.caller.lacks(lack)
        raise ToolError(
            ErrorCode.PERMISSION_DENIED,
            f"{self.tool.name} may not {key} {visible(path)}:"
            f" permissions.fs.{key} does not cover it",
            details={"path": path, "allowed": list(granted)},
            blocked_by=BlockedBy.CEILING if by_caller else BlockedBy.PERMISSION,
            hint=self._how_to_grant(whole, lack),
        )

    def refuse_protected(
        self, names: Sequence[str], whole: str, path: str, held: Iterable[str]
    ) -> None:
        """ToolError for what decides what runs later, outside of any call.

        `names` lead to it from the workspace, `held` are absolute paths.
        """
        # Compared without case: some file systems do not know it.
        found = [name for name in names if name.casefold() in _PROTECTED]
        # What holds such a thing would take it along.
        found += [other for other in held if covered(whole, (other,)) or covered(other, (whole,))]
        if found:
            what = f"{visible(found[0])} is protected from every tool"
            raise self._protected(path, found[0], what)

    def refuse_repository(self, folder: str, path: str) -> None:
        """ToolError for a part of what git takes for a repository, though no `.git` is above it."""
        what = f"{visible(folder)} is, or would become, a git repository"
        raise self._protected(path, folder, f"{what}, which is protected from every tool")

    def _protected(self, path: str, what: str, why: str) -> ToolError:
        return ToolError(
            ErrorCode.PERMISSION_DENIED,
            f"{self.tool.name} may not change {visible(path)}: {why}",
            details={"path": path, "protected": what},
            blocked_by=BlockedBy.PERMISSION,
            hint="it decides what runs later, outside of any call: change it yourself",
        )

    def _how_to_grant(self, whole: str, lack: Permissions) -> str:
        from tongs.policy.grants import how_to_grant  # noqa: PLC0415 - only for the message

        if self._is_state(whole):
            return "nothing can grant the state of Tongs"
        return how_to_grant(lack, self.call.caller, self.tool, self.place)

    def _is_state(self, whole: str) -> bool:
        folder = self.place.user_folder
        return bool(folder) and covered(whole, (os.path.join(folder, "state"),))
