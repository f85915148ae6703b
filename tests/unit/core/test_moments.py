from __future__ import annotations

import time

from tongs.core.moments import utc


def test_texts_compare_as_their_moments_do() -> None:
    assert utc(0.0) == "1970-01-01T00:00:00Z"
    assert utc(0.0) < utc(1.9) < utc(2.0) < utc(10.0**9)
    assert utc(time.time() - 60) < utc() < utc(time.time() + 60)
