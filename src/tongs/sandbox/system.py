"""What every program needs of the system: read-only, and nothing that is anybody's secret."""

from __future__ import annotations

import os

from tongs.core.permissions import SYSTEM_FOLDERS
from tongs.core.record import dataclass
from tongs.sandbox.host import Host
from tongs.sandbox.roots import READ, Root, are_there, identified, inside

# Of /etc only what programs of all kinds read and nobody hides. Where a private root says that a
# file does not exist, Landlock says that it may not be read, which some programs take for fatal:
# git its config, node that of OpenSSL.
ETC = tuple(
    "/etc/" + name
    for name in (
        *"ld.so.cache ld.so.conf ld.so.conf.d alternatives localtime timezone".split(),
        *"locale.conf locale.alias mime.types magic inputrc terminfo fonts".split(),
        *"ssl/certs ssl/openssl.cnf ca-certificates pki crypto-policies".split(),
        *"gitconfig gitattributes environment.d java-11-openjdk java-17-openjdk".split(),
        *"java-21-openjdk perl python3 python3.11 python3.12 python3.13 R".split(),
    )
)
ETC_NETWORK = tuple(
    "/etc/" + name
    for name in "resolv.conf hosts nsswitch.conf services protocols gai.conf host.conf".split()
)

DEVICES = tuple("/dev/" + name for name in "null zero full random urandom".split())

# What lies beside a folder of programs and belongs to them. Not all of it: beside ~/.local/bin
# lies ~/.local/share, in which programs keep what is private.
_BESIDE_PROGRAMS = "bin lib lib32 lib64 libexec include pyvenv.cfg".split()
# Version managers put small scripts here that look for the real program in these.
_SHIMS = "shims"
# What a folder of programs is called, wherever a link leads.
_FOLDER_NAMES = ("bin", "sbin", ".bin", _SHIMS)
_BESIDE_SHIMS = "bin libexec versions installs plugins completions version".split()


@dataclass(frozen=True, slots=True)
class System:
    """The system of one host, looked up once."""

    # Folders and files as they are, and links with their text.
    paths: tuple[str, ...]
    links: tuple[tuple[str, str], ...]
    etc: tuple[str, ...]
    etc_network: tuple[str, ...]
    # Outside of the system's own folders: what the PATH and the interpreters lead to.
    programs: tuple[Root, ...]

    def covers(self, path: str) -> bool:
        known = (*self.paths, *(program.path for program in self.programs))
        return any(inside(path, other) for other in known)

    @property
    def current(self) -> bool:
        """Whether every program is what was found: somebody may have made an environment anew."""
        return are_there(self.programs)


def system_of(host: Host) -> System:
    paths = []
    links = []
    for path in SYSTEM_FOLDERS:
        try:
            links.append((path, os.readlink(path)))
        except OSError:
            if os.path.isdir(path):
                paths.append(path)
    programs, through = _programs(host, paths)
    return System(
        paths=tuple(paths),
        links=(*links, *through),
        etc=tuple(path for path in ETC if os.path.exists(path)),
        etc_network=tuple(path for path in ETC_NETWORK if os.path.exists(path)),
        programs=tuple(programs),
    )


def _programs(host: Host, known: list[str]) -> tuple[list[Root], list[tuple[str, str]]]:
    """What programs outside of the system need, and the links through which a PATH leads there."""
    folders = [folder for folder in host.search_path.split(":") if os.path.isabs(folder)]
    for program in host.programs:
        # An interpreter of an environment is a link to the one it was made with.
        folders += [os.path.dirname(path) for path in (program, os.path.realpath(program))]
    found: dict[str, Root] = {}
    links = []
    for folder in map(os.path.normpath, folders):
        real = os.path.realpath(folder)
        if real != folder:
            if not _may_lead(folder, real, host):
                continue
            links.append((folder, real))
        for path in _beside(real, host):
            root = _root(path)
            if root and not any(inside(path, other) for other in (*known, *found)):
                found[path] = root
    return list(found.values()), [
        link for link in links if any(inside(link[1], path) for path in found)
    ]


def _may_lead(folder: str, real: str, host: Host) -> bool:
    """Whether a link on the PATH is the person's own: a tool could have put one into a project."""
    planted = bool(host.project) and inside(folder, host.project)
    return not planted and os.path.basename(real) in _FOLDER_NAMES


def _beside(folder: str, host: Host) -> list[str]:
    """A folder of programs with what they need; nothing where that would be a home or a secret."""
    if any(inside(kept, folder) for kept in ("/", host.home, host.state) if kept):
        return []
    above = os.path.dirname(folder)
    if above in ("/", host.home):
        return [folder]  # ~/bin has nothing beside it that would be its own
    names = _BESIDE_SHIMS if os.path.basename(folder) == _SHIMS else _BESIDE_PROGRAMS
    return [*dict.fromkeys([folder, *(os.path.join(above, name) for name in names)])]


def _root(path: str) -> Root | None:
    """What lies there, if no link leads to it."""
    try:
        identity = identified(path)
    except OSError:
        return None
    return Root(path, READ, *identity)
