"""Seed 001: its snippets, with nothing changed but the lines that import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tongs import ErrorCode, ToolError, ToolRegistry, create_json_schema
from tongs.testing import Person, project

SEED = Path(__file__).parent / "seed_001"
DO_SOMETHING = "def do_something(text):\n    return f'expected {text}'\n"


def run(*names: str) -> dict[str, object]:
    """The names that the snippets define, one after the other."""
    found: dict[str, object] = {}
    source = DO_SOMETHING + "".join((SEED / name).read_text() for name in names)
    exec(compile(source, "seed_001", "exec"), found)
    return found


def test_tool_is_written_and_registered() -> None:
    registry = run("my_tool.py", "register.py")["registry"]

    assert isinstance(registry, ToolRegistry)
    assert registry.to_openai_tools() == [
        {
            "type": "function",
            "function": {
                "name": "my_tool",
                "description": "What my tool does",
                "parameters": {
                    "type": "object",
                    "properties": {"arg1": {"type": "string", "description": "First argument"}},
                    "required": ["arg1"],
                },
            },
        }
    ]


def test_result_is_made_as_the_seed_does() -> None:
    run("results.py")


def test_test_of_the_seed_passes_under_pytest(tmp_path: Path) -> None:
    test = tmp_path / "test_seed.py"
    test.write_text(
        DO_SOMETHING + (SEED / "my_tool.py").read_text() + (SEED / "ttool.py").read_text()
    )
    config = tmp_path / "pytest.ini"
    config.write_text("[pytest]\nasyncio_default_fixture_loop_scope = function\n")

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(test)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout


@pytest.mark.parametrize("schema", [{"type": "string"}, {"properties": {}}, {"type": ["object"]}])
def test_schema_whose_root_is_no_object_is_refused(schema: dict[str, object]) -> None:
    from tongs import Tool

    with pytest.raises(ToolError) as caught:
        ToolRegistry().register(Tool("t", input_schema=schema))

    assert caught.value.code is ErrorCode.INVALID_DEFINITION
    assert "`object`" in caught.value.message


def test_model_requests_and_the_result_is_fed_back() -> None:
    """The tool execution flow of the seed, with a person who allows it."""
    tool = run("my_tool.py")["MyTool"]
    person = Person.approves()

    with project(tools=[tool], person=person) as it:  # type: ignore[list-item]
        messages = it.runtime.handle_openai_sync(
            [
                {
                    "id": "call-123",
                    "type": "function",
                    "function": {"name": "my_tool", "arguments": '{"arg1": "value"}'},
                }
            ]
        )

    assert messages == [{"role": "tool", "tool_call_id": "call-123", "content": "expected value"}]
    assert person.tools == ["my_tool"]


def test_blocked_call_is_an_error_for_the_model() -> None:
    tool = run("my_tool.py")["MyTool"]

    with project(tools=[tool], auto_deny=["my_tool"]) as it:  # type: ignore[list-item]
        (message,) = it.runtime.handle_openai_sync(
            [{"id": "1", "function": {"name": "my_tool", "arguments": '{"arg1": "v"}'}}]
        )

    assert message["content"].startswith("error: DENIED: my_tool was not run")


def test_helper_makes_a_schema_with_an_object_at_its_root() -> None:
    assert create_json_schema(properties={}, required=[])["type"] == "object"
