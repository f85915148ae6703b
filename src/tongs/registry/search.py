"""Tools found by words: an index in memory, ranked by SQLite's full text search.

What is indexed is what a listing knows. The index is made again only when that has changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tongs.core.annotations import Any, Protocol
from tongs.core.errors import ErrorCode, ToolError

# A word in the name counts more than one in a tag, and that more than one in the description.
_WEIGHTS = "12.0, 6.0, 3.0, 1.0"
_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_MOST_WORDS = 32
# They are in every description, and a model asks in sentences.
_EMPTY = frozenset(
    "a an and are as at be by can do does for from how i in into is it its me my of on or that the"
    " this to use want what which with you".split()
)


class Findable(Protocol):
    """What is known of a tool before it is loaded."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def tags(self) -> Sequence[str]: ...

    @property
    def parameters(self) -> Sequence[str]: ...


class SearchIndex:
    """An index over some tools; `find` gives their positions in the list, best first."""

    def __init__(self, items: Iterable[Findable]) -> None:
        import sqlite3  # noqa: PLC0415 - where somebody searches

        # A search may come from another thread than the one before; they take turns (sqlite3).
        self._base = sqlite3.connect(":memory:", check_same_thread=False)
        try:
            self._base.execute(
                "CREATE VIRTUAL TABLE tools USING fts5"
                "(name, tags, description, parameters, tokenize = 'porter unicode61')"
            )
        except sqlite3.OperationalError as error:
            raise ToolError(
                ErrorCode.UNSUPPORTED_PLATFORM,
                f"tools cannot be searched: this Python's SQLite has no FTS5 ({error})",
                hint="use a Python whose sqlite3 has FTS5",
            ) from None
        rows = (
            (
                number,
                _words(item.name),
                _words(" ".join(item.tags)),
                item.description,
                _words(" ".join(item.parameters)),
            )
            for number, item in enumerate(items)
        )
        self._base.executemany(
            "INSERT INTO tools (rowid, name, tags, description, parameters) VALUES (?, ?, ?, ?, ?)",
            rows,
        )

    def find(self, query: str, limit: int) -> list[int]:
        """Any of the words, or the beginning of one.

        More of them in the name rank higher, then more of them anywhere, and rarer ones.
        """
        words = list(dict.fromkeys(_WORD.findall(_words(query).lower())))[:_MOST_WORDS]
        words = [word for word in words if word not in _EMPTY] or words
        if not words:
            return []
        terms = [f'"{word}"*' if len(word) > 2 else f'"{word}"' for word in words]
        found = self._base.execute(
            f"SELECT rowid FROM tools WHERE tools MATCH ? ORDER BY bm25(tools, {_WEIGHTS}), rowid",
            (" OR ".join(terms),),
        )
        named = self._named(terms)
        return sorted((row[0] for row in found), key=lambda row: -named.get(row, 0))[:limit]

    def _named(self, terms: Iterable[str]) -> dict[int, int]:
        """How many of the words the name of each has: bm25 prefers one rare word to two common."""
        counts: dict[int, int] = {}
        for term in terms:
            query = "SELECT rowid FROM tools WHERE tools MATCH ?"
            for (row,) in self._base.execute(query, (f"name : {term}",)):
                counts[row] = counts.get(row, 0) + 1
        return counts

    def close(self) -> None:
        self._base.close()


class Searcher:
    """Searches what `listed` gives, and keeps the index as long as that stays the same."""

    def __init__(self, listed: Any) -> None:
        self._listed = listed
        self._known: list[Any] = []
        self._index: SearchIndex | None = None

    def find(self, query: str, limit: int) -> list[Any]:
        """The best of what there is now."""
        items = list(self._listed())
        if self._index is None or items != self._known:
            if self._index is not None:
                self._index.close()
            self._index = SearchIndex(items)
            self._known = items
        return [items[number] for number in self._index.find(query, limit)]

    def close(self) -> None:
        if self._index is not None:
            self._index.close()
            self._index = None


def _words(text: str) -> str:
    """`getHTTPWeather_v2` as `get HTTP Weather v2`, and the whole beside it."""
    parts = _HUMP.sub(" ", text).replace("_", " ").replace("-", " ")
    return parts if parts == text else f"{parts} {text.replace('_', ' ').replace('-', ' ')}"
