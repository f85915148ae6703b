"""What `tongs lint` says of `requires`: what this machine lacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tongs.authoring.lint import RULES
from tongs.core.errors import Problem, ToolError
from tongs.core.tool import Tool
from tongs.runtime import Runtime
from tongs.runtime.lint_files import Found
from tongs.runtime.requirements import Lack

RULE = "missing-requirement"


def unmet(runtime: Runtime, found: Iterable[Found]) -> Iterator[Problem]:
    """Every requirement that is not met. Of a tool that is not trusted nothing is started."""
    for item in found:
        if item.tool is None or not item.tool.requires:
            continue
        for lack in _lacks(runtime, item.tool, trusted=item.trusted):
            path = ("requires", item.tool.requires.index(lack.requirement))
            yield Problem(
                item.entry.path,
                f"it requires {lack}",
                line=0 if item.document is None else item.document.line_of(path),
                rule=RULE,
                severity=RULES[RULE].severity,
                hint=lack.hint,
            )


def _lacks(runtime: Runtime, tool: Tool, *, trusted: bool) -> list[Lack]:
    try:
        return runtime.missing(tool) if trusted else runtime.absent(tool)
    except ToolError:
        # A version is asked for behind walls; a machine without any can still look at the PATH.
        return runtime.absent(tool)
