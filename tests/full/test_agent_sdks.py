"""Exported tools, seen by the SDKs and frameworks that they are handed to."""

from __future__ import annotations

import enum
import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import pydantic
import pytest

from tongs import ToolRegistry, tool
from tongs.testing import project

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv" / "agents" / "bin" / "python"


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Node:
    value: int
    children: list[Node] = field(default_factory=list)


class Options(TypedDict, total=False):
    deep: bool
    depth: int


class Item(pydantic.BaseModel):
    name: str
    price: float = pydantic.Field(gt=0)


def functions() -> list[Callable[..., Any]]:
    def plain(city: str, days: int = 3, unit: Literal["c", "f"] = "c") -> str:
        """Tell the weather.

        Args:
            city: Where
        """
        return city

    def bounded(
        text: Annotated[str, pydantic.Field(min_length=2, pattern="^a")],
        number: Annotated[int, {"minimum": 1, "maximum": 9}] = 1,
    ) -> None:
        """d"""

    def nested(tree: Node, options: Options | None = None, color: Color = Color.RED) -> None:
        """d"""

    def models(items: list[Item], pair: tuple[int, str] | None = None) -> None:
        """d"""

    def free(anything: Any, mapping: dict[str, int]) -> None:
        """d"""

    def nothing() -> None:
        """d"""

    def wide(x: int | str | None, flags: list[bool], **more: str) -> None:
        """d"""

    return [plain, bounded, nested, models, free, nothing, wide]


@pytest.fixture
def exports(tmp_path: Path) -> Path:
    """Functions of every kind, the definitions of the examples, and what comes with Tongs."""
    registry = ToolRegistry()
    for function in functions():
        registry.register(tool(function))
    files = {
        f".tongs/tools/{path.name}": path.read_text()
        for path in sorted((ROOT / "examples" / ".tongs" / "tools").glob("*.yaml"))
    }
    with project(files=files) as it:
        for each in it.runtime.offered().list():
            registry.register(each)
    found = {
        form: registry.export(form).data
        for form in ("openai", "openai-responses", "anthropic", "gemini", "mcp")
    }
    found |= {f"{form}-strict": registry.export(form, strict=True).data for form in found}
    path = tmp_path / "exports.json"
    path.write_text(json.dumps(found))
    return path


def test_sdks_and_frameworks_take_what_is_exported(exports: Path, tmp_path: Path) -> None:
    assert PYTHON.exists(), "hint: make agents"

    done = subprocess.run(
        [str(PYTHON), "-m", "tests.full.agent_sdks", str(exports)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )

    assert done.returncode == 0, done.stderr[-3000:]
    counted = json.loads(done.stdout.splitlines()[-1])
    assert counted["openai"] == counted["anthropic"] == counted["google-genai"] == counted["mcp"]
    assert counted["pydantic-ai strict"] == counted["openai-agents strict"] >= 4
