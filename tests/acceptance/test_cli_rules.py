"""`tongs rules`, as a person types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.acceptance.conftest import Place, Run

RULES = """\
security:
  rules:
    - name: no-force-push
      when: {command: git push --force}
      decision: deny
      reason: the history is shared
      match: [git push -f]
      not_match: [git push --force-with-lease]
"""
TOOL = "description: d\nbash: cat {F}\nparameters: {F: {type: string, description: what}}\n"


@pytest.fixture
def rules(place: Place) -> Path:
    place.user.mkdir(parents=True, exist_ok=True)
    path = place.user / "config.yml"
    path.write_text(RULES)
    return path


def test_list_shows_the_default_rules_and_the_lines_of_others(tongs: Run, rules: Path) -> None:
    done = tongs("rules", "list")

    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0] == ["DECISION", "RULE", "ABOUT", "FROM"]
    assert ["deny", "recursive-deletion"] in [line[:2] for line in lines]
    assert lines[-1] == [
        *("deny", "no-force-push", "the", "history", "is", "shared"),
        f"{rules}:3",
    ]
    assert (done.stderr, done.code) == ("", 0)


def test_list_as_json_tells_what_is_ignored(tongs: Run, place: Place) -> None:
    folder = place.project / ".tongs"
    folder.mkdir(exist_ok=True)
    (folder / "config.yml").write_text(
        "security:\n  rules:\n  - {name: a, when: {tool: x}, decision: allow}\n"
        "  - {name: b, when: {tool: x}, decision: ask, until: '2999-01-01'}\n"
    )

    found = json.loads(tongs("rules", "list", "--json").stdout)

    assert found["rules"][-1] == {
        "name": "b",
        "decision": "ask",
        "about": '{"tool": "x"}',
        "source": f"{folder / 'config.yml'}:4",
        "note": "until 2999-01-01",
    }
    assert [problem["line"] for problem in found["ignored"]] == [3]
    assert "ignored:\n" in tongs("rules", "list").stdout


def test_explain_shows_what_a_command_is_understood_as(tongs: Run, rules: Path) -> None:
    done = tongs("rules", "explain", "env X=1 bash -c 'git push -f' | $Y")

    assert done.stdout.splitlines()[0] == (
        "deny: the history is shared (`git push -f` is `git push --force`) [no-force-push]"
    )
    assert "  git push -f   (started by env > bash -c)" in done.stdout.splitlines()
    assert "  not understood: the program `'…'` is not known" in done.stdout.splitlines()
    assert f"{rules}:3" in done.stdout
    assert done.code == 0


def test_explain_takes_a_call_of_a_tool(tongs: Run, place: Place) -> None:
    place.tool("wipe", TOOL.replace("cat", "rm -rf"), scope="user")

    done = tongs("rules", "explain", "wipe F=/etc", "--json")

    found = json.loads(done.stdout)
    assert (found["decision"], found["rule"]) == ("deny", "recursive-deletion")
    assert found["commands"][0]["starts"] == [{"program": "rm -rf /etc", "through": ""}]
    shell = json.loads(tongs("rules", "explain", 'shell command="ls"', "--json").stdout)
    assert shell["arguments"] == {"command": "ls"}


def test_test_answers_by_the_exit_code(tongs: Run, rules: Path) -> None:
    denied = tongs("rules", "test", "git push -f")
    asked = tongs("rules", "test", "rm -rf build")
    typed = tongs("rules", "test", "rm -rf build", "--as", "person")

    assert (denied.stdout.split(":")[0], denied.code) == ("deny", 3)
    assert (asked.stdout.split(":")[0], asked.code) == ("ask", 0)
    assert (typed.stdout.split(":")[0], typed.code) == ("allow", 0)
    assert json.loads(tongs("rules", "test", "ls", "--json").stdout)["decision"] == "ask"


def test_check_tries_the_examples(tongs: Run, rules: Path) -> None:
    done = tongs("rules", "check")

    assert done.stdout.splitlines() == [
        "ok  no-force-push: matches git push -f",
        "ok  no-force-push: leaves git push --force-with-lease",
    ]
    assert (done.stderr, done.code) == ("2 examples of 1 rules hold\n", 0)
    assert len(json.loads(tongs("rules", "check", "--json").stdout)["examples"]) == 2


def test_check_names_the_line_of_an_example_that_does_not_hold(tongs: Run, rules: Path) -> None:
    rules.write_text(RULES.replace("[git push -f]", "[git pull]"))

    for words in (("rules", "check"), ("tool", "list")):
        done = tongs(*words)

        assert done.stderr.startswith(f"error: {rules}:7: ")
        assert "does not match its example 'git pull'" in done.stderr
        assert done.code == 2


def test_person_who_types_is_held_to_denials(tongs: Run, place: Place) -> None:
    place.tool("show", TOOL, scope="user")

    done = tongs("tool", "run", "show", "F=/etc/passwd")

    assert "reads /etc/passwd" in done.stderr
    assert done.code == 3


UNTRUSTED = """\
security:
  rules:
    - name: no-wipe
      when: {command: rm -rf}
      decision: deny
      match: [ls, rm -r -f x]
      not_match: [{tool: shell, arguments: {command: rm -rf y}}]
    - name: slow
      when: {command: 're:(a+)+b'}
      decision: deny
      match: [aab]
