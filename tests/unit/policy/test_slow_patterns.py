"""A pattern of an untrusted project that could run for years is never run."""

from __future__ import annotations

import pytest

from tongs.policy.slow_patterns import is_slow, without_slow


@pytest.mark.parametrize(
    "pattern", ["(a+)+b", "((a+))+b", "(a|a)*b", "(a{1,9})*", "(?:x(a*)y){9,}"]
)
def test_repeated_repetition_is_slow(pattern: str) -> None:
    assert is_slow(pattern)


@pytest.mark.parametrize("pattern", ["a+b*", "(a|b)c+", r"\(a+\)+", "(abc)+", "prod.*", ")a+"])
def test_plain_pattern_is_not(pattern: str) -> None:
    assert not is_slow(pattern)


@pytest.mark.parametrize(
    "when",
    [
        {"argument": {"q": "(a+)+b"}},
        {"argument": {"q": {"pattern": "(a+)+b"}}},
        {"command": "re:(a+)+b"},
    ],
)
def test_rule_with_a_slow_pattern_asks_without_it(when: dict[str, object]) -> None:
    found = without_slow({"when": {"tool": "t", **when}, "decision": "deny"})

    assert found == {"when": {"tool": "t"}, "decision": "ask"}
    assert without_slow({"when": when, "decision": "deny"})["when"] == {"tool": "*"}


def test_other_rules_stay_as_they_are() -> None:
    rule = {"when": {"argument": {"q": "a+"}}, "decision": "deny"}

    assert without_slow(rule) is rule
