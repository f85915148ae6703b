"""Names as model APIs take them: `[A-Za-z0-9_-]`, at most 64 characters; and back.

A name that fits stays. Others have `_` for each character that does not fit, and end in a hash of
the whole name where that is too long, or the same for two tools. Nothing depends on an order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tongs.core.digest import digest_of

LONGEST = 64
_HASH = 8
_FITS = re.compile(r"[A-Za-z0-9_-]{1,64}")
_OTHER = re.compile(r"[^A-Za-z0-9_-]")


class ModelNames:
    """The names of some tools, and what each is called in a model's API."""

    def __init__(self, names: Iterable[str]) -> None:
        given = dict.fromkeys(names)
        taken: dict[str, int] = {}
        for name in given:
            plain = _plain(name)
            taken[plain] = taken.get(plain, 0) + 1
        self._to = {
            name: name if fits(name) else _made(name, alone=taken[_plain(name)] == 1)
            for name in given
        }
        self._back = {model: name for name, model in self._to.items()}

    def to_model(self, name: str) -> str:
        return self._to.get(name) or _made(name, alone=True)

    def from_model(self, name: str) -> str:
        """The tool that a model means; the name itself where none is known by it.

        A model may know a name from a list with fewer tools, in which it needed no hash, or from
        one with more.
        """
        if name in self._back:
            return self._back[name]
        for tool in self._to:
            if not fits(tool) and name == hashed(tool):
                return tool
        plain = [tool for tool in self._to if _plain(tool) == name]
        return plain[0] if len(plain) == 1 else name


def fits(name: str) -> bool:
    return _FITS.fullmatch(name) is not None


def hashed(name: str) -> str:
    """The name with its hash."""
    mark = digest_of(name.encode("utf-8", "surrogatepass"))[:_HASH]
    return f"{_plain(name)[: LONGEST - _HASH - 1]}_{mark}"


def _made(name: str, *, alone: bool) -> str:
    plain = _plain(name)
    return plain if alone and 0 < len(plain) <= LONGEST else hashed(name)


def _plain(name: str) -> str:
    return _OTHER.sub("_", name)
