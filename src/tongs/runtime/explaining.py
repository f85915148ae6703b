"""The policy that a tool will get: every part of it, and where it comes from. Starts nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping

from tongs.config.environment import base_environment, host_environment
from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.errors import ToolError
from tongs.core.execution import Policy
from tongs.core.permissions import Bound, Grants, Limits, Permissions, covered, shorter, stricter
from tongs.core.record import dataclass
from tongs.core.tool import Tool
from tongs.executors import Executors
from tongs.policy import grants as lines
from tongs.policy.permissions import NETWORK_TAGS, effective, too_broad
from tongs.runtime.stated import source_of, stated
from tongs.runtime.wiring import Wiring
from tongs.schema import units
from tongs.schema.document import PathTuple

if TYPE_CHECKING:
    from tongs.runtime import Runtime

DEFAULT = "default"
_CONFIG = "config, "
_USED = "a config that the tool uses"
_INTERPRETER = "its interpreter"


@dataclass(frozen=True, slots=True)
class Part:
    """One thing a tool may have, and what gives it to the tool."""

    what: Any
    source: str


@dataclass(frozen=True, slots=True)
class Change:
    """A line that would grant more, and the file it belongs into."""

    effect: str
    where: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything about the policy of one tool on this machine, for a call typed by a person."""

    tool: Tool
    permissions: Permissions
    network: Part
    read: tuple[Part, ...]
    # What its interpreter needs: readable as well, and never writable.
    programs: tuple[Part, ...]
    write: tuple[Part, ...]
    scratch: tuple[Part, ...]
    # Inside what may be written, and read-only all the same.
    protected: tuple[str, ...]
    secrets: tuple[Part, ...]
    missing_secrets: tuple[str, ...]
    environment: tuple[Part, ...]
    limits: Mapping[str, Part]
    timeout: Part
    # Empty where Tongs carries the call out itself, without any process.
    tier: str
    enforcement: str
    enforced: tuple[str, ...]
    not_enforced: tuple[str, ...]
    changes: tuple[Change, ...]
    warnings: tuple[str, ...] = ()
    # Why a call would be refused as things are.
    refusal: ToolError | None = None


def explained(runtime: Runtime, tool: Tool) -> Explanation:
    """What a call of this tool would get. Starts nothing, and needs no secret to be there."""
    return _Explaining(runtime, tool).whole()


