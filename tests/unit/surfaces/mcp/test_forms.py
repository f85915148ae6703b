"""A question as a form, and what a filled form decides."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongs.core.approval import ELICITATION, ApprovalRequest, ApprovalResponse
from tongs.surfaces.mcp import forms

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "STAGE": {"type": "string", "description": "Where", "enum": ["test", "live"]},
        "COUNT": {"type": "integer"},
        "RATIO": {"type": "number"},
        "QUIET": {"type": "boolean"},
    },
    "required": ["STAGE"],
    "additionalProperties": False,
}


def request(schema: dict[str, Any] = SCHEMA, **arguments: Any) -> ApprovalRequest:
    return ApprovalRequest("1", "deploy", arguments, "look", input_schema=schema)


def answer(asked: ApprovalRequest, **content: Any) -> ApprovalResponse:
    return forms.answer(asked, "accept", content, "agent")


def test_few_plain_arguments_are_fields_of_their_own() -> None:
    fields = forms.fields(request(STAGE="live", COUNT=2))

    assert fields == {
        "STAGE": {
            "type": "string",
            "title": "STAGE",
            "description": "Where",
            "default": "live",
            "enum": ["test", "live"],
        },
        "COUNT": {"type": "integer", "title": "COUNT", "default": 2},
        "RATIO": {"type": "number", "title": "RATIO"},
        "QUIET": {"type": "boolean", "title": "QUIET"},
    }


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {f"P{n}": {"type": "string"} for n in range(6)},
        {"decision": {"type": "string"}},
        {"P": {"type": "array"}},
        {"P": {"type": ["string", "null"]}},
        {"P": {}},
        {"P": True},
        {"P\u200b": {"type": "string"}},
        {"P": {"type": "string", "enum": ["a", "b\u202e"]}},
        {"P": {"type": "string", "enum": [1, 2]}},
    ],
)
def test_others_are_one_text_of_json(properties: dict[str, Any]) -> None:
    asked = request({"type": "object", "properties": properties})

    assert forms.fields(asked) is None
    assert "arguments" in forms.schema(asked)["properties"]


@pytest.mark.parametrize("value", ["x\u200b", "a\x1b[2J", "x" * 1001, 1, None, ["x"]])
def test_a_value_that_a_form_would_not_show_as_it_is_stands_in_the_json(value: Any) -> None:
    asked = request({"type": "object", "properties": {"P": {"type": "string"}}}, P=value)

    text = forms.schema(asked)["properties"]["arguments"]["default"]

    assert json.loads(text) == {"P": value}
    assert "\u200b" not in text
    assert "\x1b" not in text


def test_allow_runs_what_was_shown() -> None:
    asked = request(STAGE="live")

    plain = answer(asked, decision="allow")
    untouched = answer(asked, decision="allow", STAGE="live", QUIET=None, COUNT="")

    assert plain == ApprovalResponse(True, None, "agent (by MCP)")
    assert untouched == plain


def test_edit_runs_what_the_fields_say() -> None:
    edited = answer(request(STAGE="live", COUNT=1), decision="edit", STAGE="test", COUNT=3.0)

    assert edited == ApprovalResponse(True, {"STAGE": "test", "COUNT": 3}, "agent (by MCP)")


def test_what_a_server_asks_is_sent_as_it_was_filled_in() -> None:
    asked = ApprovalRequest("1", "t", {"STAGE": "live"}, "", rule=ELICITATION, input_schema=SCHEMA)

    assert "send nothing" in forms.schema(asked)["properties"]["decision"]["description"]
    assert answer(asked, decision="allow", STAGE="test").modified_args == {"STAGE": "test"}


def test_deny_has_its_reason_and_nothing_else() -> None:
    denied = answer(request(STAGE="live"), decision="deny", reason="x" * 3000, STAGE="test")

    assert denied == ApprovalResponse(False, None, "agent (by MCP)", "x" * 2000)


@pytest.mark.parametrize("action", ["decline", "cancel", "ACCEPT", ""])
def test_whatever_is_not_accepted_is_a_denial(action: str) -> None:
    response = forms.answer(request(STAGE="live"), action, {"decision": "allow"}, "agent")

    assert not response.approved


@pytest.mark.parametrize(
    "content",
    [
        None,
        "allow",
        {},
        {"decision": "ALLOW"},
        {"decision": True},
        {"decision": ["allow"]},
        {"decision": "allow", "STAGE": "test"},
        {"decision": "allow", "STAGE": ""},
        {"decision": "edit", "STAGE": "moon"},
        {"decision": "edit", "COUNT": "many"},
    ],
)
def test_what_is_unclear_decides_nothing(content: Any) -> None:
    with pytest.raises(forms.Mistaken):
        forms.answer(request(STAGE="live"), "accept", content, "agent")


@pytest.mark.parametrize("text", ["", "[]", "{", "1", 7, '{"P": ["x"]}', "[" * 100_000])
def test_json_that_is_none_or_does_not_fit_decides_nothing(text: Any) -> None:
    asked = request(
        {"type": "object", "properties": {"P": {"type": "array", "items": {"type": "integer"}}}},
        P=[1],
    )

    with pytest.raises(forms.Mistaken):
        answer(asked, decision="edit", arguments=text)


def test_a_long_question_says_where_all_of_it_stands() -> None:
    asked = request({"type": "object", "properties": {}}, P="x" * 50_000)

    said = forms.message(asked, question="abc")

    assert len(said) < 5000
    assert "tongs approvals pending abc shows everything" in said


@given(st.text(), st.text())
def test_no_question_hides_anything(value: str, trouble: str) -> None:
    asked = request({"type": "object", "properties": {}}, P=value)

    from tongs.output import visible

    said = forms.message(asked, trouble)

    assert visible(said) == said
