"""A rule can only tighten what another rule has said."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.decision import Decision, Verdict
from tongs.core.tool import Tool, Trust
from tongs.policy.rules import RuleEngine, default_rules

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


@settings(derandomize=True, max_examples=500)
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


@settings(derandomize=True, max_examples=500)
@given(_calls, _tools, _selectors, _selectors, _selectors)
def test_further_denial_never_loosens(
    call: ToolCall, tool: Tool, approve: list[str], deny: list[str], more: list[str]
) -> None:
    before = default_rules(approve, deny).decide(call, tool).decision
    after = default_rules(approve, [*deny, *more]).decide(call, tool).decision

    assert after >= before


@settings(derandomize=True, max_examples=500)
@given(_calls, _tools, _selectors)
def test_untrusted_tool_is_denied_always(call: ToolCall, tool: Tool, approve: list[str]) -> None:
    if not tool.trust.holds:
        assert default_rules(approve, ()).decide(call, tool).decision is Decision.DENY
