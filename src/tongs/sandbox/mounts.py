"""The private root of a call: what is not put into it does not exist for the call's processes.

The root is a small file system in memory. Everything else is bound into it at its own path, from a
descriptor that was checked to stand for the very file or folder that was granted. Runs in a fresh
mount namespace, in the fork server's child, without the package around it.
"""

from __future__ import annotations

import errno
import os
import stat

if __package__:
    from tongs.sandbox import kernel
else:
    import kernel  # type: ignore[import-not-found,no-redef]  # the same file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tongs.core.annotations import Any

# What a step of a view is; the rest of its tuple are the arguments of the function of that name.
BIND = "bind"
OVERLAY = "overlay"
FOLDER = "folder"
FILE = "file"
LINK = "link"
PIN = "pin"
PROTECT = "protect"
HIDE = "hide"
PROC = "proc"

READ_ONLY = 1
DEVICE = 2

_STAGE = b"/tmp"
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_RDONLY = 2, 4, 8, 1
_MS_REC, _MS_PRIVATE = 0x4000, 0x40000
_MNT_DETACH = 2
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV = 1, 2, 4
_OPEN_TREE_CLONE = 1
_MOVE_FROM_DESCRIPTOR, _MOVE_TO_DESCRIPTOR = 0x04, 0x40
# These tell of the keys of the user, in whatever namespace they were made.
_MASKED = (b"/proc/keys", b"/proc/key-users")
_HANDLE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


def enter(view: Sequence[tuple[Any, ...]], size: int) -> None:
    """Make the view the root of this process. Anything that cannot be done raises OSError."""
    _mount(b"none", b"/", b"", _MS_REC | _MS_PRIVATE, b"")
    # Opened before the stage hides a part of the old root.
    sources = {number: _source(step) for number, step in enumerate(view)}
    options = b"mode=0755,nr_inodes=%d,size=%d" % (max(4096, size >> 14), size)
    _mount(b"tmpfs", _STAGE, b"tmpfs", _MS_NOSUID | _MS_NODEV, options)
    os.chdir(_STAGE)
    root = Root(os.open(".", _HANDLE | os.O_DIRECTORY))
    for number, step in enumerate(view):
        getattr(root, step[0])(sources[number], *step[1:])
    kernel.syscall("pivot_root", b".\0", b".\0")
    # The old root lies over the new one now; from here on it is gone for good.
    kernel.syscall("umount2", b".\0", _MNT_DETACH)
    os.chdir("/")
    # Nobody may come back by a descriptor of outside.
    for descriptor in (root.descriptor, *sources.values()):
        if descriptor >= 0:
            os.close(descriptor)


