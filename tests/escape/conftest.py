from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.escape.world import World


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The world outside, shared by all attacks; each gets a fresh scene in it."""
    made = World(tmp_path_factory.mktemp("escape"))
    yield made
    made.close()
