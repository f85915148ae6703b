"""Which tools this server has: all that may be called, and those that are listed one by one."""

from __future__ import annotations

from tongs.core.annotations import Any
from tongs.core.errors import ToolError
from tongs.core.tool import Tool
from tongs.registry import not_found
from tongs.runtime import Runtime
from tongs.surfaces.mcp.listing import wire_tool
from tongs.surfaces.mcp.meta import meta_tools
from tongs.surfaces.mcp.options import Options


class Offers:
    """`metas` are the tools about tools, which no filter takes away."""

    def __init__(self, runtime: Runtime, options: Options) -> None:
        self._runtime = runtime
        self._options = options
        aliases = getattr(getattr(runtime.settings, "mcp", None), "aliases", "") or ""
        self.metas = meta_tools(runtime, self.offered, self.search, aliases)

    def offered(self) -> list[tuple[str, Tool]]:
        """Every tool that may be called, by the name that a client calls it, in a stable order."""
        offer = self._runtime.offered(tags=self._options.tags, tools=self._options.tools)
        named = [pair for pair in offer.named() if self._is_tagged(pair[1])]
        return sorted(named, key=lambda pair: pair[0])

    def search(self, query: str, limit: int) -> list[tuple[str, Tool]]:
        offered = {tool.qualified_name: name for name, tool in self.offered()}
        return [
            (offered[tool.qualified_name], tool)
            for tool in self._runtime.search(query, limit)
            if tool.qualified_name in offered
        ]

    def listed(self) -> list[dict[str, Any]]:
        offered = [pair for pair in self.offered() if pair[0] not in self.metas]
        if len(offered) > self._options.limit:
            keep = set(self._options.keep)
            offered = [pair for pair in offered if keep & {pair[0], pair[1].name}]
        pairs = [*self.metas.items(), *offered]
        return [wire_tool(name, tool, self._runtime.held(tool)) for name, tool in pairs]

    def meant(self, name: str) -> tuple[str, Tool]:
        """As `Runtime.meant`, for what this server offers; raises ToolError."""
        answers, tool = self._runtime.meant(name)
        if not self._covers(tool):
            raise not_found(name, (called for called, _ in self.offered()))
        return answers, tool

    def _covers(self, tool: Tool) -> bool:
        named = self._options.tools
        return self._is_tagged(tool) and (not named or any(self._is(tool, name) for name in named))

    def _is_tagged(self, tool: Tool) -> bool:
        wanted = self._options.tags
        return not wanted or not {*tool.tags, tool.level.value}.isdisjoint(wanted)

    def _is(self, tool: Tool, name: str) -> bool:
        try:
            return self._runtime.meant(name)[1].qualified_name == tool.qualified_name
        except ToolError:
            return False  # it is gone
