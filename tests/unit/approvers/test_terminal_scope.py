"""Choosing for which calls, where and until when an answer holds."""

from __future__ import annotations

import io
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tongs.approvers.terminal import Terminal
from tongs.approvers.terminal_scope import chosen, moment
from tongs.core.approval import ApprovalRequest, Remember, Span
from tongs.core.moments import utc

REQUEST = ApprovalRequest(
    step_id="1",
    tool="fetch",
    args={"URL": "https://Example.org/a", "TO": "out/x", "N": 1},
    reason="",
    definition="f",
    tags=("write",),
    project="/project",
)


class Typed(io.StringIO):
    """What a person types, line by line; it is no real terminal."""

    def fileno(self) -> int:
        raise OSError


def choose(
    *lines: str, request: ApprovalRequest = REQUEST, approved: bool = True
) -> tuple[Remember | None, str]:
    screen = io.StringIO()
    terminal = Terminal(Typed("".join(f"{line}\n" for line in lines)), screen)
    return chosen(terminal, request, approved=approved), screen.getvalue()


@pytest.mark.parametrize(
    ("lines", "when"),
    [
        (["1"], {"tool": "fetch", "arguments": dict(REQUEST.args)}),
        (["2"], {"tool": "fetch", "argument": {"URL": {"host": ["example.org"]}}}),
        (["3", ""], {"tool": "fetch", "argument": {"TO": {"path": ["/project/out/**"]}}}),
        (["3", "/srv"], {"tool": "fetch", "argument": {"TO": {"path": ["/srv/**"]}}}),
        (["3", "../x"], {"tool": "fetch", "argument": {"TO": {"path": ["/x/**"]}}}),
        (
            ["4", "N, TO"],
            {"tool": "fetch", "argument": {"N": {"equals": 1}, "TO": {"equals": "out/x"}}},
        ),
        (["5"], {"tool": "fetch"}),
    ],
)
def test_the_choice_is_written_as_in_a_rule(lines: list[str], when: dict[str, Any]) -> None:
    assert choose(*lines, "p", "")[0] == Remember(when, Span.PROJECT)


def test_every_choice_is_listed() -> None:
    shown = choose("")[1]

    assert shown.startswith(
        "always allow what?\n"
        "  1  this very call\n"
        "  2  fetch where URL is on example.org\n"
        "  3  fetch where TO lies below a folder\n"
        "  4  fetch with some of these arguments as they are\n"
        "  5  fetch, whatever its arguments\n"
        "  6  every tool tagged write\n"
    )


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [""],
        ["0"],
        ["9"],
        ["x"],
        ["3"],
        ["3", "~/x"],
        ["4", ""],
        ["4", "N, nothing"],
        ["1", ""],
        ["1", "x"],
        ["1", "p"],
        ["1", "p", "yesterday"],
        ["1", "p", "2020-01-01"],
        ["6", "u", "", "no"],
    ],
)
def test_whatever_is_not_a_choice_leads_back(lines: list[str]) -> None:
    assert choose(*lines)[0] is None


def test_a_tag_is_agreed_to_by_a_plain_yes() -> None:
    remember, shown = choose("6", "u", "", "yes")

    assert remember == Remember({"tag": "write"}, Span.USER)
    assert "! every tool that claims this tag and asks for no more than this one" in shown


def test_never_needs_no_warning() -> None:
    remember, shown = choose("6", "s", "", approved=False)

    assert remember == Remember({"tag": "write"}, Span.SESSION)
    assert "!" not in shown


def test_what_cannot_be_pinned_is_allowed_for_the_session() -> None:
    unpinned = ApprovalRequest("1", "f", {}, "", tags=("read",))

    remember, shown = choose("1", "", request=unpinned)

    assert remember == Remember({"tool": "f", "arguments": {}}, Span.SESSION)
    assert "until this process ends" in shown


def test_a_file_of_the_project_is_a_path_without_a_slash(tmp_path: Path) -> None:
    (tmp_path / "notes").touch()
    request = ApprovalRequest("1", "t", {"A": "notes", "B": "n"}, "", project=str(tmp_path))

    shown = choose("", request=request)[1]

    assert "t where A lies below a folder" in shown
    assert "t where B lies below a folder" not in shown


def test_the_end_is_a_duration_or_a_date() -> None:
    now = time.time()

    assert moment("8h", now) == utc(now + 8 * 3600)
    assert moment("2999-12-31", now) == "2999-12-31T00:00:00Z"
    for wrong in ("2999-13-31", "soon", "0s", "99999999d", "2020-01-01"):
        with pytest.raises(ValueError, match=r"."):
            moment(wrong, now)


def test_what_is_not_shown_whole_is_allowed_by_its_tool_only() -> None:
    shown = choose("", request=replace(REQUEST, whole=False))[1]

    assert "1  fetch, whatever its arguments\n  2  every tool tagged write\n1 to 2" in shown
