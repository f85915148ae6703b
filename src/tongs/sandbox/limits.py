"""The back end `limits`: a clean start, bounded resources, and the death of the whole tree.

It asks nothing special of the kernel, and confines neither files nor network.
"""

from __future__ import annotations

import os

from tongs.core.annotations import TYPE_CHECKING
from tongs.sandbox.host import Host
from tongs.sandbox.linux import ALWAYS, LinuxSandbox, resource_limits, threads_of

if TYPE_CHECKING:
    from tongs.core.execution import Policy, SpoolOpener
    from tongs.sandbox.session import Confinement

NOT_ENFORCED = ("network", "fs.read", "fs.write", "tree-memory")


def create(*, direct: bool, spool: SpoolOpener | None, temp_root: str, host: Host) -> LimitsSandbox:
    return LimitsSandbox(direct=direct, spool=spool, temp_root=temp_root, host=host)


class LimitsSandbox(LinuxSandbox):
    """Processes without walls around them."""

    def _confined(self, policy: Policy) -> Confinement:
        from tongs.sandbox.channel import Blueprint  # noqa: PLC0415 - Linux only
        from tongs.sandbox.orders import Jail  # noqa: PLC0415 - Linux only
        from tongs.sandbox.session import Confinement  # noqa: PLC0415 - Linux only

        user = os.geteuid()
        # The kernel does not count the processes of root.
        limits = policy.limits
        return Confinement(
            lambda: Blueprint("limits", lambda scratch: Jail(), temp_root=self._temp_root),
            limits=lambda: resource_limits(limits, started=threads_of(user) if user else None),
            enforced=ALWAYS,
            not_enforced=NOT_ENFORCED if user else (*NOT_ENFORCED, "processes"),
        )
