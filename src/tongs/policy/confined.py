"""Why a confined tool may have failed: what was off, and the line that would grant it."""

from __future__ import annotations

import os.path
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from tongs.core.call import Caller
from tongs.core.execution import Place
from tongs.core.network import WEB_PORTS, within
from tongs.core.permissions import Limits, Permissions, absolute, covered
from tongs.core.record import dataclass
from tongs.core.tool import Tool
from tongs.policy import grants
from tongs.policy.permissions import too_broad, working_directory
from tongs.policy.symptoms import Ending, Symptoms, symptoms

WALLS = frozenset({"network", "fs.read", "fs.write"})

# Every tool may read these, so what is missing there is missing.
_SYSTEM = ("/bin", "/dev", "/lib", "/lib64", "/opt", "/proc", "/sbin", "/sys", "/usr")
# The tool chose what it asked for, and a person may paste it.
_REFUSED = re.compile(r"(?P<host>[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})")
_DOCTOR = "user namespaces: `tongs doctor`"


@dataclass(frozen=True, slots=True)
class Confined:
    """`sentence` always says what was off. `grants` are lines for the file `where`: all of them
    together would grant what the failure points at, if it points at anything."""

    sentence: str
    grants: tuple[str, ...] = ()
    where: str = ""
    # Names of walls and limits.
    causes: tuple[str, ...] = ()
    # Another way, where there is one.
    otherwise: str = ""

    @property
    def hint(self) -> str:
        """What the person can do; empty where nothing points at the confinement."""
        if not self.grants:
            return self.otherwise
        way = f"to grant it, write in {self.where}: {' and '.join(self.grants)}"
        return f"{way}, or {self.otherwise}" if self.otherwise else way


def explain_failure(
    tool: Tool,
    permissions: Permissions,
    enforced: Sequence[str],
    ending: Ending,
    *,
    place: Place,
    limits: Limits | None = None,
    caller: Caller | None = None,
    exists: Callable[[str], bool] = os.path.lexists,
) -> Confined | None:
    """What was off when this tool failed; None for a tool that nothing confined.

    `permissions` and `limits` are those that the call had, `enforced` is the session's.
    """
    if WALLS.isdisjoint(enforced) and not ending.exceeded:
        return None
    found = symptoms(ending)
    here = _Failure(tool, permissions, frozenset(enforced), place, ending, found, exists)
    lack = here.lack()
    bounds = limits or Limits()
    held = {name: value for name in found.limits if (value := getattr(bounds, name))}
    parts = (
        *here.walls(),
        *here.notes(),
        *(f"limits.{name} was {value}" for name, value in grants.limits_block(held).items()),
    )
    causes = (*_walls(lack), *(["unix-sockets"] if found.unix_sockets else []), *held)
    if lack == Permissions() and not held:
        if private := here.private_hosts():
            line = grants.private_hosts_line(private)
            return Confined("; ".join(parts), (line,), grants.config(place), ("network",))
        return Confined("; ".join(parts), causes=causes, otherwise=here.otherwise(lack))
    if caller is not None and caller.ceiling is not None and not lack.within(caller.ceiling):
        return Confined(
            "; ".join((*parts, f"its caller {caller.name} may not do it either")),
            (grants.line_of(lack, tool, place),),
            f"the definition of {caller.name}, too",
            causes,
        )
    raised = {name: 2 * value for name, value in held.items()}
    return Confined(
        "; ".join(parts),
        grants.lines(tool, place, lack, raised),
        grants.where(tool, place),
        causes,
        here.otherwise(lack),
    )


