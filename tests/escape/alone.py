"""One call in a process with one thread, as the command line is one.

A test worker has more threads than one, so it must not fork a payload itself.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Command, Completed, Event, Policy
from tongs.sandbox import create
from tongs.sandbox.host import Host
from tongs.sandbox.waiting import BlockingWaiter

ROOT = Path(__file__).resolve().parents[2]

# Stands in a command for the scratch folder, which only the session knows.
SCRATCH = "/scratch-of-the-session"


@dataclass(frozen=True)
class Call:
    key: str
    host: Host
    policy: Policy
    commands: tuple[Command, ...]


@dataclass(frozen=True)
class Made:
    """What came of a call."""

    completed: list[Completed]
    not_enforced: tuple[str, ...]
    failure: tuple[ErrorCode | str, str] | None


def call_alone(call: Call, file: Path, inherited: Sequence[int], *, forked: bool) -> Made:
    """Make the call in a process that has standard input, the environment and these descriptors.

    `forked` makes that process fork for it, as it does where nothing was compiled.
    """
    call = replace(call, host=replace(call.host, native=call.host.native and not forked))
    file.write_bytes(pickle.dumps(call))
    done = subprocess.run(
        [sys.executable, "-c", "import tests.escape.alone as a; a.main()", str(file)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        pass_fds=inherited,
        check=True,
        timeout=60,
    )
    made = pickle.loads(done.stdout)
    assert isinstance(made, Made)
    return made


def main() -> None:
    call = pickle.loads(Path(sys.argv[1]).read_bytes())
    sys.stdout.buffer.write(pickle.dumps(_made(call)))


def _made(call: Call) -> Made:
    completed: list[Completed] = []
    not_enforced: tuple[str, ...] = ()
    sandbox = create(call.key, direct=True, host=call.host)
    try:
        session = sandbox.open(call.policy, BlockingWaiter())
        try:
            not_enforced = tuple(session.not_enforced)
            for command in call.commands:
                try:
                    session.run(_filled(command, session.scratch), _ignore).send(None)
                except StopIteration as end:
                    completed.append(end.value)
        finally:
            session.close()
    except ToolError as error:
        return Made(completed, not_enforced, (error.code, error.message))
    finally:
        sandbox.close()
    return Made(completed, not_enforced, None)


def _filled(command: Command, scratch: str) -> Command:
    return replace(
        command,
        argv=tuple(word.replace(SCRATCH, scratch) for word in command.argv),
        environment={
            name: value.replace(SCRATCH, scratch) for name, value in command.environment.items()
        },
    )


def _ignore(event: Event) -> None:
    """Nobody watches live."""
