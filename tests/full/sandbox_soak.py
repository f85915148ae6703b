"""Thousands of calls through one sandbox while their processes are killed at random.

    python -m tests.full.sandbox_soak TIER CALLS FOLDER

Two processes: the first adopts and buries whatever the second loses, so that nothing can hide
behind somebody else's init; the second is the Tongs process. What was found is printed as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.full.processes import (
    MARK,
    PATIENCE,
    adopting,
    described,
    descriptors_of,
    is_marked,
    memory_of,
    name_of,
    read,
    state_of,
)
from tests.full.sandbox_calls import (
    CANCELLED,
    DONE,
    KILLED,
    KINDS,
    LATE,
    LOST,
    PATH,
    PAYLOAD,
    SERVER,
    SUPERVISOR,
    Call,
    Step,
    drawn,
)

from tongs.config.environment import uses_native
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Command, Completed, Event, Policy, Session
from tongs.core.permissions import Permissions
from tongs.sandbox import cgroups, create, orders, tree
from tongs.sandbox.host import Host
from tongs.sandbox.waiting import LoopWaiter

AT_ONCE = 16
PARTS = 20
# The server is left alone in the last parts: only then can its own memory be compared.
CALM = 5
NOT_STARTED = "not started"
PLAIN = Call(-1, KINDS[0], 0, "")
# Seconds for which something that was struck may still look alive.
_DYING = 0.5


class Soak:
    """The Tongs process: its calls, and the strikes against what they have started."""

    def __init__(self, tier: str, folder: Path, chance: random.Random) -> None:
        self._chance = chance
        self._temporary = folder / "temporary"
        self._project = folder / "project"
        for made in (self._temporary, self._project):
            made.mkdir(parents=True)
        (self._project / "file").write_text("kept\n")
        home = folder / "home"
        host = Host(
            home=str(home),
            state=str(home / ".tongs/state"),
            search_path=PATH,
            scratch_view=tier == "namespaces",
            native=uses_native(os.environ),
        )
        self._sandbox = create(tier, direct=False, temp_root=str(self._temporary), host=host)
        # In tier B nobody is left to kill a tree whose supervisor and fork server die together,
        # unless it has a cgroup: there these two are struck one after the other.
        self._apart = tier == "landlock" and cgroups.probe() is None
        # When something was struck, and what: a call that ran at that time may have been hit.
        self._strikes: list[tuple[float, str]] = []
        self._struck: Counter[str] = Counter()
        self._ended: Counter[str] = Counter()
        self._wrong: list[str] = []

    async def run(self, calls: list[Call]) -> dict[str, Any]:
        before = self._belongings()
        size = len(calls) // PARTS
        servers, samples = [], []
        for part in range(PARTS):
            waiting = iter(calls[part * size : (part + 1) * size])
            await asyncio.gather(*(self._work(waiting) for _ in range(AT_ONCE)))
            # Somebody has to notice when the server was struck last of all.
            while await self._ending(PLAIN) != DONE:
                pass
            await self._settle()
            servers.append(self._of_server())
            samples.append({"tongs": memory_of(os.getpid()), "server": memory_of(self._server())})
        self._sandbox.close()
        return {
            "before": before,
            "after": self._belongings(),
            "servers": servers,
            "kib": samples,
            "ended": self._ended,
            "struck": self._struck,
            "wrong": self._wrong,
        }

    async def _work(self, waiting: Iterator[Call]) -> None:
        for call in waiting:
            if call.strike:
                self._strike(call.strike)
            begun = time.monotonic()
            ending = await self._ending(call)
            # It may also have been given what was struck just before it began.
            since = [what for when, what in self._strikes if when >= begun - _DYING]
            if ending in {*call.kind.endings, *_excuses(call, since)}:
                self._ended[ending] += 1
            else:
                self._wrong.append(f"{call.number}, {call.kind.name}: {ending}; struck: {since}")

    async def _ending(self, call: Call) -> str:
        project = (str(self._project),)
        permissions = Permissions(read=project, scratch=project if call.kind.view else ())
        policy = Policy(permissions, call.kind.limits, project[0], f"call-{call.number}")
        session = self._sandbox.open(policy, LoopWaiter())
        task = asyncio.ensure_future(self._steps(call, session))
        try:
            if CANCELLED in call.kind.endings:
                await asyncio.wait([task], timeout=call.after)
                task.cancel()
            return await task
        except asyncio.CancelledError:
            return CANCELLED
        except ToolError as error:
            return _without_report(error)
        finally:
            session.close()

    async def _steps(self, call: Call, session: Session) -> str:
        environment = {"PATH": PATH, "TMPDIR": session.scratch, MARK: f"{call.number}."}
        timeout = call.after if LATE in call.kind.endings else 60.0
        ending = ""
        for step in call.kind.steps:
            argv = ("sh", "-c", step.script) if step.script else ("true",)
            command = Command(argv, environment, str(self._project), step.stdin, timeout)
            ending = _of(await session.run(command, self._observer(call)), step)
            if ending != DONE:
                break
        return ending

    def _observer(self, call: Call) -> Callable[[Event], None]:
        """Strikes at the call's own processes as soon as it is heard of."""
        return lambda event: self._strike_own(call) if call.kind.target else None

    def _strike_own(self, call: Call) -> None:
        if self._is_too_soon():
            asyncio.get_running_loop().call_later(_DYING, self._strike_own, call)
            return
        server, what = self._server(), call.kind.target
        children = tree.children_reader()
        served = children(server)
        # One whose server died before it was told to follow lives on for its call.
        for pid in served + children(os.getppid()):
            for inner in children(pid):
                if is_marked(inner, call.number):
                    if what == PAYLOAD:
                        self._kill(inner, "its own payload")
                    elif what == SERVER and pid in served:
                        self._kill(server, SERVER)
                    else:
                        self._kill(pid, "its own supervisor")
                    return
        self._struck[f"its own {what}, too late"] += 1

    def _strike(self, what: str) -> None:
        """Kill one of this kind: in use, waiting for a call, or just being made."""
        children = tree.children_reader()
        found = [self._server()]
        if what != SERVER:
            found = [pid for pid in children(found[0]) if name_of(pid) == orders.NAME]
        if what == PAYLOAD:
            found = [inner for pid in found for inner in children(pid)]
        if found and found != [0] and not self._is_too_soon():
            self._kill(self._chance.choice(found), what)

    def _is_too_soon(self) -> bool:
        last = self._strikes[-1][0] if self._strikes else 0.0
        return self._apart and time.monotonic() - last < _DYING

    def _kill(self, pid: int, what: str) -> None:
        self._strikes.append((time.monotonic(), what))
        self._struck[what] += 1
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            self._struck[f"{what}, too late"] += 1

    def _server(self) -> int:
        children = tree.children_of_this_process()
        return children[0] if children else 0

    async def _settle(self) -> None:
        """No call is running: what is left are supervisors that wait, each with its payload."""
        children = tree.children_reader()
        deadline = time.monotonic() + PATIENCE
        while left := [
            described(pid)
            for pid in tree.descendants(children(os.getpid()), children)
            if state_of(pid) != "S" or is_marked(pid)
        ]:
            if time.monotonic() > deadline:
                self._wrong.append(f"alive between calls: {left}")
                return
            await asyncio.sleep(0.02)

    def _belongings(self) -> dict[str, Any]:
        place = cgroups.probe()
        folders = {place.memory, place.pids} - {None} if place is not None else set()
        groups = [name for folder in folders for name in os.listdir(str(folder))]
        own = f"{cgroups.PREFIX}{os.getpid()}-"
        return {
            "descriptors": sorted(descriptors_of("self")),
            "children": len(tree.children_of_this_process()),
            "mounts": read("/proc/self/mountinfo").decode().splitlines(),
            "groups": [name for name in groups if name.startswith(own)],
            # Without the folder that holds all those of a user.
            "scratch": [str(path) for path in self._temporary.glob("*/**/*")],
            "project": os.listdir(self._project),
        }

    def _of_server(self) -> dict[str, Any]:
        server = self._server()
        return {
            "descriptors": len(descriptors_of(str(server))),
            "mounts": read(f"/proc/{server}/mountinfo").decode().splitlines(),
        }


