"""`tongs config get KEY`: one value."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

from tongs.core.annotations import Any
from tongs.surfaces.cli import failure
from tongs.surfaces.cli.config_list import listed, shown
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser, UsageError


def options(parser: Parser) -> None:
    parser.add_argument("key", metavar="KEY")
    parser.add_argument("--json", action="store_true")


def run(invocation: Invocation) -> int:
    path = key_path(invocation.options.key)
    settings = listed(invocation).settings
    below = [one for one in settings if one.path[: len(path)] == path]
    if not below:
        invocation.console.say(f"{invocation.options.key} is not set")
        invocation.console.hint("tongs config list")
        return failure.FAILED
    value: Any = {}
    for one in below:
        # Of ceilings there may be several, and each of them holds.
        held = [other.value for other in below if other.path == one.path]
        value = _placed(value, one.path[len(path) :], held if len(held) > 1 else one.value)
    text = failure.result_json(value) if invocation.options.json else f"{shown(value)}\n"
    invocation.console.data(text)
    return failure.OK


def key_path(key: str) -> tuple[str, ...]:
    """The parts of a key; a mistake in its first part is said at once."""
    from tongs.authoring.config_edit import path_of
    from tongs.schema.files import load
    from tongs.schema.nearest import did_you_mean

    try:
        path = path_of(key)
    except ValueError:
        raise UsageError(f"`{key}` is no key", "for example: limits.memory") from None
    known = load("config")["properties"]
    if path[0] not in known:
        raise UsageError(
            f"there is no setting `{path[0]}`{did_you_mean(path[0], known)}",
            f"there are: {', '.join(known)}",
        )
    return path


def _placed(into: Any, path: tuple[str, ...], value: Any) -> Any:
    if not path:
        return value
    return {**into, path[0]: _placed(into.get(path[0], {}), path[1:], value)}
