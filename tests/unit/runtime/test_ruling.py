"""Rules of a runtime see what a tool really runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tongs import Caller, CallerKind, DefinitionInvalid, Runtime, SafetyRule, ToolResult

AGENT = Caller(CallerKind.AGENT, "test")
PERSON = Caller(CallerKind.PERSON, "test")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path.resolve() / "home"
    (folder / ".tongs" / "tools").mkdir(parents=True, mode=0o700)
    (folder / "project").mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("TONGS_GLOBAL", str(tmp_path / "global"))
    monkeypatch.delenv("TONGS_HOME", raising=False)
    return folder


Call = Callable[..., ToolResult]


@pytest.fixture
def call(home: Path) -> Iterator[Call]:
    opened: list[Runtime] = []

    def run(
        definition: str, caller: Caller = AGENT, rules: Any = (), /, **arguments: Any
    ) -> ToolResult:
        (home / ".tongs" / "tools" / "it.yaml").write_text(f"description: d\n{definition}")
        runtime = Runtime.open(home / "project", auto_approve=["*"], rules=rules)
        opened.append(runtime)
        return runtime.call_sync("it", arguments, caller=caller)

    yield run
    for runtime in opened:
        runtime.close()


def rule_of(result: ToolResult) -> str:
    return "" if result.error is None else str(result.error.details.get("rule", result.error))


SHOW = "bash: cat {F} >/dev/null; echo read\nparameters: {F: {type: string, description: d}}\n"
REMOVE = "bash: rm -rf {DIR}\nparameters: {DIR: {type: string, description: d}}\n"


def test_value_of_a_caller_is_judged_where_it_lands(call: Call, home: Path) -> None:
    (home / "project" / "build").mkdir()

    assert rule_of(call(REMOVE, DIR="/etc")) == "recursive-deletion"
    assert rule_of(call(REMOVE, DIR="..")) == "recursive-deletion"
    assert rule_of(call(REMOVE, PERSON, DIR=str(home))) == "recursive-deletion"
    assert rule_of(call(REMOVE, DIR="build")) == ""
    assert not (home / "project" / "build").exists()


def test_words_of_run_are_judged(call: Call) -> None:
    definition = REMOVE.replace("bash:", "run:")

    assert rule_of(call(definition, DIR="/etc")) == "recursive-deletion"
    assert rule_of(call("run: bash -c 'rm -rf /etc'\n")) == "recursive-deletion"


def test_every_step_is_judged_before_the_first_runs(call: Call, home: Path) -> None:
    steps = "steps:\n- {name: a, bash: touch done}\n- {name: b, bash: rm -rf /etc}\n"

    assert rule_of(call(steps)) == "recursive-deletion"
    assert not (home / "project" / "done").exists()


def test_folder_of_a_tool_is_part_of_its_command(call: Call) -> None:
    assert rule_of(call("bash: rm -rf *\nworking-directory: /etc\n")) == "recursive-deletion"


def test_authors_own_script_raises_no_false_alarm(call: Call) -> None:
    script = 'bash: |\n  t=$(mktemp -d); trap \'rm -rf "$t"\' EXIT; eval "$(echo echo hi)"\n'

    assert call(script).output == "hi\n"


def test_output_of_an_earlier_step_is_not_known(call: Call) -> None:
    steps = "steps:\n- {name: a, bash: echo x}\n- {name: b, bash: 'rm -rf {a.output}; echo done'}\n"

    assert call(steps).output == "done\n"
    asked = call(steps, AGENT, [{"name": "r", "when": {"command": "rm x"}, "decision": "deny"}])
    assert rule_of(asked) == "r"


def test_raw_text_of_a_caller_counts_as_given(call: Call) -> None:
    definition = "bash: '{RAW:CMD}'\nparameters: {CMD: {type: string, description: d}}\n"

    assert rule_of(call(definition, CMD="rm -rf build")) == "delete-inside"
    assert rule_of(call(definition, CMD="$X")) == "not-understood"
    assert call(definition, CMD="echo hi").output == "hi\n"


def test_path_argument_to_a_secret_is_denied(call: Call, home: Path) -> None:
    definition = "python: print(1)\nparameters: {path: {type: string, description: d}}\n"

    assert rule_of(call(definition, path="/etc/passwd")) == "secret-files"
    assert rule_of(call(definition, path="~/.ssh/id_rsa")) == "secret-files"
    assert rule_of(call(definition, path="x/.env")) == "secret-files"
    assert call(definition, path="x/env").output == "1\n"


def test_author_may_read_what_the_permissions_give_and_no_caller_more(call: Call) -> None:
    both = "bash: cat /etc/passwd {F} >/dev/null; echo read\n" + SHOW.partition("\n")[2]

    assert call(both, F="/dev/null").output == "read\n"
    assert rule_of(call(both, F="/etc/../etc/shadow")) == "secret-files"
    assert rule_of(call(both, F="$(cat /etc/shadow)")) == ""


def test_rules_of_a_program_hold(call: Call) -> None:
    rules = [SafetyRule("no-net", ("curl",))]

    assert rule_of(call("bash: curl x\n", AGENT, rules)) == "no-net"
    assert rule_of(call("bash: cu\\rl x\n", PERSON, rules)) == "no-net"
    assert call("bash: echo curl\n", AGENT, rules).output == "curl\n"


def test_manifest_command_is_judged(home: Path) -> None:
    folder = home / ".tongs" / "tools" / "wipe"
    folder.mkdir()
    (folder / "tool.yml").write_text(
        "name: wipe\ndescription: d\nkind: command\n"
        "inputs: {schema: {type: object, properties: {dir: {type: string}}}}\n"
        "exec: {command: {entrypoint: /bin/rm, args: ['-r', '${dir}']}}\n"
    )
    with Runtime.open(home / "project", auto_approve=["*"]) as runtime:
        assert rule_of(runtime.call_sync("wipe", dir="/etc")) == "recursive-deletion"


def test_rule_with_the_name_of_a_default_stands_instead_of_it(home: Path, call: Call) -> None:
    (home / ".tongs" / "config.yml").write_text(
        "security: {rules: [{name: secret-files, when: {tool: x}, decision: deny}]}\n"
    )

    assert call(SHOW, F="/etc/passwd").output == "read\n"


def test_untrusted_project_cannot_take_a_default_rule_away(home: Path, call: Call) -> None:
    (home / "project" / ".tongs").mkdir()
    (home / "project" / ".tongs" / "config.yml").write_text(
        "security: {rules: [{name: secret-files, when: {tool: x}, decision: deny}]}\n"
    )

    assert rule_of(call(SHOW, F="/etc/passwd")) == "secret-files"


def test_example_that_does_not_hold_stops_everything_and_names_its_line(home: Path) -> None:
    config = home / ".tongs" / "config.yml"
    config.write_text(
        "security:\n  rules:\n  - when: {command: rm -rf}\n    decision: deny\n    match:\n"
        "    - rm -r -f x\n    - rm x\n"
    )

    with pytest.raises(DefinitionInvalid) as caught:
        Runtime.open(home / "project")

    assert [(problem.file, problem.line) for problem in caught.value.problems] == [(str(config), 7)]
