"""Chooses how calls are confined: by what this machine can do and what the person wants.

The choice is made when a call needs it. Finding out what the machine can do takes a few processes,
so the answer is kept in the state folder until the kernel, the user or the boot is another.
"""

from __future__ import annotations

import _thread  # the public module is one that a command line never needs
import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress

from tongs.core.annotations import TYPE_CHECKING
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.permissions import stricter
from tongs.core.record import replace
from tongs.store.files import private_folder, read_whole, write_whole

if TYPE_CHECKING:
    from tongs.core.execution import Policy, Sandbox, Session, SpoolOpener, Waiter
    from tongs.sandbox.host import Host
    from tongs.sandbox.probe import Found

STRICT = "strict"
BEST_EFFORT = "best-effort"
OFF = "off"

# What stands for the tiers of Linux elsewhere.
_ELSEWHERE = {"darwin": "seatbelt", "win32": "winjob"}
# The file in the state folder.
_ANSWER = "sandbox"
_LARGEST_ANSWER = 64 * 1024
# Seconds for which less than the best is believed.
_RECENT = 600


class ChosenSandbox:
    """The sandbox of a runtime. Never weaker than `enforcement` without saying so."""

    def __init__(
        self,
        enforcement: str,
        host: Host,
        *,
        direct: bool,
        spool: SpoolOpener | None,
        state: str,
    ) -> None:
        self._enforcement = enforcement
        self._host = host
        self._direct = direct
        self._spool = spool
        self._state = state
        self._made: dict[str, Sandbox] = {}
        # By what calls insist on: which of them it is.
        self._choices: dict[str, Sandbox] = {}
        self._found: Found | None = None
        # Calls of several threads may be the first together, and what is tried out is tried once.
        self._lock = _thread.RLock()

    @property
    def host(self) -> Host:
        return self._host

    @property
    def parallel(self) -> bool:
        """Whether several threads may start processes: not where this one forks by itself."""
        if not self._direct:
            return True
        from tongs.sandbox.compiled import program  # noqa: PLC0415 - where something is asked

        return self._host.native and bool(program())

    def open(self, policy: Policy, waiter: Waiter) -> Session:
        with self._lock:
            return self._opened(policy, waiter)

    def _opened(self, policy: Policy, waiter: Waiter) -> Session:
        try:
            choice = self._choices.get(policy.enforcement)
            if choice is None:
                choice = self._choices[policy.enforcement] = self._chosen(self._wanted(policy))
            return choice.open(policy, waiter)
        except ToolError as error:
            if (
                error.code is not ErrorCode.SANDBOX_UNAVAILABLE
                or self._wanted(policy) != BEST_EFFORT
            ):
                raise
            sandbox, weaker = self._weaker(policy)
            return sandbox.open(weaker, waiter)

    def cannot_enforce(self, policy: Policy) -> Sequence[str]:
        with self._lock:
            return self._missing(policy)

    def _missing(self, policy: Policy) -> Sequence[str]:
        try:
            return self._chosen(self._wanted(policy)).cannot_enforce(policy)
        except ToolError as error:
            if error.code is not ErrorCode.SANDBOX_UNAVAILABLE:
                raise
            if self._wanted(policy) != BEST_EFFORT:
                return ()  # what cannot be run at all needs no warning about how it would be run
            sandbox, weaker = self._weaker(policy)
            return sandbox.cannot_enforce(weaker)

    def _weaker(self, policy: Policy) -> tuple[Sandbox, Policy]:
        """What is left of the walls where the person said that this is good enough."""
        if self.found().tier and not isinstance(policy.permissions.network, bool):
            return self._chosen(self._wanted(policy)), _without_host_list(policy)
        return self._back_end("limits"), policy

    def close(self) -> None:
        for made in self._made.values():
            made.close()

    def found(self, *, again: bool = False) -> Found:
        """What this machine can enforce. `again` asks the machine, and keeps what it says."""
        if self._found is None or again:
            self._choices.clear()
            self._found = found_here(
                self._state, direct=self._direct, native=self._host.native, again=again
            )
        return self._found

    def _wanted(self, policy: Policy) -> str:
        """A config that the call uses may insist on more than the person does elsewhere."""
        return stricter(self._enforcement, policy.enforcement)

    def _chosen(self, wanted: str) -> Sandbox:
        if wanted == OFF:
            return self._back_end("limits")
        if sys.platform != "linux":
            return self._back_end(_ELSEWHERE.get(sys.platform, "limits"))
        tier = self.found().tier
        if not tier:
            raise _unavailable(self.found())
        return self._back_end(tier)

    def _back_end(self, key: str) -> Sandbox:
        if key not in self._made:
            from tongs import sandbox  # noqa: PLC0415 - listing starts nothing

            host = self._host
            if self._found is not None:
                host = replace(host, scratch_view=self._found.scratch_view)
            self._made[key] = sandbox.create(key, direct=self._direct, spool=self._spool, host=host)
        return self._made[key]


def _without_host_list(policy: Policy) -> Policy:
    open_network = replace(policy.permissions, network=True)
    return replace(policy, permissions=open_network, not_enforced=("network",))


def found_here(state: str, *, direct: bool, native: bool = True, again: bool = False) -> Found:
    from tongs.sandbox.probe import Found, probe, stamp  # noqa: PLC0415 - calls only

    now = stamp()
    kept = None if again else _kept(os.path.join(state, _ANSWER), now)
    if kept is not None:
        tier, view = kept
        return Found(tier, scratch_view=view)
    found = probe(direct=direct, native=native)
    if found.tier:
        # A machine that can do nothing is asked again each time: somebody may have mended it.
        with suppress(OSError):
            answer = f"{now}\n{found.tier}\n{int(found.scratch_view)}\n{int(time.time())}\n"
            write_whole(os.path.join(private_folder(state), _ANSWER), answer.encode(), sync=False)
    return found


def _kept(path: str, now: str) -> tuple[str, bool] | None:
    try:
        data = read_whole(path, _LARGEST_ANSWER)
    except OSError:
        return None
    lines = (data or b"").decode("utf-8", "replace").split("\n")
    if len(lines) != 5 or lines[0] != now or lines[1] not in ("namespaces", "landlock"):
        return None
    # The best there is stays the best; for less, somebody may find out what is in the way.
    made = int(lines[3]) if lines[3].isdecimal() else 0
    if lines[1] != "namespaces" and not 0 <= time.time() - made < _RECENT:
        return None
    return lines[1], lines[2] == "1"


def _unavailable(found: Found) -> ToolError:
    reasons = {answer.tier or "system": answer.problem for answer in found.answers}
    said = "; ".join(f"{tier}: {problem}" for tier, problem in reasons.items())
    return ToolError(
        ErrorCode.SANDBOX_UNAVAILABLE,
        f"this machine cannot confine a tool ({said})",
        details={"tiers": reasons},
        hint="`tongs doctor` tells what is missing and how to get it",
    )
