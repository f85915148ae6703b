"""What tests of several folders share: servers they talk to, and the command itself."""

from __future__ import annotations

import gc
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from tests.model_servers import ModelServer, Turn
from tests.prepared import Prepared
from tests.thorough import THOROUGH
from tests.web import Web

from tongs.runtime.enforcing import found_here

# The same examples in every run; and however long they take, since a busy machine is no failure.
settings.register_profile(
    "tongs", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("tongs")


def pytest_configure() -> None:
    """What a shell starts in the background, or `nohup`, ignores these, and would hand that on."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_collection_finish() -> None:
    """All that was imported and collected stays: nobody has to look through it after every test."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prepared]:
    """`prepared.run(["tool", "list"], cwd=…, env=…)`: the command, its imports done."""
    made = Prepared(tmp_path_factory.mktemp("prepared"))
    yield made
    made.close()


@pytest.fixture(scope="session")
def seen_machine(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], None]:
    """`seen_machine(state)`: Tongs has found out already what this machine can enforce.

    Else it would try for every test; it still tries where another filter stands around a command.
    """
    found = tmp_path_factory.mktemp("machine") / "state"
    if not THOROUGH:
        found_here(str(found), direct=False)

    def copy(state: Path) -> None:
        if found.exists():
            shutil.copytree(found, state)

    return copy


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
