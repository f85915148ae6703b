"""One strict YAML dialect, with the line of every value."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest

from tongs.core.errors import DefinitionInvalid, Problem
from tongs.schema.document import MAX_BYTES, Document, field_name, parse, parse_config


def data(text: str) -> Any:
    return parse(text.encode(), "x.yaml").data


def problems(text: str | bytes) -> list[tuple[int, str]]:
    raw = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(DefinitionInvalid) as caught:
        parse(raw, "x.yaml")
    assert {problem.file for problem in caught.value.problems} == {"x.yaml"}
    assert {problem.rule for problem in caught.value.problems} == {"yaml"}
    return [(problem.line, problem.message) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("true", True),
        ("False", False),
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("off", "off"),
        ("null", None),
        ("~", None),
        ("", None),
        ("0", 0),
        ("-5", -5),
        ("+5", 5),
        ("0x1F", 31),
        ("0o17", 15),
        ("123456789012345678901234567890", 123456789012345678901234567890),
        ("1.5", 1.5),
        ("1.", 1.0),
        (".5", 0.5),
        ("-1e3", -1000.0),
        ("010", "010"),
        ("1:30", "1:30"),
        ("1_000", "1_000"),
        ("2020-01-01", "2020-01-01"),
        ("-", [None]),
        ("-x", "-x"),
        ('"5"', "5"),
        ("'true'", "true"),
        ("tRUE", "tRUE"),
        ("=", "="),
    ],
)
def test_an_unquoted_word_means_what_yaml_1_2_says(written: str, value: object) -> None:
    parsed = data(f"a:\n  {written}")

    assert parsed == {"a": value}
    assert type(parsed["a"]) is type(value)


@pytest.mark.parametrize(
    "written", [".inf", "-.INF", "+.Inf", ".nan", "1e999", "9" * 1001, "0x" + "f" * 1001]
)
def test_a_number_json_cannot_carry_is_refused(written: str) -> None:
    assert [line for line, _ in problems(f"a: {written}\nb: {written}")] == [1, 2]


def test_keys_are_the_text_that_was_written() -> None:
    assert data("1: a\ntrue: b\n~: c\n1.0: d\n'<<': e\n") == {
        "1": "a",
        "true": "b",
        "~": "c",
        "1.0": "d",
        "<<": "e",
    }


def test_every_duplicate_key_is_reported_with_both_lines() -> None:
    assert problems("a: 1\nb:\n  c: 1\n  c: 2\na: 3\n") == [
        (4, "key `c` is already on line 3"),
        (5, "key `a` is already on line 1"),
    ]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "the file is empty"),
        ("# only a comment\n", 1, "the file is empty"),
        ("a: 1\n---\nb: 2\n", 2, "a second document starts here"),
        ("a: !!python/object:os.system x", 1, "tag `tag:yaml.org,2002:python/object:os.system`"),
        ("a: !mine x", 1, "tag `!mine` is not supported"),
        ("a: !!str 5", 1, "tag `tag:yaml.org,2002:str` is not supported"),
        ("!mine a: x", 1, "tag `!mine` is not supported"),
        ("a:\n  <<: {b: 1}", 2, "merge keys (`<<`) are not supported"),
        ("? [a]\n: b", 1, "a key must be a plain text"),
        ("a: *nowhere", 1, "alias `*nowhere` names no anchor that ends before it"),
        ("a: &x [*x]", 1, "alias `*x` names no anchor that ends before it"),
        ("a:\n\tb: 1", 2, "a tab in the indentation"),
        ("a: [1, 2\n", 1, "did not find expected ',' or ']'"),
        ("a: x\u2028b: y", 1, "hidden character U+2028"),
        ("a: x\u2029b: y", 1, "hidden character U+2029"),
        ("a: x\n# \x85b: y", 2, "hidden character U+0085"),
        ("\ufeff\ufeffa: x", 1, "hidden character U+FEFF"),
        ("a: x # c\rb: y", 1, "hidden character U+000D"),
        ("a: 1\nb: \x00", 2, "character U+0000 is not allowed"),
        ("ä: 1\nb: \x07", 2, "character U+0007 is not allowed"),
        ("[" * 100_000, 1, "nested deeper than 64 levels"),
        ("- " * 65 + "x", 1, "nested deeper than 64 levels"),
        ("[" + "a," * 20_000 + "]", 1, "more than 20000 values"),
        ("a: " + "x" * MAX_BYTES, 0, "the file has 1048579 bytes; the most is 1048576"),
        ("a: x\n  b: y: z\n", 2, "the text of `b` contains `: `"),
        ("b: 1\na: 'x\n", 2, "found unexpected end of stream"),
    ],
)
def test_what_is_not_our_yaml_is_refused_with_its_line(text: str, line: int, message: str) -> None:
    found_line, found = problems(text)[0]

    assert found.startswith(message)
    assert found_line == line


def test_text_that_is_not_utf_8_is_refused_with_its_line() -> None:
    assert problems(b"a: 1\nb: \xff\n") == [(2, "not UTF-8 text: byte 0xff")]


def test_a_byte_order_mark_and_windows_line_ends_are_tolerated() -> None:
    document = parse(b"\xef\xbb\xbfa: 1\r\nb: |\r\n  x\r\n  y\r\n", "x.yaml")

    assert document.data == {"a": 1, "b": "x\ny\n"}
    assert document.line_of(("b",), 2) == 4


def test_a_bomb_of_aliases_is_refused_before_it_is_written_out() -> None:
    levels = [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 9)]

    assert problems("l0: &l0 [x, x, x]\n" + "\n".join(levels))[0][1] == (
        "more than 20000 values once aliases are written out"
    )


def test_aliases_do_not_nest_deeper_than_brackets_may() -> None:
    nested = [f"l{n}: &l{n} " + "[" * 40 + f"*l{n - 1}" + "]" * 40 for n in range(1, 400)]

    assert problems("l0: &l0 x\n" + "\n".join(nested)) == [
        (3, "nested deeper than 64 levels once aliases are written out")
    ]


def test_an_alias_is_a_copy_of_its_own() -> None:
    document = parse(b"a: &x {b: [1]}\nc: *x\n&k d: *k\ne: &s text\nf: *s\n", "x.yaml")

    assert document.data == {"a": {"b": [1]}, "c": {"b": [1]}, "d": "d", "e": "text", "f": "text"}
    document.data["a"]["b"].append(2)
    assert document.data["c"] == {"b": [1]}
    assert document.line_of(("c",)) == 2


GITHUB = """\
name: github-commit-stats
steps:
  - name: count-authors
    bash: echo '{a.output}' | jq 'map({author: .[0].name, count: length})'
  - name: format-output
    bash: echo '{b.output}' | jq -r '.[] | "\\(.author): \\(.count) commits"'
