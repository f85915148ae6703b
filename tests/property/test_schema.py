"""The quick answer never contradicts the engine, and a project file never loosens anything."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import jsonschema_rs
from hypothesis import example, given
from hypothesis import strategies as st
from tests.thorough import examples

from tongs.config.places import find_places
from tongs.config.settings import Settings, load_settings
from tongs.core.permissions import ENFORCEMENTS, Limits
from tongs.schema.check import SchemaInvalid, check_schema, validated, violations
from tongs.schema.coerce import coerce
from tongs.schema.document import Document
from tongs.schema.quick import certainly_valid

NAMES = st.sampled_from(["a", "b", "c"])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from([0.0, -0.0, 1.0, 1.5, 1e300, 10**30, float("nan"), float("inf")])
    | st.sampled_from(["", "a", "1", "true", "é", "\ud800"])
)
TYPES = st.sampled_from("string number integer boolean array object null".split())
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


def schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES | st.lists(TYPES, min_size=1, max_size=2, unique=True),
            "properties": st.dictionaries(NAMES, inner, max_size=3),
            "required": st.lists(NAMES, max_size=2, unique=True),
            "additionalProperties": st.booleans() | inner,
            "items": inner,
            "enum": st.lists(SCALARS.filter(_is_json), min_size=1, max_size=3),
            "description": st.just("x"),
            "default": SCALARS.filter(_is_json),
            "minimum": st.integers(-1, 1),
        },
    )


def _is_json(value: Any) -> bool:
    return violations({}, value) == []


SCHEMAS = st.recursive(schemas(st.just({})), schemas, max_leaves=5)


@examples(400)
@given(SCHEMAS, VALUES)
@example({"type": "integer"}, True)
@example({"type": "integer"}, 1.0)
@example({"type": "number"}, True)
@example({"enum": [1]}, True)
@example({"enum": [1]}, 1.0)
@example({"enum": [None]}, float("nan"))
@example({"type": "null"}, float("nan"))
@example({"type": "object"}, {1: 2})
@example({"items": {}}, [[b"x"]])
def test_certainly_valid_means_that_the_engine_accepts(schema: Any, value: Any) -> None:
    if certainly_valid(schema, value):
        assert jsonschema_rs.Draft202012Validator(schema).is_valid(value)
        assert violations(schema, value) == []


@examples(400)
@given(SCHEMAS, VALUES)
def test_violations_are_empty_exactly_where_the_engine_accepts_json(
    schema: Any, value: Any
) -> None:
    found = violations(schema, value)

    if any(violation.keyword == "json" for violation in found):
        return
    assert (found == []) is jsonschema_rs.Draft202012Validator(schema).is_valid(value)
    masked = violations(schema, value, mask=True)
    assert [violation.path for violation in masked] == [violation.path for violation in found]


ANYTHING = st.recursive(
    SCALARS | st.binary(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=2) | st.integers() | st.none(), inner, max_size=3)
    ),
    max_leaves=6,
)


@examples(500)
@given(SCHEMAS, ANYTHING)
def test_no_value_makes_the_check_crash(schema: Any, value: Any) -> None:
    for violation in violations(schema, value):
        assert str(violation)


@examples(500)
@given(ANYTHING)
def test_no_schema_makes_the_check_crash(schema: Any) -> None:
    with suppress(SchemaInvalid):
        check_schema(schema)


@examples(500)
@given(SCHEMAS, st.text(max_size=10) | st.lists(st.text(max_size=5), max_size=3))
def test_coerced_text_is_text_or_fits_the_type_better(schema: Any, text: str | list[str]) -> None:
    value = coerce(text, schema)

    untouched = text[0] if isinstance(text, list) and len(text) == 1 else text
    only_type = {"type": schema["type"]} if "type" in schema else {}
    assert value == untouched or jsonschema_rs.Draft202012Validator(only_type).is_valid(value)


@examples(500)
@given(st.dictionaries(NAMES, VALUES.filter(lambda v: violations({}, v) == []), max_size=3))
def test_defaults_never_change_what_was_given(given_value: dict[str, Any]) -> None:
    schema = {"properties": {name: {"default": "d"} for name in "abc"}}
    before = repr(given_value)

    filled = validated(schema, given_value)

    assert filled == {**dict.fromkeys("abc", "d"), **given_value}
    assert repr(given_value) == before


SELECTORS = st.lists(st.sampled_from(["*", "tool:read", "x", "y"]), max_size=2)
SIZES = st.sampled_from([1, "1MiB", "3GiB", "512MiB"])
LIMITS = st.fixed_dictionaries(
    {},
    optional={
        "memory": SIZES,
        "processes": st.integers(1, 999),
        "cpu": st.sampled_from(["1s", "1h", 5]),
        "file_size": SIZES,
        "open_files": st.integers(8, 9999),
        "output": SIZES,
    },
)
CONFIGS = st.fixed_dictionaries(
    {},
    optional={
        "security": st.fixed_dictionaries(
            {},
            optional={
                "enforcement": st.sampled_from(ENFORCEMENTS),
                "auto_approve": SELECTORS,
                "auto_deny": SELECTORS,
            },
        ),
        "interpreters": st.dictionaries(st.sampled_from(["python", "bash"]), st.just("/x")),
        "limits": LIMITS,
        "profiles": st.dictionaries(NAMES, st.just({})),
        "tools": st.dictionaries(
            NAMES,
            st.fixed_dictionaries(
                {},
                optional={
                    "limits": LIMITS,
                    "timeout": st.sampled_from(["1s", "1h", 3]),
                    "envs": st.just({"A": None}),
                    "permissions": st.just({"network": True}),
                },
            ),
        ),
    },
)


def loaded(user: Any, project: Any | None, *, trusted: bool = False) -> Settings:
    with tempfile.TemporaryDirectory() as name:
        home = Path(name, "home")
        contents = {home / ".tongs" / "config.yml": user}
        (home / "app" / ".tongs").mkdir(parents=True)
        if project is not None:
            contents[home / "app" / ".tongs" / "config.yml"] = project
        for path in contents:
            path.parent.mkdir(exist_ok=True)
            path.touch()
        places = find_places(str(home / "app"), {"HOME": str(home), "TONGS_GLOBAL": name})
        by_path = {str(path.resolve()): data for path, data in contents.items()}

        def parse(path: str) -> Document:
            return Document(by_path[path], _lines(by_path[path]), path)

        return load_settings(places, parse, project_trusted=trusted)


def _lines(data: Any) -> Any:
    if isinstance(data, dict):
        return [1, *map(_lines, data.values())]
    return [1, *map(_lines, data)] if isinstance(data, list) else 1


def within(tight: Limits, loose: Limits) -> bool:
    return all(
        getattr(loose, key) is None or (getattr(tight, key) or 0) <= getattr(loose, key)
        for key in Limits.__slots__
    )


@examples(300)
@given(CONFIGS, CONFIGS, LIMITS.map(lambda limits: dict.fromkeys(limits, 7)))
def test_a_project_file_never_loosens_anything(user: Any, project: Any, own: Any) -> None:
    before, after = loaded(user, None), loaded(user, project)

    assert after.auto_approve == before.auto_approve
    assert set(after.auto_deny) >= set(before.auto_deny)
    assert after.interpreters == before.interpreters
    assert after.custom_tools == before.custom_tools
    assert set(before.ceilings) <= set(after.ceilings)
    assert after.tools == before.tools
    assert ENFORCEMENTS.index(after.enforcement) >= ENFORCEMENTS.index(before.enforcement)
    assert within(after.limits, before.limits)
    for name in ("a", "b", "other"):
        assert within(after.limits_for(name, own), before.limits_for(name, own))
        assert (after.timeout_for(name, 60.0) or 0) <= (before.timeout_for(name, 60.0) or 0)


@examples(100)
@given(CONFIGS, CONFIGS)
def test_even_a_trusted_project_file_never_weakens_the_enforcement(user: Any, project: Any) -> None:
    before, after = loaded(user, None), loaded(user, project, trusted=True)

    assert ENFORCEMENTS.index(after.enforcement) >= ENFORCEMENTS.index(before.enforcement)
