"""The whole of it: what a script or a command line starts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tongs.core.execution import CommandLine
from tongs.core.record import dataclass, replace
from tongs.policy.shell.started import note_dialect
from tongs.policy.shell.state import Findings, Invocation, State
from tongs.policy.shell.tree import Doubt
from tongs.policy.shell.walking import Walker

# Nothing in such a text is read differently by anybody.
_PLAIN = re.compile(r"[A-Za-z0-9_./:=,@%+ -]*")


@dataclass(frozen=True, slots=True)
class Reading:
    """Every program that would start, what is not understood, and functions that multiply."""

    invocations: tuple[Invocation, ...]
    doubts: tuple[str, ...] = ()
    bombs: tuple[str, ...] = ()


def read_line(line: CommandLine, home: str) -> Reading:
    """What a call's command starts; a text that its caller wrote is read twice."""
    if line.argv:
        return read_words(line.argv, home=home, folder=line.cwd, stdin=line.stdin)
    reading = read_script(line.text, home=home, folder=line.cwd, twice=line.given)
    differing = Findings()
    note_dialect(line.shell, line.text, differing)
    return replace(reading, doubts=(*differing.doubts, *reading.doubts))


def read_script(text: str, *, home: str, folder: str, twice: bool = True) -> Reading:
    """What a shell does with a text; with `twice` a second reader has to agree."""
    findings = Findings()
    walker = Walker(findings, State(home, (folder,)))
    try:
        walker.text(text)
    except (Doubt, RecursionError) as doubt:
        findings.doubt(f"not understood: {doubt}")
    if twice and not _PLAIN.fullmatch(text):
        from tongs.policy.shell.grammar import disagreement  # noqa: PLC0415 - heavy, seldom needed

        if reason := disagreement(text):
            findings.doubt(reason)
    return _reading(findings)


def read_words(words: Sequence[str], *, home: str, folder: str, stdin: str = "") -> Reading:
    """What a program does that is started without a shell."""
    findings = Findings()
    walker = Walker(findings, State(home, (folder,)))
    try:
        walker.start(Invocation(tuple(words), (folder,), stdin=stdin))
    except Doubt as doubt:
        findings.doubt(f"not understood: {doubt}")
    return _reading(findings)


def _reading(findings: Findings) -> Reading:
    return Reading(tuple(findings.invocations), tuple(findings.doubts), tuple(findings.bombs))
