"""What an approval is asked for, and what it holds for."""

from __future__ import annotations

import pytest

from tongs.core.approval import ApprovalRequest, bound_to, described
from tongs.core.call import ToolCall
from tongs.core.permissions import Permissions
from tongs.core.record import replace
from tongs.core.tool import Origin, Tool

TOOL = Tool("t", origin=Origin(digest="f1"))
CALL = ToolCall("1", "t", {"A": 1})


def test_answer_is_for_every_rule_that_asked() -> None:
    request = ApprovalRequest(step_id="1", tool="t", args={}, reason="", rule="a", also=("b", "c"))

    assert request.rules == ("a", "b", "c")


@pytest.mark.parametrize(
    ("call", "tool", "permissions"),
    [
        (replace(CALL, arguments={"A": 2}), TOOL, Permissions()),
        (replace(CALL, at_stake="x"), TOOL, Permissions()),
        (replace(CALL, input=b"x"), TOOL, Permissions()),
        (CALL, replace(TOOL, origin=Origin(digest="f2")), Permissions()),
        (CALL, TOOL, Permissions(network=True)),
    ],
)
def test_any_change_is_another_thing_to_approve(
    call: ToolCall, tool: Tool, permissions: Permissions
) -> None:
    assert bound_to(tool, call, permissions) != bound_to(TOOL, CALL, Permissions())
    assert bound_to(tool, replace(call, id="2"), permissions) == bound_to(tool, call, permissions)


def test_standard_input_cannot_pass_for_what_is_at_stake() -> None:
    given = replace(CALL, input=b"x")
    at_stake = replace(CALL, at_stake=str({"stdin": "x"}))

    assert bound_to(TOOL, given, Permissions()) != bound_to(TOOL, at_stake, Permissions())


def test_beginning_of_standard_input_is_shown_without_secrets() -> None:
    text = described(b"key hunter22\n" + b"x" * 4000, lambda text: text.replace("hunter22", "…"))

    assert text.startswith("4013 bytes, sha256 ")
    assert '"key …\\nxxx' in text
    assert text.endswith(" …")
    assert described(b"ab", str).endswith(': "ab"')
