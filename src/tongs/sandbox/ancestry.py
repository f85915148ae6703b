"""Whether this process was started by a tool: what a person decides, a tool must not."""

from __future__ import annotations

import errno
import os

from tongs.sandbox.orders import NAME


def inside_a_call() -> bool:
    """Whether a supervisor is among the ancestors. Daemons stay its children, so they count too."""
    pid = os.getppid()
    # Down to the first process: in a namespace of its own that is the supervisor.
    while pid:
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                # The name in brackets may hold anything, so the rest is cut off from the end.
                name, _, rest = file.read().partition(b"(")[2].rpartition(b")")
        except OSError as error:
            # Nobody but Landlock answers so: who is locked in like this is not the person.
            return error.errno == errno.EACCES
        if name == NAME:
            return True
        pid = int(rest.split()[1])
    return False
