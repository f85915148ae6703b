"""URLs are taken apart strictly and put together so that a value stays a value."""

from __future__ import annotations

import pytest

from tongs.template import dollar, url
from tongs.template.url import Address
from tongs.template.values import ABSENT, ValueRefused

NAMES = ("a", "b")


def compiled(text: str) -> dollar.DollarText:
    return dollar.compile(text, NAMES)


@pytest.mark.parametrize(
    ("written", "address", "rest"),
    [
        ("https://api.example.org", Address("https", "api.example.org", 443), ""),
        ("HTTP://API.Example.ORG./x?y#z", Address("http", "api.example.org", 80), "/x?y"),
        ("https://bücher.example:8443/", Address("https", "xn--bcher-kva.example", 8443), "/"),
        ("http://[2001:DB8::7]/", Address("http", "2001:db8::7", 80), "/"),
        ("http://[::1]:8080?q", Address("http", "::1", 8080), "?q"),
    ],
)
def test_url_has_one_address(written: str, address: Address, rest: str) -> None:
    assert url.divided(written) == (address, rest)


@pytest.mark.parametrize(
    "written",
    [
        "api.example.org/x",
        "//api.example.org/x",
        "ftp://api.example.org/",
        "file:///etc/passwd",
        "https:/api.example.org",
        "https://",
        "https://user@api.example.org/",
        "https://user:pw@api.example.org/",
        "https://evil.example\\@api.example.org/",
        "https://api.example.org\\x/",
        "https://api.example.org:/",
        "https://api.example.org:0/",
        "https://api.example.org:99999/",
        "https://api.example.org:80x/",
        "https://[::1/",
        "https://[::1]x/",
        "https://[127.0.0.1]/",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://0x7f.1/",
        "https://0177.0.0.1/",
        "https://127.1/",
        "https://127.0.0.1.:x/",
        "https://a b.example/",
        "https://a.example/\n",
        "https://straße.example/",
        "https://a..example/",
    ],
)
def test_url_that_could_be_read_in_two_ways_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        url.divided(written)


def test_address_names_its_port_where_that_is_not_implied() -> None:
    assert Address("https", "a.example", 443).origin == "https://a.example"
    assert Address("https", "a.example", 80).origin == "https://a.example:80"
    assert Address("http", "::1", 8080).authority == "[::1]:8080"
    assert Address("http", "a.example", 443).entry == "a.example"
    assert Address("http", "a.example", 8080).entry == "a.example:8080"


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("https://a.example", "https://a.example/x", True),
        ("http://a.example", "https://a.example", True),
        ("https://a.example", "http://a.example", False),
        ("https://a.example", "https://b.a.example", False),
        ("https://a.example", "https://a.example:444", False),
        ("http://a.example:8080", "https://a.example", False),
    ],
)
def test_secrets_stay_with_their_place(before: str, after: str, same: bool) -> None:
    assert url.divided(after)[0].keeps_secrets_of(url.divided(before)[0]) is same


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("x", "/v1/x/y"),
        ("a/b?c#d", "/v1/a%2Fb%3Fc%23d/y"),
        ("ü %2e", "/v1/%C3%BC%20%252e/y"),
        (7, "/v1/7/y"),
        (True, "/v1/true/y"),
        ("...", "/v1/.../y"),
        ("\ud800", "/v1/%ED%A0%80/y"),
    ],
)
def test_value_stays_one_segment(value: object, path: str) -> None:
    segments = url.pieces(compiled("/v1/${a}/y"), "/")

    assert url.path(segments, {"a": value}) == path


@pytest.mark.parametrize("value", [".", "..", "../x", "x/..", "x\\..\\y", "./x", "", None, ABSENT])
def test_value_that_would_lead_elsewhere_is_refused(value: object) -> None:
    segments = url.pieces(compiled("/v1/${a}/y"), "/")

    with pytest.raises(ValueRefused) as refused:
        url.path(segments, {"a": value})

    assert refused.value.name == "a"


def test_dots_that_only_come_together_are_refused() -> None:
    with pytest.raises(ValueRefused):
        url.path(url.pieces(compiled("/.${a}"), "/"), {"a": "."})
    with pytest.raises(ValueRefused):
        url.path(url.pieces(compiled("/${a}${b}"), "/"), {"a": ".", "b": "."})


def test_authors_text_keeps_what_its_author_encoded() -> None:
    assert url.authors("/a%20b/c:d;e=f@g/100%/ü") == "/a%20b/c:d;e=f@g/100%25/%C3%BC"


def test_query_repeats_arrays_and_leaves_out_what_is_absent() -> None:
    query = (
        ("list", compiled("${a}")),
        ("gone", compiled("${b}")),
        ("part", compiled("x-${b}")),
        ("both", compiled("${a}${b}")),
        ("several", [1, compiled("${b}"), "two"]),
        ("null", None),
        ("flag", True),
    )

    found = url.pairs(query, {"a": ["x", 1.0], "b": ABSENT})

    assert found == [
        ("list", "x"),
        ("list", 1.0),
        ("both", "x 1"),
        ("several", 1),
        ("several", "two"),
        ("flag", True),
    ]
    assert url.form([("a b", "c&d"), ("n", 1.0)]) == "a%20b=c%26d&n=1"


def test_text_is_cut_only_where_its_author_cut_it() -> None:
    found = url.pieces(compiled("a&${a}=1&&${b}"), "&")

    assert found == [compiled("a"), compiled("${a}=1"), dollar.DollarText(()), compiled("${b}")]
    assert url.rendered(found[1], {"a": "x&y"}) == "x%26y=1"
