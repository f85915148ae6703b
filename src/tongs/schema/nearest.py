"""The known name somebody probably meant."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str], *, most: int = 1) -> list[str]:
    """Up to `most` known names close to `name`, the closest first; case does not count."""
    from difflib import get_close_matches  # noqa: PLC0415 - only where something is wrong

    by_fold: dict[str, str] = {}
    for candidate in known:
        by_fold.setdefault(candidate.casefold(), candidate)
    close = get_close_matches(name.casefold()[:200], by_fold, n=most, cutoff=0.6)
    return [by_fold[match] for match in close]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """` (did you mean `x`?)`, or nothing where no name is close."""
    close = nearest(name, known)
    return f" (did you mean `{close[0]}`?)" if close else ""
