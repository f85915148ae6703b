"""What an attack is: a script that a hostile tool would run, and what tells that it got through."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tongs.core.errors import ErrorCode
from tongs.core.permissions import Limits, Permissions

if TYPE_CHECKING:
    from tests.escape.scene import Scene

    from tongs.core.execution import Session

NAMESPACES = "namespaces"
LANDLOCK = "landlock"
TIERS = (NAMESPACES, LANDLOCK)

# Where a control runs: the back end that confines nothing, or no Tongs at all where even that one
# holds the attack.
LIMITS = "limits"
PLAIN = "plain"

# Who forks the payload: a fork server that serves all attacks, one of its own, one that a process
# of Tongs has started for this very call, or that process itself.
SHARED = "shared"
FRESH = "fresh"
DIRECT = "direct"
FORKED = "forked"

# What a control may lack. ROOT: an ordinary user is refused by the system itself. NESTING: user
# namespaces, which some systems forbid. KERNEL: a feature that some kernels are built without.
ROOT = "root"
NESTING = "nesting"
KERNEL = "kernel"


# Tongs grants this to nobody.
NEVER_GRANTED = dict.fromkeys(TIERS, ErrorCode.PERMISSION_DENIED)

NOTHING = Permissions()
USUAL = Limits()


def _nothing_arranged(scene: Scene) -> Mapping[str, Any]:
    return {}


def _nothing_seen(scene: Scene) -> Iterable[str]:
    return ()


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack. If it got through, `script` prints ESCAPED or a secret, or leaves a trace.

    Paths in `permissions` start at the project; `{home}`, `{state}`, `{outside}` and `{work}` are
    places of the arranged world. It has to be held, except where `declared` names for a tier what
    the session then lists as not enforced: there it has to get through.
    """

    name: str
    topic: str
    script: str
    permissions: Permissions = NOTHING
    limits: Limits = USUAL
    timeout: float = 20.0
    arrange: Callable[[Scene], Mapping[str, Any]] = _nothing_arranged
    evidence: Callable[[Scene], Iterable[str]] = _nothing_seen
    # A second step of the same call, and what Tongs does before it.
    then: str = ""
    between: Callable[[Scene, Session], None] | None = None
    bash: bool = False
    # Folder of the project in which the payload starts.
    cwd: str = "."
    launch: str = SHARED
    # By tier, the code with which Tongs may refuse such a policy as a whole.
    refused: Mapping[str, ErrorCode] = field(default_factory=dict)
    # The payload may be killed for it, or run out of time.
    deadly: bool = False
    declared: Mapping[str, str] = field(default_factory=dict)
    # Somebody looks from time to time, and ends it: a declared attack that may still be held.
    watched: bool = False
    control: str = LIMITS
    needs: str = ""
    # How the system itself refuses where `needs` is lacking.
    otherwise: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name.replace(" ", "-")


def reading(*paths: str, **others: Any) -> Permissions:
    return Permissions(read=paths, **others)


def writing(*paths: str, **others: Any) -> Permissions:
    return Permissions(read=(".",), write=paths, **others)


PROJECT_READABLE = reading(".")
PROJECT_WRITABLE = writing(".")
OUT_WRITABLE = writing("out")
ONLINE = Permissions(network=True, read=(".",))
