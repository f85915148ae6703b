"""Regular expressions of files that nobody trusts: one that could run for years is not run."""

from __future__ import annotations

from collections.abc import Mapping

from tongs.core.annotations import Any


def is_slow(pattern: str) -> bool:
    """Whether a group repeats that itself repeats or chooses: `(a+)+`, `(a|a)*`."""
    open_groups = [False]
    index = 0
    while index < len(pattern):
        char = pattern[index]
        if char == "\\":
            index += 1
        elif char == "(":
            open_groups.append(False)
        elif char in "*+{|":
            open_groups[-1] = True
        elif char == ")" and len(open_groups) > 1:
            inner = open_groups.pop()
            if inner and pattern[index + 1 : index + 2] in ("*", "+", "{"):
                return True
            open_groups[-1] |= inner
        index += 1
    return False


def without_slow(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The rule without its slow patterns: it is about more calls then, and asks."""
    when = data.get("when")
    if not isinstance(when, Mapping) or not any(map(is_slow, _patterns(when))):
        return data
    kept = {key: value for key, value in when.items() if key not in ("argument", "command")}
    return {**data, "when": kept or {"tool": "*"}, "decision": "ask"}


def _patterns(when: Mapping[str, Any]) -> list[str]:
    commands = when.get("command", ())
    commands = (commands,) if isinstance(commands, str) else commands
    found = [str(text)[3:] for text in commands if str(text).startswith("re:")]
    arguments = when.get("argument")
    for test in arguments.values() if isinstance(arguments, Mapping) else ():
        pattern = test.get("pattern") if isinstance(test, Mapping) else test
        if isinstance(pattern, str):
            found.append(pattern)
    return found
