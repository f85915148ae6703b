"""Which calls a remembered decision speaks of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tongs.core.call import ToolCall
from tongs.core.tool import Origin, Tool
from tongs.policy.when import host_of, in_words, matches, problem_of

TOOL = Tool("show", tags=("read", "docs"), origin=Origin(format="yaml"))


def fits(when: dict[str, Any], base: str = "/base", **arguments: Any) -> bool:
    return matches(when, ToolCall("1", "show", arguments), TOOL, base)


def test_everything_that_is_named_has_to_be_so() -> None:
    assert fits({"tool": "show"})
    assert fits({"tool": "yaml:show", "tag": "docs"})
    assert not fits({"tool": "other"})
    assert not fits({"tool": "show", "tag": "run"})
    assert not fits({"tool": "show", "argument": {"A": {"equals": 1}}})


def test_the_name_of_a_private_helper_stands_for_nothing() -> None:
    call = ToolCall("1", "show", {})

    assert not matches({"tool": "show"}, call, Tool("show", private=True), "/")


def test_the_very_call_has_exactly_these_arguments() -> None:
    when = {"tool": "show", "arguments": {"A": 1, "B": {"x": [True]}}}

    assert fits(when, B={"x": [True]}, A=1)
    assert not fits(when, A=1)
    assert not fits(when, A=1, B={"x": [True]}, C=None)
    assert not fits(when, A=True, B={"x": [True]})
    assert not fits(when, A=1, B={"x": [1]})


def test_an_argument_equals_as_json() -> None:
    when = {"argument": {"A": {"equals": 1}}}

    assert fits(when, A=1, B=2)
    assert not fits(when, A="1")
    assert not fits(when, A=True)


def test_a_path_lies_below_a_folder_whatever_it_is_written_like(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "out").symlink_to("/etc")
    (tmp_path / "src" / "away").symlink_to("/etc")
    when = {"argument": {"P": {"path": [f"{tmp_path}/src/**", f"{tmp_path}/one"]}}}

    inside = ("src", "src/x", "./src//x", f"{tmp_path}/src/x", "src/../src/y", "one")
    outside = (
        *("srcx", "src/..", "src/../x", "/etc/passwd", "src/away/passwd", "out/x", "one/x"),
        *("", "~/x", "src/\0", 7, None, ["src"]),
    )
    assert [value for value in inside if not fits(when, str(tmp_path), P=value)] == []
    assert [value for value in outside if fits(when, str(tmp_path), P=value)] == []


def test_the_root_is_a_folder_too() -> None:
    assert fits({"argument": {"P": {"path": ["/**"]}}}, P="/etc/passwd")


@pytest.mark.parametrize(
    ("value", "host"),
    [
        ("https://Example.org/x?y#z", "example.org"),
        ("http://example.org:8080", "example.org"),
        ("https://example.org.", "example.org"),
        ("http://[::1]:80/x", "[::1]"),
        ("https://example.org@evil.test/", ""),
        ("https://evil.test\\@example.org/", ""),
        ("https://example.org /", ""),
        ("https://example.org\n/", ""),
        ("file:///etc/passwd", ""),
        ("example.org", ""),
        ("https://exämple.org", ""),
        (7, ""),
    ],
)
def test_only_a_plain_address_has_a_host(value: Any, host: str) -> None:
    assert host_of(value) == host


def test_a_host_is_that_host_or_one_below() -> None:
    one, below = (
        {"argument": {"U": {"host": [host]}}} for host in ("example.org", "*.example.org")
    )

    assert fits(one, U="https://example.org/x")
    assert not fits(one, U="https://api.example.org/x")
    assert not fits(one, U="https://example.org.evil.test/x")
    assert not fits(one, U="example.org")
    assert fits(below, U="https://api.example.org/x")
    assert not fits(below, U="https://badexample.org/x")


@pytest.mark.parametrize(
    ("when", "problem"),
    [
        ({"tool": "x", "argument": {"A": {"equals": None}, "B": {"path": []}}}, ""),
        (None, "must be a mapping"),
        ({}, "must be a mapping"),
        ({"tol": "x"}, "unknown key `tol`"),
        ({"tool": 1}, "must be names"),
        ({"arguments": []}, "must be mappings"),
        ({"argument": {"A": 1}}, "`A` needs one of equals, host, path"),
        ({"argument": {"A": {}}}, "`A` needs one of"),
        ({"argument": {"A": {"equals": 1, "path": []}}}, "`A` needs one of"),
        ({"argument": {"A": {"like": 1}}}, "`A` needs one of"),
        ({"argument": {"A": {"host": "x"}}}, "a list of texts"),
        ({"argument": {"A": {"path": [1]}}}, "a list of texts"),
    ],
)
def test_what_is_wrong_with_it_is_said(when: Any, problem: str) -> None:
    found = problem_of(when)

    assert problem in found
    assert bool(found) is bool(problem)


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ({"tool": "show"}, "show"),
        ({"tag": "docs"}, "any tool tagged docs"),
        ({"tool": "show", "arguments": {}}, "show with exactly no arguments"),
        ({"tool": "show", "arguments": {"A": "x" * 99}}, f'show with exactly A="{"x" * 56}…'),
        (
            {"argument": {"A": {"equals": 1}, "B": {"path": ["/x/**"]}, "C": {"host": ["h"]}}},
            "any tool where A is 1 and B lies in /x/** and C is on h",
        ),
    ],
)
def test_it_can_be_read_aloud(when: dict[str, Any], words: str) -> None:
    assert in_words(when) == words
