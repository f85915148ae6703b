"""What the rules say about one call, and why: for `tongs rules`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.decision import Verdict
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.record import dataclass
from tongs.core.tool import Tool
from tongs.policy.hazards import DefaultRule
from tongs.policy.looking import Look
from tongs.policy.rules import AutoApprove, AutoDeny

if TYPE_CHECKING:
    from tongs.policy.configured import ConfiguredRule, ExampleResult
    from tongs.runtime import Runtime

_PAIR = re.compile(r"[A-Za-z_/][\w./-]*=")
# A command line without a tool is judged as if an agent gave it to a shell.
SHELL = Tool("shell", "a command line", command_argument="command")


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule of a place, as it is listed."""

    name: str
    decision: str
    about: str
    source: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Understood:
    """One command of the call: every program it would start, and what is not understood."""

    command: str
    programs: tuple[tuple[str, str], ...]
    doubts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Judgement:
    tool: str
    arguments: Mapping[str, Any]
    caller: str
    verdict: Verdict
    # Every rule that has something to say, the strictest first, with where it stands.
    verdicts: tuple[tuple[Verdict, str], ...]
    understood: tuple[Understood, ...]


def listed(runtime: Runtime) -> list[RuleRow]:
    return [row for rule in runtime.rules for row in _rows(rule)]


def _rows(rule: Any) -> Iterator[RuleRow]:
    if isinstance(rule, AutoApprove | AutoDeny):
        allows = isinstance(rule, AutoApprove)
        for selector in rule.approved if isinstance(rule, AutoApprove) else rule.denied:
            name = f"auto-{'approve' if allows else 'deny'} {selector.text}"
            yield RuleRow(
                name, "allow" if allows else "deny", selector.text, "auto_approve/auto_deny"
            )
    elif isinstance(rule, DefaultRule):
        yield RuleRow(rule.name, rule.decision.name.lower(), rule.summary, rule.source)
    elif hasattr(rule, "when"):
        about = rule.reason or _flow(rule.written["when"])
        note = ", ".join(_notes(rule))
        yield RuleRow(rule.name, rule.decision.name.lower(), about, rule.source, note)
    elif hasattr(rule, "forbidden_patterns"):
        yield RuleRow(rule.name, "deny", ", ".join(rule.forbidden_patterns), "program")


def _notes(rule: ConfiguredRule) -> Iterator[str]:
    from tongs.policy.configured import examples  # noqa: PLC0415 - lists only

    if rule.until_text:
        yield f"until {rule.until_text}"
    if rule.note:
        yield rule.note
    # Only in a file that nobody trusts: otherwise nothing would have been opened.
    if wrong := sum(not result.held for result in examples(rule)):
        yield f"{wrong} of its examples {'does' if wrong == 1 else 'do'} not hold"


def _flow(when: Mapping[str, Any]) -> str:
    import json  # noqa: PLC0415 - lists only

    return json.dumps(when, ensure_ascii=False)


def call_from(runtime: Runtime, text: str, caller: str) -> tuple[ToolCall, Tool]:
    """`NAME key=value …`, or a plain command line."""
    who = Caller(CallerKind(caller), "tongs rules")
    words = _words(text)
    tool, pairs = _tool(runtime, words)
    if tool is None:
        return ToolCall("rules", SHELL.name, {"command": text}, who), SHELL
    arguments = _arguments(tool, pairs)
    return ToolCall("rules", tool.name, arguments, who), tool


def _words(text: str) -> Sequence[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return ()


def _tool(runtime: Runtime, words: Sequence[str]) -> tuple[Tool | None, Sequence[str]]:
    if not words or not all(_PAIR.match(word) for word in words[1:]):
        return None, ()
    try:
        return runtime.find(words[0]), words[1:]
    except ToolError as error:
        if error.code is not ErrorCode.TOOL_NOT_FOUND:
            raise
        return (SHELL, words[1:]) if words[0] == SHELL.name and words[1:] else (None, ())


def _arguments(tool: Tool, pairs: Sequence[str]) -> dict[str, Any]:
    from tongs.schema.coerce import coerce  # noqa: PLC0415 - calls only
    from tongs.schema.resolve import plain  # noqa: PLC0415 - as above

    properties: Mapping[str, Any] = tool.input_schema.get("properties", {})
    found: dict[str, Any] = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        asked = plain(properties.get(name), tool.input_schema)
        found[name] = coerce(value, asked) if name in properties else value
    return found


def judged(runtime: Runtime, text: str, caller: str = "agent") -> Judgement:
    """What would happen to a call, and what every rule says; nothing runs."""
    call, tool = call_from(runtime, text, caller)
    spoken = [(verdict, _source(rule)) for rule, verdict in runtime.rules.verdicts(call, tool)]
    spoken.sort(key=lambda one: -one[0].decision)
    return Judgement(
        tool.name,
        call.arguments,
        caller,
        runtime.rules.decide(call, tool),
        tuple(spoken),
        tuple(_understood(_look(runtime), call, tool)),
    )


def _look(runtime: Runtime) -> Look:
    looks = [getattr(rule, "look", None) for rule in runtime.rules]
    return next(look for look in looks if isinstance(look, Look))


def _understood(look: Look, call: ToolCall, tool: Tool) -> Iterator[Understood]:
    case = look(call, tool)
    for number, line in enumerate(case.lines):
        reading = case.reading(number)
        programs = [
            (one.shown, " > ".join(one.through))
            for one in reading.invocations
            if one.words != (":",) or not (one.reads or one.writes)
        ]
        shown = line.text or shlex.join(line.argv)
        yield Understood(shown, tuple(dict.fromkeys(programs)), reading.doubts)


def _source(rule: Any) -> str:
    return str(getattr(rule, "source", "") or "built in")


def checked(runtime: Runtime) -> list[ExampleResult]:
    """Every example of every rule. In a file that is trusted all of them hold: it would not have
    been opened otherwise."""
    from tongs.policy.configured import ConfiguredRule, examples  # noqa: PLC0415 - `check` only

    return [
        result
        for rule in runtime.rules
        if isinstance(rule, ConfiguredRule)
        for result in examples(rule)
    ]
