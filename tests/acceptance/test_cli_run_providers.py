"""`tongs run` with each provider's protocol on a real connection, from the prompt to the answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.acceptance.conftest import Place, Run
from tests.model_servers import ModelServer, Turn, refusals

Serve = Callable[..., ModelServer]
KEY = "sk-test-4f8d1c0ab97e"
WEATHER = """\
description: Tell the weather of a city
bash: echo "sunny in {CITY}"
parameters:
  CITY: {description: Which city}
tags: [read]
"""


def configure(place: Place, server: ModelServer) -> None:
    entry = f"provider: {server.protocol}, model: m, base_url: '{server.base_url}', key: env:MY_KEY"
    (place.user / "config.yml").write_text(f"models: {{mine: {{{entry}}}}}\n")
    place.tool("weather", WEATHER, scope="user")


@pytest.mark.parametrize(
    "protocol",
    ["openai", *(pytest.param(name, marks=pytest.mark.full) for name in ("anthropic", "google"))],
)
def test_a_prompt_leads_to_calls_and_their_results_to_an_answer(
    protocol: str, place: Place, tongs: Run, model_server: Serve
) -> None:
    cities = [("weather", {"CITY": "Oslo"}), ("weather", {"CITY": "Rome"})]
    server = model_server(protocol, Turn(calls=cities), Turn(text=["Sunny ", "in both."]))
    configure(place, server)

    done = tongs("run", "How is it there?", "--auto-approve", "tool:read", env={"MY_KEY": KEY})

    assert (done.code, done.stdout) == (0, "Sunny in both.\n")
    answered = server.asked[1].body.decode()
    assert "sunny in Oslo" in answered
    assert "sunny in Rome" in answered
    kept = b"".join(file.read_bytes() for file in place.user.rglob("*") if file.is_file())
    assert KEY.encode() not in kept
    assert KEY not in done.stdout + done.stderr


def test_a_refused_key_ends_the_run_with_where_it_came_from(
    place: Place, tongs: Run, model_server: Serve
) -> None:
    server = model_server("anthropic", refusals("anthropic")["auth"])
    configure(place, server)

    done = tongs("run", "hello", env={"MY_KEY": KEY})

    assert done.code == 1
    assert "refused the key (401): invalid x-api-key" in done.stderr
    assert f"it is env:MY_KEY ({place.user}/config.yml:1)" in done.stderr
    assert "Traceback" not in done.stderr
