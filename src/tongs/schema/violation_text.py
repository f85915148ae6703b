"""What the JSON Schema engine found, in our own words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from math import isfinite

from tongs.core.annotations import Any
from tongs.schema.document import PathTuple
from tongs.schema.nearest import did_you_mean
from tongs.schema.violation import Violation

_ARTICLES = {
    "string": "a string",
    "number": "a number",
    "integer": "an integer",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_MAX_SHOWN = 60


def describe(error: Any, schema: Any, *, mask: bool) -> list[Violation]:
    """The violations one error of the engine stands for (an unknown key is one each)."""
    path = tuple(error.instance_path)
    name = error.kind.name
    if name in ("anyOf", "oneOf") and any(error.kind.context):
        return _branches(error, schema, mask=mask)
    if name == "required":
        return [Violation((*path, error.kind.property), "is required", name)]
    if name in ("additionalProperties", "unevaluatedProperties"):
        known = _known_keys(schema, error.schema_path)
        return [
            Violation(
                (*path, key),
                f"unknown key `{_cut(key)}`{did_you_mean(key, known)}",
                "additionalProperties",
            )
            for key in error.kind.unexpected
        ]
    if name == "propertyNames":
        inner = error.kind.error
        key = str(inner.instance)
        message = f"is no allowed name: it {_message(inner, mask=True)}"
        return [Violation((*path, key), message, name)]
    message = _message(error, mask=mask)
    if name == "pattern" and (example := _example(schema, error.schema_path)):
        message = f"must look like {example}{_got(error.instance, mask=mask)}"
    return [Violation(path, message, name)]


# Types whose every value JSON can carry.
_HARMLESS = {int, bool, type(None)}


def not_json(value: Any, max_depth: int) -> list[Violation]:
    """What JSON cannot carry: such values would make the engine fail, or pass as something else."""
    found: list[Violation] = []
    waiting: list[tuple[PathTuple, Any]] = [((), value)]
    while waiting:
        path, item = waiting.pop()
        if len(path) > max_depth:
            return [Violation(path[:3], f"is nested deeper than {max_depth} levels", "depth")]
        if isinstance(item, dict):
            for key, entry in item.items():
                if not isinstance(key, str) or not _is_text(key):
                    found.append(Violation(path, f"has a key that is no text: {key!a}", "json"))
                elif type(entry) not in _HARMLESS and not (type(entry) is str and _is_text(entry)):
                    waiting.append(((*path, key), entry))
        elif isinstance(item, list | tuple):
            waiting.extend(((*path, n), entry) for n, entry in enumerate(item))
        elif trouble := _scalar_trouble(item):
            found.append(Violation(path, trouble, "json"))
    return found


def _scalar_trouble(value: Any) -> str:
    if isinstance(value, str):
        return "" if _is_text(value) else "is not valid Unicode text (a byte that is not UTF-8)"
    if isinstance(value, float):
        return "" if isfinite(value) else f"must be a number that JSON can carry, got {value}"
    if value is None or isinstance(value, int):
        return ""
    return f"is no JSON value but a Python {type(value).__name__}"


def _is_text(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _branches(error: Any, schema: Any, *, mask: bool) -> list[Violation]:
    """The branch the author meant: the one that accepted the type, else all types at once."""
    path = list(error.instance_path)
    accepted = []
    types: list[str] = []
    for branch in error.kind.context:
        wrong = [e for e in branch if e.kind.name == "type" and list(e.instance_path) == path]
        for mismatch in wrong:
            types += [name for name in mismatch.kind.types if name not in types]
        if branch and not wrong:
            accepted.append(branch)
    if len(accepted) == 1:
        return [violation for e in accepted[0] for violation in describe(e, schema, mask=mask)]
    missing = [branch[0] for branch in accepted if [e.kind.name for e in branch] == ["required"]]
    if missing and len(missing) == len(error.kind.context):
        keys = _either(dict.fromkeys(str(e.kind.property) for e in missing))
        return [Violation(tuple(path), f"must have {keys}", error.kind.name)]
    got = _got(error.instance, mask=mask)
    if types and not accepted:
        message = f"must be {_either(_ARTICLES[name] for name in types)}{got}"
        return [Violation(tuple(path), message, "type")]
    reasons = dict.fromkeys(
        _message(branch[0], mask=True)
        for branch in accepted
        if list(branch[0].instance_path) == path
    )
    message = _either(reasons) if reasons else f"fits none of the {len(error.kind.context)} forms"
    return [Violation(tuple(path), f"{message}{got}", error.kind.name)]


def _message(error: Any, *, mask: bool) -> str:
    words = _WORDS.get(error.kind.name)
    if words is None:
        return _rare(error)
    return words(error.kind) + _got(error.instance, mask=mask)


def _rare(error: Any) -> str:
    name, last = error.kind.name, (error.schema_path or [""])[-1]
    if name == "falseSchema":
        # The engine names the object, not the key, where no key at all is allowed.
        return "takes no keys" if last == "additionalProperties" else "is not allowed here"
    if name == "uniqueItems":
        return "must not contain the same element twice"
    if name == "contains":
        wanted = {"minContains": "too few", "maxContains": "too many"}.get(str(last), "no")
        return f"contains {wanted} elements of the wanted kind"
    if name == "oneOf":
        return "fits more than one of the forms, exactly one is allowed"
    if (
        name == "not"
        and isinstance(error.kind.schema, dict)
        and set(error.kind.schema) == {"required"}
    ):
        return f"must not have {' and '.join(error.kind.schema['required'])} together"
    return f"does not fit `{name}` of its schema"


_WORDS: dict[str, Callable[[Any], str]] = {
    "type": lambda kind: f"must be {_either(_ARTICLES[name] for name in kind.types)}",
    "enum": lambda kind: f"must be one of {_choices(kind.options)}",
    "const": lambda kind: f"must be {_shown(kind.expected_value)}",
    "pattern": lambda kind: f"must match the pattern `{kind.pattern}`",
    "format": lambda kind: f"must be a valid {kind.format}",
    "minimum": lambda kind: f"must be at least {kind.limit}",
    "maximum": lambda kind: f"must be at most {kind.limit}",
    "exclusiveMinimum": lambda kind: f"must be more than {kind.limit}",
    "exclusiveMaximum": lambda kind: f"must be less than {kind.limit}",
    "multipleOf": lambda kind: f"must be a multiple of {kind.multiple_of}",
    "minLength": lambda kind: f"must have at least {_count(kind.limit, 'character')}",
    "maxLength": lambda kind: f"must have at most {_count(kind.limit, 'character')}",
    "minItems": lambda kind: f"must have at least {_count(kind.limit, 'element')}",
    "maxItems": lambda kind: f"must have at most {_count(kind.limit, 'element')}",
    "minProperties": lambda kind: f"must have at least {_count(kind.limit, 'key')}",
    "maxProperties": lambda kind: f"must have at most {_count(kind.limit, 'key')}",
}


def _got(value: Any, *, mask: bool) -> str:
    return "" if mask else f", got {_shown(value)}"


def _shown(value: Any) -> str:
    return _cut(json.dumps(value, ensure_ascii=False, default=str))


def _choices(options: list[Any]) -> str:
    if all(isinstance(one, str) and one and not set(one) & set(', "') for one in options):
        return ", ".join(options)
    return ", ".join(_shown(one) for one in options)


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 3] + "..."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _either(words: Iterable[str]) -> str:
    return " or ".join(words)


def _known_keys(schema: Any, schema_path: Iterable[str | int]) -> list[str]:
    """The property names beside the keyword that refused a key."""
    properties = _beside(schema, schema_path).get("properties")
    return list(properties) if isinstance(properties, Mapping) else []


def _example(schema: Any, schema_path: Iterable[str | int]) -> str:
    """The examples beside the keyword: they say more than a regular expression."""
    examples = _beside(schema, schema_path).get("examples")
    return _either(map(_shown, examples)) if isinstance(examples, list) else ""


def _beside(schema: Any, schema_path: Iterable[str | int]) -> Mapping[str, Any]:
    for step in list(schema_path)[:-1]:
        try:
            schema = schema[step]
        except (LookupError, TypeError):
            return {}
    return schema if isinstance(schema, Mapping) else {}
