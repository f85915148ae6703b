"""Secrets are taken out of everything that leaves a call."""

from __future__ import annotations

import base64

import pytest

from tongs.core import redacting
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import STDERR, STDOUT, Event, OutputArrived, StepEnded, StepStarted
from tongs.core.result import Attachment, ToolResult
from tongs.redaction import REDACTED, Redactor, Stream, Watching

SECRET = "hunter22"
KEY = "-----BEGIN KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END KEY-----\n"


@pytest.mark.parametrize(
    ("asked", "made"),
    [
        (redacting.Redacting, Redactor),
        (redacting.Watching, Watching),
        (redacting.RedactingStream, Stream),
    ],
)
def test_it_does_all_that_is_asked_of_whoever_redacts(asked: type, made: type) -> None:
    names = {name for name in vars(asked) if not name.startswith("_") or name == "__call__"}

    assert names <= set(dir(made))


def test_secret_is_redacted_wherever_it_stands_in_data() -> None:
    data = {"a": ["x hunter22 y"], SECRET: (1, None, SECRET)}

    assert Redactor([SECRET]).data(data) == {
        "a": [f"x {REDACTED} y"],
        REDACTED: [1, None, REDACTED],
    }


def test_longer_secret_is_redacted_before_its_own_part() -> None:
    assert Redactor(["abcd", "abcdefgh"]).text("abcdefgh abcd") == f"{REDACTED} {REDACTED}"


def test_secrets_that_overlap_leave_nothing_of_either() -> None:
    assert Redactor(["abcde", "defgh"]).text("<abcdefgh>") == f"<{REDACTED}>"


def test_secrets_that_overlap_leave_nothing_of_either_in_pieces() -> None:
    stream = Redactor(["abcde", "defgh"]).stream()

    shown = [stream.feed(b"<abcd"), stream.feed(b"e"), stream.feed(b"fgh>"), stream.end()]

    assert b"".join(shown) == f"<{REDACTED}>".encode()


def test_secret_inside_of_one_that_may_still_come_waits_for_it() -> None:
    stream = Redactor(["abcdefgh", "xabcdefghz"]).stream()

    assert stream.feed(b"xabcdefgh") == b""
    assert stream.feed(b"y") == f"x{REDACTED}y".encode()
    assert stream.feed(b"xabcdefgh") + stream.feed(b"z") == REDACTED.encode()


def test_short_line_of_a_secret_is_no_secret() -> None:
    redactor = Redactor([KEY.replace("MIIEvQIBADANBgkq", "abcd")])

    assert redactor.text("abcd hkiG9w0BAQEFAASC") == f"abcd {REDACTED}"


def test_short_secret_would_redact_too_much_and_stays() -> None:
    assert Redactor(["abc", ""]).text("abc") == "abc"


def test_without_secrets_nothing_is_touched() -> None:
    data, result = {"a": ["x"]}, ToolResult(output="x")
    redactor = Redactor([])

    assert redactor.data(data) is data
    assert redactor.result(result) is result
    assert redactor.output(b"x") == b"x"
    assert redactor.stream().feed(b"x") == b"x"
    assert redactor.spans(b"abcdef") == []


def test_one_for_an_inner_call_knows_the_secrets_of_the_outer_one() -> None:
    assert Redactor([SECRET]).also(["swordfish"]).text("hunter22 swordfish") == (
        f"{REDACTED} {REDACTED}"
    )


@pytest.mark.parametrize(
    "shown",
    [
        "Authorization: Basic " + base64.b64encode(b"ann:hunter22").decode(),
        "https://x.test/?token=%68unter22",
        "6875 6e74 6572 3232",
        "68:75:6e:74:65:72:32:32",
        "\\x68\\x75\\x6e\\x74\\x65\\x72\\x32\\x32",
        '{"t": "\\u0068unter22"}',
    ],
)
def test_encoded_secret_is_found(shown: str) -> None:
    assert REDACTED in Redactor([SECRET]).text(shown)


