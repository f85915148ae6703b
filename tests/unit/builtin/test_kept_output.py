"""`output_read`: pages, lines that match, and parts of JSON, of output that was kept."""

from __future__ import annotations

import json

import pytest
from tests.unit.builtin.conftest import Scene

from tongs.builtin.output_program import Refused, follow, parsed
from tongs.core.call import Caller, CallerKind
from tongs.core.errors import ErrorCode

DATA = {"items": [{"id": n, "name": f"n{n}", "pad": "x" * 60} for n in range(20_000)], "a b": 1}

PRINTS = """
description: Print a lot
tags: [read]
python: |
  import json, sys
  data = {"items": [{"id": n, "name": f"n{n}", "pad": "x" * 60} for n in range(20_000)], "a b": 1}
  print(json.dumps(data, indent=1))
  print("warned\\n" * 200_000, file=sys.stderr)
"""


@pytest.fixture
def handle(scene: Scene) -> str:
    """Of a call that wrote more than a result holds."""
    file = scene.project / ".tongs" / "tools" / "lots.yaml"
    file.write_text(PRINTS)
    scene.runtime.definitions.accept(scene.runtime.find("lots"))
    result = scene.call("lots", Caller(CallerKind.PERSON, "user"))
    return str(result.metadata["outputHandle"])


def test_pages_together_are_the_whole(scene: Scene, handle: str) -> None:
    whole = json.dumps(DATA, indent=1) + "\n"
    pieces, offset = [], 0
    while offset is not None:
        page = scene.call("output_read", handle=handle, unit="bytes", offset=offset)
        pieces.append(page.value["content"])
        offset = page.value["next"]

    assert "".join(pieces) == whole
    assert page.value["size"] == len(whole)
    assert max(map(len, pieces)) <= 100_000
    assert scene.person.asked == []


def test_lines_are_counted_from_both_ends(scene: Scene, handle: str) -> None:
    some = scene.call("output_read", handle=handle, offset=2, limit=3)
    last = scene.call("output_read", handle=handle, offset=-2)
    errors = scene.call("output_read", handle=handle, stream="stderr", limit=1)
    beyond = scene.call("output_read", handle=handle, offset=10**9)

    assert some.output == '  {\n   "id": 0,\n   "name": "n0",\n'
    assert (some.value["offset"], some.value["lines"], some.value["next"]) == (2, 3, 5)
    assert (last.output, last.value["next"]) == (' "a b": 1\n}\n', None)
    assert errors.output == "warned\n"
    assert (beyond.output, beyond.value["next"]) == ("", None)


def test_page_of_lines_is_bounded_and_goes_on(scene: Scene, handle: str) -> None:
    page = scene.call("output_read", handle=handle, limit=100_000)

    assert len(page.output) <= 100_000
    following = scene.call("output_read", handle=handle, offset=page.value["next"], limit=1)
    lines = (json.dumps(DATA, indent=1) + "\n").splitlines(keepends=True)
    assert following.output == lines[page.value["next"]]


def test_lines_that_match_come_with_their_numbers(scene: Scene, handle: str) -> None:
    result = scene.call("output_read", handle=handle, grep=r'"n1999\d"', limit=3)
    more = {"grep": r'"N1999\d"', "ignoreCase": True, "offset": result.value["next"]}
    rest = scene.call("output_read", handle=handle, **more)

    assert [match["text"].strip() for match in result.value["matches"]] == [
        '"name": "n19990",',
        '"name": "n19991",',
        '"name": "n19992",',
    ]
    assert len(rest.value["matches"]) == 7
    assert rest.value["next"] is None


def test_path_gives_a_part_of_the_json(scene: Scene, handle: str) -> None:
    one = scene.call("output_read", handle=handle, path=".items[-1].name")
    some = scene.call("output_read", handle=handle, path=".items[2:4] | length")
    large = scene.call("output_read", handle=handle, path=".items")

    assert (one.value["value"], one.output) == ("n19999", '"n19999"\n')
    assert some.value["value"] == 2
    assert "value" not in large.value
    assert len(large.value["content"]) == 100_000
    assert "name a smaller part" in large.warnings[0]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"handle": "nobody"}, "FILE_NOT_FOUND"),
        ({"handle": "../../../etc/passwd"}, "FILE_NOT_FOUND"),
        ({"handle": "0" * 32}, "FILE_NOT_FOUND"),
        ({"grep": "("}, "INVALID_ARGUMENTS"),
        ({"path": ".nothing"}, "INVALID_ARGUMENTS"),
        ({"path": "nonsense"}, "INVALID_ARGUMENTS"),
        ({"path": ".", "stream": "stderr"}, "INVALID_ARGUMENTS"),
        ({"grep": "x", "path": "."}, "INVALID_ARGUMENTS"),
        ({"limit": 0}, "INVALID_ARGUMENTS"),
    ],
)
def test_output_read_refuses(
    scene: Scene, handle: str, arguments: dict[str, object], code: str
) -> None:
    assert scene.code("output_read", **{"handle": handle, **arguments}) == code


def test_regular_expression_that_never_ends_is_given_up_and_named(
    scene: Scene, handle: str
) -> None:
    error = scene.call("output_read", handle=handle, grep="(x+)+$").error

    assert error is not None
    assert error.code is ErrorCode.TIMEOUT
    assert "(x+)+$ does not come to an end" in error.message
    assert "`grep` simpler" in error.hint


SAMPLE = {"a": [{"b": 1}, {"b": 2, "c": None}, {}], "x y": {"k": True}, "t": "text"}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        (".", [SAMPLE]),
        (".a[0].b", [1]),
        (".a.[0].b", [1]),
        (".a[-1]", [{}]),
        (".a[].b", [1, 2, None]),
        (".a[1:]", [[{"b": 2, "c": None}, {}]]),
        (".a[:1]", [[{"b": 1}]]),
        ('."x y".k', [True]),
        ('.["x y"].k', [True]),
        (". | keys", [["a", "t", "x y"]]),
        (".a | length", [3]),
        (".a[] | type", ["object", "object", "object"]),
        (".a | first | .b", [1]),
        (".a | last", [{}]),
        (".a|keys", [[0, 1, 2]]),
        ('."x y"[]', [True]),
        (".t[1:3]", ["ex"]),
    ],
)
def test_paths_mean_what_they_mean_in_jq(path: str, values: list[object]) -> None:
    assert follow(parsed(path), SAMPLE)[0] == values


@pytest.mark.parametrize(
    "path", [".z", ".a.b", ".a[9]", ".t[0]", ".t[]", ".a[", "a", ".a | sum", ".a[0] | first", "..a"]
)
def test_paths_that_lead_nowhere_say_why(path: str) -> None:
    with pytest.raises(Refused):
        follow(parsed(path), SAMPLE)
