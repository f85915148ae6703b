"""Which of many lines counts, for one key."""

from __future__ import annotations

from tests.unit.config.test_named import Files, files, read

from tongs.config.voices import read_voices
from tongs.runtime.config_listing import Setting, listing

__all__ = ["files"]


def rows(files: Files, profile: str | None = None) -> dict[tuple[str, ...], Setting]:
    found = listing(read_voices(files.places, read, profile=profile))
    return {setting.path: setting for setting in found.settings}


def test_what_a_project_takes_from_a_tool_stays_away_under_a_profile(files: Files) -> None:
    project = files.write("project", "config.yml", "tools: {t: {timeout: 5s, limits: {memory: 9}}}")
    profile = files.write(
        "user", "profiles/p.yml", "tools: {t: {timeout: 1m, limits: {memory: 3}}}"
    )

    found = rows(files, "p")

    assert found["tools", "t", "timeout"].sources == (f"{project}:1",)
    assert found["tools", "t", "limits", "memory"].sources == (f"{profile}:1 (profile p)",)


def test_lists_that_are_joined_name_every_line(files: Files) -> None:
    site = files.write("site", "config.yml", "security: {auto_deny: [a, b]}")
    user = files.write("user", "config.yml", "security: {auto_deny: [b, c]}")

    assert rows(files)["security", "auto_deny"] == Setting(
        ("security", "auto_deny"), ["a", "b", "c"], (f"{site}:1", f"{user}:1")
    )


def test_what_no_version_reads_yet_is_said(files: Files) -> None:
    files.write("user", "config.yml", "store: /x\nmcp: {servers: {a: {command: b, args: [c]}}}\n")

    found = rows(files)

    assert found["store",].note == "nothing reads it yet"
    assert found["mcp", "servers", "a"].value == {"command": "b", "args": ["c"]}