@dataclass(frozen=True, slots=True)
class _Failure:
    tool: Tool
    permissions: Permissions
    enforced: frozenset[str]
    place: Place
    ending: Ending
    found: Symptoms
    exists: Callable[[str], bool]

    def walls(self) -> Iterator[str]:
        """What was off, as far as it was enforced. What does not exist was not granted."""
        may = self.permissions
        parts, files = [], []
        if "network" in self.enforced:
            parts.append(_network(may))
        written = self._there(may.write)
        # What may be written may be read, too, and is not said twice.
        read = [path for path in self._there(may.read + may.scratch) if not covered(path, written)]
        if "fs.read" in self.enforced and (read or not written):
            kept = may.scratch and "scratch-view" in self.enforced
            where = ", where nothing it writes is kept," if kept else ""
            files.append(f"read {grants.listed(read) or 'nothing'}{where}")
        if "fs.write" in self.enforced:
            too = "read and " if written and not read and "fs.read" in self.enforced else ""
            files.append(f"{too}write {grants.listed(written) or 'nothing'}")
        if files:
            parts.append(f"it could {' and '.join(files)}")
        if parts:
            yield "; ".join(parts) + self._source()

    def _source(self) -> str:
        if self.tool.permissions is not None:
            return ""
        if self.tool.level in self.tool.tags:
            return f" (from its tag `{self.tool.level}`)"
        return " (from having no security tag)"

    def _there(self, paths: Iterable[str]) -> list[str]:
        return [path for path in dict.fromkeys(paths) if self.exists(path)]

    def lack(self) -> Permissions:
        """The permissions that were missing, as far as the symptoms tell."""
        reads, writes = self._wanted()
        never = self._never(reads, writes)
        folders = (self._folder(p) for p in writes if p not in never and not self._unnamed(p))
        return Permissions(
            network=self._hosts(),
            read=self._grantable(path for path in reads if path not in never),
            write=self._grantable(folders),
        )

    def notes(self) -> Iterator[str]:
        """What belongs to the sentence although no permission would help."""
        if self.found.unix_sockets:
            yield "unix sockets, as those of docker or an ssh agent, are closed to every tool"
        for path in self._absolute(self.found.unwritable):
            if "protected-paths" in self.enforced and covered(path, self.permissions.write):
                yield f"{grants.scalar(path)} is protected from every tool"
        if self._metadata():
            yield "without a write list, modes and times of files cannot be changed here"
        reads, writes = self._wanted()
        never = self._never(reads, writes)
        if any(covered(path, ("/proc",)) for path in never):
            yield "of /proc every tool can read only parts"
        if rest := [path for path in never if not covered(path, ("/proc",))]:
            yield f"{grants.listed(rest)} cannot be granted to any tool"
        if new := [path for path in writes if path not in never and self._unnamed(path)]:
            yield f"what does not exist cannot be granted: {grants.listed(new)}"

    def otherwise(self, lack: Permissions) -> str:
        """A tag, where tags decide and the tag gives no more than is needed; or a better host."""
        tags = self.tool.permissions is None
        only_write = lack.write and not lack.network and not lack.read
        if only_write and all(covered(path, self.permissions.scratch) for path in lack.write):
            tag = "add the tag `write`; " if tags else ""
            return f"{tag}to write without keeping it needs {_DOCTOR}"
        if lack == Permissions() and self._metadata():
            return f"give it a write list; to do without needs {_DOCTOR}"
        if not tags or not grants.is_own(self.tool):
            return ""
        if lack.network and not lack.readable and not self.permissions.network:
            return "add the tag `network`"
        if only_write and all(covered(path, (self.place.root,)) for path in lack.write):
            return "add the tag `write`"
        return ""

    def private_hosts(self) -> tuple[str, ...]:
        """Hosts that were refused although the list has them: their addresses are private."""
        listed = (m for m in self._refused() if within((m[0],), self.permissions.network))
        return tuple(match["host"].strip("[]") for match in listed)

    def _hosts(self) -> bool | tuple[str, ...]:
        """The list of hosts that is missing, or the whole network where no list would do."""
        may = self.permissions.network
        if "network" not in self.enforced or may is True:
            return False
        if refused := self._refused():
            unlisted = [match for match in refused if not within((match[0],), may)]
            return tuple(map(_entry, unlisted)) or False
        named = self.found.hosts
        hosts = tuple(host for host in named if not within((host,), may))
        if not self.found.network or (named and not hosts):
            return False
        return hosts if hosts and all(map(_is_public_name, hosts)) else True

    def _refused(self) -> list[re.Match[str]]:
        matches = [_REFUSED.fullmatch(host) for host in self.ending.refused]
        return [match for match in matches if match][-grants.MOST_SHOWN :]

    def _wanted(self) -> tuple[list[str], list[str]]:
        """Paths that were to be read and to be written, and that the walls have closed."""
        found, hides = self.found, "stat" in self.enforced
        reads, writes = [*self.ending.unread], [*self._absolute(found.unwritable)]
        if hides:
            # Only there what may not be read looks missing, and is not just missing.
            reads += self._absolute(found.missing)
            writes += filter(self._hidden, self._absolute(found.unmade))
        barred = self._absolute(found.barred)
        if self._metadata():
            # Relative ones may be anywhere, as in an archive that is unpacked.
            seen = (p for p in barred if covered(p, self.permissions.readable))
            writes += filter(self.exists, seen)
            barred = []
        for path in self._absolute(found.refused) + barred:
            to_read = self._hidden(path) and not hides and self.exists(path)
            (reads if to_read else writes).append(path)
        return list(filter(self._hidden, reads)), list(filter(self._closed, writes))

    def _absolute(self, paths: Iterable[str]) -> list[str]:
        start = self.ending.cwd or self._start()
        return [absolute(path, start, self.place.home) for path in paths]

    def _start(self) -> str:
        """Where the process started, if it did not choose by its arguments."""
        if self.tool.working_directories:
            return working_directory(self.tool.working_directories[0], self.tool, self.place)
        return self.place.start

    def _metadata(self) -> bool:
        """Without a write list tier B closes the calls themselves, since Landlock cannot tell the
        files apart; it is the one tier that holds these and not the names of files."""
        here = "metadata" in self.enforced and "stat" not in self.enforced
        return here and (self.found.metadata or bool(self.found.barred))

    def _hidden(self, path: str) -> bool:
        seen = (*self.permissions.readable, *_SYSTEM)
        return "fs.read" in self.enforced and not covered(path, seen)

    def _closed(self, path: str) -> bool:
        may, temporary = self.permissions, self.ending.scratch
        view = may.scratch if "scratch-view" in self.enforced else ()
        if "fs.write" not in self.enforced or covered(path, (*may.write, *view)):
            return False
        # In its temporary folder lies what was granted there, too.
        return covered(path, may.readable) or not (temporary and covered(path, (temporary,)))

    def _never(self, reads: Iterable[str], writes: Iterable[str]) -> list[str]:
        found = [p for p in reads if grants.to_nobody(p, self.place, write=False)]
        found += [p for p in writes if grants.to_nobody(p, self.place, write=True)]
        return list(dict.fromkeys(found))

    def _unnamed(self, path: str) -> bool:
        """Whether it is new in a folder that nobody should grant. Not asked where the names of
        files are hidden: the answer would tell them."""
        asked = "stat" not in self.enforced and self._folder(path) == path
        return asked and not self.exists(path)

    def _folder(self, path: str) -> str:
        """What has to be writable for a path to be made or replaced: the folder it lies in."""
        above = os.path.dirname(path)
        whole = path in self.permissions.readable or too_broad(above, self.place)
        return path if whole else above

    def _grantable(self, paths: Iterable[str]) -> tuple[str, ...]:
        own = (self.place.user_folder,) if self.place.user_folder else ()
        wanted = (p for p in paths if not too_broad(p, self.place) and not covered(p, own))
        return tuple(dict.fromkeys(wanted))


def _network(permissions: Permissions) -> str:
    if isinstance(permissions.network, bool) or not permissions.network:
        return f"network was {'on' if permissions.network else 'off'}"
    return f"network reached only {grants.listed(permissions.network)}"


def _entry(refused: re.Match[str]) -> str:
    return refused["host"] if int(refused["port"]) in WEB_PORTS else refused[0]


def _is_public_name(host: str) -> bool:
    """Whether it can stand in a list on its own: what is private needs another grant beside it."""
    name = host.partition(":")[0]
    return name != "localhost" and not name.rpartition(".")[2].isdigit()


def _walls(lack: Permissions) -> Iterator[str]:
    if lack.network:
        yield "network"
    if lack.read:
        yield "fs.read"
    if lack.write:
        yield "fs.write"
