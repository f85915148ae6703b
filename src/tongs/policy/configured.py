"""Rules as a person writes them in `config.yml`, compiled once."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping

from tongs.core.annotations import Any
from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.decision import Decision, Verdict, one_question
from tongs.core.errors import Problem
from tongs.core.record import dataclass, replace
from tongs.core.tool import Tool
from tongs.policy.command_pattern import Match
from tongs.policy.conditions import Found, Limit, When, compile_when
from tongs.policy.looking import Look, here

_DECISIONS = {decision.name.lower(): decision for decision in Decision}
# What an example says; the other conditions are about who calls and where a tool comes from.
_SHOWN = frozenset({"tool", "argument", "command"})


@dataclass(frozen=True, slots=True)
class ConfiguredRule:
    """One rule of a config file; `source` is `file:line`."""

    name: str
    when: When
    decision: Decision
    look: Look
    reason: str = ""
    source: str = ""
    # Seconds since 1970; None: for ever.
    until: float | None = None
    until_text: str = ""
    match: tuple[Any, ...] = ()
    not_match: tuple[Any, ...] = ()
    written: Mapping[str, Any] | None = None
    # What else there is to say about it.
    note: str = ""

    def check(self, call: ToolCall, tool: Tool) -> Verdict | None:
        if self.until is not None and time.time() >= self.until:
            return None
        allows = self.decision is Decision.ALLOW
        if self.decision is Decision.ASK and self._answered(call):
            return None
        found = self.when.look(self.look(call, tool), every=allows)
        if found.match is Match.NO:
            return None
        return self._verdict(found)

    def _answered(self, call: ToolCall) -> bool:
        """Whoever typed the call has answered, unless the rule is about just that."""
        typed = call.caller.kind is CallerKind.PERSON or call.caller.agreed
        return typed and not self.when.names_person

    def _verdict(self, found: Found) -> Verdict:
        sure = found.match is Match.YES
        decision = self.decision if sure else min(self.decision, Decision.ASK)
        reason = self.reason or f"the rule says {self.decision.name.lower()}"
        why = f" ({found.why})" if found.why else ""
        where = f"see {self.source}, or: tongs rules explain" if self.source else ""
        return Verdict(decision, self.name, f"{reason}{why}", hint=where)


def compile_rule(
    data: Mapping[str, Any],
    source: str = "",
    look: Look | None = None,
    *,
    trusted: bool = True,
) -> ConfiguredRule:
    """A rule from its written form; raises ValueError with a text for the author."""
    if not trusted:
        return _careful(data, source, look)
    return _compiled(data, source, look)


def _careful(data: Mapping[str, Any], source: str, look: Look | None) -> ConfiguredRule:
    from tongs.policy.slow_patterns import careful  # noqa: PLC0415 - untrusted projects only

    found = careful(data)
    rule = _compiled(found.data, source, look, found.limit)
    return replace(rule, note=found.note) if found.note else rule


def _compiled(
    data: Mapping[str, Any], source: str, look: Look | None, limit: Limit | None = None
) -> ConfiguredRule:
    unknown = data.keys() - _KEYS
    if unknown:
        raise ValueError(f"`{min(unknown)}` is not known; there are {', '.join(_KEYS)}")
    decision = _DECISIONS.get(str(data.get("decision", "")))
    if decision is None:
        raise ValueError("`decision` must be allow, ask or deny")
    when = data.get("when")
    if not isinstance(when, Mapping):
        raise ValueError("`when` must say which calls it is about")
    compiled = compile_when(when, limit)
    until = str(data.get("until", ""))
    return ConfiguredRule(
        name=str(data.get("name") or source or "rule"),
        when=compiled,
        decision=decision,
        look=look or here(),
        reason=str(data.get("reason", "")),
        source=source,
        until=_moment(until) if until else None,
        until_text=until,
        match=tuple(data.get("match", ())),
        not_match=tuple(data.get("not_match", ())),
        written=data,
    )


_KEYS = ("name", "when", "decision", "reason", "until", "match", "not_match")


def _moment(text: str) -> float:
    from datetime import UTC, datetime  # noqa: PLC0415 - few rules end

    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"`until: {text}` is no date such as 2026-12-31 or 2026-12-31T18:00Z"
        ) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


@dataclass(frozen=True, slots=True)
class ExampleResult:
    rule: str
    source: str
    example: Any
    # Whether the rule should match it, and does.
    expected: bool
    held: bool
    why: str = ""


def examples(rule: ConfiguredRule) -> Iterator[ExampleResult]:
    """Try the rule on every example it carries."""
    for expected, written in ((True, rule.match), (False, rule.not_match)):
        for example in written:
            found = _tried(rule, example)
            matched = found.match is Match.YES
            held = matched if expected else found.match is Match.NO
            yield ExampleResult(rule.name, rule.source, example, expected, held, found.why)


def _tried(rule: ConfiguredRule, example: Any) -> Found:
    if isinstance(example, str):
        call, only = _call("shell", {"command": example}), frozenset({"command"})
    else:
        call = _call(str(example.get("tool", "shell")), example.get("arguments", {}))
        only = _SHOWN if "tool" in example else _SHOWN - {"tool"}
    tool = Tool(call.name, command_argument="command")
    every = rule.decision is Decision.ALLOW
    # Not the runtime's own look: its executors know nothing of a tool made up for an example.
    return rule.when.look(Look(rule.look.place)(call, tool), every=every, only=only)


def _call(name: str, arguments: Mapping[str, Any]) -> ToolCall:
    return ToolCall("example", name, arguments, Caller(CallerKind.AGENT, "example"))


def wrong_examples(rule: ConfiguredRule) -> Iterator[tuple[str, int, str]]:
    """Key, position and message of every example that does not hold."""
    counts = {True: 0, False: 0}
    for result in examples(rule):
        position = counts[result.expected]
        counts[result.expected] += 1
        if not result.held:
            key = "match" if result.expected else "not_match"
            said = "does not match" if result.expected else "matches"
            why = f" ({result.why})" if result.why else ""
            yield key, position, f"the rule {rule.name} {said} its example {result.example!r}{why}"


def bound(rules: Iterable[Any], look: Look) -> list[Any]:
    """Rules of a program: mappings are compiled, and those that look are shown this place."""
    found: list[Any] = []
    for number, rule in enumerate(rules, 1):
        if isinstance(rule, Mapping):
            found.append(_from_program(rule, f"rules[{number - 1}]", look))
        elif hasattr(rule, "look"):
            found.append(replace(rule, look=look))
        else:
            found.append(rule)
    return found


@dataclass(frozen=True, slots=True)
class RulesOfConfigs:
    """Rules in a config that the tool uses, or one of the tools that call it."""

    look: Look

    def check(self, call: ToolCall, tool: Tool) -> Verdict | None:
        own = () if tool.bound is None else tool.bound.rules
        verdicts = [
            verdict
            for source, written in (*own, *call.caller.bound.rules)
            if (verdict := self._rule(source, written, tool).check(call, tool))
        ]
        strictest = max(verdicts, key=lambda verdict: verdict.decision, default=None)
        if strictest is None or strictest.decision is not Decision.ASK:
            return strictest
        return one_question([said for said in verdicts if said.decision is Decision.ASK])

    def _rule(self, source: str, written: Mapping[str, Any], tool: Tool) -> ConfiguredRule:
        try:
            return compile_rule(written, source, self.look, trusted=tool.trust.holds)
        except ValueError as error:
            from tongs.core.errors import ErrorCode, ToolError  # noqa: PLC0415 - errors only

            raise ToolError(
                ErrorCode.INVALID_DEFINITION,
                f"the rule at {source} cannot be used: {error}",
            ) from None


def _from_program(data: Mapping[str, Any], place: str, look: Look) -> ConfiguredRule:
    from tongs.core.errors import DefinitionInvalid  # noqa: PLC0415 - errors only

    try:
        rule = compile_rule(data, place, look)
    except ValueError as error:
        raise DefinitionInvalid([Problem(place, str(error), rule="rule")]) from None
    wrong = [Problem(place, message, rule="rule-example") for _, _, message in wrong_examples(rule)]
    if wrong:
        raise DefinitionInvalid(wrong)
    return rule
