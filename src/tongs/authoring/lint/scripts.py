"""Keys that do nothing where they stand: arguments nobody reads, scripts no platform runs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tongs.authoring.lint.view import SCRIPT_KEYS, Action, Definition, Passage
from tongs.core.errors import Problem, Severity

# How a script of each language gets at its own arguments.
_READS_ARGUMENTS = {
    "bash": re.compile(
        r"\$[@*#1-9]|\$\{[@*#!]?[@*1-9#]|\bgetopts?\b|\bshift\b|\bfor \w+ *(?:;|\n) *do\b"
    ),
    "python": re.compile(
        r"\bargv\b|\b(?:argparse|click|typer|docopt|optparse|getopt|fire|fileinput)\b"
    ),
    "pwsh": re.compile(r"\$args\b|\bparam\s*\(|\$PSBoundParameters\b", re.IGNORECASE),
    "cmd": re.compile(r"%[*1-9]|%~"),
}
_READS_ARGUMENTS["sh"] = _READS_ARGUMENTS["bash"]

_HOW = {
    "bash": 'use `"$@"` in the script, or a placeholder for each value',
    "sh": 'use `"$@"` in the script, or a placeholder for each value',
    "python": "read `sys.argv` in the script, or use a placeholder for each value",
    "pwsh": "read `$args` in the script, or use a placeholder for each value",
    "cmd": "use `%*` in the script, or a placeholder for each value",
}

_OF_AN_ACTION = ("arguments", "input", "shell", "mcp")


def arguments_unused(definition: Definition) -> Iterator[Problem]:
    for action in definition.actions:
        if not action.data.get("arguments"):
            continue
        for script in action.scripts:
            if not _reads_arguments(script, action):
                yield definition.finding(
                    "arguments-unused",
                    (*action.path, "arguments"),
                    f"the {script.path[-1]} text uses none of its arguments",
                    fix=_HOW.get(script.language, "add {1} to `shell:`, where the arguments go"),
                )


def _reads_arguments(script: Passage, action: Action) -> bool:
    if script.language == "custom":
        return "{1}" in str(action.data.get("shell", "{1}"))
    return _READS_ARGUMENTS[script.language].search(script.text) is not None


def ignored_keys(definition: Definition) -> Iterator[Problem]:
    if definition.has_steps:
        yield from _beside_steps(definition)
        yield from _of_last_step(definition)
    for action in definition.actions:
        yield from _of_action(definition, action)
    for name in definition.parameters:
        yield from _of_parameter(definition, name)


def _beside_steps(definition: Definition) -> Iterator[Problem]:
    for key in _OF_AN_ACTION:
        if key in definition.data:
            yield definition.finding(
                "ignored-key",
                (*definition.path, key),
                f"`{key}` beside `steps` has no effect",
                fix=f"move `{key}` into the step it is for",
            )


def _of_last_step(definition: Definition) -> Iterator[Problem]:
    last = definition.actions[-1]
    if last.data.get("continue-on-error"):
        yield definition.finding(
            "ignored-key",
            (*last.path, "continue-on-error"),
            "no step follows the last one, so its failure is the tool's",
            fix="remove it",
        )


def _of_action(definition: Definition, action: Action) -> Iterator[Problem]:
    data = action.data
    if "shell" in data and "script" not in data:
        key = next((key for key in SCRIPT_KEYS if key in data), None)
        yield definition.finding(
            "ignored-key",
            (*action.path, "shell"),
            "`shell` is for `script` and has no effect here",
            fix=f"write `script:` instead of `{key}:`, or remove `shell`" if key else "remove it",
        )
    if "mcp" in data and "tool" not in data and action.passages:
        message = "`mcp` is for `tool` and has no effect here"
        yield definition.finding("ignored-key", (*action.path, "mcp"), message, fix="remove it")


def _of_parameter(definition: Definition, name: str) -> Iterator[Problem]:
    declared = definition.declared(name)
    for key in ("true-value", "false-value"):
        if key in declared and declared.get("type") != "boolean":
            yield definition.finding(
                "ignored-key",
                (*definition.path, "parameters", name, key),
                f"`{key}` is for booleans, and {name} is none",
                fix=f"give {name} `type: boolean`, or remove `{key}`",
            )


def platforms(definition: Definition) -> Iterator[Problem]:
    """`cmd` runs on Windows only; a script for Windows needs Windows among the platforms."""
    named = definition.data.get("platforms")
    for action in definition.actions:
        scripts = [key for key in ("bash", "pwsh", "cmd") if key in action.data]
        windows_only = scripts == ["cmd"]
        others = [platform for platform in named or () if platform != "windows"]
        if windows_only and (others or not named):
            yield definition.finding(
                "platform",
                (*action.path, "cmd"),
                f"`cmd` cannot run on {' and '.join(others) or 'any platform but Windows'}",
                fix="add `bash:` beside it" if others else "say `platforms: [windows]`",
                severity=None if others else Severity.NOTE,
            )
        elif named and "windows" not in named and "cmd" in scripts:
            yield definition.finding(
                "platform",
                (*action.path, "cmd"),
                "`cmd` is never used, since `platforms` does not name windows",
                fix="remove it, or add windows to `platforms`",
            )
        elif named and "windows" not in named and {"bash", "pwsh"} <= set(scripts):
            yield definition.finding(
                "platform",
                (*action.path, "pwsh"),
                "`pwsh` is never used: on the platforms named, `bash` is taken",
                fix="remove it, or add windows to `platforms`",
            )
