"""Servers that tests of several folders talk to."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, settings
from tests.model_servers import ModelServer, Turn
from tests.web import Web

# The same examples in every run; and however long they take, since a busy machine is no failure.
settings.register_profile(
    "tongs", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("tongs")


def pytest_collection_finish() -> None:
    """All that was imported and collected stays: nobody has to look through it after every test."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture
def web() -> Iterator[Web]:
    made = Web()
    yield made
    made.close()


@pytest.fixture
def other() -> Iterator[Web]:
    """Another host: the same interface, another address."""
    made = Web(name="127.0.0.2")
    yield made
    made.close()


@pytest.fixture
def model_server() -> Iterator[Callable[..., ModelServer]]:
    """`model_server("openai", Turn(text=["hello"]))`: a provider that answers so."""
    made: list[ModelServer] = []

    def make(protocol: str = "openai", *turns: Turn) -> ModelServer:
        made.append(ModelServer(protocol, turns))
        return made[-1]

    yield make
    for server in made:
        server.gone.set()
        server.close()
