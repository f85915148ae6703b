"""A search over ten thousand tools, against one over a hundred and against a plain scan."""

from __future__ import annotations

import random
from collections.abc import Iterator

from bench.measuring import ratios, repeated
from bench.rows import Row
from tongs.registry import Entry
from tongs.registry.search import Searcher

SECTION = "A search over 10,000 tools, multiples of a scan for one word in every description"
_MANY, _FEW = 10_000, 100
_QUERIES = ("resize an image", "weather of a city", "send a message", "zebra")
_WORDS = (
    "read write fetch weather city branch commit image resize convert json yaml file folder search"
    " query mail send message notify test build deploy docker log error metric table csv chart"
).split()


def _entries(count: int) -> list[Entry]:
    chosen = random.Random(1)
    return [
        Entry(
            f"{chosen.choice(_WORDS)}_{chosen.choice(_WORDS)}_{number}",
            " ".join(chosen.choices(_WORDS, k=12)),
            tags=(chosen.choice(_WORDS),),
            parameters=("path", "text"),
        )
        for number in range(count)
    ]


def rows(rounds: int) -> Iterator[Row]:
    many, few = _entries(_MANY), _entries(_FEW)
    large, small = Searcher(lambda: many), Searcher(lambda: few)

    def scan() -> None:
        for query in _QUERIES:
            word = query.rpartition(" ")[2]
            [entry for entry in many if word in entry.description]

    def search(searcher: Searcher) -> None:
        for query in _QUERIES:
            searcher.find(query, 5)

    def first() -> None:
        fresh = Searcher(lambda: many)
        fresh.find(_QUERIES[0], 5)
        fresh.close()

    search(large)
    search(small)
    works = {
        "scan": repeated(scan, 3),
        "many": repeated(lambda: search(large), 3),
        "few": repeated(lambda: search(small), 3),
        "first": repeated(first, 1),
    }
    measured = ratios(works, "scan", rounds)
    # One search against one scan: each work makes as many of them.
    yield Row(SECTION, "ranked, 10,000 tools", measured["many"], note="in memory, SQLite FTS5")
    yield Row(SECTION, "ranked, 100 tools", measured["few"])
    per_query = measured["first"] * len(_QUERIES)
    yield Row(SECTION, "the first one, which makes the index", per_query)
