"""`tongs audit head`: the anchor, to be kept where nobody who can write here can write."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

from tongs.core.errors import ErrorCode, ToolError
from tongs.surfaces.cli import failure
from tongs.surfaces.cli.audit_options import chain_folder
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser


def options(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--send", action="store_true")


def run(invocation: Invocation) -> int:
    from tongs.audit.sent import last_sent
    from tongs.audit.verify import head

    folder = chain_folder()
    anchor = head(folder)
    if anchor is None:
        raise ToolError(ErrorCode.FILE_NOT_FOUND, f"nothing was recorded yet: {folder}")
    if invocation.options.send:
        from tongs.runtime.anchoring import send

        send(invocation.runtime, anchor)
    sent = last_sent(folder)
    if invocation.options.json:
        wire = {**anchor.to_wire(), "sent": sent.to_wire()}
        invocation.console.data(failure.result_json(wire))
    else:
        invocation.console.data(f"{anchor}\n")
        if sent.anchor is not None:
            invocation.console.say(f"last sent: record {sent.anchor.seq}, {sent.when}")
        if sent.trouble:
            invocation.console.warn(f"the anchor could not be sent: {sent.trouble}")
    return failure.FAILED if invocation.options.send and sent.trouble else failure.OK
