"""Standard input and output as streams of messages."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from tongs.surfaces.mcp.wire import Incoming, Outgoing


def line(number: int, **params: Any) -> bytes:
    message = {"jsonrpc": "2.0", "id": number, "method": "ping", "params": params}
    return json.dumps(message).encode() + b"\n"


def drained(reader: int) -> bytes:
    data = b""
    while piece := os.read(reader, 100_000):
        data += piece
    return data


async def read(incoming: Incoming) -> list[Any]:
    return [getattr(getattr(item, "message", None), "id", "wrong") async for item in incoming]


def test_messages_are_read_however_they_are_cut(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    data = line(1) + b"\n  \n" + line(2, text="\u00e4") + b"no json\n" + line(3) + b'{"half'

    async def main() -> list[Any]:
        reading = asyncio.ensure_future(read(Incoming(reader, data[:3])))
        for place in range(3, len(data), 7):
            os.write(writer, data[place : place + 7])
            await asyncio.sleep(0)
        os.close(writer)
        return await reading

    assert asyncio.run(main()) == [1, 2, "wrong", 3]


def test_a_request_that_cannot_be_read_is_answered(pipe: tuple[int, int], tmp_path: Path) -> None:
    reader, writer = pipe
    file = tmp_path / "messages"
    half = line(1, text="cut \ud83d")
    nothing = (b"no json", b"[1]", b"[" * 100_000, half.replace(b'"id": 1', b'"id": "\\ud83d"'))
    nothing = (*nothing, b'{"jsonrpc": "2.0", "id": 3, "result": 4}')
    file.write_bytes(b"\n".join([half.strip(), *nothing, line(2)]))

    async def main() -> list[Any]:
        with file.open("rb") as opened:
            return await read(Incoming(opened.fileno(), outgoing=Outgoing(writer)))

    assert asyncio.run(main()) == ["wrong"] * 6 + [2]
    os.close(writer)
    (answer,) = map(json.loads, drained(reader).splitlines())
    assert (answer["id"], answer["error"]["code"]) == (1, -32600)


def test_a_file_can_be_read_too(tmp_path: Path) -> None:
    file = tmp_path / "messages"
    file.write_bytes(line(1) + line(2))

    with file.open("rb") as opened:
        assert asyncio.run(read(Incoming(opened.fileno()))) == [1, 2]


def test_receive_says_that_there_is_no_more(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    os.close(writer)

    with pytest.raises(anyio.EndOfStream):
        asyncio.run(Incoming(reader).receive())


def test_a_large_message_waits_for_a_slow_reader_and_keeps_nobody_else(
    pipe: tuple[int, int],
) -> None:
    reader, writer = pipe
    large = JSONRPCRequest(jsonrpc="2.0", id=1, method="x", params={"text": "y" * 500_000})
    small = JSONRPCNotification(jsonrpc="2.0", method="z")

    async def main() -> list[bytes]:
        outgoing = Outgoing(writer)
        sending = [
            asyncio.ensure_future(outgoing.send(SessionMessage(each))) for each in (large, small)
        ]
        await asyncio.sleep(0.01)
        assert not any(each.done() for each in sending)  # the pipe is full, and the loop goes on
        received = b""
        while received.count(b"\n") < 2:
            received += await asyncio.to_thread(os.read, reader, 65536)
        await asyncio.gather(*sending)
        return received.splitlines()

    first, second = asyncio.run(main())
    assert json.loads(first)["params"] == {"text": "y" * 500_000}
    assert json.loads(second)["method"] == "z"


def test_a_client_that_is_gone_is_told_to_the_sdk(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    os.close(reader)

    async def main() -> None:
        await Outgoing(writer).send(SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="z")))

    with pytest.raises(anyio.BrokenResourceError):
        asyncio.run(main())


def test_an_answer_that_was_given_is_not_given_again(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    given: dict[Any, Any] = {1: {"tools": []}, 2: {"tools": []}, 3: {}}

    async def main() -> None:
        outgoing = Outgoing(writer, given)
        for number, result in (
            (3, {}),
            (1, {"tools": []}),
            (2, {"tools": [{"name": "new"}]}),
            (1, {}),
        ):
            message = JSONRPCResponse(jsonrpc="2.0", id=number, result=result)
            await outgoing.send(SessionMessage(message))

    asyncio.run(main())
    heard = [json.loads(each) for each in os.read(reader, 65536).splitlines()]

    # The second list is another one by now, so the client is told to ask again.
    assert heard == [
        {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
    ]


def test_a_message_whose_sender_is_cancelled_in_the_midst_of_it_is_finished(
    pipe: tuple[int, int],
) -> None:
    reader, writer = pipe
    large = JSONRPCRequest(jsonrpc="2.0", id=1, method="x", params={"text": "y" * 200_000})
    never = JSONRPCNotification(jsonrpc="2.0", method="never")
    small = JSONRPCNotification(jsonrpc="2.0", method="z")

    async def main() -> list[str]:
        outgoing = Outgoing(writer)
        for message in (large, never):  # the pipe is full when the second one begins
            sending = asyncio.ensure_future(outgoing.send(SessionMessage(message)))
            await asyncio.sleep(0.05)
            sending.cancel()
        reading = asyncio.ensure_future(asyncio.to_thread(drained, reader))
        await outgoing.send(SessionMessage(small))
        os.close(writer)
        return [json.loads(text)["method"] for text in (await reading).splitlines()]

    assert asyncio.run(main()) == ["x", "z"]
