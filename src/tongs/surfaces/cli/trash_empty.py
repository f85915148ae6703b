"""`tongs trash empty`: deletes what is in the trash for good."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

import time

from tongs.core.annotations import TYPE_CHECKING
from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.core.moments import utc
from tongs.surfaces.cli import failure
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser, UsageError

if TYPE_CHECKING:
    from tongs.builtin.trash import Trashed


def options(parser: Parser) -> None:
    parser.add_argument("id", nargs="*", default=[], metavar="ID")
    parser.add_argument("--older-than", metavar="DURATION")
    parser.add_argument("--yes", action="store_true")
    parser.add_argument("--json", action="store_true")


def run(invocation: Invocation) -> int:
    from tongs.builtin.trash import Trash

    options, console = invocation.options, invocation.console
    with invocation.runtime.workspace() as workspace:
        trash = Trash(workspace)
        chosen = _chosen(trash.entries(), options.id, options.older_than)
        if chosen and not options.yes and not _agreed(invocation, chosen):
            console.say("nothing was deleted")
            return failure.DENIED
        for entry in chosen:
            trash.remove(entry)
    if options.json:
        console.data(failure.result_json({"deleted": [entry.id for entry in chosen]}))
    else:
        console.say(f"deleted for good: {len(chosen)}")
    return failure.OK


def _chosen(found: list[Trashed], ids: list[str], older_than: str | None) -> list[Trashed]:
    from tongs.output import visible

    known = {entry.id for entry in found}
    for wanted in ids:
        if wanted not in known:
            raise ToolError(
                ErrorCode.FILE_NOT_FOUND,
                f"the trash has nothing with the id {visible(wanted)}",
                hint="tongs trash list",
            )
    if ids:
        found = [entry for entry in found if entry.id in ids]
    if older_than is None:
        return found
    from tongs.schema.units import duration

    try:
        before = time.time() - duration(older_than)
    except ValueError as error:
        raise UsageError(f"trash empty: {error}", "tongs trash empty --older-than 7d") from None
    limit = utc(before)
    return [entry for entry in found if entry.when < limit]


def _agreed(invocation: Invocation, chosen: list[Trashed]) -> bool:
    terminal = invocation.terminal()
    if terminal is None:
        raise ToolError(
            ErrorCode.APPROVAL_DENIED,
            "the trash was not emptied: there is no terminal to ask on",
            blocked_by=BlockedBy.APPROVAL,
            hint="tongs trash empty --yes",
        )
    terminal.show("\n".join(f"  {entry.path} ({entry.count}, {entry.when})" for entry in chosen))
    return terminal.agrees("delete this for good?")
