"""Why a confined tool may have failed: what was off, and the line that would grant it."""

from __future__ import annotations

import os.path
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tongs.core.annotations import Any
from tongs.core.call import Caller
from tongs.core.execution import Place
from tongs.core.network import within
from tongs.core.permissions import Limits, Permissions, absolute, covered
from tongs.core.record import dataclass, replace
from tongs.core.tool import Tool
from tongs.policy import grants
from tongs.policy.permissions import too_broad, working_directory
from tongs.policy.symptoms import Symptoms, symptoms

WALLS = frozenset({"network", "fs.read", "fs.write"})

# Every tool may read these, so what is missing there is missing.
_SYSTEM = ("/bin", "/dev", "/lib", "/lib64", "/opt", "/proc", "/sbin", "/sys", "/usr")
_MOST_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Confined:
    """`sentence` always says what was off. `grants` are lines for the file `where`: all of them
    together would grant what the failure points at, if it points at anything."""

    sentence: str
    grants: tuple[str, ...] = ()
    where: str = ""
    # Names of walls and limits.
    causes: tuple[str, ...] = ()
    # A second way, where there is one.
    otherwise: str = ""

    @property
    def hint(self) -> str:
        """What the person can do; empty where nothing points at the confinement."""
        if not self.grants:
            return ""
        return f"to grant it, write in {self.where}: {' and '.join(self.grants)}{self.otherwise}"


@dataclass(frozen=True, slots=True)
class Ending:
    """How the process ended that made the call fail; `cwd` is where it started, if known."""

    stderr: str = ""
    exit_code: int | None = None
    signal: int | None = None
    cwd: str | None = None
    # What it would have needed to start at all.
    unread: tuple[str, ...] = ()

    @classmethod
    def of(cls, metadata: Mapping[str, Any], details: Mapping[str, Any]) -> Ending:
        """From the metadata of a result and the details of its error."""
        return cls(
            str(metadata.get("stderr", "")),
            metadata.get("exitCode"),
            metadata.get("signal"),
            unread=tuple(details.get("unread", ())),
        )


def explain_failure(
    tool: Tool,
    permissions: Permissions,
    enforced: Sequence[str],
    ending: Ending,
    *,
    place: Place,
    limits: Limits | None = None,
    caller: Caller | None = None,
) -> Confined | None:
    """What was off when this tool failed; None for a tool that nothing confined.

    `permissions` and `limits` are those that the call had, `enforced` is the session's.
    """
    if WALLS.isdisjoint(enforced):
        return None
    here = _Failure(tool, permissions, frozenset(enforced), place, limits or Limits())
    found = symptoms(ending.stderr, ending.exit_code, ending.signal)
    found = replace(found, missing=found.missing + ending.unread)
    start = ending.cwd or _start(tool, place)
    lack = here.lack(found, start)
    held = {name: value for name in found.limits if (value := getattr(here.limits, name))}
    sentence = "; ".join((here.sentence(), *here.notes(found, held, start)))
    causes = (*_walls(lack), *(["unix-sockets"] if found.unix_sockets else []), *held)
    if lack == Permissions() and not held:
        return Confined(sentence, causes=causes)
    if caller is not None and caller.ceiling is not None and not lack.within(caller.ceiling):
        return Confined(
            f"{sentence}; its caller {caller.name} may not do it either",
            (grants.line_of(lack, tool, place),),
            f"the definition of {caller.name}, too",
            causes,
        )
    raised = {name: 2 * value for name, value in held.items()}
    return Confined(
        sentence,
        grants.lines(tool, place, lack, raised),
        grants.where(tool, place),
        causes,
        here.tags_instead(lack),
    )


def _start(tool: Tool, place: Place) -> str:
    """Where the process started, if it did not choose by its arguments."""
    if tool.working_directories:
        return working_directory(tool.working_directories[0], tool, place)
    return place.start


