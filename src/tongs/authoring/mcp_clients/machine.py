"""What a proposal has to know of the machine; looked up by somebody else."""

from __future__ import annotations

import os.path
from collections.abc import Callable

from tongs.core.record import dataclass


@dataclass(frozen=True, slots=True)
class Machine:
    home: str
    project: str
    is_folder: Callable[[str], bool]
    is_file: Callable[[str], bool]
    # The path with its links resolved.
    real: Callable[[str], str]

    def absolute(self, path: str) -> str:
        """A path of a command line or of config.yml, from the root."""
        if path == "~" or path.startswith("~/"):
            path = self.home + path[1:]
        return os.path.normpath(os.path.join(self.project, path))

    def short(self, path: str) -> str:
        """An absolute path as config.yml has it: below the home with `~`."""
        return "~" + path[len(self.home) :] if path.startswith(self.home + "/") else path

    def too_broad(self, folder: str) -> bool:
        """Whether the home, or the whole machine, lies in a folder, or in what it is a link to."""
        return any(
            f"{home}/".startswith(f"{each.rstrip('/')}/")
            for home in (self.home, self.real(self.home))
            for each in (folder, self.real(folder))
        )
