"""`tongs config init`: a config file to fill in."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

from tongs.core.scope import Scope
from tongs.surfaces.cli import failure
from tongs.surfaces.cli.config_set import SCOPES, say_untrusted
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser, add_scope_options


def options(parser: Parser) -> None:
    parser.add_argument("--force", action="store_true")
    add_scope_options(parser, default="user", scopes=SCOPES)


def run(invocation: Invocation) -> int:
    from tongs.runtime.configuring import Configuring

    file = Configuring.here().init(invocation.scope, force=invocation.options.force)
    invocation.console.say(f"wrote {file}: every key is there, and none of them counts yet")
    if invocation.scope is Scope.LOCAL:
        say_untrusted(invocation, file)
    return failure.OK
