"""What a tool requires is looked for before anything runs, and everything missing is named."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tongs import ErrorCode, ToolResult
from tongs.runtime.requirements import Requirement, parsed

if TYPE_CHECKING:
    from tests.unit.conftest import Project

TOUCH = "bash: touch made\ntags: [write]\nrequires: "


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in front of the PATH for programs of a test's own."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


def program(folder: Path, name: str, body: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def lacks(result: ToolResult) -> list[tuple[str, str]]:
    assert result.error is not None, result
    assert result.error.code is ErrorCode.UNSUPPORTED_PLATFORM
    return [(lack["requirement"], lack["found"]) for lack in result.error.details["missing"]]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("jq", Requirement("jq", "jq", False)),
        ("g++", Requirement("g++", "g++", False)),
        ("git>=2.30", Requirement("git>=2.30", "git", False, ">=", "2.30")),
        ("git >= 2.30", Requirement("git >= 2.30", "git", False, ">=", "2.30")),
        ("python:pandas", Requirement("python:pandas", "pandas", True)),
        ("python:a-b<3", Requirement("python:a-b<3", "a-b", True, "<", "3")),
    ],
)
def test_every_form_is_read(text: str, read: Requirement) -> None:
    assert parsed(text) == read


@pytest.mark.parametrize("text", ["", "a b", "git>=", "/bin/sh", "git>=x", "python:"])
def test_what_the_schemas_refuse_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no requirement"):
        parsed(text)


def test_a_tool_runs_when_everything_is_there(project: Project, programs: Path) -> None:
    program(programs, "fancy", "echo fancy version 2.30.1 of 1999")

    result = project.define_and_run(f'{TOUCH}[sh, "fancy>=2.30", "fancy<3", python:json]')

    assert result.ok, result.error
    assert (project.root / "made").exists()


def test_everything_missing_is_named_before_anything_runs(project: Project, programs: Path) -> None:
    program(programs, "fancy", "echo 2.29")
    program(programs, "silent", "true")

    result = project.define_and_run(
        f'{TOUCH}[sh, "fancy>=2.30", nosuch, "silent>=1", python:no-such-package]'
    )

    python = "/usr/bin/python3"
    assert lacks(result) == [
        ("fancy>=2.30", "2.29 is installed"),
        ("nosuch", "not on the PATH"),
        ("silent>=1", "its version could not be told"),
        ("python:no-such-package", f"not installed for {python}"),
    ]
    assert result.error is not None
    assert "fancy>=2.30 (2.29 is installed), nosuch (not on the PATH)" in result.error.message
    assert f"{python} -m pip install 'no-such-package'" in result.error.hint
    assert not (project.root / "made").exists()


@pytest.mark.parametrize(
    ("wanted", "met"),
    [
        (">=2.9", True),
        (">=2.10", True),
        (">=2.10.0.0", True),
        (">2.10", False),
        ("==2.10.0", True),
        ("==2.1", False),
        ("<=2.10", True),
        ("<2.9", False),
        ("<10", True),
    ],
)
def test_versions_are_compared_number_by_number(
    project: Project, programs: Path, wanted: str, met: bool
) -> None:
    program(programs, "fancy", "echo fancy 2.10")

    assert project.define_and_run(f'{TOUCH}["fancy{wanted}"]').ok is met


def test_a_version_is_asked_for_without_any_permission(project: Project, programs: Path) -> None:
    program(programs, "nosy", f"touch {project.root}/spy; cat {project.root}/secret; echo 1.0")
    (project.root / "secret").write_text("7.7")

    result = project.define_and_run(f'{TOUCH}["nosy==1.0"]')

    assert result.ok, result.error
    assert not (project.root / "spy").exists()


def test_a_version_that_never_comes_is_not_waited_for(
    project: Project, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tongs.runtime.requirements.PATIENCE", 0.2)
    program(programs, "slow", "sleep 60; echo 1.0")

    assert lacks(project.define_and_run(f'{TOUCH}["slow>=1"]')) == [
        ("slow>=1", "its version could not be told")
    ]


def test_nothing_is_asked_of_an_untrusted_tool(project: Project, programs: Path) -> None:
    project.write("t", f"{TOUCH}[nosuch]", trusted=False)

    result = project.run("t")

    assert result.error is not None
    assert result.error.code is ErrorCode.UNTRUSTED


def test_what_was_missing_is_looked_for_again_and_what_was_there_is_not(
    project: Project, programs: Path
) -> None:
    project.write("t", f"{TOUCH}[fancy]")
    runtime = project.runtime(auto_approve=["*"])
    before = runtime.call_sync("t")

    program(programs, "fancy", "true")
    then = runtime.call_sync("t")
    (programs / "fancy").unlink()
    afterwards = runtime.call_sync("t")

    assert [before.ok, then.ok, afterwards.ok] == [False, True, True]


def test_an_event_loop_checks_them_too(project: Project, programs: Path) -> None:
    program(programs, "fancy", "echo 1.0")
    project.write("t", f'{TOUCH}["fancy>=2"]')

    result = asyncio.run(project.runtime(auto_approve=["*"]).call("t"))

    assert lacks(result) == [("fancy>=2", "1.0 is installed")]


def test_a_configured_interpreter_is_the_one_that_is_asked(project: Project) -> None:
    (project.home / "config.yml").write_text(f"interpreters:\n  python: {sys.executable}\n")

    result = project.define_and_run(f"{TOUCH}[python:no-such-package]")

    assert lacks(result) == [("python:no-such-package", f"not installed for {sys.executable}")]
