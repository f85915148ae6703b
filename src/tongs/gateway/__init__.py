"""The way to MCP servers: their processes, their words, their tools.

One event loop in a thread of its own holds all connections; it starts with the first one. The SDK
speaks the protocol, on a transport of ours: what a server says is measured, checked and cut before
the SDK or anybody else sees it.
"""
