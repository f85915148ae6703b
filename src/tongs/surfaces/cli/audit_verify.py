"""`tongs audit verify`: whether the record is what was written."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

from tongs.core.annotations import TYPE_CHECKING
from tongs.surfaces.cli import failure
from tongs.surfaces.cli.audit_options import chain_folder
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser, UsageError

if TYPE_CHECKING:
    from tongs.audit.anchor import Anchor
    from tongs.audit.verify import Verified


def options(parser: Parser) -> None:
    parser.add_argument("--anchor", action="append", default=[], metavar="FILE|TEXT")
    parser.add_argument("--json", action="store_true")


def run(invocation: Invocation) -> int:
    from tongs.audit.verify import verify

    found = verify(chain_folder(), _anchors(invocation.options.anchor))
    if invocation.options.json:
        wire = {
            "ok": found.ok,
            "records": found.records,
            "files": found.files,
            "head": None if found.last is None else found.last.to_wire(),
            "findings": [finding.to_wire() for finding in found.findings],
        }
        invocation.console.data(failure.result_json(wire))
    else:
        _show(invocation, found)
    return failure.OK if found.ok else failure.FAILED


def _anchors(given: list[str]) -> list[Anchor]:
    from tongs.audit.anchor import read_anchors
    from tongs.audit.sent import last_sent

    sent = last_sent(chain_folder()).anchor
    known = [] if sent is None else [sent]
    for one in given:
        try:
            known += read_anchors(one)
        except (ValueError, OSError) as error:
            raise UsageError(
                f"audit verify: --anchor {one[:80]}: {error}",
                "an anchor is what `tongs audit head` prints, or a file of such lines",
            ) from None
    return known


def _show(invocation: Invocation, found: Verified) -> None:
    console = invocation.console
    for finding in found.findings:
        console.data(f"{'note: ' if finding.note else ''}{finding}\n")
    console.flush()
    where = f"{found.records} records in {found.files} {'file' if found.files == 1 else 'files'}"
    if found.ok:
        console.say(f"{where}: each is what was written, and follows the one before it")
        return
    wrong = sum(not finding.note for finding in found.findings)
    places = "one place" if wrong == 1 else f"{wrong} places"
    console.label("error", f"{where}: the record was tampered with or damaged, in {places}", "red")
