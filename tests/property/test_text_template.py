"""Plain fields: one pass, exact text, any data."""

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tongs.template import text
from tongs.template.values import ABSENT, Slot

SLOTS = {"A": Slot("A"), "B": Slot("B")}
BLNS: list[str] = json.loads((Path(__file__).parents[1] / "data/blns.json").read_text("utf-8"))

TEXTS = st.text(st.characters(exclude_categories=()) | st.sampled_from("{}$AB"))
DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
)


def test_naughty_strings_pass_unchanged() -> None:
    template = text.compile("<{A}>${X}", SLOTS, environment=True)

    for value in BLNS:
        assert template.render({"A": value}, {"X": value}) == f"<{value}>{value}"


@given(a=TEXTS, b=TEXTS)
def test_a_value_is_never_expanded_again(a: str, b: str) -> None:
    assert text.compile("{A}-{B}-{A}", SLOTS).render({"A": a, "B": b}) == f"{a}-{b}-{a}"


@given(source=TEXTS)
def test_text_without_known_names_stays_as_it_is(source: str) -> None:
    assert text.compile(source, {}).render({}) == source


@given(value=DATA)
def test_a_whole_placeholder_gives_back_any_json(value: Any) -> None:
    assert text.compile("{A}", SLOTS).render_json({"A": value}) == value


@given(data=DATA)
def test_data_without_known_names_stays_as_it_is(data: Any) -> None:
    assert text.compile_data(data, {}).render({}) == data


@given(data=DATA, value=DATA)
def test_rendered_data_holds_no_absent_entry(data: Any, value: Any) -> None:
    rendered = text.compile_data({"data": data, "a": "{A}", "b": "{B}"}, SLOTS).render({"A": value})

    assert rendered["a"] == value
    assert "b" not in rendered
    assert "ABSENT" not in repr(rendered).replace(repr(data), "").replace(repr(value), "")
    assert rendered.get("data", ABSENT) is not ABSENT or data == "{B}"
