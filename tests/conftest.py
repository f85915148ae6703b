"""Servers that tests of several folders talk to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.web import Web


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
