"""The options of `tongs mcp serve --http`, and what becomes of them."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

from tongs.core.annotations import TYPE_CHECKING
from tongs.surfaces.cli.invocation import Invocation, listed
from tongs.surfaces.cli.parser import Parser, UsageError

if TYPE_CHECKING:
    from tongs.surfaces.mcp.http import HttpOptions
    from tongs.surfaces.mcp.options import Options

_ONLY_HTTP = ("token_env", "allow_host", "allow_origin", "sessions")


def options(parser: Parser) -> None:
    parser.add_argument("--http", metavar="HOST:PORT")
    parser.add_argument("--token-env", metavar="NAME")
    parser.add_argument("--allow-host", action="append", default=[], metavar="NAME")
    parser.add_argument("--allow-origin", action="append", default=[], metavar="URL")
    parser.add_argument("--sessions", action="store_true")


def refuse_without_http(invocation: Invocation) -> None:
    given = [name for name in _ONLY_HTTP if getattr(invocation.options, name)]
    if given:
        option = f"--{given[0].replace('_', '-')}"
        raise UsageError(
            f"mcp serve: {option} is for --http only",
            f"tongs mcp serve --http 127.0.0.1:8080 {option} …",
        )


def serve(invocation: Invocation, options: Options) -> None:
    from tongs.surfaces.mcp.http import bind, refuse_open_door, serve

    wanted = _wanted(invocation)
    refuse_open_door(wanted, _name(invocation))
    listening = bind(wanted.address)

    def ready(url: str) -> None:
        guarded = "with a token" if wanted.token else "without a token: for this machine only"
        invocation.console.say(f"serving MCP on {url} ({guarded})")
        invocation.console.flush()

    with listening:
        serve(invocation.runtime, options, wanted, listening, ready)


def _wanted(invocation: Invocation) -> HttpOptions:
    from tongs.surfaces.mcp.http import HttpOptions, parse_address

    given = invocation.options
    return HttpOptions(
        parse_address(given.http),
        _token(invocation),
        listed(given.allow_host),
        listed(given.allow_origin),
        given.sessions,
    )


def _name(invocation: Invocation) -> str:
    from tongs.surfaces.mcp.http import TOKEN

    return invocation.options.token_env or TOKEN


def _token(invocation: Invocation) -> str | None:
    """A secret like any other: `secrets` in the config says where it is, else the environment."""
    from tongs.config.environment import host_environment
    from tongs.runtime.secrets import Secrets

    name, runtime = _name(invocation), invocation.runtime
    secrets = Secrets(runtime.settings.secrets, host_environment(), runtime.places.home)
    found = secrets.value(name)
    if not found and invocation.options.token_env:
        raise UsageError(f"mcp serve: there is no token: {name} is not set", f"export {name}=…")
    return found or None
