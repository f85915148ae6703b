"""What lies at a name: told to a reader, and told apart from what may lie there later."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator

from tongs.core.annotations import Any

# A larger file is told apart by its size and the time it was written only.
_HASHED = 8 * 1024 * 1024
# The entries of a folder that count; one with more is told apart by the first of them.
_MOST_ENTRIES = 20_000
# Each folder above stays open meanwhile.
DEEPEST = 200
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

FILE, FOLDER, LINK, OTHER = "file", "directory", "symlink", "other"


def kind_of(mode: int) -> str:
    """The word of seed 002, or `other` for what it has no word for."""
    if stat.S_ISREG(mode):
        return FILE
    if stat.S_ISDIR(mode):
        return FOLDER
    return LINK if stat.S_ISLNK(mode) else OTHER


def moment(facts: os.stat_result) -> str:
    """When it was changed, as ISO 8601."""
    seconds, rest = divmod(facts.st_mtime_ns, 10**9)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{rest // 10**6:03d}Z"


def state_of(folder: int, name: str) -> str:
    """A text that is another one when something else lies there; empty where nothing does.

    It stays the same when the thing is renamed.
    """
    try:
        facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return ""
    kind = kind_of(facts.st_mode)
    own = f"{kind}:{facts.st_dev:x}:{facts.st_ino:x}:{facts.st_mode:o}"
    if kind == LINK:
        return f"{own}:{_digest(os.fsencode(os.readlink(name, dir_fd=folder)))}"
    if kind == FOLDER:
        return f"{own}:{_digest_of_folder(folder, name)}"
    own += f":{facts.st_size}:{facts.st_mtime_ns}"
    if kind == FILE and facts.st_size <= _HASHED:
        own += f":{_digest_of_file(folder, name)}"
    return own


def below(folder: int, name: str, depth: int = 0) -> Iterator[tuple[str, os.stat_result]]:
    """A thing and everything in it, those above first, in the order of their names.

    What lies deeper than anybody looks is left out.
    """
    try:
        facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return  # it went away meanwhile
    yield name, facts
    if not stat.S_ISDIR(facts.st_mode) or depth > DEEPEST:
        return
    try:
        here = os.open(name, _FOLDER, dir_fd=folder)
    except OSError:
        return  # as above, or it may not be looked into
    try:
        for inner in sorted(os.listdir(here)):
            for path, about in below(here, inner, depth + 1):
                yield f"{name}/{path}", about
    finally:
        os.close(here)


def _digest_of_file(folder: int, name: str) -> str:
    from hashlib import sha256  # noqa: PLC0415 - only where something is replaced

    try:
        descriptor = os.open(name, _READ, dir_fd=folder)
    except OSError:
        return ""  # what cannot be read is told apart by its times
    made: Any = sha256()
    with open(descriptor, "rb", buffering=0) as file:
        while piece := file.read(1 << 20):
            made.update(piece)
    return str(made.hexdigest())[:32]


def _digest_of_folder(folder: int, name: str) -> str:
    lines = []
    for count, (path, facts) in enumerate(below(folder, name)):
        if count > _MOST_ENTRIES:
            break
        if count:
            numbers = (facts.st_ino, facts.st_mode, facts.st_size, facts.st_mtime_ns)
            lines.append(f"{path.partition('/')[2]!r} {numbers}")
    return _digest("\n".join(lines).encode("utf-8", "surrogateescape"))


def _digest(data: bytes) -> str:
    from hashlib import sha256  # noqa: PLC0415 - as above

    return sha256(data).hexdigest()[:32]