"""


def test_a_colon_in_a_command_names_every_line_and_shows_the_block_that_works() -> None:
    with pytest.raises(DefinitionInvalid) as caught:
        parse(GITHUB.encode(), "github.yaml")

    message = "the text of `bash` contains `: `, which YAML reads as another key"
    rows = GITHUB.split("\n")
    assert caught.value.problems == [
        Problem(
            "github.yaml",
            message,
            line,
            rule="yaml",
            hint=f"write it as a block:\n    bash: |\n      {rows[line - 1].strip()[6:]}",
        )
        for line in (4, 6)
    ]


def test_the_block_shown_in_the_hint_loads() -> None:
    with pytest.raises(DefinitionInvalid) as caught:
        parse(b"bash: echo a: b", "x.yaml")

    advice = caught.value.problems[0].hint.partition("\n")[2]
    assert data(advice) == {"bash": "echo a: b"}


@pytest.mark.parametrize(
    "command", ["[ -f x ] && y", "`date`", "%x", "@x", '"a" && b', "{X} foo", "'a' b", "*.txt |"]
)
def test_a_command_yaml_stumbles_over_is_shown_as_a_block(command: str) -> None:
    with pytest.raises(DefinitionInvalid) as caught:
        parse(f"name: x\nbash: {command}\ntimeout: 5\n".encode(), "x.yaml")

    first = caught.value.problems[0]
    assert first.line == 2
    assert first.hint.startswith(f"write it as a block:\nbash: |\n  {command}") or "*" in command


def test_an_escape_yaml_does_not_know_gets_a_hint() -> None:
    with pytest.raises(DefinitionInvalid) as caught:
        parse(rb'a: "\ud83d\ude00"', "x.yaml")

    assert caught.value.problems[0].hint == "write the character itself; the file is UTF-8"


def test_a_misplaced_key_gets_a_hint_about_indentation() -> None:
    with pytest.raises(DefinitionInvalid) as caught:
        parse(b"a: b\n   c:\n", "x.yaml")

    assert "indentation" in caught.value.problems[0].hint


def test_problems_before_and_after_a_broken_line_are_all_reported() -> None:
    assert [line for line, _ in problems("a: 1\na: 2\nbash: x: y\nb: 1\nb: 2\n")] == [3, 2, 5]


def test_repairing_ends_even_where_it_cannot_help() -> None:
    assert problems("bash: 'x' y\n" * 40)


TOOL = """\
name: weather
description: >
  folded
  text
