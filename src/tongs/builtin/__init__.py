"""Tools that come with Tongs. One module per tool or family of tools.

The table says which module has a tool; it is imported when the tool is first asked for. Such a
module offers `tool(name, settings) -> Tool`, whose plan is a `Builtin`.
"""

from __future__ import annotations

from importlib import import_module

from tongs.config.settings import Settings
from tongs.core.record import replace
from tongs.core.scope import Scope
from tongs.core.tool import Origin, Tool
from tongs.registry import RESERVED

# Name -> module below `tongs.builtin`, in the order of a listing.
MODULES: dict[str, str] = {
    "list_directory": "listing",
    "read_file": "reading",
    "write_file": "writing",
    "edit_file": "editing",
    "delete_file": "deleting",
    "move_file": "moving",
    "search_files": "searching",
    "output_read": "kept",
    "shell": "code",
    "run_code": "code",
    "job_status": "jobs",
    "job_output": "jobs",
    "job_stop": "jobs",
    "web_fetch": "web",
    "http_request": "web",
    "web_search": "web_search",
    "tools_search": "tools_search",
}

# Names of seed 001 for tools of seed 002.
ALIASES: dict[str, str] = {"list_files": "list_directory", "fetch": "web_fetch"}

QUALIFIER = "builtin:"


class Builtins:
    """The built-in tools of one runtime, each made once."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._made: dict[str, Tool] = {}

    def names(self) -> list[str]:
        """Every name, aliases included."""
        return [*MODULES, *ALIASES]

    def insists(self, name: str) -> bool:
        """Whether the name means the built-in tool, whatever lies in the folders."""
        return name.startswith(QUALIFIER) or name in RESERVED

    def get(self, name: str) -> Tool | None:
        """The built-in tool of a name, an alias or a qualified name."""
        short = name.removeprefix(QUALIFIER)
        module = MODULES.get(ALIASES.get(short, short))
        if module is None:
            return None
        if short not in self._made:
            made: Tool = import_module(f"{__name__}.{module}").tool(
                ALIASES.get(short, short), self._settings
            )
            origin = Origin(scope=Scope.BUILTIN, format="builtin")
            # An alias is the same tool, and is asked about and recorded under the name it was
            # called by.
            self._made[short] = replace(made, name=short, origin=origin)
        return self._made[short]
