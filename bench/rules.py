"""What a thousand rules of a person's own cost a call, against the default rules alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

from bench.measuring import ratios, repeated
from bench.rows import Row
from bench.world import World
from tongs import Caller, CallerKind, Runtime, Tool, ToolCall

SECTION = "Rules, multiples of the same decision with the default rules alone"
REFERENCE = "default"
CALLS = 200

_AGENT = Caller(CallerKind.AGENT, "bench")
_SHELL = Tool("shell", command_argument="command")
_COMMAND = "git status && npm run build 2>/dev/null | tee build.log"


def thousand_rules() -> list[dict[str, Any]]:
    """By command, by tool, and by an argument: as a company would write them."""
    rules: list[dict[str, Any]] = []
    for number in range(1000):
        when: dict[str, Any]
        if number % 3 == 0:
            when = {"command": f"program{number} --force"}
        elif number % 3 == 1:
            when = {"tool": f"tool{number}"}
        else:
            when = {"tool": f"other{number}", "argument": {"path": {"path": "outside"}}}
        rules.append({"name": f"rule {number}", "when": when, "decision": "deny"})
    return rules


def rows(world: World, rounds: int) -> Iterator[Row]:
    with ExitStack() as stack:
        few = stack.enter_context(Runtime.open(world.project, auto_approve=["*"]))
        many = stack.enter_context(
            Runtime.open(world.project, auto_approve=["*"], rules=thousand_rules())
        )
        for name, tool, arguments in (
            ("a command", _SHELL, {"command": _COMMAND}),
            ("a call without a command", Tool("forecast"), {"city": "Zürich"}),
        ):
            works = {
                REFERENCE: repeated(_decision(few, tool, arguments), CALLS),
                "many": repeated(_decision(many, tool, arguments), CALLS),
            }
            for work in works.values():
                work()
            measured = ratios(works, REFERENCE, rounds)
            yield Row(SECTION, f"{name}, 1,000 rules", measured["many"], "x", 1.5, 1.1)


def _decision(runtime: Runtime, tool: Tool, arguments: dict[str, Any]) -> Callable[[], object]:
    # A new call each time, so that nothing is remembered from the last one.
    return lambda: runtime.rules.decide(ToolCall("b", tool.name, arguments, _AGENT), tool)
