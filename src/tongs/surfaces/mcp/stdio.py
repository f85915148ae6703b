"""One client, on standard input and output. Nothing but the protocol is ever written there."""

# ruff: noqa: PLC0415 - the SDK is loaded where it is needed

from __future__ import annotations

import asyncio
import signal

from tongs.runtime import Runtime
from tongs.surfaces.mcp.options import Options


def serve(runtime: Runtime, options: Options) -> None:
    """Until the client closes its end, or somebody ends the process; all calls end with it."""
    asyncio.run(_serve(runtime, options))


async def _serve(runtime: Runtime, options: Options) -> None:
    from mcp.server.lowlevel import NotificationOptions

    from tongs.surfaces.mcp.serving import make_server
    from tongs.surfaces.mcp.wire import Incoming, Outgoing, Wire

    wire = Wire()
    server = make_server(runtime, options)
    started = server.create_initialization_options(NotificationOptions(tools_changed=True))
    serving = asyncio.ensure_future(
        server.run(Incoming(wire.reader), Outgoing(wire.writer), started)
    )
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
