"""`tongs schema`: the JSON Schemas of everything an author writes, for editors and programs."""

from __future__ import annotations

from tongs.schema.files import path_of
from tongs.surfaces.cli.failure import result_json
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser
from tongs.surfaces.cli.table import table

# What a person calls a schema -> the name of its file, and what it describes.
SCHEMAS = {
    "yaml": ("tool.yaml", "a tool in one YAML file"),
    "manifest": ("manifest", "a tool in a directory: tool.yml"),
    "description": ("description", "what an executable prints for `description`"),
    "config": ("config", "config.yml"),
    "server": ("server", "an MCP server for some tools: mcp/NAME.yml"),
}


def options(parser: Parser) -> None:
    parser.add_argument("name", nargs="?", choices=tuple(SCHEMAS), metavar="|".join(SCHEMAS))
    parser.add_argument("--path", action="store_true")
    parser.add_argument("--json", action="store_true")


def run(invocation: Invocation) -> int:
    console, name = invocation.console, invocation.options.name
    if name is None:
        console.data(_paths() if invocation.options.path else _list(invocation.options.json))
        return 0
    path = path_of(SCHEMAS[name][0])
    if invocation.options.path:
        console.data(f"{path}\n")
        return 0
    with open(path, encoding="utf-8") as file:
        console.data(file.read())
    return 0


def _paths() -> str:
    return "".join(f"{path_of(file)}\n" for file, _ in SCHEMAS.values())


def _list(as_json: bool) -> str:
    if as_json:
        return result_json(
            [
                {"name": name, "describes": text, "path": path_of(file)}
                for name, (file, text) in SCHEMAS.items()
            ]
        )
    rows = [(name, text, path_of(file)) for name, (file, text) in SCHEMAS.items()]
    return "".join(f"{line}\n" for line in table(("NAME", "DESCRIBES", "PATH"), rows))