class Root:
    """The new root while it is being furnished."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._device = os.fstat(descriptor).st_dev

    def bind(self, source: int, _path: bytes, target: bytes, flags: int, *_identity: int) -> None:
        """Show what lies outside at `target`, for reading or for writing too."""
        if source < 0:
            return
        tree = _detached(source, flags)
        is_folder = stat.S_ISDIR(os.fstat(source).st_mode)
        self._attach(tree, self._place(target, folder=is_folder))

    def overlay(self, source: int, _path: bytes, target: bytes, *_identity: int) -> None:
        """Show a folder in which everything may be changed, and nothing of it is kept."""
        # Beside all that the call can see: these two get their names from the folder's number.
        below = b"/proc/self/fd/%d" % source
        upper, work = (b"run/%d.%s" % (source, name) for name in (b"upper", b"work"))
        for folder in (upper, work):
            os.mkdir(folder, 0o700)
        os.chmod(upper, stat.S_IMODE(os.fstat(source).st_mode))
        place = self._place(target, folder=True)
        options = b"lowerdir=%s,upperdir=%s/%s,workdir=%s/%s,userxattr" % (
            below,
            _STAGE,
            upper,
            _STAGE,
            work,
        )
        flags = _MS_NOSUID | _MS_NODEV
        _mount(b"overlay", b"/proc/self/fd/%d" % place, b"overlay", flags, options)
        os.close(place)

    def folder(self, _source: int, target: bytes, mode: int) -> None:
        place = self._place(target, folder=True)
        os.chmod(f"/proc/self/fd/{place}", mode)
        os.close(place)

    def file(self, _source: int, target: bytes, data: bytes) -> None:
        parent = self._place(os.path.dirname(target), folder=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        made = os.open(os.path.basename(target), flags, 0o644, dir_fd=parent)
        os.write(made, data)
        os.close(made)
        os.close(parent)

    def link(self, _source: int, target: bytes, text: bytes) -> None:
        parent = self._place(os.path.dirname(target), folder=True)
        os.symlink(text, os.path.basename(target), dir_fd=parent)
        os.close(parent)

    def proc(self, source: int) -> None:
        """A process table of its own, and of the machine what is nobody's secret."""
        place = self._place(b"/proc", folder=True)
        os.close(place)
        # Read-only as a whole: to the kernel, root in here is still the owner of /proc/sys.
        flags = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC | _MS_RDONLY
        _mount(b"proc", b"proc", b"proc", flags, b"")
        for name in _MASKED:
            if (place := self._existing(name)) >= 0:
                self._attach(_detached(source, DEVICE | READ_ONLY), place)

    def pin(self, _source: int, target: bytes) -> None:
        """Make a folder a mount of its own, which nobody can rename or remove."""
        self._on_itself(target, 0)

    def protect(self, _source: int, target: bytes) -> None:
        """Nothing in it can be changed, though all around it may be."""
        self._on_itself(target, READ_ONLY)

    def hide(self, _source: int, target: bytes) -> None:
        """An empty folder takes its place."""
        place = self._existing(target)
        if place >= 0:
            path = b"/proc/self/fd/%d" % place
            flags = _MS_NOSUID | _MS_NODEV | _MS_RDONLY
            _mount(b"tmpfs", path, b"tmpfs", flags, b"mode=0,nr_inodes=2,size=4k")
            os.close(place)

    def _on_itself(self, target: bytes, flags: int) -> None:
        place = self._existing(target)
        if place >= 0:
            self._attach(_detached(place, flags), place)

    def _attach(self, tree: int, place: int) -> None:
        flags = _MOVE_FROM_DESCRIPTOR | _MOVE_TO_DESCRIPTOR
        kernel.syscall("move_mount", tree, b"\0", place, b"\0", flags)
        os.close(tree)
        os.close(place)

    def _existing(self, target: bytes) -> int:
        """A descriptor of what is there, through no link; -1 where there is nothing."""
        here = os.dup(self.descriptor)
        for name in target.strip(b"/").split(b"/"):
            try:
                above, here = here, os.open(name, _HANDLE, dir_fd=here)
            except (FileNotFoundError, NotADirectoryError):
                os.close(here)
                return -1
            os.close(above)
        if stat.S_ISLNK(os.fstat(here).st_mode):
            os.close(here)
            return -1
        return here

    def _place(self, target: bytes, *, folder: bool) -> int:
        """A descriptor of the place for a mount, made in our own file system where it is missing.

        Never made in something that is bound: a link in there could lead anywhere.
        """
        here = os.dup(self.descriptor)
        names = [name for name in target.split(b"/") if name]
        for number, name in enumerate(names, 1):
            is_folder = folder or number < len(names)
            kind = os.O_DIRECTORY if is_folder else 0
            try:
                inner = os.open(name, _HANDLE | kind, dir_fd=here)
            except FileNotFoundError:
                if os.fstat(here).st_dev != self._device:
                    raise
                _make(name, here, folder=is_folder)
                inner = os.open(name, _HANDLE | kind, dir_fd=here)
            os.close(here)
            here = inner
        return here


def _source(step: tuple[Any, ...]) -> int:
    """What a step shows, checked to be what was granted; -1 where a step shows nothing of outside.

    A system file that is missing is left out, a granted one must be there.
    """
    if step[0] == PROC:
        return os.open(os.devnull, os.O_PATH | os.O_CLOEXEC)
    if step[0] not in (BIND, OVERLAY):
        return -1
    path, device, inode = step[1], step[-2], step[-1]
    if not inode:
        try:
            return os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            return -1
    return opened(path, device, inode)


def opened(path: bytes, device: int, inode: int) -> int:
    """A descriptor of the file or folder of that identity, ESTALE if another one lies there now."""
    descriptor = kernel.open_path(path)
    facts = os.fstat(descriptor)
    if (facts.st_dev, facts.st_ino) != (device, inode):
        os.close(descriptor)
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), os.fsdecode(path))
    return descriptor


def _make(name: bytes, parent: int, *, folder: bool) -> None:
    if folder:
        os.mkdir(name, 0o755, dir_fd=parent)
    else:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        os.close(os.open(name, flags, 0o644, dir_fd=parent))


def _detached(source: int, flags: int) -> int:
    """A copy of the mounts at a descriptor, with everything below, not yet attached anywhere."""
    recursive = kernel.AT_EMPTY_PATH | kernel.AT_RECURSIVE
    tree = kernel.syscall("open_tree", source, b"\0", recursive | _OPEN_TREE_CLONE | os.O_CLOEXEC)
    attributes = _ATTR_NOSUID
    if not flags & DEVICE:
        attributes |= _ATTR_NODEV
    if flags & READ_ONLY:
        attributes |= _ATTR_RDONLY
    # struct mount_attr: set, clear, propagation, userns_fd.
    changes = attributes.to_bytes(8, "little") + bytes(24)
    kernel.syscall("mount_setattr", tree, b"\0", recursive, changes, len(changes))
    return tree


def _mount(source: bytes, target: bytes, kind: bytes, flags: int, options: bytes) -> None:
    kernel.syscall("mount", source + b"\0", target + b"\0", kind + b"\0", flags, options + b"\0")
