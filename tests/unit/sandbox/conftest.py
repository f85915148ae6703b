from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.unit.sandbox.running import MODES, World


@pytest.fixture(params=MODES)
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """The limits back end, forking by itself and through either fork server."""
    made = World.of(request.param)
    yield made
    made.close()


@pytest.fixture(params=["server", "native"])
def server(request: pytest.FixtureRequest) -> Iterator[World]:
    made = World.of(request.param)
    yield made
    made.close()
