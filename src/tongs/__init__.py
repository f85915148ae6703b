"""Tongs: define a tool once, let every agent use it, and nobody gets burned.

from tongs import Runtime

with Runtime.open(auto_approve=["tool:read"]) as rt:
    print(rt.call_sync("weather", LOCATION="London").output)
"""

from __future__ import annotations

from tongs._version import __version__
from tongs.core.annotations import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tongs.core.approval import ApprovalRequest, ApprovalResponse, Approver
    from tongs.core.call import Caller, CallerKind, ToolCall
    from tongs.core.errors import DefinitionInvalid, ErrorCode, ToolError
    from tongs.core.permissions import Limits, Permissions
    from tongs.core.result import ToolResult
    from tongs.core.scope import Scope
    from tongs.core.tool import Tool
    from tongs.library.base import BaseTool
    from tongs.library.decorator import tool
    from tongs.library.schemas import create_json_schema
    from tongs.policy.rules import RuleEngine
    from tongs.policy.safety import SafetyRule
    from tongs.registry import ToolRegistry
    from tongs.runtime import Runtime

# Imported on first use, so that `import tongs` stays cheap for those who need one name.
_HOMES = {
    "ApprovalRequest": "core.approval",
    "ApprovalResponse": "core.approval",
    "Approver": "core.approval",
    "BaseTool": "library.base",
    "Caller": "core.call",
    "CallerKind": "core.call",
    "DefinitionInvalid": "core.errors",
    "ErrorCode": "core.errors",
    "Limits": "core.permissions",
    "Permissions": "core.permissions",
    "RuleEngine": "policy.rules",
    "Runtime": "runtime",
    "SafetyRule": "policy.safety",
    "Scope": "core.scope",
    "Tool": "core.tool",
    "ToolCall": "core.call",
    "ToolError": "core.errors",
    "ToolRegistry": "registry",
    "ToolResult": "core.result",
    "create_json_schema": "library.schemas",
    "tool": "library.decorator",
}

__all__ = [
    "ApprovalRequest",
    "ApprovalResponse",
    "Approver",
    "BaseTool",
    "Caller",
    "CallerKind",
    "DefinitionInvalid",
    "ErrorCode",
    "Limits",
    "Permissions",
    "RuleEngine",
    "Runtime",
    "SafetyRule",
    "Scope",
    "Tool",
    "ToolCall",
    "ToolError",
    "ToolRegistry",
    "ToolResult",
    "__version__",
    "create_json_schema",
    "tool",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tongs' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - part of what is lazy

    value = getattr(import_module(f"tongs.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
