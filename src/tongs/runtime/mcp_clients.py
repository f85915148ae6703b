"""Tongs in the settings of other programs: found, changed whole or not at all, kept beside."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Mapping, Sequence

from tongs.authoring.mcp_clients import Client
from tongs.authoring.mcp_clients.changing import CannotChange, Change, Taken, snippet
from tongs.config.environment import host_environment
from tongs.config.places import find_places
from tongs.core.annotations import Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.record import dataclass
from tongs.runtime.definitions import refusals_said, refuse_inside_a_call
from tongs.runtime.folders import working_directory
from tongs.store.files import read_whole, write_whole

# Claude Code keeps its history in the same file.
_LARGEST = 32 * 1024 * 1024
_KEPT = ".before-tongs"
# What says where the person's own folder is. A client may not hand it on.
_OWN_PLACES = ("TONGS_HOME", "TONGS_GLOBAL")


@dataclass(frozen=True, slots=True)
class Done:
    """What became of the file of a client."""

    path: str
    change: Change
    # The file as it was; empty where there was none, or nothing was to be done.
    kept: str = ""
    written: bool = False


@dataclass(frozen=True, slots=True)
class ClientFile:
    """The settings of one client: the person's own, or those of a project."""

    client: Client
    path: str
    # The root that the file must not lead out of; empty for the person's own.
    project: str = ""

    @staticmethod
    def here(client: Client, *, project: bool) -> ClientFile:
        """The file of a client around the working directory; it need not exist."""
        env = host_environment()
        places = find_places(working_directory(), env)
        if not project:
            return ClientFile(client, client.user_file(sys.platform, places.home, env))
        if not client.project_file:
            raise ToolError(
                ErrorCode.INVALID_ARGUMENTS,
                f"{client.label} has no settings of projects",
                hint=f"tongs mcp install {client.name}",
            )
        return ClientFile(client, os.path.join(places.root, client.project_file), places.root)

    def change(self, how: Callable[[str], Change], entry: tuple[str, Mapping[str, Any]]) -> Done:
        """Change the file, with the old one kept beside it. ToolError leaves it as it was.

        `entry` is what the person is told to paste where it cannot be done.
        """
        refuse_inside_a_call("set up another program")
        path = self._real()
        with refusals_said(f"{path} was not changed"):
            _refuse_others_file(path)
            before = read_whole(path, _LARGEST)
        try:
            change = how(_text(before))
        except CannotChange as reason:
            raise self._refused(path, reason, entry) from None
        after = _bytes(change.text, before)
        if after == (before or b""):
            return Done(path, change)
        with refusals_said(f"{path} was not changed"):
            kept = self._write(path, before, after)
        return Done(path, change, kept, written=True)

    def _real(self) -> str:
        """Where a link leads: people keep their settings elsewhere, and the link shall stay."""
        real = os.path.realpath(self.path)
        if self.project and os.path.commonpath((real, self.project)) != self.project:
            raise ToolError(
                ErrorCode.PERMISSION_DENIED,
                f"{self.path} was not changed: it leads out of the project, to {real}",
                hint="look where the link comes from; remove it if it is not yours",
            )
        return real

    def _write(self, path: str, before: bytes | None, after: bytes) -> str:
        os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
        if before is None:
            write_whole(path, after, mode=0o644 if self.project else 0o600)
            return ""
        mode = stat.S_IMODE(os.stat(path).st_mode)
        kept = _keep(path, before, mode)
        if read_whole(path, _LARGEST) != before:
            raise ToolError(
                ErrorCode.EXECUTION_ERROR,
                f"{path} was not changed: another program just wrote it",
                hint=f"quit {self.client.label}, and try again",
            )
        write_whole(path, after, mode=mode)
        return kept

    def _refused(
        self, path: str, reason: CannotChange, entry: tuple[str, Mapping[str, Any]]
    ) -> ToolError:
        if isinstance(reason, Taken):
            hint = "choose another name with --name, or add --force"
        else:
            hint = f"put this there yourself:\n{snippet(self.client, *entry)}".rstrip()
        return ToolError(
            ErrorCode.INVALID_ARGUMENTS, f"{path} was not changed: it {reason}", hint=hint
        )


def own_command(*, shared: bool) -> tuple[list[str], bool]:
    """The words that start this very Tongs, and whether they hold on other machines, too.

    The path is the one the person used: a link to it stays when Tongs is upgraded. In a file that
    is `shared` the name alone is written, if it leads here.
    """
    import shutil  # noqa: PLC0415 - loads the modules of every archive

    env = host_environment()
    started = sys.argv[0]
    if os.path.basename(started) == "__main__.py":
        started = os.path.join(os.path.dirname(sys.executable), "tongs")
    found = shutil.which(started, path=env.get("PATH"))
    if found is None:
        return [sys.executable, "-m", "tongs"], False
    named = shutil.which("tongs", path=env.get("PATH"))
    if shared and named is not None and os.path.samefile(named, found):
        return ["tongs"], True
    return [os.path.abspath(found)], False


def own_places() -> dict[str, str]:
    """Variables that the server needs to find the same folders as this process."""
    env = host_environment()
    return {name: os.path.abspath(env[name]) for name in _OWN_PLACES if env.get(name)}


def has_client(file: ClientFile) -> bool:
    """Whether the client seems to be used here at all."""
    return bool(file.project) or os.path.isdir(os.path.dirname(file.path))


def server_words(command: Sequence[str], options: Sequence[str]) -> tuple[str, list[str]]:
    """The program, and the words behind it, for `tongs mcp serve`."""
    return command[0], [*command[1:], "mcp", "serve", *options]


def _refuse_others_file(path: str) -> None:
    try:
        facts = os.stat(path)
    except FileNotFoundError:
        return
    reason = ""
    if not stat.S_ISREG(facts.st_mode):
        reason = "it is no file"
    elif facts.st_uid != os.geteuid():
        # A new file would belong to us, and its owner could no longer write it.
        reason = f"it belongs to another user (uid {facts.st_uid})"
    elif facts.st_size > _LARGEST:
        reason = f"it is larger than {_LARGEST >> 20} MiB"
    if reason:
        raise ToolError(ErrorCode.PERMISSION_DENIED, f"{path} was not changed: {reason}")


def _text(data: bytes | None) -> str:
    try:
        return (data or b"").decode("utf-8-sig")
    except UnicodeDecodeError:
        raise CannotChange("is no text in UTF-8") from None


def _bytes(text: str, before: bytes | None) -> bytes:
    mark = b"\xef\xbb\xbf"
    return (mark if (before or b"").startswith(mark) else b"") + text.encode()


def _keep(path: str, data: bytes, mode: int) -> str:
    """A copy under a name that was free; one that says the same is enough."""
    for number in range(1, 1000):
        kept = f"{path}{_KEPT}" + (f".{number}" if number > 1 else "")
        held = None if not os.path.lexists(kept) else read_whole(kept, _LARGEST)
        if held == data and not os.path.islink(kept):
            return kept
        if not os.path.lexists(kept):
            write_whole(kept, data, mode=mode)
            return kept
    raise ToolError(
        ErrorCode.EXECUTION_ERROR,
        f"{path} was not changed: there are too many copies of it",
        hint=f"remove some of {path}{_KEPT}.*",
    )
