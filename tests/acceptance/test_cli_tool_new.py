"""`tongs tool new`: what it writes loads, runs and passes its own test."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.acceptance.conftest import Place, Run

YAML = [("--shape", "yaml"), ("--shape", "yaml", "--lang", "python")]
OTHERS = [
    *(("--shape", "executable", "--lang", language) for language in ("bash", "python", "node")),
    *(("--kind", "command", "--lang", language) for language in ("bash", "python", "node")),
]
PYTHON = ("--kind", "python")
# What an http tool needs to pass its test is in test_cli_tool_import.py.
KINDS = [PYTHON, ("--kind", "http")]


@pytest.mark.parametrize("scope", ["--local", "--user"])
@pytest.mark.parametrize("options", [*YAML, *OTHERS, PYTHON], ids=" ".join)
def test_it_passes_its_own_test(tongs: Run, options: tuple[str, ...], scope: str) -> None:
    written = tongs("tool", "new", "count-words", *options, scope)

    tested = tongs("tool", "test", "count-words", "--json")

    assert (written.stdout, written.code) == ("", 0), written.stderr
    assert json.loads(tested.stdout)["ok"], tested.stdout
    assert tongs("tool", "validate", "count-words").code == 0


@pytest.mark.parametrize("options", [*YAML, *OTHERS, *KINDS], ids=" ".join)
@pytest.mark.parametrize("scope", ["--local", "--user"])
def test_the_linter_finds_nothing_in_it(tongs: Run, options: tuple[str, ...], scope: str) -> None:
    tongs("tool", "new", "count-words", *options, scope)

    linted = tongs("lint", "--strict")

    assert ("nothing found" in linted.stdout, linted.code) == (True, 0), linted.stdout


def test_it_says_what_was_written_and_what_to_type_next(place: Place, tongs: Run) -> None:
    done = tongs("tool", "new", "words", "--kind", "command")

    folder = place.project / ".tongs" / "tools" / "words"
    assert done.stderr == (
        f"wrote {folder}/tool.yml\n"
        f"wrote {folder}/count.sh\n"
        "next:  tongs tool run words text='to be or not to be' word=be\n"
        "       tongs tool test words\n"
        "       tongs trust --dev .tongs/tools/words   while you edit it\n"
    )
    ran = tongs("tool", "run", "words", "text=to be or not to be", "word=be")
    assert (json.loads(ran.stdout), ran.code) == ({"word": "be", "count": 2}, 0)


def test_it_works_where_there_is_no_project_yet(place: Place, tongs: Run) -> None:
    empty = place.project.parent / "empty"
    empty.mkdir()

    tongs("tool", "new", "words", "--shape", "executable", "--lang", "python", cwd=empty)

    assert (empty / ".tongs" / "tools" / "words").stat().st_mode & 0o111
    assert tongs("tool", "test", "words", cwd=empty).code == 0


def test_nothing_is_replaced_without_force(place: Place, tongs: Run) -> None:
    tongs("tool", "new", "words")
    file = place.project / ".tongs" / "tools" / "words.yaml"
    file.write_text("bash: echo mine\n")

    refused = tongs("tool", "new", "words")
    other_shape = tongs("tool", "new", "words", "--shape", "manifest", "--force")

    assert (refused.code, "already exists" in refused.stderr) == (2, True)
    assert (other_shape.code, "already defines" in other_shape.stderr) == (2, True)
    assert file.read_text() == "bash: echo mine\n"
    assert tongs("tool", "new", "words", "--force").code == 0
    assert tongs("tool", "test", "words").code == 0


@pytest.mark.parametrize(
    "words",
    [("../out",), ("a/b",), ("",), ("-x-", "--"), ("t", "--shape", "yaml", "--kind", "http")],
)
def test_what_cannot_be_written_is_refused(place: Place, tongs: Run, words: tuple[str]) -> None:
    assert tongs("tool", "new", *words).code == 2
    assert list((place.project / ".tongs" / "tools").iterdir()) == []


def test_files_that_lie_there_do_not_become_part_of_a_new_tool(place: Place, tongs: Run) -> None:
    folder = place.project / ".tongs" / "tools" / "words"
    folder.mkdir()
    (folder / "strange.sh").write_text("echo gotcha\n")

    done = tongs("tool", "new", "words", "--kind", "command")

    assert (done.code, f"{folder} already exists" in done.stderr) == (2, True)
    assert [path.name for path in folder.iterdir()] == ["strange.sh"]


def test_name_of_a_tool_that_comes_with_tongs_is_refused(place: Place, tongs: Run) -> None:
    """The built-in one would answer, so that nothing that is said next would hold."""
    refused = tongs("tool", "new", "shell")

    assert (refused.code, "would answer instead\nhint: " in refused.stderr) == (2, True)
    assert not (place.project / ".tongs/tools/shell.yaml").exists()


def test_definition_with_a_reserved_name_is_marked(place: Place, tongs: Run) -> None:
    added = tongs("tool", "add", "shell", "--description", "mine", "--run", "date")
    listed = tongs("tool", "list")

    assert "yours answers to yaml:shell" in added.stderr
    assert "[reserved] mine" in listed.stdout
    assert "[reserved]" not in tongs("tool", "list", "--builtin").stdout
