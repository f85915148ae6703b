"""What of the sandbox works on this machine: each layer is tried by itself, in its own process.

`probe` answers whether a whole tier holds. This tells which part is missing where one does not.
"""

from __future__ import annotations

import errno
import marshal
import os
import select
import sys
from collections.abc import Callable, Iterator

from tongs.core.annotations import TYPE_CHECKING, NoReturn
from tongs.core.record import dataclass, replace

if TYPE_CHECKING:
    import signal as _signal

    from tongs.sandbox.remedies import Facts
else:
    import _signal  # the public module builds enums for every signal

# What each tier needs, by the names of the layers. The others make it better.
NEEDED = {
    "namespaces": (
        *("system calls", "no_new_privs", "seccomp", "user namespaces", "pid namespaces"),
        *("network namespaces", "ipc namespaces", "private root"),
    ),
    "landlock": ("system calls", "no_new_privs", "seccomp", "landlock"),
}

_BUILDS_ON = {
    **dict.fromkeys(
        ("pid namespaces", "network namespaces", "ipc namespaces", "private root"),
        "user namespaces",
    ),
    "scratch view": "private root",
}

# A trial that takes longer hangs.
_PATIENCE = 10_000
_CHUNK = 4096


@dataclass(frozen=True, slots=True)
class Layer:
    """One part of the sandbox: whether it works, what was seen, and what would mend it."""

    name: str
    works: bool
    detail: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """How a trial ended. `number` is the errno of a call that failed, 0 where none did."""

    works: bool
    detail: str
    number: int = 0


class Wrong(Exception):
    """A layer could be set up, and did not hold."""


def diagnose(temp_root: str = "/tmp") -> tuple[Layer, ...]:
    """Every layer, those first that others build on. For a process with one thread."""
    from tongs.sandbox import remedies  # noqa: PLC0415 - for a diagnosis only

    facts = remedies.facts()
    if sys.platform != "linux":
        seen = Seen(works=False, detail=f"this is {sys.platform}", number=errno.ENOSYS)
        return (_layer("linux", seen, facts),)
    return tuple(_layers(facts, temp_root))


def _layers(facts: Facts, temp_root: str) -> Iterator[Layer]:
    from tongs.sandbox import trials  # noqa: PLC0415 - Linux only
    from tongs.sandbox.scratch import Scratch  # noqa: PLC0415 - Linux only

    scratch = Scratch(temp_root)
    try:
        ground = trials.furnished(scratch.tmp)
    except OSError as error:
        seen = Seen(works=False, detail=_words(error), number=error.errno or 0)
        yield _layer("scratch folder", seen, facts)
        return
    failed: set[str] = set()
    try:
        for name, (namespaces, trial) in trials.TRIALS.items():
            layer = _layer(name, tried(_bound(trial, ground), namespaces), facts)
            if not layer.works:
                failed.add(name)
            # What mends the layer below mends this one; whether that is all shows then.
            yield replace(layer, remedy="") if _BUILDS_ON.get(name) in failed else layer
    finally:
        scratch.close()


def _layer(name: str, seen: Seen, facts: Facts) -> Layer:
    from tongs.sandbox.remedies import remedy  # noqa: PLC0415 - for a diagnosis only

    mend = "" if seen.works else remedy(name, seen.number, facts)
    return Layer(name, seen.works, seen.detail, mend)


def tried(trial: Callable[[], str], namespaces: int = 0) -> Seen:
    """Run a trial in a child, if need be in new namespaces.

    What it returns is the detail of a layer that works; what it raises says why one does not.
    """
    from tongs.sandbox import kernel  # noqa: PLC0415 - Linux only

    kernel.load()
    reading, writing = os.pipe()
    try:
        child = kernel.clone(namespaces) if namespaces else os.fork()
    except OSError as error:
        os.close(reading)
        os.close(writing)
        return Seen(works=False, detail=_words(error), number=error.errno or 0)
    if child == 0:
        _report(trial, writing)
    os.close(writing)
    said, ended = _heard(reading)
    os.close(reading)
    if not ended:
        os.kill(child, _signal.SIGKILL)
    os.waitpid(child, 0)
    if not said:
        return Seen(works=False, detail="it ended without an answer" if ended else "it hangs")
    return Seen(*marshal.loads(said))


def _report(trial: Callable[[], str], writing: int) -> NoReturn:
    """Never returns: this is a copy of a process that has other things to do."""
    try:
        try:
            answer = (True, trial(), 0)
        except Wrong as wrong:
            answer = (False, str(wrong), 0)
        except OSError as error:
            answer = (False, _words(error), error.errno or 0)
        os.write(writing, marshal.dumps(answer))
    finally:
        os._exit(0)


def _words(error: OSError) -> str:
    """Calls of ours are named in the text; others have a path."""
    text = str(error.strerror)
    return f"{os.fsdecode(error.filename)}: {text}" if error.filename else text


def _heard(reading: int) -> tuple[bytes, bool]:
    """All that was said, and whether it came to an end."""
    poller = select.poll()
    poller.register(reading, select.POLLIN)
    said = b""
    while poller.poll(_PATIENCE):
        more = os.read(reading, _CHUNK)
        if not more:
            return said, True
        said += more
    return b"", False


def _bound(trial: Callable[..., str], ground: object) -> Callable[[], str]:
    return lambda: trial(ground)
