"""One call as rules look at it: who, what, with which arguments, and what it would start.

Commands are read once, when the first rule asks for them, however many rules there are.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from tongs.core.annotations import TYPE_CHECKING, Any, TypeAlias
from tongs.core.call import ToolCall
from tongs.core.errors import ToolError
from tongs.core.execution import CommandLine, Place, World
from tongs.core.permissions import absolute
from tongs.core.record import replace
from tongs.core.scope import Scope
from tongs.core.tool import Tool
from tongs.policy.targets import Ground

if TYPE_CHECKING:
    from tongs.policy.shell.reading import Reading

# Everything that a default rule could be about. An author's own text without any of these needs no
# reading; a caller's is always read, since it may be disguised.
# `re` compiles it when it is first needed, and keeps it: it is large, and a listing asks no rule.
_WORTH_READING = (
    r"\brm\b|\bg?rm\b|\bsrm\b|rimraf|\bdd\b|mkfs|mke2fs|mkswap|wipefs|blkdiscard|shred|\bfind\b|\bfd\b"
    r"|rsync|git|passwd|shadow|sudoers|\.ssh|id_[rde]|\.aws|\.gnupg|\.env|netrc|pgpass|credential"
    r"|\.kube|\.docker|gcloud|pypirc|npmrc|hosts\.yml|environ|shutdown|reboot|halt|poweroff|init"
    r"|systemctl|loginctl|kill|sysrq|/dev/|\(\)|function|base64|eval"
)
# A shell that nobody described: seed 001's built-in.
_SHELL = ("shell", "command")

Commands: TypeAlias = Callable[[Tool, Mapping[str, Any]], Sequence[CommandLine]]


def _no_commands(tool: Tool, arguments: Mapping[str, Any]) -> Sequence[CommandLine]:
    return ()


class Case:
    """One call, for all rules."""

    __slots__ = ("_commands", "_lines", "_readings", "call", "ground", "place", "tool")

    def __init__(
        self, call: ToolCall, tool: Tool, place: Place, ground: Ground, commands: Commands
    ) -> None:
        self.call = call
        self.tool = tool
        self.place = place
        self.ground = ground
        self._commands = commands
        self._lines: Sequence[CommandLine] | None = None
        self._readings: dict[int, Reading] = {}

    @property
    def lines(self) -> Sequence[CommandLine]:
        """What the call would run, as text or words."""
        if self._lines is None:
            self._lines = (*self._given(), *self._of_executor())
        return self._lines

    def reading(self, number: int) -> Reading:
        """What the line with this number starts."""
        if number not in self._readings:
            from tongs.policy.shell.reading import read_line  # noqa: PLC0415 - few calls need it

            self._readings[number] = read_line(self.lines[number], self.place.home)
        return self._readings[number]

    def worth_reading(self, number: int) -> bool:
        """Whether a default rule could have anything to say about a line."""
        line = self.lines[number]
        return line.given or bool(
            re.search(_WORTH_READING, line.text or " ".join(line.argv)) or line.stdin
        )

    def _given(self) -> Sequence[CommandLine]:
        tool, arguments = self.tool, self.call.arguments
        # The one that comes with Tongs has an executor that tells.
        shell = tool.name == _SHELL[0] and tool.origin.scope is not Scope.BUILTIN
        name = tool.command_argument or (_SHELL[1] if shell else "")
        if not name:
            return ()
        command = arguments.get(name)
        folder = arguments.get(tool.folder_argument)
        start = self.place.start
        cwd = absolute(folder, start, self.place.home) if isinstance(folder, str) else start
        if isinstance(command, str):
            return (CommandLine(cwd, text=command, given=True),)
        if isinstance(command, list | tuple) and command:
            return (CommandLine(cwd, argv=tuple(map(str, command)), given=True),)
        return ()

    def _of_executor(self) -> Sequence[CommandLine]:
        try:
            lines = self._commands(self.tool, self.call.arguments)
        except ToolError:
            # It cannot be made, so it cannot run: the executor will say the same.
            return ()
        values = tuple(_texts(self.call.arguments)) if lines else ()
        return [replace(line, values=values) for line in lines]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


class Look:
    """Makes the Case of a call; the same call twice is the same Case."""

    def __init__(self, place: Place, commands: Commands = _no_commands) -> None:
        self.place = place
        # Nobody moves the workspace or the home while we run.
        self._ground = Ground(os.path.realpath(place.root), os.path.realpath(place.home or "/"))
        self._commands = commands
        self._last: tuple[ToolCall, Tool, Case] | None = None

    def __call__(self, call: ToolCall, tool: Tool) -> Case:
        last = self._last
        if last is not None and last[0] is call and last[1] is tool:
            return last[2]
        case = Case(call, tool, self.place, self._ground, self._commands)
        self._last = (call, tool, case)
        return case


def commands_of(executors: Mapping[str, Any], world: World) -> Commands:
    """What the executors say that their tools start."""

    def commands(tool: Tool, arguments: Mapping[str, Any]) -> Sequence[CommandLine]:
        try:
            told = getattr(executors[tool.executor], "commands", None)
        except KeyError:
            return ()
        found: Sequence[CommandLine] = () if told is None else told(tool, arguments, world)
        return found

    return commands


def here() -> Look:
    """For rules used without a runtime: only what the arguments themselves say."""
    folder = os.path.abspath(os.curdir)
    return Look(Place(folder, home=os.path.expanduser("~")))
