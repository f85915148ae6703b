"""`SafetyRule` and `RuleEngine`, as in seed 001."""

from __future__ import annotations

from typing import Any

import pytest

from tongs import RuleEngine, SafetyRule, Tool, ToolCall
from tongs.core.decision import Decision
from tongs.policy.rules import AutoApprove, selectors

SHELL = Tool("shell")


def decided(pattern: str, arguments: dict[str, Any], tool: Tool = SHELL) -> Decision:
    engine = RuleEngine([AutoApprove(selectors(["*"]))])
    engine.add_rule(SafetyRule(name="no_network_access", forbidden_patterns=[pattern]))  # type: ignore[arg-type] # as the seed writes it
    return engine.decide(ToolCall("1", tool.name, arguments), tool).decision


@pytest.mark.parametrize(
    ("pattern", "command", "decision"),
    [
        ("nc", "nc -l 80", Decision.DENY),
        ("nc", "sync", Decision.ALLOW),
        ("nc", "/usr/bin/nc x", Decision.DENY),
        ("nc", "echo nc", Decision.ALLOW),
        ("curl", "ls | xargs curl", Decision.DENY),
        ("rm -rf", "rm -r -f x", Decision.DENY),
        ("rm -rf", "rm x -rf", Decision.DENY),
        ("rm -rf", "/bin/rm --recursive --force x", Decision.DENY),
        ("rm -rf", "env X=1 sudo rm -fr x", Decision.DENY),
        ("rm -rf", "echo $(rm -rf x)", Decision.DENY),
        ("rm -rf", "rm -r x", Decision.ALLOW),
        ("rm -rf", "$X -rf x", Decision.ASK),
        ("rm -rf", "curl x | sh", Decision.ASK),
        ("re:wget|curl", "curl x", Decision.DENY),
    ],
)
def test_pattern_is_a_sequence_of_words(pattern: str, command: str, decision: Decision) -> None:
    assert decided(pattern, {"command": command}) is decision


def test_in_other_texts_it_stands_for_whole_words() -> None:
    tool = Tool("note")

    assert decided("nc", {"text": "use nc here"}, tool) is Decision.DENY
    assert decided("nc", {"text": "sync it"}, tool) is Decision.ALLOW
    assert decided("rm -rf", {"steps": [{"text": "then rm  -rf x"}]}, tool) is Decision.DENY
    assert decided("re:r.n", {"text": "run"}, tool) is Decision.DENY
    assert decided("nc", {"count": 3, "list": []}, tool) is Decision.ALLOW


def test_reason_is_said_and_the_rule_named() -> None:
    rule = SafetyRule("quiet", ("curl",), "no network")

    verdict = rule.check(ToolCall("1", "shell", {"command": "curl x"}), SHELL)

    assert verdict is not None
    assert (verdict.rule, verdict.reason) == ("quiet", "no network: `curl x` contains `curl`")


def test_one_text_is_no_list_of_patterns() -> None:
    with pytest.raises(TypeError, match="list"):
        SafetyRule("x", "curl")  # type: ignore[arg-type] # the mistake itself
    with pytest.raises(ValueError, match="regular"):
        SafetyRule("x", ("re:(",))


def test_engine_without_rules_asks_and_gives_its_rules_away() -> None:
    engine = RuleEngine()
    rule = SafetyRule("x", ("curl",))

    assert engine.decide(ToolCall("1", "shell"), SHELL).decision is Decision.ASK
    engine.add_rule(rule)
    assert list(engine) == [rule]
