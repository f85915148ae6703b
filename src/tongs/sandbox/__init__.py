"""The one place that starts processes. A back end is one module; its name is the key.

Modules are imported when they are chosen, so that looking at tools costs nothing of this.
"""

from __future__ import annotations

from importlib import import_module

from tongs.core.annotations import TYPE_CHECKING

if TYPE_CHECKING:
    from tongs.core.execution import Sandbox, SpoolOpener
    from tongs.sandbox.host import Host

# Those for Linux, the strongest first, and those for other systems.
KEYS = ("namespaces", "landlock", "limits")
ELSEWHERE = ("seatbelt", "winjob")


def create(
    key: str,
    *,
    direct: bool,
    spool: SpoolOpener | None = None,
    temp_root: str = "/tmp",
    host: Host | None = None,
) -> Sandbox:
    """The back end of that name. `direct` is for a process that has one thread and keeps it so."""
    from tongs.sandbox.host import Host  # noqa: PLC0415 - as above

    if key not in KEYS + ELSEWHERE:
        raise KeyError(key)
    made: Sandbox = import_module(f"{__name__}.{key}").create(
        direct=direct, spool=spool, temp_root=temp_root, host=host or Host()
    )
    return made
