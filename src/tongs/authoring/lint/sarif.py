"""The report as SARIF 2.1.0, which code hosts show beside the lines of a change."""

from __future__ import annotations

import os.path
from collections.abc import Iterable, Sequence

from tongs.authoring.lint.loading import with_subject
from tongs.authoring.lint.rules import RULES
from tongs.core.annotations import Any
from tongs.core.digest import digest_of
from tongs.core.errors import Problem, Severity

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
VERSION = "2.1.0"
# The name that code hosts know.
_BASE = "%SRCROOT%"


def sarif(problems: Sequence[Problem], root: str, version: str) -> dict[str, Any]:
    """One run. Files below `root` are named from there, so that a code host finds them."""
    names = list(dict.fromkeys(problem.rule for problem in problems))
    return {
        "$schema": SCHEMA,
        "version": VERSION,
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "tongs",
                        "semanticVersion": version,
                        "rules": [_rule(name) for name in names],
                    }
                },
                "originalUriBaseIds": {_BASE: {"uri": _uri(root) + "/"}},
                "columnKind": "unicodeCodePoints",
                "invocations": [{"executionSuccessful": True}],
                "results": [_result(problem, names, root) for problem in problems],
            }
        ],
    }


def _rule(name: str) -> dict[str, Any]:
    rule = RULES.get(name)
    if rule is None:
        return {"id": name, "shortDescription": {"text": name}}
    return {
        "id": name,
        "shortDescription": {"text": f"Finds {rule.finds}."},
        "fullDescription": {"text": _sentence(rule.why)},
        "help": {
            "text": f"Why: {rule.why}.\nFix: {rule.fix}.",
            "markdown": f"**Why:** {rule.why}.\n\n**Fix:** {rule.fix}.",
        },
        "defaultConfiguration": {"level": _level(rule.severity)},
    }


def _result(problem: Problem, names: Sequence[str], root: str) -> dict[str, Any]:
    said, fix = with_subject(problem), f" (fix: {problem.hint})" if problem.hint else ""
    return {
        "ruleId": problem.rule,
        "ruleIndex": names.index(problem.rule),
        "level": _level(problem.severity),
        "message": {"text": _text(said + fix)},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": _place(problem.file, root),
                    # Code hosts show nothing that has no line.
                    "region": {"startLine": max(problem.line, 1)},
                }
            }
        ],
        # The same finding after other lines have moved it.
        "partialFingerprints": {"tongs/v1": _mark((problem.rule, problem.field, said + fix))},
    }


def _level(severity: Severity) -> str:
    return severity.value


def _place(file: str, root: str) -> dict[str, str]:
    inside = os.path.relpath(os.path.realpath(file), os.path.realpath(root))
    if inside.split(os.sep)[0] == os.pardir:
        return {"uri": _uri(file)}
    return {"uri": _quoted(inside), "uriBaseId": _BASE}


def _uri(path: str) -> str:
    return "file://" + _quoted(os.path.realpath(path))


def _quoted(path: str) -> str:
    from urllib.parse import quote_from_bytes  # noqa: PLC0415 - where a code host asks

    return quote_from_bytes(os.fsencode(path))


def _mark(parts: Iterable[str]) -> str:
    return digest_of("\0".join(parts).encode("utf-8", "backslashreplace"))[:32]


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _text(text: str) -> str:
    """Names of files may hold bytes that are no text; JSON cannot carry those."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
