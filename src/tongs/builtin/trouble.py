"""What went wrong with a file, in the words and codes of seed 002."""

from __future__ import annotations

import errno
from collections.abc import Sequence

from tongs.core.errors import ErrorCode, ToolError
from tongs.output import visible

_CODES = {
    errno.ENOENT: ErrorCode.FILE_NOT_FOUND,
    errno.EACCES: ErrorCode.PERMISSION_DENIED,
    errno.EPERM: ErrorCode.PERMISSION_DENIED,
    errno.EROFS: ErrorCode.PERMISSION_DENIED,
    errno.EINVAL: ErrorCode.INVALID_PATH,
    errno.EISDIR: ErrorCode.INVALID_PATH,
    errno.ELOOP: ErrorCode.INVALID_PATH,
    errno.ENAMETOOLONG: ErrorCode.INVALID_PATH,
    errno.ENOTDIR: ErrorCode.INVALID_PATH,
    # openat2 says this of a way that leads out.
    errno.EXDEV: ErrorCode.INVALID_PATH,
    # A socket, or a device without a driver.
    errno.ENXIO: ErrorCode.INVALID_PATH,
    errno.ENODEV: ErrorCode.INVALID_PATH,
}
_SAYS = {
    errno.ELOOP: "a part of it became a symbolic link just now",
    errno.ENOTDIR: "a part of it is not a folder",
    errno.ENXIO: "it is no plain file, but a pipe, a socket or a device",
}


def told(error: OSError, path: str) -> ToolError:
    """The failure of a system call."""
    number = error.errno or 0
    reason = _SAYS.get(number, error.strerror or str(error))
    code = _CODES.get(number, ErrorCode.EXECUTION_ERROR)
    return ToolError(code, f"{visible(path)}: {reason}", details={"path": path})


def invalid_path(path: str, reason: str, hint: str = "") -> ToolError:
    return ToolError(
        ErrorCode.INVALID_PATH,
        f"{visible(path) or 'the path'}: {reason}",
        details={"path": path},
        hint=hint,
    )


def not_found(path: str, beside: Sequence[str] = ()) -> ToolError:
    from tongs.schema.nearest import nearest  # noqa: PLC0415 - only where something is wrong

    close = nearest(path, beside, most=3)
    return ToolError(
        ErrorCode.FILE_NOT_FOUND,
        f"there is no {visible(path)} in the workspace",
        details={"path": path, "nearest": close},
        hint=f"did you mean {' or '.join(visible(name) for name in close)}?"
        if close
        else "list_directory shows what there is",
    )


def changed(path: str) -> ToolError:
    """What the call was decided for is no longer what lies there."""
    return ToolError(
        ErrorCode.EXECUTION_ERROR,
        f"{visible(path)} changed after this call was decided, so nothing was done to it",
        details={"path": path, "changed": True},
        hint="look at it again, then repeat the call",
    )


def out_of_time(name: str, expression: str = "") -> ToolError:
    simpler = f"make `{expression}` simpler, " if expression else ""
    return ToolError(
        ErrorCode.TIMEOUT,
        f"{name} did not finish in time",
        hint=f"{simpler}name a smaller part, or give it more time in the config:"
        f" tools.{name}.timeout",
    )


def stuck(name: str, argument: str, expression: str, where: str) -> ToolError:
    """A regular expression that would be tried for ever."""
    return ToolError(
        ErrorCode.TIMEOUT,
        f"{name} gave up: {visible(expression)} does not come to an end in {visible(where)}",
        details={argument: expression, "in": where},
        hint=f"make `{argument}` simpler: what repeats inside a repetition, as in (a+)+, can match"
        " in endlessly many ways",
    )
