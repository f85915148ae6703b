"""Descriptions of parameters, from the three styles people write."""

from __future__ import annotations

import pytest

from tongs.library.docstring import Docstring, read

GOOGLE = """Find files.

    Looks everywhere,
    deeply.

    Args:
        path (str): Where to look,
            and below.
        depth: How deep
        *more: further places

    Returns:
        What was found.
    """
NUMPY = """Find files.

    Looks everywhere,
    deeply.

    Parameters
    ----------
    path : str
        Where to look,
        and below.
    depth : int, optional
        How deep
    more
        further places

    Returns
    -------
    list
        What was found.
    """
REST = """Find files.

    Looks everywhere,
    deeply.

    :param str path: Where to look,
        and below.
    :param depth: How deep
    :param more: further places
    :returns: What was found.
    """


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, REST], ids=["google", "numpy", "rest"])
def test_every_style_says_the_same(text: str) -> None:
    assert read(text) == Docstring(
        "Find files.\n\nLooks everywhere, deeply.",
        {"path": "Where to look, and below.", "depth": "How deep", "more": "further places"},
    )


@pytest.mark.parametrize("text", [None, "", "   "])
def test_nothing_says_nothing(text: str | None) -> None:
    assert read(text) == Docstring()


def test_list_and_code_stay_as_they_are() -> None:
    text = "Do it.\n\n- one\n- two\n\n    code()\n"

    assert read(text).about == "Do it.\n\n- one\n- two\n\n    code()"


def test_line_that_is_no_entry_belongs_to_the_one_before() -> None:
    text = "Do it.\n\nArgs:\n    a: first\n    and no entry\n    b: second\n"

    assert read(text).parameters == {"a": "first and no entry", "b": "second"}


def test_word_of_a_sentence_is_no_heading() -> None:
    assert read("Returns\n\nNotes").about == "Returns\n\nNotes"


@pytest.mark.parametrize(
    "after", ["Returns: what was found", "It may take long.", "Raises: OSError"]
)
def test_text_at_the_edge_after_the_parameters_is_none_of_them(after: str) -> None:
    text = f"""Find files.

    Args:
        path: Where to look,
            and below.
        depth: How deep
    {after}
    """

    assert read(text).parameters == {"path": "Where to look, and below.", "depth": "How deep"}


def test_parameters_at_the_edge_are_read() -> None:
    assert read("Find.\n\nArgs:\npath: Where\ndepth: How deep").parameters == {
        "path": "Where",
        "depth": "How deep",
    }
