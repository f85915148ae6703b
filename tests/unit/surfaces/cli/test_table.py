"""Columns as a terminal shows them."""

from tongs.surfaces.cli.table import one_line, shortened, table, width


def test_wide_and_combining_characters_count_as_shown() -> None:
    assert [width(text) for text in ("abc", "東京", "e\u0301", "🔧", "a\u200bb")] == [3, 4, 1, 2, 2]


def test_columns_line_up_under_wide_characters() -> None:
    lines = table(("NAME", "TEXT"), [("東京", "x"), ("a", "y")])
    assert lines == ["NAME  TEXT", "東京  x", "a     y"]


def test_only_the_last_column_is_cut_to_fit() -> None:
    rows = [("name-that-is-long", "a description that does not fit")]
    lines = table(("NAME", "TEXT"), rows, 30)
    assert lines == ["NAME               TEXT", "name-that-is-long  a descript…"]


def test_without_a_width_nothing_is_cut() -> None:
    assert table(("A", "B"), [("a", "b" * 500)])[1] == "a  " + "b" * 500


def test_a_wide_character_is_never_cut_in_half() -> None:
    assert shortened("東京都", 4) == "東…"
    assert shortened("東京都", 6) == "東京都"


def test_any_text_becomes_one_line() -> None:
    assert one_line("  a\n\n b\tc ") == "a b c"
