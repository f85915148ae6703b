"""The linter answers for any text an author could write."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from tests.thorough import examples
from tests.unit.authoring.lint_run import FORMAT

from tongs.authoring.lint import RULES, lint_document
from tongs.schema.document import parse

_PIECES = st.sampled_from(
    [
        *("{A}", "{B}", "{RAW:A}", "{URL:A}", "{{A}}", "{X}", "{one.output}", "{two.stdout}"),
        *("'", '"', "`", "$(", ")", "\\", "\n", " ", "#", "<<EOF\n", "\nEOF\n", "|", ";", "--"),
        *("rm ", "curl ", "https://x.org/", "wttr.in/", "awk ", "if ", "case ", "[[ ", "=", "-x "),
    ]
)
_TEXTS = st.lists(_PIECES, min_size=1, max_size=12).map("".join)
_KEYS = st.sampled_from(
    ["bash", "run", "python", "pwsh", "cmd", "script", "tool", "input", "shell"]
)
_ACTIONS = st.dictionaries(_KEYS, _TEXTS, max_size=3)
_ENTRIES = st.sampled_from(
    [
        None,
        {"type": "boolean"},
        {"type": ["string", "null"]},
        {"pattern": "[", "description": "x"},
        {"enum": ["-a"]},
        {"type": "array"},
    ]
)


@examples(400)
@given(
    action=_ACTIONS,
    steps=st.lists(_ACTIONS, max_size=3),
    entry=_ENTRIES,
    arguments=st.one_of(st.none(), st.lists(_TEXTS, max_size=2)),
    timeout=st.integers(1, 10**7),
)
def test_every_definition_gets_an_answer(
    action: dict[str, str],
    steps: list[dict[str, str]],
    entry: dict[str, object] | None,
    arguments: list[str] | None,
    timeout: int,
) -> None:
    data: dict[str, object] = {**action, "parameters": {"A": entry, "B": None}, "timeout": timeout}
    if steps:
        data["steps"] = [{"name": "one", **steps[0]}, *steps[1:]]
    if arguments is not None:
        data["arguments"] = arguments
    # JSON is YAML, whatever stands in its strings.
    document = parse(json.dumps(data).encode(), "t.yaml")

    found = lint_document(document, FORMAT)

    assert {problem.rule for problem in found} <= set(RULES)
    assert all(problem.hint for problem in found if problem.rule != "schema")
