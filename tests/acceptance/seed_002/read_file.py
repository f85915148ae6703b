"""The example of seed 002 in Python: `readFileTool`, `writeFileTool`, and the registry."""

import base64
import os
from datetime import UTC, datetime

from tongs import Tool, ToolRegistry, ToolResult, create_json_schema


async def read_file(args):
    path, encoding = args["path"], args.get("encoding", "utf-8")
    with open(path, "rb") as file:  # noqa: ASYNC230 - an example, not a server
        data = file.read()
    content = data.decode() if encoding == "utf-8" else base64.b64encode(data).decode()
    modified = datetime.fromtimestamp(os.stat(path).st_mtime, UTC).isoformat()
    value = {"content": content, "size": len(data), "modified": modified}
    return ToolResult(output=content, value=value)


read_file_tool = Tool(
    name="read_file",
    description="Read the contents of a file in the workspace",
    input_schema=create_json_schema(
        properties={
            "path": {"type": "string", "description": "Path relative to workspace root"},
            "encoding": {"type": "string", "enum": ["utf-8", "base64"]},
        },
        required=["path"],
    ),
    output_schema=create_json_schema(
        properties={
            "content": {"type": "string"},
            "size": {"type": "number"},
            "modified": {"type": "string"},
        },
        required=["content", "size", "modified"],
    ),
    requires_approval=False,
    execute=read_file,
)


def write_file(args):
    with open(args["path"], "w") as file:
        return {"path": args["path"], "size": file.write(args["content"])}


write_file_tool = Tool(
    name="write_file",
    description="Create or overwrite file",
    input_schema=create_json_schema(
        properties={"path": {"type": "string"}, "content": {"type": "string"}},
        required=["path", "content"],
    ),
    # Require approval only if overwriting
    requires_approval=lambda args: os.path.exists(args["path"]),
    execute=write_file,
)

registry = ToolRegistry()
registry.register(read_file_tool)
registry.register(write_file_tool)
