"""JSON with comments, changed in place."""

from __future__ import annotations

import pytest

from tongs.authoring.mcp_clients.jsonc import NotJson, parse, with_value, without

COMMENTED = """{
    // my editor
    "theme": "dark", /* really */
    "servers": {
        "docs": {"command": "docs"} // the manual
    },
    "inputs": [1, 2,],
}
"""


def test_comments_and_last_commas_are_read() -> None:
    assert parse(COMMENTED).data == {
        "theme": "dark",
        "servers": {"docs": {"command": "docs"}},
        "inputs": [1, 2],
    }


def test_a_new_member_comes_last_in_the_indentation_of_the_file() -> None:
    after = with_value(COMMENTED, ("servers", "tongs"), {"command": "t", "args": []})

    assert after == COMMENTED.replace(
        '{"command": "docs"} // the manual\n',
        '{"command": "docs"}, // the manual\n'
        '        "tongs": {\n            "command": "t",\n            "args": []\n        }\n',
    )


def test_what_was_added_can_be_taken_out_again() -> None:
    added = with_value(COMMENTED, ("servers", "tongs"), {"command": "t"})

    removed = without(added, ("servers", "tongs"))

    assert removed == COMMENTED


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '{\n  "a": {\n    "b": 1\n  }\n}\n'),
        ("  \n", '{\n  "a": {\n    "b": 1\n  }\n}\n'),
        ("{}", '{\n  "a": {\n    "b": 1\n  }\n}'),
        ('{"x": 0}', '{"x": 0, "a": {"b": 1}}'),
        ('{"a": {"b": 2, "c": 3}}', '{"a": {"b": 1, "c": 3}}'),
        ('{"a": {}}', '{"a": {\n  "b": 1\n}}'),
        ('{\n\t"x": 0\n}', '{\n\t"x": 0,\n\t"a": {\n\t\t"b": 1\n\t}\n}'),
        ('{\r\n  "x": 0\r\n}', '{\r\n  "x": 0,\r\n  "a": {\r\n    "b": 1\r\n  }\r\n}'),
        ('{\n  "x": 0, // c\n}', '{\n  "x": 0, // c\n  "a": {\n    "b": 1\n  }\n}'),
        ("{ // c\n}", '{ // c\n  "a": {\n    "b": 1\n  }\n}'),
    ],
)
def test_a_value_is_set_in_texts_of_all_kinds(before: str, after: str) -> None:
    assert with_value(before, ("a", "b"), 1) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"a": 1}', "{}"),
        ('{"a": 1, "b": 2}', '{ "b": 2}'),
        ('{"b": 2, "a": 1}', '{"b": 2}'),
        ('{"b": 2, "a": 1,}', '{"b": 2, }'),
        ('{\n  "a": 1,\n  "b": 2\n}', '{\n  "b": 2\n}'),
        ('{\n  "b": 2,\n  "a": 1\n}', '{\n  "b": 2\n}'),
        ('{\n  "b": 2, // c\n  "a": 1\n}', '{\n  "b": 2 // c\n}'),
        ('{"b": 2, // c\n "a": 1}', '{"b": 2 // c\n}'),
        ('{"b": 2}', '{"b": 2}'),
    ],
)
def test_a_member_is_taken_out_and_comments_stay(before: str, after: str) -> None:
    assert without(before, ("a",)) == after


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{", 1),
        ('{"a": 1,\n "b" 2}', 2),
        ('{"a": 1} x', 1),
        ('{"a": \n\n tru}', 3),
        ("{'a': 1}", 1),
        ('{"a": 01}', 1),
        ('{"a": "\n"}', 1),
        ("/* {}", 1),
        ('{"a": 1, "a": 2}', 1),
        ("[" * 100_000, 1),
    ],
)
def test_what_is_no_json_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(NotJson) as refused:
        parse(text)

    assert refused.value.line == line


def test_a_path_through_something_else_than_an_object_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^a$"):
        with_value('{"a": []}', ("a", "b"), 1)
