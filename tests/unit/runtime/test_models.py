"""A model of the config, ready to be asked: its key looked up, and nothing sent."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tongs.config.settings import ModelConfig, Reference
from tongs.core.errors import ErrorCode, ToolError
from tongs.runtime import Runtime
from tongs.runtime.models import KnownModel, known_models, open_model, usual_keys


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runtime]:
    user = tmp_path / "user"
    user.mkdir()
    (user / "config.yml").write_text(
        "models:\n"
        "  default: local\n"
        "  local: {provider: ollama, model: small}\n"
        "  kept: {provider: anthropic, model: m, key: file:~/key}\n"
        "  behind: {provider: openai, model: m, key: env:MY_KEY, proxy: env:MY_PROXY}\n"
        "  open: {provider: openai, model: m, key: env:MY_KEY, base_url: http://x.example/v1}\n"
        "  safe: {provider: openai, model: m, key: env:MY_KEY, base_url: http://127.0.0.1:9/v1}\n"
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TONGS_HOME", str(user))
    monkeypatch.setenv("TONGS_GLOBAL", str(tmp_path / "global"))
    monkeypatch.delenv("MY_KEY", raising=False)
    opened = Runtime.open(tmp_path)
    yield opened
    opened.close()


def never(warning: str) -> None:
    raise AssertionError(warning)


def error_of(runtime: Runtime, name: str) -> ToolError:
    with pytest.raises(ToolError) as raised:
        open_model(runtime, name, "", never)
    return raised.value


def test_the_default_model_has_the_form_of_its_provider(runtime: Runtime) -> None:
    model = open_model(runtime, "", "", never)

    assert (model.name, model.form) == ("local", "openai")
    assert open_model(runtime, "google:m", "http://127.0.0.1:9", never).form == "gemini"


def test_a_key_that_is_not_there_names_its_place(runtime: Runtime) -> None:
    error = error_of(runtime, "behind")

    assert error.code is ErrorCode.SECRET_MISSING
    assert "behind was not asked: its key is env:MY_KEY (" in error.message
    assert error.hint.startswith("export MY_KEY=…")


def test_a_key_that_others_may_read_is_not_used(runtime: Runtime, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("sk-1\n")
    key.chmod(0o644)

    error = error_of(runtime, "kept")
    key.chmod(0o600)

    assert error.hint == f"chmod 600 {key}"
    assert open_model(runtime, "kept", "", never).form == "anthropic"


def test_a_proxy_that_is_not_there_is_not_passed_by(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-1")

    error = error_of(runtime, "behind")

    assert "its proxy is env:MY_PROXY" in error.message


def test_a_missing_extra_is_told_before_anything_is_asked(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)

    error = error_of(runtime, "local")

    assert (error.code, error.hint) == (
        ErrorCode.UNSUPPORTED_PLATFORM,
        "pip install 'tongs[chat]'",
    )


def test_a_listing_says_which_keys_are_missing(runtime: Runtime) -> None:
    found = [(known.name, known.default, known.missing) for known in known_models(runtime)]

    assert found == [
        ("local", True, ""),
        ("kept", False, "is not there"),
        ("behind", False, "is not there"),
        ("open", False, "is not there"),
        ("safe", False, "is not there"),
    ]


def test_usual_variables_are_found() -> None:
    assert usual_keys({"OPENAI_API_KEY": "x", "GEMINI_API_KEY": ""}) == [
        ("openai", "OPENAI_API_KEY")
    ]


@pytest.mark.parametrize(
    ("address", "exposed"),
    [
        ("http://127.0.0.1:9/v1", False),
        ("http://localhost/v1", False),
        ("http://[::1]:9/v1", False),
        ("https://example.org/v1", False),
        ("http://example.org/v1", True),
        ("http://127.0.0.1.example.org/v1", True),
    ],
)
def test_a_key_that_crosses_a_network_in_the_open_is_said(address: str, exposed: bool) -> None:
    key = Reference("env:MY_KEY", "config.yml:1")
    assert KnownModel("mine", ModelConfig("openai", "m", address, key)).exposed is exposed


def test_who_opens_a_model_is_told_so(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-test-4f8d1c0ab97e")
    warnings: list[str] = []

    # The key is for the address that it stands beside, and no other gets it.
    for name, address in (("safe", ""), ("open", "http://y.example/v1"), ("open", "")):
        assert warnings == []
        open_model(runtime, name, address, warnings.append)

    [warning] = warnings
    assert "the key of open is sent to http://x.example/v1 without encryption" in warning
    assert "sk-test" not in warning
