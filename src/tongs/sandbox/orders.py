"""What Tongs tells the processes it starts, as plain data: the walls of a session, and requests.

Runs without the package around it.
"""

from __future__ import annotations

import marshal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tongs.core.annotations import Any, TypeAlias

    # Path, rights, and the identity of what must lie there (0, 0: whatever does).
    Rule: TypeAlias = tuple[bytes, int, int, int]

# In the call's own network namespace, where nobody else can have taken it.
PROXY_PORT = 3128

# What the kernel shows as the name of a supervisor.
NAME = b"tongs-call"

# What Tongs sends besides requests: to end the payload that runs.
KILL = b"K"
# What it gets. ACCEPTED: from here on the payload may have run.
READY = b"R"
ACCEPTED = b"A"
FAILED = b"F"
ENDED = b"E"

# Why a payload had to go; else the name of the limit that its tree has passed.
ORDERED = b"ordered"

# The steps of a start that depend on the request; `confine` names the others.
SUPERVISE = b"supervise"
DIRECTORY = b"directory"
START = b"start"


class Jail:
    """All walls of one session.

    Without `namespaces` there is no private root; without `abi` no Landlock; without `filter` no
    seccomp. `files` is where a payload puts the files of its request, if it has to. `watched` are
    the bytes and the tasks that the whole tree may use, 0 where nobody has to look. `own` are the
    rules of this very session, the others are those of its policy.
    """

    __slots__ = (
        "abi",
        "files",
        "filter",
        "namespaces",
        "network",
        "own",
        "packed",
        "proxy",
        "rules",
        "size",
        "view",
        "watched",
    )

    def __init__(  # noqa: PLR0913 - a record, and `dataclasses` costs too much to load here
        self,
        *,
        namespaces: int = 0,
        view: Sequence[tuple[Any, ...]] = (),
        size: int = 0,
        abi: int = 0,
        rules: Sequence[Rule] = (),
        network: bool = True,
        filter: bytes = b"",  # noqa: A002 - what the kernel calls it
        files: bytes = b"",
        proxy: bool = False,
        watched: tuple[int, int] = (0, 0),
        own: Sequence[Rule] = (),
    ) -> None:
        self.namespaces = namespaces
        self.view = view
        self.size = size
        self.abi = abi
        self.rules = rules
        self.network = network
        self.filter = filter
        self.files = files
        self.proxy = proxy
        self.watched = watched
        self.own = own
        # For whoever packs it: everything but `own`, once for all sessions of a policy.
        self.packed: list[bytes] = []

    def with_rules(self, own: Sequence[Rule]) -> Jail:
        made = Jail(**{**self.data(), "own": own})
        made.packed = self.packed
        return made

    def data(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in Jail.__slots__ if name != "packed"}


class Request:
    """One payload. `candidates` are the paths to try, in the order of its own PATH."""

    __slots__ = ("argv", "candidates", "cwd", "environment", "files", "limits")

    def __init__(
        self,
        argv: list[bytes],
        environment: dict[bytes, bytes],
        candidates: list[bytes],
        cwd: bytes,
        limits: list[tuple[int, int]],
        files: dict[bytes, bytes],
    ) -> None:
        self.argv = argv
        self.environment = environment
        self.candidates = candidates
        self.cwd = cwd
        self.limits = limits
        # Put where the program can read them and not change them.
        self.files = files

    def packed(self) -> bytes:
        return marshal.dumps({name: getattr(self, name) for name in Request.__slots__})
