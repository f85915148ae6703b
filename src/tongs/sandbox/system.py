"""What every program needs of the system: read-only, and nothing that is anybody's secret."""

from __future__ import annotations

import os

from tongs.core.record import dataclass
from tongs.sandbox.host import Host
from tongs.sandbox.roots import inside

FOLDERS = tuple(
    "/" + name for name in "usr bin sbin lib lib32 lib64 libx32 opt nix/store gnu/store".split()
)

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
    programs: tuple[str, ...]

    def covers(self, path: str) -> bool:
        return any(inside(path, known) for known in (*self.paths, *self.programs))


def system_of(host: Host) -> System:
    paths = []
    links = []
    for path in FOLDERS:
        try:
            links.append((path, os.readlink(path)))
        except OSError:
            if os.path.isdir(path):
                paths.append(path)
    programs = _programs(host, paths)
    for folder in dict.fromkeys(host.search_path.split(":")):
        real = os.path.realpath(folder)
        # A PATH may lead through links, which then have to be there, too.
        if real != folder and any(inside(real, known) for known in programs):
            links.append((folder, real))
    return System(
        paths=tuple(paths),
        links=tuple(links),
        etc=tuple(path for path in ETC if os.path.exists(path)),
        etc_network=tuple(path for path in ETC_NETWORK if os.path.exists(path)),
        programs=tuple(programs),
    )


def _programs(host: Host, known: list[str]) -> list[str]:
    folders = [folder for folder in host.search_path.split(":") if os.path.isabs(folder)]
    folders += [os.path.dirname(program) for program in host.programs if os.path.isabs(program)]
    # An interpreter of an environment is a link to the one it was made with.
    folders += [os.path.dirname(os.path.realpath(program)) for program in host.programs]
    found: dict[str, None] = {}
    for folder in folders:
        for path in _beside(os.path.realpath(folder), host):
            if not any(inside(path, other) for other in (*known, *found)):
                found[path] = None
    return list(found)


def _beside(folder: str, host: Host) -> list[str]:
    """A folder of programs with what they need; nothing where that would be a home or a secret."""
    above = os.path.dirname(folder)
    if above in ("/", host.home) or inside(host.state, folder):
        # ~/bin has nothing beside it that would be its own.
        return [folder] if folder not in ("/", host.home) and os.path.isdir(folder) else []
    names = _BESIDE_SHIMS if os.path.basename(folder) == _SHIMS else _BESIDE_PROGRAMS
    paths = [folder, *(os.path.join(above, name) for name in names)]
    return [path for path in dict.fromkeys(paths) if os.path.exists(path)]
