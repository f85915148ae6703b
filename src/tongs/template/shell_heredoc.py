"""Read heredocs: the delimiter after `<<`, and the body below the line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tongs.core.record import dataclass
from tongs.template.shell_cursor import NAME, Command, Edit, Quote
from tongs.template.shell_words import WordScanner

_DELIMITER = re.compile(r"""(?:[^ \t\n|&;()<>'"`\\$]|\\.|'[^'\n\\]*'|"[^"\n$`\\]*")+""")
_QUOTES = re.compile(r"""\\(.)|['"]""")
_AFTER_DELIMITER = " \t\n|&;()<>"
_PLAIN = re.compile(r"[^`\\${]+")
_ACTIVE = re.compile(r"[\\$`]")


@dataclass(frozen=True, slots=True)
class Heredoc:
    """A heredoc whose body is still to come; `text[start:end]` spells its delimiter."""

    operator: int
    start: int
    end: int
    delimiter: str
    quoted: bool
    tabs: bool
    command: Command


def read_delimiter(scanner: WordScanner, operator: int, command: Command, *, tabs: bool) -> Heredoc:
    """The word after `<<`, which stands at `operator`."""
    match = _DELIMITER.match(scanner.text, scanner.pos, scanner.end)
    after = scanner.text[match.end() : match.end() + 1] if match else "$"
    if match is None or after not in _AFTER_DELIMITER:
        scanner.doubt("this heredoc delimiter is not understood", operator)
    if scanner.has_mark_before(match.end()):
        scanner.doubt("a heredoc delimiter cannot be a placeholder", operator)
    spelled = match.group()
    plain = _QUOTES.sub(r"\1", spelled)
    scanner.pos = match.end()
    return Heredoc(operator, match.start(), match.end(), plain, plain != spelled, tabs, command)


def read_bodies(scanner: WordScanner, heredocs: Sequence[Heredoc]) -> None:
    """At the start of a line: the bodies of the heredocs opened on the line before."""
    line_end = scanner.pos - 1
    for heredoc in heredocs:
        if "\n" in scanner.text[heredoc.operator : line_end].replace("\\\n", ""):
            scanner.doubt("the line of a heredoc goes on over a line break", heredoc.operator)
        first = len(scanner.sites)
        end, after = _find_end(scanner, heredoc)
        if not heredoc.quoted:
            heredoc.command.stdin_text += scanner.text[scanner.pos : end]
        if scanner.has_mark_before(end):
            if heredoc.quoted:
                _read_verbatim(scanner, heredoc, end)
            else:
                _read_expanded(scanner, end)
        scanner.pos = after
        heredoc.command.stdin += scanner.sites[first:]


def _find_end(scanner: WordScanner, heredoc: Heredoc) -> tuple[int, int]:
    """Where the body ends, and where the line after the delimiter starts."""
    at, joined = scanner.pos, False
    while True:
        if at >= scanner.end:
            scanner.doubt(f"no line {heredoc.delimiter} ends the heredoc", heredoc.operator)
        line_end = scanner.text.find("\n", at, scanner.end)
        line_end = scanner.end if line_end < 0 else line_end
        line = scanner.text[at:line_end]
        if not joined and (line.lstrip("\t") if heredoc.tabs else line) == heredoc.delimiter:
            return at, min(line_end + 1, scanner.end)
        # Where expansions are read, a backslash at its end joins a line with the next.
        backslashes = len(line) - len(line.rstrip("\\"))
        joined = not heredoc.quoted and backslashes % 2 == 1
        at = line_end + 1


def _read_expanded(scanner: WordScanner, end: int) -> None:
    """`<<EOF`: like `"…"`, but a quote is a plain character."""
    whole, scanner.end = scanner.end, end
    while scanner.pos < end:
        if not scanner.skip(_PLAIN):
            scanner.expansion(Quote.HEREDOC)
    scanner.end = whole


def _read_verbatim(scanner: WordScanner, heredoc: Heredoc, end: int) -> None:
    """Turn `<<'EOF'` into `<<EOF` with the author's own `$`, backslash and backtick escaped.

    The value then stays in its variable, and no line of it can end the heredoc.
    """
    if scanner.origin is not None:
        scanner.doubt("a quoted heredoc in backticks cannot hold a placeholder", hint="use $( … )")
    if not NAME.fullmatch(heredoc.delimiter):
        scanner.doubt(
            "this heredoc's delimiter is no plain word", heredoc.operator, hint="write <<'EOF'"
        )
    scanner.edits.append(Edit(heredoc.start, heredoc.end, heredoc.delimiter))
    for active in _ACTIVE.finditer(scanner.text, scanner.pos, end):
        scanner.edits.append(Edit(active.start(), active.start(), "\\"))
    scanner.take_marks_before(end, Quote.VERBATIM)
