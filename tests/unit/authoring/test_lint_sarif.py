"""The report for code hosts has the shape of SARIF 2.1.0."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tongs.authoring.lint import RULES
from tongs.authoring.lint.sarif import sarif
from tongs.core.errors import Problem, Severity

# What the standard says of the parts that are used, in its own terms.
URI = {"type": "string", "pattern": "^[A-Za-z0-9._~:/?#@!$&'()*+,;=%-]+$"}
MESSAGE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["text"],
    "properties": {"text": {"type": "string", "minLength": 1}, "markdown": {"type": "string"}},
}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
RULE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["id"],
    "properties": {
        "id": {"type": "string"},
        "shortDescription": MESSAGE,
        "fullDescription": MESSAGE,
        "help": MESSAGE,
        "defaultConfiguration": {
            "type": "object",
            "additionalProperties": False,
            "properties": {"level": LEVEL},
        },
    },
}
LOCATION = {
    "type": "object",
    "additionalProperties": False,
    "required": ["physicalLocation"],
    "properties": {
        "physicalLocation": {
            "type": "object",
            "additionalProperties": False,
            "required": ["artifactLocation", "region"],
            "properties": {
                "artifactLocation": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["uri"],
                    "properties": {"uri": URI, "uriBaseId": {"type": "string"}},
                },
                "region": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["startLine"],
                    "properties": {"startLine": {"type": "integer", "minimum": 1}},
                },
            },
        }
    },
}
RESULT = {
    "type": "object",
    "additionalProperties": False,
    "required": ["message", "ruleId", "ruleIndex", "level", "locations"],
    "properties": {
        "ruleId": {"type": "string"},
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": LEVEL,
        "message": MESSAGE,
        "locations": {"type": "array", "minItems": 1, "maxItems": 1, "items": LOCATION},
        "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}
SHAPE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["$schema", "version", "runs"],
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["tool", "results"],
                "properties": {
                    "tool": {
                        "type": "object",
                        "additionalProperties": False,
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "additionalProperties": False,
                                "required": ["name"],
                                "properties": {
                                    "name": {"type": "string"},
                                    "semanticVersion": {"type": "string"},
                                    "rules": {"type": "array", "uniqueItems": True, "items": RULE},
                                },
                            }
                        },
                    },
                    "originalUriBaseIds": {
                        "type": "object",
                        "additionalProperties": {
                            "type": "object",
                            "required": ["uri"],
                            # A base ends with a slash, or relative names would replace its end.
                            "properties": {"uri": {"type": "string", "pattern": "^file://.*/$"}},
                        },
                    },
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "invocations": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["executionSuccessful"],
                            "properties": {"executionSuccessful": {"type": "boolean"}},
                        },
                    },
                    "results": {"type": "array", "items": RESULT},
                },
            },
        },
    },
}


def _checked(report: dict[str, Any]) -> dict[str, Any]:
    from tongs.schema.check import violations

    assert violations(SHAPE, report) == []
    run: dict[str, Any] = report["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    return run


def test_every_rule_can_be_reported(tmp_path: Path) -> None:
    problems = [
        Problem(f"{tmp_path}/a b/é.yaml", f"found {name}", 3, "x", name, rule.severity, rule.fix)
        for name, rule in RULES.items()
    ]

    run = _checked(sarif(problems, str(tmp_path), "1.2.3"))

    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == list(RULES)
    assert run["tool"]["driver"]["semanticVersion"] == "1.2.3"
    assert run["originalUriBaseIds"] == {"%SRCROOT%": {"uri": f"file://{tmp_path}/"}}
    assert run["results"][0] == {
        "ruleId": "yaml",
        "ruleIndex": 0,
        "level": "error",
        "message": {"text": f"found yaml (fix: {RULES['yaml'].fix})"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": "a%20b/%C3%A9.yaml", "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": 3},
                }
            }
        ],
        "partialFingerprints": run["results"][0]["partialFingerprints"],
    }
    marks = {result["partialFingerprints"]["tongs/v1"] for result in run["results"]}
    assert len(marks) == len(RULES)


def test_a_file_elsewhere_has_its_whole_address_and_no_line_is_the_first(tmp_path: Path) -> None:
    problem = Problem("/elsewhere/x", "m", rule="place", severity=Severity.ERROR)

    run = _checked(sarif([problem], str(tmp_path), "1"))

    assert run["results"][0]["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "file:///elsewhere/x"},
                "region": {"startLine": 1},
            }
        }
    ]


def test_message_says_what_it_is_about(tmp_path: Path) -> None:
    """A code host shows the message alone: `is required` would leave everybody guessing."""
    problem = Problem(f"{tmp_path}/x.yaml", "is required", 2, "approval.reason", "schema")

    run = _checked(sarif([problem], str(tmp_path), "1"))

    assert run["results"][0]["message"] == {"text": "approval.reason is required"}


def test_bytes_that_are_no_text_can_be_reported(tmp_path: Path) -> None:
    problem = Problem(f"{tmp_path}/\udcff", "m \udcff \ud800", rule="unheard-of")

    report = sarif([problem], str(tmp_path), "1")

    _checked(report)
    json.dumps(report, ensure_ascii=False).encode()


def test_nothing_found_is_a_report_too(tmp_path: Path) -> None:
    assert _checked(sarif([], str(tmp_path), "1"))["results"] == []


def test_the_same_finding_keeps_its_mark_when_lines_move(tmp_path: Path) -> None:
    first, second = (
        sarif([Problem("f", "m", line, "x", "raw")], str(tmp_path), "1")["runs"][0]["results"][0]
        for line in (3, 9)
    )
    assert first["partialFingerprints"] == second["partialFingerprints"]
