"""Secrets come from where a reference says, for the call that declared them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tongs import ErrorCode
from tongs.core.result import ToolResult

if TYPE_CHECKING:
    from tests.unit.conftest import Project

SHOW = 'bash: printf %s "$TOKEN" | tr a-z A-Z\npermissions: {secrets: {TOKEN: {}}}\n'


@pytest.fixture
def show(project: Project) -> Project:
    """A tool that shows its secret in a form that nobody redacts."""
    project.write("show", SHOW)
    return project


def refer(project: Project, reference: str) -> str:
    path = project.home / "config.yml"
    path.write_text(f"secrets:\n  TOKEN: {reference}\n")
    return f"{path}:2"


def secret_file(folder: Path, text: bytes = b"swordfish\n", mode: int = 0o600) -> Path:
    path = folder / "token"
    path.write_bytes(text)
    path.chmod(mode)
    return path


def refusal(result: ToolResult) -> tuple[object, str, str]:
    assert result.error is not None
    return result.error.code, result.error.message, result.error.hint


def test_without_a_reference_it_is_the_variable_of_that_name(
    show: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "plain")

    assert show.run("show").output == "PLAIN"


def test_env_is_another_variable(show: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    refer(show, "env:GH_TOKEN")
    monkeypatch.setenv("TOKEN", "wrong")
    monkeypatch.setenv("GH_TOKEN", "right")

    assert show.run("show").output == "RIGHT"


@pytest.mark.parametrize(
    ("text", "value"),
    [(b"swordfish\n", "SWORDFISH"), (b"swordfish", "SWORDFISH"), (b"sword\n\n", "SWORD\n")],
)
def test_file_gives_its_text_without_one_final_newline(
    show: Project, tmp_path: Path, text: bytes, value: str
) -> None:
    refer(show, f"file:{secret_file(tmp_path, text)}")

    assert show.run("show").output == value


def test_file_may_lie_below_the_home_directory(show: Project) -> None:
    secret_file(Path(os.environ["HOME"]))
    refer(show, "file:~/token")

    assert show.run("show").output == "SWORDFISH"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o602])
def test_file_that_others_can_read_is_refused(show: Project, tmp_path: Path, mode: int) -> None:
    path = secret_file(tmp_path, mode=mode)
    source = refer(show, f"file:{path}")

    assert refusal(show.run("show")) == (
        ErrorCode.SECRET_MISSING,
        f"show was not run: its secret TOKEN is file:{path} ({source}), which others may read",
        f"chmod 600 {path}",
    )


@pytest.mark.parametrize(
    ("data", "reason"),
    [(b"x" * 70_000, "is larger than 64 KiB"), (b"a\0b", "holds a NUL")],
)
def test_file_that_is_no_secret_is_refused(
    show: Project, tmp_path: Path, data: bytes, reason: str
) -> None:
    refer(show, f"file:{secret_file(tmp_path, data)}")

    assert reason in refusal(show.run("show"))[1]


def test_folder_is_no_secret(show: Project, tmp_path: Path) -> None:
    refer(show, f"file:{tmp_path}")

    assert "is no file" in refusal(show.run("show"))[1]


@pytest.mark.parametrize("reference", ["env:NOT_THERE", "file:/does/not/exist"])
def test_missing_one_is_named_with_the_line_of_its_reference(show: Project, reference: str) -> None:
    source = refer(show, reference)

    code, message, _ = refusal(show.run("show"))

    assert code is ErrorCode.SECRET_MISSING
    assert message.endswith(f"TOKEN is {reference} ({source}), which is not there")


def test_optional_one_that_is_not_there_is_absent(show: Project) -> None:
    refer(show, "file:/does/not/exist")
    show.write(
        "may", "bash: echo ${TOKEN-absent}\npermissions: {secrets: {TOKEN: {required: false}}}\n"
    )

    assert show.run("may").output == "absent\n"


def test_keyring_that_is_not_installed_is_said(
    show: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    refer(show, "keyring:github/token")
    monkeypatch.setitem(sys.modules, "keyring", None)

    code, message, hint = refusal(show.run("show"))

    assert (code, hint) == (ErrorCode.SECRET_MISSING, "pip install 'tongs[keyring]'")
    assert message.endswith("which needs a package that is not installed")


def test_program_that_gives_secrets_itself_is_asked_before_the_config(
    show: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "mine")
    monkeypatch.setenv("ELSE", "elsewhere")

    def shown(given: dict[str, str]) -> ToolResult:
        return show.runtime(secrets=given.get, auto_approve=["*"]).call_sync("show")

    assert refusal(shown({}))[0] is ErrorCode.SECRET_MISSING
    refer(show, "env:ELSE")
    assert [shown({"TOKEN": "given"}).output, shown({}).output] == ["GIVEN", "ELSEWHERE"]


def test_projects_reference_counts_when_its_file_was_accepted(
    show: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "mine")
    config = show.root / ".tongs" / "config.yml"
    config.write_text(f"secrets: {{TOKEN: 'file:{secret_file(tmp_path)}'}}\n")
    assert show.run("show").output == "MINE"
    (ignored,) = show.runtime().settings.ignored
    assert ignored.field == "secrets"

    show.runtime().definitions.accept_config(str(config), config.read_bytes())

    assert show.run("show").output == "SWORDFISH"


def test_nobody_is_asked_for_the_secrets_of_a_call_that_is_denied(show: Project) -> None:
    refer(show, "file:/does/not/exist")
    asked: list[str] = []
    runtime = show.runtime(secrets=asked.append, auto_deny=["show"])

    assert refusal(runtime.call_sync("show"))[0] is ErrorCode.DENIED
    assert asked == []


def test_untrusted_tool_gets_no_secret_looked_up(show: Project) -> None:
    asked: list[str] = []
    show.write("stranger", SHOW, trusted=False)

    result = show.runtime(secrets=asked.append, auto_approve=["*"]).call_sync("stranger")

    assert refusal(result)[0] is ErrorCode.UNTRUSTED
    assert asked == []