def _excuses(call: Call, struck: list[str]) -> set[str]:
    """How a call may have ended because of this."""
    hits = [what for what in struck if what in (SERVER, SUPERVISOR, PAYLOAD)]
    found = {KILLED} if PAYLOAD in hits else set()
    if SERVER in hits or SUPERVISOR in hits:
        found.add(LOST)
    # A call that has run nothing yet is given another supervisor, once.
    if len(hits) + len(call.kind.steps) > 2:
        found.add(NOT_STARTED)
    return found


def _without_report(error: ToolError) -> str:
    if error.code is ErrorCode.EXECUTION_ERROR and error.message.startswith("the supervisor of"):
        return LOST
    if error.code is ErrorCode.SANDBOX_UNAVAILABLE and "no supervisor came up" in error.message:
        return NOT_STARTED
    return f"{error.code}: {error.message}"


def _of(completed: Completed, step: Step) -> str:
    if completed.timed_out:
        return LATE
    if completed.exceeded:
        return f"too much {completed.exceeded}"
    if completed.signal == signal.SIGKILL:
        return KILLED
    if (completed.exit_code, completed.stdout) == (step.exit_code, step.stdout):
        return DONE
    return str(completed)[:500]


def main() -> None:
    tier, count, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    kept = folder / "found.json"

    def work() -> None:
        chance = random.Random(20261120)
        calls = list(drawn(tier, count, count // PARTS * CALM, chance))
        found = asyncio.run(Soak(tier, folder, chance).run(calls))
        kept.write_text(json.dumps(found))

    adopted = adopting(work)
    print(json.dumps({**(json.loads(kept.read_bytes()) if kept.exists() else {}), **adopted}))


if __name__ == "__main__":
    main()
