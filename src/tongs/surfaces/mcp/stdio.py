"""One client, on standard input and output. Nothing but the protocol is ever written there."""

# ruff: noqa: PLC0415 - what is loaded before the first answer delays it

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.surfaces.mcp.greeting import Greeting, Heard, greet
from tongs.surfaces.mcp.options import Options

if TYPE_CHECKING:
    from tongs.runtime import Runtime


class Wire:
    """The two descriptors, taken away from everything else in this process.

    What is printed by mistake goes to stderr, and what reads finds nothing.
    """

    def __init__(self) -> None:
        sys.stdout.flush()
        self.reader, self.writer = (os.dup(number) for number in (0, 1))
        nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)


def serve(opened: Callable[[], Runtime], options: Options, *, greets: bool = True) -> None:
    """Until the client closes its end, or somebody ends the process; all calls end with it.

    `greets`: the first answers are given before the SDK is loaded.
    """
    wire = Wire()
    heard = Heard()
    if greets:

        def tools() -> list[dict[str, Any]]:
            from tongs.surfaces.mcp.offers import Offers

            return Offers(opened(), options).listed()

        heard = greet(wire.reader, wire.writer, Greeting(tools), opened)
    if heard.ended:
        return
    import asyncio

    asyncio.run(_serve(opened(), options, wire, heard))


async def _serve(runtime: Runtime, options: Options, wire: Wire, heard: Heard) -> None:
    import asyncio
    import signal

    from mcp.server.lowlevel import NotificationOptions

    from tongs.surfaces.mcp.serving import make_server
    from tongs.surfaces.mcp.wire import Incoming, Outgoing

    server = make_server(runtime, options)
    started = server.create_initialization_options(NotificationOptions(tools_changed=True))
    outgoing = Outgoing(wire.writer, heard.given)
    incoming = Incoming(wire.reader, heard.begun, outgoing)
    serving = asyncio.ensure_future(server.run(incoming, outgoing, started))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        if signal.getsignal(number) is not signal.SIG_IGN:  # not under `nohup`
            loop.add_signal_handler(number, serving.cancel)
    try:
        await serving
    except asyncio.CancelledError:
        pass  # whoever ended us did not ask for an error
    finally:
        await runtime.aclose()
