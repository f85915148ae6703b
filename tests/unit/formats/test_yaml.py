"""A definition loads completely, or every mistake in it is named with file, line and field."""

from __future__ import annotations

from pathlib import Path

import pytest

from tongs.core.errors import DefinitionInvalid
from tongs.core.permissions import Permissions, Secret
from tongs.core.tool import Level, Origin, Tool
from tongs.formats.yaml import load
from tongs.formats.yaml_steps import Host
from tongs.schema.document import parse


def loaded(text: str, **host: str) -> Tool:
    return load(parse(text.encode(), "x.yaml"), Origin(), Host(**host))


def problems(text: str) -> list[tuple[int, str]]:
    with pytest.raises(DefinitionInvalid) as caught:
        loaded(text)
    return [(problem.line, problem.field) for problem in caught.value.problems]


def messages(text: str) -> str:
    with pytest.raises(DefinitionInvalid) as caught:
        loaded(text)
    return str(caught.value)


def test_every_key_of_a_definition_arrives() -> None:
    tool = loaded(
        """
name: everything
description: All of it
version: 2
parameters:
  A: {description: first, type: integer, default: 5, minimum: 1}
  B: {required: false}
  C: {enum: [x, y]}
platforms: [linux, macos]
tags: [read, api]
bash: echo {A} {B} {C}
timeout: 1500
permissions: {network: true, fs: {read: [.], write: []}, secrets: {K: {type: string}}}
limits: {memory: 64MiB, output: 1000}
approval: {required: true, reason: because}
outputs: {format: json, schema: {type: array}}
examples: [{params: {C: x}}]
idempotent: true
"""
    )

    assert tool.name == "everything"
    assert tool.input_schema == {
        "type": "object",
        "properties": {
            "A": {"type": "integer", "description": "first", "default": 5, "minimum": 1},
            "B": {"type": "string"},
            "C": {"type": "string", "enum": ["x", "y"]},
        },
        "required": ["C"],
        "additionalProperties": False,
    }
    assert tool.output_schema == {"type": "array"}
    assert (tool.tags, tool.platforms, tool.level) == (
        ("read", "api"),
        ("linux", "macos"),
        Level.READ,
    )
    assert tool.permissions == Permissions(network=True, read=(".",), secrets=(Secret("K"),))
    assert tool.limits == {"memory": 64 * 1024**2, "output": 1000}
    assert (tool.timeout, tool.version, tool.idempotent) == (1.5, "2", True)
    assert (tool.requires_approval, tool.approval_reason) == (True, "because")
    assert tool.examples == ({"params": {"C": "x"}},)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bash: x", ()),
        ("bash: x\nworking-directory: ~/x", ("~/x",)),
        ("bash: x\nworking-directory: ./{A}\nparameters: {A: {}}", ()),
        ("steps: [{bash: x, working-directory: a}, {bash: x}]\nworking-directory: b", ("a", "b")),
        ("steps: [{bash: x, working-directory: a}]\nworking-directory: b", ("a",)),
        ("steps: [{bash: x, working-directory: a}, {run: x, working-directory: a}]", ("a",)),
        ("steps: [{tool: y, working-directory: a}, {bash: x}]", ()),
        (
            (
                "steps: [{bash: x, working-directory: '{A}'}, {bash: x}]\n"
                "working-directory: b\nparameters: {A: {}}"
            ),
            ("b",),
        ),
    ],
)
def test_directories_that_the_author_alone_chose_are_known(
    text: str, expected: tuple[str, ...]
) -> None:
    assert loaded(text).working_directories == expected


def test_inline_tool_has_its_own_directories() -> None:
    tool = loaded(
        "bash: x\nworking-directory: a\n"
        "with: {tools: [{name: inner, bash: x, working-directory: b}]}"
    )

    assert tool.working_directories == ("a",)
    assert tool.helpers["inner"].working_directories == ("b",)


def test_name_defaults_to_the_file() -> None:
    assert loaded("bash: echo").name == "x"


def test_required_is_the_default_unless_there_is_a_default() -> None:
    tool = loaded("bash: echo\nparameters: {A: , B: {default: x}, C: {required: true, default: y}}")

    assert tool.input_schema["required"] == ["A"]


