"""A file against one of the shipped schemas: every problem with its line and field."""

from __future__ import annotations

from tongs.core.annotations import Any
from tongs.core.errors import DefinitionInvalid, Problem
from tongs.core.record import replace
from tongs.schema.check import Violation, violations
from tongs.schema.document import Document, PathTuple
from tongs.schema.files import load
from tongs.schema.units import duration


def check_document(document: Document, schema_name: str) -> list[Problem]:
    """Everything the schema refuses in `document`, in the order of its lines."""
    found = violations(load(schema_name), document.data)
    problems = [_problem(document, violation) for violation in found]
    return sorted(problems, key=lambda problem: problem.line)


def require_valid(document: Document, schema_name: str) -> Document:
    """`document` marked as checked, or DefinitionInvalid with every problem."""
    if document.checked == schema_name:
        return document
    problems = check_document(document, schema_name)
    if problems:
        raise DefinitionInvalid(problems)
    return replace(document, checked=schema_name)


def _problem(document: Document, violation: Violation) -> Problem:
    wanted = _wanted_instead(violation.path) if violation.keyword != "required" else ""
    if wanted:
        # Somebody may have written the secret itself: it is not repeated.
        return document.problem(
            violation.path, wanted, rule="schema", hint="a config file never holds a secret itself"
        )
    message = violation.message
    if not violation.path:
        message = f"the file {message}"
    return document.problem(violation.path, message, rule="schema", hint=_hint(document, violation))


_REFERENCE = "env:NAME, file:PATH or keyring:SERVICE/NAME"
_OF_A_MODEL = {
    "key": f"must be a reference: {_REFERENCE}",
    "proxy": f"must be an address without a password, or a reference: {_REFERENCE}",
    "base_url": "must be an address without a password, as in http://127.0.0.1:1234/v1",
}


def _wanted_instead(path: PathTuple) -> str:
    """What belongs where people are tempted to write a secret: in settings, or in a profile's."""
    own = path[2:] if path[:1] == ("profiles",) else path
    if len(own) == 2 and own[0] == "secrets":
        return f"must be a reference: {_REFERENCE}"
    if len(own) == 3 and own[0] == "models":
        return _OF_A_MODEL.get(str(own[2]), "")
    return ""


def _hint(document: Document, violation: Violation) -> str:
    """Most wrong types come from YAML's reading of an unquoted text."""
    if violation.keyword != "type" or not violation.path:
        return ""
    value: Any = document.data
    for key in violation.path:
        value = value[key]
    if violation.path[-1] in ("timeout", "timeout_ms") and isinstance(value, str):
        return _in_milliseconds(str(violation.path[-1]), value)
    if "a string" not in violation.message:
        return ""
    if isinstance(value, dict | list):
        return f"a text that starts with `{'{' if isinstance(value, dict) else '['}` needs quotes"
    key = violation.path[-1]
    before = "-" if isinstance(key, int) else f"{key}:"
    if value is None:
        return f'for an empty text write `{before} ""`'
    text = str(value).lower() if isinstance(value, bool) else value
    return f'to give it as text write `{before} "{text}"`'


def _in_milliseconds(key: str, written: str) -> str:
    try:
        return f"this file counts in milliseconds: `{key}: {round(duration(written) * 1000)}`"
    except ValueError:
        return f"give it in milliseconds, for example `{key}: 30000`"
