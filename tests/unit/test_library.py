"""The names a program may import, and nothing by accident."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tongs

PUBLIC = [
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


def test_public_names_are_pinned() -> None:
    assert tongs.__all__ == PUBLIC
    assert dir(tongs) == sorted(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_public_name_can_be_imported(name: str) -> None:
    assert getattr(tongs, name) is not None


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Manager'"):
        tongs.Manager  # noqa: B018 - the access is the test


def test_importing_tongs_loads_no_event_loop() -> None:
    code = "import tongs, sys; tongs.Runtime; print('asyncio' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"
