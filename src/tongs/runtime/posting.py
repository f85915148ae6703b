"""One request to a server that the person's own config names, within a time."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Mapping

import httpcore2
import httpx2

from tongs.core.approval import Settled
from tongs.core.approval_wire import LARGEST_ANSWER
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Place
from tongs.executors.http_connection import CheckedNetwork, CheckedTransport, Clock
from tongs.policy.reach import Reach
from tongs.template.url import divided

# Between two looks at whether the answer is still wanted.
_PAUSE = 0.1


def post(
    url: str, headers: Mapping[str, str], body: bytes, seconds: float, settled: Settled
) -> tuple[int, bytes]:
    """Status and body of the response. No redirect is followed. Raises ToolError.

    The address was read before, and is one.
    """
    clock = Clock(time.monotonic() + seconds)
    done = threading.Event()
    address, target = divided(url)
    # The person named this host, so its address may be a private one.
    network = CheckedNetwork(Reach((address.host,), Place("/")), clock)

    def watch() -> None:
        while not done.wait(_PAUSE):
            if settled():
                clock.end()
                network.hang_up()

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    secured = httpx2.create_ssl_context(trust_env=False) if address.scheme == "https" else None
    request = httpx2.Request(
        "POST",
        httpx2.URL(scheme=address.scheme, host=address.host, port=address.port),
        headers={"Content-Type": "application/json", **headers},
        content=body,
        extensions={"target": target.encode() or b"/"},
    )
    try:
        with CheckedTransport(network, secured) as transport:
            response = transport.handle_request(request)
            try:
                return response.status_code, _read(response, clock)
            finally:
                response.close()
    except (TimeoutError, httpcore2.TimeoutException):
        raise ToolError(ErrorCode.TIMEOUT, f"it did not answer within {seconds:g}s") from None
    except (OSError, httpcore2.NetworkError, httpcore2.ProtocolError, httpx2.HTTPError) as error:
        why = "its certificate is not valid" if isinstance(error, ssl.SSLError) else str(error)
        raise ToolError(ErrorCode.HTTP_ERROR, f"it cannot be reached: {why}") from None
    finally:
        done.set()
        watching.join()


def _read(response: httpx2.Response, clock: Clock) -> bytes:
    if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise ToolError(ErrorCode.HTTP_ERROR, "its answer is encoded, which nobody asked for")
    found = bytearray()
    for piece in response.iter_raw():
        clock.left()
        found += piece
        if len(found) > LARGEST_ANSWER:
            break
    return bytes(found)
