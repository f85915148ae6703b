"""Loaders never crash, and what they accept is JSON with a line for every value."""

from __future__ import annotations

import json
from typing import Any

import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from tests.thorough import examples

from tongs.core.errors import DefinitionInvalid
from tongs.schema.check_document import check_document
from tongs.schema.document import Document, PathTuple, parse

# What YAML trips over, more often than chance would bring it.
WORDS = (
    "a b: - ? ! & * | > ' \" [ ] { } , # % @ ` : << ~ &x *x !!str 0x1 .inf 1e9 = yes 010 |2 >- |+"
)
LONG_WORDS = "bash: steps: name: parameters: security: --- ... é \u2028 \x85 \ufeff \x00"
BLANKS = [" ", "\n", "\n  ", "\n\t", "\r\n", ": ", ":\n"]
FRAGMENTS = st.sampled_from([*WORDS.split(" "), *LONG_WORDS.split(" "), *BLANKS])
TEXTS = st.lists(FRAGMENTS, max_size=40).map("".join)
BASIC = st.characters(codec="utf-8", max_codepoint=0xFFFF)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(BASIC, max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(BASIC, max_size=8), inner, max_size=4)
    ),
    max_leaves=20,
)


def paths(value: Any, above: PathTuple = ()) -> list[PathTuple]:
    pairs: Any = ()
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
    return [above, *(path for key, inner in pairs for path in paths(inner, (*above, key)))]


def holds(document: Document, lines: int) -> None:
    assert json.loads(json.dumps(document.data)) == document.data
    assert Document.from_cache(json.loads(json.dumps(document.to_cache()))) == document
    for path in paths(document.data):
        assert 1 <= document.line_of(path) <= lines
    for name in ("tool.yaml", "config"):
        for problem in check_document(document, name):
            assert 1 <= problem.line <= lines


def loads_or_refuses(data: bytes) -> None:
    lines = data.count(b"\n") + 1
    try:
        document = parse(data, "x.yaml")
    except DefinitionInvalid as invalid:
        problems = invalid.problems
    else:
        holds(document, lines)
        return
    assert problems
    for problem in problems:
        assert 1 <= problem.line <= lines
        assert problem.message


@examples(500)
@given(st.binary(max_size=200))
@example(b"[" * 100_000)
@example(b"&a [*a]")
@example(b"{" * 2000)
def test_any_bytes_load_or_are_refused(data: bytes) -> None:
    loads_or_refuses(data)


@examples(2000)
@given(TEXTS)
def test_any_text_that_looks_like_yaml_loads_or_is_refused(text: str) -> None:
    loads_or_refuses(text.encode())


@examples(300)
@given(JSON)
def test_json_is_read_as_json(value: Any) -> None:
    # Escaped, since some characters are not allowed as they are. What JSON writes as a surrogate
    # pair is the one escape YAML does not know.
    written = json.dumps({"value": value}, ensure_ascii=True)

    assert parse(written.encode(), "x.yaml").data == {"value": value}


@examples(300)
@given(
    st.lists(
        st.text(st.characters(codec="ascii", min_codepoint=32, max_codepoint=126), max_size=20)
    )
)
def test_every_line_of_a_block_is_found_again(rows: list[str]) -> None:
    body = "".join(f"  x{row}\n" for row in rows) or "  x\n"
    document = parse(f"name: a\nbash: |\n{body}last: 1\n".encode(), "x.yaml")

    text = document.data["bash"]
    for offset in range(len(text)):
        assert document.line_of(("bash",), offset) == 3 + text.count("\n", 0, offset)
    assert document.line_of(("last",)) == 3 + body.count("\n")


@examples(500)
@given(TEXTS)
def test_what_we_accept_pyyaml_reads_with_the_same_shape(text: str) -> None:
    """Only the meaning of plain words differs, never where a key or an element begins."""
    try:
        ours = parse(text.encode(), "x.yaml").data
    except DefinitionInvalid:
        return
    theirs = yaml.load(text, Loader=yaml.CBaseLoader)

    assert shape(ours) == shape(theirs)


def shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    return [shape(inner) for inner in value] if isinstance(value, list) else "scalar"
