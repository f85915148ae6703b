"""`tongs mcp import`: take over the MCP servers that other programs are set up with."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence

from tongs.core.annotations import TYPE_CHECKING
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.scope import Scope
from tongs.surfaces.cli import failure
from tongs.surfaces.cli.config_set import say_untrusted
from tongs.surfaces.cli.invocation import Invocation, listed
from tongs.surfaces.cli.mcp_install import client_called
from tongs.surfaces.cli.parser import Parser, UsageError, add_scope_options
from tongs.surfaces.cli.table import one_line

if TYPE_CHECKING:
    from tongs.runtime.mcp_import import Candidate, Importing


def options(parser: Parser) -> None:
    parser.add_argument("file", nargs="?", metavar="FILE")
    parser.add_argument("--client", metavar="CLIENT")
    parser.add_argument("--only", action="append", default=[], metavar="SERVER")
    parser.add_argument("--yes", action="store_true")
    parser.add_argument("--force", action="store_true")
    add_scope_options(parser, default="", scopes=("local", "user"))


def run(invocation: Invocation) -> int:
    from tongs.runtime.definitions import refuse_inside_a_call
    from tongs.runtime.mcp_import import Importing

    refuse_inside_a_call("change settings")
    importing = Importing.here()
    files = _files(invocation, importing)
    scope = Scope(invocation.options.scope) if invocation.options.scope else None
    scope = scope or importing.scope_for(files)
    found = _chosen(importing.candidates(files, scope), listed(invocation.options.only))
    if not found:
        invocation.console.say(f"no servers in {', '.join(files)}")
        return failure.OK
    todo = [each for each in found if _is_new(invocation, each)]
    if not todo:
        invocation.console.say("nothing to do")
        return failure.OK
    _show(invocation, importing, todo)
    file = importing.configuring.file(scope)
    if not invocation.options.yes and not _agreed(invocation, file, todo):
        invocation.console.say("nothing was written")
        return failure.DENIED
    file = importing.write(todo, scope)
    names = ", ".join(each.name for each in todo)
    invocation.console.say(f"wrote {names} to {file}")
    if scope is Scope.LOCAL:
        say_untrusted(invocation, file)
    invocation.console.say(f"next:  tongs mcp inspect {todo[0].name}")
    return failure.OK


def _files(invocation: Invocation, importing: Importing) -> list[str]:
    options = invocation.options
    if options.file is not None and options.client is not None:
        raise UsageError("mcp import: FILE and --client say the same; give one of them")
    if options.file is not None:
        return [os.path.abspath(options.file)]
    client = None
    if options.client is not None:
        client = client_called("mcp import", options.client)
    files = importing.files(client)
    if not files:
        whose = client.label if client else "a client"
        raise UsageError(
            f"mcp import: there are no settings of {whose} here", "tongs mcp import FILE"
        )
    if client is None and len(files) > 1:
        for file in files:
            invocation.console.data(f"{file}\n")
        raise UsageError("mcp import: there are several files", f"tongs mcp import {files[0]}")
    return files


def _chosen(found: list[Candidate], only: Sequence[str]) -> list[Candidate]:
    from tongs.schema.nearest import nearest

    names = [each.name for each in found]
    for name in only:
        if name not in names:
            close = nearest(name, names)
            hint = f"did you mean `{close[0]}`?" if close else f"there are {', '.join(names)}"
            raise UsageError(f"mcp import: there is no server `{name}`", hint)
    return [each for each in found if not only or each.name in only]


def _is_new(invocation: Invocation, each: Candidate) -> bool:
    if each.found.refused:
        invocation.console.warn(_shown(f"{each.name} is left out: {each.found.refused}"))
        return False
    if each.known == "same":
        invocation.console.say(f"{each.name} is there already")
        return False
    if each.known == "other" and not invocation.options.force:
        invocation.console.warn(
            f"{each.name} is left out: your config has another server of this name (--force "
            "replaces it)"
        )
        return False
    return True


def _show(invocation: Invocation, importing: Importing, todo: Sequence[Candidate]) -> None:
    """In words on stderr, and as it will be written on stdout."""
    from tongs.authoring.yaml_text import yaml_text

    for each in todo:
        for number, line in enumerate(_words(importing, each)):
            invocation.console.say(_shown(line) if number == 0 else f"  {_shown(line)}")
        for warning in each.proposal.warnings:
            invocation.console.warn(_shown(warning))
    servers = {each.name: each.entry for each in todo}
    invocation.console.data(yaml_text({"mcp": {"servers": servers}}))
    invocation.console.flush()


def _shown(text: str) -> str:
    """On one line and visible: a stranger must not add to what is said about his settings."""
    from tongs.output import visible

    return one_line(visible(text))


def _words(importing: Importing, each: Candidate) -> Iterator[str]:
    entry = each.entry
    command = entry.get("command", ())
    words = [command] if isinstance(command, str) else list(command)
    what = entry.get("url") or shlex.join([*words, *entry.get("args", ())])
    yield f"{each.name}: {what}  ({each.file})"
    yield from each.proposal.reasons
    for variable, holds in each.found.needs.items():
        missing = "" if importing.is_set(variable) else ", which is not set here"
        yield f"it gets {variable} of your environment as {holds}{missing}"
    yield from each.found.notes


def _agreed(invocation: Invocation, file: str, todo: Sequence[Candidate]) -> bool:
    terminal = invocation.terminal()
    if terminal is None:
        raise ToolError(
            ErrorCode.APPROVAL_DENIED,
            "nothing was written: there is no terminal to ask on",
            hint="read the above, then add --yes",
        )
    count = "this server" if len(todo) == 1 else f"these {len(todo)} servers"
    return terminal.agrees(f"write {count} to {file}?")
