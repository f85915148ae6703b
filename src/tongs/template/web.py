"""A request whose address a caller chooses: between the built-in web tools and their executor."""

from __future__ import annotations

from collections.abc import Mapping

from tongs.core.annotations import Any, Protocol
from tongs.core.record import dataclass
from tongs.core.result import ToolResult
from tongs.template.url import Address


@dataclass(frozen=True, slots=True)
class WebHeader:
    name: str
    value: str
    # Not sent on where a redirect leads to another place.
    private: bool = True


@dataclass(frozen=True, slots=True)
class WebRequest:
    """`rest` is everything after the address, as it was written."""

    method: str
    address: Address
    rest: str
    headers: tuple[WebHeader, ...] = ()
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class WebAnswer:
    """`headers` with names in lower case; `text` is the body by its charset, else as UTF-8."""

    status: int
    reason: str
    url: str
    headers: Mapping[str, str]
    body: bytes
    text: str
    redirects: int = 0

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def type(self) -> str:
        """Without parameters, in lower case."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class WebPlan(Protocol):
    """What a web tool asks for, and what it makes of the answer."""

    @property
    def timeout(self) -> float:
        """Seconds, where nobody says otherwise."""

    @property
    def error_bytes(self) -> int:
        """How much is read of an answer that is no success."""

    @property
    def follows(self) -> tuple[str, ...] | None:
        """Hosts to which a redirect may lead from any other; None: wherever the tool may go."""

    def request(self, arguments: Mapping[str, Any], environment: Mapping[str, str]) -> WebRequest:
        """Raises ToolError for arguments that are no request."""

    def shown(self, arguments: Mapping[str, Any]) -> WebRequest:
        """The same for a person to read: without a secret."""

    def result(self, answer: WebAnswer, name: str, arguments: Mapping[str, Any]) -> ToolResult: ...
