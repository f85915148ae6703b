"""A pattern of an untrusted project that could run for long is not run."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from tests.unit.policy.commands import AGENT, SHELL, place

from tongs.core.call import ToolCall
from tongs.core.decision import Decision, Verdict
from tongs.core.execution import Place
from tongs.core.permissions import Bound
from tongs.core.record import replace
from tongs.core.tool import Tool, Trust
from tongs.policy.configured import RulesOfConfigs, compile_rule
from tongs.policy.looking import Look
from tongs.policy.slow_patterns import careful, cost_of


@pytest.fixture
def at(tmp_path: Path) -> Place:
    return place(tmp_path)


@pytest.mark.parametrize(
    "pattern",
    [
        *("(a+)+b", "((a+))+b", "(a|a)*b", "(a{1,9})*", "(?:x(a*)y){9,}", "(a|b){30}"),
        *("(a?a?)*b", "([)]?a+)+b", "([^]]a*)+b", r"(\)a+)+b"),
        *("(?x)(a+) +b", "(?ix:(a+) +)", "(a+)(?#x)+b", "(?P<n>a+)(?P=n)", "(a)(?(1)b|c)"),
    ],
)
def test_repeated_choice_has_no_bound(pattern: str) -> None:
    assert cost_of(pattern) is None


@pytest.mark.parametrize(
    ("pattern", "power", "factor"),
    [
        ("prod", 1, 4),
        ("", 1, 1),
        ("a+b*", 3, 4),
        (r"\(a+\)+", 3, 7),
        ("(abc)+", 2, 6),
        (r"\d{4}-\d{1,2}", 2, 13 * 4 * 2),
        ("colou?r", 1, 7 * 2),
        ("(a|b)(c|d|e)", 1, 12 * 2 * 3),
        ("a|b", 1, 3 * 2),
        (r"(a+)\1", 3, 6),
        ("(?:){999}x", 1, 10 * 999),
        ("[*+(|]+", 2, 7),
        ("(?P<x>a)(?=b*)(?<!c)(?i:d)", 2, 26 * 8),
        ("x{", 1, 2),
    ],
)
def test_cost_grows_with_each_choice(pattern: str, power: int, factor: int) -> None:
    cost = cost_of(pattern)

    assert cost is not None
    assert cost.power == power
    assert cost.factor <= factor
    re.compile(pattern)


@pytest.mark.parametrize(
    "pattern",
    ["a*b", "a*a*b", "a*a*a*a*b", "(?:a*)(?:a*)b", "a*?a*?a?a?a?b", r"(a*)\1b", "(?:){9999}a*b"],
)
def test_longest_text_a_pattern_is_tried_on_takes_no_second(pattern: str) -> None:
    cost = cost_of(pattern)
    assert cost is not None
    text = "a" * min(cost.longest, 64 * 1024)

    begun = time.process_time()
    re.search(pattern, text)

    assert time.process_time() - begun < 1


def decided(at: Place, when: object, arguments: dict[str, object]) -> Verdict | None:
    data = {"when": when, "decision": "deny"}
    rule = compile_rule(data, "c.yml:1", Look(at), trusted=False)
    return rule.check(ToolCall("1", "shell", arguments, AGENT), SHELL)


@pytest.mark.parametrize(
    ("when", "name"),
    [
        ({"argument": {"q": "a*a*a*b"}}, "q"),
        ({"argument": {"q": {"pattern": "a*a*a*b"}}}, "q"),
        ({"argument": {"/q": {"path": "a*a*a*b"}}}, "q"),
        ({"argument": {"q": {"path": ["x/**", "*a*a*a*b"]}}}, "q"),
        ({"command": "re:a*a*a*b"}, "command"),
        ({"command": ["ls", "re:a*a*a*b"], "tool": "shell"}, "command"),
    ],
)
def test_text_that_is_too_long_for_a_pattern_asks(
    at: Place, when: dict[str, object], name: str
) -> None:
    found = decided(at, when, {name: "a" * 20_000})

    assert found is not None
    assert found.decision is Decision.ASK
    assert "too long for the patterns of a file nobody trusts" in found.reason


def test_text_of_another_tool_or_argument_does_not(at: Place) -> None:
    long = "a" * 20_000

    assert decided(at, {"tool": "other", "argument": {"q": "a*b"}}, {"q": long}) is None
    assert decided(at, {"argument": {"q": "a*b"}}, {"q": "x", "content": long}) is None


def test_short_text_is_decided_as_the_rule_says(at: Place) -> None:
    when = {"argument": {"q": "a*a*b"}, "command": "re:^git .*push"}

    found = decided(at, when, {"q": ["aab", {"k": 1}], "command": "git -v push"})

    assert found is not None
    assert found.decision is Decision.DENY


@pytest.mark.parametrize(
    "when",
    [
        {"argument": {"q": "(a+)+b"}},
        {"argument": {"q": {"pattern": "(a+)+b"}}},
        {"command": "re:(a+)+b"},
    ],
)
def test_rule_with_a_boundless_pattern_asks_without_it(when: dict[str, object]) -> None:
    rule = {"when": {"tool": "t", **when}, "decision": "deny", "match": ["aab"]}

    found = careful(rule)

    assert found.data == {"when": {"tool": "t"}, "decision": "ask"}
    assert found.note == "asks, since its pattern could run for ever"
    assert careful({"when": when, "decision": "deny"}).data["when"] == {"tool": "*"}


@pytest.mark.parametrize(
    "when", [{"tool": "t"}, {"command": "rm -rf"}, {"argument": {"q": {"host": ["x"]}}}, None]
)
def test_rule_without_patterns_stays_as_it_is(when: object) -> None:
    rule = {"when": when, "decision": "deny"}

    found = careful(rule)

    assert found.data is rule
    assert (found.limit, found.note) == (None, "")


def test_rules_of_the_config_of_an_untrusted_tool_are_bounded_too(at: Place) -> None:
    rule = ("c.yml:3", {"when": {"argument": {"q": "(a+)+b"}}, "decision": "deny"})
    tool = Tool("shell", bound=Bound(rules=(rule,)), trust=Trust.UNTRUSTED)
    call = ToolCall("1", "shell", {"q": "a" * 5_000}, AGENT)

    found = RulesOfConfigs(Look(at)).check(call, tool)

    assert found is not None
    assert found.decision is Decision.ASK
    assert RulesOfConfigs(Look(at)).check(
        replace(call, arguments={"q": "aab"}), replace(tool, trust=Trust.ACCEPTED)
    ) == replace(found, decision=Decision.DENY, reason="the rule says deny (q is 'aab')")
