"""Who must be asked when: levels, auto-approve, auto-deny, trust, approval, nesting."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.decision import Decision, Verdict
from tongs.core.errors import ErrorCode
from tongs.core.permissions import Bound
from tongs.core.scope import Scope
from tongs.core.tool import Level, Origin, Tool, Trust
from tongs.policy.rules import AutoApprove, RuleEngine, default_rules, selectors

PERSON = Caller(CallerKind.PERSON, "user")
AGENT = Caller(CallerKind.AGENT, "claude")
READ = Tool("reader", tags=("weather", "read"), origin=Origin(format="yaml", path="/p/reader.yaml"))
WRITE = Tool("writer", tags=("write",))
RUN = Tool("runner", tags=("run",))
UNTAGGED = Tool("plain", tags=("weather",))


def decide(
    tool: Tool, caller: Caller, approve: tuple[str, ...] = (), deny: tuple[str, ...] = ()
) -> Decision:
    engine = default_rules(approve, deny, stands=lambda call, tool: True)
    return engine.decide(ToolCall(name=tool.name, caller=caller), tool).decision


@pytest.mark.parametrize(
    ("tags", "level"),
    [
        ((), Level.RUN),
        (("weather",), Level.RUN),
        (("read",), Level.READ),
        (("read", "write"), Level.WRITE),
        (("read", "run"), Level.RUN),
    ],
)
def test_level_is_the_highest_security_tag_and_run_without_one(
    tags: tuple[str, ...], level: Level
) -> None:
    assert Tool("t", tags=tags).level is level


def test_agent_is_asked_about_unless_something_allows() -> None:
    assert [decide(t, AGENT) for t in (READ, WRITE, RUN, UNTAGGED)] == [Decision.ASK] * 4


def test_person_who_types_has_approved() -> None:
    assert [decide(t, PERSON) for t in (READ, WRITE, RUN, UNTAGGED)] == [Decision.ALLOW] * 4


@pytest.mark.parametrize(
    ("selector", "approved"),
    [
        ("tool:read", {"reader"}),
        ("tool:write", {"reader", "writer"}),
        ("tool:run", {"reader", "writer", "runner", "plain"}),
        ("tool:weather", {"reader", "plain"}),
        ("writer", {"writer"}),
        ("yaml:reader", {"reader"}),
        ("*", {"reader", "writer", "runner", "plain"}),
        ("tool:nothing", set()),
    ],
)
def test_auto_approve_covers_its_level_and_below(selector: str, approved: set[str]) -> None:
    tools = (READ, WRITE, RUN, UNTAGGED)

    allowed = {t.name for t in tools if decide(t, AGENT, (selector,)) is Decision.ALLOW}

    assert allowed == approved


@pytest.mark.parametrize(
    ("selector", "denied"),
    [
        ("tool:read", {"reader", "writer", "runner", "plain"}),
        ("tool:write", {"writer", "runner", "plain"}),
        ("tool:run", {"runner", "plain"}),
        ("tool:weather", {"reader", "plain"}),
        ("writer", {"writer"}),
        ("*", {"reader", "writer", "runner", "plain"}),
    ],
)
def test_auto_deny_covers_its_level_and_above(selector: str, denied: set[str]) -> None:
    tools = (READ, WRITE, RUN, UNTAGGED)

    refused = {t.name for t in tools if decide(t, PERSON, ("*",), (selector,)) is Decision.DENY}

    assert refused == denied


def test_deny_wins_over_approve() -> None:
    assert decide(READ, AGENT, ("reader",), ("tool:weather",)) is Decision.DENY


def test_required_approval_is_asked_even_of_the_person_who_types() -> None:
    tool = replace(READ, requires_approval=True)

    assert decide(tool, PERSON) is Decision.ASK
    assert decide(tool, PERSON, ("*",)) is Decision.ASK
    assert decide(tool, PERSON, ("reader",)) is Decision.ALLOW
    assert decide(tool, replace(PERSON, agreed=True)) is Decision.ALLOW


def test_agreeing_beforehand_answers_only_what_a_person_would_be_asked() -> None:
    assert decide(READ, replace(AGENT, agreed=True)) is Decision.ASK


def test_approval_may_depend_on_the_arguments() -> None:
    tool = replace(READ, requires_approval=lambda arguments: arguments.get("path") == "x")
    engine = default_rules((), ())

    harmless = engine.decide(ToolCall(arguments={"path": "y"}, caller=PERSON), tool)
    harmful = engine.decide(ToolCall(arguments={"path": "x"}, caller=PERSON), tool)

    assert (harmless.decision, harmful.decision) == (Decision.ALLOW, Decision.ASK)


def test_tool_that_cannot_say_whether_to_ask_is_asked_about() -> None:
    tool = replace(READ, requires_approval=lambda arguments: arguments["missing"])

    assert decide(tool, PERSON, ("*",)) is Decision.ASK


def test_program_is_believed_that_nobody_need_be_asked_about_its_own_tool() -> None:
    own = Tool("own", execute=lambda arguments: "x", requires_approval=False)

    assert decide(own, AGENT) is Decision.ALLOW
    assert decide(replace(own, requires_approval=lambda arguments: False), AGENT) is Decision.ALLOW
    assert decide(own, AGENT, deny=("tool:run",)) is Decision.DENY


def test_nobody_else_is_believed_that() -> None:
    own = Tool("own", execute=lambda arguments: "x", requires_approval=False)
    outer = Caller(CallerKind.TOOL, "outer", level="read")

    assert decide(replace(own, requires_approval=None), AGENT) is Decision.ASK
    assert decide(replace(RUN, requires_approval=False), AGENT) is Decision.ASK
    assert decide(replace(own, executor="python_file"), AGENT) is Decision.ASK
    assert decide(own, outer) is Decision.ASK


@pytest.mark.parametrize("trust", [Trust.UNTRUSTED, Trust.CHANGED])
def test_untrusted_tool_is_denied_whatever_else_allows_it(trust: Trust) -> None:
    tool = replace(READ, trust=trust)
    call = ToolCall(caller=replace(PERSON, agreed=True))

    verdict = default_rules(("*",), ()).decide(call, tool)

    assert (verdict.decision, verdict.code) == (Decision.DENY, ErrorCode.UNTRUSTED)
    assert verdict.hint == "read it, then: tongs trust /p/reader.yaml"


def test_allowed_tool_may_use_what_claims_no_more_than_itself() -> None:
    outer = Caller(CallerKind.TOOL, "outer", level="write")

    assert decide(READ, outer) is Decision.ALLOW
    assert decide(WRITE, outer) is Decision.ALLOW
    assert decide(RUN, outer) is Decision.ASK


def test_built_in_tool_asks_only_where_it_says_so_or_replaces_something() -> None:
    origin = Origin(scope=Scope.BUILTIN, format="builtin")
    plain = replace(WRITE, origin=origin, automatic=True)
    asking = replace(plain, requires_approval=True)
    replacing = ToolCall(caller=AGENT, at_stake="file:1")

    assert decide(plain, AGENT) is Decision.ALLOW
    assert decide(asking, AGENT) is Decision.ASK
    assert decide(asking, AGENT, (plain.name,)) is Decision.ALLOW
    engine = default_rules((), (), stands=lambda call, tool: True)
    assert engine.decide(replacing, plain).decision is Decision.ASK
    assert decide(plain, AGENT, deny=("tool:write",)) is Decision.DENY


def test_built_in_tool_asks_where_its_walls_do_not_stand() -> None:
    origin = Origin(scope=Scope.BUILTIN, format="builtin")
    call = ToolCall(caller=AGENT)

    def decided(automatic: bool, stands: bool) -> Decision:
        engine = default_rules((), (), stands=lambda call, tool: stands)
        return engine.decide(call, replace(WRITE, origin=origin, automatic=automatic)).decision

    assert decided(automatic=True, stands=True) is Decision.ALLOW
    assert decided(automatic=True, stands=False) is Decision.ASK
    assert decided(automatic=False, stands=True) is Decision.ASK


def test_tool_that_an_agent_made_waits_for_a_person() -> None:
    tool = replace(READ, trust=Trust.REVIEW, creator="claude")

    verdict = default_rules(("*",), ()).decide(ToolCall(caller=AGENT), tool)

    assert (verdict.decision, verdict.rule, verdict.code) == (
        Decision.DENY,
        "review",
        ErrorCode.UNTRUSTED,
    )
    assert verdict.reason == "claude created it, and no person has read /p/reader.yaml as it is"
    assert verdict.hint == "a person can: tongs review reader"


def test_rules_that_come_later_are_made_when_one_is_first_asked() -> None:
    made: list[str] = []

    def later() -> list[AutoApprove]:
        made.append("now")
        return [AutoApprove(selectors(["reader"]))]

    engine = RuleEngine((), later)

    assert made == []
    assert engine.decide(ToolCall(caller=AGENT), READ).decision is Decision.ALLOW
    assert len(list(engine)) == 1
    assert made == ["now"]


def test_built_in_tool_is_not_allowed_to_a_tool_that_claims_less() -> None:
    tool = replace(WRITE, origin=Origin(scope=Scope.BUILTIN, format="builtin"))

    assert decide(tool, Caller(CallerKind.TOOL, "outer", level="read")) is Decision.ASK
    assert decide(tool, Caller(CallerKind.TOOL, "outer", level="write")) is Decision.ALLOW


def test_further_rules_take_part_in_the_maximum() -> None:
    class Never:
        def check(self, call: ToolCall, tool: Tool) -> Verdict | None:
            return Verdict(Decision.DENY, "never", "not today")

    verdict = default_rules(("*",), (), [Never()]).decide(ToolCall(caller=PERSON), READ)

    assert verdict == Verdict(Decision.DENY, "never", "not today")


def test_a_config_that_the_tool_or_its_caller_uses_can_deny_it() -> None:
    own = replace(READ, bound=Bound(denied=("tool:weather",)))
    nested = Caller(CallerKind.TOOL, "outer", bound=Bound(denied=("reader",)))
    other = replace(READ, bound=Bound(denied=("somebody",)))

    assert decide(own, PERSON, approve=("*",)) is Decision.DENY
    assert decide(READ, nested, approve=("*",)) is Decision.DENY
    assert decide(other, PERSON) is Decision.ALLOW
    assert decide(WRITE, nested, approve=("*",)) is Decision.ALLOW


def test_more_tools_than_are_kept_in_mind_are_judged_as_the_first_time() -> None:
    rules = default_rules(("tool:read",), ("denied",))
    tools = [replace(tool, name=f"{tool.name}{n}") for n in range(50) for tool in (READ, RUN)]
    tools += [replace(READ, name="denied"), replace(READ, trust=Trust.CHANGED)]

    def verdicts() -> list[Verdict]:
        return [rules.decide(ToolCall(caller=AGENT), tool) for tool in tools]

    first = verdicts()
    assert [verdict.decision for verdict in first[-4:]] == [
        Decision.ALLOW,
        Decision.ASK,
        Decision.DENY,
        Decision.DENY,
    ]
    assert verdicts() == first


def test_rule_derived_from_one_about_tools_alone_sees_every_call() -> None:
    class OnWeekdays(AutoApprove):
        def check(self, call: ToolCall, tool: Tool) -> Verdict | None:
            return super().check(call, tool) if call.arguments["day"] == "monday" else None

    rules = RuleEngine([OnWeekdays(selectors(["*"]))])

    def on(day: str) -> Decision:
        return rules.decide(ToolCall(arguments={"day": day}, caller=AGENT), READ).decision

    assert [on("monday"), on("sunday"), on("monday")] == [
        Decision.ALLOW,
        Decision.ASK,
        Decision.ALLOW,
    ]


def test_every_rule_that_asks_is_named_in_the_question() -> None:
    class Asks:
        def __init__(self, name: str) -> None:
            self.name = name

        def check(self, call: ToolCall, tool: Tool) -> Verdict:
            return Verdict(Decision.ASK, self.name, f"{self.name} wants to know")

    engine = default_rules(["*"], [], [Asks("a"), Asks("b"), Asks("a")])

    verdict = engine.decide(ToolCall("1", "t", {}), Tool("t"))

    assert (verdict.rules, verdict.reason) == (("a", "b"), "a wants to know; b wants to know")
