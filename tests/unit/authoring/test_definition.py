"""What `tool add` writes down, and that it loads back equal."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongs.authoring.definition import definition, milliseconds, parameter, step
from tongs.authoring.yaml_text import yaml_text
from tongs.core.errors import ErrorCode, ToolError
from tongs.schema.document import parse

HOSTILE = [
    "plain",
    "",
    " ",
    "  both ends  ",
    "a: b",
    "key:",
    ": start",
    "a #b",
    "#comment",
    "- item",
    "-",
    "--",
    "? question",
    "{x}",
    "{{x}}",
    "[x]",
    "*alias",
    "&anchor",
    "!tag",
    "%directive",
    "@at",
    "`backtick`",
    "'single'",
    '"double"',
    'it\'s "both"',
    "|",
    ">",
    "~",
    "null",
    "true",
    "False",
    "yes",
    "No",
    "on",
    "1",
    "1.5",
    "1e3",
    "0o17",
    "0x1F",
    "010",
    "1_000",
    "12:30:45",
    ".5",
    "+1",
    ".inf",
    ".nan",
    "2001-01-01",
    "---",
    "...",
    "--- doc",
    "<<",
    "=",
    "tab\there",
    "line\nline",
    "line\nline\n",
    "line\n\n\nline\n\n",
    "\nleading newline",
    "  indented\nfirst line",
    "trailing blank \nline",
    "a: b\nc #d\n- e\n",
    "crlf\r\nline",
    "carriage\rreturn",
    "\x1b[31mred",
    "\x07",
    "\x7f",
    "\x85next line",
    "\u2028separator",
    "\ufeffbom",
    "\u202eoverride",
    "café 東京 🔧",
    "\U0010ffff",
    "x" * 5000,
    "word " * 400,
    "curl -s 'wttr.in/{LOCATION}?format={FORMAT}'",
    "jq '.items[] | {a: .b}' # done",
    "back\\slash \\n",
]


def loaded(text: str) -> Any:
    return parse(text.encode(), "t.yaml").data


@pytest.mark.parametrize("text", HOSTILE)
def test_any_text_loads_back_equal_in_every_place(text: str) -> None:
    data = {
        "name": "t",
        "description": text,
        "steps": [{"name": "s", "script": text}, {"name": "r", "python": text}],
        "parameters": {"P": {"description": text, "default": text, "enum": [text, "other"]}},
        "tags": [text],
        "environment": {"A": text},
        "arguments": {text: text, "list": [text, 1, True, None]},
    }
    assert loaded(yaml_text(data)) == data


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_generated_text_loads_back_equal(text: str) -> None:
    data = {"description": text, "tags": [text], "arguments": {"k": text}}
    assert loaded(yaml_text(data)) == data


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(st.text("abc: #-", min_size=1, max_size=5), inner, max_size=4)
        ),
        max_leaves=12,
    )
)
def test_generated_data_loads_back_equal(value: Any) -> None:
    assert loaded(yaml_text({"arguments": value})) == {"arguments": value}


def test_naughty_strings_load_back_equal() -> None:
    file = Path(__file__).parents[2] / "data" / "blns.json"
    for text in json.loads(file.read_text(encoding="utf-8")):
        try:
            text.encode()
        except UnicodeEncodeError:
            continue
        assert loaded(yaml_text({"bash": text})) == {"bash": text}


def test_the_text_is_written_as_a_person_would() -> None:
    data = definition(
        "weather-lookup",
        {
            "description": "Get weather: now",
            "bash": "curl -s 'wttr.in/{LOCATION}?format={FORMAT}'",
            "parameter": [
                ["LOCATION", "City or airport code", "required=true"],
                ["FORMAT", "Output format", "default=3"],
            ],
            "tag": ["weather", "api", "read"],
            "network": ["wttr.in"],
            "timeout": "10000",
        },
    )
    assert (
        yaml_text(data)
        == """\
name: weather-lookup
description: 'Get weather: now'
bash: curl -s 'wttr.in/{LOCATION}?format={FORMAT}'

parameters:
  LOCATION:
    description: City or airport code
    required: true
  FORMAT:
    description: Output format
    default: '3'

permissions:
  network: [wttr.in]

