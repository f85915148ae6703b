"""`tongs mcp add NAME -- COMMAND`: a server for the config, started once behind its walls."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

from collections.abc import Iterator

from tongs.core.annotations import Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.scope import Scope
from tongs.surfaces.cli import failure
from tongs.surfaces.cli.config_set import say_untrusted
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.mcp_inspect import show_tools
from tongs.surfaces.cli.parser import Parser, UsageError, add_scope_options
from tongs.surfaces.cli.servers_shown import granted, inspected_wire

SCOPES = ("local", "user", "global")
_EXAMPLE = "tongs mcp add git --write .git -- uvx mcp-server-git"
_REFERENCES = ("env:", "file:", "keyring:")
_SECRET_WORDS = ("TOKEN", "SECRET", "PASSWORD", "APIKEY", "API_KEY", "AUTHORIZATION")


def options(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("--url", metavar="URL")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--header", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--network", action="store_true")
    parser.add_argument("--host", action="append", default=[], metavar="HOST")
    parser.add_argument("--read", action="append", default=[], metavar="PATH")
    parser.add_argument("--write", action="append", default=[], metavar="PATH")
    parser.add_argument("--cwd", metavar="PATH")
    parser.add_argument("--force", action="store_true")
    parser.add_argument("--json", action="store_true")
    add_scope_options(parser, default="user", scopes=SCOPES)
    parser.take_command()


def run(invocation: Invocation) -> int:
    from tongs.config.servers import server_of
    from tongs.runtime.server_desk import ServerDesk

    options, console = invocation.options, invocation.console
    entry, desk = _entry(options), ServerDesk(invocation.runtime)
    desk.refuse_to_add(options.name, force=options.force)
    if not options.json:
        spec = server_of(options.name, entry, source="", scope=invocation.scope, project=None)
        for line in granted(spec):
            console.say(line)
    for name in _open_secrets(entry):
        console.warn(f"{name} looks like a secret, and would stand in the config as it is")
        console.hint(f"{name}=env:VARIABLE takes it from your environment")
    try:
        found, file = desk.add(options.name, entry, invocation.scope, force=options.force)
    except ToolError as error:
        if error.code is ErrorCode.EXECUTION_ERROR and not error.hint and not options.url:
            error.details["hint"] = "--network, --host, --read and --write let it do more"
        raise
    if options.json:
        console.data(failure.result_json({**inspected_wire(found), "file": file}))
        return failure.OK
    show_tools(invocation, found)
    console.say(f"{options.name} is added: {file}")
    if invocation.scope is Scope.LOCAL and not _counts(invocation, file):
        say_untrusted(invocation, file)
    return failure.OK


def _counts(invocation: Invocation, file: str) -> bool:
    from tongs.core.digest import digest_of
    from tongs.schema.document import MAX_BYTES
    from tongs.store.files import read_whole

    written = read_whole(file, MAX_BYTES) or b""
    return invocation.runtime.definitions.trust.state_of(file, digest_of(written)).holds


def _entry(options: Any) -> dict[str, Any]:
    """As config.yml has it."""
    if bool(options.url) == bool(options.command):
        raise UsageError("mcp add: a server is a COMMAND after `--`, or has a --url", _EXAMPLE)
    variables, headers = (
        dict(_pairs("--env", options.env)),
        dict(_pairs("--header", options.header)),
    )
    if options.url:
        for name in ("env", "network", "host", "read", "write", "cwd"):
            if getattr(options, name):
                raise UsageError(f"mcp add: --{name} is for a server that is started here")
        return {"url": options.url, **({"headers": headers} if headers else {})}
    if headers:
        raise UsageError("mcp add: --header is for a server with --url")
    if options.network and options.host:
        raise UsageError("mcp add: --network is all of it; leave --host or --network out")
    entry: dict[str, Any] = {"command": options.command}
    if variables:
        entry["env"] = variables
    if options.cwd:
        entry["cwd"] = options.cwd
    network = options.host or bool(options.network)
    files = {"read": options.read or ["."], "write": options.write}
    return {**entry, "permissions": {"network": network, "fs": files}}


def _pairs(option: str, texts: list[str]) -> Iterator[tuple[str, str]]:
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or (not equals and option == "--header"):
            raise UsageError(f"mcp add: {option} takes NAME=VALUE, got `{text}`")
        # A name alone passes on the person's own, by reference.
        yield name, value if equals else f"env:{name}"


def _open_secrets(entry: dict[str, Any]) -> Iterator[str]:
    for name, value in {**entry.get("env", {}), **entry.get("headers", {})}.items():
        told = any(word in name.upper() for word in _SECRET_WORDS)
        if told and not value.split(" ")[-1].startswith(_REFERENCES):
            yield name