@dataclass(frozen=True, slots=True)
class _Failure:
    tool: Tool
    permissions: Permissions
    enforced: frozenset[str]
    place: Place
    limits: Limits

    def sentence(self) -> str:
        """What was off, as far as it was enforced."""
        may, parts, files = self.permissions, [], []
        if "network" in self.enforced:
            parts.append(_network(may))
        if "fs.read" in self.enforced:
            kept = ", where nothing it writes is kept," if may.scratch else ""
            files.append(f"read {_paths(may.read + may.scratch)}{kept}")
        if "fs.write" in self.enforced:
            files.append(f"write {_paths(may.write)}")
        if files:
            parts.append(f"it could {' and '.join(files)}")
        return "; ".join(parts) + self._source()

    def _source(self) -> str:
        if self.tool.permissions is not None:
            return ""
        if self.tool.level in self.tool.tags:
            return f" (from its tag `{self.tool.level}`)"
        return " (from having no security tag)"

    def lack(self, found: Symptoms, cwd: str) -> Permissions:
        """The permissions that were missing, as far as the symptoms tell."""
        home = self.place.home
        missing, unmade, refused, unwritable = (
            [absolute(path, cwd, home) for path in paths]
            for paths in (found.missing, found.unmade, found.refused, found.unwritable)
        )
        reads = [path for path in missing + refused if self._hidden(path)]
        writes = [path for path in unmade if self._hidden(path)]
        writes += [path for path in refused if path not in reads] + unwritable
        return Permissions(
            network=self._hosts(found) if found.network else False,
            read=self._grantable(reads),
            write=self._grantable(self._folder(path) for path in writes if self._closed(path)),
        )

    def notes(self, found: Symptoms, raised: Mapping[str, Any], cwd: str) -> Iterator[str]:
        """What belongs to the sentence although no permission would help."""
        if found.unix_sockets:
            yield "unix sockets, as those of docker or an ssh agent, are closed to every tool"
        for path in found.unwritable if "protected-paths" in self.enforced else ():
            whole = absolute(path, cwd, self.place.home)
            if covered(whole, self.permissions.write):
                yield f"{grants.scalar(whole)} is protected from every tool"
        for name, value in grants.limits_block(raised).items():
            yield f"{name.replace('_', ' ')} was limited to {value}"

    def tags_instead(self, lack: Permissions) -> str:
        """A tag does it as well, where tags decide and the tag gives no more than is needed."""
        if self.tool.permissions is not None or not grants.is_own(self.tool):
            return ""
        if lack.network and not lack.readable:
            return ", or add the tag `network`"
        inside = all(covered(path, (self.place.root,)) for path in lack.write)
        if lack.write and inside and not lack.network and not lack.read:
            return ", or add the tag `write`"
        return ""

    def _hosts(self, found: Symptoms) -> bool | tuple[str, ...]:
        """The list of hosts that is missing, or the whole network where no list would do."""
        may = self.permissions.network
        if "network" not in self.enforced or may is True:
            return False
        unlisted = tuple(host for host in found.hosts if not within((host,), may))
        if found.hosts and not unlisted:
            return False
        return unlisted if unlisted and all(map(_is_public_name, unlisted)) else True

    def _hidden(self, path: str) -> bool:
        seen = (*self.permissions.readable, *_SYSTEM)
        return "fs.read" in self.enforced and not covered(path, seen)

    def _closed(self, path: str) -> bool:
        return "fs.write" in self.enforced and not covered(path, self.permissions.write)

    def _folder(self, path: str) -> str:
        """What has to be writable for a path to be made or replaced: the folder it lies in."""
        above = os.path.dirname(path)
        return path if too_broad(above, self.place) else above

    def _grantable(self, paths: Iterable[str]) -> tuple[str, ...]:
        own = (self.place.user_folder,) if self.place.user_folder else ()
        wanted = (p for p in paths if not too_broad(p, self.place) and not covered(p, own))
        return tuple(dict.fromkeys(wanted))


def _network(permissions: Permissions) -> str:
    if isinstance(permissions.network, bool) or not permissions.network:
        return f"network was {'on' if permissions.network else 'off'}"
    return f"network reached only {_listed(permissions.network)}"


def _paths(paths: Iterable[str]) -> str:
    return _listed(tuple(dict.fromkeys(paths))) or "nothing"


def _listed(items: Sequence[str]) -> str:
    more = len(items) - _MOST_SHOWN
    shown = ", ".join(map(grants.scalar, items[:_MOST_SHOWN]))
    return f"{shown} and {more} more" if more > 0 else shown


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
