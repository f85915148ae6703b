"""Whatever stands in a file of settings, only what was meant changes, and no comment is lost."""

from __future__ import annotations

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from tongs.authoring.mcp_clients.jsonc import NotJson, parse, with_value, without

KEYS = st.text(max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)
SERVERS = st.dictionaries(KEYS, VALUES, max_size=4)
# Between any two marks.
BLANKS = st.sampled_from(["", " ", "\n  ", " // %d\n", " /* %d */ ", "\n/* %d\n*/\n"])


@st.composite
def texts(draw: st.DrawFn) -> tuple[str, dict[str, object]]:
    """A text of settings with comments between its marks, and what it says."""
    data = draw(st.dictionaries(KEYS, VALUES, max_size=3)) | {"s": draw(SERVERS)}
    indent = draw(st.sampled_from([None, 1, 2, 4, "\t"]))
    text = json.dumps(data, indent=indent, ensure_ascii=draw(st.booleans()))
    pieces = re.split(r'("(?:[^"\\]|\\.)*"|[{}\[\]:,])', text)
    # A comma at the end of the outermost object.
    if data and draw(st.booleans()):
        pieces[-2:-2] = [","]
    made = []
    for number, piece in enumerate(pieces):
        made.append(piece)
        blank = draw(BLANKS)
        made.append(blank % number if "%d" in blank else blank)
    return "".join(made), data


def comments(text: str) -> list[str]:
    return sorted(
        re.findall(r"//[^\n]*|/\*.*?\*/", re.sub(r'"(?:[^"\\]|\\.)*"', "", text), re.DOTALL)
    )


@given(texts(), KEYS, VALUES)
def test_a_server_that_is_new_is_all_that_changes(
    pair: tuple[str, dict[str, object]], name: str, value: object
) -> None:
    text, data = pair
    servers = data["s"]
    assert isinstance(servers, dict)
    is_new = name not in servers

    after = with_value(text, ("s", name), value)

    assert parse(after).data == {**data, "s": {**servers, name: value}}
    if is_new:
        assert comments(after) == comments(text)


@given(texts(), st.data())
def test_a_server_that_is_removed_is_all_that_goes(
    pair: tuple[str, dict[str, object]], chosen: st.DataObject
) -> None:
    text, data = pair
    servers = data["s"]
    assert isinstance(servers, dict)
    name = chosen.draw(st.sampled_from([*servers, "not there"]))

    after = without(text, ("s", name))

    kept = {key: value for key, value in servers.items() if key != name}
    assert parse(after).data == {**data, "s": kept}


@given(st.text(alphabet='{}[]",:/*\\\n 1aé', max_size=40))
def test_no_text_does_more_than_be_refused(text: str) -> None:
    try:
        data = parse(text).data
    except NotJson:
        return
    assert json.loads(json.dumps(data)) == data
