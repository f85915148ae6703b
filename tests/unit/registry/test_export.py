"""Tools in the words of each model API, and the report of what was lost."""

from __future__ import annotations

from typing import Any

import pytest

from tongs import ErrorCode, Permissions, Tool, ToolError, ToolRegistry, create_json_schema

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 2, "description": "Where"},
        "days": {"type": "integer", "minimum": 1, "default": 3},
    },
    "required": ["city"],
    "additionalProperties": False,
}
WEATHER = Tool("weather", "Tell the weather", input_schema=SCHEMA, tags=("read", "net"))
OPEN = Tool("open", "Takes anything", input_schema={"type": "object", "properties": {"x": {}}})


def registry(*tools: Tool) -> ToolRegistry:
    made = ToolRegistry()
    for tool in tools:
        made.register(tool)
    return made


def test_openai_tools_and_functions_say_the_same() -> None:
    made = registry(WEATHER)
    flat = {"name": "weather", "description": "Tell the weather", "parameters": SCHEMA}

    assert made.to_openai_functions() == [flat]
    assert made.to_openai_tools() == [{"type": "function", "function": flat}]
    assert made.to_openai_tools(responses=True) == [{"type": "function", **flat, "strict": False}]


def test_strict_openai_tool_requires_everything_and_tells_the_rest_in_words() -> None:
    exported = registry(WEATHER).export("openai-flat", strict=True)

    assert exported.data == [
        {
            "name": "weather",
            "description": "Tell the weather",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": "Where (minLength: 2)"},
                    "days": {
                        "anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}],
                        "description": "(default: 3)",
                    },
                },
                "required": ["city", "days"],
                "additionalProperties": False,
            },
            "strict": True,
        }
    ]
    assert [str(lost) for lost in exported.losses] == [
        "weather: /city: `minLength` is only told in words",
        "weather: /days: `default` is only told in words",
    ]


def test_schema_that_no_strict_mode_can_say_stays_as_it_is() -> None:
    exported = registry(OPEN).export("openai-flat", strict=True)

    assert exported.data[0]["parameters"] == OPEN.input_schema
    assert "strict" not in exported.data[0]
    assert [str(lost) for lost in exported.losses] == ["open: /x: not strict: it takes any value"]


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"type": "object"}, "keys that are not known"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "keys that are not"),
        ({"type": "array"}, "items may be anything"),
        ({"type": "array", "prefixItems": [{"type": "string"}]}, "`prefixItems`"),
        ({"not": {"type": "string"}}, "`not`"),
        ({"description": "no type"}, "no type"),
        ({"allOf": [{"type": "string"}, {"minLength": 2}]}, "`allOf`"),
        (False, "takes no value"),
    ],
)
def test_reason_why_a_tool_is_not_strict_is_said(entry: Any, reason: str) -> None:
    schema = {"type": "object", "properties": {"x": entry}}

    (lost,) = registry(Tool("t", input_schema=schema)).export("openai", strict=True).losses

    assert reason in str(lost)


