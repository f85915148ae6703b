"""What is held of output, and what is counted."""

from __future__ import annotations

from tongs.core.execution import STDERR, STDOUT, SpoolWriter
from tongs.redaction import Redactor
from tongs.sandbox.capture import Capture
from tongs.store.spool import Spool, SpoolLimits


def nowhere() -> SpoolWriter | None:
    return None


def test_streams_are_held_apart_and_together() -> None:
    capture = Capture(100, nowhere)

    for stream, data in ((STDOUT, b"a"), (STDERR, b"b"), (STDOUT, b"c")):
        capture.add(stream, data)

    assert (capture.stdout, capture.stderr, capture.output) == (b"ac", b"b", b"abc")


def test_one_silent_stream_costs_no_second_copy() -> None:
    for stream in (STDOUT, STDERR):
        capture = Capture(100, nowhere)

        capture.add(stream, b"alone")

        assert capture.output == b"alone"
        assert capture._both is None


def test_each_stream_is_held_up_to_the_limit() -> None:
    capture = Capture(3, nowhere)

    capture.add(STDOUT, b"ab")
    capture.add(STDERR, b"1234")
    capture.add(STDOUT, b"cde")
    capture.add(STDOUT, b"f")
    capture.close()

    assert (capture.stdout, capture.stderr, capture.output) == (b"abc", b"123", b"ab123c")
    assert (capture.stdout_size, capture.stderr_size) == (6, 4)
    assert (capture.spool, capture.spooled, capture.lost) == (None, 0, 4)


def test_exactly_the_limit_opens_no_spool() -> None:
    def fail() -> SpoolWriter | None:
        raise AssertionError("opened")

    capture = Capture(3, fail)

    capture.add(STDOUT, b"abc")

    assert capture.lost == 0


def test_beyond_the_limit_the_spool_has_the_whole_of_both(tmp_path: object) -> None:
    spool = Spool(str(tmp_path))
    capture = Capture(3, lambda: spool.open("call"))

    capture.add(STDERR, b"12")
    capture.add(STDOUT, b"abcd")
    capture.add(STDERR, b"3")
    capture.add(STDOUT, b"e")
    capture.close()

    assert capture.spool is not None
    assert spool.read(capture.spool, 0, 100, STDOUT) == b"abcde"
    assert spool.read(capture.spool, 0, 100, STDERR) == b"123"
    assert (capture.spooled, capture.lost) == (8, 0)


def test_beyond_the_spool_the_rest_is_counted(tmp_path: object) -> None:
    spool = Spool(str(tmp_path), SpoolLimits(call=10))
    capture = Capture(3, lambda: spool.open("call"))

    capture.add(STDOUT, b"x" * 8)
    capture.add(STDOUT, b"y" * 8)
    capture.add(STDERR, b"ab")
    capture.close()

    assert (capture.spooled, capture.lost) == (10, 6)
    assert capture.stderr == b"ab"


def test_what_is_spooled_has_no_secret_and_nothing_counts_as_lost(tmp_path: object) -> None:
    spool = Spool(str(tmp_path))
    capture = Capture(8, lambda: spool.open("call"), Redactor(["hunter22"]))

    for piece in (b"12345678", b"9 hunt", b"er22", b" end"):
        capture.add(STDOUT, piece)
    capture.add(STDERR, b"hunter")
    capture.close()

    assert capture.spool is not None
    assert spool.read(capture.spool, 0, 99) == b"123456789 [redacted] end"
    assert spool.read(capture.spool, 0, 99, STDERR) == b"hunter"
    assert capture.lost == 0


def test_full_spool_of_redacted_output_tells_what_is_lost(tmp_path: object) -> None:
    spool = Spool(str(tmp_path), SpoolLimits(call=4))
    capture = Capture(2, lambda: spool.open("call"), Redactor(["hunter22"]))

    capture.add(STDOUT, b"0123456789")
    capture.close()

    assert capture.lost == 6


def test_output_that_was_cut_does_not_end_in_a_part_of_a_secret() -> None:
    whole, cut = (Capture(8, nowhere, Redactor(["hunter22"])) for _ in range(2))

    whole.add(STDOUT, b"a hunter")
    cut.add(STDERR, b"b")
    cut.add(STDOUT, b"a hunter22")

    assert (whole.stdout, whole.output) == (b"a hunter", b"a hunter")
    assert (cut.stdout, cut.stderr, cut.output) == (b"a ", b"b", b"ba ")
