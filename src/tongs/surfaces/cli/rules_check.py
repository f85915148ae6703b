"""`tongs rules check`: do the rules match their examples?"""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

import json

from tongs.core.annotations import Any
from tongs.surfaces.cli import failure
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser


def options(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true")


def run(invocation: Invocation) -> int:
    """Opening the runtime checks them already: what is wrong is shown as for any command."""
    from tongs.runtime.judging import checked

    console = invocation.console
    results = checked(invocation.runtime)
    rules = {result.rule for result in results}
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
        return failure.OK
    for result in results:
        shown = result.example if isinstance(result.example, str) else json.dumps(result.example)
        console.data(f"ok  {result.rule}: {'matches' if result.expected else 'leaves'} {shown}\n")
    console.say(f"{len(results)} examples of {len(rules)} rules hold")
    return failure.OK
