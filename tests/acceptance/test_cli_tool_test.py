"""`tongs tool test`: the examples of a tool are run for real, and compared."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

import pytest
from tests.screen import Screen

if TYPE_CHECKING:
    from tests.acceptance.conftest import Place, Run, Show

GREET = """
description: Greets a person
bash: echo "Hello, {WHO}!"
parameters: {WHO: {description: whom}}
tags: [read]
examples:
  - description: Greets Ann
    params: {WHO: Ann}
    expected_output: Hello, ...!
"""
WRONG = GREET.replace("Hello, ...!", "Bye, Ann!")
SECRET = """
description: Tells how long the key is
bash: echo "${#KEY} $KEY"
permissions: {secrets: {KEY: {}}}
tags: [read]
examples:
  - expected_output: "8 ..."
"""
EXECUTABLE = r"""#!/bin/sh
case "$1" in
description) echo '{"name": "count", "description": "Counts", "input_schema": {"type": "object"},
  "permissions": {"network": false},
  "examples": [{"description": "counts", "expected_output": {"n": 3, "at": "..."}}]}' ;;
run) echo '{"n": 3, "at": "now"}' ;;
esac
"""


def trusted(place: Place, tongs: Run, name: str, text: str) -> None:
    place.tool(name, text)
    assert tongs("trust", "--yes", name).code == 0


def times(text: str) -> str:
    """Without the times, which nobody can promise."""
    return re.sub(r" \(\d+ ms\)", "", text)


def test_examples_that_pass_are_ok(place: Place, tongs: Run) -> None:
    trusted(place, tongs, "greet", GREET)

    done = tongs("tool", "test", "greet")

    assert (times(done.stdout), done.stderr, done.code) == (
        "ok    greet: Greets Ann\n\n1 example of 1 tool: all ok\n",
        "",
        0,
    )


def test_an_example_that_fails_shows_the_difference(place: Place, tongs: Run) -> None:
    trusted(place, tongs, "greet", WRONG)

    done = tongs("tool", "test")

    assert done.code == 1
    assert times(done.stdout) == (
        "FAIL  greet: Greets Ann\n"
        "      expected: Bye, Ann!\n"
        "      got:      Hello, Ann!\n"
        "\n1 example of 1 tool: 1 failed, 0 ok\n"
    )


def test_every_tool_is_tested_where_none_is_named(place: Place, tongs: Run) -> None:
    trusted(place, tongs, "greet", GREET)
    place.tool("mine", GREET, scope="user")
    place.tool("plain", "description: d\nbash: echo\ntags: [read]\n", scope="user")
    place.tool("broken", "bash: [", scope="user")
    place.tool("stranger", GREET)

    everything, ours = tongs("tool", "test"), tongs("tool", "test", "--local")

    assert [line.split(":")[0] for line in everything.stdout.splitlines()[:2]] == [
        "FAIL  broken",
        "      INVALID_DEFINITION",
    ]
    assert "1 tool without examples: plain" in everything.stdout
    assert "UNTRUSTED: stranger was not run" in everything.stdout
    assert everything.code == 1
    assert "mine" not in ours.stdout


def test_an_untrusted_tool_is_not_run(place: Place, tongs: Run) -> None:
    place.tool("greet", "description: d\nbash: touch made\ntags: [write]\nexamples: [{}]\n")

    done = tongs("tool", "test", "greet")

    assert "UNTRUSTED" in done.stdout
    assert done.code == 1
    assert not (place.project / "made").exists()


def test_a_person_at_a_terminal_is_asked_for_trust(place: Place, screen: Show) -> None:
    place.tool("greet", GREET)

    terminal: Screen = screen("tool", "test", "greet")

    terminal.wait_for("trust greet? [y/N]")
    terminal.type("y\r")
    terminal.wait_for("all ok")
    assert terminal.end() == 0


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ((), 1, "--fake-secrets or --secret NAME=VALUE"),
        (("--secret", "KEY=12345678"), 0, "all ok"),
        (("--fake-secrets",), 0, "all ok"),
    ],
)
def test_secrets_may_be_faked(
    place: Place, tongs: Run, options: tuple[str, ...], code: int, said: str
) -> None:
    trusted(place, tongs, "key", SECRET)

    done = tongs("tool", "test", "key", *options)

    assert (said in done.stdout, done.code) == (True, code)


def test_a_faked_secret_keeps_the_real_one_out(place: Place, tongs: Run) -> None:
    trusted(place, tongs, "key", SECRET)

    done = tongs("tool", "test", "key", "--fake-secrets", env={"KEY": "the real one, and long"})

    assert done.code == 0


def test_a_tool_that_wants_approval_needs_a_yes(place: Place, tongs: Run) -> None:
    trusted(place, tongs, "greet", f"{GREET}approval: {{required: true, reason: careful}}\n")

    refused, agreed = tongs("tool", "test", "greet"), tongs("tool", "test", "greet", "--yes")

    assert (refused.code, "APPROVAL_DENIED" in refused.stdout) == (1, True)
    assert "--yes" in refused.stdout
    assert agreed.code == 0


def test_executables_are_tested_by_what_they_describe(place: Place, tongs: Run) -> None:
    path = place.project / ".tongs" / "tools" / "count"
    path.write_text(EXECUTABLE)
    path.chmod(0o755)
    tongs("trust", "--yes", "count")

    done = tongs("tool", "test", "count")

    assert (times(done.stdout), done.code) == (
        "ok    count: counts\n\n1 example of 1 tool: all ok\n",
        0,
    )


def test_a_tool_is_tested_where_it_lies(place: Place, tongs: Run) -> None:
    elsewhere = place.project / "drafts"
    elsewhere.mkdir()
    (elsewhere / "greet.yaml").write_text(GREET)
    tongs("trust", "--yes", "drafts/greet.yaml")

    assert tongs("tool", "test", "drafts/greet.yaml").code == 0
    assert tongs("tool", "test", "drafts/none.yaml").code == 2


def test_the_report_can_be_read_by_a_program(place: Place, tongs: Run) -> None:
    trusted(place, tongs, "greet", WRONG)

    done = tongs("tool", "test", "--json")

    report = json.loads(done.stdout)
    (example,) = report["examples"]
    assert (report["ok"], report["counts"], done.code) == (False, {"ok": 0, "failed": 1}, 1)
    assert example["differences"] == ["expected: Bye, Ann!", "got:      Hello, Ann!"]
    assert example["result"]["output"] == "Hello, Ann!\n"


def test_record_shows_what_to_write_and_writes_nothing(place: Place, tongs: Run) -> None:
    trusted(place, tongs, "greet", WRONG)
    before = place.tool("greet", WRONG).read_text()

    done = tongs("tool", "test", "greet", "--record")

    path = place.project / ".tongs" / "tools" / "greet.yaml"
    assert done.code == 0
    assert done.stdout == (
        f"# {path}\n"
        "examples:\n"
        "  - description: Greets Ann\n"
        "    params:\n"
        "      WHO: Ann\n"
        "    expected_output: |\n"
        "      Hello, Ann!\n"
    )
    assert path.read_text() == before


def test_a_tool_without_examples_has_not_passed(place: Place, tongs: Run) -> None:
    place.tool("plain", "description: d\nbash: echo\ntags: [read]\n", scope="user")

    named, all_of_them = tongs("tool", "test", "plain"), tongs("tool", "test")

    assert (named.stderr.splitlines()[0], named.code) == ("plain has no examples", 1)
    assert (all_of_them.stderr, all_of_them.code) == ("no tool has examples\n", 0)


def test_output_cannot_fake_a_line_of_the_report(place: Place, tongs: Run) -> None:
    trusted(place, tongs, "greet", GREET.replace('echo "Hello, {WHO}!"', r"printf 'a\nok    x'"))

    lines = tongs("tool", "test", "greet").stdout.splitlines()

    assert not [line for line in lines if line.startswith("ok")]


def test_an_interrupt_ends_the_whole_test(place: Place, screen: Show) -> None:
    slow = "description: d\nbash: echo started > started; sleep 60\ntags: [write]\n"
    place.tool("slow", f"{slow}examples: [{{}}, {{}}, {{}}]\n", scope="user")
    os.mkfifo(place.project / "started")

    terminal = screen("tool", "test", "slow")
    (place.project / "started").read_text()
    terminal.type("\x03")

    assert terminal.end() == 130
    assert terminal.text.count("FAIL") == 1


def test_what_a_tool_requires_is_shown_and_missing_in_its_test(place: Place, tongs: Run) -> None:
    trusted(place, tongs, "greet", f"{GREET}requires: [sh, no-such-program]\n")

    shown, tested = tongs("tool", "get", "greet"), tongs("tool", "test", "greet")

    assert "requires:     sh, no-such-program\n" in shown.stdout
    assert "UNSUPPORTED_PLATFORM: greet was not run: it requires no-such-program" in tested.stdout
    ran = tongs("tool", "run", "greet", "WHO=Ann")
    assert (ran.stdout, ran.code) == ("", 4)
