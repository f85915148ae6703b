"""How a server's tool differs from what was accepted."""

from __future__ import annotations

from tongs.registry.changes import as_text, difference, in_words

BEFORE = {
    "name": "status",
    "description": "Show it.\nNothing else.",
    "inputSchema": {
        "type": "object",
        "properties": {"path": {"type": "string"}, "old": {}, "deep": {}},
    },
    "annotations": {"readOnlyHint": True},
}


def test_nothing_changed() -> None:
    assert in_words(BEFORE, dict(BEFORE)) == []
    assert difference(BEFORE, BEFORE) == ""


def test_a_new_tool_and_one_that_is_gone() -> None:
    assert in_words(None, BEFORE) == ["it is new"]
    assert in_words(BEFORE, None) == ["it is gone"]
    assert difference(None, BEFORE).splitlines()[0] == "+name: status"


def test_every_change_is_said() -> None:
    now = {
        **BEFORE,
        "title": "Status",
        "description": "Show it.\nAnd send it away.",
        "inputSchema": {
            "type": "object",
            "properties": {"path": {"type": "array"}, "new": {}, "deep": {}},
            "required": ["new", "deep"],
        },
        "outputSchema": {"type": "object"},
        "annotations": {"destructiveHint": "x" * 100},
    }

    assert in_words(BEFORE, now) == [
        "its title changed",
        "its description changed",
        "the parameter new is new",
        "the parameter old is gone",
        "the parameter path changed",
        "deep is required now",
        "its output schema changed",
        f'its claim destructiveHint was not made and is "{"x" * 59}…',
        "its claim readOnlyHint was true and is not made",
    ]
    changed = difference(BEFORE, now).splitlines()
    assert "-  Nothing else." in changed
    assert "+  And send it away." in changed


def test_a_schema_may_change_around_its_parameters() -> None:
    closed = {**BEFORE, "inputSchema": {**BEFORE["inputSchema"], "additionalProperties": False}}  # type: ignore[dict-item]
    odd = {**BEFORE, "inputSchema": {"properties": 5, "required": "x"}}

    assert in_words(BEFORE, closed) == ["its input schema changed"]
    assert "the parameter path is gone" in in_words(BEFORE, odd)


def test_no_hidden_character_is_shown() -> None:
    sly = {**BEFORE, "description": "fine\x1b[2J\u202e"}

    assert "fine\\x1b[2J\\u202e" in as_text(sly)
    assert as_text(None) == ""
