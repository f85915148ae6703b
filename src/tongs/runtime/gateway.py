"""What MCP servers run in: their walls, their environment, their secrets."""

from __future__ import annotations

import _thread  # the public module is one that a command line never needs
from collections.abc import Callable, Mapping

from tongs.config.environment import base_environment
from tongs.config.settings import Settings
from tongs.core.annotations import TYPE_CHECKING
from tongs.core.execution import Place, Policy, Sandbox, Waiter
from tongs.core.permissions import absolute
from tongs.core.record import replace
from tongs.core.servers import (
    Listing,
    ServerAnswer,
    ServerCall,
    ServerRequest,
    Servers,
    ServerSpec,
    ServerState,
)
from tongs.runtime.secrets import Secrets

if TYPE_CHECKING:
    from tongs.gateway.servers import Values

# In a query shorter ones are mostly words, which would be taken out of every answer.
_SHORTEST_SECRET = 8


class ServerWorld:
    """As `gateway.servers.Surroundings`."""

    def __init__(
        self,
        place: Place,
        settings: Settings,
        host: Mapping[str, str],
        secrets: Secrets,
        sandbox: Sandbox,
    ) -> None:
        self.place = place
        self._settings = settings
        self._host = host
        self._secrets = secrets
        self.sandbox = sandbox

    @property
    def private_hosts(self) -> tuple[str, ...]:
        return self._settings.private_hosts

    def policy(self, spec: ServerSpec) -> Policy:
        from tongs.runtime.servers import walls_of  # noqa: PLC0415 - where one is started

        project = spec.project or self.place.root
        limits = self._settings.limits_for(spec.name, spec.limits)
        return Policy(
            permissions=walls_of(spec, self.place),
            # Time is a matter of each call, not of a process that answers many.
            limits=replace(limits, cpu=None),
            project=project,
            call_id=f"mcp-{spec.name}",
            cwd=absolute(spec.cwd, project, self.place.home) if spec.cwd else self._start(project),
            private_hosts=self._settings.private_hosts,
            again=False,
        )

    def values(self, spec: ServerSpec) -> Values:
        from tongs.gateway.servers import Values  # noqa: PLC0415 - where one is started

        environment, first = self._secrets.referenced(spec.env, spec.name)
        headers, second = self._secrets.referenced(spec.headers, spec.name)
        declared = self._secrets.values(spec.wanted, spec.name)
        base = {} if spec.remote else base_environment(self._host, "/tmp")
        return Values(
            environment={**base, **declared, **environment},
            headers=headers,
            secrets=(*first, *second, *declared.values(), *_secrets_in(spec.url)),
        )

    def waiter(self) -> Waiter:
        from tongs.sandbox.waiting import LoopWaiter  # noqa: PLC0415 - needs asyncio

        return LoopWaiter()

    def _start(self, project: str) -> str:
        return self.place.start if project == self.place.root else project


def _secrets_in(url: str) -> tuple[str, ...]:
    """What an address tells the server alone: a password, and what its query says."""
    if not url:
        return ()
    from urllib.parse import parse_qsl, unquote, urlsplit  # noqa: PLC0415 - remote ones only

    parts = urlsplit(url)
    given = [unquote(parts.password or ""), *(value for _, value in parse_qsl(parts.query))]
    return tuple(value for value in given if len(value) >= _SHORTEST_SECRET)


class LazyServers:
    """As `core.servers.Servers`; the gateway is loaded when the first server is needed."""

    def __init__(self, around: Callable[[], ServerWorld]) -> None:
        self._around = around
        self._made: Servers | None = None
        self._lock = _thread.allocate_lock()

    async def listed(self, spec: ServerSpec, waiter: Waiter) -> Listing:
        return await self._gateway().listed(spec, waiter)

    async def call(self, request: ServerRequest, call: ServerCall, waiter: Waiter) -> ServerAnswer:
        return await self._gateway().call(request, call, waiter)

    def state(self, name: str) -> ServerState:
        return ServerState(name, "idle") if self._made is None else self._made.state(name)

    def close(self) -> None:
        if self._made is not None:
            self._made.close()

    def _gateway(self) -> Servers:
        # Calls of several threads may be the first together, and a second one would not be closed.
        with self._lock:
            if self._made is None:
                from tongs.gateway.servers import Gateway  # noqa: PLC0415 - servers only

                self._made = Gateway(self._around())
            return self._made
