"""What a Python program writes to make a tool: `BaseTool`, `@tool`, `create_json_schema`."""
