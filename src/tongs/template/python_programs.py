"""Refuse values in text that a Python source hands to a shell, or to Python, as a program.

A seat belt: quoting for Python says nothing about the program that reads the text. It sees the
call that a value stands in, and one name that carries it there; not what functions do with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tongs.template.placeholder import Mode, Placeholder
from tongs.template.python_source import Place, Spot
from tongs.template.values import TemplateError

_CALLEE = re.compile(r"[\w.]*\s*\Z")
# Their first argument is code.
_RUNS = re.compile(
    r"(?:builtins\.)?(?:eval|exec|compile)|(?:\w+\.)?(?:system|popen|get(?:status)?output"
    r"|create_subprocess_shell|run_shell_command)|timeit\.\w+"
)
# Theirs is if they say `shell=True`.
_MAY_RUN = re.compile(r"(?:\w+\.)*(?:run|call|check_call|check_output|Popen)")
_SHELL = re.compile(r"\bshell\s*=\s*(?:True|1)\b")
# What comes out is made of what goes in.
_PASSES_ON = re.compile(r"|str|(?:.*\.)?(?:format|join|strip|lower|upper|dedent|encode|replace)")
_QUOTES = re.compile(r"shlex\.\w+")
_KEYWORD = re.compile(r"[(,]\s*(\w+)\s*=(?!=)")
_CODE_KEYWORDS = frozenset({"args", "cmd", "command", "source", "stmt"})
# `['bash', '-c', '…']`
_SHELL_WORDS = re.compile(r"""['"](?:[\w/]*/)?(?:ba|da|z|k)?sh['"]\s*,\s*['"]-\w*c['"]\s*,\s*\Z""")
_ASSIGNED = re.compile(
    r"(?:^|;)[ \t]*(\w+)(?:[ \t]*:[^=\n]*)?[ \t]*\+?=(?!=)[^\n;]*\Z", re.MULTILINE
)


def refuse_program_text(text: str, spot: Spot, parentheses: Sequence[tuple[int, int]]) -> None:
    """Raise `TemplateError` if the value would be read as a program."""
    item = spot.item
    if not isinstance(item, Placeholder) or item.mode is Mode.RAW or item.slot.harmless:
        return
    if spot.place is not Place.COMMENT and _is_run(text, spot, parentheses):
        name = item.slot.name
        raise TemplateError(
            f"{name} would become part of a program's text",
            offset=item.start,
            hint=f"pass it as an argument: subprocess.run(['ls', '--', {{{name}}}]), "
            f"quote it: shlex.quote({{{name}}}), or write {{RAW:{name}}} to insert it as code",
            rule="second-interpreter",
        )


def _is_run(text: str, spot: Spot, parentheses: Sequence[tuple[int, int]]) -> bool:
    start = spot.literal.start if spot.literal else spot.item.start
    if _SHELL_WORDS.search(text, max(0, start - 60), start):
        return True
    enclosing = [pair for pair in parentheses if pair[0] < spot.item.start < pair[1]]
    # The innermost first.
    for opened, closed in sorted(enclosing, reverse=True):
        callee = _callee(text, opened)
        if _runs(text, callee, opened, closed, start):
            return True
        if _QUOTES.fullmatch(callee) or not _PASSES_ON.fullmatch(callee):
            return False
    assigned = _ASSIGNED.search(text, 0, start)
    return assigned is not None and any(
        _runs(text, _callee(text, opened), opened, closed, at)
        for opened, closed, at in _uses(text, assigned[1], start, parentheses)
    )


def _callee(text: str, opened: int) -> str:
    found = _CALLEE.search(text, max(0, opened - 80), opened)
    return found[0].strip() if found else ""


def _runs(text: str, callee: str, opened: int, closed: int, start: int) -> bool:
    """Whether this call runs what stands at `start`, among its arguments."""
    keywords = _KEYWORD.findall(text, opened, start)
    if keywords and keywords[-1] not in _CODE_KEYWORDS:
        return False
    if _RUNS.fullmatch(callee):
        # `eval("x", {"x": …})` names a value for the code.
        first = "," not in text[opened:start]
        return first or not callee.endswith(("eval", "exec", "compile"))
    return bool(_MAY_RUN.fullmatch(callee) and _SHELL.search(text, opened, closed))


def _uses(
    text: str, name: str, start: int, parentheses: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int, int]]:
    """The calls after `start` whose first argument is this name."""
    first = re.compile(rf"\(\s*{name}\b(?!\s*\()")
    for opened, closed in parentheses:
        if opened > start and (use := first.match(text, opened, closed)):
            yield opened, closed, use.end() - len(name)
