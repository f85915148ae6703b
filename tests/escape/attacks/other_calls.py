"""One call against another that runs at the same time."""

from __future__ import annotations

import os
import secrets
import signal
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.escape.attack import Attack
from tests.escape.scene import Scene

from tongs.core.execution import Command, Event
from tongs.core.permissions import Permissions

TOPIC = "another call"

PROGRAM = """
import os, sys, time
with open(os.environ["TMPDIR"] + "/notes", "w") as file:
    file.write(os.environ["NEIGHBOUR_SECRET"])
print("ready", flush=True)
time.sleep(60)
"""


def _neighbour(scene: Scene) -> Mapping[str, Any]:
    """A call beside the attack, with a secret in its environment and one in its scratch folder."""
    assert scene.open is not None
    session = scene.open(Permissions())
    scene.stack.callback(session.close)
    secret = scene.secret()
    mark = secrets.token_hex(8)
    environment = {"NEIGHBOUR_SECRET": secret, "NEIGHBOUR": mark, "TMPDIR": session.scratch}
    command = Command((scene.known["python"], "-I", "-S", "-c", PROGRAM), environment, "/")
    ready = threading.Event()

    def observe(event: Event) -> None:
        ready.set()

    def run() -> None:
        try:
            session.run(command, observe).send(None)
        except StopIteration:
            return

    thread = threading.Thread(target=run)
    thread.start()
    scene.stack.callback(thread.join)
    assert ready.wait(10)
    pid = _marked(mark)
    scene.stack.callback(_end, pid)
    scene.kept["neighbour"] = thread
    return {"neighbour": pid, "neighbours_scratch": session.scratch}


def _marked(mark: str) -> int:
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if mark.encode() in Path(f"/proc/{name}/environ").read_bytes():
                    return int(name)
            except OSError:
                continue
    raise AssertionError("the other call is not there")


def _end(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _ended(scene: Scene) -> Iterable[str]:
    scene.kept["neighbour"].join(0.2)
    if not scene.kept["neighbour"].is_alive():
        yield "the other call was ended"


def _on_neighbour(name: str, script: str, **how: Any) -> Attack:
    return Attack(name, TOPIC, script, arrange=_neighbour, **how)


ATTACKS = (
    _on_neighbour("its scratch folder", 'print(read(W.neighbours_scratch + "/notes"))'),
    _on_neighbour(
        "the names in its scratch folder",
        """
folder = W.neighbours_scratch
for _ in range(2):
    above, name = os.path.split(folder)
    if name in os.listdir(above) and W.neighbours_scratch != W.scratch:
        escaped(folder)
    folder = above
""",
    ),
    _on_neighbour(
        "a file planted in its scratch folder",
        """
path = W.neighbours_scratch + "/planted"
if W.neighbours_scratch == W.scratch:
    raise FileNotFoundError(errno.ENOENT, "that name is one's own")
open(path, "w").write("evil")
escaped(path)
""",
    ),
    _on_neighbour("its environment", 'print(read(f"/proc/{W.neighbour}/environ"))'),
    _on_neighbour("its end", "os.kill(W.neighbour, 9)", evidence=_ended),
    _on_neighbour(
        "its scratch folder through its own root",
        'print(read(f"/proc/{W.neighbour}/root{W.neighbours_scratch}/notes"))',
    ),
)
