"""Where deleted things go: `.tongs/trash` of the workspace, from which a person gets them back.

Each has a folder of its own, with the thing as `it` and `about.json` beside it. What lies there may
have come with the project, so nothing that it says is believed: a path is looked at like any other.
"""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress

from tongs.builtin.facts import FOLDER, below, kind_of, state_of
from tongs.builtin.trouble import changed, told
from tongs.builtin.workspace import Spot, Workspace
from tongs.core.annotations import Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.moments import utc
from tongs.core.record import dataclass
from tongs.output import visible

PLACE = Spot((".tongs", "trash"))
_IT = "it"
_ABOUT = "about.json"
_LARGEST_ABOUT = 64 * 1024
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OLD = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Trashed:
    """One thing in the trash. `path` is where it was."""

    id: str
    path: str
    kind: str
    when: str
    # Files and folders, itself included, and the bytes of the files.
    count: int
    size: int

    def to_wire(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "path": self.path,
            "type": self.kind,
            "deletedAt": self.when,
            "count": self.count,
            "size": self.size,
        }


class Trash:
    """The trash of an open workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._files = workspace.files

    def take(self, folder: int, spot: Spot, before: str, path: str) -> str:
        """Move what lies at a spot here, if it is in the state `before`; its id.

        `folder` is the open folder above it. ToolError if it changed: then it is where it was.
        """
        number = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{os.urandom(4).hex()}"
        trash = self._made()
        try:
            own = _made_folder(trash, number)
        finally:
            os.close(trash)
        try:
            self._taken(folder, spot, own, before, path)
        except BaseException:
            self._cleared(number)
            raise
        finally:
            os.close(own)
        return number

    def _taken(self, folder: int, spot: Spot, own: int, before: str, path: str) -> None:
        when = utc()
        _note(own, {"path": spot.path, "deletedAt": when})
        try:
            self._files.rename_new((folder, spot.name), (own, _IT))
        except FileNotFoundError:
            raise changed(path) from None
        except OSError as error:
            if error.errno == errno.EXDEV:
                raise _elsewhere(path) from None
            raise told(error, path) from None
        if state_of(own, _IT) != before:
            with suppress(OSError):  # where its place was taken, it stays here and is listed
                self._files.rename_new((own, _IT), (folder, spot.name))
            raise changed(path)
        for synced in (folder, own):
            with suppress(OSError):  # some file systems cannot
                os.fsync(synced)

    def contents(self, number: str, spot: Spot, most: int) -> tuple[list[str], int]:
        """The paths that something had with all in it, as many as `most`, and how many in all."""
        own = self._entry(number)
        try:
            count = 0
            paths: list[str] = []
            for inner, _ in below(own, _IT):
                count += 1
                if count <= most:
                    paths.append(spot.path + inner.removeprefix(_IT))
            return paths, count
        finally:
            os.close(own)

    def entries(self) -> list[Trashed]:
        """Everything here, the newest first; what nobody can make sense of is left out."""
        try:
            trash = self._workspace.open_folder(PLACE, PLACE.path)
        except ToolError as error:
            if error.code is ErrorCode.FILE_NOT_FOUND:
                return []
            raise
        try:
            found = [self._told(trash, name) for name in sorted(os.listdir(trash), reverse=True)]
        finally:
            os.close(trash)
        return [entry for entry in found if entry is not None]

    def restore(self, number: str, to: str | None = None) -> str:
        """Put something back where it was, or at `to`; the path."""
        entry = self._known(number)
        path = to or entry.path
        spot = self._workspace.to_change(path)
        folder = self._workspace.make_folders(spot.above, path)
        own = self._entry(number)
        try:
            self._files.rename_new((own, _IT), (folder, spot.name))
        except FileExistsError:
            raise ToolError(
                ErrorCode.EXECUTION_ERROR,
                f"{visible(path)} was not restored: there is something in its place",
                details={"path": path},
                hint=f"tongs trash restore {number} --to OTHER-PATH",
            ) from None
        except OSError as error:
            raise told(error, path) from None
        finally:
            os.close(own)
            os.close(folder)
        self._cleared(number)
        return spot.path

    def remove(self, entry: Trashed) -> None:
        """Delete something for good."""
        import shutil  # noqa: PLC0415 - large, and only here

        trash = self._workspace.open_folder(PLACE, PLACE.path)
        try:
            # By descriptor: nothing that is put in its way leads it elsewhere.
            shutil.rmtree(entry.id, dir_fd=trash)
        except OSError as error:
            raise told(error, os.path.join(PLACE.path, entry.id)) from None
        except RecursionError:
            raise ToolError(
                ErrorCode.EXECUTION_ERROR,
                f"{visible(entry.path)} was not deleted for good: its folders lie too deep",
                hint=f"rm -r {os.path.join(PLACE.path, entry.id)}",
            ) from None
        finally:
            os.close(trash)

    def _known(self, number: str) -> Trashed:
        known = {entry.id: entry for entry in self.entries()}
        if number not in known:
            raise ToolError(
                ErrorCode.FILE_NOT_FOUND,
                f"the trash has nothing with the id {visible(number)}",
                hint="tongs trash list",
            )
        return known[number]

    def _made(self) -> int:
        trash = self._workspace.make_folders(PLACE, PLACE.path)
        # Whatever the project's own .gitignore says, this is nobody else's affair.
        with suppress(FileExistsError):
            descriptor = os.open(".gitignore", _NEW, 0o644, dir_fd=trash)
            os.write(descriptor, b"*\n")
            os.close(descriptor)
        return trash

    def _entry(self, number: str) -> int:
        return self._workspace.open_folder(PLACE.below(number), number)

    def _cleared(self, number: str) -> None:
        """Without the folder of something, unless it is in there."""
        trash = self._workspace.open_folder(PLACE, PLACE.path)
        own = os.open(number, _FOLDER, dir_fd=trash)
        try:
            if not state_of(own, _IT):
                with suppress(OSError):
                    os.unlink(_ABOUT, dir_fd=own)
                # What somebody else put there stays; that is no reason to fail.
                with suppress(OSError):
                    os.rmdir(number, dir_fd=trash)
        finally:
            os.close(own)
            os.close(trash)

    def _told(self, trash: int, number: str) -> Trashed | None:
        try:
            own = os.open(number, _FOLDER, dir_fd=trash)
        except OSError:
            return None
        try:
            facts = os.stat(_IT, dir_fd=own, follow_symlinks=False)
            said = _read_note(own)
            inner = [(kind_of(each.st_mode), each.st_size) for _, each in below(own, _IT)]
        except OSError:
            return None
        finally:
            os.close(own)
        path, when = str(said.get("path", "")), str(said.get("deletedAt", ""))
        if not path:
            return None
        size = sum(bytes_ for kind, bytes_ in inner if kind != FOLDER)
        return Trashed(number, path, kind_of(facts.st_mode), when, len(inner), size)


def _made_folder(trash: int, number: str) -> int:
    os.mkdir(number, 0o700, dir_fd=trash)
    return os.open(number, _FOLDER, dir_fd=trash)


def _note(own: int, about: Mapping[str, Any]) -> None:
    descriptor = os.open(_ABOUT, _NEW, 0o600, dir_fd=own)
    try:
        os.write(descriptor, json.dumps(about).encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read_note(own: int) -> dict[str, Any]:
    descriptor = os.open(_ABOUT, _OLD, dir_fd=own)
    try:
        said = json.loads(os.read(descriptor, _LARGEST_ABOUT))
    except (ValueError, RecursionError):
        return {}
    finally:
        os.close(descriptor)
    return said if isinstance(said, dict) else {}


def _elsewhere(path: str) -> ToolError:
    return ToolError(
        ErrorCode.EXECUTION_ERROR,
        f"{visible(path)} lies on another file system than the trash of this workspace, so it"
        " cannot be moved there",
        details={"path": path},
        hint="remove it yourself",
    )
