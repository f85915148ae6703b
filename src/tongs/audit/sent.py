"""What became of the last attempt to send an anchor away, kept beside the chain."""

from __future__ import annotations

import json
import os

from tongs.audit.anchor import Anchor
from tongs.core.annotations import Any
from tongs.core.record import dataclass


@dataclass(frozen=True, slots=True)
class Sent:
    """`anchor` is the last one that arrived; `trouble` is why a later one did not."""

    anchor: Anchor | None = None
    when: str = ""
    trouble: str = ""

    def to_wire(self) -> dict[str, Any]:
        anchor = None if self.anchor is None else self.anchor.to_wire()
        return {"anchor": anchor, "when": self.when, "trouble": self.trouble}


def path_of(folder: str) -> str:
    return os.path.join(folder, "anchor.json")


def last_sent(folder: str) -> Sent:
    """Nothing where none was sent, or what is kept cannot be read."""
    try:
        with open(path_of(folder), encoding="utf-8") as file:
            data = json.load(file)
        anchor = data["anchor"]
        found = None if anchor is None else Anchor(int(anchor["seq"]), str(anchor["hash"]))
        return Sent(found, str(data["when"]), str(data["trouble"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Sent()


def as_bytes(sent: Sent) -> bytes:
    return json.dumps(sent.to_wire()).encode()
