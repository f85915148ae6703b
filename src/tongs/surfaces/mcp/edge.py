"""The edge to the SDK: whatever goes wrong behind it is an error of the protocol, in a sentence."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR

from tongs.core.annotations import Any, TypeAlias
from tongs.core.errors import DefinitionInvalid, ToolError
from tongs.output import visible
from tongs.runtime import Runtime

Handler: TypeAlias = Callable[[Any, Any], Awaitable[Any]]


def guarded(runtime: Runtime, handler: Handler) -> Handler:
    """The SDK would send a client the words of any exception, and print its traceback."""

    async def handle(context: Any, params: Any) -> Any:
        try:
            return await handler(context, params)
        except MCPError:
            raise
        except (ToolError, DefinitionInvalid) as error:
            raise MCPError(INTERNAL_ERROR, visible(str(error))) from None
        except Exception as error:  # noqa: BLE001 - as at the edge of the command line
            mark = runtime.log.traceback(error)
            said = f"something in Tongs itself went wrong ({type(error).__name__}), id {mark}"
            raise MCPError(INTERNAL_ERROR, said) from None

    return handle
