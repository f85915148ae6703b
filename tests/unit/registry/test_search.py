"""Tools found by words."""

from __future__ import annotations

from tongs.registry import Entry
from tongs.registry.search import Searcher

ENTRIES = [
    Entry("resizeImage", "Change the size of a picture", tags=("media",)),
    Entry("weather-lookup", "Tell the weather of a city", parameters=("LOCATION",)),
    Entry("send_mail", "Send a message to somebody", tags=("net",)),
    Entry("picture_of_the_day", "Fetch an image"),
]


def found(query: str, limit: int = 5) -> list[str]:
    return [entry.name for entry in Searcher(lambda: ENTRIES).find(query, limit)]


def test_word_of_the_name_counts_most() -> None:
    assert found("image") == ["resizeImage", "picture_of_the_day"]


def test_name_is_found_by_its_parts_and_other_forms_of_a_word() -> None:
    assert found("lookups") == ["weather-lookup"]
    assert found("resizing images")[0] == "resizeImage"
    assert found("locat") == ["weather-lookup"]


def test_more_words_of_the_name_count_more_than_short_texts_and_tags() -> None:
    others = [Entry(f"file_tool{n}", "read", tags=("read", "file")) for n in range(3)]
    wanted = Entry(
        "read_file",
        "Give the text of something, with a number before each line, from where it lies",
        parameters=("path", "offset", "limit"),
    )

    assert Searcher(lambda: [*others, wanted]).find("read file", 1) == [wanted]


def test_words_that_say_nothing_are_left_out_unless_there_are_no_others() -> None:
    assert found("what is the weather of a city") == ["weather-lookup"]
    assert found("of the") != []


def test_limit_holds_and_nothing_is_found_for_nothing() -> None:
    assert found("picture image size", limit=1) == ["resizeImage"]
    assert found("zebra") == []
    assert found('"*() AND -') == []


def test_index_follows_what_is_listed() -> None:
    listed = [ENTRIES[1]]
    searcher = Searcher(lambda: listed)
    first = searcher.find("mail", 5)

    listed.append(ENTRIES[2])

    assert (first, searcher.find("mail", 5)) == ([], [ENTRIES[2]])
    searcher.close()
