"""What a call sees: its permissions as steps of a private root, and as rules of Landlock."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from tongs.core.annotations import Any, TypeAlias
from tongs.core.record import dataclass
from tongs.sandbox import mounts, rights
from tongs.sandbox.host import Host
from tongs.sandbox.protected import Watch, pinned, protected_in
from tongs.sandbox.roots import READ, SCRATCH, WRITE, Root, Roots, identified, inside
from tongs.sandbox.system import DEVICES, System

Step: TypeAlias = tuple[Any, ...]
Rule: TypeAlias = tuple[bytes, int, int, int]

# Where the files of a request are put, for the payload to read and not to change.
FILES = "/run/tongs"
TEMPORARY = "/tmp"
SHARED_MEMORY = "/dev/shm"

# Of /proc, where it cannot be a private one: about the machine, and about no process.
_PROC = tuple(
    "/proc/" + name
    for name in "meminfo cpuinfo stat uptime loadavg version filesystems sys/kernel sys/vm"
    " sys/fs".split()
)


@dataclass(frozen=True, slots=True)
class Guest:
    """What a call brings along, beyond its roots."""

    cwd: str
    # What stays read-only inside its write roots.
    protected: tuple[str, ...]
    network: bool
    user: int
    group: int
    # Links through which its interpreter is found, each with its text.
    links: tuple[tuple[str, str], ...] = ()


def links_in(paths: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Those that are links, each with its text."""
    return tuple((path, os.readlink(path)) for path in paths if os.path.islink(path))


def private_root(roots: Roots, system: System, host: Host, guest: Guest) -> list[Step]:
    """The steps that furnish a root in which only this exists."""
    cwd, network = guest.cwd, guest.network
    steps = list(_system_steps(system, network=network))
    steps += _own_steps(host, network=network, user=guest.user, group=guest.group)
    if roots.covering(cwd) is None and not system.covers(cwd) and cwd not in ("/", host.home):
        # It was not granted, but that is where the tool starts: an empty folder.
        steps.append((mounts.FOLDER, os.fsencode(cwd), 0o755))
    outside = [program for program in system.programs if roots.covering(program.path) is None]
    binds = [(root.path, _root_step(root)) for root in (*outside, *roots.entries)]
    steps += [step for _, step in sorted(binds, key=lambda bind: bind[0])]
    for path, text in (*system.links, *guest.links):
        if roots.covering(path) is None and not system.covers(path):
            steps.append((mounts.LINK, os.fsencode(path), os.fsencode(text)))
    steps += _protecting(roots, guest.protected)
    steps += _hiding(roots, host)
    return steps


def rules_inside(roots: Roots, host: Host, abi: int) -> list[Rule]:
    """The second wall behind a private root: all of it may be read, and only this written."""
    writable = [TEMPORARY, SHARED_MEMORY, host.home]
    writable += [root.path for root in roots.entries if root.mode != READ]
    return [
        (b"/", rights.reading(abi), 0, 0),
        *((os.fsencode(path), rights.writing(abi), 0, 0) for path in writable if path != "/"),
        *((os.fsencode(path), rights.devices(abi), 0, 0) for path in DEVICES),
    ]


def rules_alone(roots: Roots, system: System, abi: int, *, network: bool) -> list[Rule]:
    """The only wall where there is no private root. A scratch view is read-only here."""
    reading, writing = rights.reading(abi), rights.writing(abi)
    folders = (path for path, _ in system.links if os.path.dirname(path) == "/")
    readable = [*system.paths, *folders, *system.etc, *_PROC]
    readable += system.etc_network if network else ()
    return [
        *((os.fsencode(path), reading, 0, 0) for path in readable),
        *((os.fsencode(path), rights.devices(abi), 0, 0) for path in DEVICES),
        *(
            (root.encoded, writing if root.mode == WRITE else reading, root.device, root.inode)
            for root in (*system.programs, *roots.entries)
        ),
    ]


def rules_of_scratch(folder: str, tmp: str, abi: int) -> list[Rule]:
    """What a call has of its own where there is no private root."""
    return [
        (os.fsencode(folder), rights.reading(abi), 0, 0),
        (os.fsencode(tmp), rights.writing(abi), 0, 0),
    ]


