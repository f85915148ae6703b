"""`search_files`: text in files by regular expression, or files by glob."""

from __future__ import annotations

import os
from collections.abc import Mapping

from tongs.builtin.running import ask, interpreter_parts
from tongs.builtin.workspace import Spot, Workspace
from tongs.config.settings import Settings
from tongs.core.annotations import Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Context, World
from tongs.core.result import ToolResult
from tongs.core.tool import Tool
from tongs.output import visible
from tongs.policy.secret_files import NAMED_SECRETS

_PROGRAM = "search_program.py"

INPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "pattern": {
            "type": "string",
            "minLength": 1,
            "description": "Regular expression (Python), matched line by line; without it"
            " the files that match `glob` are listed",
        },
        "glob": {
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "maxItems": 32,
            "description": "Only these files, as in .gitignore: *.py, src/**/*.{ts,tsx}, !*.min.js",
        },
        "path": {
            "type": "string",
            "default": ".",
            "description": "Directory or file to search, relative to the workspace root",
        },
        "ignoreCase": {
            "type": "boolean",
            "default": False,
            "description": "Take small and capital letters for the same",
        },
        "includeHidden": {
            "type": "boolean",
            "default": False,
            "description": "Also names that start with a dot (never .git)",
        },
        "includeIgnored": {
            "type": "boolean",
            "default": False,
            "description": "Also what .gitignore and .ignore leave out",
        },
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": 2000,
            "default": 200,
            "description": "Most matching lines, or files, of the answer",
        },
    },
    "anyOf": [{"required": ["pattern"]}, {"required": ["glob"]}],
    "additionalProperties": False,
}
OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "matches": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "path": {"type": "string"},
                    "line": {"type": "integer"},
                    "column": {"type": "integer"},
                    "text": {"type": "string"},
                },
                "required": ["path", "line", "column", "text"],
            },
        },
        "files": {"type": "array", "items": {"type": "string"}},
        "truncated": {"type": "boolean"},
    },
    "required": ["matches", "files", "truncated"],
}


def tool(name: str, settings: Settings) -> Tool:
    return Tool(
        name=name,
        description="Search the files of the workspace: lines that match a regular expression, or"
        " the files whose names match a glob",
        input_schema=INPUT,
        output_schema=OUTPUT,
        executor="builtin_process",
        plan=SearchFiles(),
        tags=("read",),
        automatic=True,
        timeout=30.0,
        idempotent=True,
        programs=interpreter_parts(),
    )


class SearchFiles:
    def preview(self, arguments: Mapping[str, Any], world: World) -> str:
        wanted = [arguments["pattern"]] if "pattern" in arguments else []
        wanted += arguments.get("glob", [])
        return f"search {visible(arguments['path'])} for {visible(' '.join(wanted))}"

    async def run(self, arguments: Mapping[str, Any], context: Context) -> ToolResult:
        check_pattern(arguments.get("pattern"))
        start = await context.waiter.blocking(lambda: _start(arguments["path"], context))
        request = {
            "root": context.world.place.root,
            "names": start.names,
            "pattern": arguments.get("pattern"),
            "globs": arguments.get("glob", []),
            # As the rules have it for tools that name one file.
            "secret": "" if arguments.get("pattern") is None else NAMED_SECRETS,
            **{key: arguments[key] for key in _PASSED_ON},
        }
        return _result(await ask(_PROGRAM, request, context, expression="pattern"))


_PASSED_ON = ("ignoreCase", "includeHidden", "includeIgnored", "limit")


def check_pattern(pattern: str | None) -> None:
    """ToolError for what is no regular expression. Compiling is harmless, matching may not be."""
    if pattern is None:
        return
    import re  # noqa: PLC0415 - only where something is searched

    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ToolError(
            ErrorCode.INVALID_ARGUMENTS,
            f"{visible(pattern)} is no regular expression: {error}",
            hint="put a backslash before ( ) [ ] { } . * + ? ^ $ | to find these as they are",
        ) from None


def _start(path: str, context: Context) -> Spot:

    with Workspace.of(context) as workspace:
        spot = workspace.to_read(path)
        try:
            os.close(workspace.open_folder(spot, path))
        except ToolError as error:
            if error.code is not ErrorCode.INVALID_PATH:
                raise
            os.close(workspace.open_file(spot, path))
        return spot


def _result(found: dict[str, Any]) -> ToolResult:
    value = {key: found[key] for key in ("matches", "files", "truncated")}
    lines = [f"{each['path']}:{each['line']}: {each['text']}\n" for each in found["matches"]]
    if not lines:
        lines = [f"{path}\n" for path in found["files"]]
    warnings = []
    if found["truncated"]:
        warnings.append("there may be more: narrow `path`, `glob` or `pattern`, or raise `limit`")
    skipped = [f"{count} {kind}" for kind, count in found["skipped"].items() if count]
    metadata = {"searched": found["searched"], "skipped": found["skipped"]}
    if any(found["skipped"][kind] for kind in ("large", "unreadable", "secret")):
        warnings.append(f"files that were not searched: {', '.join(skipped)}")
    return ToolResult(output="".join(lines), value=value, warnings=warnings, metadata=metadata)
