"""Seed 002: its example tool, registry and dynamic approval, in Python."""

from __future__ import annotations

import runpy
from pathlib import Path

from tongs import ErrorCode, ToolRegistry
from tongs.testing import Person, project

MODULE = runpy.run_path(str(Path(__file__).parent / "seed_002" / "read_file.py"))
REGISTRY: ToolRegistry = MODULE["registry"]


def test_functions_for_a_model_are_name_description_and_parameters() -> None:
    functions = REGISTRY.to_openai_functions()

    assert functions[0] == {
        "name": "read_file",
        "description": "Read the contents of a file in the workspace",
        "parameters": REGISTRY.get("read_file").input_schema,
    }
    assert [function["name"] for function in functions] == ["read_file", "write_file"]


def test_example_reads_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello")

    with project(tools=REGISTRY.list()) as it:
        result = it.call("read_file", path=str(tmp_path / "a.txt"))

    assert result.ok
    assert (result.output, result.value["size"], result.warnings) == ("hello", 5, ())


def test_argument_that_is_not_in_the_schema_is_refused() -> None:
    with project(tools=REGISTRY.list()) as it:
        error = it.call("read_file", path="a.txt", encoding="latin-1").error

    assert error is not None
    assert error.code is ErrorCode.INVALID_ARGUMENTS


def test_missing_file_has_the_code_of_the_seed() -> None:
    with project(tools=REGISTRY.list()) as it:
        error = it.call("read_file", path="nowhere.txt").error

    assert error is not None
    assert error.code is ErrorCode.FILE_NOT_FOUND


def test_only_overwriting_asks(tmp_path: Path) -> None:
    person = Person.denies("keep it")
    path = str(tmp_path / "new.txt")

    with project(tools=REGISTRY.list(), person=person) as it:
        first = it.call("write_file", path=path, content="one")
        second = it.call("write_file", path=path, content="two")

    assert first.ok
    assert second.error is not None
    assert second.error.code is ErrorCode.APPROVAL_DENIED
    assert person.tools == ["write_file"]
    assert Path(path).read_text() == "one"


def test_person_edits_the_arguments_and_the_model_is_told_what_ran(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    person = Person.edits(content="edited")

    with project(tools=REGISTRY.list(), person=person) as it:
        (message,) = it.runtime.handle_anthropic_sync(
            [
                {
                    "type": "tool_use",
                    "id": "t1",
                    "name": "write_file",
                    "input": {"path": str(tmp_path / "a.txt"), "content": "new"},
                }
            ]
        )

    (block,) = message["content"]
    assert (tmp_path / "a.txt").read_text() == "edited"
    assert "changed the arguments before allowing it; it ran with" in block["content"]
    assert '"content": "edited"' in block["content"]


def test_get_of_a_tool_that_is_not_there_names_the_nearest() -> None:
    registry = ToolRegistry()
    registry.register(REGISTRY.get("read_file"))

    removed = registry.remove("read_file")

    assert (removed.name, registry.list()) == ("read_file", [])
