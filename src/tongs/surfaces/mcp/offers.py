"""Which tools this server has: all that may be called, and those that are listed one by one."""

from __future__ import annotations

from collections.abc import Mapping

from tongs.core.annotations import Any
from tongs.core.errors import ToolError
from tongs.core.tool import Tool
from tongs.registry import not_found
from tongs.runtime import Runtime
from tongs.runtime.offering import SEARCH, has_one
from tongs.surfaces.mcp.listing import wire_tool
from tongs.surfaces.mcp.meta import CREATE, kind_of, meta_tools
from tongs.surfaces.mcp.options import Options

# How many tools a search looks at before those are left out that are not offered.
_FAR = 100


class Offers:
    """`metas` are the tools about tools. A filter takes none of them away but the one that writes:
    whoever asked for tools that read, or for these few, has asked for no other."""

    def __init__(self, runtime: Runtime, options: Options) -> None:
        self._runtime = runtime
        self._options = options
        aliases = runtime.settings.mcp.aliases
        metas = meta_tools(runtime, self.offered, self.search, aliases)
        self.metas = {name: tool for name, tool in metas.items() if self._keeps(name, tool)}

    def offered(self, limit: int | None = None) -> list[tuple[str, Tool]]:
        """Every tool that may be called, by the name that a client calls it, in a stable order.

        With more than `limit`, only those to keep.
        """
        options = self._options
        # One that is gone by now is no reason to offer nothing, nor everything.
        tools = [name for name in options.tools if self._is_there(name)]
        if options.tools and not tools:
            return []
        # The search stands for those that are left out; it counts as one itself.
        most = None if limit is None else limit + 1
        offer = self._runtime.offered(most, tags=options.tags, tools=tools, keep=options.keep)
        found = [pair for pair in offer.named() if self._is_tagged(pair[1])]
        if not tools and most is not None and SEARCH in offer.tools:
            keep = set(options.keep)
            found = [pair for pair in found if keep & {pair[0], pair[1].name}]
        return sorted(found, key=lambda pair: pair[0])

    def search(self, query: str, limit: int) -> list[tuple[str, Tool]]:
        filtered = bool(self._options.tags or self._options.tools)
        found = self._runtime.searched(query, _FAR if filtered else limit)
        return [pair for pair in found if self._covers(pair[1])][:limit]

    def listed(self) -> list[dict[str, Any]]:
        offered = self.offered(self._options.limit)
        pairs = [*self.metas.items(), *(pair for pair in offered if pair[0] not in self.metas)]
        return [wire_tool(name, tool, self._runtime.held(tool)) for name, tool in pairs]

    def meant(self, name: str) -> tuple[str, Tool]:
        """As `Runtime.meant`, for what this server offers; raises ToolError."""
        answers, tool = self._runtime.meant(name)
        if not self._covers(tool):
            raise not_found(name, (called for called, _ in self.offered()))
        return answers, tool

    def schema(self, name: str) -> Mapping[str, Any] | None:
        """What the tool takes that a client calls by this name; None where there is none."""
        try:
            tool = self.metas.get(name) or self.meant(name)[1]
        except ToolError:
            return None
        return tool.input_schema

    def _keeps(self, name: str, tool: Tool) -> bool:
        return kind_of(name) != CREATE or (not self._options.tools and self._is_tagged(tool))

    def _covers(self, tool: Tool) -> bool:
        named = self._options.tools
        return self._is_tagged(tool) and (not named or any(self._is(tool, name) for name in named))

    def _is_tagged(self, tool: Tool) -> bool:
        return has_one(self._options.tags, tool)

    def _is(self, tool: Tool, name: str) -> bool:
        if not self._is_there(name):
            return False
        return self._runtime.meant(name)[1].qualified_name == tool.qualified_name

    def _is_there(self, name: str) -> bool:
        try:
            self._runtime.meant(name)
        except ToolError:
            return False
        return True
