"""Which rules can have anything to say about a call: a thousand cost little more than ten."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tongs.core.annotations import Any
from tongs.core.call import ToolCall
from tongs.core.tool import Tool


class RuleIndex:
    """Rules by the tool or the program they are about; the others are asked every time."""

    def __init__(self, rules: Iterable[Any]) -> None:
        self._always: list[tuple[int, Any]] = []
        self._by_tool: dict[str, list[tuple[int, Any]]] = {}
        self._by_program: dict[str, list[tuple[int, Any]]] = {}
        for entry in enumerate(rules):
            when = getattr(entry[1], "when", None)
            tools, programs = getattr(when, "tools", ()), getattr(when, "programs", ())
            if tools:
                for name in dict.fromkeys(tools):
                    self._by_tool.setdefault(name, []).append(entry)
            elif programs:
                for name in dict.fromkeys(programs):
                    self._by_program.setdefault(name, []).append(entry)
            else:
                self._always.append(entry)

    def about(self, call: ToolCall, tool: Tool) -> Iterable[Any]:
        """The rules to ask, in their order."""
        if not self._by_tool and not self._by_program:
            return [rule for _, rule in self._always]
        found = dict(self._always)
        if not tool.private:
            for name in (tool.name, tool.qualified_name):
                found.update(self._by_tool.get(name, ()))
        if self._by_program:
            found.update(self._about_programs(call, tool))
        return [found[number] for number in sorted(found)]

    def _about_programs(self, call: ToolCall, tool: Tool) -> Iterator[tuple[int, Any]]:
        # All of one runtime look at a call in the same way.
        first = next(iter(self._by_program.values()))[0][1]
        case = first.look(call, tool)
        for number in range(len(case.lines)):
            reading = case.reading(number)
            unsure = bool(reading.doubts)
            for invocation in reading.invocations:
                unsure = unsure or "\0" in invocation.words[0]
                yield from self._by_program.get(invocation.program, ())
            if unsure:
                for entries in self._by_program.values():
                    yield from entries
