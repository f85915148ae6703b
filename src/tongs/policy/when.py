"""Whether a call is one of those that a remembered decision speaks of.

`when` is written as in a rule of the config: `tool`, `tag`, `arguments` (exactly these) and
`argument: {NAME: {equals | path | host}}`.
"""

from __future__ import annotations

import json
import os.path
from collections.abc import Mapping

from tongs.core.annotations import Any
from tongs.core.call import ToolCall
from tongs.core.permissions import covered
from tongs.core.tool import Tool

_KEYS = {"tool", "tag", "arguments", "argument"}
_TESTS = {"equals", "path", "host"}
BELOW = "/**"


def problem_of(when: Any) -> str:
    """What is wrong with it; empty where nothing is."""
    if not isinstance(when, Mapping) or not when:
        return "`when` must be a mapping that names something"
    if unknown := sorted(map(str, when.keys() - _KEYS)):
        return f"`when` has the unknown key `{unknown[0]}`"
    if not all(isinstance(when.get(key, ""), str) for key in ("tool", "tag")):
        return "`tool` and `tag` must be names"
    if not all(isinstance(when.get(key, {}), Mapping) for key in ("arguments", "argument")):
        return "`arguments` and `argument` must be mappings"
    for name, test in when.get("argument", {}).items():
        if not isinstance(test, Mapping) or len(test) != 1 or not test.keys() <= _TESTS:
            return f"`{name}` needs one of {', '.join(sorted(_TESTS))}"
        listed = test.get("path", test.get("host", []))
        if not isinstance(listed, list) or not all(isinstance(item, str) for item in listed):
            return f"`{name}` needs a list of texts"
    return ""


def matches(when: Mapping[str, Any], call: ToolCall, tool: Tool, base: str) -> bool:
    """Whether everything it names is so; relative paths in arguments start at `base`."""
    if "tool" in when and (tool.private or when["tool"] not in (tool.name, tool.qualified_name)):
        return False
    if "tag" in when and when["tag"] not in tool.tags:
        return False
    if "arguments" in when and not same(when["arguments"], dict(call.arguments)):
        return False
    return all(
        name in call.arguments and _fits(test, call.arguments[name], base)
        for name, test in when.get("argument", {}).items()
    )


def speaks_of_arguments(when: Mapping[str, Any]) -> bool:
    return "arguments" in when or "argument" in when


def same(left: Any, right: Any) -> bool:
    """Equal as JSON: 1 is not true, and the order of keys does not matter."""
    return _canonical(left) == _canonical(right)


def in_words(when: Mapping[str, Any]) -> str:
    """`deploy where TARGET is "prod"`."""
    name = str(when.get("tool", "any tool"))
    if "tag" in when:
        name += f" tagged {when['tag']}"
    if "arguments" in when:
        given = ", ".join(f"{key}={_short(value)}" for key, value in when["arguments"].items())
        return f"{name} with exactly {given or 'no arguments'}"
    tests = [_in_words(key, test) for key, test in when.get("argument", {}).items()]
    return f"{name} where {' and '.join(tests)}" if tests else name


def host_of(value: Any) -> str:
    """The host of an address such as https://example.org/x, in small letters; else empty."""
    if not isinstance(value, str) or not value.isascii() or not value.isprintable():
        return ""
    scheme, mark, rest = value.partition("://")
    if not mark or scheme.lower() not in ("http", "https", "ftp", "ws", "wss"):
        return ""
    # Programs disagree about what a backslash ends, and about what stands before an `@`.
    authority = rest.split("/")[0].split("?")[0].split("#")[0]
    if "\\" in authority or "@" in authority or " " in value:
        return ""
    host = authority.rpartition("]")[0] + "]" if authority.startswith("[") else authority
    return host.partition(":")[0].rstrip(".").lower() if "[" not in host else host.lower()


def is_pathlike(value: Any) -> bool:
    """Whether a value can name a place; what some programs expand and others do not names none."""
    return isinstance(value, str) and bool(value) and "\0" not in value and value[0] != "~"


def located(value: str, base: str) -> str:
    """The path that a value names, without its links resolved."""
    return os.path.normpath("/" + os.path.join(base, value).lstrip("/"))


def _fits(test: Mapping[str, Any], value: Any, base: str) -> bool:
    if "equals" in test:
        return same(test["equals"], value)
    if "host" in test:
        host = host_of(value)
        return bool(host) and any(_is_host(host, entry) for entry in test["host"])
    if not is_pathlike(value):
        return False
    # Where links lead counts: a link below a folder may point out of it.
    real = os.path.realpath(os.path.join(base, value))
    return any(_is_path(real, entry) for entry in test["path"])


def _is_host(host: str, entry: str) -> bool:
    wanted = entry.lower()
    return host.endswith(wanted[1:]) if wanted.startswith("*.") else host == wanted


def _is_path(real: str, entry: str) -> bool:
    if entry.endswith(BELOW):
        return covered(real, (os.path.realpath(entry.removesuffix(BELOW) or "/"),))
    return real == os.path.realpath(entry)


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _in_words(name: str, test: Mapping[str, Any]) -> str:
    if "equals" in test:
        return f"{name} is {_short(test['equals'])}"
    if "host" in test:
        return f"{name} is on {', '.join(test['host'])}"
    return f"{name} lies in {', '.join(test['path'])}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}…"
