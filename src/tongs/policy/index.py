"""Which rules can have anything to say about a call: a thousand cost little more than ten."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tongs.core.annotations import Any
from tongs.core.call import ToolCall
from tongs.core.tool import Tool


class RuleIndex:
    """Rules by the tool or the program they are about; the others are asked every time.

    Those that look at commands alone (`only_commands`) are not asked where a call has none.
    """

    def __init__(self, rules: Iterable[Any]) -> None:
        self._always: list[tuple[int, Any]] = []
        self._without_command: list[Any] = []
        self._by_tool: dict[str, list[tuple[int, Any]]] = {}
        self._by_program: dict[str, list[tuple[int, Any]]] = {}
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
            self._without_command.append(rule)

    def about(self, call: ToolCall, tool: Tool) -> Sequence[Any]:
        """The rules to ask, in their order."""
        lines = () if self._look is None else self._look(call, tool).lines
        if not lines and not self._by_tool:
            return self._without_command
        found = dict(self._always)
        if not tool.private:
            for name in (tool.name, tool.qualified_name):
                found.update(self._by_tool.get(name, ()))
        if lines and self._by_program:
            found.update(self._about_programs(call, tool))
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
