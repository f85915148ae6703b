"""The known name somebody probably meant."""

from __future__ import annotations

from tongs.schema.nearest import did_you_mean, nearest


def test_the_nearest_names_come_first_and_case_does_not_count() -> None:
    known = ["weather-lookup", "weather", "git-info", "Weather"]

    assert nearest("WEATHR", known) == ["weather"]
    assert nearest("weather-look", known, most=3) == ["weather-lookup", "weather"]
    assert did_you_mean("qqq", known) == ""
    assert did_you_mean("git_info", known) == " (did you mean `git-info`?)"
