"""Runs attacks: the world outside that they share, and the one way to run one of them."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from tests.escape import alone
from tests.escape.attack import DIRECT, FORKED, PLAIN, SHARED, Attack
from tests.escape.payload import BEGAN, DONE, ESCAPED, REFUSED, bash_source, python_source
from tests.escape.plain import PlainSession, kill_marked
from tests.escape.scene import Ground, Places, Scene, differences
from tests.escape.servers import Servers
from tests.escape.victim import Victim

from tongs.config.environment import uses_native
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Command, Completed, Event, Policy, Sandbox, Session
from tongs.core.permissions import Limits, Permissions
from tongs.sandbox import create
from tongs.sandbox.host import Host
from tongs.sandbox.waiting import BlockingWaiter

T = TypeVar("T")

PATH = "/usr/local/bin:/usr/bin:/bin"
# Which fork server is attacked: TONGS_NATIVE=0 takes the one in Python.
NATIVE = uses_native(os.environ)

NEVER_BEGAN = "the payload never began"
# How long its start may take at most.
PATIENCE = 10.0


@dataclass(frozen=True)
class Outcome:
    """How a run ended. An attack got through if there is evidence, and held if there is none."""

    evidence: tuple[str, ...]
    refusals: tuple[str, ...]
    output: str
    not_enforced: tuple[str, ...]
    # Why nothing can be concluded from this run, such as a payload that never got to its attack.
    unsound: str


@dataclass(frozen=True)
class Ran:
    """What came of the processes of one call."""

    completed: list[Completed]
    not_enforced: tuple[str, ...] = ()
    error: ToolError | None = None

    @property
    def text(self) -> str:
        texts = [one.output.decode(errors="replace") for one in self.completed]
        return "\n".join([*texts, *([f"refused: {self.error.message}"] if self.error else [])])

    def unsound(self, attack: Attack, key: str) -> str:
        if self.error is not None:
            foreseen = {attack.refused.get(key)} | (
                {ErrorCode.EXECUTION_ERROR} if attack.deadly else set()
            )
            return "" if self.error.code in foreseen else f"the call failed: {self.error}"
        for one in self.completed:
            lines = one.stdout.splitlines()
            if BEGAN.encode() not in lines:
                return NEVER_BEGAN
            if DONE.encode() not in lines and not attack.deadly:
                return f"the payload broke off: {one.exit_code} {one.signal}"
        return ""


@dataclass(frozen=True)
class Call:
    """A call in progress: its commands run one after the other."""

    session: Session
    scene: Scene

    def run(self, *argv: str, timeout: float = 30.0) -> Completed:
        environment = {
            "PATH": PATH,
            "HOME": str(self.scene.home),
            "LANG": "C.UTF-8",
            "TMPDIR": self.session.scratch,
        }
        command = Command(argv, environment, str(self.scene.project), timeout=timeout)
        return driven(self.session.run(command, ignore))


class World:
    """Everything outside that attacks share."""

    def __init__(self, base: Path) -> None:
        self._base = base
        # Every scene has the same path, though not always the same folders: one host serves them.
        self._places = Places(base / "scene")
        self._ground: Ground | None = None
        self._sandboxes: dict[str, Sandbox] = {}
        self.python = python_on(PATH)
        self._host = Host(
            home=str(self._places.home),
            state=str(self._places.state),
            authority=(str(self._places.user_folder),),
            search_path=PATH,
            programs=(self.python, str(self._places.project / ".venv/bin/python")),
            native=NATIVE,
        )
        sockets = base / "sockets"
        sockets.mkdir()
        self.servers = Servers(sockets)
        self._victims = base / "victim"
        self._victims.mkdir()
        self._victim_secret = f"secret-{secrets.token_hex(12)}"
        self.victim = self._new_victim()

    def run(self, attack: Attack, key: str) -> Outcome:
        """One attack in one tier, or as its control."""
        outcome = self._run_once(attack, key)
        lame = key == attack.control and not outcome.evidence
        if (lame or outcome.unsound == NEVER_BEGAN) and attack.timeout < PATIENCE:
            # On a machine with other things to do even the start took longer than that.
            outcome = self._run_once(replace(attack, timeout=PATIENCE), key)
        return outcome

    def _run_once(self, attack: Attack, key: str) -> Outcome:
        with self.scene(control=key == attack.control) as scene:
            scene.open = lambda wanted: self._opened(key, scene, wanted)
            scene.known |= attack.arrange(scene)
            before = scene.snapshot(attack.permissions)
            self.servers.reached()
            mark = secrets.token_hex(12)
            try:
                ran = self._ran(attack, key, scene, mark)
                scene.result = ran
                output = ran.text
                lines = output.splitlines()
                evidence = [
                    *(line for line in lines if line.startswith(ESCAPED)),
                    *("a secret was printed" for one in self._secrets(scene) if one in output),
                    *differences(before, scene.snapshot(attack.permissions)),
                    *self.servers.reached(),
                    *attack.evidence(scene),
                    *self._victim_changes(),
                ]
            finally:
                outlived = kill_marked(mark)
        return Outcome(
            tuple(dict.fromkeys([*evidence, *outlived])),
            tuple(line.split()[1] for line in lines if line.startswith(REFUSED)),
            output,
            ran.not_enforced,
            ran.unsound(attack, key),
        )

    @contextmanager
    def scene(self, *, control: bool) -> Iterator[Scene]:
        """What one run needs, all of it as nobody has touched it."""
        if self._ground is None:
            self._ground = Ground(self._places)
        made = Scene(self._ground, control, self.servers)
        made.known |= self.servers.known | self.victim.known()
        made.known |= {"tongs": os.getpid(), "python": self.python, "control": control}
        try:
            yield made
        finally:
            try:
                made.stack.close()
            finally:
                if self._ground.touched:
                    self._ground.remove()
                    self._ground = None

    @contextmanager
    def call(
        self,
        key: str,
        permissions: Permissions,
        *,
        scene: Scene | None = None,
        programs: tuple[str, ...] = (),
    ) -> Iterator[Call]:
        """One call of an honest tool; in a scene of its own unless one is given."""
        if scene is None:
            with self.scene(control=False) as made, self.call(key, permissions, scene=made) as call:
                yield call
            return
        host = replace(self._host, programs=(*self._host.programs, *programs))
        sandbox = create(key, direct=False, host=host) if programs else self._sandbox(key, SHARED)
        try:
            project = str(scene.project)
            policy = Policy(scene.permissions(permissions), Limits(), project, "work", project)
            session = sandbox.open(policy, BlockingWaiter())
            try:
                yield Call(session, scene)
            finally:
                session.close()
        finally:
            if programs:
                sandbox.close()

    def close(self) -> None:
        for sandbox in self._sandboxes.values():
            sandbox.close()
        self.victim.close()
        self.servers.close()

    def _ran(self, attack: Attack, key: str, scene: Scene, mark: str) -> Ran:
        source = bash_source if attack.bash else python_source
        shell = ("bash", "-c") if attack.bash else (self.python, "-I", "-S", "-c")

        def command(script: str, scratch: str) -> Command:
            environment = {
                "PATH": PATH,
                "HOME": str(scene.home),
                "LANG": "C.UTF-8",
                "TMPDIR": scratch,
                "ESCAPE_MARK": mark,
            }
            argv = (*shell, source(script, {**scene.known, "scratch": scratch}))
            cwd = str(scene.project / attack.cwd)
            return Command(argv, environment, cwd, timeout=attack.timeout)

        if key == PLAIN:
            with PlainSession(tuple(scene.kept.get("inherited", ()))) as session:
                return Ran([session.run(command(attack.script, session.scratch))])
        return self._confined(attack, key, scene, command)

    def _confined(
        self, attack: Attack, key: str, scene: Scene, command: Callable[[str, str], Command]
    ) -> Ran:
        permissions = scene.permissions(attack.permissions)
        cwd = str(scene.project / attack.cwd)
        policy = Policy(permissions, attack.limits, str(scene.project), "escape", cwd)
        if attack.launch in (DIRECT, FORKED):
            return self._alone(attack, key, scene, policy, command)
        completed: list[Completed] = []
        not_enforced: tuple[str, ...] = ()
        sandbox = self._sandbox(key, attack.launch)
        try:
            session = sandbox.open(policy, BlockingWaiter())
            try:
                not_enforced = tuple(session.not_enforced)
                for script in filter(None, (attack.script, attack.then)):
                    if completed and attack.between is not None:
                        attack.between(scene, session)
                    wanted = command(script, session.scratch)
                    completed.append(driven(session.run(wanted, ignore)))
            finally:
                session.close()
        except ToolError as error:
            return Ran(completed, not_enforced, error)
        finally:
            if attack.launch != SHARED:
                sandbox.close()
        return Ran(completed, not_enforced)

    def _alone(
        self,
        attack: Attack,
        key: str,
        scene: Scene,
        policy: Policy,
        command: Callable[[str, str], Command],
    ) -> Ran:
        call = alone.Call(key, self._host, policy, (command(attack.script, alone.SCRATCH),))
        made = alone.call_alone(
            call,
            self._base / "call",
            scene.kept.get("inherited", ()),
            forked=attack.launch == FORKED,
        )
        error = ToolError(*made.failure) if made.failure else None
        return Ran(made.completed, made.not_enforced, error)

    def _sandbox(self, key: str, launch: str) -> Sandbox:
        if launch != SHARED:
            return create(key, direct=False, host=self._host)
        if key not in self._sandboxes:
            self._sandboxes[key] = create(key, direct=False, host=self._host)
        return self._sandboxes[key]

    def _opened(self, key: str, scene: Scene, wanted: Permissions) -> Session:
        """Another call beside the attack."""
        policy = Policy(scene.permissions(wanted), Limits(), str(scene.project), "neighbour")
        return self._sandbox(key, SHARED).open(policy, BlockingWaiter())

    def _victim_changes(self) -> list[str]:
        changes = self.victim.changed()
        if changes:
            self.victim.close()
            self.victim = self._new_victim()
        return changes

    def _new_victim(self) -> Victim:
        return Victim(self.python, self._victims, self._victim_secret)

    def _secrets(self, scene: Scene) -> tuple[str, ...]:
        return (*scene.secrets, self._victim_secret)


def driven(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends, as the command line does."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]  # the coroutine's own type
    raise AssertionError("it suspended")


def ignore(event: Event) -> None:
    """Nobody watches live."""


def python_on(path: str) -> str:
    """The system's interpreter where there is one, since it lies where every view has it."""
    return shutil.which("python3", path=path) or os.path.realpath(sys.executable)
