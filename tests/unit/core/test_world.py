"""What an executor is handed."""

from __future__ import annotations

import pytest

from tongs.core.execution import Place, World


def test_world_without_files_says_so() -> None:
    world = World(Place("/"), {}, {}, "linux")

    with pytest.raises(RuntimeError):
        world.files()
    with pytest.raises(RuntimeError):
        world.kept_output()
