"""What every built-in tool promises, whichever module it lives in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tongs.builtin import ALIASES, MODULES, Builtins
from tongs.config.settings import Settings
from tongs.core.scope import Scope
from tongs.core.tool import Level, Tool
from tongs.executors import KEYS
from tongs.schema.check import violations


@pytest.fixture(params=[*MODULES, *ALIASES])
def tool(request: pytest.FixtureRequest) -> Tool:
    made = Builtins(Settings()).get(request.param)
    assert made is not None
    assert made.name == request.param
    return made


def test_input_is_an_object_whose_properties_are_explained(tool: Tool) -> None:
    schema = tool.input_schema

    assert schema["type"] == "object"
    for name, each in schema["properties"].items():
        assert "type" in each, name
        assert each.get("description"), name
    assert set(schema.get("required", ())) <= set(schema["properties"])


def test_output_has_a_schema_of_its_own(tool: Tool) -> None:
    assert tool.output_schema is not None
    # That it is a schema, and one that not everything fits.
    assert violations(tool.output_schema, None)


def test_it_says_how_much_it_does_and_how_it_runs(tool: Tool) -> None:
    assert any(level in tool.tags for level in Level)
    assert tool.executor in KEYS
    assert tool.description
    assert tool.timeout is not None or "timeout" in tool.input_schema["properties"]
    assert tool.origin.scope is Scope.BUILTIN


def test_every_module_belongs_to_a_tool_or_is_shared() -> None:
    """A tool that nobody can call would be a file without a purpose."""
    shared = {"access", "changes", "facts", "replacing", "running", "trash", "trouble", "workspace"}
    programs = {"search_program", "output_program"}
    folder = Path(__file__).parents[2] / "src" / "tongs" / "builtin"
    files = {path.stem for path in folder.glob("*.py")} - {"__init__"}

    assert set(MODULES.values()) <= files
    assert shared | programs <= files
