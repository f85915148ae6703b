"""The way to MCP servers: their processes, their words, their tools."""
