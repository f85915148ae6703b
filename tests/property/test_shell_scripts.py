"""Forty scripts in the style of real ones: unchanged without a placeholder, sound with one."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests import real_shell

from tongs.template import shell
from tongs.template.shell import Rendered
from tongs.template.values import Slot

SCRIPTS = sorted((Path(__file__).parents[1] / "data/scripts").glob("*.sh"))


def test_there_are_forty() -> None:
    assert len(SCRIPTS) == 40


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_without_placeholders_is_unchanged(path: Path) -> None:
    text = path.read_text("utf-8")

    template = shell.compile(text, {"A": Slot("A")}, dialect=real_shell.dialect_of(text))

    assert template.render({"A": "x"}) == Rendered(text, "")


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_the_whole_script_is_understood(path: Path) -> None:
    text = path.read_text("utf-8") + "\n: {A}\n"

    template = shell.compile(text, {"A": Slot("A")}, dialect=real_shell.dialect_of(text))

    assert template.render({}).script == text.replace("{A}", "")


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_with_a_placeholder_anywhere_the_shell_accepts_it_or_the_load_is_refused(
    path: Path, record_property: Callable[[str, object], None]
) -> None:
    found = real_shell.insert_everywhere(path.read_text("utf-8"), positions=20, seed=7)

    assert found.broken == ()
    assert found.accepted > found.refused / 4
    record_property("insertions into pinned scripts accepted", found.accepted)
    record_property("insertions into pinned scripts refused", found.refused)
