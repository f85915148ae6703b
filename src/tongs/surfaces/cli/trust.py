"""`tongs trust`: read what came with a project, and accept it."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

import os

from tongs.core.annotations import TYPE_CHECKING
from tongs.core.digest import digest_of
from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.core.scope import Scope
from tongs.core.tool import Tool, Trust
from tongs.surfaces.cli import failure
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser, UsageError
from tongs.surfaces.cli.table import table

if TYPE_CHECKING:
    from tongs.approvers.terminal import Terminal
    from tongs.runtime import Runtime


# For `--dev` without `--for`.
_WORKING_DAY = "8h"


def options(parser: Parser) -> None:
    parser.add_argument("what", nargs="?", metavar="NAME|PATH")
    parser.add_argument("--yes", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--revoke", action="store_true")
    parser.add_argument("--dev", action="store_true")
    parser.add_argument("--for", dest="duration", metavar="DURATION")


def run(invocation: Invocation) -> int:
    options = invocation.options
    if options.list:
        return _list(invocation)
    if options.revoke:
        return _revoke(invocation)
    if options.dev:
        return _develop(invocation)
    if options.duration is not None:
        raise UsageError("trust: --for goes with --dev", "tongs trust --dev PATH --for 8h")
    if options.what is None:
        return _accept_project(invocation)
    if (config := _config_named(invocation.runtime, options.what)) is not None:
        return failure.OK if _accept_config(invocation, config) else failure.DENIED
    tool = _named(invocation.runtime, options.what)
    if tool.trust is Trust.REVIEW:
        # Says where it is done, also on a terminal: a review shows more than a definition.
        invocation.runtime.definitions.accept(tool)
    if tool.trust.holds:
        invocation.console.say(f"{tool.name} is trusted already: {tool.origin.path}")
        return failure.OK
    if tool.executor == "mcp":
        server = tool.plan.server.name
        raise ToolError(
            ErrorCode.UNTRUSTED,
            f"{tool.name} is what the MCP server {server} says of it, and no file",
            blocked_by=BlockedBy.TRUST,
            hint=f"tongs mcp pin {server} shows the difference",
        )
    return failure.OK if _accept_tool(invocation, tool) else failure.DENIED


def ask_to_trust(runtime: Runtime, terminal: Terminal, tool: Tool) -> bool:
    """Show the definition, or what changed in it, and accept it if the person agrees."""
    if tool.trust is Trust.REVIEW:
        from tongs.surfaces.cli.review import ask_to_approve

        return ask_to_approve(runtime, terminal, tool)
    if tool.executor == "mcp":
        from tongs.surfaces.cli.mcp_pin import ask_to_pin

        return ask_to_pin(runtime, terminal, tool.plan.server.name)
    _show(runtime, terminal, tool)
    if not terminal.agrees(f"trust {tool.name}?"):
        return False
    runtime.definitions.accept(tool)
    return True


def difference(before: str, now: str) -> str:
    """What changed, as `-` and `+` lines with some context."""
    import difflib

    lines = difflib.unified_diff(before.splitlines(), now.splitlines(), lineterm="", n=3)
    return "\n".join(line for line in lines if line[:3] not in ("---", "+++"))


def config_files(runtime: Runtime) -> list[str]:
    """The project's settings: its config.yml, named configs and profiles."""
    return runtime.settings_files.of_project()


def _config_named(runtime: Runtime, what: str) -> str | None:
    """The file of settings that is meant, by its place in the project, whatever that links to."""
    real = os.path.realpath(what)
    for path in (*config_files(runtime), runtime.places.foreign_config):
        if path is not None and os.path.realpath(path) == real:
            return path
    return None


def _accept_project(invocation: Invocation) -> int:
    runtime = invocation.runtime
    held = [e for e in runtime.entries(Scope.LOCAL) if not e.trust.holds and not e.broken]
    found = [entry for entry in held if not entry.served]
    todo = [entry for entry in found if entry.trust is not Trust.REVIEW]
    created = [entry.name for entry in found if entry.trust is Trust.REVIEW]
    waiting = [path for path in config_files(runtime) if _config_state(runtime, path) is not None]
    agreed = [_accept_config(invocation, path) for path in waiting]
    for entry in todo:
        try:
            # Two tools may share a name; the path says which one is meant.
            agreed.append(_accept_tool(invocation, runtime.definitions.at(entry.path)))
        except ToolError as error:
            failure.show(invocation.console, error)
            agreed.append(False)
    if created:
        invocation.console.say(f"created by agents, and waiting for review: {', '.join(created)}")
        invocation.console.hint("tongs review")
    elif not agreed:
        invocation.console.say("nothing here waits to be trusted")
    return failure.OK if all(agreed) else failure.DENIED


