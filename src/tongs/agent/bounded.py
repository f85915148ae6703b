"""How much of a server's answer is taken in: it may send without an end, or in a small parcel."""

# ruff: noqa: PLC0415 - an extra, loaded once somebody speaks to a model

from __future__ import annotations

from collections.abc import AsyncIterator

from tongs.core.annotations import TYPE_CHECKING
from tongs.core.conversation import ModelFailed

if TYPE_CHECKING:
    import httpx2

# Each word of an answer comes in some hundred bytes of JSON.
MOST_SENT = 128 * 1024 * 1024
# Characters of all that a model says, thinks and calls in one answer.
MOST_SAID = 16 * 1024 * 1024
# Of the page that says what is wrong; a person is shown a line of it.
_MOST_OF_ERROR = 64 * 1024


def bound(response: httpx2.Response, too_large: ModelFailed) -> None:
    """Raise `too_large` once more has come than any answer needs; an error is cut there.

    Packed answers are not taken, since nobody asked for one: it may hold a thousand times its size.
    """
    import httpx2

    if response.headers.get("content-encoding", "identity") != "identity":
        raise too_large
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    stream: httpx2.AsyncByteStream = response.stream
    fails = response.status_code >= 400

    class Bounded(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            left = _MOST_OF_ERROR if fails else MOST_SENT
            async for piece in stream:
                left -= len(piece)
                if left >= 0:
                    yield piece
                elif fails:
                    return
                else:
                    raise too_large

        async def aclose(self) -> None:
            await stream.aclose()

    response.stream = Bounded()


def length(event: object) -> int:
    """Characters that an event of a stream adds to the answer."""
    part = getattr(event, "delta", None) or getattr(event, "part", None)
    names = ("content", "content_delta", "args", "args_delta")
    texts = (getattr(part, name, None) for name in names)
    return sum(len(text) for text in texts if isinstance(text, str))


def failure_within(error: BaseException) -> ModelFailed | None:
    """One of ours that a package has wrapped into an error of its own."""
    inner: BaseException | None = error
    while inner is not None and not isinstance(inner, ModelFailed):
        inner = inner.__cause__ or inner.__context__
    return inner
