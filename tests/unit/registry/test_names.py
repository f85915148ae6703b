"""Names for model APIs, and back."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tongs.registry.names import ModelNames

FITS = re.compile(r"[A-Za-z0-9_-]{1,64}")


def test_name_that_fits_stays() -> None:
    names = ModelNames(["weather-lookup", "a_b"])

    assert names.to_model("weather-lookup") == "weather-lookup"


def test_character_that_does_not_fit_becomes_a_line() -> None:
    names = ModelNames(["a.b"])

    assert (names.to_model("a.b"), names.from_model("a_b")) == ("a_b", "a.b")


def test_two_names_that_would_be_the_same_have_hashes_of_their_own() -> None:
    names = ModelNames(["a.b", "a:b", "a_b"])

    assert names.to_model("a_b") == "a_b"
    assert names.to_model("a.b") == "a_b_2e7336dc"
    assert names.to_model("a:b") == "a_b_6783a31e"


def test_long_name_keeps_its_beginning_and_a_hash() -> None:
    long = "tool" * 30
    model = ModelNames([long]).to_model(long)

    assert (len(model), model.startswith("tooltool")) == (64, True)
    assert ModelNames([long]).from_model(model) == long


def test_name_from_a_shorter_list_is_known_in_a_longer_one() -> None:
    """A model may have heard `a_b` before a tool came that made hashes needed."""
    names = ModelNames(["a.b", "c"])

    assert names.from_model(ModelNames(["a.b", "a:b"]).to_model("a.b")) == "a.b"
    assert names.from_model("nothing") == "nothing"


@given(st.lists(st.text(min_size=1), unique=True, max_size=8), st.randoms())
def test_every_name_fits_is_known_again_and_depends_on_no_order(names: list[str], random) -> None:
    made = ModelNames(names)
    shuffled = [*names]
    random.shuffle(shuffled)
    again = ModelNames(shuffled)

    called = [made.to_model(name) for name in names]

    assert all(FITS.fullmatch(model) for model in called)
    assert len(set(called)) == len(names)
    assert called == [again.to_model(name) for name in names]
    assert [made.from_model(model) for model in called] == names
