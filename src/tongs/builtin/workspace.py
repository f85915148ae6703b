"""The files of one call: below the workspace, by descriptor, within the call's permissions.

A path is first turned into a `Spot`: the names that lead to it from the root, none of them a link
and none `..`. Everything else goes through descriptors that were opened along exactly these names,
by a call that fails where one of them has become a link. So whatever somebody puts in the way
meanwhile, what is touched is what was checked.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from tongs.builtin.access import Access
from tongs.builtin.trouble import invalid_path, not_found, told
from tongs.core.call import ToolCall
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Context, World
from tongs.core.files import REPOSITORY_NAMES, is_repository
from tongs.core.permissions import Permissions, covered
from tongs.core.record import dataclass
from tongs.core.tool import Tool
from tongs.output import visible

# As the kernel has it.
_MOST_LINKS = 40
_LONGEST_PATH = 4095
_FOLDER = os.O_RDONLY | os.O_DIRECTORY
# A pipe without a writer would keep whoever opens it waiting.
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in the workspace, whether anything lies there or not."""

    names: tuple[str, ...]

    @property
    def path(self) -> str:
        return "/".join(self.names) or "."

    @property
    def name(self) -> str:
        return self.names[-1]

    @property
    def above(self) -> Spot:
        return Spot(self.names[:-1])

    def below(self, name: str) -> Spot:
        return Spot((*self.names, name))


