"""`tongs tool import`: an http manifest from an OpenAPI document."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

import os

from tongs.core.annotations import TYPE_CHECKING
from tongs.surfaces.cli.failure import OK, result_json
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser, UsageError, add_scope_options
from tongs.surfaces.cli.table import one_line, table
from tongs.surfaces.cli.tool_new import check_name, show_written

if TYPE_CHECKING:
    from tongs.authoring.openapi.document import OpenApi
    from tongs.core.tool import Tool


def options(parser: Parser) -> None:
    parser.add_argument("--openapi", required=True, metavar="FILE")
    parser.add_argument("--operation", metavar="ID")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--name", metavar="NAME")
    parser.add_argument("--server", metavar="URL")
    parser.add_argument("--force", action="store_true")
    parser.add_argument("--json", action="store_true")
    add_scope_options(parser, default="local", scopes=("local", "user", "global"))


def run(invocation: Invocation) -> int:
    from tongs.authoring.openapi.manifest import imported, name_of
    from tongs.runtime.definitions import NewFile

    options = invocation.options
    if options.json and not options.list:
        raise UsageError("tool import: --json is for --list")
    document = _read(options.openapi)
    if options.list:
        _list(invocation, document)
        return OK
    operation = document.operation(options.operation)
    name = options.name or name_of(operation)
    check_name("tool import", name)
    made = imported(document, operation, name, options.server)
    runtime = invocation.runtime
    folder = runtime.places.folder_for_writing(invocation.scope)
    file = NewFile(os.path.join(folder, name, "tool.yml"), made.text.encode())
    tool = runtime.definitions.create(name, [file], invocation.scope, force=options.force)
    show_written(invocation, [file.path])
    for warning in made.warnings:
        invocation.console.warn(warning)
    _show_reach(invocation, tool)
    invocation.console.say(f"next:  tongs tool get {tool.name}")
    invocation.console.say(f"       tongs tool validate {tool.name}")
    return OK


def _show_reach(invocation: Invocation, tool: Tool) -> None:
    """Whom the author of the document made the tool talk to, and with which secrets."""
    permissions = tool.permissions
    if permissions is None or isinstance(permissions.network, bool):
        return
    hosts = ", ".join(permissions.network)
    names = ", ".join(secret.name for secret in permissions.secrets)
    sent = f", and sends it {names} from your environment" if names else ""
    invocation.console.say(f"it reaches {hosts}{sent}")


def _read(path: str) -> OpenApi:
    from tongs.authoring.openapi.document import MOST_BYTES, read
    from tongs.store.files import read_whole

    try:
        data = read_whole(path, MOST_BYTES)
    except OSError as error:
        raise UsageError(f"tool import: {path} cannot be read: {error.strerror}") from None
    if data is None:
        raise UsageError(f"tool import: there is no file `{path}`")
    return read(data, path)


def _list(invocation: Invocation, document: OpenApi) -> None:
    operations = list(document.operations())
    if invocation.options.json:
        wire = [
            {
                "operation": operation.id,
                "method": operation.method.upper(),
                "path": operation.path,
                "summary": operation.summary,
            }
            for operation in operations
        ]
        invocation.console.data(result_json(wire))
        return
    rows = [
        (one_line(each.id), each.method.upper(), one_line(each.path), one_line(each.summary))
        for each in operations
    ]
    header = ("OPERATION", "METHOD", "PATH", "SUMMARY")
    for line in table(header, rows, invocation.console.width()):
        invocation.console.data(f"{line}\n")
