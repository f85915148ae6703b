"""Which rules can have anything to say about a call: a thousand cost little more than ten."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tongs.core.annotations import Any, TypeAlias
from tongs.core.call import ToolCall
from tongs.core.decision import Verdict
from tongs.core.tool import Tool

# A rule, and what it says of every call of the tool.
Asked: TypeAlias = tuple[Any, Verdict | None]


# Tools of which it is kept what there is to say about each.
_MOST_KEPT = 64


class RuleIndex:
    """Rules by the tool or the program they are about; the others are asked every time.

    Those that look at commands alone (`only_commands`) are not asked where a call has none. Those
    that look at the tool alone (`only_tool`) are asked once for each tool, which never changes.
    """

    def __init__(self, rules: Iterable[Any]) -> None:
        self._always: list[tuple[int, Any]] = []
        self._without_command: list[tuple[int, Any]] = []
        self._by_tool: dict[str, list[tuple[int, Any]]] = {}
        self._by_program: dict[str, list[tuple[int, Any]]] = {}
        # By identity, holding the tool so that the identity cannot be given to another one.
        self._about_tool: dict[int, tuple[Tool, Sequence[Asked]]] = {}
        # How the rules that look at commands look; all of one runtime do it in the same way.
        self._look: Any = None
        for entry in enumerate(rules):
            self._add(entry)

    def _add(self, entry: tuple[int, Any]) -> None:
        rule = entry[1]
        when = getattr(rule, "when", None)
        tools, programs = getattr(when, "tools", ()), getattr(when, "programs", ())
        if tools:
            for name in dict.fromkeys(tools):
                self._by_tool.setdefault(name, []).append(entry)
            return
        if programs:
            self._look = rule.look
            for name in dict.fromkeys(programs):
                self._by_program.setdefault(name, []).append(entry)
            return
        self._always.append(entry)
        if getattr(rule, "only_commands", False):
            self._look = rule.look
        else:
            self._without_command.append(entry)

    def about(self, call: ToolCall, tool: Tool) -> Sequence[Asked]:
        """The rules to ask, in their order, each with its verdict where that is known."""
        lines = () if self._look is None else self._look(call, tool).lines
        if not lines:
            known = self._about_tool.get(id(tool))
            if known is None:
                if len(self._about_tool) >= _MOST_KEPT:
                    self._about_tool.clear()
                rules = self._with_those_of(tool, self._without_command)
                known = (tool, _asked(rules, call, tool))
                self._about_tool[id(tool)] = known
            return known[1]
        programs = self._about_programs(call, tool) if self._by_program else ()
        rules = self._with_those_of(tool, (*self._always, *programs))
        return [(rule, None) for rule in rules]

    def _with_those_of(self, tool: Tool, entries: Iterable[tuple[int, Any]]) -> list[Any]:
        """Rules that name no tool and those that name this one, in their order."""
        found = dict(entries)
        if not tool.private:
            for name in (tool.name, tool.qualified_name):
                found.update(self._by_tool.get(name, ()))
        return [found[number] for number in sorted(found)]

    def _about_programs(self, call: ToolCall, tool: Tool) -> Iterator[tuple[int, Any]]:
        case = self._look(call, tool)
        for number in range(len(case.lines)):
            reading = case.reading(number)
            unsure = bool(reading.doubts)
            for invocation in reading.invocations:
                unsure = unsure or "\0" in invocation.words[0]
                yield from self._by_program.get(invocation.program, ())
            if unsure:
                for entries in self._by_program.values():
                    yield from entries


def _asked(rules: Iterable[Any], call: ToolCall, tool: Tool) -> list[Asked]:
    """Without the rules that have nothing to say about the tool."""
    found: list[Asked] = []
    for rule in rules:
        # Of its own class: one derived from it may look at more.
        if not vars(type(rule)).get("only_tool"):
            found.append((rule, None))
        elif verdict := rule.check(call, tool):
            found.append((rule, verdict))
    return found