def test_object_parameter_may_list_its_required_keys() -> None:
    tool = loaded("run: x\nparameters: {O: {type: object, required: [a]}}")

    assert tool.input_schema["properties"]["O"] == {"type": "object", "required": ["a"]}
    assert tool.input_schema["required"] == ["O"]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("description: nothing", [(1, "")]),
        ("bash: echo\nrun: ls", [(2, "run")]),
        ("bash: echo\ntags: read", [(2, "tags")]),
        ("bash: echo\nbsh: x", [(2, "bsh")]),
        ("bash: echo\ntimeout: soon", [(2, "timeout")]),
        ("mcp: x", [(1, "mcp")]),
        ("steps: []", [(1, "steps")]),
        ("steps:\n  - name: a", [(2, "steps[0]")]),
        ("steps:\n  - {name: a, bash: x}\n  - {name: a, bash: x}", [(3, "steps[1].name")]),
        ("bash: echo\nparameters: {A: {type: integer, default: x}}", [(2, "parameters.A.default")]),
        ("bash: x\nparameters: {A: {pattern: '('}}", [(2, "parameters.A.pattern")]),
        ("bash: x\noutputs: {schema: {type: thing}}", [(2, "outputs.schema.type")]),
        (
            "bash: x\nenvironment: {LD_PRELOAD: '{A}', OK: '{A}'}\nparameters: {A: {}}",
            [(2, "environment.LD_PRELOAD")],
        ),
        ("script: x\nshell: zsh", [(2, "shell")]),
        ("script: echo {A}\nshell: zsh {0}\nparameters: {A: {}}", [(1, "script")]),
        ("bash: |\n  echo\n  bash -c 'echo {A}'\nparameters: {A: {}}", [(3, "bash")]),
        ("bash: echo {RAW:A}\ntags: [read]\nparameters: {A: {}}", [(2, "tags")]),
        ("bash: x\nwith: {tools: [{bash: echo}]}", [(2, "with.tools[0].name")]),
        ("bash: x\nwith: {tools: [{name: h, run: 'x \"'}]}", [(2, "with.tools[0].run")]),
    ],
)
def test_mistake_is_named_with_line_and_field(text: str, where: list[tuple[int, str]]) -> None:
    assert problems(text) == where


def test_all_mistakes_are_named_at_once() -> None:
    text = (
        "run: 'a \"'\nparameters: {A: {}, N: {type: number, default: x}}\n"
        "input: x\nenvironment: {}\nsteps: []\n"
    )

    assert len(problems("tags: 3\nbsh: x\ntimeout: soon\n")) == 3
    assert len(problems(text)) >= 1


def test_reference_to_a_later_step_is_no_placeholder() -> None:
    tool = loaded("steps:\n  - {name: a, bash: 'echo {b.output}'}\n  - {name: b, bash: echo}")

    assert tool.plan.steps[0].action.template.render({}).script == "echo {b.output}"


def test_seeds_invalid_example_gets_the_helpful_error() -> None:
    text = "steps:\n  - name: x\n    bash: jq -r '.[] | \"\\(.a): \\(.b) commits\"'\n"

    with pytest.raises(DefinitionInvalid) as caught:
        loaded(text)

    (problem,) = caught.value.problems
    assert problem.line == 3
    assert "bash: |" in problem.hint


def test_raw_is_allowed_in_a_read_tool_when_it_is_bounded() -> None:
    tool = loaded("bash: echo {RAW:A}\ntags: [read]\nparameters: {A: {enum: [-x, -y]}}")

    assert tool.raw_parameters == ("A",)


def test_default_shell_decides_the_dialect() -> None:
    assert loaded("script: echo", default_shell="sh").plan.steps[0].action.shell == "sh"


def test_windows_prefers_its_own_scripts() -> None:
    text = "bash: echo\npwsh: echo\ncmd: echo"

    assert loaded(text, platform="windows").plan.steps[0].action.shell == "pwsh"
    assert loaded(text).plan.steps[0].action.shell == "bash"


def test_same_bytes_load_the_same_from_the_cache(tmp_path: Path) -> None:
    document = parse(b"bash: echo {A}\nparameters: {A: {default: 'x'}}\n", "x.yaml")

    first = load(document, Origin(), Host())
    again = load(document.from_cache(document.to_cache()), Origin(), Host(), checked=True)

    assert first == again


def test_a_second_interpreter_in_run_is_refused_as_in_a_script() -> None:
    text = "parameters: {A: {}}\nrun: bash -c 'ls {A}'\n"

    assert problems(text) == [(2, "run")]
    assert "bash would run code in the value of {A}" in messages(text)
    assert loaded("parameters: {A: {}}\nrun: bash -c 'ls \"$1\"' _ {A}\n").plan is not None


def test_program_that_runs_what_it_reads_is_refused_a_value() -> None:
    assert problems("parameters: {A: {}}\nrun: bash\ninput: echo {A}\n") == [(3, "input")]
    for harmless in ("run: bash\ninput: echo {RAW:A}\n", "run: sed s/a/b/\ninput: '{A}'\n"):
        assert loaded("parameters: {A: {}}\n" + harmless).plan is not None


@pytest.mark.parametrize("stem", ["two words", "-dash", "new\nline", "x" * 200])
def test_file_whose_name_is_no_name_needs_one_inside(stem: str) -> None:
    document = parse(b"bash: echo\n", f"/tools/{stem}.yaml")
    named = parse(b"name: good\nbash: echo\n", f"/tools/{stem}.yaml")

    with pytest.raises(DefinitionInvalid, match="is no name for a tool"):
        load(document, Origin(), Host())
    assert load(named, Origin(), Host()).name == "good"
