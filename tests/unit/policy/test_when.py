"""Which calls a remembered decision speaks of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tongs.core.call import ToolCall
from tongs.core.execution import Place
from tongs.core.tool import Origin, Tool
from tongs.policy.argument_tests import plain_host
from tongs.policy.command_pattern import Match
from tongs.policy.looking import Look
from tongs.policy.when import compiled, in_words, problem_of, speaks_of_arguments

TOOL = Tool("show", tags=("read", "docs"), origin=Origin(format="yaml"))


def found(
    when: dict[str, Any], base: str, arguments: dict[str, Any], tool: Tool = TOOL, *, every: bool
) -> Match:
    assert problem_of(when) == ""
    case = Look(Place(base))(ToolCall("1", tool.name, arguments), tool)
    return compiled(when).look(case, every=every).match


def fits(when: dict[str, Any], base: str = "/base", **arguments: Any) -> bool:
    """Whether an `always` with this `when` answers."""
    return found(when, base, arguments, every=True) is Match.YES


def test_everything_that_is_named_has_to_be_so() -> None:
    assert fits({"tool": "show"})
    assert fits({"tool": "yaml:show", "tag": "docs"})
    assert not fits({"tool": "other"})
    assert not fits({"tool": "show", "tag": "run"})
    assert not fits({"tool": "show", "argument": {"A": {"equals": 1}}})


def test_the_name_of_a_private_helper_stands_for_nothing() -> None:
    private = Tool("show", private=True)

    assert found({"tool": "show"}, "/", {}, private, every=True) is Match.NO
    assert found({"tool": "show"}, "/", {}, private, every=False) is Match.NO


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
    assert not fits(when, A=[1])
    assert fits({"argument": {"A": {"equals": [1, 2]}}}, A=[1, 2])
    assert fits({"argument": {"A": {"equals": None}}}, A=None)
    assert not fits({"argument": {"A": {"equals": None}}})


def test_what_is_never_allowed_is_not_allowed_in_a_list_either() -> None:
    when = {"argument": {"A": {"equals": "prod"}}}

    assert found(when, "/", {"A": ["test", "prod"]}, every=False) is Match.YES
    assert found(when, "/", {"A": ["test"]}, every=False) is Match.NO


def test_what_could_be_what_is_never_allowed_is_not_sure() -> None:
    path, host = ({"argument": {"A": test}} for test in ({"path": ["/x/**"]}, {"host": ["h"]}))

    assert found(path, "/", {"A": 7}, every=False) is Match.MAYBE
    assert found(host, "/", {"A": "http://a\\@h/"}, every=False) is Match.MAYBE
    assert found(host, "/", {"A": "h/x"}, every=False) is Match.YES


def test_no_character_of_a_name_is_a_wildcard(tmp_path: Path) -> None:
    for name in ("a*b", "a[b", "axb"):
        (tmp_path / name).mkdir()
    tool = Tool("show*")

    assert found({"tool": "sho*"}, "/", {}, every=True) is Match.NO
    assert found({"tool": "show*", "tag": "d?"}, "/", {}, tool, every=True) is Match.NO
    assert found({"tool": "show*"}, "/", {}, tool, every=True) is Match.YES
    for folder in ("a*b", "a[b"):
        when = {"argument": {"P": {"path": [f"{tmp_path}/{folder}/**"]}}}
        assert fits(when, str(tmp_path), P=f"{folder}/x")
        assert not fits(when, str(tmp_path), P="axb/x")
    assert fits({"argument": {"P": {"path": [f"{tmp_path}/a*b"]}}}, str(tmp_path), P="a*b")


def test_argument_is_meant_by_its_name_whatever_that_looks_like() -> None:
    when = {"argument": {"/a~b/c": {"equals": 1}}}

    assert fits(when, **{"/a~b/c": 1})
    assert not fits(when, **{"a~b": {"c": 1}})


def test_a_path_lies_below_a_folder_whatever_it_is_written_like(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "out").symlink_to("/etc")
    (tmp_path / "src" / "away").symlink_to("/etc")
    when = {"argument": {"P": {"path": [f"{tmp_path}/src/**", f"{tmp_path}/one"]}}}

    inside = ("src", "src/x", "./src//x", f"{tmp_path}/src/x", "src/../src/y", "one", ["src/a"])
    outside = (
        *("srcx", "src/..", "src/../x", "/etc/passwd", "src/away/passwd", "out/x", "one/x"),
        *("", "~/x", "src/\0", 7, None, ["src", "out/x"]),
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
        ("http://[::1]:80/x", "::1"),
        ("HTTPS://example.org?u=a@b", "example.org"),
        ("http://", ""),
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
    assert plain_host(value) == host


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
        ({"tool": "x", "argument": {"A": {"equals": None}, "B": {"path": ["/"]}}}, ""),
        ({"argument": {}}, "must name one"),
        ({"argument": {"B": {"path": []}}}, "a list of texts"),
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


def test_it_is_known_whether_it_speaks_of_arguments() -> None:
    assert speaks_of_arguments({"tool": "t", "arguments": {}})
    assert speaks_of_arguments({"argument": {"A": {"equals": 1}}})
    assert not speaks_of_arguments({"tool": "t", "tag": "read"})
