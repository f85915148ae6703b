"""For which calls, where and until when an answer is to hold: the questions after `A` and `N`."""

from __future__ import annotations

import os.path
import time
from collections.abc import Iterator, Mapping

from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.approval import ApprovalRequest, Remember, Span
from tongs.core.moments import utc
from tongs.core.record import dataclass
from tongs.core.tool import Level, Tool
from tongs.policy.argument_tests import plain_host
from tongs.policy.when import BELOW, in_words
from tongs.schema.units import duration

if TYPE_CHECKING:
    from tongs.approvers.terminal import Terminal

_SPANS = {"s": Span.SESSION, "p": Span.PROJECT, "u": Span.USER}
_IN_WORDS = {
    Span.SESSION: "until this process ends",
    Span.PROJECT: "in this project",
    Span.USER: "in every project",
}
_FOREVER = 100 * 365 * 86400.0
_LONGEST_PATH = 4096


@dataclass(frozen=True, slots=True)
class _Choice:
    text: str
    when: Mapping[str, Any]
    # What is asked further: `folder` or `names`.
    further: str = ""
    parameter: str = ""


def chosen(terminal: Terminal, request: ApprovalRequest, *, approved: bool) -> Remember | None:
    """What the person wants to be held to; None if they went back."""
    verb = "always allow" if approved else "never allow"
    when = _when(terminal, request, verb)
    span = None if when is None else _span(terminal, request, approved=approved)
    if when is None or span is None:
        return None
    until = _until(terminal)
    if until is None:
        return None
    ends = f", until {until}" if until else ""
    terminal.show(f"{verb}: {in_words(when)}, {_IN_WORDS[span]}{ends}")
    risks = _risks(request, when) if approved else []
    for risk in risks:
        terminal.show(f"  ! {risk}")
    if risks and not terminal.agrees("allow that without a question?"):
        return None
    return Remember(when, span, until)


def _when(terminal: Terminal, request: ApprovalRequest, verb: str) -> Mapping[str, Any] | None:
    choices = list(_choices(request))
    terminal.show(f"{verb} what?")
    for number, choice in enumerate(choices, 1):
        terminal.show(f"  {number}  {choice.text}")
    answer = terminal.ask(f"1 to {len(choices)} (empty: back): ")
    if not answer or not answer.isdigit() or not 1 <= int(answer) <= len(choices):
        return None
    choice = choices[int(answer) - 1]
    if choice.further == "folder":
        return _below(terminal, request, choice)
    if choice.further == "names":
        return _with_some(terminal, request)
    return choice.when


def _choices(request: ApprovalRequest) -> Iterator[_Choice]:
    if request.whole:
        yield from _by_arguments(request)
    yield _Choice(f"{request.tool}, whatever its arguments", {"tool": request.tool})
    for tag in request.tags:
        yield _Choice(f"every tool tagged {tag}", {"tag": tag})


def _by_arguments(request: ApprovalRequest) -> Iterator[_Choice]:
    tool, base = request.tool, request.project
    yield _Choice("this very call", {"tool": tool, "arguments": dict(request.args)})
    for name, value in request.args.items():
        if host := plain_host(value):
            when = {"tool": tool, "argument": {name: {"host": [host]}}}
            yield _Choice(f"{tool} where {name} is on {host}", when)
        elif _is_path(value, base):
            folder = os.path.dirname(_located(value, base))
            when = {"tool": tool, "argument": {name: {"path": [folder.rstrip("/") + BELOW]}}}
            yield _Choice(f"{tool} where {name} lies below a folder", when, "folder", name)
    if request.args:
        yield _Choice(f"{tool} with some of these arguments as they are", {}, "names")


def _is_path(value: Any, base: str) -> bool:
    """Whether a value names a place; what some programs expand and others do not names none."""
    if not isinstance(value, str) or not value or "\0" in value or value[0] == "~":
        return False
    if len(value) > _LONGEST_PATH:
        return False
    return "/" in value or os.path.lexists(os.path.join(base, value))


def _located(value: str, base: str) -> str:
    """The path that a value names, without its links resolved."""
    return os.path.normpath("/" + os.path.join(base, value).lstrip("/"))


def _below(
    terminal: Terminal, request: ApprovalRequest, choice: _Choice
) -> Mapping[str, Any] | None:
    suggested = choice.when["argument"][choice.parameter]["path"][0].removesuffix(BELOW) or "/"
    folder = terminal.ask(f"below which folder [{suggested}]: ")
    if folder is None:
        return None
    if folder.startswith("~"):
        terminal.show("please write the folder without ~")
        return None
    below = _located(folder or suggested, request.project).rstrip("/") + BELOW
    return {"tool": request.tool, "argument": {choice.parameter: {"path": [below]}}}


def _with_some(terminal: Terminal, request: ApprovalRequest) -> Mapping[str, Any] | None:
    known = ", ".join(request.args)
    answer = terminal.ask(f"which must stay as they are ({known}): ")
    names = [name.strip() for name in (answer or "").split(",") if name.strip()]
    unknown = [name for name in names if name not in request.args]
    if not names or unknown:
        terminal.show(f"there is no argument {unknown[0]}" if unknown else "none was named")
        return None
    tests = {name: {"equals": request.args[name]} for name in names}
    return {"tool": request.tool, "argument": tests}


def _span(terminal: Terminal, request: ApprovalRequest, *, approved: bool) -> Span | None:
    if approved and not request.definition:
        # What could change without anybody noticing is not allowed for longer than it can.
        terminal.show("it has no definition that could be pinned: until this process ends")
        return Span.SESSION
    answer = terminal.ask("[s]ession  [p]roject  [u]ser (empty: back): ")
    return _SPANS.get((answer or "")[:1])


def _until(terminal: Terminal) -> str | None:
    answer = terminal.ask("until when (8h, 2d, 2026-12-31, empty: until revoked): ")
    if not answer:
        return answer
    try:
        return moment(answer, time.time())
    except ValueError as error:
        terminal.show(str(error))
        return None


def moment(text: str, now: float) -> str:
    """`8h` from now, or a date, as 2026-12-31T00:00:00Z. Raises ValueError."""
    if len(text) == 10 and text[4] == "-":
        try:
            time.strptime(text, "%Y-%m-%d")
        except ValueError:
            raise ValueError(f"{text} is no date") from None
        found = f"{text}T00:00:00Z"
    else:
        seconds = duration(text)
        if seconds > _FOREVER:
            raise ValueError(f"{text} is too long")
        found = utc(now + seconds)
    if found <= utc(now):
        raise ValueError(f"{text} is over already")
    return found


def _risks(request: ApprovalRequest, when: Mapping[str, Any]) -> list[str]:
    """What would run without a question that the person has not seen now."""
    if "arguments" in when:
        return []
    fixed = {name for name, test in when.get("argument", {}).items() if "equals" in test}
    risks = [
        f"{name} is RAW: whatever is in it runs as code"
        for name in request.raw_parameters
        if name not in fixed
    ]
    if "tool" not in when:
        risks.append("every tool that claims this tag and asks for no more than this one")
    elif Tool(request.tool, tags=request.tags).level is Level.RUN and not fixed >= set(
        request.args
    ):
        risks.append(f"{request.tool} is of level run: its arguments decide what it does")
    return risks
