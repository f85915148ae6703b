"""Tongs as an MCP server: every tool for every client."""
