"""No value of a caller becomes code in the command of a manifest."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tongs.core.errors import DefinitionInvalid
from tongs.core.tool import Origin, Tool
from tongs.formats import manifest
from tongs.schema.document import parse
from tongs.template import dollar
from tongs.template.values import ValueRefused

PATH = "/p/.tongs/tools/t/tool.yml"
INPUTS = {
    "text": {"type": "string"},
    "words": {"type": "array"},
    "any": {},
    "count": {"type": "integer"},
    "mode": {"enum": ["a", "b"]},
}


def loaded(command: dict[str, Any], *, checked: bool = False) -> Tool:
    data = {
        "name": "t",
        "description": "d",
        "kind": "command",
        "inputs": {"schema": {"type": "object", "properties": INPUTS}},
        "exec": {"command": command},
        "permissions": {"secrets": {"TOKEN": {"type": "string"}}},
    }
    document = parse(json.dumps(data, indent=1).encode(), PATH)
    origin = Origin(path=PATH, format="manifest", project="/p")
    return manifest.load(document, origin, checked=checked)


@pytest.mark.parametrize(
    ("command", "rule", "field"),
    [
        ({"entrypoint": "bash", "args": ["-c", "ls ${text}"]}, "second-interpreter", "args[1]"),
        ({"entrypoint": "/bin/sh", "args": ["-c", "${text}"]}, "second-interpreter", "args[1]"),
        ({"entrypoint": "jq", "args": ["-n", "${any}"]}, "second-interpreter", "args[1]"),
        ({"entrypoint": "env", "args": ["${words}"]}, "program-name", "args[0]"),
        ({"entrypoint": "bash", "stdin": "echo ${text}"}, "second-interpreter", "stdin"),
        ({"entrypoint": "python3", "stdin": {"a": ["${text}"]}}, "second-interpreter", "stdin"),
        ({"entrypoint": "ls", "env": {"PATH": "${text}"}}, "environment-from-caller", "env.PATH"),
        (
            {"entrypoint": "ls", "env": {"LD_PRELOAD": "/x/${any}"}},
            "environment-from-caller",
            "env.LD_PRELOAD",
        ),
        ({"entrypoint": "${text}"}, "program-name", "entrypoint"),
    ],
)
def test_place_where_a_value_would_be_code_is_refused(
    command: dict[str, Any], rule: str, field: str
) -> None:
    with pytest.raises(DefinitionInvalid) as invalid:
        loaded(command)

    (problem,) = invalid.value.problems
    assert (problem.rule, problem.field) == (rule, f"exec.command.{field}")
    assert problem.line
    assert problem.hint


@pytest.mark.parametrize(
    "command",
    [
        {"entrypoint": "bash", "args": ["-c", 'echo "$1"', "_", "${text}"]},
        {"entrypoint": "bash", "args": ["-c", "echo ${count} ${mode} ${TOKEN} ${tool_dir}"]},
        {"entrypoint": "sed", "args": ["s/a/b/"], "stdin": "${text}"},
        {"entrypoint": "jq", "args": ["."], "stdin": {"a": "${any}"}},
        {"entrypoint": "git", "env": {"GIT_TOKEN": "${TOKEN}", "GIT_PAGER": "cat", "X": "${text}"}},
    ],
)
def test_value_that_stays_data_is_accepted(command: dict[str, Any]) -> None:
    assert loaded(command).name == "t"


def test_without_the_check_the_value_runs(tmp_path: Path) -> None:
    """The twin: a manifest that nobody has checked hands the value to bash as its program."""
    plan = loaded({"entrypoint": "bash", "args": ["-c", "ls ${text}"]}, checked=True).plan
    planted = tmp_path / "planted"

    words = dollar.words(plan.args, {"text": f"$(touch {planted})"})
    subprocess.run([plan.entrypoint, *words], check=False, capture_output=True, cwd=tmp_path)

    assert planted.exists()


def test_value_that_would_pass_for_an_option_that_runs_code_is_refused() -> None:
    plan = loaded({"entrypoint": "tar", "args": ["-xf", "a.tar", "${text}", "${words}"]}).plan

    plan.line.refuse_options({"text": "a", "words": ["b"]})
    with pytest.raises(ValueRefused, match="text may not begin with"):
        plan.line.refuse_options({"text": "--to-command=id"})
    with pytest.raises(ValueRefused, match="words may not begin with"):
        plan.line.refuse_options({"text": "a", "words": ["b", "--to-command=id"]})


def test_own_program_takes_what_it_is_given(tmp_path: Path) -> None:
    """Nobody knows what a script of the author's does, whatever it is called."""
    script = tmp_path / "scripts/find"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    data = {
        "name": "t",
        "description": "d",
        "kind": "command",
        "inputs": {"schema": {"type": "object", "properties": INPUTS}},
        "exec": {"command": {"entrypoint": "scripts/find", "args": ["-exec", "sh", "${text}"]}},
    }
    path = str(tmp_path / ".tongs/tools/t/tool.yml")
    document = parse(json.dumps(data).encode(), path)

    tool = manifest.load(document, Origin(path=path, format="manifest", project=str(tmp_path)))

    assert tool.plan.line is None


def test_directory_of_the_tool_in_the_entrypoint_is_answered_with_its_path() -> None:
    with pytest.raises(DefinitionInvalid) as invalid:
        loaded({"entrypoint": "${tool_dir}/go.sh"})

    (problem,) = invalid.value.problems
    assert problem.hint == "write `.tongs/tools/t/go.sh`"


@pytest.mark.parametrize("kind", [None, 7, {}, ["array", 5]])
def test_input_whose_type_is_none_is_told_and_nothing_breaks(kind: Any) -> None:
    data = {
        "name": "t",
        "description": "d",
        "kind": "command",
        "inputs": {"schema": {"type": "object", "properties": {"x": {"type": kind}}}},
        "exec": {"command": {"entrypoint": "bash", "args": ["-c", "${x}"]}},
    }

    with pytest.raises(DefinitionInvalid, match=r"inputs\.schema\.properties\.x\.type"):
        manifest.load(parse(json.dumps(data).encode(), PATH), Origin(path=PATH, project="/p"))
