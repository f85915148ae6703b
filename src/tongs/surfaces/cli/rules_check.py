"""`tongs rules check`: do the rules match their examples?"""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

import json

from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.surfaces.cli import failure
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser

if TYPE_CHECKING:
    from tongs.policy.configured import ExampleResult


def options(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true")


def run(invocation: Invocation) -> int:
    """Opening the runtime checks those of trusted files already; what is wrong there is shown as
    for any command."""
    from tongs.runtime.judging import checked

    console = invocation.console
    results = checked(invocation.runtime)
    wrong = [result for result in results if not result.held]
    if invocation.options.json:
        wire: list[dict[str, Any]] = [
            {
                "rule": result.rule,
                "source": result.source,
                "example": result.example,
                "expected": "match" if result.expected else "no match",
                "held": result.held,
            }
            for result in results
        ]
        console.data(failure.result_json({"examples": wire}))
        return failure.USAGE if wrong else failure.OK
    for result in results:
        console.data(f"{'ok ' if result.held else 'no '} {_said(result)}\n")
    rules = {(result.rule, result.source) for result in results}
    held = f"{len(results) - len(wrong)} of {len(results)}" if wrong else str(len(results))
    console.say(f"{held} examples of {len(rules)} rules hold")
    for result in wrong:
        console.label("error", f"{result.source}: {_said(result, told=True)}", "red")
    if wrong:
        console.hint(
            "nobody trusts the file yet; once it is trusted, no call runs until it is mended"
        )
    return failure.USAGE if wrong else failure.OK


def _said(result: ExampleResult, *, told: bool = False) -> str:
    """What the rule makes of its example; `told` as a sentence of its own."""
    shown = result.example if isinstance(result.example, str) else json.dumps(result.example)
    if result.held or not told:
        return f"{result.rule}: {'matches' if result.expected else 'leaves'} {shown}"
    why = f" ({result.why})" if result.why else ""
    verb = "does not match" if result.expected else "matches"
    return f"the rule {result.rule} {verb} its example {shown}{why}"
