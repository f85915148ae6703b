"""`shell` (seed 001) and `run_code` (seed 002): code of the caller, run in the sandbox."""

from __future__ import annotations

from tongs.config.settings import Settings
from tongs.core.annotations import Any
from tongs.core.call import BACKGROUND
from tongs.core.tool import Tool
from tongs.template.code import CodePlan

# A day: whatever is meant to run longer is no call.
_LONGEST = 86400

_OUTPUT = {
    "type": "object",
    "properties": {
        "stdout": {"type": "string"},
        "stderr": {"type": "string"},
        "exitCode": {"type": "integer", "description": "128 and more: ended by a signal"},
        "duration": {"type": "integer", "description": "Milliseconds"},
    },
    "required": ["stdout", "stderr", "exitCode", "duration"],
}


def tool(name: str, settings: Settings) -> Tool:
    return _shell() if name == "shell" else _run_code()


def _shell() -> Tool:
    return Tool(
        name="shell",
        description=(
            "Execute a command with bash in the workspace. Returns stdout and stderr."
            " There is no network unless the person's config grants it."
        ),
        input_schema=_schema(
            {
                "command": {"type": "string", "description": "Command to execute"},
                "cwd": {
                    "type": "string",
                    "description": "Working directory, relative to the workspace root",
                },
                "timeout": _seconds("30 by default"),
            },
            "command",
        ),
        output_schema=_OUTPUT,
        executor="code",
        plan=CodePlan("command", timeout=30, language="bash"),
        tags=("run",),
        platforms=("linux", "macos"),
        timeout=None,
    )


def _run_code() -> Tool:
    texts = {"type": "object", "additionalProperties": {"type": "string"}}
    return Tool(
        name="run_code",
        description=(
            "Execute Python or bash code in a sandbox: files of the workspace only, no network"
            " unless the person's config grants it, limited memory and time."
        ),
        input_schema=_schema(
            {
                "language": {
                    "type": "string",
                    "enum": ["python", "bash"],
                    "description": "Language of the code",
                },
                "code": {"type": "string", "description": "Code to execute"},
                "args": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "Command-line arguments",
                },
                "env": {**texts, "description": "Environment variables"},
                "timeout": _seconds("60 by default"),
            },
            "language",
            "code",
        ),
        output_schema=_OUTPUT,
        executor="code",
        plan=CodePlan("code", timeout=60),
        tags=("run",),
        platforms=("linux", "macos"),
        timeout=None,
        automatic=True,
        approval_reason="it runs code, and this machine does not confine it",
    )


def _seconds(usual: str) -> dict[str, Any]:
    return {
        "type": "number",
        "exclusiveMinimum": 0,
        "maximum": _LONGEST,
        "description": f"Seconds until it is stopped, {usual}",
    }


def _schema(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**properties, "background": BACKGROUND},
        "required": [*required],
        "additionalProperties": False,
    }
