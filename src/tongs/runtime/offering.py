"""Which tools a model is offered, under which names, and how it finds those that it is not."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from tongs.builtin import ALIASES
from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.approval import Approver
from tongs.core.call import Caller
from tongs.core.errors import ToolError
from tongs.core.result import ToolResult
from tongs.core.scope import Scope
from tongs.core.tool import Tool
from tongs.registry import RESERVED, Entry, ToolRegistry, not_found
from tongs.registry.names import ModelNames
from tongs.runtime.call_shapes import (
    Answered,
    Asked,
    Message,
    anthropic_calls,
    anthropic_messages,
    openai_calls,
    openai_messages,
)
from tongs.runtime.model_calls import AGENT, ModelCalls, Watch

if TYPE_CHECKING:
    from tongs.registry.export import Exported
    from tongs.registry.search import Searcher
    from tongs.runtime import Runtime
    from tongs.runtime.catalogue import Catalogue

SEARCH = "tools_search"
# What comes first where not everything can be offered.
_NEAREST = (Scope.LOCAL, Scope.BUILTIN, Scope.USER, Scope.GLOBAL)


class Offering:
    """All that may be offered to a model: it is trusted, usable, and answers to its name."""

    def __init__(self, registry: ToolRegistry, catalogue: Catalogue, prefix: str) -> None:
        self._registry = registry
        self._catalogue = catalogue
        self._prefix = prefix
        self._searcher: Searcher | None = None
        self._names: tuple[list[str], ModelNames] = ([], ModelNames(()))

    def entries(self) -> list[Entry]:
        """What is known of each, the program's own first, then by nearness."""
        from tongs.runtime.rows import shown  # noqa: PLC0415 - made after this

        own = [shown(tool) for tool in self._registry.list()]
        found = {entry.name: entry for entry in own}
        builtin = {
            entry.name: entry
            for entry in self._catalogue.entries(Scope.BUILTIN)
            if entry.name not in ALIASES
        }
        others = []
        for entry in self._catalogue.entries():
            usable = entry.trust.holds and not (entry.broken or entry.clash or entry.shadowed)
            if usable and not (entry.name in RESERVED and entry.name in builtin):
                others.append(entry)
        others += builtin.values()
        for entry in sorted(others, key=lambda each: _NEAREST.index(each.scope)):
            found.setdefault(entry.name, entry)
        return list(found.values())

    def tools(self, entries: Iterable[Entry]) -> list[Tool]:
        """Those of them that can be loaded."""
        found = []
        for entry in entries:
            try:
                found.append(self._registry.get(entry.name))
            except ToolError:
                continue  # changed meanwhile: a listing will say what is wrong with it
        return found

    def offered_name(self, tool: Tool) -> str:
        """Executables of Kodelet are known to models by a prefix (seed 003)."""
        return f"{self._prefix}{tool.name}" if tool.origin.family == "kodelet" else tool.name

    def model_names(self, entries: Sequence[Entry]) -> ModelNames:
        called = [
            f"{self._prefix}{entry.name}" if entry.family == "kodelet" else entry.name
            for entry in entries
        ]
        if called != self._names[0]:
            self._names = (called, ModelNames(called))
        return self._names[1]

    def meant(self, name: str) -> Tool:
        """The tool that a model means by a name; raises ToolError."""
        return self.answering(name)[1]

    def answering(self, name: str) -> tuple[str, Tool]:
        """As above, with the name that the tool answers to."""
        try:
            return name, self._registry.get(name)
        except ToolError:
            known = self.model_names(self.entries())
            if (other := known.from_model(name)) == name:
                raise
            return other, self._registry.get(other)

    def as_it_is_now(self, tool: Tool) -> Tool:
        """The same tool, read anew; raises ToolError where it is gone."""
        fresh = self._registry.get(tool.name)
        if (fresh.qualified_name, fresh.origin.path) == (tool.qualified_name, tool.origin.path):
            return fresh
        return self._registry.get(tool.qualified_name)  # another one has its short name

    def _findable(self) -> list[Entry]:
        return [entry for entry in self.entries() if entry.name != SEARCH]

    def search(self, query: str, limit: int) -> list[tuple[str, Tool]]:
        """The tools that fit the words best, each with the name that a model calls it by."""
        from tongs.registry.search import Searcher  # noqa: PLC0415 - where somebody searches

        if self._searcher is None:
            self._searcher = Searcher(self._findable)
        found = self.tools(self._searcher.find(query, limit))
        names = self.model_names(self.entries())
        return [(names.to_model(self.offered_name(tool)), tool) for tool in found]


