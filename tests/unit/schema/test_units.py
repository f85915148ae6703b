"""Sizes and durations as people write them."""

from __future__ import annotations

from typing import Any

import pytest

from tongs.schema.units import duration, limits, size


@pytest.mark.parametrize(
    ("written", "count"),
    [
        (0, 0),
        (1048576, 1048576),
        ("1048576", 1048576),
        ("256MiB", 256 * 1024**2),
        ("256 mib", 256 * 1024**2),
        ("1GB", 10**9),
        ("64k", 65536),
        ("1.5KiB", 1536),
        ("10b", 10),
        ("999999999999999TiB", 999999999999999 * 1024**4),
    ],
)
def test_a_size_is_a_number_of_bytes(written: Any, count: int) -> None:
    assert size(written) == count


@pytest.mark.parametrize("written", [-1, True, "", "MiB", "5 apples", "1,5MB", "-5k", None, 1.5])
def test_what_is_no_size_is_refused(written: Any) -> None:
    with pytest.raises(ValueError, match="must"):
        size(written)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("30s", 30.0),
        ("500ms", 0.5),
        ("5m", 300.0),
        ("1h30m", 5400.0),
        ("1d", 86400.0),
        ("1.5s", 1.5),
        (" 2s ", 2.0),
        (3, 3.0),
        (0.25, 0.25),
    ],
)
def test_a_duration_is_a_number_of_seconds(written: Any, seconds: float) -> None:
    assert duration(written) == seconds


@pytest.mark.parametrize(
    "written", ["", "s", "5", "5 s", "1h30", "-1s", "1y", True, None, -1, float("nan"), 1e13]
)
def test_what_is_no_duration_is_refused(written: Any) -> None:
    with pytest.raises(ValueError, match="must be a duration"):
        duration(written)


def test_a_block_of_limits_becomes_numbers() -> None:
    written = {"memory": "256MiB", "processes": 64, "cpu": "10s", "output": 5, "file_size": None}

    assert limits(written) == {"memory": 2**28, "processes": 64, "cpu": 10.0, "output": 5}


def test_whole_numbers_with_an_exponent_are_sizes_and_counts() -> None:
    written = {"memory": 1e9, "processes": 64.0, "cpu": 1e300, "file_size": 1e300}

    assert limits(written) == {
        "memory": 1_000_000_000,
        "processes": 64,
        "cpu": 1e11,
        # More than any machine has, and still a number that the kernel can hold.
        "file_size": 2**62,
    }
