"""What is run is read whole before it counts as anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tongs import ToolError

if TYPE_CHECKING:
    from tests.unit.conftest import Project

MOST = 1024 * 1024


@pytest.mark.parametrize(
    ("name", "text", "bound"),
    [
        ("program", "#!/bin/sh\n", "tongs.runtime.describing._LARGEST"),
        ("tools.py", "pass\n", "tongs.runtime.shape_readers.MAX_BYTES"),
    ],
)
def test_program_beyond_what_is_hashed_is_refused(
    project: Project, monkeypatch: pytest.MonkeyPatch, name: str, text: str, bound: str
) -> None:
    path = project.tools / name
    path.write_text(text)
    path.chmod(0o755 if name == "program" else 0o644)
    with path.open("ab") as file:
        file.truncate(MOST + 2)  # its last byte would not be looked at
    monkeypatch.setattr(bound, MOST)

    (entry,) = project.runtime().entries()
    assert entry.problems == (f"{path} cannot be used: it has more than 1 MiB",)
    with pytest.raises(ToolError):
        project.runtime().at(str(path))

    monkeypatch.setattr(bound, MOST + 2)
    assert project.runtime(use_cache=False).entries()[0].problems == ()
