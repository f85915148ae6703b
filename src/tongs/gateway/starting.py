"""Makes the connection to a server: starts its process behind walls, or gets ready to call it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tongs.core.annotations import Any
from tongs.core.execution import Command, Session
from tongs.core.permissions import covered
from tongs.core.servers import ServerSpec
from tongs.gateway.connection import Connection
from tongs.gateway.filtering import Filter
from tongs.gateway.servers import Surroundings, Values
from tongs.gateway.stdio import StdioTransport
from tongs.redaction import Redactor


async def connection_of(spec: ServerSpec, around: Surroundings) -> Connection:
    """Not open yet. Raises ToolError where the server cannot be started at all."""
    values = await asyncio.to_thread(around.values, spec)
    redactor = Redactor(values.secrets)
    _quiet()
    if spec.remote:
        return _remote(spec, around, values, redactor)
    policy = around.policy(spec)
    # Not in a thread that ends: what a process was started by is what it ends with.
    session = around.sandbox.open(policy, around.waiter())
    try:
        environment = {**values.environment, "TMPDIR": session.scratch}
        link = await session.start(Command(spec.command, environment, policy.cwd))
    except BaseException:
        session.close()
        raise
    passing = Filter()
    transport = ConfinedTransport(session, link, passing)
    project = policy.project
    roots = (project,) if covered(project, policy.permissions.readable) else ()
    return Connection(spec, transport, passing, redactor, roots)


class ConfinedTransport(StdioTransport):
    """A process with the session that it lives in."""

    def __init__(self, session: Session, link: Any, passing: Filter) -> None:
        super().__init__(link, passing)
        self._session = session

    @property
    def enforced(self) -> Sequence[str]:
        return self._session.enforced

    @property
    def warnings(self) -> Sequence[str]:
        return self._session.warnings

    async def __aexit__(self, *exc: object) -> None:
        try:
            await super().__aexit__(*exc)
        finally:
            self._session.close()


def _remote(
    spec: ServerSpec, around: Surroundings, values: Values, redactor: Redactor
) -> Connection:
    # Slow to load, and most servers are processes.
    from tongs.gateway.remote import RemoteTransport, must_be_granted  # noqa: PLC0415 - see above
    from tongs.policy.reach import Reach  # noqa: PLC0415 - as above

    must_be_granted(spec.url, spec.wanted)
    passing = Filter()
    reach = Reach(around.private_hosts, around.place)
    transport = RemoteTransport(spec.url, values.headers, reach, passing)
    return Connection(spec, transport, passing, redactor, ())


def _quiet() -> None:
    """What the SDK logs of a stranger's words is not for the person's terminal."""
    import logging  # noqa: PLC0415 - the SDK has it loaded

    logger = logging.getLogger("mcp")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
