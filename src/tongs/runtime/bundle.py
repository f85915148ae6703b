"""Everything that defines a tool, as one thing to pin: its file, or a directory and what it names.

The digest covers the bytes, the names and the executable bits. The text is for a person: what they
accepted is kept in this form, so that a later difference can be shown file by file.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from tongs.core.digest import digest_of
from tongs.core.errors import DefinitionInvalid, Problem
from tongs.core.record import dataclass
from tongs.output import visible
from tongs.store.files import read_whole

MOST_FILES = 1000
MOST_BYTES = 16 * 1024 * 1024
# Bytes of one tool that are kept in memory.
_MOST_KEPT = 256 * 1024
# Neither waits for a pipe nor follows a link.
_PLAIN = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | getattr(os, "O_NOFOLLOW", 0)
# What the system brings along is not the author's to change, nor ours to pin.
_SYSTEM = ("/bin", "/lib", "/lib64", "/sbin", "/usr")


@dataclass(frozen=True, slots=True)
class Bundle:
    digest: str
    text: bytes


@dataclass(frozen=True, slots=True)
class Part:
    """One file. `name` is how a person sees it, from the directory of the tool."""

    name: str
    path: str
    executable: bool
    # Where a link leads; empty for a file.
    target: str = ""


def bundle(
    folder: str, also: Sequence[str] = (), read: Mapping[str, bytes] | None = None
) -> Bundle:
    """The directory of a tool and the files outside it that it runs.

    `read` are files that were read already: these bytes are what counts. Raises DefinitionInvalid
    where it cannot be read whole, or is too large to be looked at.
    """
    found = list(_contents(folder, also, read or {}))
    return Bundle(_digest(found), b"".join(_shown(part, data) for part, data in found))


def bundle_digest(
    folder: str, also: Sequence[str] = (), read: Mapping[str, bytes] | None = None
) -> str:
    """The digest of `bundle`, for whoever does not read it."""
    return _digest(_contents(folder, also, read or {}))


class Snapshot:
    """The plain files that define a tool, as they were read: soon compared with what is there."""

    def __init__(
        self,
        folder: str,
        also: Sequence[str],
        looked_for: Sequence[str],
        contents: Sequence[tuple[Part, bytes]],
    ) -> None:
        self._folder = folder
        self._names = os.listdir(folder)
        self._files = [(part.path, part.executable, data) for part, data in contents]
        # Whether there is a file where a part could lie, and none of those above does.
        read = {path for path, _, _ in self._files}
        self._others = [(path, os.path.isfile(path)) for path in looked_for if path not in read]
        inside = [path for path, _, _ in self._files if os.path.dirname(path) == folder]
        small = sum(len(data) for _, data in contents) <= _MOST_KEPT
        plain = not any(part.target for part, _ in contents)
        # What lies deeper, or in another folder, would have to be listed as well.
        shallow = len(inside) == len(self._names) and not any(map(os.path.isdir, also))
        self._usable = small and plain and shallow

    def holds(self) -> bool:
        """Whether every byte, name and executable bit is as it was, or no if it is hard to say."""
        try:
            return (
                self._usable
                and os.listdir(self._folder) == self._names
                and all(os.path.isfile(path) == was for path, was in self._others)
                and all(_is(path, data, executable=x) for path, x, data in self._files)
            )
        except OSError:
            return False


def _is(path: str, data: bytes, *, executable: bool) -> bool:
    descriptor = os.open(path, _PLAIN)
    try:
        mode = os.fstat(descriptor).st_mode
        return (
            stat.S_ISREG(mode)
            and bool(mode & 0o111) == executable
            and os.read(descriptor, len(data) + 1) == data
        )
    finally:
        os.close(descriptor)


def snapshot(
    folder: str, also: Sequence[str], digest: str, looked_for: Sequence[str] = ()
) -> Snapshot | None:
    """What lies there, if this is its digest. `looked_for` is where more of it could lie."""
    contents = list(_contents(folder, also, {}))
    if _digest(contents) != digest:
        return None
    return Snapshot(folder, [path for path in also if path != folder], looked_for, contents)


def _digest(contents: Iterable[tuple[Part, bytes]]) -> str:
    digest = bytearray()
    for part, data in contents:
        for field in (part.name, part.target, "x" if part.executable else "-", digest_of(data)):
            digest += field.encode("utf-8", "surrogateescape") + b"\0"
    return digest_of(bytes(digest))


def _contents(
    folder: str, also: Sequence[str], read: Mapping[str, bytes]
) -> Iterator[tuple[Part, bytes]]:
    total = 0
    for part in parts(folder, also):
        data = read.get(part.path)
        if data is None:
            data = _content(part, MOST_BYTES - total)
        total += len(data)
        if total > MOST_BYTES:
            raise _refused(folder, f"it has more than {MOST_BYTES >> 20} MiB")
        yield part, data


def parts(folder: str, also: Sequence[str] = ()) -> list[Part]:
    """Every file of the directory, and those that are named beside it, in a fixed order."""
    found = list(_walked(folder, folder))
    for path in also:
        if path == folder or path.startswith(folder + os.sep) or _is_the_systems(path):
            continue
        found += _walked(path, folder) if os.path.isdir(path) else [_part(path, folder)]
    return found


def _is_the_systems(path: str) -> bool:
    """Whether only an administrator can have put it there."""
    if not path.startswith(tuple(f"{top}/" for top in _SYSTEM)):
        return False
    try:
        facts = os.stat(path)
    except OSError:
        return False
    return facts.st_uid == 0 and not facts.st_mode & 0o022 and not path.startswith("/usr/src/")


def _walked(top: str, base: str) -> Iterator[Part]:
    count = 0
    pending = [top]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(folder) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            raise _refused(folder, f"cannot be read: {error.strerror}") from None
        for entry in listed:
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
                continue
            count += 1
            if count > MOST_FILES:
                raise _refused(top, f"it has more than {MOST_FILES} files")
            yield _part(entry.path, base)


def _part(path: str, base: str) -> Part:
    name = _seen_from(base, path)
    target = ""
    try:
        facts = os.lstat(path)
        if stat.S_ISLNK(facts.st_mode):
            target = os.readlink(path)
            facts = os.stat(path)
    except OSError as error:
        raise _refused(path, f"cannot be read: {error.strerror}") from None
    if not stat.S_ISREG(facts.st_mode):
        raise _refused(path, "it is no file" if not target else "it is a link to no file")
    return Part(name, path, bool(facts.st_mode & 0o111), target)


@lru_cache(maxsize=1024)
def _seen_from(base: str, path: str) -> str:
    return os.path.relpath(path, base)


def _content(part: Part, most: int) -> bytes:
    try:
        data = read_whole(part.path, most)
    except OSError as error:
        raise _refused(part.path, f"cannot be read: {error.strerror}") from None
    if data is None:
        raise _refused(part.path, "it is gone")
    return data


def _shown(part: Part, data: bytes) -> bytes:
    """One file of the text, under a heading."""
    about = ", executable" if part.executable else ""
    about += f", a link to {part.target}" if part.target else ""
    named = visible(f"{part.name}{about}").replace("\n", "\\n")
    heading = f"=== {named}\n".encode("utf-8", "backslashreplace")
    if b"\0" in data:
        return heading + f"  (no text: {len(data)} bytes, sha256 {digest_of(data)})\n".encode()
    # Further in than a heading, so that no file can look like two.
    lines = data.decode("utf-8", "backslashreplace").split("\n")
    text = "\n".join(f"  {line}" if line else "" for line in lines).rstrip("\n")
    return heading + text.encode("utf-8", "backslashreplace") + b"\n"


def _refused(path: str, reason: str) -> DefinitionInvalid:
    hint = "keep data and packages out of the directory of a tool" if "more than" in reason else ""
    return DefinitionInvalid([Problem(path, reason, rule="bundle", hint=hint)])
