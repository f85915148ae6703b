"""Packets between Tongs and the processes it starts."""

from __future__ import annotations

import _socket
from collections.abc import Iterator

import pytest

from tongs.sandbox import packets


@pytest.fixture
def ends() -> Iterator[tuple[_socket.socket, _socket.socket]]:
    both = packets.pair()
    yield both
    for end in both:
        end.close()


def test_the_last_words_of_an_end_that_closed_with_something_unread_arrive(
    ends: tuple[_socket.socket, _socket.socket],
) -> None:
    ours, theirs = ends
    packets.send(theirs, b"F namespaces 1")
    packets.send(ours, b"a request that nobody will read")

    theirs.close()

    assert packets.receive(ours) == (b"F namespaces 1", [])
    assert packets.receive(ours) == (None, [])


def test_they_can_be_looked_at_before_they_are_taken(
    ends: tuple[_socket.socket, _socket.socket],
) -> None:
    ours, theirs = ends
    packets.send(theirs, b"last words")
    packets.send(ours, b"unread")

    theirs.close()

    assert packets.peek(ours) == b"last words"
    assert packets.receive(ours) == (b"last words", [])
    assert packets.peek(ours) is None


@pytest.mark.parametrize("size", [0, 1, packets.INLINE, packets.INLINE + 1, 1_000_000])
def test_data_of_any_size_stays_whole(
    ends: tuple[_socket.socket, _socket.socket], size: int
) -> None:
    ours, theirs = ends

    packets.send(ours, b"x" * size)

    assert packets.receive(theirs) == (b"x" * size, [])