def _accept_tool(invocation: Invocation, tool: Tool) -> bool:
    runtime = invocation.runtime
    if invocation.options.yes:
        runtime.definitions.accept(tool)
    else:
        terminal = _somebody(invocation, tool.name)
        if not ask_to_trust(runtime, terminal, tool):
            invocation.console.say(f"{tool.name} stays untrusted")
            return False
    invocation.console.say(f"trusted {tool.name}: {tool.origin.path}")
    return True


def _accept_config(invocation: Invocation, path: str) -> bool:
    runtime = invocation.runtime
    with open(path, "rb") as file:
        seen = file.read()
    if not invocation.options.yes:
        terminal = _somebody(invocation, path)
        before = runtime.definitions.trust.accepted_text(path)
        text = seen.decode("utf-8", "replace")
        if before is None:
            terminal.show(f"the project has its own settings: {path}\n{_indented(text)}")
        else:
            changes = difference(before.decode("utf-8", "replace"), text)
            terminal.show(f"{path} changed since you accepted it\n{_indented(changes)}")
        if not terminal.agrees("trust these settings?"):
            invocation.console.say(f"{path} stays untrusted: it can only tighten your settings")
            return False
    runtime.definitions.accept_config(path, seen)
    invocation.console.say(f"trusted {path}")
    return True


def _show(runtime: Runtime, terminal: Terminal, tool: Tool) -> None:
    before = runtime.definitions.accepted_text(tool)
    now = runtime.definitions.text_to_accept(tool)
    if before is None:
        terminal.show(f"{tool.name} came with the project: {tool.origin.path}\n{_indented(now)}")
    else:
        terminal.show(
            f"{tool.name} changed since you accepted it: {tool.origin.path}\n"
            f"{_indented(difference(before, now))}"
        )


def _somebody(invocation: Invocation, what: str) -> Terminal:
    terminal = invocation.terminal()
    if terminal is None:
        raise ToolError(
            ErrorCode.UNTRUSTED,
            f"{what} was not accepted: there is no terminal to ask on",
            blocked_by=BlockedBy.TRUST,
            hint=f"read it, then: tongs trust --yes {invocation.options.what or ''}".rstrip(),
        )
    return terminal


def _named(runtime: Runtime, what: str) -> Tool:
    """A tool by its name, or by the path of its file."""
    if os.path.sep in what or os.path.isfile(what):
        return runtime.definitions.at(os.path.realpath(what))
    return runtime.find(what)


def _develop(invocation: Invocation) -> int:
    """What an author works on may change without a question, for a while."""
    from tongs.schema.units import duration

    options, runtime = invocation.options, invocation.runtime
    if options.what is None:
        raise UsageError("trust --dev: NAME or PATH is missing", "tongs trust --dev .tongs/tools")
    try:
        seconds = duration(options.duration or _WORKING_DAY)
    except ValueError as error:
        raise UsageError(f"trust --for: {error}", "tongs trust --dev PATH --for 8h") from None
    if os.path.exists(options.what):
        path = os.path.abspath(options.what)
    else:
        tool = runtime.find(options.what)
        manifest = tool.origin.format == "manifest"
        path = os.path.dirname(tool.origin.path) if manifest else tool.origin.path
    if os.path.realpath(path) in (os.path.sep, runtime.places.home):
        raise UsageError(f"trust --dev: {path} is too much to trust", "name the tools' folder")
    until = runtime.definitions.develop(path, seconds)
    invocation.console.say(f"trusted until {until}, whatever becomes of it: {path}")
    return failure.OK


def _list(invocation: Invocation) -> int:
    accepted = invocation.runtime.definitions.accepted()
    if not accepted:
        invocation.console.say("nothing has been accepted")
        return failure.OK
    rows = [
        (item.kind, item.when, item.digest[:16] or f"until {item.until}", item.path)
        for item in accepted
    ]
    for line in table(("KIND", "ACCEPTED", "HASH", "PATH"), rows):
        invocation.console.data(f"{line}\n")
    return failure.OK


def _revoke(invocation: Invocation) -> int:
    what = invocation.options.what
    if what is None:
        raise UsageError("trust --revoke: NAME or PATH is missing", "tongs trust --list")
    runtime = invocation.runtime
    path = what if os.path.sep in what or os.path.exists(what) else runtime.find(what).origin.path
    if runtime.definitions.revoke(path):
        invocation.console.say(f"no longer trusted: {path}")
        return failure.OK
    raise ToolError(ErrorCode.TOOL_NOT_FOUND, f"{what} was not trusted", hint="tongs trust --list")


def _config_state(runtime: Runtime, path: str) -> str | None:
    """Why the config waits for trust; None where it does not."""
    with open(path, "rb") as file:
        digest = digest_of(file.read())
    state = runtime.definitions.trust.state_of(path, digest)
    return None if state.holds else str(state)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" if line else "" for line in text.splitlines())
