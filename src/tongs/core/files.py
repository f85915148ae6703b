"""Opening and renaming files below a folder, whatever somebody else does there meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tongs.core.annotations import Protocol

# Names that decide, wherever they lie, what runs later outside of the call: tools that Tongs or
# another agent offers, and programs that an editor starts.
PROTECTED_NAMES = (
    *(".tongs", ".cycod", ".kodelet", "kodelet-tools", ".glee"),
    *(".mcp.json", ".vscode", ".idea", ".claude", ".cursor", ".husky", ".envrc"),
)
# What a repository of git consists of, without case. Alone, each is a name like any other.
REPOSITORY_NAMES = frozenset(
    "head config config.worktree commondir hooks info objects refs modules worktrees".split()
)


def is_repository(holds: Callable[[str], bool]) -> bool:
    """Whether git takes a folder itself for a repository, and runs what the config in it says.

    `holds` tells whether there is a name in it.
    """
    return holds("HEAD") and (holds("commondir") or (holds("objects") and holds("refs")))


class Files(Protocol):
    """The few things about files that plain paths cannot do safely. All raise OSError."""

    def open(self, folder: int, path: str, flags: int, mode: int = 0) -> int:
        """Open what lies below a folder, where no part of the way is a link (else ELOOP)."""

    def rename_new(self, source: tuple[int, str], target: tuple[int, str]) -> None:
        """Rename; FileExistsError where the target exists, however shortly. Each is a name in an
        open folder."""

    def exchange(self, left: tuple[int, str], right: tuple[int, str]) -> bool:
        """Let two names change what they stand for, in one step; False where that cannot be."""

    def held(self, root: str) -> Sequence[str]:
        """Absolute paths that no tool may change, in and around a folder."""


class KeptOutput(Protocol):
    """Reads large output back. `stream` is STDOUT or STDERR; ToolError for an unknown handle."""

    def size(self, handle: str, stream: int = 1) -> int: ...

    def read(self, handle: str, offset: int, length: int, stream: int = 1) -> bytes: ...
