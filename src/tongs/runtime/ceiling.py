"""The most that a tool which an agent created may be given: `security.max_permissions`.

Every file that has one counts, and all of them hold at once. Where the person has written or
accepted none, the default holds, too: the project for reading, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator

from tongs.config.places import Places
from tongs.config.settings import Ceiling, Settings
from tongs.core.annotations import Any
from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.core.permissions import Permissions
from tongs.core.record import dataclass

DEFAULT = Ceiling(Permissions(read=(".",)), "the default ceiling")


@dataclass(frozen=True, slots=True)
class Excess:
    """What one ceiling refuses. Paths as the author wrote them."""

    permissions: Permissions
    source: str

    def lines(self) -> Iterator[str]:
        """`network: true`, `secrets: API_KEY`, …: one for each thing that is too much."""
        network = self.permissions.network
        if network is True:
            yield "network: true"
        for label, items in (
            ("network", () if isinstance(network, bool) else network),
            ("fs.read", self.permissions.read),
            ("fs.write", self.permissions.write),
            ("secrets", [secret.name for secret in self.permissions.secrets]),
        ):
            yield from (f"{label}: {item}" for item in items)

    def to_wire(self) -> dict[str, Any]:
        return {"ceiling": self.source, "beyond": self.permissions.to_wire()}


def in_force(settings: Settings) -> tuple[Ceiling, ...]:
    """Every ceiling. What came with a project cannot take the place of the default."""
    if any(ceiling.vouched for ceiling in settings.ceilings):
        return settings.ceilings
    return (*settings.ceilings, DEFAULT)


def excesses(wanted: Permissions | None, settings: Settings, places: Places) -> list[Excess]:
    """What goes beyond each ceiling; relative paths of both start at the project root."""
    wanted = wanted or Permissions()
    base, home = places.root, places.home
    asked = wanted.resolved(base, home)
    found = []
    for ceiling in in_force(settings):
        beyond = asked.beyond(ceiling.permissions.resolved(base, home))
        if beyond != Permissions():
            found.append(Excess(_as_written(beyond, wanted, base, home), ceiling.source))
    return found


def require_within(
    name: str, wanted: Permissions | None, settings: Settings, places: Places
) -> None:
    """Raises ToolError with every line that is too much for a ceiling, and where that stands."""
    found = excesses(wanted, settings, places)
    if not found:
        return
    told = "; ".join(f"{', '.join(one.lines())} ({one.source})" for one in found)
    where = "security.max_permissions of your config.yml"
    if found[0].source != DEFAULT.source:
        where = found[0].source
    raise ToolError(
        ErrorCode.DENIED,
        f"{name} asks for more than a tool that an agent created may have: {told}",
        details={"beyond": [one.to_wire() for one in found]},
        blocked_by=BlockedBy.CEILING,
        hint=f"ask for less; a person can raise the ceiling: {where}",
    )


def _as_written(beyond: Permissions, wanted: Permissions, base: str, home: str) -> Permissions:
    def written(paths: tuple[str, ...], too_much: tuple[str, ...]) -> tuple[str, ...]:
        pairs = ((path, Permissions(read=(path,)).resolved(base, home).read[0]) for path in paths)
        return tuple(path for path, whole in pairs if whole in too_much)

    return Permissions(
        network=beyond.network,
        read=written(wanted.read, beyond.read),
        write=written(wanted.write, beyond.write),
        secrets=beyond.secrets,
    )