tags: [weather, api, read]
timeout: 10000
"""
    )


def test_a_script_of_several_lines_becomes_a_block() -> None:
    text = yaml_text({"python": "import sys\nprint('a: b')  # c\n"})
    assert text == "python: |\n  import sys\n  print('a: b')  # c\n"


def test_every_option_reaches_the_definition() -> None:
    data = definition(
        "everything",
        {
            "description": "d",
            "script": "s",
            "shell": "zsh {0}",
            "arguments": '{"a": "{X}"}',
            "input": "",
            "parameter": [["X", "x", "type=boolean", "true-value=-i", "default=false"]],
            "network": [True, "h"],
            "read": ["."],
            "write": ["out"],
            "secret": ["TOKEN"],
            "approval": "costs money",
            "platform": ["linux"],
            "tag": ["read", "read"],
            "timeout": "30s",
            "working_directory": "~/x",
            "env": ["A=b=c", "EMPTY="],
            "step": None,
        },
    )
    assert data == {
        "name": "everything",
        "description": "d",
        "script": "s",
        "shell": "zsh {0}",
        "arguments": {"a": "{X}"},
        "input": "",
        "parameters": {
            "X": {"description": "x", "type": "boolean", "default": False, "true-value": "-i"}
        },
        "permissions": {
            "network": True,
            "fs": {"read": ["."], "write": ["out"]},
            "secrets": {"TOKEN": {"type": "string", "required": True}},
        },
        "approval": {"required": True, "reason": "costs money"},
        "tags": ["read"],
        "platforms": ["linux"],
        "timeout": 30000,
        "working-directory": "~/x",
        "environment": {"A": "b=c", "EMPTY": ""},
    }


def test_arguments_that_are_no_object_are_words() -> None:
    assert definition("t", {"arguments": "-a 'b c' {X}"})["arguments"] == ["-a", "b c", "{X}"]
    assert definition("t", {"arguments": "{X}"})["arguments"] == ["{X}"]
    assert definition("t", {"arguments": " { }"})["arguments"] == {}


@pytest.mark.parametrize(
    ("words", "entry"),
    [
        (["N"], {}),
        (["N", "text"], {"description": "text"}),
        (["N", "type=integer", "default=5"], {"type": "integer", "default": 5}),
        (["N", "d", "default=5"], {"description": "d", "default": "5"}),
        (["N", "d", "type=number", "default=0.50"], {"type": "number", "default": 0.5}),
        (["N", "d", "enum=a,b"], {"enum": ["a", "b"]}),
        (["N", "d", 'enum=["a,b", "c"]'], {"enum": ["a,b", "c"]}),
        (["N", "d", "type=integer", "enum=1,2"], {"type": "integer", "enum": [1, 2]}),
        (["N", "d", "type=array", "items=number"], {"type": "array", "items": {"type": "number"}}),
        (["N", "d", "pattern=^a=b$"], {"pattern": "^a=b$"}),
        (["N", "d", "type=number", "minimum=1", "maximum=2.5"], {"minimum": 1, "maximum": 2.5}),
        (["N", "d", "default="], {"default": ""}),
        (["N", "default=3 is the usual"], {"description": "default=3 is the usual"}),
        (["N", "d", "type=object", 'default={"a": 1}'], {"type": "object", "default": {"a": 1}}),
    ],
)
def test_parameter_options_become_typed_keywords(words: list[str], entry: dict[str, Any]) -> None:
    name, made = parameter(words)
    assert name == "N"
    assert {**made, **entry} == made


@pytest.mark.parametrize(
    "words",
    [
        ["N", "d", "typ=string"],
        ["N", "d", "type=text"],
        ["N", "d", "items=text"],
        ["N", "d", "required=maybe"],
        ["N", "d", "type=integer", "default=x"],
        ["N", "d", "type=integer", "default=true"],
        ["N", "d", "type=number", "default=NaN"],
        ["N", "d", "type=array", "default=a"],
        ["N", "d", "enum=[broken"],
        ["N", "d", "stray"],
    ],
)
def test_wrong_parameter_options_are_refused_with_a_hint(words: list[str]) -> None:
    with pytest.raises(ToolError) as caught:
        parameter(words)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENTS
    assert caught.value.hint


def test_a_parameter_given_twice_is_refused() -> None:
    with pytest.raises(ToolError, match="given twice"):
        definition("t", {"parameter": [["A", "x"], ["A", "y"]]})


def test_steps_name_their_kind_or_use_the_default_shell() -> None:
    assert step(["a", "echo hi"]) == {"name": "a", "script": "echo hi"}
    assert step(["a", "python", "print(1)"]) == {"name": "a", "python": "print(1)"}


@pytest.mark.parametrize("words", [["a"], ["a", "perl", "x"], ["a", "b", "c", "d"]])
def test_wrong_steps_are_refused_with_a_hint(words: list[str]) -> None:
    with pytest.raises(ToolError) as caught:
        step(words)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "value"), [("10000", 10000), ("30s", 30000), ("1.5s", 1500), ("1m30s", 90000)]
)
def test_timeouts_are_milliseconds_or_durations(text: str, value: int) -> None:
    assert milliseconds(text) == value


@pytest.mark.parametrize("text", ["0", "-1", "abc", "", "0s", "1.5"])
def test_what_is_no_timeout_is_refused(text: str) -> None:
    with pytest.raises(ToolError):
        milliseconds(text)


@pytest.mark.parametrize("arguments", ['{"broken', "'open"])
def test_unreadable_arguments_are_refused(arguments: str) -> None:
    with pytest.raises(ToolError):
        definition("t", {"arguments": arguments})


@pytest.mark.parametrize(
    "options",
    [{"bash": "a\udc80"}, {"env": ["A=\udcff"]}, {"tag": ["\udcff"]}, {"env": ["no-equals"]}],
)
def test_bytes_that_are_no_text_cannot_be_written(options: dict[str, Any]) -> None:
    with pytest.raises(ToolError):
        definition("t", options)
