"""One key of a config file, and nothing else of it."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tongs.authoring.config_edit import (
    CannotEdit,
    edited,
    key_of,
    path_of,
    removed,
    with_value,
    without,
)
from tongs.authoring.config_sample import SAMPLE
from tongs.schema.check_document import check_document
from tongs.schema.document import parse, parse_config

FILE = """\
# my settings
security:   # about safety
  auto_deny:
    - a   # because
    - b
  auto_approve:
    - x
    - y

  # after
limits: {memory: 1GiB}  # small
tools:
  t:
    envs: {A: "1",
       B: "2"}
# end
"""


def changed(path: str, value: object, text: str = FILE) -> list[str]:
    """The lines that are not as they were."""
    before = text.splitlines()
    return [line for line in edited(text, path_of(path), value).splitlines() if line not in before]


@pytest.mark.parametrize(
    ("path", "value", "lines"),
    [
        ("limits.memory", "2GiB", ["limits: {memory: 2GiB}  # small"]),
        ("limits.cpu", "5s", ["limits: {memory: 1GiB, cpu: 5s}  # small"]),
        ("security.auto_approve", ["q", "yes"], ["  auto_approve: [q, 'yes']"]),
        ("security.enforcement", "off", ["  enforcement: 'off'"]),
        ("tools.t.timeout", "5s", ["    timeout: 5s"]),
        ("tools.t.envs.C", 3, ['       B: "2", C: 3}']),
        ("tools.u.limits.memory", "5MiB", ["  u:", "    limits:", "      memory: 5MiB"]),
        ('tools."a.b".timeout', 3, ["  a.b:", "    timeout: 3"]),
        ("store", "/a b", ["store: /a b"]),
        ("profiles.p.limits", {"memory": 1}, ["profiles:", "  p:", "    limits: {memory: 1}"]),
        ("limits", {"cpu": "1s"}, ["limits: {cpu: 1s}  # small"]),
    ],
)
def test_only_the_lines_of_the_key_change(path: str, value: object, lines: list[str]) -> None:
    assert changed(path, value) == lines
    after = edited(FILE, path_of(path), value)
    assert parse(after.encode(), "f").data == with_value(
        parse(FILE.encode(), "f").data, path_of(path), value
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (FILE, 3),  # comments inside
        ("security:\n  auto_deny: [a, # x\n    b]\n", 2),
        ("security: |\n  text\n", 1),
        ("security: text\n", 1),
        ("- a\n", 1),
    ],
)
def test_what_cannot_be_changed_safely_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(CannotEdit) as caught:
        edited(text, ("security", "auto_deny"), ["q"])

    assert caught.value.line == line


def test_a_block_of_text_is_left_alone() -> None:
    with pytest.raises(CannotEdit):
        edited("store: |\n  a\n  b\n", ("store",), "x")
    with pytest.raises(CannotEdit):
        edited("a: b: c\n", ("store",), "x")


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("", "limits:\n  cpu: 1s\n"),
        ("# only this\n", "# only this\nlimits:\n  cpu: 1s\n"),
        ("limits:\n", "limits:\n  cpu: 1s\n"),
        ("limits:  # none\n# more\n", "limits:  # none\n  cpu: 1s\n# more\n"),
        ("limits:\n  cpu:   # soon\n", "limits:\n  cpu: 1s   # soon\n"),
        ("limits: {}", "limits: {cpu: 1s}\n"),
        ("limits: {memory: 1, }\n", "limits: {memory: 1,cpu: 1s}\n"),
        ("store: x\r\nlimits: {}\r\n", "store: x\r\nlimits: {cpu: 1s}\r\n"),
        ("store: x\r\n", "store: x\r\nlimits:\r\n  cpu: 1s\r\n"),
        ("store: |\n  x\n\n# end\n", "store: |\n  x\n\nlimits:\n  cpu: 1s\n# end\n"),
        ("store: x # c", "store: x # c\nlimits:\n  cpu: 1s\n"),
    ],
)
def test_files_of_any_shape_get_the_key(text: str, after: str) -> None:
    assert edited(text, ("limits", "cpu"), "1s") == after
    assert parse_config(after.encode(), "f").data["limits"]["cpu"] == "1s"


@example(value="0,0")  # inside braces a comma ends a plain text
@example(value="a]")
@given(
    value=st.one_of(
        st.text(max_size=20), st.integers(), st.booleans(), st.lists(st.text(max_size=5))
    )
)
def test_what_is_written_is_read_back_or_the_reader_refuses_it(value: object) -> None:
    from tongs.core.errors import DefinitionInvalid

    after = edited(FILE, ("tools", "t", "envs", "A"), value)
    try:
        data = parse(after.encode("utf-8", "replace"), "f").data
    except DefinitionInvalid:
        return
    assert data["tools"]["t"]["envs"]["A"] == value


@pytest.mark.parametrize("key", ["", ".", "a..b", "a.", 'a."b'])
def test_a_key_has_no_empty_part(key: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(key)}$"):
        path_of(key)


@pytest.mark.parametrize(
    ("path", "text", "after"),
    [
        ("a.b", "# x\na:\n  # y\n  b: 1 # z\n  c: 2\n", "# x\na:\n  # y\n  c: 2\n"),
        ("a.b", "a:\n  b: {c: 1,\n    d: 2}\ne: 3\n", "e: 3\n"),
        ("a.b", "a: {b: 1, c: 2}\n", "a: {c: 2}\n"),
        ("a.c", "a: {b: 1, c: 2}", "a: {b: 1}\n"),
        ("a.b.c", "x: 1\na: {b: {c: 1}}\n", "x: 1\n"),
        ("a", "a:\nb: 1\n", "b: 1\n"),
        ("a.b", "a:\n  b: |\n    text\n    more\n  c: 1\n", "a:\n  c: 1\n"),
        ("a.b", "a:\n  b:\n    - 1\n    - 2\n# end\n", "# end\n"),
    ],
)
def test_a_key_is_taken_out_with_all_that_it_alone_was_in(path: str, text: str, after: str) -> None:
    found = removed(text, path_of(path))

    assert found == after
    wanted = without(parse(text.encode(), "f").data, path_of(path))
    assert parse_config(found.encode(), "f").data == wanted


@pytest.mark.parametrize("text", ["a: {c: 1}\n", "a: [1]\n"])
def test_a_key_that_is_not_there_cannot_be_taken_out(text: str) -> None:
    with pytest.raises(CannotEdit):
        removed(text, ("a", "b"))


def test_a_part_with_a_dot_stands_in_quotes() -> None:
    assert path_of('tools."a.b".timeout') == ("tools", "a.b", "timeout")
    assert key_of(("tools", "a.b", "timeout")) == 'tools."a.b".timeout'


def test_a_value_cannot_be_put_below_one_that_holds_no_keys() -> None:
    with pytest.raises(CannotEdit):
        with_value({"store": "x"}, ("store", "y"), 1)


def test_the_sample_says_nothing_and_would_be_good_with_every_mark_taken_away() -> None:
    assert parse_config(SAMPLE.encode(), "f").data == {}
    uncommented = "".join(
        line if re.match(r"# \S", line) else line.removeprefix("#")
        for line in SAMPLE.splitlines(keepends=True)
    )

    document = parse(uncommented.encode(), "f")

    assert check_document(document, "config") == []
    assert set(document.data) == {
        *("security", "approvals", "limits", "tools", "custom_tools", "interpreters"),
        *("security", "approvals", "limits", "tools", "custom_tools", "interpreters"),
        *("audit", "telemetry", "web", "mcp", "models", "secrets", "profiles"),
    }
