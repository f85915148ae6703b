"""Typed text becomes arguments."""

import io
import sys
from pathlib import Path
from typing import Any

import pytest

from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.core.tool import Tool
from tongs.surfaces.cli.arguments import arguments_for

TOOL = Tool(
    name="t",
    input_schema={
        "type": "object",
        "properties": {
            "TEXT": {"type": "string"},
            "DAYS": {"type": "integer"},
            "DEEP": {"type": "boolean"},
            "LIST": {"type": "array", "items": {"type": "number"}},
            "DATA": {"type": "object"},
        },
        "required": ["TEXT"],
    },
)


@pytest.mark.parametrize(
    ("texts", "arguments"),
    [
        ([], {}),
        (["TEXT=a=b=c"], {"TEXT": "a=b=c"}),
        (["TEXT="], {"TEXT": ""}),
        (["TEXT=5"], {"TEXT": "5"}),
        (["TEXT=\udcff"], {"TEXT": "\udcff"}),
        (["DAYS=5", "DEEP=true"], {"DAYS": 5, "DEEP": True}),
        (["DAYS=x"], {"DAYS": "x"}),
        (["LIST=1", "LIST=2.5"], {"LIST": [1, 2.5]}),
        (["LIST=[1, 2]"], {"LIST": [1, 2]}),
        (['DATA={"a": 1}'], {"DATA": {"a": 1}}),
    ],
)
def test_text_becomes_what_the_schema_asks_for(texts: list[str], arguments: dict[str, Any]) -> None:
    assert arguments_for(TOOL, texts, None) == arguments


@pytest.mark.parametrize(
    ("texts", "message", "hint"),
    [
        (["TEX=1"], "t was not run: it has no parameter TEX", "did you mean `TEXT`?"),
        (
            ["zzz=1"],
            "t was not run: it has no parameter zzz",
            "it takes: TEXT, DAYS, DEEP, LIST, DATA",
        ),
        (["TEXT"], "t was not run: expected NAME=VALUE, got `TEXT`", "tongs tool run t TEXT=…"),
        (["=x"], "t was not run: expected NAME=VALUE, got `=x`", "tongs tool run t TEXT=…"),
        (
            ["TEXT=a", "TEXT=b"],
            "t was not run: TEXT is given 2 times, but is no array",
            "tongs tool get t",
        ),
    ],
)
def test_what_cannot_be_an_argument_is_said_with_a_hint(
    texts: list[str], message: str, hint: str
) -> None:
    with pytest.raises(ToolError) as caught:
        arguments_for(TOOL, texts, None)
    expected = ToolError(
        ErrorCode.INVALID_ARGUMENTS, message, blocked_by=BlockedBy.SCHEMA, hint=hint
    )
    assert caught.value == expected


def test_json_is_taken_as_it_is() -> None:
    given = arguments_for(TOOL, ["DEEP=true"], '{"DAYS": "5", "unknown": 1}')
    assert given == {"DAYS": "5", "unknown": 1, "DEEP": True}


def test_json_comes_from_a_file_or_from_stdin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.json"
    file.write_text('{"TEXT": "é"}', encoding="utf-8")
    assert arguments_for(TOOL, [], f"@{file}") == {"TEXT": "é"}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"TEXT": "x"}')))
    assert arguments_for(TOOL, [], "-") == {"TEXT": "x"}


@pytest.mark.parametrize("source", ["{", "[1]", "@/nowhere/at/all", "\udcff", "[" * 100_000])
def test_what_is_no_json_object_is_refused(source: str) -> None:
    with pytest.raises(ToolError) as caught:
        arguments_for(TOOL, [], source)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENTS


def test_an_argument_cannot_come_from_both_sides() -> None:
    with pytest.raises(ToolError, match="given twice"):
        arguments_for(TOOL, ["TEXT=a"], '{"TEXT": "b"}')
