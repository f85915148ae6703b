"""The first answers to a client, given without the SDK while that is being loaded.

To load the SDK takes as long as fifty starts of Python, and a client waits for its first answer.
So Tongs reads the wire itself at first, and answers what every client begins with: `initialize` or
`server/discover`, `ping` and `tools/list`, as the SDK would. It does so only for what it knows to
the last key; the first message that is anything else waits for the SDK. That one is then told all
that was said so far, and what it answers to this is dropped (`Heard`, `wire.Outgoing`).
"""

from __future__ import annotations

import json
import os
import select
from collections.abc import Callable, Sequence
from threading import Thread

from tongs.core.annotations import Any, TypeAlias
from tongs.core.record import dataclass, field
from tongs.surfaces.mcp.about import FRESH, INSTRUCTIONS, SERVER

Message: TypeAlias = dict[str, Any]

OLDER = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
_RESERVED = "io.modelcontextprotocol/"
_VERSION, _CAPABILITIES = f"{_RESERVED}protocolVersion", f"{_RESERVED}clientCapabilities"
_CLIENT, _SERVER = f"{_RESERVED}clientInfo", f"{_RESERVED}serverInfo"

# What a client may say that it can, if it says no more than this about it.
_KNOWN: dict[str, dict[str, type]] = {
    "roots": {"listChanged": bool},
    "sampling": {"context": dict, "tools": dict},
    "elicitation": {"form": dict, "url": dict},
}
# Of these, whatever they are called.
_NAMED = ("experimental", "extensions")
_CLIENT_KEYS = {"name", "version", "title", "description"}
_PIECE = 64 * 1024
# A greeting is short; what is longer is for the SDK.
_LONGEST = 16 * 1024
# Seconds that a client has for its first words before the SDK is loaded: it has just started us.
_PATIENCE = 0.1


@dataclass(slots=True)
class Heard:
    """What was said before the SDK was there."""

    # To be read before the rest of the input: all of it, answered or not.
    begun: bytes = b""
    # The answers that were given, by the ids of their requests.
    given: dict[str | int, Message] = field(default_factory=dict)
    # The client has gone.
    ended: bool = False


class Greeting:
    """Answers line by line. `tools` gives the list as the server lists it."""

    def __init__(self, tools: Callable[[], Sequence[Message]]) -> None:
        self._tools = tools
        self.given: dict[str | int, Message] = {}
        # Of the older era, what was agreed upon.
        self._version = ""
        self._modern = False

    def answer(self, line: bytes) -> bytes | None:
        """The answer, empty where there is none to give; None: this is for the SDK."""
        message = _message(line)
        if message is None:
            return None
        method, params = message["method"], message.get("params", {})
        if "id" not in message:
            known = method == "notifications/initialized" and not params and self._version
            return b"" if known else None
        result = self._result(method, params)
        if result is None or message["id"] in self.given:
            return None
        self.given[message["id"]] = result
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        return json.dumps(answer, separators=(",", ":")).encode() + b"\n"

    def _result(self, method: str, params: Message) -> Message | None:
        if set(params) == {"_meta"} and _is_modern(params["_meta"]):
            return None if self._version else self._modern_result(method)
        if self._modern:
            return None
        if method == "initialize":
            return None if self._version else self._initialized(params)
        if not self._version or params:
            return None
        if method == "tools/list":
            return {"tools": list(self._tools())}
        return {} if method == "ping" else None

    def _initialized(self, params: Message) -> Message | None:
        if set(params) != {"protocolVersion", "capabilities", "clientInfo"}:
            return None
        version = params["protocolVersion"]
        if version not in OLDER or not _is_client(params["clientInfo"], params["capabilities"]):
            return None
        self._version = version
        return {
            "protocolVersion": version,
            "capabilities": _capabilities(modern=False),
            "serverInfo": SERVER,
            "instructions": INSTRUCTIONS,
        }

    def _modern_result(self, method: str) -> Message | None:
        if method == "server/discover":
            found: Message = {
                "supportedVersions": [MODERN],
                "capabilities": _capabilities(modern=True),
                "instructions": INSTRUCTIONS,
            }
        elif method == "tools/list":
            found = {"tools": list(self._tools())}
        else:
            return None
        self._modern = True
        return {**found, **FRESH, "_meta": {_SERVER: SERVER}}


