"""The help pages say what the parsers know, and nothing else."""

import re

import pytest

from tongs.surfaces.cli import commands, pages
from tongs.surfaces.cli.main import parser_for
from tongs.surfaces.cli.parser import Parser, add_global_options

VISIBLE = [words for words in commands.COMMANDS if not words[0].startswith("_")]
_OPTION_LINE = re.compile(r"^ {4}((?:--?[\w-]+)(?:, --?[\w-]+)*)", re.MULTILINE)


def global_options() -> set[str]:
    parser = Parser(())
    add_global_options(parser)
    return set(parser.option_names())


def options_of(words: tuple[str, ...]) -> set[str]:
    try:
        return set(parser_for(words).option_names()) - global_options()
    except ModuleNotFoundError:
        pytest.fail(f"{' '.join(words)} has no module")


def options_on_page(text: str) -> set[str]:
    section = text.partition("\nOPTIONS\n")[2].partition("\nEXAMPLES\n")[0]
    return {name for line in _OPTION_LINE.findall(section) for name in line.split(", ")}


@pytest.mark.parametrize("words", VISIBLE, ids=" ".join)
def test_the_page_of_a_command_lists_exactly_its_options(words: tuple[str, ...]) -> None:
    text = pages.page(words)
    assert text is not None
    assert options_on_page(text) == options_of(words)


def test_the_index_lists_exactly_the_global_options() -> None:
    assert options_on_page(pages.page(()) or "") == global_options()


def test_the_index_lists_every_command() -> None:
    text = pages.page(()) or ""
    section = text.partition("\nCOMMANDS\n")[2].partition("\nOPTIONS\n")[0]
    listed = {tuple(line[4:22].split()) for line in section.splitlines() if line.strip()}
    assert listed == set(VISIBLE)


@pytest.mark.parametrize("name", pages.names())
def test_every_page_has_the_same_structure(name: str) -> None:
    text = (pages.page(name.split("-")) if name != pages.INDEX else pages.page(())) or ""
    title, blank, summary = text.splitlines()[:3]
    assert title == title.upper()
    assert title.startswith("TONGS")
    assert not blank
    assert summary.startswith("  ")
    assert "\nSEE ALSO\n" in text
    assert all(len(line) <= 100 and line == line.rstrip() for line in text.splitlines())


@pytest.mark.parametrize("name", pages.names())
def test_every_page_refers_to_pages_that_exist(name: str) -> None:
    text = (pages.page(name.split("-")) if name != pages.INDEX else pages.page(())) or ""
    for line in text.partition("\nSEE ALSO\n")[2].split("\n"):
        topic = line.strip().removeprefix("tongs help").split()
        assert topic[:1] == ["find"] or pages.page(topic) is not None


def test_there_is_no_page_outside_the_folder() -> None:
    assert pages.page(["..", "secret"]) is None
    assert pages.page(["../../cli/help/tool"]) is None
