"""The calls of the soak: mostly tiny commands, and everything that makes trouble."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from tongs.core.permissions import Limits

PATH = "/usr/local/bin:/usr/bin:/bin"

DONE = "done"
LATE = "out of time"
CANCELLED = "cancelled"
KILLED = "killed"
LOST = "lost"
MEMORY = "too much memory"

DEFAULT = Limits()

_LARGE = bytes(300_000)


@dataclass(frozen=True)
class Step:
    """An empty script is the program `true`."""

    script: str = ""
    stdout: bytes = b""
    exit_code: int = 0
    stdin: bytes = b""


@dataclass(frozen=True)
class Kind:
    """`endings` are how such a call may end as long as nobody strikes at it."""

    name: str
    weight: int
    steps: tuple[Step, ...]
    endings: tuple[str, ...] = (DONE,)
    limits: Limits = DEFAULT
    # Whether the project looks writable to it, which only tier A can do.
    view: bool = False
    # Which of its own processes is struck once it speaks.
    target: str = ""


@dataclass(frozen=True)
class Call:
    number: int
    kind: Kind
    # When it is out of time, or cancelled.
    after: float
    # What is struck before it begins, whoever's it is.
    strike: str


SUPERVISOR = "supervisor"
PAYLOAD = "payload"
SERVER = "server"

_DAEMONS = "setsid sleep 300 < /dev/null > /dev/null 2>&1 & (setsid sh -c 'sleep 300 &' &)"
_LITTER = """
cd "$TMPDIR"
mkdir -p a/b/c
for i in 1 2 3 4 5 6; do echo $i > a/b/$i; done
head -c 200000 /dev/zero > large
ln -s / link
chmod 0 a 2> /dev/null
echo on
"""
# Where the folder is memory, it is too much; where it lies on the disk, it is not.
_FLOOD = 'for i in 1 2; do head -c 30000000 /dev/zero > "$TMPDIR/$i"; done 2> /dev/null; exit 0'
_SPEAKS = (Step(f"{_DAEMONS}; echo on; sleep 300"),)

KINDS = (
    Kind("nothing", 580, (Step(),)),
    Kind("speaks", 100, (Step("echo hi", b"hi\n"),)),
    Kind("fails", 40, (Step("exit 3", exit_code=3),)),
    Kind("reads", 30, (Step("cat", b"text", stdin=b"text"),)),
    Kind("does not read", 20, (Step(stdin=_LARGE),)),
    Kind("writes much", 10, (Step(f"head -c {len(_LARGE)} /dev/zero", _LARGE),)),
    Kind("two steps", 30, (Step('echo hi > "$TMPDIR/x"'), Step('cat "$TMPDIR/x"', b"hi\n"))),
    Kind("changes its view", 30, (Step("echo x > new; rm file; cat new", b"x\n"),), view=True),
    Kind("leaves daemons", 50, (Step(f"{_DAEMONS}; echo on", b"on\n"),)),
    Kind("holds pipes", 30, (Step("sleep 300 & echo on", b"on\n"),)),
    Kind("fills scratch", 30, (Step(_LITTER, b"on\n"),)),
    Kind("overfills", 2, (Step(_FLOOD),), (MEMORY, DONE), Limits(memory=24 * 1024**2)),
    Kind("sleeps", 20, (Step("exec sleep 300"),), (LATE,)),
    Kind("sleeps with daemons", 8, (Step(f"{_DAEMONS}; sleep 300"),), (LATE,)),
    Kind("is cancelled", 20, (Step(f"{_DAEMONS}; sleep 300"),), (CANCELLED,)),
    Kind("loses its supervisor", 6, _SPEAKS, (LOST,), target=SUPERVISOR),
    Kind("is killed", 6, _SPEAKS, (KILLED,), target=PAYLOAD),
    Kind("loses the server", 3, _SPEAKS, (LOST,), target=SERVER),
)
# How often, in a thousand calls, something of this kind is struck besides.
STRIKES = {"": 982, SUPERVISOR: 8, PAYLOAD: 8, SERVER: 2}
_LONGEST = 0.2


def drawn(tier: str, count: int, calm: int, chance: random.Random) -> Iterator[Call]:
    """So many calls, the fork server untouched by the last `calm` of them."""
    possible = [kind for kind in KINDS if tier == "namespaces" or not kind.view]
    for number in range(count):
        safe = number >= count - calm
        kinds = [kind for kind in possible if not (safe and kind.target == SERVER)]
        strikes = {what: often for what, often in STRIKES.items() if not (safe and what == SERVER)}
        yield Call(
            number,
            chance.choices(kinds, [kind.weight for kind in kinds])[0],
            chance.uniform(0, _LONGEST),
            chance.choices(list(strikes), list(strikes.values()))[0],
        )
