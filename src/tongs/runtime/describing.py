"""Asks a trusted executable what it is, behind walls, and remembers the answer.

`description` runs without network, without a place to write and with little time. What it said is
kept by the hash of its bytes, so an unchanged file is never asked again.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping

from tongs.config.environment import base_environment
from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.driving import drive
from tongs.core.errors import DefinitionInvalid, Problem, ToolError
from tongs.core.execution import Command, Completed, Event, Policy, Sandbox
from tongs.core.permissions import Limits, Permissions
from tongs.core.record import dataclass
from tongs.core.tool import Origin, Trust
from tongs.formats.executable import CONFIG, DESCRIPTION, LARGEST_COPY, Defaults, Described
from tongs.output import decoded, visible
from tongs.runtime.documents import program_bytes
from tongs.sandbox.failures import interpreter_missing
from tongs.store.cache import DefinitionCache

if TYPE_CHECKING:
    from tongs.core.execution import Session

# Seconds, and bytes of output.
PATIENCE = 10.0
LIMITS = Limits(memory=1024**3, processes=64, file_size=16 * 1024**2, output=1024**2)
# A failure may have been somebody else's (a program that is missing): it is believed for so long.
BELIEVED = 600.0
_HINT = "print JSON as `tongs schema description` says it, and nothing else"
# More than any tool that people write; the bytes are read whole, to be hashed.
_LARGEST = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Describer:
    cache: DefinitionCache
    sandbox: Callable[[], Sandbox]
    trust: Callable[[Origin], Trust]
    host: Mapping[str, str]
    settings: Defaults

    def read(self, path: str) -> bytes:
        """The bytes of an executable; ToolError if it cannot be read."""
        return program_bytes(path, _LARGEST)

    def described(self, origin: Origin, data: bytes, *, again: bool = False) -> Described:
        """What it says of itself. Raises DefinitionInvalid with what went wrong."""
        kept = told(
            *(self.cache, f"{origin.digest}.description", origin),
            lambda: self._asked(origin, data),
            again=again,
        )
        return Described(kept[DESCRIPTION], kept.get(CONFIG) or {})

    def _asked(self, origin: Origin, data: bytes) -> dict[str, Any]:
        try:
            said = self.answer(origin, data, DESCRIPTION)
        except ToolError as error:
            reason, hint = interpreter_missing(data) or (error.message, error.hint)
            problem = f"`description` could not be run: {reason}"
            return {"problem": problem, "hint": hint, "when": now()}
        problem, description = read_description(said)
        if problem:
            return {"problem": problem, "hint": _HINT, "when": now()}
        return {DESCRIPTION: description, CONFIG: self._config(origin, data)}

    def _config(self, origin: Origin, data: bytes) -> dict[str, Any]:
        """The answer to the optional verb; whoever does not know it has none."""
        try:
            said = self.answer(origin, data, CONFIG)
            answer = json.loads(said.stdout) if said.exit_code == 0 else {}
        except (ToolError, ValueError, RecursionError):
            return {}
        return {"timeout": answer["timeout"]} if has_timeout(answer) else {}

    def answer(self, origin: Origin, data: bytes, verb: str) -> Completed:
        """Run one verb behind walls, whoever trusts it."""
        copied = origin.project is not None and len(data) <= LARGEST_COPY
        real = os.path.realpath(origin.path)
        permissions = Permissions() if copied else Permissions(read=(real,))
        policy = Policy(permissions, LIMITS, os.path.dirname(real), f"{verb}-{origin.digest[:12]}")

        def command(session: Session) -> Command:
            path = session.write(os.path.basename(real), data) if copied else real
            environment = base_environment(self.host, session.scratch)
            return Command((path, verb), environment, "/", stdin=b"{}", timeout=PATIENCE)

        return asked(self.sandbox(), policy, command)


def told(
    cache: DefinitionCache,
    key: str,
    origin: Origin,
    ask: Callable[[], dict[str, Any]],
    *,
    again: bool = False,
) -> Mapping[str, Any]:
    """What a file has said of itself, or says now. Raises DefinitionInvalid for its `problem`."""
    kept: Mapping[str, Any] | None = None if again else cache.get(key)
    if kept is None or not is_fresh(kept):
        kept = ask()
        cache.put(key, kept)
    if "problem" in kept:
        hint = str(kept.get("hint", ""))
        problem = Problem(origin.path, kept["problem"], rule="description", hint=hint)
        raise DefinitionInvalid([problem])
    return kept


def asked(sandbox: Sandbox, policy: Policy, command: Callable[[Session], Command]) -> Completed:
    """What a command behind walls says, with nobody watching."""
    from tongs.sandbox.waiting import BlockingWaiter  # noqa: PLC0415 - where something is asked

    session = sandbox.open(policy, BlockingWaiter())
    try:
        return drive(session.run(command(session), ignore))
    finally:
        session.close()


def stopped(said: Completed, what: str) -> str:
    """Why the walls have ended it; empty where they have not."""
    if said.timed_out:
        return f"{what} took longer than {PATIENCE:.0f} s{last_words(said)}"
    return f"{what} passed limits.{said.exceeded}{last_words(said)}" if said.exceeded else ""


def last_words(said: Completed) -> str:
    stderr = decoded(said.stderr).strip()
    return f": {stderr[-500:]}" if stderr else ""


def read_description(said: Completed) -> tuple[str, Any]:
    """What is wrong with the answer, and the answer."""
    if reason := stopped(said, "`description`"):
        return reason, None
    if said.exit_code != 0:
        ended = f"exit code {said.exit_code}" if said.signal is None else f"signal {said.signal}"
        return f"`description` failed with {ended}{last_words(said)}", None
    if said.stdout_size > len(said.stdout):
        return f"`description` printed {said.stdout_size} bytes, more than {LIMITS.output}", None
    try:
        answer = json.loads(said.stdout)
    except (ValueError, RecursionError) as error:
        begins = visible(decoded(said.stdout[:60])).strip().partition("\n")[0]
        what = f"it begins with `{begins}`" if begins else "it is empty"
        return f"`description` did not print JSON: {what} ({error}){last_words(said)}", None
    if not isinstance(answer, dict):
        return "`description` printed JSON that is no object", None
    return "", answer


def is_fresh(kept: Mapping[str, Any]) -> bool:
    if isinstance(kept.get(DESCRIPTION), dict):
        return True
    when = kept.get("when")
    return isinstance(when, int | float) and 0 <= now() - when < BELIEVED


def has_timeout(answer: Any) -> bool:
    return isinstance(answer, dict) and answer.get("timeout") is not None


def now() -> float:
    return time.time()


def ignore(event: Event) -> None:
    """Nobody watches this."""