"""


@pytest.fixture
def untrusted(place: Place) -> Path:
    path = place.project / ".tongs" / "config.yml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(UNTRUSTED)
    return path


def test_examples_of_an_untrusted_file_that_do_not_hold_are_told(
    tongs: Run, untrusted: Path
) -> None:
    done = tongs("rules", "check")

    call = '{"tool": "shell", "arguments": {"command": "rm -rf y"}}'
    assert done.stdout.splitlines() == [
        "no  no-wipe: matches ls",
        "ok  no-wipe: matches rm -r -f x",
        f"no  no-wipe: leaves {call}",
    ]
    assert done.stderr.splitlines() == [
        "1 of 3 examples of 1 rules hold",
        f"error: {untrusted}:3: the rule no-wipe does not match its example ls",
        (
            f"error: {untrusted}:3: the rule no-wipe matches its example {call}"
            " (`rm -rf y` is `rm -rf`)"
        ),
        "hint: nobody trusts the file yet; once it is trusted, no call runs until it is mended",
    ]
    assert done.code == 2
    as_json = tongs("rules", "check", "--json")
    assert [one["held"] for one in json.loads(as_json.stdout)["examples"]] == [False, True, False]
    assert as_json.code == 2


def test_list_tells_what_is_wrong_with_rules_of_an_untrusted_file(
    tongs: Run, untrusted: Path
) -> None:
    rows = json.loads(tongs("rules", "list", "--json").stdout)["rules"]

    assert {row["name"]: row.get("note") for row in rows[-2:]} == {
        "no-wipe": "2 of its examples do not hold",
        "slow": "asks, since its pattern could run for ever",
    }


def test_lint_tells_what_is_wrong_with_rules(tongs: Run, untrusted: Path) -> None:
    done = tongs("lint", str(untrusted), "--json")

    assert [(one["rule"], one["line"]) for one in json.loads(done.stdout)["problems"]] == [
        ("rule-example", 6),
        ("rule-example", 7),
        ("slow-pattern", 8),
    ]
    untrusted.write_text(UNTRUSTED.replace("rm -rf}", "'re:('}"))
    assert "is no regular expression" in tongs("lint", str(untrusted)).stdout


def test_misspelt_key_of_a_rule_has_a_hint(tongs: Run, rules: Path) -> None:
    rules.write_text(RULES.replace("command", "comand"))

    done = tongs("rules", "check")

    assert done.stderr.splitlines() == [
        (
            f"error: {rules}:4: security.rules[0].when.comand: unknown key `comand`"
            " (did you mean `command`?)"
        ),
        "hint: `tongs schema config` shows every setting",
    ]
    assert done.code == 2
