"""What a typed line means."""

import pytest

from tongs.core.errors import ErrorCode, ToolError
from tongs.core.tool import Tool
from tongs.surfaces.chat.slash import Slash, Words, read, split_words, texts_of, usage

WEATHER = Tool(
    "weather",
    input_schema={
        "type": "object",
        "properties": {"UNITS": {}, "LOCATION": {}, "DAYS": {"type": "integer"}},
        "required": ["LOCATION"],
    },
)
NOTHING = Tool("now")


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("hello", Words("hello")),
        ("  hello\nyou  ", Words("hello\nyou")),
        ("/help", Slash("help")),
        (" /help ", Slash("help")),
        ("/weather  London 3 ", Slash("weather", "London 3")),
        ("/save\nx", Slash("save", "x")),
        ("/yaml:help", Slash("yaml:help")),
        ("/etc/hosts is what?", Words("/etc/hosts is what?")),
        ("/", Words("/")),
        ("/ what", Words("/ what")),
        ("//help is a word", Words("/help is a word")),
        ("", Words("")),
    ],
)
def test_a_line_is_words_or_a_command(line: str, meant: object) -> None:
    assert read(line) == meant


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("a  b", ["a", "b"]),
        ("'a b' c", ["a b", "c"]),
        ('X="a b"', ["X=a b"]),
        (r'"a \"b\" \n"', [r'a "b" \n']),
        (r"a\ b", ["a b"]),
        (r"'a\b'", [r"a\b"]),
        ("''", [""]),
        ("$HOME `x` | ; *", ["$HOME", "`x`", "|", ";", "*"]),
    ],
)
def test_words_are_divided_by_blanks_and_nothing_in_them_is_run(
    text: str, words: list[str]
) -> None:
    assert split_words(text) == words


@pytest.mark.parametrize("text", ["'a", 'x "', "a\\"])
def test_an_open_quote_is_said(text: str) -> None:
    with pytest.raises(ToolError) as raised:
        split_words(text)
    assert raised.value.code is ErrorCode.INVALID_ARGUMENTS


@pytest.mark.parametrize(
    ("words", "texts"),
    [
        (["London"], ["LOCATION=London"]),
        (["London", "metric", "3"], ["LOCATION=London", "UNITS=metric", "DAYS=3"]),
        (["UNITS=metric", "London", "3"], ["UNITS=metric", "LOCATION=London", "DAYS=3"]),
        (["London", "LOCATION=Paris"], ["UNITS=London", "LOCATION=Paris"]),
        (["https://x.y/?a=b"], ["LOCATION=https://x.y/?a=b"]),
        (["LOCATOIN=London"], ["LOCATOIN=London"]),
        ([], []),
    ],
)
def test_words_without_a_name_are_taken_in_order_the_required_first(
    words: list[str], texts: list[str]
) -> None:
    assert texts_of(WEATHER, words) == texts


@pytest.mark.parametrize(("tool", "words"), [(WEATHER, list("abcd")), (NOTHING, ["a"])])
def test_a_word_too_many_is_an_error_that_shows_how_it_is_called(
    tool: Tool, words: list[str]
) -> None:
    with pytest.raises(ToolError, match="one word too many") as raised:
        texts_of(tool, words)
    assert raised.value.hint == usage(tool)


def test_the_usage_shows_what_may_be_left_away() -> None:
    assert usage(WEATHER) == "/weather LOCATION [UNITS] [DAYS]"
    assert usage(NOTHING) == "/now"
