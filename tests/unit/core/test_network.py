"""Entries of a host list are compared by the hosts and ports they mean."""

from __future__ import annotations

import pytest

from tongs.core.network import Network, joined, meet, within


@pytest.mark.parametrize(
    ("mine", "ceiling"),
    [
        ("api.example.org", "api.example.org"),
        ("API.example.org.", "api.example.org"),
        ("api.example.org", "*.example.org"),
        ("a.b.example.org", "*.example.org"),
        ("*.b.example.org", "*.example.org"),
        ("api.example.org:443", "api.example.org"),
        ("api.example.org:443", "*.example.org"),
        ("api.example.org:8443", "*.example.org:*"),
        ("api.example.org", "api.example.org:*"),
        ("192.0.2.7:80", "192.0.2.7"),
        ("[2001:db8::7]:443", "[2001:db8::7]"),
        ("::1", "::1"),
    ],
)
def test_entry_lies_within_a_wider_one(mine: str, ceiling: str) -> None:
    assert within((mine,), (ceiling,))


@pytest.mark.parametrize(
    ("mine", "ceiling"),
    [
        ("example.org", "*.example.org"),
        ("*.example.org", "example.org"),
        ("*.example.org", "a.example.org"),
        ("badexample.org", "*.example.org"),
        ("api.example.org", "api.example.org:443"),
        ("api.example.org:*", "api.example.org"),
        ("api.example.org:8443", "api.example.org"),
        ("10.0.0.1", "*.0.0.1"),
        ("[2001:db8::7]", "[2001:db8::8]"),
        ("::1", "::"),
        ("a:99999999", "a:*"),
    ],
)
def test_entry_goes_beyond_another_one(mine: str, ceiling: str) -> None:
    assert not within((mine,), (ceiling,))


def test_several_entries_cover_together_what_none_covers_alone() -> None:
    assert within(("h",), ("h:80", "h:443"))
    assert not within(("h",), ("h:80",))


def test_nothing_is_within_everything_and_everything_within_nothing_but_itself() -> None:
    assert within((), False)
    assert within(False, ("h",))
    assert within(("h",), True)
    assert within(True, True)
    assert not within(True, ("h",))
    assert not within(("h",), False)


@pytest.mark.parametrize(
    ("left", "right", "both"),
    [
        (True, True, True),
        (True, False, False),
        (True, (), False),
        ((), ("h",), False),
        (True, ("H", "h:443"), ("h",)),
        (("b", "a"), True, ("a", "b")),
        (("a",), ("b",), False),
        (("*.example.org",), ("api.example.org", "other.org"), ("api.example.org",)),
        (("*.a.org:8080",), ("*.b.a.org:*",), ("*.b.a.org:8080",)),
        (("h:*",), ("h:443", "h:80", "h:9"), ("h", "h:9")),
        (("h",), ("h:443", "h:22"), ("h:443",)),
        (("h:*", "h"), ("h:*",), ("h:*",)),
    ],
)
def test_meet_is_what_both_reach(left: Network, right: Network, both: Network) -> None:
    assert meet(left, right) == both
    assert meet(right, left) == both


def test_joined_lists_keep_the_words_of_both() -> None:
    assert joined(("b",), ("a", "b")) == ("b", "a")
    assert joined(False, ("a",)) == ("a",)
    assert joined((), False) is False
    assert joined(True, ("a",)) is True
    assert joined(("a",), True) is True
