"""Reference pages that are written by hand say what the program says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.docs.blocks import ROOT

from tongs.core.errors import ErrorCode, ToolError
from tongs.core.permissions import Limits
from tongs.schema import files
from tongs.schema.units import limits
from tongs.surfaces.cli.failure import exit_code

REFERENCE = ROOT / "docs" / "reference"

_NAME = re.compile(r"`([^`]+)`")


def sections(path: Path) -> dict[str, str]:
    parts = re.split(r"^## (.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def rows(text: str) -> list[list[str]]:
    """The rows of the section's tables, without their headers."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [row for row in cells if _NAME.match(row[0])]


def keys(text: str) -> list[str]:
    return [name for row in rows(text) for name in _NAME.findall(row[0])]


TOOL = files.load("tool.yaml")
CONFIG = files.load("config")
EXEC = files.load("manifest")["properties"]["exec"]["properties"]
HTTP = EXEC["http"]


@pytest.mark.parametrize(
    ("section", "schema"),
    [
        ("Keys of a tool", TOOL),
        ("Keys of a parameter", TOOL["$defs"]["parameter"]),
        ("Keys of a step", TOOL["$defs"]["step"]),
        ("Permissions", TOOL["$defs"]["permissions"]),
        ("Limits", TOOL["$defs"]["limits"]),
    ],
)
def test_yaml_tool_page_lists_every_key_of_the_schema(section: str, schema: dict[str, Any]) -> None:
    assert sorted(keys(sections(REFERENCE / "yaml-tool.md")[section])) == sorted(
        schema["properties"]
    )


@pytest.mark.parametrize(
    ("section", "schema"),
    [
        ("Keys of a manifest", files.load("manifest")),
        ("exec.command", EXEC["command"]),
        ("exec.http", HTTP),
        ("exec.response", HTTP["properties"]["response"]),
        ("exec.python", EXEC["python"]),
    ],
)
def test_manifest_page_lists_every_key(section: str, schema: dict[str, Any]) -> None:
    assert sorted(keys(sections(REFERENCE / "manifest.md")[section])) == sorted(
        schema["properties"]
    )


def test_yaml_tool_page_lists_every_key_of_uses_and_with() -> None:
    known = [
        f"{block}.{key}"
        for block in ("uses", "with")
        for key in TOOL["properties"][block]["properties"]
    ]
    assert sorted(keys(sections(REFERENCE / "yaml-tool.md")["uses and with"])) == sorted(known)


def test_yaml_tool_page_has_the_default_limits() -> None:
    table = rows(sections(REFERENCE / "yaml-tool.md")["Limits"])
    written = {_NAME.findall(row[0])[0]: row[1] for row in table}
    assert written.pop("cpu") == "none"
    values = limits({key: int(text) if text.isdigit() else text for key, text in written.items()})
    assert Limits().replaced(values) == Limits()


def test_config_page_lists_every_key_of_the_schema() -> None:
    page = sections(REFERENCE / "config.md")
    parts = ("Keys", "Checked, without effect yet")
    assert {key for part in parts for key in keys(page[part])} == set(config_keys())


def test_config_page_lists_every_key_of_a_server() -> None:
    page = sections(REFERENCE / "config.md")
    assert set(keys(page["MCP servers"])) == set(CONFIG["$defs"]["server"]["properties"])


def config_keys() -> Iterator[str]:
    """Dotted keys as the page writes them: whole blocks where the page names the block only."""
    for name, block in CONFIG["properties"].items():
        if name == "tools":
            yield from (f"tools.NAME.{key}" for key in CONFIG["$defs"]["grants"]["properties"])
        elif name == "limits":
            yield from (f"limits.{key}" for key in CONFIG["$defs"]["limits"]["properties"])
        elif name == "profiles":
            yield "profiles.NAME"
        elif name == "audit":
            anchor = block["properties"]["anchor"]["properties"]
            yield from (f"audit.anchor.{key}" for key in anchor)
            yield from (f"audit.{key}" for key in block["properties"] if key != "anchor")
        elif name in ("security", "approvals", "interpreters", "custom_tools"):
            yield from (f"{name}.{key}" for key in block["properties"])
        elif name == "mcp":
            yield from (f"mcp.{key}" for key in block["properties"])
        elif name == "web":
            yield "web.allow"
            search = block["properties"]["search"]
            yield from (f"web.search.{key}" for key in search["properties"])
        elif name == "models":
            yield "models.default"
            yield from (f"models.NAME.{key}" for key in block["additionalProperties"]["properties"])
        else:
            yield name


def test_exit_codes_page_has_every_code_with_its_exit_code() -> None:
    page = (REFERENCE / "exit-codes.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| (\d+) \| [^|]+ \| (.*) \|$", page, re.MULTILINE)
    written = {code: int(number) for number, codes in table for code in _NAME.findall(codes)}
    assert written == {str(code): exit_code(ToolError(code, "")) for code in ErrorCode}


def test_exit_codes_page_explains_every_error_code() -> None:
    explained = keys(sections(REFERENCE / "exit-codes.md")["Error codes"])
    assert sorted(explained) == sorted(str(code) for code in ErrorCode)
