"""Readers of tool definitions: one module per shape, each turning a file into a `Tool`."""
