"""`tongs rules test`: the verdict on a call in one line, and as the exit code."""

from __future__ import annotations

from tongs.core.decision import Decision
from tongs.surfaces.cli import failure, rules_explain
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser


def options(parser: Parser) -> None:
    rules_explain.options(parser)


def run(invocation: Invocation) -> int:
    found = rules_explain.judge(invocation)
    if invocation.options.json:
        invocation.console.data(failure.result_json(rules_explain.wire(found)))
    else:
        invocation.console.data(f"{rules_explain.said(found.verdict)}\n")
    return failure.DENIED if found.verdict.decision is Decision.DENY else failure.OK
