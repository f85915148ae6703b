"""`${…}` in the settings of clients: what it stands for, in each of their spellings."""

from __future__ import annotations

import os.path
import re
from collections.abc import Mapping

from tongs.core.record import dataclass, field

# ${input:ID} and ${env:NAME} of VS Code and Cursor, ${NAME} and ${NAME:-default} of Claude Code and
# Gemini CLI, $NAME of the latter.
_VARIABLE = re.compile(r"\$\{([^{}]*)\}|\$([A-Za-z_][A-Za-z0-9_]*)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Text:
    """A text of which the places are filled in. `needs` are variables that are still to be had."""

    text: str
    needs: tuple[str, ...] = ()
    # The one variable that the whole text consists of.
    whole: str = ""
    # Everything that is not filled in, as it is written.
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Variables:
    """What the places of one machine are called."""

    home: str
    project: str
    # Ids of questions that VS Code asks, each with the variable that takes its place.
    inputs: Mapping[str, str] = field(default_factory=dict)
    # Variables that are set here: a default stands only for those that are not.
    present: frozenset[str] = frozenset()
    # Whether `$NAME` counts, too.
    bare: bool = False

    def filled(self, text: str) -> Text:
        needs: list[str] = []
        left: list[str] = []

        def place(match: re.Match[str]) -> str:
            if match[1] is None and not self.bare:
                return match[0]
            known = self._known(match[1] if match[1] is not None else match[2])
            if known is not None:
                return known
            name = self._variable(match[1] if match[1] is not None else match[2])
            needs.extend([name] if name else ())
            left.append(match[0])
            return match[0]

        filled = _VARIABLE.sub(place, text)
        only = _VARIABLE.fullmatch(text)
        whole = needs[0] if only and len(needs) == 1 else ""
        return Text(filled, tuple(dict.fromkeys(needs)), whole, tuple(dict.fromkeys(left)))

    def _known(self, name: str) -> str | None:
        kind = name.partition(":")[0]
        if kind in ("workspaceFolder", "workspaceRoot"):
            return self.project
        variable, has_default, default = name.partition(":-")
        if has_default and variable not in self.present:
            return default
        return {
            "userHome": self.home,
            "HOME": self.home,
            "env:HOME": self.home,
            "workspaceFolderBasename": os.path.basename(self.project),
            "pathSeparator": os.path.sep,
            "/": os.path.sep,
        }.get(name)

    def _variable(self, name: str) -> str:
        """The variable of the environment that is meant; empty for what is none."""
        if name.startswith("input:"):
            return self.inputs.get(name[6:]) or variable_name(name[6:])
        name = name.removeprefix("env:").partition(":-")[0]
        return name if _NAME.fullmatch(name) else ""


def variable_name(text: str) -> str:
    """A text as the name of a variable: `github-token` is GITHUB_TOKEN."""
    name = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_").upper()
    return f"_{name}" if name[:1].isdigit() else name
