"""What every executor promises, whichever module it lives in."""

from __future__ import annotations

import pkgutil
from pathlib import Path

import pytest

import tongs.executors
from tongs import Runtime
from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.result import ToolResult
from tongs.executors import KEYS, Executors

# One small tool per executor: what it is defined by, and what its stdout must be for A=x.
SAMPLES = {
    "process": "run: sh -c 'touch ran; printf got:%s \"$1\"' sh {A}\n",
    "script": "bash: touch ran; printf 'got:%s' {A}\n",
    "steps": "steps:\n  - bash: touch ran\n  - bash: printf 'got:%s' {A}\n",
}
# Modules of the package that are no executor but what several of them share.
SHARED = {"step"}


@pytest.fixture(params=sorted(KEYS))
def key(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def runtime(key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runtime:
    monkeypatch.setenv("TONGS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = tmp_path / "project" / ".tongs" / "tools"
    folder.mkdir(parents=True)
    (folder / "t.yaml").write_text(SAMPLES[key] + "parameters: {A: {}}\n")
    runtime = Runtime.open(tmp_path / "project", single_thread=True)
    runtime.definitions.accept(runtime.find("t"))
    return runtime


def call(value: str) -> ToolCall:
    return ToolCall("c1", "t", {"A": value}, Caller(CallerKind.PERSON, "user"))


def test_every_module_is_a_key_and_every_key_has_a_sample() -> None:
    modules = {module.name for module in pkgutil.iter_modules(tongs.executors.__path__)}

    assert modules - SHARED == set(KEYS) == set(SAMPLES)


def test_key_gives_an_executor_and_others_do_not(key: str) -> None:
    assert Executors()[key] is not None
    with pytest.raises(KeyError):
        Executors()["no such kind"]


def test_tool_names_its_executor(runtime: Runtime, key: str) -> None:
    assert runtime.find("t").executor == key


def test_preview_shows_the_value_and_starts_nothing(runtime: Runtime, tmp_path: Path) -> None:
    result = runtime.validate(call("shown-value"), preview=True)

    assert "shown-value" in result.output
    assert not (tmp_path / "project" / "ran").exists()


def test_execution_gives_the_output_as_a_result(runtime: Runtime, tmp_path: Path) -> None:
    result = runtime.run_sync(call("x"))

    assert isinstance(result, ToolResult)
    assert (result.ok, result.output, result.metadata["exitCode"]) == (True, "got:x", 0)
    assert (tmp_path / "project" / "ran").exists()


def test_value_is_data_and_never_code(runtime: Runtime, tmp_path: Path) -> None:
    hostile = "$(touch canary)`touch canary`'; touch canary; \"\n&& touch canary #"

    result = runtime.run_sync(call(hostile))

    assert result.output == f"got:{hostile}"
    assert not (tmp_path / "project" / "canary").exists()
