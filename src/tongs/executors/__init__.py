"""One module per kind of tool. Its name is the key; `create(executors)` makes the executor.

Modules are imported when a tool of their kind is first called, so that no tool pays for another's
libraries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from tongs.core.annotations import TYPE_CHECKING

if TYPE_CHECKING:
    from tongs.core.execution import Executor

KEYS = (
    "process",
    "script",
    "steps",
    "executable",
    "command",
    "http",
    "python",
    "builtin",
    "function",
    "python_file",
    "code",
    "web",
    "builtin_process",
    "mcp",
)


class Executors(Mapping[str, "Executor"]):
    """All executors by key, made on first use."""

    def __init__(self) -> None:
        self._made: dict[str, Executor] = {}

    def __getitem__(self, key: str) -> Executor:
        if key not in self._made:
            if key not in KEYS:
                raise KeyError(key)
            self._made[key] = import_module(f"{__name__}.{key}").create(self)
        return self._made[key]

    def __iter__(self) -> Iterator[str]:
        return iter(KEYS)

    def __len__(self) -> int:
        return len(KEYS)
