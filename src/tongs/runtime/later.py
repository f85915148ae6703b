"""Parts of a runtime, most of them made when somebody first needs them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tongs.config.places import Places
from tongs.config.settings import Settings
from tongs.core.annotations import TYPE_CHECKING
from tongs.core.tool import Tool, ToolLike
from tongs.registry import ToolRegistry
from tongs.runtime.catalogue import Catalogue
from tongs.runtime.settings_files import SettingsFiles

if TYPE_CHECKING:
    from tongs.runtime.offering import Offering
    from tongs.runtime.servers import ServerTools


class Served:
    """The tools of MCP servers; false where the config names none."""

    def __init__(self, settings: Settings, places: Places, files: SettingsFiles) -> None:
        self._servers = settings.mcp.servers
        self._state = places.state
        self._files = files
        self._made: ServerTools | None = None

    def __bool__(self) -> bool:
        return bool(self._servers)

    def __call__(self) -> ServerTools:
        from tongs.runtime.servers import ServerTools  # noqa: PLC0415 - where there are servers
        from tongs.store.pins import PinStore  # noqa: PLC0415 - as above

        if self._made is None:
            self._made = ServerTools(self._servers, PinStore(self._state), self._files.servers)
        return self._made


def registry_of(catalogue: Catalogue, tools: Iterable[Tool | ToolLike]) -> ToolRegistry:
    """The tools of the program, in front of those of the catalogue."""
    registry = ToolRegistry(catalogue.find)
    for tool in tools:
        registry.register(tool)
    return registry


def offering_of(
    registry: ToolRegistry, catalogue: Catalogue, prefix: str
) -> Callable[[], Offering]:
    """What models are offered."""
    made: list[Offering] = []

    def get() -> Offering:
        from tongs.runtime.offering import Offering  # noqa: PLC0415 - for models only

        if not made:
            made.append(Offering(registry, catalogue, prefix))
        return made[0]

    return get
