"""`tongs lint --fix`, through the real command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.acceptance.conftest import Outcome, Place, Run

SEED = Path(__file__).parent / "seed_000" / "github-commit-stats.yaml"
BEFORE = """\
# A tool.
description: Does it.   # kept
tags: [read]
timeout: 30s  # kept, too
bash: ls
"""
AFTER = BEFORE.replace("30s", "30000")
MANIFEST = """\
name: scan
description: Does it.
kind: python # odd
exec:
  command: {entrypoint: ./scan.sh, timeout_ms: "30000"}
examples: [{params: {}}]
"""
TRUST = "hint: what was mended has changed, and has to be trusted again: tongs trust\n"


def test_a_file_is_mended_with_its_comments(place: Place, tongs: Run) -> None:
    file = place.tool("a", BEFORE)
    file.chmod(0o640)

    assert tongs("lint", "--fix") == Outcome(
        "fixed .tongs/tools/a.yaml:4: timeout: 30000\n\n1 file checked, nothing found\n", TRUST, 0
    )
    assert (file.read_text(), file.stat().st_mode & 0o777) == (AFTER, 0o640)


def test_what_was_trusted_has_to_be_trusted_again(place: Place, tongs: Run) -> None:
    file = place.tool("a", BEFORE.replace("30s", "30000"))
    tongs("trust", "--yes")
    file.write_text(BEFORE)

    assert tongs("lint", "--fix").stderr == TRUST
    # The bytes are those that were accepted, so the old acceptance holds for them.
    assert json.loads(tongs("tool", "list", "--json").stdout)[0]["trust"] == "accepted"

    file.write_text(BEFORE.replace("bash: ls", "bash: pwd"))
    tongs("lint", "--fix")
    assert json.loads(tongs("tool", "list", "--json").stdout)[0]["trust"] == "changed"


def test_a_tool_of_the_user_needs_no_trust(place: Place, tongs: Run) -> None:
    file = place.tool("a", BEFORE, scope="user")

    assert tongs("lint", "--fix").stderr == ""
    assert file.read_text() == AFTER


def test_a_dry_run_shows_the_difference_and_changes_nothing(place: Place, tongs: Run) -> None:
    file = place.tool("a", BEFORE)
    bare = place.project / ".tongs" / "tools" / "bare"
    bare.write_text("#!/bin/sh\n")

    outcome = tongs("lint", "--fix", "--dry-run")

    assert outcome.stdout.partition("\n\n")[0].splitlines() == [
        "--- .tongs/tools/a.yaml",
        "+++ .tongs/tools/a.yaml",
        "@@ -1,5 +1,5 @@",
        " # A tool.",
        " description: Does it.   # kept",
        " tags: [read]",
        "-timeout: 30s  # kept, too",
        "+timeout: 30000  # kept, too",
        " bash: ls",
        f"would chmod +x {bare}",
    ]
    assert (outcome.stderr, outcome.code) == ("", 2)
    assert (file.read_text(), bare.stat().st_mode & 0o111) == (BEFORE, 0)


def test_the_broken_example_of_the_seed_can_be_mended(place: Place, tongs: Run) -> None:
    file = place.tool("github-commit-stats", SEED.read_text())

    outcome = tongs("lint", "--fix")

    assert outcome.code == 0
    assert "    bash: |\n      echo '{fetch-commits.output}' | jq 'group_by" in file.read_text()


def test_a_manifest_and_its_entrypoint_are_mended_at_once(place: Place, tongs: Run) -> None:
    folder = place.project / ".tongs" / "tools" / "scan"
    folder.mkdir()
    (folder / "tool.yml").write_text(MANIFEST)
    script = place.project / "scan.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o644)

    report = json.loads(tongs("lint", "--fix", "--json").stdout)

    assert report["problems"] == []
    assert report["fixed"] == [
        {
            "file": str(folder / "tool.yml"),
            "changes": [
                {"line": 3, "what": "kind: command"},
                {"line": 5, "what": "exec.command.timeout_ms: 30000"},
            ],
            "needsTrust": True,
            "failure": "",
        },
        {
            "file": str(script),
            "changes": [{"line": 0, "what": f"chmod +x {script}"}],
            "needsTrust": True,
            "failure": "",
        },
    ]
    assert script.stat().st_mode & 0o777 == 0o755
    assert (folder / "tool.yml").read_text() == MANIFEST.replace("python #", "command #").replace(
        '"30000"', "30000"
    )


def test_a_script_becomes_executable_for_those_who_may_read_it(place: Place, tongs: Run) -> None:
    bare = place.project / ".tongs" / "tools" / "bare"
    bare.write_text("#!/bin/sh\n")
    bare.chmod(0o640)

    outcome = tongs("lint", "--fix")

    assert outcome.stdout.startswith(f"fixed .tongs/tools/bare: chmod +x {bare}\n")
    assert bare.stat().st_mode & 0o777 == 0o750


def test_no_file_outside_of_the_project_is_made_executable(
    place: Place, tongs: Run, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.sh"
    outside.write_text("#!/bin/sh\n")
    outside.chmod(0o644)
    folder = place.project / ".tongs" / "tools" / "scan"
    folder.mkdir()
    text = MANIFEST.replace("python # odd", "command").replace('"30000"', "30000")
    (folder / "tool.yml").write_text(text.replace("./scan.sh", str(outside)))

    outcome = tongs("lint", "--fix")

    assert outcome.stderr == f"warning: {outside} was not mended: it lies outside of the project\n"
    assert outside.stat().st_mode & 0o111 == 0


@pytest.mark.parametrize("linked", ["file", "folder"])
def test_a_link_never_leads_a_mend_elsewhere(
    place: Place, tongs: Run, tmp_path: Path, linked: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "a.yaml").write_text(BEFORE)
    tools = place.project / ".tongs" / "tools"
    if linked == "file":
        (tools / "a.yaml").symlink_to(elsewhere / "a.yaml")
    else:
        tools.rmdir()
        tools.symlink_to(elsewhere)

    outcome = tongs("lint", "--fix")

    assert "was not mended: a link leads to it" in outcome.stderr
    assert (elsewhere / "a.yaml").read_text() == BEFORE


def test_the_files_of_others_are_mended_only_if_they_are_named(place: Place, tongs: Run) -> None:
    file = place.project / ".cycod" / "tools" / "a.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(BEFORE)

    assert "it belongs to cycod" in tongs("lint", "--fix").stderr
    assert file.read_text() == BEFORE

    # The project was named, but not the file.
    tongs("lint", "--fix", str(place.project))
    assert file.read_text() == BEFORE

    tongs("lint", "--fix", str(file))
    assert file.read_text() == AFTER


def test_what_would_not_help_is_not_written(place: Place, tongs: Run) -> None:
    # As a block the text is YAML, but the key is still unknown; as it is, nothing is lost.
    file = place.tool("a", "description: Does it.\ntags: [read]\nbash: {a: b: c\n")
    before = file.read_text()

    outcome = tongs("lint", "--fix")

    assert (outcome.code, file.read_text()) == (2, before)
    assert "fixed" not in outcome.stdout


def test_a_wrong_config_file_is_mended_and_then_the_tools(place: Place, tongs: Run) -> None:
    config = place.user / "config.yml"
    config.write_text('limits: {processes: "12"} # few\n')
    place.tool("a", BEFORE)

    outcome = tongs("lint", "--fix")

    assert outcome == Outcome(
        f"fixed {config}:1: limits.processes: 12\n\n"
        "fixed .tongs/tools/a.yaml:4: timeout: 30000\n\n"
        "2 files checked, nothing found\n",
        TRUST,
        0,
    )
    assert config.read_text() == "limits: {processes: 12} # few\n"


def test_a_file_that_cannot_be_written_is_said_so(place: Place, tongs: Run) -> None:
    report = tongs("lint", "--fix", "/proc/self/status")

    assert (report.code, "Traceback" in report.stderr) == (2, False)
