"""`when` of a remembered decision: what Tongs writes, and what a person may write in its place.

It is the `when` of a rule with few of its keys: `tool`, `tag`, `arguments` (exactly these) and
`argument: {NAME: {equals | path | host}}`. Names and paths in it are those of one call, so no
character of them is a wildcard but `/**` at the end of a path.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from tongs.core.annotations import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tongs.policy.conditions import When

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
    if when.get("argument") == {}:
        return "`argument` must name one"
    for name, test in when.get("argument", {}).items():
        if not isinstance(test, Mapping) or len(test) != 1 or not test.keys() <= _TESTS:
            return f"`{name}` needs one of {', '.join(sorted(_TESTS))}"
        listed = test.get("path", test.get("host", [""]))
        texts = isinstance(listed, list) and all(isinstance(item, str) for item in listed)
        if not texts or not listed:
            return f"`{name}` needs a list of texts"
    return ""


def compiled(when: Mapping[str, Any]) -> When:
    """As the `when` of a rule, which means the same."""
    from tongs.policy.conditions import compile_when  # noqa: PLC0415 - only to match a call

    rule: dict[str, Any] = {key: _escaped(when[key]) for key in ("tool", "tag") if key in when}
    if "arguments" in when:
        rule["arguments"] = when["arguments"]
    if "argument" in when:
        rule["argument"] = {
            _pointer(name): {**test, "path": [_glob(entry) for entry in test["path"]]}
            if "path" in test
            else test
            for name, test in when["argument"].items()
        }
    return compile_when(rule)


def _escaped(text: str) -> str:
    return re.sub(r"[*?[]", r"[\g<0>]", text)


def _glob(path: str) -> str:
    below = BELOW if path.endswith(BELOW) else ""
    return _escaped(path.removesuffix(below)) + below


def _pointer(name: str) -> str:
    """A name that begins like a JSON pointer is written as one."""
    return "/" + name.replace("~", "~0").replace("/", "~1") if name.startswith("/") else name


def speaks_of_arguments(when: Mapping[str, Any]) -> bool:
    return "arguments" in when or "argument" in when


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


def _in_words(name: str, test: Mapping[str, Any]) -> str:
    if "equals" in test:
        return f"{name} is {_short(test['equals'])}"
    if "host" in test:
        return f"{name} is on {', '.join(test['host'])}"
    return f"{name} lies in {', '.join(test['path'])}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}…"
