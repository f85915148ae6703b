"""`tongs models`: what is configured, whether its key is there, and whether it answers."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from tests.acceptance.conftest import Place, Run, Show
from tests.model_servers import ModelServer, Turn, refusals

Serve = Callable[..., ModelServer]
KEY = "sk-test-4f8d1c0ab97e"


def configure(place: Place, text: str) -> None:
    (place.user / "config.yml").write_text(text)


IN_THE_OPEN = (
    "warning: the key of mine is sent to http://models.example.org/v1 without encryption, as is all"
    " that is said: anybody on the way can read it"
)


def exposed(place: Place, proxy: str) -> None:
    """A model whose key is sent to another machine, by a proxy on this one."""
    configure(
        place,
        "models:\n  mine: {provider: openai-compatible, model: m, key: env:MY_KEY,"
        f" base_url: 'http://models.example.org/v1', proxy: '{proxy}'}}\n",
    )


@pytest.mark.full
def test_a_key_that_is_sent_in_the_open_is_said_once(
    place: Place, tongs: Run, model_server: Serve
) -> None:
    server = model_server("openai", Turn(text=["ok"]))
    exposed(place, server.url)

    done = tongs("run", "hi", "--no-tools", env={"MY_KEY": KEY})

    assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
    assert (done.stdout, done.stderr, done.code) == ("ok\n", f"{IN_THE_OPEN}\n", 0)


def test_that_a_key_goes_in_the_open_is_said_before_anything_else(place: Place, tongs: Run) -> None:
    exposed(place, "http://127.0.0.1:9")

    done = tongs("run", "hi", "--continue", env={"MY_KEY": KEY})

    warning, *rest = done.stderr.splitlines()
    assert (warning, len(rest), done.code) == (IN_THE_OPEN, 2, 2)


def test_a_chat_says_so_too(place: Place, screen: Show) -> None:
    exposed(place, "http://127.0.0.1:9")

    chat = screen("chat", "--no-tools", env={"MY_KEY": KEY}, columns=300)

    chat.wait_for("tongs chat: mine")
    assert chat.text.count(IN_THE_OPEN) == 1
    assert KEY not in chat.text


def test_nothing_configured_says_what_would_work(tongs: Run) -> None:
    done = tongs("models", env={"GEMINI_API_KEY": KEY})

    assert (done.code, done.stdout) == (0, "")
    assert done.stderr == (
        "no model is configured\n"
        "GEMINI_API_KEY is set, so --model google:MODEL works without any config\n"
        "hint: --model ollama:qwen3:8b, or an entry in config.yml: tongs help models\n"
    )


def test_models_are_listed_with_where_their_keys_are(place: Place, tongs: Run) -> None:
    configure(
        place,
        "models:\n"
        "  default: claude\n"
        '  local: {provider: ollama, model: "qwen3:8b"}\n'
        "  claude: {provider: anthropic, model: claude-x}\n"
        "  own: {provider: openai-compatible, model: m, base_url: https://x.example/v1,"
        " key: file:~/key}\n",
    )
    (place.home / "key").write_text(KEY)
    (place.home / "key").chmod(0o644)

    done = tongs("models", env={"ANTHROPIC_API_KEY": KEY})

    assert done.code == 0
    assert done.stdout == (
        "NAME              PROVIDER           MODEL     ADDRESS                    KEY\n"
        "local             ollama             qwen3:8b  http://127.0.0.1:11434/v1  none\n"
        "claude (default)  anthropic          claude-x  https://api.anthropic.com"
        "  env:ANTHROPIC_API_KEY\n"
        "own               openai-compatible  m         https://x.example/v1       file:~/key"
        " (others may read)\n"
    )
    assert KEY not in done.stdout + done.stderr


def test_each_model_is_asked_and_the_exit_code_tells(
    place: Place, tongs: Run, model_server: Serve
) -> None:
    good, bad = model_server("openai"), model_server("anthropic", refusals("anthropic")["auth"])
    configure(
        place,
        "models:\n"
        f"  good: {{provider: vllm, model: m, base_url: '{good.base_url}'}}\n"
        f"  bad: {{provider: anthropic, model: m, base_url: '{bad.base_url}', key: env:MY_KEY}}\n",
    )

    done = tongs("models", "--test", "--json", env={"MY_KEY": KEY})

    assert done.code == 1
    first, second = json.loads(done.stdout)["models"]
    assert (first["name"], first["test"]["ok"], first["key"]) == ("good", True, None)
    assert (second["key"], second["keyFound"]) == ("env:MY_KEY", True)
    error = second["test"]["error"]
    assert (error["kind"], "env:MY_KEY" in error["hint"]) == ("auth", True)
    assert KEY not in done.stdout + done.stderr
    assert good.asked[0].json["messages"][0]["content"] == "Answer with one word: ok"


def test_a_model_that_no_config_names(tongs: Run, place: Place, model_server: Serve) -> None:
    server = model_server("openai", Turn(text=["ok"]))
    configure(
        place, f"models: {{own: {{provider: vllm, model: m, base_url: '{server.base_url}'}}}}"
    )

    assert tongs("models", "--test", "own").code == 0
    missing = tongs("models", "--test", "openai:gpt-x")
    assert missing.code == 1
    assert "env:OPENAI_API_KEY (the usual place for openai), which is not there" in missing.stderr
    assert tongs("models", "nothing").code == 2


def test_what_is_dangerous_or_wrong_is_noted(place: Place, tongs: Run) -> None:
    configure(
        place,
        "models:\n"
        "  default: lcoal\n"
        "  local: {provider: vllm, model: m, base_url: 'http://localhost:1', key: env:MY_KEY}\n"
        "  far: {provider: vllm, model: m, base_url: 'http://far.example/v1', key: env:MY_KEY}\n",
    )

    done = tongs("models", env={"MY_KEY": KEY})

    assert [line.split()[4:] for line in done.stdout.splitlines()[1:]] == [
        ["env:MY_KEY"],
        ["env:MY_KEY", "(sent", "without", "encryption)"],
    ]
    assert done.stderr == (
        "warning: models.default: there is no model `lcoal` (did you mean `local`?)\n"
    )