@pytest.mark.parametrize(
    "harmless",
    [
        "hunter 22",
        "HUNTER22",
        "hunter2",
        "git log --format=%H%n",
        base64.b64encode(b"hunter21").decode(),
        "68756e74657232",
    ],
)
def test_what_only_looks_similar_stays(harmless: str) -> None:
    assert Redactor([SECRET]).text(harmless) == harmless


def test_a_line_of_a_secret_with_several_is_a_secret_itself() -> None:
    assert Redactor([KEY]).text("first: MIIEvQIBADANBgkq") == f"first: {REDACTED}"
    assert Redactor([KEY]).text(f"<{KEY}>") == f"<{REDACTED}>"


def test_blanks_around_a_secret_are_no_part_of_it() -> None:
    assert Redactor([f" {SECRET}\n"]).text(f"<{SECRET}>") == f"<{REDACTED}>"


def test_long_secret_is_followed_to_its_end() -> None:
    secret = "".join(chr(ord("a") + number % 26) for number in range(5000))

    assert Redactor([secret]).text(f"<{secret}>") == f"<{REDACTED}>"
    assert Redactor([secret]).text(f"<{secret[:-1]}>") == f"<{secret[:-1]}>"


@pytest.mark.parametrize(
    "secret", ["pass\udcffword", "p\ud800ssword", "pässwörd", "p\x00ss\x1bword"]
)
def test_secret_that_is_no_plain_text_is_found(secret: str) -> None:
    assert Redactor([secret]).text(f"<{secret}>") == f"<{REDACTED}>"


def test_every_part_of_a_result_is_redacted() -> None:
    error = ToolError(ErrorCode.EXECUTION_ERROR, f"no {SECRET}", details={"stderr": SECRET})
    result = ToolResult(
        "c", SECRET, {"v": SECRET}, error, warnings=[SECRET], metadata={"m": SECRET}
    )

    assert Redactor([SECRET]).result(result) == ToolResult(
        "c",
        REDACTED,
        {"v": REDACTED},
        ToolError(ErrorCode.EXECUTION_ERROR, f"no {REDACTED}", details={"stderr": REDACTED}),
        warnings=[REDACTED],
        metadata={"m": REDACTED},
    )


def test_who_watches_sees_each_stream_whole_and_a_step_before_its_end() -> None:
    seen: list[Event] = []
    watching = Redactor([SECRET]).watching(seen.append)
    started = StepStarted("s", 1, 1)
    ended = StepEnded("s", 1, 1, 0, 0.1)

    watching(started)
    watching(OutputArrived(STDOUT, b"a hunt"))
    watching(OutputArrived(STDERR, b"er22 hu"))
    watching(OutputArrived(STDOUT, b"er22 b"))
    watching(ended)
    watching(OutputArrived(STDOUT, b"hunt"))
    watching.end()

    def said(stream: int, events: list[Event]) -> bytes:
        pieces = (e.data for e in events if isinstance(e, OutputArrived) and e.stream == stream)
        return b"".join(pieces)

    before = seen[: seen.index(ended)]
    assert seen[0] is started
    assert said(STDOUT, before) == b"a [redacted] b"
    assert said(STDERR, before) == b"er22 hu"
    assert said(STDOUT, seen[seen.index(ended) :]) == b"hunt"


def test_what_cannot_become_a_secret_is_shown_at_once() -> None:
    stream = Redactor([SECRET]).stream()

    assert stream.feed(b"ready> ") == b"ready> "
    assert stream.feed(b"hunter") == b""
    assert stream.feed(b"!") == b"hunter!"
    assert stream.end() == b""


def test_an_attachment_with_a_secret_is_left_out() -> None:
    kept = Attachment("image", "image/png", b"clean")
    result = ToolResult(attachments=(kept, Attachment("image", "image/png", b"x hunter-two-22 y")))

    clean = Redactor(["hunter-two-22"]).result(result)

    assert clean.attachments == (kept,)
    assert any("attachment" in warning for warning in clean.warnings)
