"""Rules as they are written in config.yml."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.unit.policy.commands import AGENT, PERSON, SHELL, place

from tongs import DefinitionInvalid
from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.decision import Decision
from tongs.core.errors import ToolError
from tongs.core.execution import Place
from tongs.core.permissions import Bound
from tongs.core.scope import Scope
from tongs.core.tool import Origin, Tool
from tongs.policy.configured import RulesOfConfigs, bound, compile_rule, wrong_examples
from tongs.policy.looking import Look
from tongs.policy.rules import RuleEngine, TrustRule

READER = Tool("read", tags=("read", "files"), origin=Origin(Scope.USER, format="yaml"))


@pytest.fixture
def at(tmp_path: Path) -> Place:
    return place(tmp_path)


def said(
    at: Place,
    rule: Mapping[str, Any],
    arguments: Mapping[str, Any],
    tool: Tool = SHELL,
    caller: Caller = AGENT,
) -> str:
    verdict = compile_rule(rule, "config.yml:3", Look(at)).check(
        ToolCall("1", tool.name, arguments, caller), tool
    )
    return "" if verdict is None else verdict.decision.name.lower()


def deny(**when: Any) -> dict[str, Any]:
    return {"name": "r", "when": when, "decision": "deny"}


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ({"tool": "read"}, "deny"),
        ({"tool": "yaml:read"}, "deny"),
        ({"tool": ["x", "re*"]}, "deny"),
        ({"tool": "rea"}, ""),
        ({"tag": "files"}, "deny"),
        ({"tag": ["x"]}, ""),
        ({"source": "yaml"}, "deny"),
        ({"source": "tongs"}, "deny"),
        ({"source": "exec"}, ""),
        ({"scope": "user"}, "deny"),
        ({"scope": "local"}, ""),
        ({"caller": "agent"}, "deny"),
        ({"caller": "te?t"}, "deny"),
        ({"caller": "person"}, ""),
        ({"tool": "read", "tag": "x"}, ""),
    ],
)
def test_every_key_must_hold(at: Place, when: dict[str, Any], expected: str) -> None:
    assert said(at, deny(**when), {}, READER) == expected


def test_name_of_a_private_helper_stands_for_nothing(at: Place) -> None:
    assert said(at, deny(tool="read"), {}, Tool("read", private=True)) == ""


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("a.txt", True),
        (".", True),
        ("a/../b", True),
        ("../x", False),
        ("a/../../x", False),
        ("~", False),
        ("~/x", False),
        ("~/work/x", True),
        ("/etc/passwd", False),
        ("link/x", False),
        ("file:///etc/passwd", False),
    ],
)
def test_path_is_followed_before_it_is_judged(at: Place, path: str, inside: bool) -> None:
    outside = deny(argument={"path": {"path": "outside"}})
    within = deny(argument={"path": {"path": "inside"}})

    assert said(at, outside, {"path": path}) == ("" if inside else "deny")
    assert said(at, within, {"path": path}) == ("deny" if inside else "")


def test_path_that_is_none_is_asked_about_and_never_allowed(at: Place) -> None:
    when = {"argument": {"path": {"path": "inside"}}}

    assert said(at, {"when": when, "decision": "deny"}, {"path": "a\0b"}) == "ask"
    assert said(at, {"when": when, "decision": "allow"}, {"path": "a\0b"}) == ""
    assert said(at, {"when": when, "decision": "allow"}, {"path": 7}) == ""
    assert said(at, deny(argument={"path": {"path": ["*"]}}), {"path": ""}) == "ask"
    assert said(at, {"when": when, "decision": "allow"}, {"path": ["a", "../b"]}) == ""
    assert said(at, {"when": when, "decision": "allow"}, {"path": ["a", "b"]}) == "allow"
    assert said(at, {"when": when, "decision": "deny"}, {"path": []}) == ""


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("src/*", "src/a.py", "deny"),
        ("src/*", "src/a/b.py", ""),
        ("src/**", "src/a/b.py", "deny"),
        ("src/**", "src", "deny"),
        ("src/**", "srcs/a", ""),
        ("**/*.key", "a/b/x.key", "deny"),
        ("*.txt", "x.txt", "deny"),
        ("~/other/**", "link/x", "deny"),
        ("/etc/**", "/etc/hosts", "deny"),
        ("a?c", "abc", "deny"),
        ("src/a.py", "./src/../src/a.py", "deny"),
        ("src", "src/a.py", ""),
    ],
)
def test_globs_are_of_paths(at: Place, glob: str, path: str, expected: str) -> None:
    assert said(at, deny(argument={"p": {"path": [glob]}}), {"p": path}) == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://evil.org/x", "deny"),
        ("HTTPS://EVIL.ORG./x", "deny"),
        ("https://good.org@evil.org/", "deny"),
        ("https://user:pw@evil.org:8443/", "deny"),
        ("evil.org/x", "deny"),
        ("//evil.org/x", "deny"),
        ("https://a.evil.org/", ""),
        ("https://x.bad.org/", "deny"),
        ("https://bad.org/", ""),
        ("https://good.org/?q=evil.org", ""),
        ("https://good.org\\@evil.org/", "ask"),
        ("https://a@b@evil.org/", "ask"),
        ("https://ev%69l.org/", "ask"),
        ("http://[::1]:80/x", ""),
        ("https://bücher.example/", ""),
        ("https://\ud800.example/", "ask"),
    ],
)
def test_host_is_where_a_url_leads(at: Place, url: str, expected: str) -> None:
    rule = deny(argument={"url": {"host": ["evil.org", "*.bad.org"]}})

    assert said(at, rule, {"url": url}) == expected


def test_exact_arguments_and_values_are_those_of_remembered_decisions(at: Place) -> None:
    assert said(at, deny(arguments={"a": 1}), {"a": 1}) == "deny"
    assert said(at, deny(arguments={"a": 1}), {"a": 1, "b": 2}) == ""
    assert said(at, deny(argument={"a": {"equals": 1}}), {"a": 1, "b": 2}) == "deny"
    assert said(at, deny(argument={"a": {"equals": 1}}), {"a": True}) == ""


def test_rules_of_a_config_that_the_tool_uses_hold(at: Place) -> None:
    bounds = Bound(rules=(("c.yml:3", deny(command="curl")), ("c.yml:4", deny(tool="x"))))
    rule = RulesOfConfigs(Look(at))
    tool = Tool("shell", command_argument="command", bound=bounds)
    below = Caller(CallerKind.TOOL, "outer", bound=bounds)

    verdict = rule.check(ToolCall("1", "shell", {"command": "curl x"}, AGENT), tool)

    assert verdict is not None
    assert verdict.decision is Decision.DENY
    assert rule.check(ToolCall("1", "shell", {"command": "ls"}, AGENT), tool) is None
    assert rule.check(ToolCall("1", "shell", {"command": "curl x"}, below), SHELL) is not None
    wrong = Tool("shell", bound=Bound(rules=(("c.yml:3", deny(command="re:(")),)))
    with pytest.raises(ToolError, match=r"c\.yml:3"):
        rule.check(ToolCall("1", "shell", {}, AGENT), wrong)


def test_json_pointer_reaches_into_an_argument(at: Place) -> None:
    rule = deny(argument={"/options/0/mo~1de": {"pattern": "^force"}})

    assert said(at, rule, {"options": [{"mo/de": "forced"}]}) == "deny"
    assert said(at, rule, {"options": [{"mo/de": "enforced"}]}) == ""
    assert said(at, rule, {"options": []}) == ""
    assert said(at, rule, {"options": "x"}) == ""
    assert said(at, deny(argument={"n": "7"}), {"n": 17}) == "deny"


def test_pattern_of_an_allowance_has_to_fit_the_whole_text(at: Place) -> None:
    rule = {"when": {"argument": {"q": "[a-z]+"}}, "decision": "allow"}

    assert said(at, rule, {"q": "abc"}) == "allow"
    assert said(at, rule, {"q": "abc; rm"}) == ""
    assert said(at, rule, {"q": "a" * 70_000}) == ""


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git push --force", "deny"),
        ("git push -f", "deny"),
        ("git -C x push origin main --forc", "deny"),
        ("sudo git push -uf", "deny"),
        ("bash -c 'git push --force'", "deny"),
        ("git push", ""),
        ("git push --force-with-lease", ""),
        ("git commit -m 'push --force'", ""),
        ("git push -- --force", "deny"),
        ("git remote push --force", ""),
        ("git push $X", "ask"),
        ("$X push --force", "ask"),
        ("ls )", "ask"),
        ("ls", ""),
    ],
)
def test_command_is_known_however_it_is_spelled(at: Place, command: str, expected: str) -> None:
    assert said(at, deny(command="git push --force"), {"command": command}) == expected


@pytest.mark.parametrize(
    ("command", "allowed"),
    [
        ("git status", True),
        ("git status -s && git log --oneline | git status", True),
        ("git status 2>/dev/null", True),
        ("git status; ls", False),
        ("git -c core.pager=x status", False),
        ("/tmp/git status", False),
        ("sudo git status", False),
        ("PATH=/tmp git status", False),
        ("git status > x", False),
        ("bash -c 'git status'", False),
        ("git status $(ls)", False),
        ("git status $X", False),
        ("git log --format=%h", True),
        ("git stat", False),
        ("", False),
    ],
)
def test_allowance_covers_every_command_or_nothing(at: Place, command: str, allowed: bool) -> None:
    rule = {"when": {"command": ["git status", "git log"]}, "decision": "allow"}

    assert said(at, rule, {"command": command}) == ("allow" if allowed else "")


def test_regular_expression_looks_at_the_words(at: Place) -> None:
    assert said(at, deny(command="re:^curl .*evil"), {"command": "/bin/curl -s evil"}) == "deny"
    assert said(at, deny(command="re:^curl .*evil"), {"command": "curl $X"}) == "ask"
    assert said(at, deny(command="re:^curl .*evil"), {"command": "ls"}) == ""
    allow = {"when": {"command": "re:git (status|log)"}, "decision": "allow"}
    assert said(at, allow, {"command": "git log"}) == "allow"
    assert said(at, allow, {"command": "evil git log"}) == ""


@pytest.mark.parametrize(
    ("command", "allowed"),
    [
        ("git log --oneline", True),
        ("git -c core.pager='sh -c id' log", False),
        ("git log --output=/tmp/x", False),
        ("git grep -Oid x", False),
        ("git fetch ext::sh", False),
        ("git bisect run id", False),
        ("/usr/bin/git log --ext-diff", False),
        ("make log", True),
    ],
)
def test_regular_expression_allows_nothing_that_git_would_run(
    at: Place, command: str, allowed: bool
) -> None:
    rule = {"when": {"command": "re:.*"}, "decision": "allow"}

    assert said(at, rule, {"command": command}) == ("allow" if allowed else "")


def test_option_without_another_spelling_is_found_as_it_is(at: Place) -> None:
    rule = deny(command="npm publish --access -z")

    assert said(at, rule, {"command": "npm publish --acc public -xz"}) == "deny"
    assert said(at, rule, {"command": "npm publish -- --acc -z"}) == ""


def test_program_by_path_is_that_one_alone(at: Place) -> None:
    assert said(at, deny(command="/opt/x/deploy"), {"command": "/opt/x/deploy now"}) == "deny"
    assert said(at, deny(command="/opt/x/deploy"), {"command": "deploy now"}) == ""


def test_person_who_types_has_answered_a_question_but_no_denial(at: Place) -> None:
    ask = {"when": {"tool": "shell"}, "decision": "ask"}

    assert said(at, ask, {}, caller=AGENT) == "ask"
    assert said(at, ask, {}, caller=PERSON) == ""
    assert said(at, ask, {}, caller=Caller(CallerKind.AGENT, "a", agreed=True)) == ""
    assert said(at, deny(tool="shell"), {}, caller=PERSON) == "deny"
    about_persons = {"when": {"caller": "person"}, "decision": "ask"}
    assert said(at, about_persons, {}, caller=PERSON) == "ask"


def test_rule_ends_when_it_says(at: Place) -> None:
    assert said(at, {**deny(tool="shell"), "until": "2020-01-01"}, {}) == ""
    assert said(at, {**deny(tool="shell"), "until": "2999-01-01T10:00:00Z"}, {}) == "deny"


def test_verdict_names_its_rule_its_reason_and_its_line(at: Place) -> None:
    rule = {**deny(tool="shell"), "reason": "not here"}

    verdict = compile_rule(rule, "config.yml:3", Look(at)).check(ToolCall("1", "shell"), SHELL)

    assert verdict is not None
    assert (verdict.rule, verdict.decision) == ("r", Decision.DENY)
    assert verdict.reason == "not here (tool shell)"
    assert "config.yml:3" in verdict.hint


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"when": {"tool": "x"}}, "decision"),
        ({"when": {"tool": "x"}, "decision": "no"}, "decision"),
        ({"decision": "deny"}, "when"),
        ({"when": {}, "decision": "deny"}, "empty"),
        ({"when": {"tol": "x"}, "decision": "deny"}, "when.tol"),
        ({"when": {"tool": "x"}, "decision": "deny", "wen": 1}, "wen"),
        ({"when": {"tool": "x"}, "decision": "deny", "until": "soon"}, "until"),
        ({"when": {"command": "re:("}, "decision": "deny"}, "regular expression"),
        ({"when": {"command": "'x"}, "decision": "deny"}, "never closed"),
        ({"when": {"command": " "}, "decision": "deny"}, "one word"),
        ({"when": {"argument": {"a": "("}}, "decision": "deny"}, "regular expression"),
        ({"when": {"argument": {"a": {"b": "c"}}}, "decision": "deny"}, "`b`"),
        ({"when": {"argument": {"a": {"path": [1]}}}, "decision": "deny"}, "globs"),
    ],
)
def test_rule_that_cannot_be_used_says_why(rule: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compile_rule(rule)


def test_examples_that_do_not_hold_are_told_by_position(at: Place) -> None:
    rule = compile_rule(
        {
            **deny(command="rm -rf"),
            "match": [
                "rm -r -f x",
                "rm x",
                {"tool": "shell", "arguments": {"command": "rm -fr x"}},
            ],
            "not_match": ["ls", "rm -rf x", {"arguments": {"command": "ls"}}],
        },
        look=Look(at),
    )

    assert [(key, position) for key, position, _ in wrong_examples(rule)] == [
        ("match", 1),
        ("not_match", 1),
    ]


def test_example_is_only_about_what_it_shows(at: Place) -> None:
    when = {"tool": "other", "caller": "person", "command": "rm"}
    rule = compile_rule({"when": when, "decision": "deny", "match": ["rm x"]}, look=Look(at))

    assert list(wrong_examples(rule)) == []


def test_rules_of_a_program_are_compiled_and_shown_the_place(at: Place) -> None:
    look = Look(at)
    rule = compile_rule(deny(tool="x"))

    other = TrustRule()

    made = bound([deny(tool="a"), rule, other], look)

    assert [one.look for one in made[:2]] == [look, look]
    assert made[2] is other
    with pytest.raises(DefinitionInvalid, match=r"rules\[0\]"):
        bound([{"decision": "deny"}], look)
    with pytest.raises(DefinitionInvalid, match="does not match"):
        bound([{**deny(command="a"), "match": ["b"]}], look)


def test_rules_of_the_configs_of_a_tool_ask_one_question_together(at: Place) -> None:
    asking = [
        (f"c.yml:{number}", {**deny(tool="shell"), "name": name, "decision": "ask"})
        for number, name in enumerate(("one", "other"))
    ]
    tool = Tool("shell", bound=Bound(rules=tuple(asking)))

    verdict = RulesOfConfigs(Look(at)).check(ToolCall("1", "shell", {}, AGENT), tool)

    assert verdict is not None
    assert (verdict.decision, verdict.rule, verdict.also) == (Decision.ASK, "one", ("other",))


def test_value_that_programs_could_read_differently_is_not_allowed(at: Place) -> None:
    path = {"when": {"argument": {"p": {"path": "inside"}}}, "decision": "allow"}
    host = {"when": {"argument": {"u": {"host": "good.org"}}}, "decision": "allow"}

    assert said(at, path, {"p": "x"}) == "allow"
    assert said(at, path, {"p": "~/work/x"}) == ""
    assert said(at, host, {"u": "https://good.org/x"}) == "allow"
    assert said(at, host, {"u": "https://me@good.org/x"}) == ""
    assert said(at, host, {"u": "good.org"}) == ""


def test_rules_that_name_a_tool_are_asked_about_its_calls_without_commands(at: Place) -> None:
    look = Look(at)
    engine = RuleEngine(
        [
            TrustRule(),
            *(compile_rule({**deny(tool=f"t{n}"), "name": f"{n}"}, look=look) for n in range(9)),
            compile_rule({**deny(argument={"q": "x"}), "name": "any"}, look=look),
        ]
    )

    def names(tool: Tool, **arguments: Any) -> list[str]:
        call = ToolCall("1", tool.name, arguments, AGENT)
        return [verdict.rule for _, verdict in engine.verdicts(call, tool)]

    tool = Tool("t3")
    assert names(tool, q="x") == ["3", "any"]
    assert names(tool, q="y") == ["3"]
    assert names(Tool("t3", private=True), q="x") == ["any"]
    assert names(Tool("other"), q="y") == []


def test_thousand_rules_find_the_ones_that_matter(at: Place) -> None:
    look = Look(at)
    written = [
        *(deny(command=f"p{number} -x") for number in range(400)),
        *(deny(tool=f"t{number}") for number in range(400)),
        *(deny(tool=["shell", "t1"], command=f"q{number}") for number in range(200)),
    ]
    engine = RuleEngine(
        compile_rule({**one, "name": str(one["when"])}, look=look) for one in written
    )

    def rules(tool: Tool, arguments: Mapping[str, Any]) -> list[str]:
        call = ToolCall("1", tool.name, arguments, AGENT)
        return [verdict.rule for _, verdict in engine.verdicts(call, tool)]

    assert rules(SHELL, {"command": "/bin/p7 -x"}) == ["{'command': 'p7 -x'}"]
    assert rules(SHELL, {"command": "q5"}) == ["{'tool': ['shell', 't1'], 'command': 'q5'}"]
    assert rules(Tool("t9"), {}) == ["{'tool': 't9'}"]
    assert rules(Tool("t9", private=True), {}) == []
    assert len(rules(SHELL, {"command": "$X -x"})) == 600
