"""Servers that people use elsewhere, brought under Tongs: found, proposed, written."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence

from tongs.authoring.mcp_clients import CLIENTS, Client
from tongs.authoring.mcp_clients.changing import CannotChange, is_tongs, settings
from tongs.authoring.mcp_clients.machine import Machine
from tongs.authoring.mcp_clients.proposing import Proposal, proposed
from tongs.authoring.mcp_clients.reading import Found, read, sources
from tongs.authoring.mcp_clients.variables import Variables
from tongs.config.environment import host_environment
from tongs.core.annotations import Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.record import dataclass, replace
from tongs.core.scope import Scope
from tongs.runtime.configuring import Configuring
from tongs.runtime.definitions import refusals_said
from tongs.store.files import read_whole

_LARGEST = 32 * 1024 * 1024
# The order in which a person reads an entry.
_ORDER = "description command args env cwd url headers timeout start_timeout enabled tools".split()


@dataclass(frozen=True, slots=True)
class Candidate:
    """One server, and what would be written of it."""

    file: str
    found: Found
    proposal: Proposal = Proposal({})
    # How config.yml has the name already: "" not at all, "same", or "other".
    known: str = ""

    @property
    def name(self) -> str:
        return self.found.name

    @property
    def entry(self) -> dict[str, Any]:
        """As config.yml has it."""
        entry = {key: self.found.entry[key] for key in _ORDER if key in self.found.entry}
        return {**entry, "permissions": self.proposal.permissions}


@dataclass(frozen=True, slots=True)
class Importing:
    """Around one working directory, for one file of settings."""

    configuring: Configuring
    env: Mapping[str, str]

    @staticmethod
    def here() -> Importing:
        return Importing(Configuring.here(), host_environment())

    @property
    def project(self) -> str:
        return self.configuring.places.root

    def files(self, client: Client | None = None) -> list[str]:
        """The settings of clients that exist here, the project's first."""
        clients = CLIENTS.values() if client is None else (client,)
        home = self.configuring.places.home
        paths = [os.path.join(self.project, c.project_file) for c in clients if c.project_file]
        paths += [c.user_file(sys.platform, home, self.env) for c in clients]
        return [path for path in dict.fromkeys(paths) if os.path.isfile(path)]

    def scope_for(self, files: Sequence[str]) -> Scope:
        """Servers of a project belong to it."""
        inside = [os.path.realpath(path).startswith(self.project + os.path.sep) for path in files]
        own = self.configuring.places.project is not None
        return Scope.LOCAL if own and inside and all(inside) else Scope.USER

    def candidates(self, files: Sequence[str], scope: Scope) -> list[Candidate]:
        """Every server of some files; the first of a name counts."""
        written = self._written(scope)
        found: dict[str, Candidate] = {}
        for file in files:
            for each in self._read(file):
                found.setdefault(each.name, self._candidate(file, each, written))
        return list(found.values())

    def write(self, candidates: Sequence[Candidate], scope: Scope) -> str:
        """Put servers into the config of a scope; the file. All of them, or none."""
        values = [pair for each in candidates for pair in _leaves(each)]
        file = self.configuring.put(values, scope)
        for folder in dict.fromkeys(f for each in candidates for f in each.proposal.folders):
            # What is granted has to exist, or the server could not even start.
            with refusals_said(f"{folder} was not made"):
                os.makedirs(folder, mode=0o700, exist_ok=True)
        return file

    def is_set(self, variable: str) -> bool:
        return bool(self.env.get(variable))

    def _candidate(self, file: str, found: Found, written: Mapping[str, Any]) -> Candidate:
        if found.refused:
            return Candidate(file, found)
        if is_tongs(found.entry):
            return Candidate(file, replace(found, refused="it is Tongs itself"))
        machine = Machine(
            home=self.configuring.places.home,
            project=self.project,
            is_folder=os.path.isdir,
            is_file=os.path.isfile,
            real=os.path.realpath,
        )
        candidate = Candidate(file, found, proposed(found.entry, machine))
        held = written.get(found.name)
        if held is None:
            return candidate
        return replace(candidate, known="same" if held == candidate.entry else "other")

    def _written(self, scope: Scope) -> Mapping[str, Any]:
        from tongs.schema.document import MAX_BYTES, parse_config  # noqa: PLC0415 - only here

        file = self.configuring.file(scope)
        with refusals_said(f"{file} cannot be read"):
            data = read_whole(file, MAX_BYTES)
        config = parse_config(data, file).data if data else {}
        servers = (config.get("mcp") or {}).get("servers")
        return servers if isinstance(servers, Mapping) else {}

    def _read(self, file: str) -> Iterator[Found]:
        with refusals_said(f"{file} cannot be read"):
            data = read_whole(file, _LARGEST)
        if data is None:
            raise ToolError(ErrorCode.FILE_NOT_FOUND, f"there is no file {file}")
        variables = Variables(
            home=self.configuring.places.home,
            project=self.project,
            present=frozenset(name for name, value in self.env.items() if value),
        )
        for source in sources(_parsed(file, data), variables):
            yield from read(source)


def _parsed(file: str, data: bytes) -> dict[str, Any]:
    # Which client it is does not matter here, only how it is written.
    form = CLIENTS["codex"] if file.endswith(".toml") else CLIENTS["vscode"]
    try:
        if len(data) > _LARGEST:
            raise CannotChange(f"is larger than {_LARGEST >> 20} MiB")
        return settings(form, data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        reason = "is no text in UTF-8"
    except CannotChange as error:
        reason = str(error)
    raise ToolError(ErrorCode.INVALID_ARGUMENTS, f"{file} was not imported: it {reason}")


def _leaves(candidate: Candidate) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The keys of an entry one by one, so that each comes to stand on a line of its own."""
    path = ("mcp", "servers", candidate.name)
    if candidate.known:
        yield path, candidate.entry
        return
    for key, value in candidate.entry.items():
        if key == "permissions":
            yield (*path, key, "network"), value["network"]
            for kind, paths in value["fs"].items():
                yield (*path, key, "fs", kind), paths
        else:
            yield (*path, key), value