class Offer(ToolRegistry):
    """The tools that one model is offered; it grows by what the model finds with `tools_search`.

    Without `tools` it is nobody's choice: every tool may be called. With `tags`, it grows only by
    tools that have one of them.
    """

    def __init__(
        self,
        runtime: Runtime,
        offering: Offering,
        tools: Iterable[Tool] | None,
        tags: Iterable[str] = (),
    ) -> None:
        super().__init__(None, {tool.name: tool for tool in tools or ()})
        self._anything = tools is None
        self._tags = frozenset(tags)
        self._runtime = runtime
        self._offering = offering

    def export(self, form: str, *, strict: bool = False) -> Exported:
        from tongs.registry.export import export  # noqa: PLC0415 - calls need no formats

        return export(self.list(), form, strict=strict, names=self._offering.offered_name)

    def named(self) -> list[tuple[str, Tool]]:
        """Each tool with the name that a model calls it by."""
        called = [(self._offering.offered_name(tool), tool) for tool in self.list()]
        names = ModelNames(name for name, _ in called)
        return [(names.to_model(name), tool) for name, tool in called]

    async def handle_openai(
        self, tool_calls: Any, *, caller: Caller | None = None, approver: Approver | None = None
    ) -> list[Message]:
        """As `Runtime.handle_openai`, for the tools of this offer only."""
        answered = await self._calls(caller, approver).run(openai_calls(tool_calls))
        return openai_messages(self._grown(answered))

    async def handle_anthropic(
        self, blocks: Any, *, caller: Caller | None = None, approver: Approver | None = None
    ) -> list[Message]:
        """As `Runtime.handle_anthropic`, for the tools of this offer only."""
        answered = await self._calls(caller, approver).run(anthropic_calls(blocks))
        return anthropic_messages(self._grown(answered))

    def handle_openai_sync(
        self, tool_calls: Any, *, caller: Caller | None = None, approver: Approver | None = None
    ) -> list[Message]:
        answered = self._calls(caller, approver).run_sync(openai_calls(tool_calls))
        return openai_messages(self._grown(answered))

    def handle_anthropic_sync(
        self, blocks: Any, *, caller: Caller | None = None, approver: Approver | None = None
    ) -> list[Message]:
        answered = self._calls(caller, approver).run_sync(anthropic_calls(blocks))
        return anthropic_messages(self._grown(answered))

    async def carry_out(
        self,
        asked: Sequence[Asked],
        *,
        caller: Caller,
        approver: Approver | None,
        watch: Watch,
    ) -> list[Answered]:
        """Every call with its result, in their order, followed by `watch`."""
        calls = ModelCalls(self._runtime, self._offered, caller, approver, watch)
        return self._grown(await calls.run(asked))

    def _calls(self, caller: Caller | None, approver: Approver | None) -> ModelCalls:
        return ModelCalls(self._runtime, self._offered, caller or AGENT, approver)

    def _offered(self, name: str) -> Tool:
        if self._anything:
            return self._offering.meant(name)
        called = {self._offering.offered_name(tool): tool for tool in self.tools.values()}
        tool = called.get(ModelNames(called).from_model(name)) or self.tools.get(name)
        if tool is None:
            raise not_found(name, called)
        return self._offering.as_it_is_now(tool)

    def _grown(self, answered: list[Answered]) -> list[Answered]:
        for each in answered:
            if each.asked.name == SEARCH and each.result.ok and not self._anything:
                for tool in found_by(each.result, self._offering.meant):
                    if has_one(self._tags, tool):
                        self.tools.setdefault(tool.name, tool)
        return answered


def has_one(tags: Collection[str], tool: Tool | Entry) -> bool:
    """Whether the person's choice of tags, if there is one, covers a tool."""
    return not tags or not {*tool.tags, str(tool.level)}.isdisjoint(tags)


def found_by(result: ToolResult, meant: Callable[[str], Tool]) -> list[Tool]:
    """The tools that a search has named."""
    named = result.value.get("tools", ()) if isinstance(result.value, dict) else ()
    found = []
    for each in named:
        try:
            found.append(meant(str(each["name"])))
        except (ToolError, KeyError, TypeError):
            continue
    return found


def chosen(
    offering: Offering,
    *,
    limit: int | None,
    tags: Iterable[str],
    tools: Iterable[str],
    keep: Iterable[str],
) -> list[Tool]:
    """The tools for an offer; with too many of them, the nearest and the search for the others."""
    wanted, named, first = set(tags), list(tools), list(keep)
    if named:
        return [offering.meant(name) for name in named]
    entries = [entry for entry in offering.entries() if has_one(wanted, entry)]
    if limit is None or len(entries) <= limit:
        return offering.tools(entry for entry in entries if entry.name != SEARCH)
    kept = [entry for name in first for entry in entries if entry.name == name]
    rest = [entry for entry in entries if entry.name not in (*first, SEARCH)]
    few = offering.tools((*kept, *rest)[: max(limit - 1, 0)])
    return [*few, offering.meant(SEARCH)]


__all__ = ["SEARCH", "Asked", "Offer", "Offering", "chosen", "has_one"]
