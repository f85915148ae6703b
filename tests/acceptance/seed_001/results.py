from tongs import ToolResult

# Success
ToolResult(
    tool_call_id="call-123",
    output="Result data here",
    success=True,
)

# Failure
ToolResult(
    tool_call_id="call-123",
    output="",
    error="What went wrong",
    success=False,
)