class _Explaining:
    def __init__(self, runtime: Runtime, tool: Tool) -> None:
        self._host = host_environment()
        self._places, self._settings = runtime.places, runtime.settings
        self._tool = tool
        self._catalogue = runtime.definitions.catalogue
        wiring = Wiring(runtime.places, runtime.settings, self._host, runtime.registry, runtime.log)
        self._sandbox = wiring.sandbox(single_thread=True)
        self._place = wiring.place
        self._grants = runtime.settings.tools.get(tool.name, Grants())
        self._bound = tool.bound or Bound()
        self._profile = runtime.settings_files.of_profile()
        self._call = ToolCall("explain", tool.name, {}, Caller(CallerKind.PERSON, "user"))
        self._own = effective(tool, self._call, self._place, None)

    def whole(self) -> Explanation:
        tool = self._tool
        permissions = effective(tool, self._call, self._place, self._grants)
        limits = self._settings.limits_for(tool.name, tool.limits).tightened(self._bound.limits)
        tier, walls, refusal = self._walls(permissions, limits)
        return Explanation(
            tool=tool,
            permissions=permissions,
            network=Part(permissions.network, self._network_source(permissions)),
            read=self._paths(permissions.read, self._own.read, "read"),
            programs=tuple(Part(path, _INTERPRETER) for path in tool.programs),
            write=self._paths(permissions.write, self._own.write, "write"),
            scratch=self._paths(permissions.scratch, self._own.scratch, "read"),
            protected=tuple(self._protected(permissions)),
            secrets=self._secrets(permissions),
            missing_secrets=tuple(
                secret.name
                for secret in permissions.secrets
                if secret.required and not self._host.get(secret.name)
            ),
            environment=tuple(self._environment(permissions)),
            limits={
                name: Part(value, self._limit_source(name, value))
                for name in Limits.__slots__
                for value in (getattr(limits, name),)
            },
            timeout=self._timeout(),
            tier=tier,
            enforcement=stricter(self._settings.enforcement, self._bound.enforcement),
            enforced=walls[0],
            not_enforced=walls[1],
            changes=tuple(self._changes(permissions, limits)),
            warnings=walls[2],
            refusal=refusal,
        )

    def _from_config(self, key: str, value: Any, read: Callable[[Any], Any]) -> str:
        """Where a config says this about the tool."""
        path = ("tools", self._tool.name, *key.split("."))
        return f"{_CONFIG}{self._source_of(path, value, read)}"

    def _source_of(self, key: PathTuple, value: Any, read: Callable[[Any], Any]) -> str:
        return source_of(self._places, key, value, read, profile=self._profile)

    @property
    def _granted(self) -> str:
        permissions = self._grants.permissions
        return self._from_config("permissions", permissions, Permissions.from_data)

    def _own_source(self, key: str) -> str:
        """Where the tool itself has a permission from."""
        if self._tool.permissions is not None:
            return f"declared, permissions.{key}"
        if self._tool.level in self._tool.tags:
            return f"tag `{self._tool.level}`"
        return "no security tag: as `run`"

    def _network_source(self, permissions: Permissions) -> str:
        if permissions.network != self._own.network:
            return self._granted
        if self._tool.permissions is not None:
            return self._own_source("network")
        tags = [tag for tag in self._tool.tags if tag in NETWORK_TAGS]
        return f"tag `{tags[0]}`" if tags else "no tag for the network"

    def _paths(self, paths: tuple[str, ...], own: tuple[str, ...], key: str) -> tuple[Part, ...]:
        root = os.path.realpath(self._place.root)
        found = []
        for path in paths:
            source = self._own_source(f"fs.{key}") if path in own else self._granted
            if path in own and self._tool.permissions is None and path != root:
                source += ", working-directory"
            found.append(Part(path, source))
        return tuple(found)

    def _secrets(self, permissions: Permissions) -> tuple[Part, ...]:
        return tuple(
            Part(secret.name, self._own_source("secrets"))
            if secret in self._own.secrets
            else Part(secret.name, self._granted)
            for secret in permissions.secrets
        )

    def _environment(self, permissions: Permissions) -> Iterator[Part]:
        """Names only: values are nobody's business here."""
        for name in base_environment(self._host, ""):
            yield Part(name, DEFAULT)
        for name, value in self._grants.environment.items():
            if value is not None or name in self._host:
                said = stated(self._places, ("tools", self._tool.name, "envs"), self._profile)
                yield Part(name, f"{_CONFIG}{said[-1].where}")
        for secret in permissions.secrets:
            if self._host.get(secret.name):
                yield Part(secret.name, "secret")

    def _limit_source(self, name: str, value: Any) -> str:
        def read(written: Any) -> Any:
            return units.limits({name: written}).get(name)

        if name in self._bound.limits and self._bound.limits[name] == value:
            return _USED
        own = ("tools", self._tool.name, "limits", name)
        for key in (own, ("limits", name)):
            if key == own or name not in self._tool.limits:
                where = self._source_of(key, value, read)
                if where:
                    return f"{_CONFIG}{where}"
        return f"declared, limits.{name}" if name in self._tool.limits else DEFAULT

    def _timeout(self) -> Part:
        timeout = self._settings.timeout_for(self._tool.name, self._tool.timeout)
        if (bound := self._bound.timeout) is not None and shorter(timeout, bound) == bound:
            return Part(bound, _USED)
        key = ("tools", self._tool.name, "timeout")
        where = self._source_of(key, timeout, units.duration)
        if where:
            return Part(timeout, f"{_CONFIG}{where}")
        return Part(timeout, DEFAULT if timeout == Tool("").timeout else "declared, timeout")

    def _walls(
        self, permissions: Permissions, limits: Limits
    ) -> tuple[str, tuple[tuple[str, ...], ...], ToolError | None]:
        """The tier, what it enforces, what not and its warnings; or why it refuses the call."""
        from tongs.sandbox.waiting import BlockingWaiter  # noqa: PLC0415 - starts nothing

        policy = Policy(
            permissions=permissions,
            limits=limits,
            project=self._tool.origin.project or "",
            cwd=self._place.start,
            private_hosts=self._settings.private_hosts,
            enforcement=self._bound.enforcement,
            programs=self._tool.programs,
        )
        own = getattr(Executors()[self._tool.executor], "walls", None)
        if own is not None:
            return "", (tuple(own), (), ()), None
        sandbox, tier = self._sandbox, ""
        try:
            tier = sandbox.found().tier
            session = sandbox.open(policy, BlockingWaiter())
            try:
                walls = (session.enforced, session.not_enforced, session.warnings)
            finally:
                session.close()
        except ToolError as error:
            return tier, ((), (), ()), error
        finally:
            sandbox.close()
        return tier, tuple(tuple(names) for names in walls), None

    def _protected(self, permissions: Permissions) -> list[str]:
        from tongs.sandbox.roots import found_roots  # noqa: PLC0415 - starts nothing
        from tongs.sandbox.system import system_of  # noqa: PLC0415 - as above
        from tongs.sandbox.view import Held  # noqa: PLC0415 - as above

        host = self._sandbox.host
        try:
            roots = found_roots(permissions, host, self._tool.programs)
        except ToolError:
            return []  # said elsewhere: the tool cannot be run with these
        held = Held(roots, self._place.root, self._tool.programs, self._catalogue.folders.beside())
        found = held.protected(system_of(host), host)
        return [path for path, identity in found if identity is not None]

    def _changes(self, permissions: Permissions, limits: Limits) -> Iterator[Change]:
        """What a person most often wants to change, as the lines that do it."""
        root = os.path.realpath(self._place.root)
        if permissions.network is not True:
            yield self._change("the whole network", Permissions(network=True))
        if not covered(root, permissions.write) and not too_broad(root, self._place):
            yield self._change(f"writing in {root}", Permissions(write=(root,)))
        if not self._limit_source("memory", limits.memory).startswith(_CONFIG):
            # Else what the definition says has no effect.
            yield self._change("twice the memory", Permissions(), {"memory": 2 * limits.memory})

    def _change(
        self, effect: str, added: Permissions, limits: Mapping[str, Any] | None = None
    ) -> Change:
        where = lines.where(self._tool, self._place)
        return Change(effect, where, lines.lines(self._tool, self._place, added, limits or {}))
