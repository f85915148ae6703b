"""What the executors that connect by themselves share: one request sent, and what went wrong."""

from __future__ import annotations

from collections.abc import Callable

from tongs.core.annotations import TYPE_CHECKING
from tongs.core.errors import ToolError
from tongs.core.execution import Context
from tongs.core.record import dataclass
from tongs.executors.http_request import Request
from tongs.template.url import Address

if TYPE_CHECKING:
    import ssl

    from tongs.executors.http_exchange import Answer

# As much of the answer that says what went wrong as is worth reading.
_ERROR_BYTES = 64 * 1024


def _anywhere(address: Address) -> None:
    """Where the permissions are all that bounds a redirect."""


@dataclass(frozen=True, slots=True)
class Terms:
    """How far an exchange goes."""

    retries: int = 0
    redirects: int = 5
    max_bytes: int = 5 * 1024 * 1024
    # Of an answer that is no success; what is beyond is left out.
    error_bytes: int = _ERROR_BYTES
    # Raises ToolError for an address that a redirect must not lead to.
    follow: Callable[[Address], None] = _anywhere
    # Where an author can change the rest; empty where nobody can.
    written_in: str = "the manifest"


class Sender:
    """Sends requests of any number of calls."""

    def __init__(self) -> None:
        self._secured: ssl.SSLContext | None = None

    async def send(
        self, request: Request, terms: Terms, context: Context, shown: Callable[[str], str]
    ) -> Answer:
        """The answer. Raises ToolError with the URL it was about; `shown` keeps secrets out."""
        # Only a call needs them, and the library below is slow to load.
        from tongs.executors.http_exchange import Exchange  # noqa: PLC0415 - see above
        from tongs.executors.http_response import failure  # noqa: PLC0415 - as above

        exchange = Exchange(terms, context, self._context)

        def where() -> Request:
            return exchange.request or request

        try:
            return await context.waiter.blocking(lambda: exchange.run(request))
        except ToolError as error:
            error.details.setdefault("url", shown(where().url))
            raise
        except _troubles() as error:
            at = where()
            url, host = shown(at.url), at.address.authority
            raise failure(error, context.tool.name, url, host) from None
        except BaseException:
            # The thread that waits must not outlive a call that was cancelled.
            exchange.give_up()
            raise

    def _context(self) -> ssl.SSLContext:
        """Made once: reading the certificates of the machine takes longer than most requests."""
        if self._secured is None:
            import httpx2  # noqa: PLC0415 - https only

            self._secured = httpx2.create_ssl_context(trust_env=False)
        return self._secured


def _troubles() -> tuple[type[Exception], ...]:
    """What a network, and whoever answers on it, can do to a call."""
    import httpcore2  # noqa: PLC0415 - only a call needs them
    import httpx2  # noqa: PLC0415 - as above

    core = (httpcore2.NetworkError, httpcore2.TimeoutException, httpcore2.ProtocolError)
    return (OSError, *core, httpx2.DecodingError)
