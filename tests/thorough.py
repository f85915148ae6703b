"""What `make test-full` and `make coverage` do more often than `make test`: TONGS_THOROUGH=1."""

from __future__ import annotations

import os

from hypothesis import settings

THOROUGH = os.environ.get("TONGS_THOROUGH") == "1"


def examples(many: int) -> settings:
    """A property is tried with so many examples, and with the first third of them in `make test`.

    Not with fewer than hypothesis itself takes for enough.
    """
    return settings(max_examples=many if THOROUGH else max(many // 3, min(many, 100)))
