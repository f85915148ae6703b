"""A rule can only tighten what another rule has said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.thorough import examples

from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.decision import Decision, Verdict
from tongs.core.execution import Place
from tongs.core.tool import Tool, Trust
from tongs.policy.configured import bound
from tongs.policy.hazards import default_hazards
from tongs.policy.looking import Look
from tongs.policy.rules import RuleEngine, default_rules
from tongs.policy.safety import SafetyRule

_selectors = st.lists(
    st.sampled_from(["tool:read", "tool:write", "tool:run", "tool:x", "t", "*", "other"]),
    max_size=3,
)
_tools = st.builds(
    Tool,
    name=st.sampled_from(["t", "u"]),
    tags=st.lists(st.sampled_from(["read", "write", "run", "x"]), max_size=3).map(tuple),
    requires_approval=st.booleans(),
    trust=st.sampled_from(Trust),
)
_calls = st.builds(
    ToolCall,
    caller=st.builds(
        Caller,
        kind=st.sampled_from(CallerKind),
        level=st.sampled_from(["read", "write", "run"]),
        agreed=st.booleans(),
    ),
)


@dataclass(frozen=True)
class Says:
    decision: Decision | None

    def check(self, call: ToolCall, tool: Tool) -> Verdict | None:
        return None if self.decision is None else Verdict(self.decision, "test", "because")


@examples(500)
@given(_calls, _tools, _selectors, _selectors, st.sampled_from([None, *Decision]))
def test_added_rule_never_loosens_what_rules_have_said(
    call: ToolCall, tool: Tool, approve: list[str], deny: list[str], said: Decision | None
) -> None:
    engine = default_rules(approve, deny)
    spoken = [verdict for rule in engine.rules if (verdict := rule.check(call, tool))]

    with_more = RuleEngine((*engine.rules, Says(said))).decide(call, tool)

    if spoken:
        assert with_more.decision >= engine.decide(call, tool).decision
    if said is not None:
        assert with_more.decision >= said


@examples(500)
@given(_calls, _tools, _selectors, _selectors, _selectors)
def test_further_denial_never_loosens(
    call: ToolCall, tool: Tool, approve: list[str], deny: list[str], more: list[str]
) -> None:
    before = default_rules(approve, deny).decide(call, tool).decision
    after = default_rules(approve, [*deny, *more]).decide(call, tool).decision

    assert after >= before


@examples(500)
@given(_calls, _tools, _selectors)
def test_untrusted_tool_is_denied_always(call: ToolCall, tool: Tool, approve: list[str]) -> None:
    if not tool.trust.holds:
        assert default_rules(approve, ()).decide(call, tool).decision is Decision.DENY


_commands = st.sampled_from(
    ["ls", "rm -rf build", "rm -r -f /", "git push -f", "$X y", "echo a | sh", "cat .env", "ls )"]
)
_whens = st.fixed_dictionaries(
    {},
    optional={
        "tool": st.sampled_from(["shell", "t", "*", ["x", "shell"]]),
        "tag": st.sampled_from(["read", "x"]),
        "caller": st.sampled_from(["agent", "person", "*"]),
        "command": st.sampled_from(["ls", "rm -rf", ["git push", "rm"], "re:rm|ls"]),
        "argument": st.sampled_from(
            [{"path": {"path": "outside"}}, {"path": "a"}, {"url": {"host": ["x.org"]}}]
        ),
    },
).filter(bool)
_written = st.one_of(
    st.fixed_dictionaries({"when": _whens, "decision": st.sampled_from(["allow", "ask", "deny"])}),
    st.lists(st.sampled_from(["rm -rf", "ls", "git", "re:a"]), min_size=1).map(
        lambda patterns: SafetyRule("safety", tuple(patterns))
    ),
)
_arguments = st.fixed_dictionaries(
    {},
    optional={
        "command": _commands,
        "path": st.sampled_from(["a", "../b", "/etc/passwd"]),
        "url": st.sampled_from(["https://x.org/", "https://y.org"]),
    },
)
_PLACE = Place("/work/project", "/work/project", "/work")


@examples(400)
@given(
    _arguments,
    st.sampled_from(CallerKind),
    st.lists(_written, max_size=4),
    _written,
    st.integers(0, 4),
)
def test_added_rule_never_loosens_what_others_say_wherever_it_stands(
    arguments: dict[str, Any], kind: CallerKind, written: list[Any], added: Any, where: int
) -> None:
    tool = Tool("shell", tags=("read",))
    call = ToolCall("1", "shell", arguments, Caller(kind, "someone"))
    look = Look(_PLACE)
    before = bound([*default_hazards(look), *written], look)
    after = bound([*default_hazards(look), *written[:where], added, *written[where:]], look)

    spoken = [verdict for _, verdict in RuleEngine(before).verdicts(call, tool)]
    verdict = RuleEngine(after).decide(call, tool)

    if spoken:
        assert verdict.decision >= RuleEngine(before).decide(call, tool).decision


@examples(400)
@given(_arguments, st.sampled_from(CallerKind), st.lists(_written, max_size=5))
def test_verdict_is_the_strictest_of_all_rules_asked_one_by_one(
    arguments: dict[str, Any], kind: CallerKind, written: list[Any]
) -> None:
    tool = Tool("shell", tags=("read",))
    call = ToolCall("1", "shell", arguments, Caller(kind, "someone"))
    look = Look(_PLACE)
    rules = bound([*default_hazards(look), *written], look)

    one_by_one = [verdict for rule in rules if (verdict := rule.check(call, tool))]

    engine = RuleEngine(rules)
    assert [verdict for _, verdict in engine.verdicts(call, tool)] == one_by_one
    strictest = max((verdict.decision for verdict in one_by_one), default=Decision.ASK)
    assert engine.decide(call, tool).decision is strictest
