"""`tongs rules explain` and `tongs rules test`: what the rules say about a call, and why."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.surfaces.cli import failure
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser
from tongs.surfaces.cli.table import one_line, table

if TYPE_CHECKING:
    from tongs.core.decision import Verdict
    from tongs.runtime.judging import Judgement


def options(parser: Parser) -> None:
    parser.add_argument("call", metavar="CALL")
    parser.add_argument(
        "--as", dest="caller", choices=("agent", "person", "program"), default="agent"
    )
    parser.add_argument("--json", action="store_true")


def run(invocation: Invocation) -> int:
    found = judge(invocation)
    console = invocation.console
    if invocation.options.json:
        console.data(failure.result_json(wire(found)))
        return failure.OK
    console.data(f"{said(found.verdict)}\n")
    for number, command in enumerate(found.understood):
        console.data(f"\nunderstood {'as' if number == 0 else 'then as'}:\n")
        for shown, through in command.programs:
            by = f"   (started by {through})" if through else ""
            console.data(f"  {one_line(shown)}{by}\n")
        for doubt in command.doubts:
            console.data(f"  not understood: {one_line(doubt.removeprefix('not understood: '))}\n")
    if found.verdicts:
        console.data("\n")
    rows = [
        (verdict.decision.name.lower(), verdict.rule, one_line(verdict.reason), source)
        for verdict, source in found.verdicts
    ]
    for line in table(("SAYS", "RULE", "BECAUSE", "FROM"), rows, console.width()) if rows else ():
        console.data(f"{line}\n")
    return failure.OK


def judge(invocation: Invocation) -> Judgement:
    from tongs.runtime.judging import judged

    return judged(invocation.runtime, invocation.options.call, invocation.options.caller)


def said(verdict: Verdict) -> str:
    return f"{verdict.decision.name.lower()}: {verdict.reason} [{verdict.rule}]"


def wire(found: Judgement) -> dict[str, Any]:
    return {
        "tool": found.tool,
        "arguments": dict(found.arguments),
        "caller": found.caller,
        **_verdict(found.verdict),
        "rules": [{**_verdict(verdict), "source": source} for verdict, source in found.verdicts],
        "commands": [
            {
                "command": one.command,
                "starts": [{"program": shown, "through": by} for shown, by in one.programs],
                "notUnderstood": list(one.doubts),
            }
            for one in found.understood
        ],
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "decision": verdict.decision.name.lower(),
        "rule": verdict.rule,
        "reason": verdict.reason,
    }
