"""The two folders that a runtime needs first: the one where it is, and that of its state."""

from __future__ import annotations

import os
from contextlib import suppress

from tongs.config.ownership import why_not_own
from tongs.core.errors import DefinitionInvalid, ErrorCode, Problem, ToolError
from tongs.store.files import private_folder


def working_directory(path: str | os.PathLike[str] | None = None) -> str:
    """An absolute path, the current directory by default; ToolError if there is no such folder."""
    try:
        whole = os.path.abspath(os.curdir if path is None else path)
    except FileNotFoundError:
        raise ToolError(
            ErrorCode.FILE_NOT_FOUND,
            "the working directory does not exist any more",
            hint="change to a folder that exists",
        ) from None
    if path is not None and not os.path.isdir(whole):
        raise ToolError(ErrorCode.FILE_NOT_FOUND, f"there is no folder {whole}")
    return whole


def own_state(folder: str) -> None:
    """Trust lives here, so it must be the person's own; where it cannot be made, calls will say."""
    with suppress(OSError):
        private_folder(folder)
    if reason := why_not_own(folder):
        hint = "move it away, or chown and chmod it; TONGS_HOME names another place"
        raise DefinitionInvalid([Problem(folder, reason, rule="ownership", hint=hint)])
