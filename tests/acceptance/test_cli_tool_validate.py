"""`tongs tool validate`: the whole story of one tool, and nothing is called."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.acceptance.conftest import Outcome, Place, Run, Show

GREET = """description: Greets a person
bash: echo "Hello, {WHO}!" > greeting
parameters: {WHO: {description: whom}}
permissions: {fs: {write: [.]}}
tags: [write]
examples:
  - params: {WHO: Ann}
"""
DESCRIPTION = '{"name": "probe", "description": "d", "input_schema": {"type": "object"}}'


def executable(place: Place, description: str = f"echo '{DESCRIPTION}'") -> Path:
    path = place.project / ".tongs" / "tools" / "probe"
    path.write_text(
        f'#!/bin/sh\ncase "$1" in\ndescription) echo "a remark" >&2; {description} ;;\n'
        'config) echo \'{"timeout": "30m"}\' ;;\nrun) touch ran ;;\nesac\n'
    )
    path.chmod(0o755)
    return path


def states(done: Outcome) -> dict[str, str]:
    """Each step with its state; of two of one name the last."""
    lines = [line for line in done.stdout.splitlines() if not line.startswith(" ")]
    return {line[6:].partition(":")[0]: line[:4].strip() for line in lines}


def test_every_step_of_a_good_tool_is_told(place: Place, tongs: Run) -> None:
    path = place.tool("greet", GREET)
    tongs("trust", "--yes")

    done = tongs("tool", "validate", "greet")

    assert done.stdout == (
        f"ok    found: {path}, a YAML file in local scope\n"
        f"ok    reads: {len(GREET)} bytes of YAML\n"
        "ok    schema: fits the schema `tool.yaml`\n"
        "ok    definition: greet, inputs: WHO\n"
        "ok    permissions: declared\n"
        "        network: off\n"
        f"        reads: {place.project}\n"
        f"        writes: {place.project}\n"
        "        secrets: none\n"
        "        hint: tongs sandbox explain greet shows all of it\n"
        "ok    requirements: none\n"
        "ok    trust: accepted as it is\n"
        "ok    examples: 1, run by: tongs tool test greet\n"
        'ok    dry run: with the first example {"WHO": "Ann"} it would run\n'
        "        __t0='Ann'\n"
        '        echo "Hello, ${__t0}!" > greeting\n'
    )
    assert done.code == 0
    assert not (place.project / "greeting").exists()


def test_an_untrusted_file_anywhere_is_told_about_too(place: Place, tongs: Run) -> None:
    (place.project / "draft.yaml").write_text("bash: echo {X}\nparameters: {X: {enum: [a, b]}}\n")

    done = tongs("tool", "validate", "draft.yaml")

    assert states(done) == {
        "found": "ok",
        "reads": "ok",
        "schema": "ok",
        "definition": "ok",
        "permissions": "ok",
        "requirements": "ok",
        "trust": "note",
        "examples": "note",
        "dry run": "ok",
    }
    assert 'with made-up arguments {"X": "a"} it would run' in done.stdout
    assert done.code == 0


def test_the_first_step_that_fails_ends_the_story(place: Place, tongs: Run) -> None:
    draft = place.project / "draft.yaml"
    outcomes = []
    for text in ("a: [", "bash: 3\n", "bash: echo {NAME}\nbash: x\n", "bash: echo {\n"):
        draft.write_text(text)
        outcomes.append(tongs("tool", "validate", "draft.yaml"))

    assert [(list(states(done).items())[-1], done.code) for done in outcomes] == [
        (("reads", "FAIL"), 2),
        (("schema", "FAIL"), 2),
        (("reads", "FAIL"), 2),
        (("dry run", "ok"), 0),
    ]
    assert 'write `bash: "3"`' in outcomes[1].stdout


def test_what_is_missing_is_named(place: Place, tongs: Run) -> None:
    place.tool("t", "description: d\nbash: echo\nrequires: [sh, no-such-program]\ntags: [read]\n")

    done = tongs("tool", "validate", "t")

    assert states(done)["requirements"] == "FAIL"
    assert "no-such-program: not on the PATH" in done.stdout
    assert done.code == 2


def test_examples_that_the_tool_would_refuse_fail(place: Place, tongs: Run) -> None:
    place.tool("t", GREET.replace("WHO: Ann", "WHOM: Ann"))

    done = tongs("tool", "validate", "t")

    assert (states(done)["examples"], states(done)["dry run"], done.code) == ("FAIL", "FAIL", 2)
    assert "example 1: unknown key `WHOM`" in done.stdout


def test_an_untrusted_executable_is_not_run_without_a_word(place: Place, tongs: Run) -> None:
    executable(place, "touch /tmp/ran-without-a-word")

    done = tongs("tool", "validate", "probe")

    assert list(states(done).items())[-1] == ("probe", "FAIL")
    assert "--yes" in done.stdout
    assert done.code == 2
    assert not Path("/tmp/ran-without-a-word").exists()


def test_an_executable_is_really_asked(place: Place, tongs: Run) -> None:
    executable(place)

    done = tongs("tool", "validate", "probe", "--yes")

    assert "stderr: a remark" in done.stdout
    assert "`config` sets the timeout to 30m" in done.stdout
    assert states(done)["schema"] == "ok"
    assert states(done)["trust"] == "note"
    assert done.code == 0
    assert not (place.project / "ran").exists()


def test_a_description_is_asked_for_anew_each_time(place: Place, tongs: Run) -> None:
    counter = place.project / "answer"
    counter.write_text(DESCRIPTION)
    executable(place, f"cat {counter} || echo '{DESCRIPTION}'")
    tongs("trust", "--yes")
    tongs("tool", "list")

    done = tongs("tool", "validate", "probe")

    # It may not read the project, which only somebody sees who really asks.
    assert "Permission denied" in done.stdout or "No such file" in done.stdout


def test_a_failing_description_shows_why(place: Place, tongs: Run) -> None:
    executable(place, "echo 'no such luck' >&2; exit 3")

    failed = tongs("tool", "validate", "probe", "--yes")
    executable(place, "echo not json")
    garbled = tongs("tool", "validate", "probe", "--yes")
    executable(place, "echo '{}'")
    empty = tongs("tool", "validate", "probe", "--yes")

    assert "`description` failed with exit code 3" in failed.stdout
    assert "        stderr: no such luck\n" in failed.stdout
    assert "`description` did not print JSON" in garbled.stdout
    assert list(states(empty).items())[-1] == ("schema", "FAIL")
    assert [failed.code, garbled.code, empty.code] == [2, 2, 2]


def test_a_person_is_asked_before_a_strange_executable_runs(place: Place, screen: Show) -> None:
    executable(place)

    terminal = screen("tool", "validate", "probe")

    terminal.wait_for("run its `description` and `config` in the sandbox? [y/N]")
    terminal.type("y\r")
    terminal.wait_for("dry run")
    assert terminal.end() == 0


def test_a_program_can_read_the_steps(place: Place, tongs: Run) -> None:
    place.tool("t", "bash: 3\n")

    report = json.loads(tongs("tool", "validate", "t", "--json").stdout)

    assert (report["ok"], report["steps"][-1]["step"], report["steps"][-1]["state"]) == (
        False,
        "schema",
        "fail",
    )


def test_a_manifest_is_found_by_its_directory_and_by_its_file(place: Place, tongs: Run) -> None:
    folder = place.project / "drafts" / "hi"
    folder.mkdir(parents=True)
    (folder / "tool.yml").write_text(
        "name: hi\ndescription: d\nkind: command\n"
        "exec: {command: {entrypoint: echo, args: [hi]}}\npermissions: {network: false}\n"
    )

    by_folder = tongs("tool", "validate", "drafts/hi")
    by_file = tongs("tool", "validate", "drafts/hi/tool.yml")

    assert "a manifest in local scope" in by_folder.stdout
    assert (by_folder.stdout, by_folder.code) == (by_file.stdout, 0)


def test_a_file_that_is_no_tool_says_what_it_lacks(place: Place, tongs: Run) -> None:
    (place.project / "script").write_text("#!/bin/sh\n")

    done = tongs("tool", "validate", "./script")

    assert "is neither YAML nor executable" in done.stdout
    assert done.code == 2
    assert tongs("tool", "validate", "./nothing").code == 2


def test_a_folder_that_may_be_written_is_read_once(place: Place, tongs: Run) -> None:
    place.tool("t", "description: d\nbash: echo\n")

    shown = tongs("tool", "validate", "t").stdout

    assert f"        reads: {place.project}\n        writes: {place.project}\n" in shown
