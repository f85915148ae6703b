"""The back end `landlock`, tier B: for hosts that forbid user namespaces, as most containers do.

Landlock is the wall around files, a stricter seccomp filter the one around everything else. What
these two cannot hold is declared with every result.
"""

from __future__ import annotations

import os

from tongs.core.annotations import TYPE_CHECKING
from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.core.execution import Policy
from tongs.core.permissions import Permissions
from tongs.sandbox import view
from tongs.sandbox.channel import Blueprint
from tongs.sandbox.host import Host
from tongs.sandbox.linux import (
    ALWAYS,
    WARM_FROM,
    LinuxSandbox,
    resource_limits,
    seccomp_filter,
    threads_of,
)
from tongs.sandbox.orders import Jail
from tongs.sandbox.roots import WRITE, Roots, inside
from tongs.sandbox.session import Confinement
from tongs.sandbox.system import System

if TYPE_CHECKING:
    from tongs.core.execution import SpoolOpener
    from tongs.sandbox.scratch import Scratch
    from tongs.sandbox.warm import Warmth

# git and node take a config that may not be read for fatal, where a missing one is none.
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "OPENSSL_CONF": "/dev/null",
}


def create(
    *, direct: bool, spool: SpoolOpener | None, temp_root: str, host: Host
) -> LandlockSandbox:
    return LandlockSandbox(direct=direct, spool=spool, temp_root=temp_root, host=host)


class LandlockSandbox(LinuxSandbox):
    """The walls of tier B."""

    def _confined(self, policy: Policy) -> Confinement:
        permissions = policy.permissions
        if not isinstance(permissions.network, bool):
            raise _no_host_lists(permissions.network)
        roots = self._roots.found(permissions, self._host, policy.programs)
        _refuse_state(roots, self._host)
        if self._abi < 1:
            # Somebody found it once, and it is gone: without it nothing here confines files.
            raise ToolError(
                ErrorCode.SANDBOX_UNAVAILABLE,
                "this kernel has no Landlock, or does not let this process use it",
                hint="`tongs doctor` tells what is missing and how to get it",
            )
        enforced = [*ALWAYS, "network", "fs.read", "fs.write"]
        not_enforced = [*policy.not_enforced, "stat"]
        if any(root.mode == WRITE for root in roots.entries):
            not_enforced += ["metadata", "protected-paths"]
        else:
            enforced.append("metadata")
        if permissions.scratch:
            not_enforced.append("scratch-view")
        (enforced if self._abi >= 6 else not_enforced).append("signals")
        if permissions.network:
            not_enforced.append("unix-names")
        held, declared = self._over_the_tree(counted=False)
        enforced += held
        not_enforced += declared
        if os.geteuid() == 0 and "processes" not in held:
            # Nothing bounds how fast root can fork, so a storm of forks may outrun the kill.
            not_enforced.append("tree-kill")
        user = os.geteuid()
        return Confinement(
            lambda: self._blueprint(policy, roots),
            limits=lambda: resource_limits(
                policy.limits, started=threads_of(user) if user else None
            ),
            enforced=tuple(name for name in enforced if name not in not_enforced),
            not_enforced=tuple(not_enforced),
            environment=_ENVIRONMENT,
            warnings=[f"{path} does not exist, so it was not granted" for path in roots.missing],
            watch=view.Held(roots, policy.project, policy.programs).watch,
            warmth=self._warmth(permissions),
        )

    def _warmth(self, permissions: Permissions) -> Warmth | None:
        if self._direct or self._abi < WARM_FROM or permissions.scratch:
            return None
        from tongs.sandbox.warm import Warmth  # noqa: PLC0415 - servers only

        return Warmth(self._abi)

    def _blueprint(self, policy: Policy, roots: Roots) -> Blueprint:
        system = self._known_system()
        limits = policy.limits
        network = bool(policy.permissions.network)
        key = (roots.entries, network, limits.memory, limits.processes)
        common = self._kept_jail(key, lambda: self._jail(policy, roots, system))

        def draw(scratch: Scratch) -> Jail:
            own = view.rules_of_scratch(scratch.folder, scratch.tmp, self._abi)
            return common.with_rules(own)

        return Blueprint(common, draw, self._group(limits), self._temp_root)

    def _jail(self, policy: Policy, roots: Roots, system: System) -> Jail:
        network = bool(policy.permissions.network)
        return Jail(
            abi=self._abi,
            rules=view.rules_alone(roots, system, self._abi, network=network),
            network=network,
            filter=seccomp_filter(
                network=network,
                strict=True,
                writes=any(root.mode == WRITE for root in roots.entries),
                truncate=self._abi >= 3,
            ),
            watched=self._watched(policy.limits),
        )


def _refuse_state(roots: Roots, host: Host) -> None:
    """Landlock cannot take away from what a rule grants, so nothing around these is granted."""
    for root in roots.entries:
        for folder in (host.state, *(host.authority if root.mode == WRITE else ())):
            if folder and inside(folder, root.path):
                raise ToolError(
                    ErrorCode.PERMISSION_DENIED,
                    f"{root.path} holds {folder}, which no tool may be granted,"
                    " and without user namespaces it cannot be left out",
                    details={"path": root.path},
                    blocked_by=BlockedBy.PERMISSION,
                    hint="name the folders in it that are needed",
                )


def _no_host_lists(hosts: tuple[str, ...]) -> ToolError:
    return ToolError(
        ErrorCode.SANDBOX_UNAVAILABLE,
        f"network: [{', '.join(hosts)}] cannot be enforced without user namespaces",
        blocked_by=BlockedBy.PERMISSION,
        hint="allow user namespaces (tongs doctor tells how), or grant the network with true",
    )
