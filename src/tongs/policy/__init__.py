"""Deciding about a call: security levels, permissions derived from them, and the rules."""
