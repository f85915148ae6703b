"""How much of a server's answer is taken in, and how long is waited for it.

It may send without an end, in a small parcel, or for ever nothing but that it is still there.
"""

# ruff: noqa: PLC0415 - an extra, loaded once somebody speaks to a model

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping

from tongs.agent.model_errors import Words
from tongs.core.annotations import TYPE_CHECKING, Any, TypeVar
from tongs.core.conversation import ModelFailed

if TYPE_CHECKING:
    import httpx2

# Each word of an answer comes in some hundred bytes of JSON.
MOST_SENT = 128 * 1024 * 1024
# Characters of all that a model says, thinks and calls in one answer.
MOST_SAID = 16 * 1024 * 1024
# The longest time without a word of the model, in seconds, whatever its server sends.
_PATIENCE = 1800.0
# Of the page that says what is wrong; a person is shown a line of it.
_MOST_OF_ERROR = 64 * 1024
# Where the parts of an answer, and what is added to them, have their text.
_SAYING = (
    *("content", "content_delta", "args", "args_delta"),
    *("tool_name", "tool_name_delta", "signature", "signature_delta"),
)
_T = TypeVar("_T")


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


def patience(settings: Mapping[str, Any]) -> float:
    """How long a server may say that it is still there, and nothing else, in seconds.

    Who waits longer for anything at all waits as long for a word of the model.
    """
    return float(settings.get("content_timeout", max(_PATIENCE, settings.get("timeout", 0))))


class Listening:
    """Waits for the pieces of one answer, `patience` seconds at most for each that says something.

    Only the time of waiting counts, not that of whoever does something with a piece.
    """

    def __init__(self, patience: float, words: Words) -> None:
        self._patience = self._left = patience
        self._words = words
        self._said = 0

    async def next(self, events: AsyncIterator[_T]) -> _T | None:
        """None at the end. Raises ModelFailed."""
        event = await self.wait_for(anext(events, None))
        if said := length(event):
            self._left = self._patience
        self._said += said
        if self._said > MOST_SAID:
            raise self._words.too_large()
        return event

    async def wait_for(self, coming: Awaitable[_T]) -> _T:
        """What is no piece yet, such as the connection. Raises ModelFailed."""
        clock = asyncio.get_running_loop().time
        begun = clock()
        limit = asyncio.timeout(self._left)
        try:
            async with limit:
                return await coming
        except TimeoutError:
            if limit.expired():
                raise self._words.nothing_said(self._patience) from None
            raise
        finally:
            self._left -= clock() - begun


def length(event: object) -> int:
    """Characters that an event of a stream adds to the answer; of one that says nothing, 0."""
    part = getattr(event, "delta", None) or getattr(event, "part", None)
    texts = (getattr(part, name, None) for name in _SAYING)
    return sum(len(text) for text in texts if isinstance(text, str))


def failure_within(error: BaseException) -> ModelFailed | None:
    """One of ours that a package has wrapped into an error of its own."""
    inner: BaseException | None = error
    while inner is not None and not isinstance(inner, ModelFailed):
        inner = inner.__cause__ or inner.__context__
    return inner
