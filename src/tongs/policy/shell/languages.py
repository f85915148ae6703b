"""Programs that read code of another language, or a command among their options."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tongs.policy.shell.dividing import divide, given_in
from tongs.policy.shell.started import Started, from_stdin, text_for_shell
from tongs.policy.shell.state import UNKNOWN, Findings, Invocation
from tongs.template.shell_interpreters import PROGRAMS

_LATER = frozenset({"at", "batch", "crontab"})
# Their text can start programs only by these words.
_LIMITED = {
    "awk": re.compile(r"system|getline|\||@|\0"),
    "sql": re.compile(r"\\!|\\copy|\.shell|\.system|system\b|\0"),
    "edit": re.compile(r"!|system|\0|:e\b"),
}
_KINDS = {
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), "awk"),
    **dict.fromkeys(("mysql", "mariadb", "psql", "sqlite3"), "sql"),
    **dict.fromkeys(("vim", "nvim", "vi", "view", "ed", "ex"), "edit"),
}
_HARMLESS_TEXT = frozenset({"jq", "yq", "gojq", "jaq", "make", "gmake", "rsync", "scp", "sftp"})
# One `sed` command that neither runs nor writes: an address, then `p`, `d`, `q` … or `s` or `y`.
_SED_SAFE = re.compile(
    r"\s*(?:(?:[0-9]+|\$|/(?:[^/\\\n]|\\.)*/)[~,+!]*\s*){0,2}"
    r"(?:[pdqPDNnGgHhx=]\s*|[sy](?P<d>[^\w\s\\])(?:(?!(?P=d))[^\\\n]|\\.)*(?P=d)"
    r"(?:(?!(?P=d))[^\\]|\\.)*(?P=d)[gpiIm0-9]*\s*)?(?:;|\n|\Z)"
)


def interpreted(
    name: str, words: Sequence[str], invocation: Invocation, findings: Findings
) -> Iterator[Started]:
    """Programs that read code of another language, or a command among their options."""
    interpreter = PROGRAMS.get(name) or PROGRAMS.get(re.sub(r"\d[\d.]*$", "", name))
    if interpreter is None or name in _HARMLESS_TEXT:
        return
    given = divide(words, interpreter.options)
    codes = [
        value
        for option, values in given.options
        if given_in(option, interpreter.program_options)
        for value in values[:1]
    ]
    if name in ("tar", "split", "sort", "script"):
        for code in codes:
            yield from text_for_shell(code.removeprefix("exec="), name, findings)
        return
    if name in _LATER:
        if not given.has(*interpreter.elsewhere):
            yield from from_stdin(name, invocation, findings)
        return
    elsewhere = given.has(*interpreter.elsewhere)
    if not codes and not elsewhere and interpreter.operand:
        operands = given.operands[interpreter.skip :]
        codes = operands if interpreter.rest else operands[:1]
    if not codes and not elsewhere and interpreter.stdin and not given.operands:
        codes = (
            [UNKNOWN] if invocation.stdin is None else [invocation.stdin] * bool(invocation.stdin)
        )
    for code in codes:
        _judge(name, code, findings)


def _judge(name: str, code: str, findings: Findings) -> None:
    """Whether a text of another language can start programs."""
    kind = _KINDS.get(name)
    if kind is not None:
        if _LIMITED[kind].search(code):
            findings.doubt(f"what {name} runs is not understood")
    elif name in ("sed", "gsed"):
        if not _sed_is_safe(code):
            findings.doubt(f"what {name} runs is not understood")
    else:
        findings.doubt(f"{name} runs a program text of another language")


def _sed_is_safe(code: str) -> bool:
    position = 0
    while position < len(code):
        match = _SED_SAFE.match(code, position)
        if match is None or match.end() == position:
            return False
        position = match.end()
    return True