def greet(reader: int, writer: int, greeting: Greeting, begin: Callable[[], Any]) -> Heard:
    """Answer what can be answered until the SDK is loaded, and say what was said.

    `begin` is called once the first answer is given: it may take its time.
    """
    buffer, taken = b"", 0
    woken, wakes = os.pipe()
    loading = Thread(target=_load, args=(wakes,), name="tongs-load-mcp")
    try:
        while True:
            patience = None if loading.ident else _PATIENCE
            ready = select.select([reader, woken], [], [], patience)[0]
            if reader in ready:
                piece = os.read(reader, _PIECE)
                if not piece:
                    return Heard(ended=True)
                buffer += piece
            while (end := buffer.find(b"\n", taken)) >= 0:
                answer = greeting.answer(buffer[taken:end])
                if answer is None:
                    break
                try:
                    _write(writer, answer)
                except OSError:
                    return Heard(ended=True)  # nobody reads any more
                taken = end + 1
            # What is left is no whole line, or is for the SDK.
            waits = end >= 0 or len(buffer) - taken > _LONGEST
            if not loading.ident and (waits or taken or not ready):
                loading.start()
                begin()
            if waits or woken in ready:
                return Heard(buffer, greeting.given)
    finally:
        if loading.ident:
            loading.join()
        os.close(woken)
        os.close(wakes)


def _load(wakes: int) -> None:
    """Everything that serving needs. What is wrong with it is said when it is loaded again."""
    from tongs.core.loading import all_of_it_stays  # noqa: PLC0415 - here only

    try:
        with all_of_it_stays():
            import tongs.surfaces.mcp.serving  # noqa: PLC0415 - this is the point
            import tongs.surfaces.mcp.wire  # noqa: F401, PLC0415 - as above
    except ImportError:
        pass
    finally:
        os.write(wakes, b"\0")


def _write(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _message(line: bytes) -> Message | None:
    """A request or a notification that is written as everybody writes them."""
    # Half a character is no text to the SDK; whole ones are seldom written in halves.
    if len(line) > _LONGEST or b"\\ud" in line.lower():
        return None
    try:
        message = json.loads(line.decode())
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return None
    if set(message) - {"jsonrpc", "id", "method", "params"} or "method" not in message:
        return None
    known = isinstance(message["method"], str) and isinstance(message.get("params", {}), dict)
    return message if known and type(message.get("id", 0)) in (str, int) else None


def _is_modern(meta: Any) -> bool:
    """Whether a request carries what one of the modern era has to, and nothing else."""
    if not isinstance(meta, dict) or set(meta) != {_VERSION, _CAPABILITIES, _CLIENT}:
        return False
    return meta[_VERSION] == MODERN and _is_client(meta[_CLIENT], meta[_CAPABILITIES])


def _is_client(info: Any, capabilities: Any) -> bool:
    if not isinstance(info, dict) or not {"name", "version"} <= set(info) <= _CLIENT_KEYS:
        return False
    if not all(isinstance(each, str) for each in info.values()):
        return False
    return isinstance(capabilities, dict) and all(map(_is_known, capabilities.items()))


def _is_known(capability: tuple[str, Any]) -> bool:
    name, said = capability
    if not isinstance(said, dict):
        return False
    if name in _NAMED:
        return all(isinstance(each, dict) for each in said.values())
    if (parts := _KNOWN.get(name)) is None:
        return False
    return all(key in parts and type(value) is parts[key] for key, value in said.items())


def _capabilities(*, modern: bool) -> Message:
    """In the modern era a client hears of changes of whatever it has subscribed to."""
    return {
        "resources": {"listChanged": modern, "subscribe": modern},
        "tools": {"listChanged": True},
    }
