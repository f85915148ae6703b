"""Where a tool lives, and in which order places are searched."""

from __future__ import annotations

from enum import StrEnum


class Scope(StrEnum):
    LOCAL = "local"
    USER = "user"
    GLOBAL = "global"
    # Comes with Tongs, and lies in no folder.
    BUILTIN = "builtin"
    ANY = "any"

    def covers(self, other: Scope) -> bool:
        return self is Scope.ANY or self is other


# Lookup order: the nearest definition wins.
SEARCH_ORDER = (Scope.LOCAL, Scope.USER, Scope.GLOBAL)
