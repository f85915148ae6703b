"""`tongs approvals revoke`: be asked again."""

from __future__ import annotations

from tongs.policy.when import in_words
from tongs.surfaces.cli import failure
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser


def options(parser: Parser) -> None:
    parser.add_argument("id", metavar="ID")
    parser.add_argument("--json", action="store_true")


def run(invocation: Invocation) -> int:
    entry = invocation.runtime.approvals.revoke(invocation.options.id)
    if invocation.options.json:
        invocation.console.data(failure.result_json(entry.to_wire()))
    else:
        invocation.console.say(f"revoked {entry.id}: {entry.decision} {in_words(entry.when)}")
    return failure.OK
