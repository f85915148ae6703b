"""What an executor is handed."""

from __future__ import annotations

import pytest

from tongs.core.driving import drive
from tongs.core.execution import Command, NoProcesses, Place, Service, World


def test_world_without_files_says_so() -> None:
    world = World(Place("/"), {}, {}, "linux")

    with pytest.raises(RuntimeError):
        world.files()
    with pytest.raises(RuntimeError):
        world.kept_output()


def test_call_without_processes_can_start_none() -> None:
    session = NoProcesses(["fs.read"], ["limits"])

    with pytest.raises(RuntimeError, match="no folder of its own"):
        session.write("x", b"")
    with pytest.raises(RuntimeError, match="sh: this call starts no process"):
        drive(session.run(Command(("sh",), {}, "/"), lambda event: None))
    with pytest.raises(RuntimeError, match="sh: this call starts no process"):
        drive(session.serve(Service("k", ("sh",), b"", {}, "/", b"", b""), lambda event: None))
    with pytest.raises(RuntimeError, match="sh: this call starts no process"):
        drive(session.start(Command(("sh",), {}, "/")))
    session.close()
    assert (session.enforced, session.not_enforced) == (["fs.read"], ["limits"])
