"""`tongs mcp install`: let another program start Tongs."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

import shlex

from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.surfaces.cli import failure
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser, UsageError, add_global_options

if TYPE_CHECKING:
    from tongs.authoring.mcp_clients import Client
    from tongs.runtime.mcp_clients import ClientFile, Done

# Options of every command that mean something to a server, so they belong behind `--`.
_OF_THE_SERVER = ("profile", "auto_approve", "auto_deny", "load_tool", "load_tools")


def options(parser: Parser) -> None:
    parser.add_argument("client", metavar="CLIENT")
    parser.add_argument("--project", action="store_true")
    parser.add_argument("--name", default="tongs", metavar="NAME")
    parser.add_argument("--print", action="store_true")
    parser.add_argument("--remove", action="store_true")
    parser.add_argument("--force", action="store_true")
    parser.take_command()


def run(invocation: Invocation) -> int:
    from tongs.authoring.mcp_clients.changing import snippet
    from tongs.runtime.mcp_clients import ClientFile, own_command, own_places, server_words

    options = invocation.options
    client = client_called("mcp install", options.client)
    _check(options)
    file = ClientFile.here(client, project=options.project)
    command, portable = own_command(shared=options.project)
    program, words = server_words(command, options.command or ())
    entry = client.entry(program, words, {} if options.project else own_places())
    if options.print:
        invocation.console.say(f"{client.label} reads {file.path}")
        invocation.console.data(snippet(client, options.name, entry))
        return failure.OK
    if options.remove:
        return _remove(invocation, file, entry)
    done = _install(invocation, file, entry)
    if done.written and options.project and not portable:
        invocation.console.warn(f"{program} is a path of this machine: others need their own")
    return failure.OK


def _install(invocation: Invocation, file: ClientFile, entry: dict[str, Any]) -> Done:
    from tongs.authoring.mcp_clients.changing import installed
    from tongs.runtime.mcp_clients import has_client

    options, console, client = invocation.options, invocation.console, file.client
    known = has_client(file)
    done = file.change(
        lambda text: installed(client, text, options.name, entry, force=options.force),
        (options.name, entry),
    )
    line = shlex.join([entry["command"], *entry["args"]])
    if not done.written:
        console.say(f"nothing to do: {done.path} has it already: {line}")
        return done
    said = "has" if done.change.before is None else "now has"
    console.say(f"{done.path} {said} the server `{options.name}`: {line}")
    _say_kept(invocation, done)
    if not known:
        console.warn(f"there was no folder for it: is {client.label} installed?")
    console.say(f"next:  {(options.project and client.then_project) or client.then}")
    return done


def _remove(invocation: Invocation, file: ClientFile, entry: dict[str, Any]) -> int:
    from tongs.authoring.mcp_clients.changing import removed

    options = invocation.options
    done = file.change(
        lambda text: removed(file.client, text, options.name, force=options.force),
        (options.name, entry),
    )
    if done.written:
        invocation.console.say(f"{done.path} no longer has the server `{options.name}`")
        _say_kept(invocation, done)
    else:
        invocation.console.say(f"nothing to do: {done.path} has no server `{options.name}`")
    return failure.OK


def _say_kept(invocation: Invocation, done: Done) -> None:
    if done.kept:
        invocation.console.say(f"as it was:  {done.kept}")


def client_called(command: str, name: str) -> Client:
    """One of the clients; UsageError with the nearest name."""
    from tongs.authoring.mcp_clients import CLIENTS

    if name in CLIENTS:
        return CLIENTS[name]
    from tongs.schema.nearest import nearest

    close = nearest(name, CLIENTS)
    hint = f"did you mean `{close[0]}`?" if close else f"one of {', '.join(CLIENTS)}"
    raise UsageError(f"{command}: no client is called `{name}`", hint)


def _check(options: Any) -> None:
    from tongs.authoring.mcp_clients.changing import NAME
    from tongs.runtime.configuring import is_unicode
    from tongs.surfaces.cli import mcp_serve

    if not NAME.fullmatch(options.name):
        raise UsageError(
            f"mcp install: `{options.name}` is no name that every client takes",
            "use letters, digits, - and _",
        )
    early = next((name for name in _OF_THE_SERVER if getattr(options, name)), None)
    if early is not None:
        option = f"--{early.replace('_', '-')}"
        raise UsageError(
            f"mcp install: {option} is for the server, so it stands behind `--`",
            f"tongs mcp install {options.client} -- {option} …",
        )
    words = options.command or []
    if not all(map(is_unicode, words)):
        raise UsageError("mcp install: an option of the server is no text")
    # What the server would refuse is said here, where somebody reads it.
    parser = Parser(("mcp", "serve"))
    add_global_options(parser)
    mcp_serve.options(parser)
    parser.parse(words)
