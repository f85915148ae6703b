"""`tongs config list`: every setting that counts, and where it comes from."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

import json

from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.surfaces.cli import failure
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser
from tongs.surfaces.cli.table import table

if TYPE_CHECKING:
    from tongs.runtime.config_listing import Listing, Setting


def options(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true")


def run(invocation: Invocation) -> int:
    found = listed(invocation)
    console = invocation.console
    if invocation.options.json:
        console.data(failure.result_json(_wire(found)))
        return failure.OK
    rows = [(_key(one), shown(one.value), _source(one)) for one in found.settings]
    for line in table(("KEY", "VALUE", "FROM"), rows):
        console.data(f"{line}\n")
    if found.ignored:
        console.data("\nignored:\n")
        console.data("".join(f"  {problem}\n" for problem in found.ignored))
    return failure.OK


def listed(invocation: Invocation) -> Listing:
    """What counts with the profile of this command line; DefinitionInvalid as for any command."""
    from tongs.runtime.config_listing import listing
    from tongs.runtime.configuring import Configuring

    return listing(Configuring.here(invocation.options.profile).files.voices())


def shown(value: Any) -> str:
    """A text as it is, anything else as JSON on one line."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _key(setting: Setting) -> str:
    from tongs.authoring.config_edit import key_of

    return key_of(setting.path)


def _source(setting: Setting) -> str:
    note = f" ({setting.note})" if setting.note else ""
    return ", ".join(setting.sources) + note


def _wire(found: Listing) -> dict[str, Any]:
    return {
        "settings": [
            {
                "key": _key(one),
                "value": one.value,
                "sources": list(one.sources),
                **({"note": one.note} if one.note else {}),
            }
            for one in found.settings
        ],
        "ignored": [problem.to_wire() for problem in found.ignored],
    }