class Workspace:
    """Use with `with`: it holds the root open."""

    def __init__(self, call: ToolCall, tool: Tool, world: World, permissions: Permissions) -> None:
        self.root = world.place.root
        self.files = world.files()
        self._access = Access(call, tool, world.place, permissions)
        self._folder = -1

    @staticmethod
    def of(context: Context) -> Workspace:
        return Workspace(context.call, context.tool, context.world, context.permissions)

    @staticmethod
    def to_show(world: World) -> Workspace:
        """For a person: to see what a call would do, which was allowed before, or to undo it."""
        whole = (world.place.root,)
        return Workspace(ToolCall(), Tool("this"), world, Permissions(read=whole, write=whole))

    def __enter__(self) -> Workspace:
        try:
            self._folder = os.open(self.root, _FOLDER | os.O_CLOEXEC)
        except OSError as error:
            raise told(error, self.root) from None
        return self

    def __exit__(self, *why: object) -> None:
        os.close(self._folder)

    # --- where a path leads -----------------------------------------------------------------------

    def to_read(self, path: str, *, follow: bool = True) -> Spot:
        """Where a path leads; ToolError where the call may not read there.

        Without `follow` the last name is left as it is, though it may be a link.
        """
        spot = self._found(path, follow=follow)
        self._access.permit(self.absolute(spot), path, write=False)
        return spot

    def to_change(self, path: str, *, follow: bool = False) -> Spot:
        """The same for something to be written, moved or removed."""
        spot = self._found(path, follow=follow)
        if not spot.names:
            raise invalid_path(path, "it is the workspace itself")
        whole = self.absolute(spot)
        self._access.refuse_protected(spot.names, whole, path, self.files.held(self.root))
        for depth, name in enumerate(spot.names):
            above = spot.names[:depth]
            if name.casefold() in REPOSITORY_NAMES and self._is_repository(above, name):
                self._access.refuse_repository(Spot(above).path, path)
        self._access.permit(whole, path, write=True)
        return spot

    def _is_repository(self, names: Sequence[str], added: str) -> bool:
        """Whether git would take a folder for a repository if this name were in it."""
        try:
            with self._opened(names) as folder:
                return is_repository(
                    lambda part: part.casefold() == added.casefold() or _is_there(folder, part)
                )
        except OSError:
            return False  # whoever opens it is told

    def _found(self, path: str, *, follow: bool) -> Spot:
        try:
            return self._resolved(path, follow=follow)
        except OSError as error:
            raise told(error, path) from None

    def _resolved(self, path: str, *, follow: bool) -> Spot:
        pending = deque(self._parts(path))
        done: list[str] = []
        links = 0
        while pending:
            name = pending.popleft()
            if name == "..":
                if not done:
                    raise outside(path, self.root)
                done.pop()
                continue
            target = self._link(done, name) if pending or follow else None
            if target is None:
                done.append(name)
                continue
            links += 1
            if links > _MOST_LINKS:
                raise invalid_path(path, "it leads through too many symbolic links")
            if target.startswith("/"):
                target = self._inside(target)
                if target is None:
                    raise outside(path, self.root, link="/".join((*done, name)))
                done.clear()
            pending.extendleft(reversed([part for part in target.split("/") if part not in _HERE]))
        return Spot(tuple(done))

    def _parts(self, path: str) -> list[str]:
        if not path:
            raise invalid_path(path, "it is empty")
        if "\0" in path:
            raise invalid_path(path, "it holds a NUL")
        try:
            length = len(os.fsencode(path))
        except UnicodeEncodeError:
            raise invalid_path(path, "it holds half of a character") from None
        if length > _LONGEST_PATH:
            raise invalid_path(path[:80] + "…", f"it has {length} bytes, {_LONGEST_PATH} at most")
        if path == "~" or path.startswith("~/"):
            raise invalid_path(path, "`~` stands for nothing here", "paths start at the workspace")
        if path.startswith("/"):
            relative = self._inside(path)
            if relative is None:
                raise outside(path, self.root)
            path = relative
        return [part for part in path.split("/") if part not in _HERE]

    def _inside(self, path: str) -> str | None:
        """An absolute path as one that starts at the root; None if it does not lie there."""
        path = "/" + path.lstrip("/")
        if not covered(path, (self.root,)):
            return None
        return path[len(self.root.rstrip("/")) :].lstrip("/")

    def _link(self, above: Sequence[str], name: str) -> str | None:
        """What a name says if it is a link."""
        try:
            with self._opened(above) as folder:
                return os.readlink(name, dir_fd=folder)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOTDIR):
                return None  # no link, or below no folder: whoever opens it is told
            raise

    @contextmanager
    def _opened(self, names: Sequence[str]) -> Iterator[int]:
        flags = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY
        folder = self.files.open(self._folder, "/".join(names) or ".", flags)
        try:
            yield folder
        finally:
            os.close(folder)

    # --- descriptors ------------------------------------------------------------------------------

    def absolute(self, spot: Spot) -> str:
        return os.path.join(self.root, *spot.names)

    def open_folder(self, spot: Spot, path: str) -> int:
        """The folder at a spot. The caller closes it."""
        try:
            return self.files.open(self._folder, spot.path, _FOLDER)
        except NotADirectoryError:
            raise invalid_path(path, "it is not a folder") from None
        except FileNotFoundError:
            raise not_found(path, self._beside(spot)) from None
        except OSError as error:
            raise told(error, path) from None

    def open_file(self, spot: Spot, path: str) -> int:
        """The plain file at a spot, to be read. The caller closes it."""
        try:
            descriptor = self.files.open(self._folder, spot.path, _FILE)
        except FileNotFoundError:
            raise not_found(path, self._beside(spot)) from None
        except OSError as error:
            raise told(error, path) from None
        kind = os.fstat(descriptor).st_mode
        if stat.S_ISREG(kind):
            return descriptor
        os.close(descriptor)
        if stat.S_ISDIR(kind):
            raise invalid_path(path, "it is a folder", "list_directory shows what is in it")
        raise invalid_path(path, "it is no plain file, but a pipe, a socket or a device")

    def make_folders(self, spot: Spot, path: str) -> int:
        """The folder at a spot, made with all above it where it is missing."""
        try:
            return self.files.open(self._folder, spot.path, _FOLDER)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise told(error, path) from None
        above = self.make_folders(spot.above, path)
        try:
            with suppress(FileExistsError):  # somebody else made it just now
                os.mkdir(spot.name, dir_fd=above)
            return self.files.open(above, spot.name, _FOLDER)
        except OSError as error:
            raise told(error, path) from None
        finally:
            os.close(above)

    def _beside(self, spot: Spot) -> list[str]:
        """The names in the folder where something was looked for."""
        try:
            folder = self.files.open(self._folder, spot.above.path, _FOLDER)
        except OSError:
            return []
        try:
            return [os.path.join(*spot.names[:-1], name) for name in os.listdir(folder)[:10_000]]
        finally:
            os.close(folder)


_HERE = ("", ".")


def _is_there(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def outside(path: str, root: str, link: str = "") -> ToolError:
    through = f" through the symbolic link {visible(link)}" if link else ""
    return ToolError(
        ErrorCode.INVALID_PATH,
        f"{visible(path)} leads out of the workspace{through}",
        details={"path": path, "workspace": root},
        hint=f"paths start at {root} and stay in it",
    )
