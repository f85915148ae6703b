"""The reference page of `tongs lint`, made from its table of rules."""

from tongs.authoring.lint.rules import RULES, Rule
from tongs.core.errors import Severity

_HEAD = """\
# The rules of `tongs lint`

<!-- Generated from src/tongs/authoring/lint/rules.py by `make docs`; do not edit. -->

`tongs lint` looks at every tool and config file it can find: YAML files, manifests and executables,
`tongs lint --root DIR` at those of one project, `tongs lint PATH...` at single files or folders,
`--scope` at one scope. It runs nothing that is not trusted. The exit code is 2 if there is an error
(with `--strict` also for a warning), else 0. `--json` prints

    {"problems": [{"file", "line", "field", "rule", "severity", "message", "hint", "why"}],
     "counts": {"error", "warning", "note"}, "files"}

and after `--fix` also

    "fixed": [{"file", "changes": [{"line", "what"}], "needsTrust", "failure"}]

`--sarif` prints SARIF 2.1.0; files below the root of the project are named from there.
"""

_SECTIONS = {
    Severity.ERROR: "Errors: the tool cannot be used",
    Severity.WARNING: "Warnings: probably a mistake",
    Severity.NOTE: "Notes: worth a look",
}


def lint_reference() -> str:
    """The whole text of docs/reference/lint.md."""
    parts = [_HEAD]
    for severity, title in _SECTIONS.items():
        parts.append(f"\n## {title}\n")
        parts += [_entry(rule) for rule in RULES.values() if rule.severity is severity]
    return "".join(parts)


def _entry(rule: Rule) -> str:
    return f"\n### {rule.name}\n\nFinds {rule.finds}.\n\n- Why: {rule.why}.\n- Fix: {rule.fix}.\n"
