"""What a Python tool file does: between its format and its executor."""

from __future__ import annotations

from tongs.core.record import dataclass


@dataclass(frozen=True, slots=True)
class PythonFilePlan:
    """One tool of a file. `source` are the very bytes that were accepted."""

    path: str
    source: bytes
    tool: str
    # The interpreter that Tongs itself runs on, and the folder of the package.
    python: str
    package: str
