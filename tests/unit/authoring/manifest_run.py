"""Run the linter over a manifest, with whatever files it names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tongs.authoring.lint import in_order
from tongs.authoring.lint.manifests import ManifestPlace, lint_manifest
from tongs.core.errors import Problem
from tongs.core.tool import Origin
from tongs.formats import manifest
from tongs.schema.document import parse

# Nothing is wrong with it.
GOOD = """\
name: scan
description: Scan the repository for words.
kind: command
inputs:
  schema:
    type: object
    additionalProperties: false
    properties:
      path: {type: string, description: Where to look., default: "."}
outputs:
  format: json
exec:
  command:
    entrypoint: ./scan.sh
    args: ["${path}"]
permissions:
  network: false
  fs: {read: ["."], write: ["out"]}
approval: {required: false}
tags: [read]
examples:
  - params: {path: src}
    expected_output: '{"found": "..."}'
"""
# The same for a function.
PYTHON = GOOD.replace("kind: command", "kind: python").replace(
    '  command:\n    entrypoint: ./scan.sh\n    args: ["${path}"]',
    '  python:\n    module: tools.scan\n    function: run\n    args: ["${path}"]',
)
# And for a request.
HTTP = (
    GOOD.replace("kind: command", "kind: http")
    .replace(
        '  command:\n    entrypoint: ./scan.sh\n    args: ["${path}"]',
        "  http:\n    url: https://api.example.org/v1\n    query: {q: '${path}'}",
    )
    .replace("network: false", "network: [api.example.org]")
)
FILES = {"scan.sh": "#!/bin/sh\necho\n", "tools/scan.py": "def run(path):\n    return path\n"}


def project(root: Path, files: Mapping[str, str] = FILES, *, mode: int = 0o755) -> Path:
    """The project around the tool."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
        (root / name).chmod(mode)
    (root / "tools" / "scan").mkdir(parents=True, exist_ok=True)
    return root


def problems(text: str, root: Path, *, loads: bool = True) -> list[Problem]:
    """What is found in a manifest of that project; without `loads` by the linter alone."""
    path = root / "tools" / "scan" / "tool.yml"
    origin = Origin(path=str(path), format="manifest", project=str(root))
    document = parse(text.encode(), str(path))
    place = ManifestPlace(lambda each: manifest.load(each, origin) if loads else None, str(root))
    return in_order(lint_manifest(document, place))


def rules(text: str, root: Path, *, loads: bool = True) -> list[tuple[int, str, str]]:
    """Line, severity and rule of everything that is found."""
    found = problems(text, root, loads=loads)
    return [(p.line, p.severity.value, p.rule) for p in found]
