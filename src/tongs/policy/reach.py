"""Which addresses may be connected to by Tongs itself, on behalf of a tool or an MCP server."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Sequence

from tongs.core import hosts
from tongs.core.annotations import TypeVar
from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.core.execution import Place
from tongs.policy.grants import config, private_hosts_line

T = TypeVar("T")


def read_hosts(where: str, entries: Iterable[str], read: Callable[[str], T]) -> list[T]:
    """The entries of a list. Raises ToolError for one that is no host, as `[::::]` is none."""
    try:
        return [read(entry) for entry in entries]
    except ValueError as error:
        raise ToolError(ErrorCode.INVALID_DEFINITION, f"{where}: {error}") from None


class Reach:
    """Which addresses a call may connect to: public ones, and those that a person granted."""

    def __init__(self, private: Sequence[str], place: Place) -> None:
        self._grants = read_hosts("security.allow_private_hosts", private, hosts.parse_grant)
        self._place = place

    def check_name(self, host: str) -> None:
        if problem := hosts.private_name(self._grants, host):
            raise self._refused(host, problem)

    def check_addresses(self, host: str, addresses: Iterable[str]) -> None:
        if problem := hosts.private_address(self._grants, host, addresses, _is_own):
            raise self._refused(host, problem)

    def _refused(self, host: str, problem: str) -> ToolError:
        return ToolError(
            ErrorCode.PERMISSION_DENIED,
            f"{hosts.bracketed(host)} is {problem}, and no tool may connect there by itself",
            details={"host": host},
            blocked_by=BlockedBy.PERMISSION,
            hint=f"to grant it, write in {config(self._place)}: {private_hosts_line([host])}",
        )


def _is_own(address: str) -> bool:
    """Whether a public address is one of ours: what listens here on all is reached from it."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((address, 9))  # sends nothing
            return bool(probe.getsockname()[0] == address)
        except OSError:
            return False
