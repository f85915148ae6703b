"""Whatever a definition holds, it loads or says what is wrong: nothing else comes out."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.thorough import examples

from tongs.core.errors import DefinitionInvalid, Problem
from tongs.core.tool import Origin
from tongs.formats.yaml import load
from tongs.formats.yaml_steps import Host
from tongs.schema.document import parse

_texts = st.one_of(
    st.sampled_from(
        [
            "echo {A}",
            "echo '{A}' \"{B}\" $(x {RAW:A})",
            "cat <<'EOF'\n{A}\nEOF",
            "awk '{print}' {A}",
            "bash -c {A}",
            'x "',
            "print('{A}', {B})",
            "{one.output}",
        ]
    ),
    st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=30),
)
_scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), _texts)
_anything = st.recursive(
    _scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text("abc", max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
_parameter = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["string", "integer", "number", "boolean", "array", "object"]),
            "default": _scalars,
            "required": st.booleans(),
            "enum": st.lists(_scalars, max_size=2),
            "true-value": _texts,
            "pattern": st.sampled_from(["^a", "(", "a{2,1}"]),
            "items": _anything,
        },
    ),
)
_action: dict[str, st.SearchStrategy[Any]] = {
    "run": _texts,
    "bash": _texts,
    "python": _texts,
    "pwsh": _texts,
    "cmd": _texts,
    "script": _texts,
    "shell": st.sampled_from(["bash", "sh", "default", "zsh {0} {1}", "nothing", "'"]),
    "tool": st.sampled_from(["x", "helper"]),
    "arguments": _anything,
    "input": _texts,
    "environment": st.one_of(_anything, st.dictionaries(st.sampled_from(["X", "Y"]), _texts)),
    "working-directory": _texts,
    "timeout": st.one_of(_scalars, st.integers(1, 10_000)),
}
_definition = st.fixed_dictionaries(
    {"parameters": st.dictionaries(st.sampled_from(["A", "B", "c-d"]), _parameter)},
    optional={
        **_action,
        "name": st.one_of(st.sampled_from(["ok", "a/b", ""]), _anything),
        "tags": st.one_of(st.lists(st.sampled_from(["read", "write", "api"])), _anything),
        "steps": st.lists(
            st.fixed_dictionaries({}, optional={"name": st.just("one"), **_action}), max_size=3
        ),
        "permissions": _anything,
        "limits": _anything,
        "with": st.one_of(_anything, st.just({"tools": [{"name": "helper", "bash": "echo"}]})),
        "uses": _anything,
    },
)


def _problems(data: object) -> list[Problem]:
    """What loading says about a definition; nothing if it loads."""
    # JSON is YAML, so the dump is a definition file.
    text = json.dumps(data, ensure_ascii=False).encode("utf-8")
    try:
        load(parse(text, "x.yaml"), Origin(), Host())
    except DefinitionInvalid as invalid:
        return [*invalid.problems] or [Problem("", "refused without a reason")]
    return []


def _all_have_reasons(problems: list[Problem]) -> bool:
    return all(problem.file == "x.yaml" and problem.message for problem in problems)


@examples(400)
@given(_definition)
def test_definition_loads_or_is_refused_with_reasons(data: dict[str, object]) -> None:
    assert _all_have_reasons(_problems(data))


@examples(100)
@given(_anything)
def test_any_data_loads_or_is_refused_with_reasons(data: object) -> None:
    assert _all_have_reasons(_problems(data))


@examples(150)
@given(_texts, st.dictionaries(st.sampled_from(["A", "B"]), _parameter, min_size=1))
def test_script_with_parameters_loads_or_is_refused_with_reasons(
    text: str, parameters: dict[str, object]
) -> None:
    assert _all_have_reasons(_problems({"bash": text, "parameters": parameters}))
