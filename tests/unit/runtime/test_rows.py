"""What a listing remembers of a tool ends when anything changes that the tool consists of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tongs.core.errors import Problem
from tongs.core.tool import Trust
from tongs.runtime.rows import row_broken

if TYPE_CHECKING:
    from tests.unit.conftest import Project

SOURCE = "run = lambda: 'ran'\n"


def python(module: str) -> dict[str, Any]:
    return {"exec": {"python": {"module": module, "function": "run", "return": "text"}}}


def test_manifest_that_lacked_its_module_is_usable_once_it_is_there(project: Project) -> None:
    module = project.root / "part.py"
    module.write_text(SOURCE)
    project.manifest("t", python("part"))
    module.unlink()
    running = project.runtime()
    assert [entry.broken for entry in running.entries()] == [True]

    module.write_text(SOURCE)

    assert [entry.broken for entry in running.entries()] == [False]
    assert project.run("t").output == "ran"


@pytest.mark.parametrize("added", ["part/__init__.py", "pkg/inner/deep/more.py"])
def test_listing_notices_a_file_that_comes_where_one_counts(project: Project, added: str) -> None:
    (project.root / "part").mkdir()
    (project.root / "part.py").write_text(SOURCE)
    (project.root / "pkg" / "inner" / "deep").mkdir(parents=True)
    (project.root / "pkg" / "inner" / "__init__.py").write_text(SOURCE)
    module = "part" if added.startswith("part") else "pkg.inner"
    project.manifest("t", python(module))
    running = project.runtime()
    assert [entry.trust for entry in running.entries()] == [Trust.ACCEPTED]

    (project.root / added).write_text(SOURCE)

    assert [entry.trust for entry in running.entries()] == [Trust.CHANGED]
    assert [entry.trust for entry in project.runtime().entries()] == [Trust.CHANGED]


@pytest.mark.parametrize(
    ("rule", "again"), [("definition", False), ("missing-file", True), ("description", True)]
)
def test_what_may_be_mended_elsewhere_is_looked_at_again(rule: str, again: bool) -> None:
    assert row_broken("t", [Problem("t", "is wrong", rule=rule)]).get("again", False) is again
