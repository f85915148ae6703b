"""What is known of the commands and variables of the shell itself."""

from __future__ import annotations

import re

from tongs.policy.shell.tree import Command, Compound, Pipeline, Simple, Substitution, Word

DECLARATIONS = frozenset({"declare", "typeset", "local", "export", "readonly"})
# Their words are names of variables, which bash evaluates, or arithmetic.
EVALUATING = frozenset(
    {
        *("let", "unset", "read", "test", "[", "mapfile", "readarray", "getopts", "wait", "printf"),
        *DECLARATIONS,
    }
)
# Bash expands the values of these again, or takes them for a program.
EXPANDED = frozenset({"PS0", "PS1", "PS2", "PS4", "PROMPT_COMMAND", "BASH_ENV", "ENV"})
LEAVING = frozenset({"exit", "return", "die", "fail", "abort", "fatal"})
# Beside them stand names and arithmetic.
NUMERIC = frozenset({"-v", "-R", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
SUBSTITUTED = re.compile(r"\$\(|`")
SETTING = re.compile(r"(?<![=!<>])=(?!=)|<<=|>>=|\+\+|--")
NAMES = re.compile(r"[A-Za-z_]\w*", re.ASCII)
# What they print is a number, whatever they read.
COUNTERS = frozenset("wc date nproc stat expr bc seq id tput stty du df getconf echo".split())
# After these a name means another program.
RENAMING: dict[str, tuple[re.Pattern[str], str]] = {
    "hash": (re.compile("-p"), "hash -p gives a program another name"),
    "enable": (re.compile(""), "enable changes the commands of the shell"),
    "alias": (re.compile(".+="), "alias gives a command another name"),
}


def name_of(command: Command) -> str:
    return command.words[0].raw if isinstance(command, Simple) and command.words else ""


def gives_up(command: Command) -> bool:
    if isinstance(command, Compound) and command.kind == "{" and command.scripts[0].items:
        return gives_up(command.scripts[0].items[-1].command)
    return name_of(command) in LEAVING


def counts(value: Word) -> bool:
    """`$(… | wc -l)` and `$(( … ))` are numbers."""
    for piece in value.pieces:
        if isinstance(piece, Substitution):
            command = piece.body.items[-1].command if piece.body.items else None
            last = command.parts[-1] if isinstance(command, Pipeline) else command
            if last is None or name_of(last) not in COUNTERS:
                return False
        elif getattr(piece, "name", None):
            return False
    return True
