"""Whatever a value holds, it stays where its author put it."""

from __future__ import annotations

from urllib.parse import parse_qsl, unquote, urlsplit

from hypothesis import given
from hypothesis import strategies as st

from tongs.template import dollar, url
from tongs.template.values import ValueRefused

_values = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.text("./\\%2eE?#&=;:@ \r\n\0a"),
)
_SEGMENTS = url.pieces(dollar.compile("/v1/${a}/x-${b}/end", {"a", "b"}), "/")


@given(_values, _values)
def test_value_is_one_segment_of_the_path_or_refused(a: str, b: str) -> None:
    try:
        path = url.path(_SEGMENTS, {"a": a, "b": b})
    except ValueRefused:
        return

    assert path.isascii()
    assert path.isprintable()
    assert [unquote(segment) for segment in path.split("/")] == ["", "v1", a, f"x-{b}", "end"]
    whole = urlsplit(f"https://api.example.org{path}")
    assert (whole.netloc, whole.path, whole.query) == ("api.example.org", path, "")
    assert not {".", ".."} & {unquote(piece) for piece in path.replace("%2F", "/").split("/")}


@given(st.lists(st.tuples(_values.filter(bool), _values)))
def test_query_gives_back_what_was_put_in(found: list[tuple[str, str]]) -> None:
    assert parse_qsl(url.form(found), keep_blank_values=True) == found


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_url_of_a_stranger_is_refused_or_has_one_address(text: str) -> None:
    for written in (text, f"https://{text}", f"https://api.example.org{text}"):
        try:
            address, rest = url.divided(written)
        except ValueError:
            continue
        again, same = url.divided(address.origin + rest)
        assert (again, same) == (address, rest)
        assert url.authors(rest).isascii()
