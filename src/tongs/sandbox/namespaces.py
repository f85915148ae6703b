"""The back end `namespaces`, tier A: the call has a root, a network and a process table of its own.

What was not granted does not exist in there. Landlock stands behind it as a second wall, and
seccomp refuses what neither covers. Needs user namespaces.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from tongs.core.annotations import TYPE_CHECKING
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Policy
from tongs.core.permissions import Permissions
from tongs.core.record import replace
from tongs.sandbox import kernel, view
from tongs.sandbox.channel import Blueprint
from tongs.sandbox.host import Host
from tongs.sandbox.linux import (
    ALWAYS,
    WARM_FROM,
    LinuxSandbox,
    resource_limits,
    seccomp_filter,
)
from tongs.sandbox.orders import PROXY_PORT, Jail
from tongs.sandbox.session import Confinement
from tongs.sandbox.system import System

if TYPE_CHECKING:
    from tongs.core.execution import SpoolOpener
    from tongs.sandbox.proxyclient import HostProxy
    from tongs.sandbox.roots import Roots
    from tongs.sandbox.warm import Warmth

_NAMESPACES = (
    kernel.CLONE_NEWUSER
    | kernel.CLONE_NEWNS
    | kernel.CLONE_NEWPID
    | kernel.CLONE_NEWIPC
    | kernel.CLONE_NEWUTS
)
ENFORCED = (
    *ALWAYS,
    *("network", "fs.read", "fs.write", "metadata", "stat", "signals"),
)


def create(
    *, direct: bool, spool: SpoolOpener | None, temp_root: str, host: Host
) -> NamespaceSandbox:
    return NamespaceSandbox(direct=direct, spool=spool, temp_root=temp_root, host=host)


class NamespaceSandbox(LinuxSandbox):
    """The walls of tier A."""

    _own_warmth: Warmth | None = None

    def _confined(self, policy: Policy) -> Confinement:
        permissions = policy.permissions
        not_enforced = []
        if permissions.scratch and not self._host.scratch_view:
            # It can be read, and what the call writes is refused instead of forgotten.
            permissions = replace(permissions, scratch=())
            not_enforced.append("scratch-view")
        roots = self._roots.found(permissions, self._host, policy.programs)
        hosts = permissions.network if not isinstance(permissions.network, bool) else ()
        if hosts:
            _check_hosts(hosts, policy.private_hosts)
        if not self._abi:
            not_enforced.append("landlock")  # the second wall
        # In a user namespace the kernel counts processes for everybody but root.
        enforced, declared = self._over_the_tree(counted=os.geteuid() != 0)
        not_enforced += declared
        if permissions.write:
            enforced.append("protected-paths")
            # A mount protects what is there. What is missing, or a link, can be made anew.
            not_enforced.append("new-protected-paths")
        if permissions.scratch:
            enforced.append("scratch-view")
        if permissions.network is True:
            not_enforced.append("unix-names")
        held = view.Held(roots, policy.project, policy.programs, policy.held)
        return Confinement(
            lambda: self._blueprint(policy, roots, held),
            # In a user namespace of its own only the call is counted, its supervisor included.
            limits=lambda: resource_limits(policy.limits, started=2),
            enforced=(*ENFORCED, *enforced),
            not_enforced=tuple(not_enforced),
            scratch=view.TEMPORARY,
            files=view.FILES,
            environment=_proxy_variables() if hosts else {},
            proxy=_proxy(hosts, policy.private_hosts) if hosts else None,
            warnings=[f"{path} does not exist, so it was not granted" for path in roots.missing],
            watch=held.watch,
            warmth=self._warmth(permissions),
        )

    def _warmth(self, permissions: Permissions) -> Warmth | None:
        """Not where a call has more of its own than its folders: an overlay, or a proxy."""
        if self._direct or self._abi < WARM_FROM or permissions.scratch:
            return None
        if not isinstance(permissions.network, bool):
            return None
        if self._own_warmth is None:
            from tongs.sandbox.warm import Warmth  # noqa: PLC0415 - servers only

            folders = (view.TEMPORARY, view.SHARED_MEMORY, self._host.home)
            self._own_warmth = Warmth(self._abi, folders, "/")
        return self._own_warmth

    def _blueprint(self, policy: Policy, roots: Roots, held: view.Held) -> Blueprint:
        system = self._known_system()
        limits = policy.limits
        protected = held.protected(system, self._host)
        bounds = (policy.permissions.network, limits.memory, limits.processes)
        links = view.links_in(policy.programs)
        key = (roots.entries, protected, policy.cwd, links, *bounds)
        jail = self._kept_jail(key, lambda: self._jail(policy, roots, system, protected))
        return Blueprint(jail, lambda scratch: jail, self._group(limits), self._temp_root)

    def _jail(
        self,
        policy: Policy,
        roots: Roots,
        system: System,
        protected: tuple[tuple[str, tuple[int, int] | None], ...],
    ) -> Jail:
        network = policy.permissions.network
        return Jail(
            namespaces=_NAMESPACES if network is True else _NAMESPACES | kernel.CLONE_NEWNET,
            view=view.private_root(
                roots,
                system,
                self._host,
                view.Guest(
                    cwd=policy.cwd,
                    protected=tuple(path for path, _ in protected),
                    network=network is True,
                    user=os.geteuid(),
                    group=os.getegid(),
                    links=view.links_in(policy.programs),
                ),
            ),
            size=policy.limits.memory,
            abi=self._abi,
            rules=view.rules_inside(roots, self._host, self._abi),
            network=bool(network),
            filter=seccomp_filter(network=bool(network), strict=False, writes=True, truncate=True),
            files=view.FILES.encode(),
            proxy=not isinstance(network, bool),
            watched=self._watched(policy.limits),
        )


def _proxy(hosts: tuple[str, ...], private: tuple[str, ...]) -> Callable[[int], HostProxy]:
    def start(listening: int) -> HostProxy:
        from tongs.sandbox.proxyclient import HostProxy  # noqa: PLC0415 - lists of hosts only

        return HostProxy(listening, hosts, private)

    return start


def _check_hosts(hosts: tuple[str, ...], private: tuple[str, ...]) -> None:
    from tongs.core.hosts import parse, parse_grant  # noqa: PLC0415 - as above

    for entries, check, where in (
        (hosts, parse, "permissions.network"),
        (private, parse_grant, "security.allow_private_hosts"),
    ):
        for entry in entries:
            try:
                check(entry)
            except ValueError as error:
                raise ToolError(
                    ErrorCode.INVALID_DEFINITION, f"{where}: {entry}: {error}"
                ) from None


def _proxy_variables() -> dict[str, str]:
    from tongs.sandbox.proxyclient import environment  # noqa: PLC0415 - as above

    return environment(PROXY_PORT)
