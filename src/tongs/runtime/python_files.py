"""Asks a trusted Python tool file which tools it has, behind walls, and remembers the answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from tongs.config.environment import base_environment
from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.errors import ToolError
from tongs.core.execution import Command, Completed, Policy, Sandbox
from tongs.core.permissions import Permissions
from tongs.core.record import dataclass
from tongs.core.tool import Origin, Trust
from tongs.executors.python import OPTIONS, RUNNER, answer_of, runner
from tongs.executors.python_file import opening
from tongs.formats.python_file import interpreter, programs
from tongs.runtime.describing import LIMITS, PATIENCE, asked, last_words, now, stopped, told
from tongs.store.cache import DefinitionCache
from tongs.template.python_file import PythonFilePlan

if TYPE_CHECKING:
    from tongs.core.execution import Session

# The key under which the answer is kept.
TOOLS = "description"


@dataclass(frozen=True, slots=True)
class PythonFiles:
    cache: DefinitionCache
    sandbox: Callable[[], Sandbox]
    trust: Callable[[Origin], Trust]
    host: Mapping[str, str]

    def described(self, origin: Origin, data: bytes) -> list[Mapping[str, Any]]:
        """What the file says of its tools. Raises DefinitionInvalid with what went wrong."""
        key = f"{origin.digest}.python"
        kept = told(self.cache, key, origin, lambda: self._asked(origin, data))
        found: list[Mapping[str, Any]] = kept[TOOLS]["tools"]
        return found

    def _asked(self, origin: Origin, data: bytes) -> dict[str, Any]:
        try:
            said = self._answer(origin, data)
        except ToolError as error:
            return {"problem": f"it could not be imported: {error.message}", "when": now()}
        problem, tools = _read(said)
        return {"problem": problem, "when": now()} if problem else {TOOLS: {"tools": tools}}

    def _answer(self, origin: Origin, data: bytes) -> Completed:
        """Import it: no network, nothing to write, little time."""
        python, package = interpreter()
        plan = PythonFilePlan(origin.path, data, "", python, package)
        mark = f"description-{origin.digest[:12]}"
        policy = Policy(Permissions(), LIMITS, "/", mark, programs=programs())

        def command(session: Session) -> Command:
            return Command(
                argv=(python, *OPTIONS, session.write(RUNNER, runner())),
                environment=base_environment(self.host, session.scratch),
                cwd="/",
                stdin=opening(plan, describe=True) + b"\n{}",
                timeout=PATIENCE,
            )

        return asked(self.sandbox(), policy, command)


def _read(said: Completed) -> tuple[str, Any]:
    """What is wrong with the answer, and the answer."""
    if reason := stopped(said, "importing it"):
        return reason, None
    head, text = answer_of(said)
    if head.get("answer") == "error":
        facts = json.loads(text)
        where = f" ({facts['traceback'][-1]})" if facts.get("traceback") else ""
        if facts["where"] == "tools":
            return str(facts["message"]), None
        return f"importing it raised {facts['exceptionType']}: {facts['message']}{where}", None
    if head.get("answer") != "json" or said.exit_code != 0:
        return f"importing it ended with exit code {said.exit_code}{last_words(said)}", None
    if said.stdout_size > len(said.stdout):
        return f"its tools are described by more than {LIMITS.output} bytes", None
    return "", json.loads(text)
