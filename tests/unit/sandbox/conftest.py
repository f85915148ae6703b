from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.unit.sandbox.running import World


@pytest.fixture(params=["direct", "server"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """The limits back end, forking by itself and through the fork server."""
    made = World(direct=request.param == "direct")
    yield made
    made.close()


@pytest.fixture
def server() -> Iterator[World]:
    made = World(direct=False)
    yield made
    made.close()