def test_strict_mode_says_choices_and_types_that_contain_themselves() -> None:
    schema = {
        "type": "object",
        "properties": {
            "one": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
            "wrapped": {"allOf": [{"$ref": "#/$defs/Node"}], "description": "a tree"},
            "kind": {"type": ["string", "null"], "enum": ["a", None]},
        },
        "required": ["one", "wrapped", "kind"],
        "$defs": {
            "Node": {
                "type": "object",
                "properties": {"next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}},
                "additionalProperties": False,
            }
        },
    }

    (made,) = registry(Tool("t", input_schema=schema)).to_openai_functions(strict=True)

    assert made["strict"] is True
    properties = made["parameters"]["properties"]
    assert properties["one"] == {"anyOf": [{"type": "string"}, {"type": "integer"}]}
    assert properties["wrapped"] == {"$ref": "#/$defs/Node"}
    assert properties["kind"] == {"type": ["string", "null"], "enum": ["a", None]}
    assert made["parameters"]["$defs"]["Node"]["required"] == ["next"]


def test_strict_anthropic_tool_keeps_what_may_be_left_out() -> None:
    (made,) = registry(WEATHER).to_anthropic_tools(strict=True)

    assert made["strict"] is True
    assert made["input_schema"]["required"] == ["city"]
    assert made["input_schema"]["properties"]["days"] == {
        "type": "integer",
        "default": 3,
        "description": "(minimum: 1)",
    }


def test_gemini_declaration_has_only_what_gemini_knows() -> None:
    schema = {
        "type": "object",
        "properties": {
            "who": {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "d"},
            "level": {"type": "integer", "enum": [1, 2]},
            "mode": {"const": "fast"},
            "either": {"type": ["string", "integer"]},
            "tree": {"$ref": "#/$defs/Node"},
            "any": {},
            "when": {"type": "string", "format": "date"},
            "list": {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}},
            "free": {"type": "object", "additionalProperties": {"type": "string"}},
            "both": {
                "allOf": [
                    {"type": "object", "properties": {"a": {"type": "string"}}},
                    {"required": ["a"]},
                ]
            },
        },
        "required": ["who"],
        "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}},
    }

    exported = registry(Tool("t", "d", input_schema=schema)).export("gemini")

    (group,) = exported.data
    (declared,) = group["functionDeclarations"]
    properties = declared["parameters"]["properties"]
    assert properties["who"] == {"description": "d", "nullable": True, "type": "STRING"}
    assert properties["level"] == {"type": "INTEGER", "description": "(enum: [1, 2])"}
    assert properties["mode"] == {"type": "STRING", "enum": ["fast"], "format": "enum"}
    assert properties["either"] == {"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}]}
    assert properties["tree"]["properties"]["next"] == {"type": "OBJECT"}
    assert properties["any"] == {"type": "STRING"}
    assert properties["when"] == {"type": "STRING", "description": '(format: "date")'}
    assert properties["list"]["items"]["description"] == "(exclusiveMinimum: 0)"
    assert properties["both"]["required"] == ["a"]
    assert len(exported.losses) == 6


def test_gemini_declaration_without_parameters_has_none() -> None:
    (group,) = registry(Tool("now", "Tell the time")).to_gemini_tools()

    assert group == {"functionDeclarations": [{"name": "now", "description": "Tell the time"}]}
    assert ToolRegistry().to_gemini_tools() == []


def test_mcp_tool_says_what_it_claims() -> None:
    output = create_json_schema({"t": {"type": "number"}})
    tool = Tool("w", "d", output_schema=output, tags=("read",), permissions=Permissions())

    (made,) = registry(tool).to_mcp_tools()

    assert made["outputSchema"] == output
    assert made["annotations"] == {
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    }


def test_markdown_is_a_page_for_people() -> None:
    page = registry(WEATHER, OPEN).export("markdown").data

    assert "| city | string | yes | Where |" in page
    assert "| days | integer | no, 3 |  |" in page
    assert "May: read, network" in page


def test_two_examples_are_shown_to_models() -> None:
    examples = tuple({"params": {"n": n}, "expected_output": {"m": n}} for n in range(3))

    (made,) = registry(Tool("t", "d", examples=examples)).to_openai_functions()

    assert made["description"] == (
        'd\nExample: {"n": 0} -> {"m": 0}\nExample: {"n": 1} -> {"m": 1}'
    )


def test_hidden_characters_of_a_stranger_reach_no_model() -> None:
    schema = create_json_schema({"x": {"type": "string", "description": "a\u202eb"}})

    (made,) = registry(Tool("t", "\x1b[31mred", input_schema=schema)).to_openai_functions()

    assert made["description"] == "\\x1b[31mred"
    assert made["parameters"]["properties"]["x"]["description"] == "a\\u202eb"


def test_description_is_cut_where_openai_takes_no_more() -> None:
    exported = registry(Tool("t", "x" * 3000)).export("openai-flat")

    assert len(exported.data[0]["description"]) == 1024
    assert [str(lost) for lost in exported.losses] == [
        "t: its description is cut after 1024 characters"
    ]


def test_unknown_format_names_the_others() -> None:
    with pytest.raises(ToolError) as caught:
        ToolRegistry().export("morse")

    assert caught.value.code is ErrorCode.INVALID_ARGUMENTS
    assert "markdown" in caught.value.hint
