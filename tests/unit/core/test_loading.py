"""Large packages are loaded without looking for garbage among them."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from tongs.core.loading import all_of_it_stays


@pytest.fixture(autouse=True)
def _collector() -> Iterator[None]:
    yield
    gc.enable()


def test_the_collector_rests_meanwhile_and_never_looks_at_what_was_made() -> None:
    before = gc.get_freeze_count()
    with all_of_it_stays():
        assert not gc.isenabled()
        made: list[list[int]] = [[] for _ in range(10)]
    assert gc.isenabled()
    assert gc.get_freeze_count() >= before + len(made)


def test_a_collector_that_was_off_stays_off_also_when_loading_fails() -> None:
    gc.disable()
    with pytest.raises(ImportError), all_of_it_stays():
        raise ImportError
    assert not gc.isenabled()
