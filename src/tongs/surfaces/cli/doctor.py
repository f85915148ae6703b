"""`tongs doctor`: what this machine can enforce, what is missing, how to get it."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

import sys
from collections.abc import Iterator

from tongs._version import __version__
from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.errors import DefinitionInvalid, Problem, ToolError
from tongs.core.record import dataclass
from tongs.surfaces.cli import failure
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser
from tongs.surfaces.cli.table import table

if TYPE_CHECKING:
    from tongs.config.places import Places
    from tongs.runtime.examining import Examined

TIERS = {
    "namespaces": "tier A (namespaces): a root, a network and a process table of their own",
    "landlock": "tier B (landlock): files and network by Landlock and seccomp",
}
_UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Config:
    """What the config files say; `problems` are all there is where they cannot be used."""

    places: Places
    enforcement: str
    source: str
    problems: tuple[Problem, ...] = ()


def options(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true")


def run(invocation: Invocation) -> int:
    from tongs.runtime.examining import examine

    config = _config(invocation)
    found = examine(config.places)
    if invocation.options.json:
        invocation.console.data(failure.result_json(_wire(config, found)))
    else:
        _show(invocation, config, found)
    if config.problems:
        return failure.USAGE
    enforces = found.tier and config.enforcement != "off"
    return failure.OK if enforces else failure.COULD_NOT_RUN


def _config(invocation: Invocation) -> Config:
    """Whatever is wrong with the config, the machine is looked at all the same."""
    from tongs.runtime.examining import enforcement_source

    try:
        runtime = invocation.runtime
    except DefinitionInvalid as invalid:
        return Config(_places(), _UNKNOWN, "", tuple(invalid.problems))
    except ToolError as error:
        return Config(_places(), _UNKNOWN, "", (Problem("", error.message, hint=error.hint),))
    profile = runtime.settings_files.of_profile()
    source = enforcement_source(runtime.places, runtime.settings, profile)
    return Config(runtime.places, runtime.settings.enforcement, source)


def _places() -> Places:
    import os

    from tongs.config.environment import host_environment
    from tongs.config.places import find_places

    try:
        here = os.getcwd()
    except FileNotFoundError:
        here = os.sep
    return find_places(here, host_environment())


def _show(invocation: Invocation, config: Config, found: Examined) -> None:
    console = invocation.console
    for line in _verdict(config, found):
        console.data(f"{line}\n")
    rows = [
        (layer.name, _yes(layer.works), _needed_by(layer.name), layer.detail)
        for layer in found.layers
    ]
    console.data("\n")
    for line in table(("LAYER", "WORKS", "NEEDED BY", "DETAIL"), rows, console.width()):
        console.data(f"{line}\n")
    console.data("\n")
    around = list(_around(config, found))
    size = max(len(label) for label, _ in around) + 2
    for label, text in around:
        console.data(f"{label:<{size}}{text}\n")
    for line in _remedies(config, found):
        console.data(f"{line}\n")


def _verdict(config: Config, found: Examined) -> Iterator[str]:
    """The lines for who reads no further."""
    if config.problems:
        yield "no tool runs here before the config is mended (see below)"
    elif config.enforcement == "off":
        yield "tools are NOT confined: the config says so"
    elif not found.tier and config.enforcement == "best-effort":
        yield "tools are NOT confined: this machine cannot, and the config accepts that"
    elif not found.tier:
        yield "tools are refused: this machine cannot confine them"
    if found.tier:
        could = "could be confined" if config.enforcement == "off" else "are confined"
        yield f"tools {could} by {TIERS[found.tier]}"
        yield f"enforced: {', '.join(found.enforced)}"
        yield f"not enforced: {', '.join(found.not_enforced) or 'nothing'}"
    for tier, problem in found.problems.items():
        label = TIERS[tier].partition(":")[0] if tier in TIERS else "this system"
        yield f"{label} does not hold: {'; '.join(problem.splitlines())}"
    if not config.problems:
        yield f"security.enforcement: {config.enforcement} ({config.source})"


def _around(config: Config, found: Examined) -> Iterator[tuple[str, str]]:
    places = config.places
    yield "tongs", f"{__version__}, Python {sys.version.split()[0]}"
    yield (
        "fork server",
        "compiled" if found.native else "in Python, which is slower",
    )
    if found.state_problem:
        yield "state folder", f"{places.state} cannot be written: {found.state_problem}"
    else:
        yield "state folder", f"{places.state}, writable"
    removed = f", {found.removed} left by killed calls and removed now" if found.removed else ""
    yield "scratch", f"{found.scratch}, {found.in_use} in use{removed}"
    for problem in config.problems:
        yield "config", str(problem).removeprefix(": ")


def _remedies(config: Config, found: Examined) -> Iterator[str]:
    """What to do, under the name of what it is for."""
    wanted = [(layer.name, layer.remedy) for layer in found.layers if layer.remedy]
    wanted += [("config", problem.hint) for problem in config.problems if problem.hint]
    if found.state_problem:
        hint = "make it a folder of your own, or name another place with TONGS_HOME"
        wanted.append(("state folder", hint))
    if wanted:
        yield "\nto get what is missing:"
    for name, remedy in wanted:
        first, *others = remedy.splitlines()
        yield f"  {name}: {first}"
        yield from (f"    {line}" for line in others)


def _needed_by(layer: str) -> str:
    from tongs.sandbox.diagnosis import NEEDED

    letters = {"namespaces": "A", "landlock": "B"}
    return " and ".join(letters[tier] for tier, layers in NEEDED.items() if layer in layers)


def _yes(works: bool) -> str:
    return "yes" if works else "NO"


def _wire(config: Config, found: Examined) -> dict[str, Any]:
    return {
        "tier": found.tier or None,
        "enforced": list(found.enforced),
        "notEnforced": list(found.not_enforced),
        "problems": dict(found.problems),
        "enforcement": None if config.problems else config.enforcement,
        "enforcementSource": None if config.problems else config.source,
        "layers": [
            {
                "name": layer.name,
                "works": layer.works,
                "detail": layer.detail,
                "remedy": layer.remedy,
            }
            for layer in found.layers
        ],
        "tongs": __version__,
        "python": sys.version.split()[0],
        "forkServer": "compiled" if found.native else "python",
        "state": {"path": config.places.state, "problem": found.state_problem or None},
        "scratch": {"path": found.scratch, "inUse": found.in_use, "removed": found.removed},
        "config": [
            {"problem": str(problem).removeprefix(": "), "hint": problem.hint}
            for problem in config.problems
        ],
    }
