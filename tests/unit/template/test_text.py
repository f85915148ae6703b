"""Values in plain fields and nested data."""

from typing import Any

import pytest

from tongs.template import text
from tongs.template.values import ABSENT, Slot, ValueRefused

SLOTS = {
    "A": Slot("A"),
    "B": Slot("B"),
    "N": Slot("N", "number"),
    "LIST": Slot("LIST", "array"),
    "FLAG": Slot("FLAG", "boolean"),
    "MODE": Slot("MODE", "boolean", true_value="fast"),
    "get.output": Slot("get.output"),
}


def render(source: str, **values: Any) -> Any:
    return text.compile(source, SLOTS).render(values)


def test_a_value_is_the_text_itself() -> None:
    assert render("a {A} {RAW:A} {{A}} {OTHER} ${A}", A="'$(x)\0{B}") == (
        "a '$(x)\0{B} '$(x)\0{B} {A} {OTHER} ${A}"
    )
    assert text.compile("{get.output}!", SLOTS).render({"get.output": "x\n"}) == "x\n!"


def test_modes_rewrite_the_value() -> None:
    assert render("?q={URL:A}&j={JSON:A}", A='a/"\n') == '?q=a%2F%22%0A&j=a/\\"\\n'


def test_a_whole_absent_field_is_absent_and_a_mixed_one_empty() -> None:
    assert render("{A}") is ABSENT
    assert render("{A}", A=None) is ABSENT
    assert render("{URL:A}") is ABSENT
    assert render("x{A}") == "x"
    assert render("{A}{B}") == ""
    assert render("{A}", A="") == ""
    assert render("") == ""


def test_a_mapped_boolean_is_the_authors_text_or_absent() -> None:
    assert render("{MODE}", MODE=True) == "fast"
    assert render("{MODE}", MODE=False) is ABSENT
    assert render("x{MODE}", MODE=False) == "x"
    assert render("{FLAG}", FLAG=False) == "false"


@pytest.mark.parametrize("value", [5, 2.5, True, None, [1, "a"], {"k": [1]}, "text", ABSENT])
def test_a_whole_field_keeps_its_json_type(value: Any) -> None:
    assert text.compile("{A}", SLOTS).render_json({"A": value}) == value


def test_a_mixed_field_is_text_in_json_too() -> None:
    assert text.compile("n={N}", SLOTS).render_json({"N": 5.0}) == "n=5"
    assert text.compile("{URL:N}", SLOTS).render_json({"N": 5}) == "5"
    assert text.compile("{MODE}", SLOTS).render_json({"MODE": True}) == "fast"
    assert text.compile("{{A}}", SLOTS).render_json({}) == "{A}"


def test_variables_and_placeholders_are_replaced_in_one_pass() -> None:
    template = text.compile("${PATH}:{A}:${A}:${NONE}:$PATH:${1}:{{A}}", SLOTS, environment=True)

    rendered = template.render(
        {"A": "${PATH}{B}"}, {"PATH": "{A}${HOME}", "HOME": "no", "A": "env"}
    )

    assert rendered == "{A}${HOME}:${PATH}{B}:env::$PATH:${1}:{A}"


def test_without_environment_a_variable_stays_as_it_is() -> None:
    assert render("${PATH}") == "${PATH}"


def test_a_nul_cannot_enter_an_environment() -> None:
    with pytest.raises(ValueRefused):
        text.compile("{A}", SLOTS, environment=True).render({"A": "\0"})


def test_a_text_can_be_expanded_from_the_environment_alone() -> None:
    assert text.expand_environment("a${X}b${Y}{A}", {"X": "${Y}"}) == "a${Y}b{A}"


def test_names_in_use_are_known() -> None:
    template = text.compile("{A}{RAW:B}{{N}}", SLOTS)

    assert (template.names, template.raw_names) == (frozenset("AB"), frozenset("B"))


def test_data_keeps_types_and_drops_what_is_absent() -> None:
    data = {
        "a": "{A}",
        "list": ["{A}", "{B}", {"n": "{N}", "b": "{B}"}, 5, None, ("{LIST}",)],
        "{A}": "{B}",
        "mixed": "x{B}",
        "null": "{FLAG}",
    }
    template = text.compile_data(data, SLOTS)

    rendered = template.render({"A": "v", "N": 1, "LIST": [1], "FLAG": None})

    assert rendered == {
        "a": "v", "list": ["v", {"n": 1}, 5, None, [[1]]], "mixed": "x", "null": None,
    }  # fmt: skip
    assert template.names == frozenset({"A", "B", "N", "LIST", "FLAG"})
    assert template.raw_names == frozenset()
    assert text.compile_data("{RAW:A}", SLOTS).raw_names == frozenset("A")


def test_data_that_is_one_absent_placeholder_is_absent() -> None:
    assert text.compile_data("{A}", SLOTS).render({}) is ABSENT
    assert text.compile_data(5, SLOTS).render({}) == 5


def test_half_a_surrogate_pair_fits_into_no_environment() -> None:
    template = text.compile("{A}", {"A": Slot("A")}, environment=True)

    with pytest.raises(ValueRefused, match="surrogate"):
        template.render({"A": "\ud800"})
