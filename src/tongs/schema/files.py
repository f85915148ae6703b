"""The JSON Schemas that ship with the package, for checking and for editors."""

from __future__ import annotations

import json
import os.path
from functools import cache

from tongs.core.annotations import Any

# importlib.resources does the same at several times the start-up cost.
_FOLDER = os.path.join(os.path.dirname(__file__), "files")


def path_of(name: str) -> str:
    """Where the schema lies, so that an editor can be pointed at it."""
    return os.path.join(_FOLDER, f"{name}.schema.json")


@cache
def load(name: str) -> dict[str, Any]:
    """The schema called `name` (`tool.yaml`, `config`). Shared: do not change it."""
    with open(path_of(name), encoding="utf-8") as file:
        schema: dict[str, Any] = json.load(file)
    return schema
