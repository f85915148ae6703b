"""What of the environment reaches a tool."""

from __future__ import annotations

import os

import pytest

from tongs.config.environment import (
    base_environment,
    columns,
    editor,
    forbidden_from_model,
    host_environment,
)
from tongs.config.terminal import is_dumb, wants_color


def test_a_tool_gets_the_base_environment_and_nothing_else() -> None:
    host = {
        "PATH": "/bin",
        "HOME": "/home/x",
        "USER": "x",
        "LANG": "C.UTF-8",
        "LC_ALL": "C",
        "LC_TIME": "de_DE",
        "TZ": "UTC",
        "TMPDIR": "/elsewhere",
        "AWS_SECRET_ACCESS_KEY": "hunter2",
        "LD_PRELOAD": "/evil.so",
        "SSH_AUTH_SOCK": "/agent",
    }

    assert base_environment(host, "/scratch") == {
        "PATH": "/bin",
        "HOME": "/home/x",
        "USER": "x",
        "LANG": "C.UTF-8",
        "LC_ALL": "C",
        "LC_TIME": "de_DE",
        "TZ": "UTC",
        "TMPDIR": "/scratch",
    }


def test_without_a_path_the_systems_own_is_used() -> None:
    assert base_environment({}, "/s") == {"PATH": os.defpath, "TMPDIR": "/s"}


def test_the_host_environment_is_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TONGS_TEST", "1")
    copy = host_environment()
    copy["TONGS_TEST"] = "2"

    assert os.environ["TONGS_TEST"] == "1"


@pytest.mark.parametrize(
    "name",
    "LD_PRELOAD LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES PYTHONPATH PYTHONSTARTUP BASH_ENV ENV IFS"
    " NODE_OPTIONS GIT_SSH_COMMAND GIT_DIR PATH PS4 PERL5OPT RUBYOPT BASH_FUNC_ls%% ld_preload"
    " JAVA_TOOL_OPTIONS npm_config_script_shell TONGS_HOME EDITOR".split(),
)
def test_names_that_turn_text_into_code_are_forbidden_to_models(name: str) -> None:
    assert forbidden_from_model(name)


@pytest.mark.parametrize("name", ["CITY", "API_KEY", "HOME", "LANG", "ENVIRONMENT", "IF"])
def test_plain_names_are_not(name: str) -> None:
    assert not forbidden_from_model(name)


@pytest.mark.parametrize(
    ("written", "width"),
    [("80", 80), ("0", None), ("", None), ("x", None), ("9" * 9, None), ("²", None)],
)
def test_columns_is_a_width(written: str, width: int | None) -> None:
    assert columns({"COLUMNS": written}) == width


def test_the_editor_is_visual_before_editor() -> None:
    assert editor({}) is None
    assert editor({"EDITOR": "vi"}) == "vi"
    assert editor({"EDITOR": "vi", "VISUAL": "code -w"}) == "code -w"


@pytest.mark.parametrize(
    ("no_color", "term", "wanted"),
    [("", "xterm", True), ("1", "xterm", False), ("", "dumb", False), ("", "", False)],
)
def test_colour_follows_no_color_and_the_terminal(
    monkeypatch: pytest.MonkeyPatch, no_color: str, term: str, wanted: bool
) -> None:
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("TERM", term)

    assert wants_color() is wanted
    assert is_dumb() is (term != "xterm")


@pytest.mark.parametrize(
    ("path", "kept"),
    [("/a:/b", "/a:/b"), (".:/a::bin:/b:", "/a:/b"), ("", os.defpath), ("bin", os.defpath)],
)
def test_path_has_no_folder_that_depends_on_where_one_is(
    monkeypatch: pytest.MonkeyPatch, path: str, kept: str
) -> None:
    monkeypatch.setenv("PATH", path)

    assert host_environment()["PATH"] == kept
