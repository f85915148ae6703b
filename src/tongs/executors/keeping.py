"""Large output of what runs in this process, held to the same limit as that of a process."""

from __future__ import annotations

from tongs.core.annotations import Any
from tongs.core.execution import Context
from tongs.core.record import replace
from tongs.core.result import ToolResult
from tongs.output import decoded
from tongs.template.values import utf8

# Bytes of a character, at most.
_WIDEST = 4


def held(result: ToolResult, context: Context) -> ToolResult:
    """With the beginning of its text, and a handle of the whole, beyond limits.output.

    Its value stays whole. What is kept has no secrets.
    """
    if len(result.output) * _WIDEST <= context.limit and context.redactor is None:
        return result
    output = result.output if context.redactor is None else context.redactor.text(result.output)
    text = utf8(output)
    kept = context.keep(text)
    if len(kept.data) == len(text):
        return result
    from tongs.executors.step import cut  # noqa: PLC0415 - large output only

    notice = cut(len(kept.data), len(text), kept.handle, kept.lost)
    facts: dict[str, Any] = {"outputSize": len(text)}
    if kept.handle is not None:
        facts = {"outputHandle": kept.handle, **facts}
    return replace(
        result,
        output=decoded(kept.data),
        warnings=[*result.warnings, notice],
        metadata={**result.metadata, **facts},
    )
