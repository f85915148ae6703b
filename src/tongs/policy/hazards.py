"""The default rules: what no caller should do without a person, and most should never do.

They judge what a command really does, so they have few words and many spellings. A rule of the
person's own config with the same name stands instead of one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tongs.core.annotations import TYPE_CHECKING, TypeAlias
from tongs.core.call import CallerKind, ToolCall
from tongs.core.decision import Decision, Verdict
from tongs.core.execution import CommandLine
from tongs.core.record import dataclass
from tongs.core.tool import Tool
from tongs.policy.deletions import deletions, forbidden_deletions
from tongs.policy.looking import Case, Look
from tongs.policy.secret_files import named_secrets, read_secrets
from tongs.policy.targets import Ground, Target, each_target, operands, shown

if TYPE_CHECKING:
    from tongs.policy.shell.reading import Reading

Judged: TypeAlias = Iterator[tuple[Decision, str]]


@dataclass(frozen=True, slots=True)
class DefaultRule:
    """`judge` looks at one command line of a call, `argue` at its arguments."""

    name: str
    summary: str
    decision: Decision
    look: Look
    judge: Callable[[Reading, CommandLine, Ground], Judged]
    argue: Callable[[Case, Ground], Judged] | None = None
    source: str = "default"

    @property
    def only_commands(self) -> bool:
        return self.argue is None

    def check(self, call: ToolCall, tool: Tool) -> Verdict | None:
        found = self._found(self.look(call, tool))
        if not found:
            return None
        decision, why = max(found, key=lambda one: one[0])
        if decision is Decision.ASK and _typed(call):
            return None
        return Verdict(
            decision, self.name, why, hint=f"tongs rules list shows the rule {self.name}"
        )

    def _found(self, case: Case) -> list[tuple[Decision, str]]:
        ground = case.ground
        found = [] if self.argue is None else [*self.argue(case, ground)]
        for number, line in enumerate(case.lines):
            if case.worth_reading(number):
                found += self.judge(case.reading(number), line, ground)
        return found


def _typed(call: ToolCall) -> bool:
    return call.caller.kind is CallerKind.PERSON or call.caller.agreed


def default_hazards(look: Look) -> tuple[DefaultRule, ...]:
    """Every default rule; the strict ones are for all callers, the questions for those who ask."""
    deny, ask = Decision.DENY, Decision.ASK
    whole = "deletes whole folders"
    outside = f"{whole}: outside of the workspace, the workspace itself, or .git"
    device = "writes to a device, or makes a file system"
    secret = "reads passwords, keys or .env"
    unclear = "a command of the caller that cannot be understood"
    return (
        DefaultRule("recursive-deletion", outside, deny, look, forbidden_deletions),
        DefaultRule("delete-inside", f"{whole} inside of the workspace", ask, look, deletions),
        DefaultRule("device-write", device, deny, look, _devices),
        DefaultRule("fork-bomb", "starts itself again without end", deny, look, _bombs),
        DefaultRule("shutdown", "stops or restarts the machine", deny, look, _shutdowns),
        DefaultRule("secret-files", secret, deny, look, read_secrets, named_secrets),
        DefaultRule("not-understood", unclear, ask, look, _doubts),
    )


# -- devices


_HARMLESS_DEVICES = re.compile(
    r"/dev/(?:null|zero|full|random|urandom|std(?:in|out|err)|tty\w*|pts/.*|fd/.*|shm(?:/.*)?|ptmx"
    r"|tcp/.*|udp/.*|log)"
)
_MAKES_SYSTEMS = re.compile(r"mkfs(?:\..*)?|mke2fs|mkswap|wipefs|blkdiscard|mkdosfs|mkntfs")
_PARTITIONS = frozenset({"fdisk", "sfdisk", "cfdisk", "parted", "sgdisk", "gdisk"})
_WRITERS = frozenset({"tee", "cp", "mv", "install", "shred", "truncate", "ddrescue", "pv"})


def _devices(reading: Reading, line: CommandLine, ground: Ground) -> Judged:
    for invocation in reading.invocations:
        name, words = invocation.program, invocation.words[1:]
        if _MAKES_SYSTEMS.fullmatch(name):
            yield Decision.DENY, f"`{invocation.shown}` makes or wipes a file system"
        written = list(invocation.writes)
        if name in ("dd", "dcfldd"):
            written += [word[3:] for word in words if word.startswith("of=")]
        elif name in _PARTITIONS and not any(word in ("-l", "--list", "print") for word in words):
            written += operands(words)
        elif name in _WRITERS:
            named = operands(words)
            written += named if name in ("tee", "shred", "truncate") else named[-1:]
        for word in written:
            for place in each_target(word, invocation):
                if place is not None and _is_device(place):
                    yield Decision.DENY, f"`{invocation.shown}` writes to {shown(place)}"


def _is_device(place: Target) -> bool:
    path = place.path
    if path == "/proc/sysrq-trigger":
        return True
    return path.startswith("/dev/") and not _HARMLESS_DEVICES.fullmatch(path)


def _bombs(reading: Reading, line: CommandLine, ground: Ground) -> Judged:
    for name in reading.bombs:
        yield Decision.DENY, f"the function {name} starts itself again beside itself"


# -- shutdown


_STOPS = frozenset({"shutdown", "reboot", "halt", "poweroff", "telinit"})
_STOPPING = frozenset(
    "poweroff reboot halt kexec emergency rescue suspend hibernate soft-reboot".split()
)

_TARGET = re.compile(r"(?:poweroff|reboot|halt|rescue|emergency|kexec)\.target")


def _shutdowns(reading: Reading, line: CommandLine, ground: Ground) -> Judged:
    for invocation in reading.invocations:
        if _stops(invocation.program, invocation.words[1:]):
            yield Decision.DENY, f"`{invocation.shown}` stops the machine or everything on it"


def _stops(name: str, words: tuple[str, ...]) -> bool:
    if name in _STOPS:
        return not {"--help", "--version"} & {*words}
    if name == "init":
        return words[:1] in (("0",), ("6",), ("1",))
    if name == "kill":
        return "-1" in words[1:]
    if name in ("systemctl", "loginctl"):
        return bool(_STOPPING & {*operands(words)[:1]}) or any(map(_TARGET.match, words))
    return False


def _doubts(reading: Reading, line: CommandLine, ground: Ground) -> Judged:
    if line.given:
        for doubt in reading.doubts[:1]:
            yield Decision.ASK, f"the command cannot be understood: {doubt}"
