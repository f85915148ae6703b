"""Failures as a person reads them on stderr, and the exit code a script reads."""

from __future__ import annotations

import json

from tongs.core.annotations import Any
from tongs.core.errors import DefinitionInvalid, ErrorCode, ToolError
from tongs.surfaces.cli.console import Console

OK, FAILED, USAGE, DENIED, COULD_NOT_RUN, CANCELLED = 0, 1, 2, 3, 4, 130

_EXIT_CODES = {
    ErrorCode.INVALID_ARGUMENTS: USAGE,
    ErrorCode.INVALID_DEFINITION: USAGE,
    ErrorCode.TOOL_NOT_FOUND: USAGE,
    ErrorCode.DENIED: DENIED,
    ErrorCode.APPROVAL_DENIED: DENIED,
    ErrorCode.APPROVAL_PENDING: DENIED,
    ErrorCode.UNTRUSTED: DENIED,
    ErrorCode.SECRET_MISSING: COULD_NOT_RUN,
    ErrorCode.UNSUPPORTED_PLATFORM: COULD_NOT_RUN,
    ErrorCode.SANDBOX_UNAVAILABLE: COULD_NOT_RUN,
    ErrorCode.INTERNAL_ERROR: COULD_NOT_RUN,
    ErrorCode.CANCELLED: CANCELLED,
}


def exit_code(error: ToolError | None) -> int:
    """The class of a failure; whatever is not listed is the tool's own failure."""
    if error is None:
        return OK
    return _EXIT_CODES.get(error.code, FAILED)  # type: ignore[call-overload,no-any-return]  # a code of a tool's own is plain text


def show(console: Console, error: ToolError, *, stderr_shown: bool = False) -> None:
    """`error: …` (or `denied: …`), and `hint: …` where something can be done.

    What the tool wrote to stderr is not repeated where the person has just seen it.
    """
    message = error.message
    if stderr_shown and error.details.get("stderr"):
        message = message.removesuffix(str(error.details["stderr"])).rstrip(": \n")
    refused = exit_code(error) == DENIED
    console.label("denied" if refused else "error", message, "yellow" if refused else "red")
    if error.details.get("confined"):
        console.label("confined", str(error.details["confined"]), "dim")
    if error.hint:
        console.hint(error.hint)


def show_invalid(console: Console, invalid: DefinitionInvalid) -> None:
    """Every problem of a file on a line of its own, each with its hint below it."""
    for problem in invalid.problems:
        console.label("error", str(problem), "red")
        if problem.hint:
            console.hint(problem.hint)


def result_json(wire: Any) -> str:
    """JSON for a program. Bytes that are no text stay apart from text as escaped surrogates."""
    text = json.dumps(wire, indent=2, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(wire, indent=2)
    return text + "\n"
