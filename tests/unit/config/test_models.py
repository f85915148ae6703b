"""`models` of the config files, and which model a name means."""

from __future__ import annotations

from pathlib import Path

import pytest

from tongs.config.models import chosen
from tongs.config.places import find_places
from tongs.config.settings import ModelConfig, Models, Reference, Settings, load_settings
from tongs.core.errors import DefinitionInvalid, ErrorCode, ToolError
from tongs.schema.document import Document, parse

LOCAL = ModelConfig("ollama", "qwen3:8b")
KEPT = Reference("file:~/.secrets/models", "config.yml:4")
OWN = ModelConfig("openai-compatible", "m", "https://models.example.org/v1", KEPT)
USUAL = Reference("env:OPENAI_API_KEY", "the usual place for openai")


def read(path: str) -> Document:
    return parse(Path(path).read_bytes(), path)


def settings(root: Path, *, user: str = "", project: str = "", trusted: bool = False) -> Settings:
    for folder, text in (("home/.tongs", user), ("home/app/.tongs", project)):
        (root / folder).mkdir(parents=True, exist_ok=True)
        if text:
            (root / folder / "config.yml").write_text(text)
    env = {"HOME": str(root / "home"), "TONGS_GLOBAL": str(root / "etc")}
    places = find_places(str(root / "home/app"), env)
    return load_settings(places, read, project_trusted=trusted)


def test_everything_that_an_entry_says(tmp_path: Path) -> None:
    text = """\
models:
  default: work
  work:
    provider: anthropic
    model: claude
    base_url: https://models.example.org
    key: keyring:models/key
    proxy: env:HTTPS_PROXY
    instructions: Be short.
    settings: {temperature: 0.5, max_tokens: 100, timeout: 2m, stop: [END], thinking: low}
"""

    models = settings(tmp_path, user=text).models

    file = tmp_path / "home/.tongs/config.yml"
    work = ModelConfig(
        *("anthropic", "claude", "https://models.example.org"),
        key=Reference("keyring:models/key", f"{file}:7"),
        proxy=Reference("env:HTTPS_PROXY", f"{file}:8"),
        instructions="Be short.",
        settings={
            "temperature": 0.5,
            "max_tokens": 100,
            "timeout": 120.0,
            "stop": ["END"],
            "thinking": "low",
        },
        source=f"{file}:3",
    )
    assert models == Models("work", {"work": work})


def test_a_later_file_says_all_of_a_model_so_no_key_goes_to_another_address(
    tmp_path: Path,
) -> None:
    user = "models: {a: {provider: openai, model: x, key: env:MINE}, b: {provider: vllm, model: y}}"
    project = "models: {default: b, a: {provider: openai, model: x, base_url: 'https://other'}}"

    models = settings(tmp_path, user=user, project=project, trusted=True).models

    assert models.default == "b"
    assert list(models.named) == ["a", "b"]
    assert (models.named["a"].base_url, models.named["a"].key) == ("https://other", None)


def test_a_project_that_nobody_accepted_says_nothing_about_models(tmp_path: Path) -> None:
    project = "models: {a: {provider: openai, model: x, base_url: 'https://other'}}"

    found = settings(tmp_path, project=project)

    assert found.models == Models()
    assert [problem.field for problem in found.ignored] == ["models"]


@pytest.mark.parametrize(
    "entry",
    [
        "{provider: openai}",
        "{provider: openia, model: x}",
        "{provider: openai, model: x, key: sk-the-key-itself}",
        "{provider: openai, model: x, base_url: ftp://x}",
        "{provider: openai-compatible, model: x}",
        "{provider: openai, model: x, base_url: 'https://me:secret@x'}",
        "{provider: openai, model: x, proxy: 'http://me:secret@x'}",
        "{provider: openai, model: x, settings: {temprature: 1}}",
    ],
)
def test_a_wrong_entry_is_told_and_no_key_can_stand_in_it(entry: str, tmp_path: Path) -> None:
    with pytest.raises(DefinitionInvalid) as invalid:
        settings(tmp_path, user=f"models:\n  a: {entry}\n")

    assert all(problem.field.startswith("models.a") for problem in invalid.value.problems)
    assert "sk-the-key" not in str(invalid.value)
    assert "secret@" not in str(invalid.value)


def test_a_name_of_the_config_comes_first_then_provider_and_model() -> None:
    models = Models("own", {"own": OWN, "local": LOCAL})

    assert chosen(models) == ("own", OWN)
    assert chosen(models, "local")[1].base_url == "http://127.0.0.1:11434/v1"
    assert chosen(models, "ollama:qwen3:8b") == (
        "ollama:qwen3:8b",
        ModelConfig("ollama", "qwen3:8b", "http://127.0.0.1:11434/v1"),
    )


def test_the_only_model_is_the_default_one() -> None:
    assert chosen(Models("", {"own": OWN})) == ("own", OWN)


def test_a_provider_has_its_usual_address_and_variable() -> None:
    assert chosen(Models(), "openai:gpt")[1] == ModelConfig(
        "openai", "gpt", "https://api.openai.com/v1", USUAL
    )


def test_no_key_goes_to_an_address_it_was_not_written_beside() -> None:
    there = "http://127.0.0.1:9/v1"

    assert chosen(Models(), "openai:gpt", there)[1].key is None
    assert chosen(Models("", {"own": OWN}), "own", there)[1] == ModelConfig(
        "openai-compatible", "m", there
    )
    assert chosen(Models("", {"own": OWN}), "own", f"{OWN.base_url}/")[1].key == KEPT


@pytest.mark.parametrize(
    ("models", "named", "message"),
    [
        (Models(), "", "no model is configured"),
        (Models("", {"a": OWN, "b": LOCAL}), "", "several models are configured"),
        (Models("", {"own": OWN}), "onw", "there is no model `onw` (did you mean `own`?)"),
        (Models(), "opanai:gpt", "there is no provider `opanai` (did you mean `openai`?)"),
        (Models(), "openai:", "`openai:` names no model"),
        (Models(), "openai-compatible:m", "openai-compatible:m has no address"),
    ],
)
def test_what_names_no_model_says_what_would(models: Models, named: str, message: str) -> None:
    with pytest.raises(ToolError) as error:
        chosen(models, named)

    assert (error.value.code, error.value.message) == (ErrorCode.INVALID_ARGUMENTS, message) or (
        error.value.message.startswith(message)
    )
    assert error.value.hint


@pytest.mark.parametrize("address", ["127.0.0.1:1234", "file:///etc", "http://", "http://a:b@c"])
def test_what_is_no_address_of_a_server_is_refused(address: str) -> None:
    with pytest.raises(ToolError):
        chosen(Models(), "openai:gpt", address)
