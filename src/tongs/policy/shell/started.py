"""What a program starts, before anybody has followed it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tongs.core.annotations import Any
from tongs.core.record import dataclass
from tongs.policy.shell.state import ANY, ONE, SET, SPELLED, UNKNOWN, Findings, Invocation


@dataclass(frozen=True, slots=True)
class Started:
    """What a program starts: programs with their words, or a text that a shell reads."""

    words: tuple[Invocation, ...] | None = None
    text: str = ""
    by: str = ""
    same_shell: bool = False
    positional: tuple[str, ...] | None = None
    # Where the shell starts, if not where its parent is.
    folders: tuple[str, ...] | None = None


# Where another shell than bash would see other words, or other commands.
_DIFFERS = re.compile(r"\$['\"]|&>|\|&|[<>]\(|<<<|\(\(|\[\[|\bcoproc\b|\bfunction\b|\$\[")
_OTHER_LANGUAGES = frozenset({"fish", "csh", "tcsh"})
_OTHERS = frozenset({"sh", "dash", "ash", "ksh", "mksh", "yash", "zsh"})


def note_dialect(shell: str, text: str, findings: Findings) -> None:
    """What bash would do with a text says nothing about a shell that reads it differently."""
    if shell in _OTHER_LANGUAGES:
        findings.doubt(f"{shell} has a language of its own")
    elif shell in _OTHERS and (found := _DIFFERS.search(text)):
        findings.doubt(f"{shell} may read `{found[0]}` in another way than bash")


def text_for_shell(text: str, by: str, findings: Findings, **more: Any) -> Iterator[Started]:
    """A text for a shell, if it is known."""
    note_dialect(by.partition(" ")[0], text, findings)
    if UNKNOWN in text:
        findings.doubt(f"what {by} runs is not known")
    for mark in (ANY, ONE, SET):
        text = text.replace(mark, SPELLED[mark])
    yield Started(text=text.replace(UNKNOWN, "x"), by=by, **more)


def from_stdin(name: str, invocation: Invocation, findings: Findings) -> Iterator[Started]:
    """A shell that reads its commands from standard input."""
    if invocation.stdin is None:
        findings.doubt(f"what {name} reads and runs is not known")
    elif invocation.stdin:
        yield from text_for_shell(invocation.stdin, name, findings)
