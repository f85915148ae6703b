"""No form of a secret leaves a redactor, whole or in pieces."""

from __future__ import annotations

import base64
import json
import urllib.parse
from collections.abc import Callable
from itertools import pairwise

from hypothesis import assume, example, given
from hypothesis import strategies as st
from tests.thorough import examples

from tongs.redaction import REDACTED, Redactor

Encode = Callable[[bytes], bytes]

secrets = st.one_of(
    st.text(min_size=4, max_size=40),
    st.text("abAB01+/=%\\\"' \n-_", min_size=4, max_size=12),
    st.binary(min_size=4, max_size=24)
    .map(lambda data: data.decode("utf-8", "surrogateescape"))
    .filter(lambda text: len(text) >= 4),
)
around = st.binary(max_size=12)


def percent_partly(data: bytes) -> bytes:
    return b"".join(b"%%%02x" % b if n % 2 else bytes([b]) for n, b in enumerate(data))


def json_text(data: bytes) -> bytes:
    return json.dumps(data.decode("utf-8", "surrogateescape"))[1:-1].encode()


ENCODINGS: dict[str, Encode] = {
    "plain": lambda data: data,
    "percent": lambda data: urllib.parse.quote(data, safe="").encode(),
    "form": lambda data: urllib.parse.quote_plus(data).encode(),
    "percent all, upper": lambda data: b"".join(b"%%%02X" % byte for byte in data),
    "percent all, lower": lambda data: b"".join(b"%%%02x" % byte for byte in data),
    "percent, partly": percent_partly,
    "hex": lambda data: data.hex().encode(),
    "HEX": lambda data: data.hex().upper().encode(),
    "hex with colons": lambda data: data.hex(":").encode(),
    "hex with blanks": lambda data: data.hex(" ").encode(),
}


def text_of(secret: str) -> bytes:
    return secret.encode("utf-8", "surrogateescape")


@examples(300)
@given(secrets, around, around, st.sampled_from(sorted(ENCODINGS)))
def test_every_encoding_is_found_wherever_it_stands(
    secret: str, before: bytes, after: bytes, encoding: str
) -> None:
    data = text_of(secret)
    # Mixed spellings of one character of several bytes are nobody's.
    assume(encoding != "percent, partly" or secret.isascii())
    encoded = ENCODINGS[encoding](data)

    left = Redactor([secret]).output(before + encoded + after)

    assert encoded not in left or encoded in REDACTED.encode()
    assert REDACTED.encode() in left


@examples(200)
@given(st.text(min_size=4, max_size=20))
def test_text_escaped_as_in_json_is_found(secret: str) -> None:
    for ascii_only in (True, False):
        written = json.dumps({"a": f"x{secret}y"}, ensure_ascii=ascii_only)

        left = Redactor([secret]).text(written)

        assert json.loads(left) == {"a": f"x{REDACTED}y"}


@examples(400)
@given(
    st.binary(min_size=4, max_size=30).map(lambda b: b.decode("utf-8", "surrogateescape")),
    st.binary(max_size=8),
    st.binary(max_size=8),
    st.sampled_from([base64.b64encode, base64.urlsafe_b64encode]),
    st.booleans(),
    st.sampled_from([0, 5, 76]),
)
@example("abcd", b"", b"", base64.b64encode, False, 0)
@example("a?>~", b"\x00", b"\xff\xff", base64.urlsafe_b64encode, True, 5)
def test_base64_is_found_at_every_offset_with_either_alphabet(
    secret: str, before: bytes, after: bytes, encode: Encode, padded: bool, wrapped: int
) -> None:
    data = text_of(secret)
    # Else there may be more than one of it.
    assume(len(secret) > 3 and len(set(data)) > 3 and not set(data) & set(before + after))
    encoded = encode(before + data + after)
    if not padded:
        encoded = encoded.rstrip(b"=")
    shown = _wrapped(encoded, wrapped)

    left = Redactor([secret]).output(b"> " + shown + b"\n")

    assert left.startswith(b"> ")
    assert REDACTED.encode() in left
    # What is left was encoded from what stands around the secret.
    head, tail = left[2:-1].replace(b"\n", b"").split(REDACTED.encode(), 1)
    assert encoded.startswith(head)
    assert len(head) <= len(before) * 8 // 6
    assert encoded.endswith(tail) or tail.strip(b"=") == b""
    assert len(tail) <= -(-len(after) * 8 // 6) + 2


@examples(400)
@given(
    st.lists(secrets, min_size=1, max_size=3),
    st.lists(st.one_of(st.integers(0, 2), st.binary(max_size=6)), max_size=8),
    st.sampled_from(sorted(ENCODINGS)),
    st.lists(st.integers(0, 200), max_size=8),
)
@example(["aaaa"], [0, 0, b"a", 0, b"aaa"], "plain", [1, 2, 3, 5, 8, 13])
@example(["abcdab"], [b"abcd", 0, b"abcd"], "plain", [4, 6, 9])
def test_in_pieces_it_is_the_same_as_in_one(
    values: list[str], parts: list[int | bytes], encoding: str, cuts: list[int]
) -> None:
    encode = ENCODINGS[encoding]
    whole = b"".join(
        part if isinstance(part, bytes) else encode(text_of(values[part % len(values)]))
        for part in parts
    )
    redactor = Redactor(values)
    places = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]

    stream = redactor.stream()
    shown = b"".join(stream.feed(whole[a:b]) for a, b in pairwise(places)) + stream.end()

    assert shown == redactor.output(whole)


@examples(100)
@given(st.text(max_size=200), st.lists(st.text(max_size=3), max_size=3))
def test_where_no_secret_is_long_enough_nothing_is_touched(text: str, short: list[str]) -> None:
    redactor = Redactor(short)

    assert not redactor
    assert redactor.text(text) is text


@examples(200)
@given(secrets, st.binary(max_size=40))
def test_what_is_shown_early_is_never_taken_back(secret: str, data: bytes) -> None:
    stream = Redactor([secret]).stream()

    shown = b"".join(stream.feed(bytes([byte])) for byte in data)

    assert Redactor([secret]).output(data).startswith(shown)


def _wrapped(data: bytes, width: int) -> bytes:
    if not width:
        return data
    return b"\n".join(data[n : n + width] for n in range(0, len(data), width))
