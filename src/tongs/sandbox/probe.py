"""What this machine can enforce, found out by doing it.

A setting that says user namespaces are allowed proves nothing: on some systems they can be made
and not used. So the answer is always a real session, in which a shell looks for what must be
there, what must not, and what it can change.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator

from tongs.core.driving import drive
from tongs.core.errors import ToolError
from tongs.core.execution import Command, Event, Policy
from tongs.core.permissions import Limits, Permissions
from tongs.core.record import dataclass
from tongs.sandbox import create
from tongs.sandbox.host import Host

# The order is that of preference.
TIERS = ("namespaces", "landlock")

_TOO_LONG = "it took too long"
# Of the moment, not of the machine.
_SCARCE = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)

# Run inside, with the folder as first word: says what does not hold.
_LOOK = """
[ "$(cat "$1/inside/file")" = inside ] || echo "what was granted cannot be read"
(read -r _ < "$1/outside") 2>/dev/null && echo "what was not granted can be read"
(: > "$1/inside/file") 2>/dev/null && echo "what may only be read can be written"
(: > "$1/writable/new") 2>/dev/null || echo "what may be written cannot be"
(: > "$TMPDIR/new") 2>/dev/null || echo "there is no temporary folder"
while read -r name value; do
  case "$name$value" in
    NoNewPrivs:0) echo "no_new_privs is not set";;
    Seccomp:[01]) echo "there is no seccomp filter";;
    CapEff:*[1-9a-f]*) echo "capabilities are left";;
  esac
done < /proc/self/status
"""
_SCRATCH = """
[ -n "$2" ] || exit 0
cd "$1/scratch" && rm old && echo new > new && mkdir sub && mv new sub/moved ||
  echo "no scratch view"
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one tier: `problem` is empty where everything held."""

    tier: str
    problem: str = ""

    @property
    def passing(self) -> bool:
        """Whether it failed for want of something that may be there with the next call."""
        return any(reason in self.problem for reason in (_TOO_LONG, *map(os.strerror, _SCARCE)))


@dataclass(frozen=True, slots=True)
class Found:
    """The best tier of this machine, "" for none; and why each better one is not it."""

    tier: str
    answers: tuple[Answer, ...] = ()
    # Whether a `read` tool can have a private view of its project in this tier.
    scratch_view: bool = False


def probe(*, direct: bool, native: bool = True, temp_root: str = "/tmp") -> Found:
    """Try the tiers, the best first. `direct` is for a process that has one thread."""
    if sys.platform != "linux":
        return Found("", (Answer("", f"{sys.platform} is not Linux"),))
    from tongs.sandbox.scratch import Scratch  # noqa: PLC0415 - Linux only

    scratch = Scratch(temp_root)
    try:
        _furnish(scratch.tmp)
        answers = []
        for tier in TIERS:
            problem = _tried(tier, scratch.tmp, _LOOK, direct=direct, native=native)
            answers.append(Answer(tier, problem))
            if answers[-1].passing:
                break  # not a reason to make do with less
            if not problem:
                view = tier == "namespaces" and not _tried(
                    tier, scratch.tmp, _SCRATCH, direct=direct, native=native
                )
                return Found(tier, tuple(answers), view)
        return Found("", tuple(answers))
    finally:
        scratch.close()


def stamp() -> str:
    """Changes when an answer may be another: with the kernel, a restart, the user, and with what
    stands around this process, since a container may share the state folder with its host."""
    system = os.uname() if hasattr(os, "uname") else None
    kernel = system.release if system else sys.platform
    boot = _text("/proc/sys/kernel/random/boot_id")
    return " ".join((boot, kernel, str(os.geteuid()), *_surroundings())).replace("\n", " ")


def _surroundings() -> Iterator[str]:
    """The user namespace, the seccomp filters and the label of a security module."""
    try:
        yield str(os.stat("/proc/self/ns/user").st_ino)
    except OSError:
        yield "-"
    status = _text("/proc/self/status").split("\n")
    yield from (line.replace("\t", "") for line in status if line.startswith("Seccomp"))
    yield _text("/proc/self/attr/current").strip("\0 ")


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def _furnish(folder: str) -> None:
    for name in ("inside", "writable", "scratch"):
        os.mkdir(os.path.join(folder, name))
    for name in ("inside/file", "outside", "scratch/old"):
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write("inside\n")


def _tried(tier: str, folder: str, script: str, *, direct: bool, native: bool) -> str:
    """What did not hold in one tier; empty if all did."""
    from tongs.sandbox.waiting import BlockingWaiter  # noqa: PLC0415 - Linux only

    scratch = os.path.join(folder, "scratch")
    permissions = Permissions(
        read=(os.path.join(folder, "inside"), scratch),
        write=(os.path.join(folder, "writable"),),
        scratch=(scratch,) if script is _SCRATCH else (),
    )
    host = Host(search_path="/usr/bin:/bin", native=native)
    sandbox = create(tier, direct=direct, host=host)
    try:
        session = sandbox.open(Policy(permissions, Limits(), folder), BlockingWaiter())
        try:
            environment = {"PATH": "/usr/bin:/bin", "TMPDIR": session.scratch}
            argv = ("/bin/sh", "-c", script, "sh", folder, *permissions.scratch)
            command = Command(argv, environment, "/", timeout=10)
            done = drive(session.run(command, _ignore))
        finally:
            session.close()
    except ToolError as error:
        return error.message
    finally:
        sandbox.close()
    if done.timed_out:
        return _TOO_LONG
    said = (done.stdout + done.stderr).decode(errors="replace").strip()
    return said or ("" if done.exit_code == 0 else f"a shell in it ended with {done.exit_code}")


def _ignore(event: Event) -> None:
    """Nobody watches this."""
