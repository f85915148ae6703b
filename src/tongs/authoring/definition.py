"""A tool definition from the options of `tool add`."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence

from tongs.core.annotations import Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.schema.units import duration

KINDS = ("run", "cmd", "bash", "pwsh", "python", "script", "tool")
TYPES = ("string", "number", "integer", "boolean", "array", "object")
PARAMETER_OPTIONS = (
    "type",
    "required",
    "default",
    "true-value",
    "false-value",
    "enum",
    "pattern",
    "items",
    "minimum",
    "maximum",
)


def definition(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The mapping that stands in the file, in the order a person reads it."""
    given = {key: value for key, value in options.items() if value not in (None, [], ())}
    data: dict[str, Any] = {"name": name, "description": given.get("description", "")}
    data |= {kind: given[kind] for kind in (*KINDS, "shell") if kind in given}
    if "arguments" in given:
        data["arguments"] = _arguments(given["arguments"])
    if "input" in given:
        data["input"] = given["input"]
    if "step" in given:
        data["steps"] = [step(words) for words in given["step"]]
    if "parameter" in given:
        data["parameters"] = _parameters(given["parameter"])
    data |= _safety(given)
    if "tag" in given:
        data["tags"] = list(dict.fromkeys(given["tag"]))
    if "platform" in given:
        data["platforms"] = list(dict.fromkeys(given["platform"]))
    if "timeout" in given:
        data["timeout"] = milliseconds(given["timeout"])
    if "working_directory" in given:
        data["working-directory"] = given["working_directory"]
    if "env" in given:
        data["environment"] = dict(_assignment("--env", text) for text in given["env"])
    _refuse_undecodable(data)
    return data


def step(words: Sequence[str]) -> dict[str, Any]:
    """`NAME "COMMAND"`, in the default shell, or `NAME KIND "COMMAND"`."""
    match list(words):
        case [name, command]:
            return {"name": name, "script": command}
        case [name, kind, command] if kind in KINDS:
            return {"name": name, kind: command}
        case [name, kind, _]:
            raise _refused(
                f"--step {name}: `{kind}` is no kind of step", f"one of {', '.join(KINDS)}"
            )
    raise _refused(
        f"--step {' '.join(words)}: needs a name and a command",
        '--step NAME "COMMAND", or --step NAME KIND "COMMAND"; quote the command',
    )


def parameter(words: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """`NAME "DESCRIPTION" key=value …` as the name and the entry of the parameter."""
    name, *more = words
    entry: dict[str, Any] = {}
    if more and not _is_option(more[0]):
        entry["description"] = more.pop(0)
    texts = dict(_assignment(f"--parameter {name}", text) for text in more)
    for key in texts:
        if key not in PARAMETER_OPTIONS:
            raise _refused(
                f"--parameter {name}: unknown option `{key}=`",
                f"one of {', '.join(f'{option}=' for option in PARAMETER_OPTIONS)}",
            )
    kind = texts.get("type", "string")
    for key in PARAMETER_OPTIONS:
        if key in texts:
            entry[key] = _keyword(f"--parameter {name} {key}=", key, texts[key], kind)
    return name, entry


def milliseconds(text: str) -> int:
    """`10000`, `500ms`, `30s`, `1h30m`; a bare number is milliseconds."""
    try:
        amount = int(text) if text.isdecimal() else round(duration(text) * 1000)
    except ValueError:
        amount = 0
    if amount < 1:
        raise _refused(f"`{text}` is no timeout", "milliseconds, or a duration such as 30s or 2m")
    return amount


def _parameters(all_words: Sequence[Sequence[str]]) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    for words in all_words:
        name, entry = parameter(words)
        if name in entries:
            raise _refused(f"--parameter {name} is given twice", "give each parameter once")
        entries[name] = entry
    return entries


def _safety(given: Mapping[str, Any]) -> dict[str, Any]:
    permissions: dict[str, Any] = {}
    if "network" in given:
        hosts = [host for host in given["network"] if host is not True]
        permissions["network"] = hosts if len(hosts) == len(given["network"]) else True
    files = {key: given[key] for key in ("read", "write") if key in given}
    if files:
        permissions["fs"] = files
    if "secret" in given:
        entry = {"type": "string", "required": True}
        permissions["secrets"] = {name: dict(entry) for name in given["secret"]}
    data: dict[str, Any] = {"permissions": permissions} if permissions else {}
    if "approval" in given:
        data["approval"] = {"required": True, "reason": given["approval"]}
    return data


def _arguments(text: str) -> Any:
    """A JSON object by name, or words by position."""
    # `{A}` is a word with a placeholder; an object continues with a key or ends.
    if text.lstrip()[:1] == "{" and text.lstrip()[1:].lstrip()[:1] in ('"', "}"):
        try:
            return json.loads(text)
        except ValueError as error:
            raise _refused(f"--arguments: this is no JSON: {error}", '{"key": "value"}') from None
    try:
        return shlex.split(text)
    except ValueError as error:
        raise _refused(f"--arguments: {error}", "words as in a shell, or a JSON object") from None


def _keyword(where: str, key: str, text: str, kind: str) -> Any:
    match key:
        case "required":
            return _typed(where, text, "boolean")
        case "minimum" | "maximum":
            return _typed(where, text, "number")
        case "default":
            return _typed(where, text, kind)
        case "enum":
            if text.startswith("["):
                return _typed(where, text, "array")
            return [_typed(where, value, kind) for value in text.split(",")]
        case "items":
            return {"type": _known_type(where, text)}
        case "type":
            return _known_type(where, text)
    return text


def _known_type(where: str, text: str) -> str:
    if text not in TYPES:
        raise _refused(f"{where}{text}: unknown type", f"one of {', '.join(TYPES)}")
    return text


def _typed(where: str, text: str, kind: str) -> Any:
    """The text as a value of this type; text stays as it is, whatever it looks like."""
    if kind == "string":
        return text
    expected = {
        "boolean": bool,
        "integer": int,
        "number": (int, float),
        "array": list,
        "object": dict,
    }[kind]
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except ValueError:
        value = None
    is_number = kind in ("integer", "number")
    if not isinstance(value, expected) or (is_number and isinstance(value, bool)):  # type: ignore[arg-type]  # a type or a tuple of types
        raise _refused(f"{where}{text}: this is no {kind}", _EXAMPLES[kind])
    return value


_EXAMPLES = {
    "boolean": "true or false",
    "integer": "for example 5",
    "number": "for example 5 or 0.5",
    "array": 'for example ["a", "b"]',
    "object": 'for example {"a": 1}',
}


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _is_option(word: str) -> bool:
    key, equals, _ = word.partition("=")
    return bool(equals) and key in PARAMETER_OPTIONS and " " not in word


def _assignment(where: str, text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise _refused(f"{where}: expected NAME=VALUE, got `{text}`", "quote texts with blanks")
    return key, value


def _refuse_undecodable(value: Any) -> None:
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise _refused(
                f"{value!a} is not valid UTF-8, and a definition must be", "keep it in a file"
            ) from None
    elif isinstance(value, dict):
        for key, item in value.items():
            _refuse_undecodable(key)
            _refuse_undecodable(item)
    elif isinstance(value, list):
        for item in value:
            _refuse_undecodable(item)


def _refused(message: str, hint: str) -> ToolError:
    return ToolError(ErrorCode.INVALID_ARGUMENTS, message, hint=hint)
