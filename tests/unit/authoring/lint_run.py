"""Run the linter over a text with the real YAML shape."""

from __future__ import annotations

from textwrap import dedent

from tongs.authoring.lint import Format, lint_document
from tongs.core.errors import Problem
from tongs.core.tool import Origin
from tongs.formats import yaml, yaml_parameters
from tongs.formats.yaml_steps import Host
from tongs.schema.document import parse

FORMAT = Format(
    load=lambda document: yaml.load(document, Origin(format="yaml"), Host()),
    slots=yaml_parameters.slots,
    inputs=yaml_parameters.input_schema,
)


def problems(text: str) -> list[Problem]:
    return lint_document(parse(dedent(text).lstrip("\n").encode(), "t.yaml"), FORMAT)


def findings(text: str) -> list[tuple[int, str, str]]:
    """Line, severity and rule of everything that is found."""
    return [(p.line, p.severity.value, p.rule) for p in problems(text)]


def tool(body: str, **types: str) -> str:
    """A definition that is faultless but for `body`; parameters by name and type."""
    lines = ["description: Does it.", "tags: [run]", body]
    lines += ["parameters:"] if types else []
    for name, type_ in types.items():
        keywords = f"type: {type_}" if ":" not in type_ else type_
        lines.append(f"  {name}: {{description: Some value., {keywords}}}")
    return "\n".join(lines) + "\n"


def rules(body: str, **types: str) -> list[str]:
    """The rules that `body` breaks, in the order of its lines."""
    return [problem.rule for problem in problems(tool(body, **types))]
