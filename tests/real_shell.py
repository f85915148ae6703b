"""Real shells for the tests of shell templates: run what was rendered, see what arrived."""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tongs.template import shell
from tongs.template.values import Slot, TemplateError, utf8

SHELLS = {"bash": "bash", "sh": "dash"}
# Its parts stand in every hostile value; whoever runs them leaves this file behind.
CANARY = "canary"

_ATTACKS = [
    "; touch canary",
    "$(touch canary)",
    "`touch canary`",
    "'; touch canary; '",
    '"; touch canary; "',
    "'\n touch canary\n'",
    '"\n touch canary\n"',
    "\ntouch canary\n",
    "\r\ntouch canary\r\n",
    "\nEOF\ntouch canary\ncat <<EOF\n",
    "\n\tEOF\ntouch canary\n",
    "\nX\ntouch canary\n",
    "${x:-$(touch canary)}",
    "}$(touch canary)",
    ") touch canary; (",
    ");touch canary;(",
    ";; *) touch canary;; esac; case x in x) :",
    " ]] ; touch canary; [[ x",
    "& touch canary &",
    "| touch canary",
    "&& touch canary",
    "|| touch canary",
    "\\'; touch canary; \\'",
    '\\"; touch canary; \\"',
    "\\`touch canary\\`",
    "\\$(touch canary)",
    "\\\\`touch canary\\\\`",
    "'\"'\"$(touch canary)\"'\"'",
    "$'\\'$(touch canary)",
    "> canary",
    "<(touch canary)",
    "a[$(touch canary)]",
    "x=$(touch canary)",
    "#\ntouch canary\n#",
    "\f$(touch canary)\v",
]
_ODDITIES = [
    "",
    " ",
    "  leading and trailing  ",
    "-n",
    "-e \\t",
    "--",
    "-",
    "~",
    "~root",
    "*",
    "/*",
    "[a-z]*",
    "?",
    "{a,b}",
    "{1..3}",
    "!!",
    "!$",
    "__t0",
    "${__t0}",
    '"${__t0}"',
    "{A}",
    "{{A}}",
    "{RAW:A}",
    "${A}",
    "'",
    '"',
    "\\",
    "\\\\",
    "'\\''",
    "a'b\"c`d\\e$f",
    "$",
    "$$",
    "$'x'",
    "%s%n%d",
    "\t\ttabs\t",
    "\n",
    "\n\n\n",
    "line\n",
    "a\nEOF\nb",
    "EOF",
    "\tEOF",
    "\r",
    "\x0b\x0c\x1b[31m\x7f",
    "‘’“”＇＂",
    "\u202e\u2028\u2029\u200b\ufeff",
    "😀é\u0301",
    "\udcff\udce2\udc82",
    "\udce2",
    "if",
    "esac",
    ")",
    "(",
    "<<EOF",
    "&",
    "|",
    ";",
    ";;",
    "#",
    "=",
    "a=b",
    "\x01\x02",
]
BLNS: list[str] = [
    # The list's own canary is a file outside of the test's folder.
    text.replace("/tmp/blns.fail", CANARY)
    for text in json.loads((Path(__file__).parent / "data/blns.json").read_text("utf-8"))
]
HOSTILE = [*_ATTACKS, *_ODDITIES]


def run(
    rendered: shell.Rendered, directory: Path, dialect: str = "bash", arguments: Sequence[str] = ()
) -> subprocess.CompletedProcess[bytes]:
    """Run a rendered script the way the executor does, in `directory`."""
    script = directory / ".script"
    script.write_bytes(utf8(rendered.script))
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    if rendered.preamble:
        preamble = directory / ".preamble"
        preamble.write_bytes(utf8(rendered.preamble))
        environment["BASH_ENV"] = str(preamble)
    return subprocess.run(
        [SHELLS[dialect], str(script), *arguments],
        cwd=directory,
        env=environment,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
        check=False,
    )


def output(
    text: str,
    values: Mapping[str, Any],
    directory: Path,
    dialect: str = "bash",
    known: Mapping[str, Slot] | None = None,
) -> bytes:
    """What the template prints with these values."""
    known = {name: Slot(name) for name in values} if known is None else known
    done = run(shell.compile(text, known, dialect=dialect).render(values), directory, dialect)
    assert done.stderr == b"", done.stderr
    return done.stdout


def accepted(script: str, dialect: str = "bash") -> bool:
    """The shell finds no syntax error, nothing is run."""
    # `shopt -s extglob` in the script is not run either.
    command = ["bash", "-O", "extglob", "-n"] if dialect == "bash" else ["dash", "-n"]
    done = subprocess.run(command, input=utf8(script), capture_output=True, check=False)
    return done.returncode == 0


def dialect_of(script: str) -> str:
    """By its first line."""
    return "bash" if "bash" in script.partition("\n")[0] else "sh"


@dataclass(frozen=True, slots=True)
class Insertions:
    """What became of a script with a placeholder at several places."""

    accepted: int
    refused: int
    # Loaded, but the shell finds a syntax error.
    broken: tuple[str, ...]


def insert_everywhere(script: str, positions: int, seed: int) -> Insertions:
    """Put `{A}` at so many places of a script, one at a time."""
    choose, dialect = random.Random(seed), dialect_of(script)
    accepted_ones = refused = 0
    broken: list[str] = []
    # After a dollar it would be the shell's own `${A}`.
    places = [at for at in range(len(script) + 1) if script[at - 1 : at] != "$"]
    for at in choose.sample(places, min(positions, len(places))):
        text = script[:at] + "{A}" + script[at:]
        try:
            rendered = shell.compile(text, {"A": Slot("A")}, dialect=dialect).render({"A": "x'\n"})
        except TemplateError:
            refused += 1
            continue
        if accepted(rendered.script, dialect):
            accepted_ones += 1
        else:
            broken.append(text[max(0, at - 60) : at + 40])
    return Insertions(accepted_ones, refused, tuple(broken))
