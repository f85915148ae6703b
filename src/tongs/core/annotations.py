"""Names for annotations, without what `typing` costs at start-up (half a bare Python start).

Annotations are never evaluated here (`from __future__ import annotations`), so at run time the
names only have to exist. Type checkers see the originals.
"""

from __future__ import annotations

__all__ = [
    "TYPE_CHECKING",
    "Any",
    "Final",
    "NoReturn",
    "Protocol",
    "TextIO",
    "TypeAlias",
    "TypeVar",
]

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import (  # noqa: TID251 - for type checkers only
        Any,
        Final,
        NoReturn,
        Protocol,
        TextIO,
        TypeAlias,
        TypeVar,
    )
else:
    Any = Final = NoReturn = TextIO = TypeAlias = object

    class Protocol:
        """A class that only says what others must have."""

    class TypeVar:
        """A type that is known where the code is used."""

        def __init__(self, name):
            self.__name__ = name