bash: |
  first
  second

  fourth
parameters:
  CITY:
    type: string
  DAYS: {type: integer,
         default: 3}
tags:
  - read
  - api
last:
  later
"""


@pytest.mark.parametrize(
    ("path", "offset", "line"),
    [
        ((), None, 1),
        (("name",), None, 1),
        (("name",), 3, 1),
        (("description",), 8, 2),
        (("bash",), None, 5),
        (("bash",), 0, 6),
        (("bash",), 6, 7),
        (("bash",), 14, 9),
        (("bash",), 10_000, 10),
        (("parameters",), None, 10),
        (("parameters", "CITY"), None, 11),
        (("parameters", "CITY", "type"), None, 12),
        (("parameters", "DAYS"), None, 13),
        (("parameters", "DAYS", "default"), None, 14),
        (("parameters", "NONE", "type"), None, 10),
        (("tags",), None, 15),
        (("tags", 0), None, 16),
        (("tags", 1), None, 17),
        (("tags", 9), None, 15),
        (("tags", "x"), None, 15),
        (("last",), None, 19),
        (("name", "deeper"), None, 1),
    ],
)
def test_every_path_has_a_line(path: tuple[str | int, ...], offset: int | None, line: int) -> None:
    assert parse(TOOL.encode(), "x.yaml").line_of(path, offset) == line


def test_a_document_survives_its_cache() -> None:
    document = parse(TOOL.encode(), "x.yaml")

    cached = json.loads(json.dumps(document.to_cache()))

    assert Document.from_cache(cached) == document
    assert document.digest == sha256(TOOL.encode()).hexdigest()


def test_a_problem_names_file_line_and_field() -> None:
    document = parse(TOOL.encode(), "x.yaml")

    assert document.problem(("bash",), "is odd", offset=6, rule="odd", hint="mend it") == Problem(
        "x.yaml", "is odd", 7, "bash", "odd", hint="mend it"
    )


def test_a_field_is_written_as_a_person_would() -> None:
    assert field_name(("steps", 0, "environment", "A")) == "steps[0].environment.A"
    assert field_name((0,)) == "[0]"
    assert field_name(()) == ""


def test_settings_may_be_comments_alone_but_not_nothing() -> None:
    assert parse_config(b"# one\n\n  # two\n", "f").data == {}
    for nothing in (b"", b"\n \n"):
        with pytest.raises(DefinitionInvalid, match="the file is empty") as invalid:
            parse_config(nothing, "f")
        assert invalid.value.problems[0].hint


def test_a_part_of_a_document_keeps_its_lines() -> None:
    document = parse(b"a: 1\nb:\n  c: 2\n  d:\ne: [x]\n", "f")

    assert document.at(("b",)).line_of(("c",)) == 3
    assert document.at(("b", "d")).data == {}
    assert document.only(("e", "a")).data == {"a": 1, "e": ["x"]}
    assert document.only(("e",)).line_of(("e", 0)) == 5
