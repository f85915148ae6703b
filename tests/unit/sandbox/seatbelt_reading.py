"""Reads a Seatbelt profile as macOS would, as far as Tongs writes them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_TOKEN = re.compile(r'\s*(?:(?P<bracket>[()])|"(?P<text>[^"\\]*)"|(?P<word>[^\s()"]+))')


def parsed(text: str) -> list[Any]:
    """The expressions of a profile; a string is a one-element tuple, to tell it from a word."""
    stack: list[list[Any]] = [[]]
    at = 0
    while text[at:].strip():
        token = _TOKEN.match(text, at)
        assert token, f"no token at: {text[at : at + 40]!r}"
        at = token.end()
        if token["bracket"] == "(":
            stack.append([])
        elif token["bracket"] == ")":
            inner = stack.pop()
            stack[-1].append(inner)
        else:
            stack[-1].append((token["text"],) if token["text"] is not None else token["word"])
    assert len(stack) == 1, "unbalanced"
    return stack[0]


@dataclass(frozen=True)
class Profile:
    """A profile with its parameters. `allows` answers for the weaker of two ways to read it.

    Either the last rule that fits holds; or, as some versions of macOS do it, the last one that
    names the very operation, whatever a later rule says about its family.
    """

    rules: list[Any]
    parameters: Mapping[str, str]

    @staticmethod
    def read(text: str, parameters: Mapping[str, str]) -> Profile:
        version, *rules = parsed(text)
        assert version == ["version", "1"]
        return Profile(rules, parameters)

    def allows(
        self, operation: str, path: str = "", *, folder: bool = False, **remote: str
    ) -> bool:
        fitting = [
            (rule[0] == "allow", operation in rule[1:])
            for rule in self.rules
            if self._names(rule, operation) and self._fits(rule, path, folder, remote)
        ]
        exact = [allowed for allowed, exactly in fitting if exactly]
        return fitting[-1][0] or (bool(exact) and exact[-1])

    def reads(self, path: str) -> bool:
        return self.allows("file-read-data", path)

    def writes(self, path: str) -> bool:
        """Whether anything at all about it may be changed."""
        operations = "data create unlink mode flags times xattr".split()
        return any(self.allows(f"file-write-{operation}", path) for operation in operations)

    def _names(self, rule: list[Any], operation: str) -> bool:
        if rule[1] == "default":
            return True
        families = [word for word in rule[1:] if isinstance(word, str)]
        return any(
            operation == family or (family[-1] == "*" and operation.startswith(family[:-1]))
            for family in families
        )

    def _fits(self, rule: list[Any], path: str, folder: bool, remote: Mapping[str, str]) -> bool:
        filters = [part for part in rule[1:] if isinstance(part, list)]
        return not filters or any(self._matches(part, path, folder, remote) for part in filters)

    def _matches(self, part: list[Any], path: str, folder: bool, remote: Mapping[str, str]) -> bool:
        kind, *rest = part
        if kind == "require-all":
            return all(self._matches(inner, path, folder, remote) for inner in rest)
        if kind == "vnode-type":
            return bool(rest == ["REGULAR-FILE"]) and not folder
        if kind in ("remote", "local"):
            return bool(remote.get(kind) == rest[0])
        if kind in ("target", "global-name"):
            return False
        value = self._value(rest[0])
        if kind == "literal":
            return path == value
        below = value if value == "/" else value + "/"
        if kind == "subpath":
            return path == value or path.startswith(below)
        assert kind == "path-ancestors", kind
        return path == "/" or value.startswith(path + "/")

    def _value(self, part: Any) -> str:
        if isinstance(part, tuple):
            return str(part[0])
        word, (name,) = part
        assert word == "param"
        return self.parameters[name]