class Held:
    """What has to stay as it is in the roots of one call that may be written; looked up once."""

    def __init__(
        self,
        roots: Roots,
        project: str,
        programs: tuple[str, ...] = (),
        others: tuple[str, ...] = (),
    ) -> None:
        """`others` is what other tools consist of."""
        self._roots = roots
        self._project = project
        self._programs = programs
        self._others = others
        self._found: dict[str, tuple[str, ...]] | None = None

    @property
    def by_root(self) -> dict[str, tuple[str, ...]]:
        if self._found is None:
            writable = [root.path for root in self._roots.entries if root.mode == WRITE]
            self._found = {path: protected_in(path, [self._project]) for path in writable}
        return self._found

    def protected(
        self, system: System, host: Host
    ) -> tuple[tuple[str, tuple[int, int] | None], ...]:
        """What stays read-only, each with what lies there now.

        A name may be granted on its own. What makes Tongs itself do something may not.
        """
        found: dict[str, None] = {}
        for root, names in self.by_root.items():
            others = (path for path in self._others if inside(path, root))
            by_name = (path for path in (*names, *others) if path not in self._roots.named)
            found.update(dict.fromkeys(by_name))
            known = (program.path for program in system.programs)
            ours = (*known, *self._programs, *host.authority)
            found.update(dict.fromkeys(path for path in ours if inside(path, root)))
        return tuple((path, _identity(path)) for path in found)

    def watch(self) -> Watch | None:
        """Looks, when the call is over, at what no wall can hold for certain."""
        return Watch(self.by_root) if self.by_root else None


def _identity(path: str) -> tuple[int, int] | None:
    try:
        return identified(path)
    except OSError:
        return None


def _system_steps(system: System, *, network: bool) -> Iterator[Step]:
    etc = (*system.etc, *(system.etc_network if network else ()))
    for path in (*system.paths, *etc):
        target = os.fsencode(path)
        yield (mounts.BIND, target, target, mounts.READ_ONLY, 0, 0)
    for path in DEVICES:
        target = os.fsencode(path)
        # Read-only: to root the node itself would be the host's to change. It can be written to.
        yield (mounts.BIND, target, target, mounts.DEVICE | mounts.READ_ONLY, 0, 0)
    for name, text in (
        *(("fd", "/proc/self/fd"), ("stdin", "/proc/self/fd/0")),
        *(("stdout", "/proc/self/fd/1"), ("stderr", "/proc/self/fd/2")),
    ):
        yield (mounts.LINK, b"/dev/" + name.encode(), text.encode())
    yield (mounts.PROC,)


def _own_steps(host: Host, *, network: bool, user: int, group: int) -> Iterator[Step]:
    """What is made for the call alone: its folders, and names for its user."""
    for path, mode in (
        *((TEMPORARY, 0o1777), (SHARED_MEMORY, 0o1777)),
        *(("/run", 0o755), (FILES, 0o755), ("/var", 0o755)),
    ):
        yield (mounts.FOLDER, path.encode(), mode)
    yield (mounts.LINK, b"/var/tmp", b"/tmp")
    if host.home != "/":
        yield (mounts.FOLDER, os.fsencode(host.home), 0o700)
    home = os.fsencode(host.home)
    name = b"root" if user == 0 else b"user"
    yield (
        mounts.FILE,
        b"/etc/passwd",
        b"%s:x:%d:%d::%s:/bin/sh\n" % (name, user, group, home.replace(b":", b"_")),
    )
    yield (mounts.FILE, b"/etc/group", b"%s:x:%d:\n" % (name, group))
    if not network:
        yield (mounts.FILE, b"/etc/hosts", b"127.0.0.1 localhost\n::1 localhost\n")
        yield (mounts.FILE, b"/etc/nsswitch.conf", b"passwd: files\ngroup: files\nhosts: files\n")


def _root_step(root: Root) -> Step:
    identity = (root.device, root.inode)
    if root.mode == SCRATCH:
        return (mounts.OVERLAY, root.encoded, root.encoded, *identity)
    flags = 0 if root.mode == WRITE else mounts.READ_ONLY
    return (mounts.BIND, root.encoded, root.encoded, flags, *identity)


def _protecting(roots: Roots, paths: tuple[str, ...]) -> Iterator[Step]:
    for root in roots.entries:
        if root.mode == WRITE:
            below = [path for path in paths if inside(path, root.path)]
            for folder in pinned(root.path, below):
                yield (mounts.PIN, os.fsencode(folder))
            for path in below:
                yield (mounts.PROTECT, os.fsencode(path))


def _hiding(roots: Roots, host: Host) -> Iterator[Step]:
    """The state folder, where a root holds it: nothing can grant that."""
    if host.state and (root := roots.covering(host.state)) is not None:
        for folder in pinned(root.path, [host.state]):
            yield (mounts.PIN, os.fsencode(folder))
        yield (mounts.HIDE, os.fsencode(host.state))
