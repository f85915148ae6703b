"""What tool authors test with."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tongs import ErrorCode, tool
from tongs.testing import Person, project

YAML = "description: d\nbash: echo {X}\nparameters: {X: {}}\ntags: [read]\n"
SECRET = "description: d\nbash: echo $KEY\npermissions: {secrets: {KEY: {}}}\n"


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def test_project_is_there_for_the_test_and_gone_after_it() -> None:
    home = os.environ.get("HOME")

    with project(files={".tongs/tools/t.yaml": YAML, "a.txt": "hi"}, auto_approve=["*"]) as it:
        root = it.root
        result = it.call("t", X="there")
        text = it.read("a.txt")

    assert (result.output, text) == ("there\n", "hi")
    assert not os.path.exists(root)
    assert os.environ.get("HOME") == home


def test_answers_are_given_in_turn() -> None:
    person = Person(True, "not again", {"a": 1, "b": 1}, None)

    with project(tools=[add], person=person) as it:
        results = [it.call("add", a=2, b=2) for _ in range(5)]

    assert [result.value for result in results] == [4, None, 2, None, None]
    assert [result.error and result.error.code for result in results] == [
        None,
        *(ErrorCode.APPROVAL_DENIED, None),
        *[ErrorCode.APPROVAL_DENIED] * 2,
    ]
    assert person.tools == ["add"] * 5


def test_person_may_type_it_too() -> None:
    with project(tools=[add], person=Person.is_away()) as it:
        typed = it.call_as_person("add", {"a": 1, "b": 2})
        asked = it.call("add", a=1, b=2)
        recorded = it.audit

    assert (typed.value, asked.ok) == (3, False)
    assert "name=add" in recorded


def test_secrets_are_only_those_of_the_test() -> None:
    with project(files={".tongs/tools/t.yaml": SECRET}, auto_approve=["*"]) as it:
        missing = it.call("t").error
    with project(
        files={".tongs/tools/t.yaml": SECRET}, secrets={"KEY": "s3cret"}, auto_approve=["*"]
    ) as it:
        output = it.call("t").output

    assert missing is not None
    assert missing.code is ErrorCode.SECRET_MISSING
    assert output == "[redacted]\n"


@pytest.mark.parametrize(
    "config", ["security: {auto_deny: [e]}\n", {"security": {"auto_deny": ["e"]}}]
)
def test_config_and_executables_can_be_written(config: Any) -> None:
    said = '{"name": "e", "description": "d", "input_schema": {"type": "object"}}'

    with project(config=config, person=Person.approves()) as it:
        it.write(".tongs/tools/e", f"#!/bin/sh\necho '{said}'\n", executable=True)
        error = it.call("e").error

    assert error is not None
    assert error.code is ErrorCode.DENIED


def test_fixtures_work_with_one_line(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["tongs.testing.fixtures"]\n')
    (tmp_path / "test_it.py").write_text(
        "from tongs import tool\n"
        "@tool\n"
        "def double(x: int) -> int:\n"
        "    'd'\n"
        "    return 2 * x\n"
        "def test_double(tongs_project, tongs_runtime, tongs_person, tongs_secrets):\n"
        "    tongs_secrets['KEY'] = 's3cret'\n"
        f"    tongs_project.write('.tongs/tools/s.yaml', {SECRET!r})\n"
        "    tongs_runtime.register(double)\n"
        "    assert tongs_project.call('double', x=2).value == 4\n"
        "    assert tongs_project.call('s').output == '[redacted]\\n'\n"
        "    assert tongs_person.tools == ['double', 's']\n"
    )

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout
