"""`tongs sandbox explain`: the policy a tool will get, and where each part of it comes from."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

from collections.abc import Iterator

from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.surfaces.cli.doctor import TIERS
from tongs.surfaces.cli.failure import result_json
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser, add_scope_options
from tongs.surfaces.cli.table import one_line, table

if TYPE_CHECKING:
    from tongs.runtime.explaining import Explanation, Part

Row = tuple[str, str, str]

# What a tier shows instead of a home that was not granted.
_HOME = {
    "namespaces": "HOME is an empty folder of the call's own, and so is /tmp",
    "landlock": "HOME too; /tmp is shared with others, TMPDIR is the call's own",
}


def options(parser: Parser) -> None:
    parser.add_argument("name", metavar="TOOL")
    add_scope_options(parser, default="any")
    parser.add_argument("--json", action="store_true")


def run(invocation: Invocation) -> int:
    from tongs.runtime.explaining import explained

    runtime = invocation.runtime
    found = explained(runtime, runtime.find(invocation.options.name, invocation.scope))
    if invocation.options.json:
        invocation.console.data(result_json(_wire(found)))
        return 0
    _show(invocation, found)
    return 0


def _show(invocation: Invocation, found: Explanation) -> None:
    console = invocation.console
    console.data(f"{_verdict(found)}\n")
    console.data("\n")
    rows = [(what, one_line(value), one_line(source)) for what, value, source in _rows(found)]
    for line in table(("WHAT", "VALUE", "FROM"), rows, console.width()):
        console.data(f"{line}\n")
    console.data("\n")
    if found.tier and "fs.read" in found.enforced:
        console.data(f"hidden:        everything else; {_HOME[found.tier]}\n")
    console.data(f"enforced:      {', '.join(found.enforced) or 'nothing'}\n")
    console.data(f"not enforced:  {', '.join(found.not_enforced) or 'nothing'}\n")
    _show_changes(invocation, found)
    console.flush()
    for warning in found.warnings:
        console.warn(warning)
    if found.missing_secrets:
        names = ", ".join(found.missing_secrets)
        console.warn(f"a call would be refused: it needs {names} in the environment")
    if not found.tool.trust.holds:
        console.warn("a call would be refused: the tool is not trusted")
        console.hint(f"tongs trust {found.tool.name}")
    if found.refusal is not None and found.refusal.hint:
        console.hint(found.refusal.hint)


def _verdict(found: Explanation) -> str:
    name = f"{found.tool.name} ({found.tool.origin.path})"
    if found.refusal is not None:
        return f"{name} would be refused: {found.refusal.message}"
    if "fs.read" in found.enforced and not found.tier:
        return f"{name} starts no process: Tongs itself sends its request"
    if "fs.read" in found.enforced:
        return f"{name} is confined by {TIERS[found.tier].partition(':')[0]}"
    why = "" if found.enforcement == "off" else "this machine cannot do it, and "
    return f"{name} is NOT confined: {why}security.enforcement is {found.enforcement}"


def _rows(found: Explanation) -> Iterator[Row]:
    network = found.network.what
    reach = ("on" if network else "off") if isinstance(network, bool) else ", ".join(network)
    yield "network", reach or "off", found.network.source
    yield from _files(found)
    for path in found.protected:
        state = "read-only" if "protected-paths" in found.enforced else "NOT protected here"
        yield "protected", path, state
    for secret in found.secrets:
        missing = " (missing)" if secret.what in found.missing_secrets else ""
        yield "secret", f"{secret.what}{missing}", secret.source
    yield from _environment(found)
    for name, part in found.limits.items():
        yield f"limit {name.replace('_', ' ')}", _limit(name, part.what), part.source
    seconds = found.timeout.what
    yield "timeout", "none" if seconds is None else f"{seconds:g} s", found.timeout.source


def _files(found: Explanation) -> Iterator[Row]:
    """Each path once, by the most that may be done there."""
    has_view = "scratch-view" in found.enforced
    above = [*found.write, *(found.scratch if has_view else ())]
    seen = {part.what for part in above}
    reads = [part for part in (*found.read, *found.scratch) if part.what not in seen]
    reads = list({part.what: part for part in reads}.values())
    if not reads and not above and not found.programs:
        yield "reads", "nothing", ""
    for part in reads:
        yield "reads", part.what, part.source
    for part in found.programs:
        yield "reads", part.what, part.source
    for part in found.scratch if has_view else ():
        yield "scratch", part.what, f"{part.source}: looks writable, nothing is kept"
    for part in found.write:
        yield "writes", part.what, part.source
    if not found.write:
        yield "writes", "nothing", ""


def _environment(found: Explanation) -> Iterator[Row]:
    """One row per source: most variables have the same."""
    sources: dict[str, list[str]] = {}
    for part in found.environment:
        sources.setdefault(part.source, []).append(part.what)
    for source, names in sources.items():
        yield "environment", " ".join(names), source


def _limit(name: str, value: Any) -> str:
    from tongs.policy.grants import limits_block

    return "none" if value is None else str(limits_block({name: value})[name])


def _show_changes(invocation: Invocation, found: Explanation) -> None:
    if not found.changes:
        return
    invocation.console.data(f"\nto grant more, write in {found.changes[0].where}:\n")
    for change in found.changes:
        invocation.console.data(f"  # {change.effect}\n")
        for line in change.lines:
            invocation.console.data(f"  {line}\n")


def _wire(found: Explanation) -> dict[str, Any]:
    return {
        "tool": found.tool.name,
        "path": found.tool.origin.path,
        "trust": str(found.tool.trust),
        "tier": found.tier or None,
        "enforcement": found.enforcement,
        "permissions": found.permissions.to_wire(),
        "network": _part(found.network),
        "read": [_part(part) for part in found.read],
        "programs": [_part(part) for part in found.programs],
        "write": [_part(part) for part in found.write],
        "scratch": [_part(part) for part in found.scratch],
        "protected": list(found.protected),
        "secrets": [
            {**_part(part), "missing": part.what in found.missing_secrets} for part in found.secrets
        ],
        "environment": [_part(part) for part in found.environment],
        "limits": {name: _part(part) for name, part in found.limits.items()},
        "timeout": _part(found.timeout),
        "enforced": list(found.enforced),
        "notEnforced": list(found.not_enforced),
        "changes": [
            {"effect": change.effect, "where": change.where, "lines": list(change.lines)}
            for change in found.changes
        ],
        "warnings": list(found.warnings),
        "refusal": None
        if found.refusal is None
        else {"code": str(found.refusal.code), "message": found.refusal.message},
    }


def _part(part: Part) -> dict[str, Any]:
    value = list(part.what) if isinstance(part.what, tuple) else part.what
    return {"value": value, "from": part.source}
