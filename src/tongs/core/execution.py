"""How a call is carried out: commands, the sandbox that runs them, and the executors above it.

Executors only describe what to run. A `Sandbox` opens one `Session` per call; every process of the
call starts in it, shares its scratch folder, and dies with it. All waiting goes through a `Waiter`,
so that the same code serves a plain command line (which never imports asyncio) and an event loop.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence

from tongs.core.annotations import TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias, TypeVar
from tongs.core.jobs import Jobs, NoJobs
from tongs.core.permissions import Limits, Permissions, covered
from tongs.core.record import dataclass, field

if TYPE_CHECKING:
    from tongs.core.approval import Approver
    from tongs.core.call import ToolCall
    from tongs.core.errors import ToolError
    from tongs.core.files import Files, KeptOutput
    from tongs.core.redacting import Redacting
    from tongs.core.result import ToolResult
    from tongs.core.servers import Servers
    from tongs.core.tool import Tool

T = TypeVar("T")

STDOUT = 1
STDERR = 2


@dataclass(frozen=True, slots=True)
class Command:
    """One process, completely described: nothing is inherited that is not named here."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    cwd: str
    stdin: bytes = b""
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class CommandLine:
    """What a call would run, for rules to read: a text for a shell, or the words of a program.

    An unknown part of the words is `UNKNOWN_PART`; in a text it is an unset variable.
    """

    cwd: str
    text: str = ""
    argv: tuple[str, ...] = ()
    stdin: str = ""
    # Which shell reads the text.
    shell: str = "bash"
    # Whoever calls wrote it, or a part of it that a shell reads as code.
    given: bool = False
    # The texts that whoever calls has put into what somebody else wrote.
    values: tuple[str, ...] = ()


UNKNOWN_PART = "\0"


@dataclass(frozen=True, slots=True)
class Service:
    """A request to a program in Python that prepares itself once, and may stay for the next one.

    The file `program` is started as the last word of `argv` and reads `opening` and `request` from
    stdin, a line each. A process that stays loads it instead and calls `prepare(opening)` and
    `answer(request, descriptor)` of its `Runner`, the latter in a fork of its own each time. The
    environment is without TMPDIR, which is that of the process.
    """

    # Two with the same key prepare the same.
    key: Hashable
    argv: tuple[str, ...]
    program: bytes
    environment: Mapping[str, str]
    cwd: str
    opening: bytes
    request: bytes
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class Completed:
    """How a process ended. `output` is stdout and stderr in the order they arrived."""

    exit_code: int | None
    signal: int | None
    timed_out: bool
    duration: float
    stdout: bytes
    stderr: bytes
    output: bytes
    # The limit that all its processes together have passed.
    exceeded: str = ""
    # Bytes written in all, whether kept or not.
    stdout_size: int = 0
    stderr_size: int = 0
    # Handle of the kept whole output, where it was larger than the limit.
    spool: str | None = None
    # Bytes that are neither here nor in the spool.
    lost: int = 0
    # Whether a process that had prepared itself for an earlier call did it, and why none can.
    warm: bool = False
    cold: str = ""
    # For a text that is to be cut: a part of a secret could not be found afterwards.
    redactor: Redacting | None = None


@dataclass(frozen=True, slots=True)
class OutputArrived:
    """A piece of live output. `stream` is STDOUT or STDERR."""

    stream: int
    data: bytes


@dataclass(frozen=True, slots=True)
class StepStarted:
    name: str
    number: int
    total: int


@dataclass(frozen=True, slots=True)
class StepEnded:
    name: str
    number: int
    total: int
    exit_code: int | None
    duration: float


@dataclass(frozen=True, slots=True)
class Progressed:
    """How far a call is, in its own measure; `total` is None where nobody knows."""

    done: float
    total: float | None = None
    message: str = ""


Event: TypeAlias = OutputArrived | StepStarted | StepEnded | Progressed
Observer: TypeAlias = Callable[[Event], None]


class Waiter(Protocol):
    """The one way to wait. Descriptors are paired with `select.POLLIN` / `select.POLLOUT`."""

    # Whether `blocking` can stop waiting for work, which then goes on alone.
    leaves_work: bool

    async def ready(
        self, watched: Sequence[tuple[int, int]], timeout: float | None
    ) -> Sequence[tuple[int, int]]: ...

    async def blocking(self, work: Callable[[], T], timeout: float | None = None) -> T:
        """Run work that blocks (asking a person) without stopping anybody else.

        TimeoutError after `timeout` seconds, where it leaves work.
        """

    async def awaited(self, work: Awaitable[T], timeout: float | None) -> T:
        """What somebody else's coroutine answers, which may need an event loop; TimeoutError."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What a session must hold to."""

    permissions: Permissions
    limits: Limits
    project: str
    # Names the call in spools and logs.
    call_id: str = ""
    # Where its commands start unless they say otherwise.
    cwd: str = "/"
    # What it asks for and nobody holds, because the person said that this is good enough.
    not_enforced: tuple[str, ...] = ()
    # Hosts with a private address that the person's config lets a list of hosts reach.
    private_hosts: tuple[str, ...] = ()
    # The least that the call insists on, where the person insists on less.
    enforcement: str = "off"
    # What the tool's interpreter needs: readable, and not writable whatever the permissions say.
    programs: tuple[str, ...] = ()
    # For output that is kept or cut; None where the call has no secrets.
    redactor: Redacting | None = None
    # What other tools consist of, which stays as it is inside a folder that may be written.
    held: tuple[str, ...] = ()
    # Whether another call like it is likely, and may find a world that was made for it.
    again: bool = True


class SpoolWriter(Protocol):
    """Takes the whole output of one process that wrote more than the limit."""

    @property
    def handle(self) -> str: ...

    def write(self, stream: int, data: bytes) -> None:
        """Keep it while there is room. Never raises: what cannot be kept is missing in `close`."""

    def close(self) -> Mapping[int, int]:
        """How many bytes were kept, by stream: always its beginning, without a gap."""


class SpoolOpener(Protocol):
    """Where large output goes."""

    def open(self, call_id: str, used: int = 0) -> SpoolWriter:
        """`used` is what earlier writers of the same call have kept, since a call has one limit."""


class Link(Protocol):
    """A program that stays, with its standard streams as descriptors that do not block.

    They are read and written by whoever has it, and closed by it. `control` becomes readable when
    there is something to hear from `ended`.
    """

    @property
    def stdin(self) -> int: ...

    @property
    def stdout(self) -> int: ...

    @property
    def stderr(self) -> int: ...

    @property
    def control(self) -> int: ...

    def ended(self) -> ToolError | None:
        """None while it runs, then why it is over. Nothing of its tree is alive from then on."""

    def close_stdin(self) -> None:
        """The polite way to ask it to end; again is no error."""

    def kill(self) -> None:
        """Order the end of its whole tree; `ended` tells when that is done."""

    def close(self) -> None:
        """Let go of it. What still runs of its tree ends with its session."""


class Session(Protocol):
    """The world of one call."""

    @property
    def scratch(self) -> str:
        """The call's own temporary folder, TMPDIR of its processes."""

    @property
    def enforced(self) -> Sequence[str]: ...

    @property
    def not_enforced(self) -> Sequence[str]: ...

    @property
    def refused_hosts(self) -> Sequence[str]:
        """What a list of hosts has kept the call from reaching, as `host:port`."""

    @property
    def warnings(self) -> Sequence[str]:
        """What the person should know of this call's walls, beyond that they stand."""

    def write(self, name: str, data: bytes) -> str:
        """Put a file where the call's processes can read it; the path to hand to them."""

    async def run(self, command: Command, observe: Observer) -> Completed:
        """Run to the end. Nothing of the process tree is alive afterwards, whatever happened."""

    async def serve(self, service: Service, observe: Observer) -> Completed | None:
        """Have it answered by a process that stays; None where there is none, and nothing ran."""

    async def start(self, command: Command) -> Link:
        """Start a program that stays until it is ended, at the latest with the session."""

    def close(self) -> None: ...


class NoProcesses:
    """The session of a call that starts no process; `walls` are those that are held there."""

    scratch = ""
    refused_hosts: Sequence[str] = ()
    warnings: Sequence[str] = ()

    def __init__(self, walls: Sequence[str], lacks: Sequence[str] = ()) -> None:
        self.enforced = walls
        self.not_enforced = lacks

    def lacks(self, name: str) -> None:
        """One thing more that turns out not to be held."""
        self.not_enforced = (*self.not_enforced, name)

    def write(self, name: str, data: bytes) -> str:
        raise RuntimeError(f"{name}: this call has no folder of its own")

    async def run(self, command: Command, observe: Observer) -> Completed:
        raise RuntimeError(f"{command.argv[0]}: this call starts no process")

    async def serve(self, service: Service, observe: Observer) -> Completed | None:
        raise RuntimeError(f"{service.argv[0]}: this call starts no process")

    async def start(self, command: Command) -> Link:
        raise RuntimeError(f"{command.argv[0]}: this call starts no process")

    def close(self) -> None:
        pass


class Sandbox(Protocol):
    def open(self, policy: Policy, waiter: Waiter) -> Session: ...

    def cannot_enforce(self, policy: Policy) -> Sequence[str]:
        """What a call under this policy would be trusted with, for whoever approves it."""

    def expect_threads(self) -> None:
        """This process will not have one thread only: from here on none is to be forked here."""

    def close(self) -> None:
        """End what is kept between calls."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a call happens: the caller's directory, and the project around it, if any."""

    cwd: str
    project: str | None = None
    # The person's home directory and their Tongs folder; empty where nobody knows them.
    home: str = ""
    user_folder: str = ""

    @property
    def root(self) -> str:
        return self.project or self.cwd

    @property
    def start(self) -> str:
        """Where a process starts that says nothing else: here, if that is inside the project."""
        return self.cwd if covered(self.cwd, (self.root,)) else self.root


def _not_here() -> NoReturn:
    raise RuntimeError("this world has no files of its own")


@dataclass(frozen=True, slots=True)
class World:
    """What the runtime hands to an executor: the place, the base environment, the interpreters."""

    place: Place
    environment: Mapping[str, str]
    interpreters: Mapping[str, str]
    platform: str
    # For tools that are functions of Tongs itself; both are made when one first needs them.
    files: Callable[[], Files] = _not_here
    kept_output: Callable[[], KeptOutput] = _not_here


@dataclass(frozen=True, slots=True)
class Kept:
    """As much of an output as its limit allows, and where the whole of it is."""

    data: bytes
    handle: str | None = None
    # Bytes that are neither here nor there.
    lost: int = 0


# Name, arguments and standard input of a nested call.
Invoke: TypeAlias = Callable[[str, Mapping[str, Any], bytes], Awaitable["ToolResult"]]


@dataclass(frozen=True)  # without slots it is made in half the time, for every call
class Context:
    """One call in progress, as its executor sees it."""

    call: ToolCall
    tool: Tool
    world: World
    session: Session
    # Monotonic time at which the whole call has to be over.
    deadline: float | None
    observe: Observer
    # Calls another tool through the same pipeline.
    invoke: Invoke
    # For work that waits for something other than a process.
    waiter: Waiter
    servers: Servers
    # Asks the person something in the midst of the call; None where nobody answers.
    ask: Approver
    permissions: Permissions = field(default_factory=Permissions)
    # Hosts that may have a private address, for executors that connect themselves.
    private_hosts: tuple[str, ...] = ()
    # For a text that is to be cut, as in Completed.
    redactor: Redacting | None = None
    # Holds an output that no process wrote to the limit of the call.
    keep: Callable[[bytes], Kept] = Kept
    # That limit in bytes, for an output that is plainly within it.
    limit: int = 0
    # Keeps data that no output has room for; its handle, or None where it could not be kept.
    put_aside: Callable[[bytes], str | None] = lambda data: None
    # Words and a number: the tools that fit best, each with the name that models call it by.
    search: Callable[[str, int], Sequence[tuple[str, Tool]]] = lambda query, limit: ()
    # Outputs of earlier steps as they came, for `input:`; other references lose a final newline.
    whole_outputs: Mapping[str, str] = field(default_factory=dict)
    # What this session has running in the background.
    jobs: Jobs = field(default_factory=NoJobs)


class Executor(Protocol):
    """Carries out one kind of tool.

    One that starts no process, and so needs no sandbox, names what it holds itself in `walls`, and
    in `lacks` what nobody holds. One that writes files it can tell beforehand has
    `changes(tool, arguments, world)`, which gives the `FileChange`s that whoever approves is shown
    as a difference.
    One whose tools start programs has `commands(tool, arguments, world)`: the `CommandLine`s of a
    call, for rules to read.
    """

    def preview(self, tool: Tool, arguments: Mapping[str, Any], world: World) -> str:
        """What would run, for a person to read. Starts nothing."""

    async def execute(self, arguments: Mapping[str, Any], context: Context) -> ToolResult: ...


class Builtin(Protocol):
    """The plan of a tool that is a function of Tongs itself.

    One that replaces or removes something also has `at_stake(call, tool, world, permissions)`: a
    text that tells one state of that thing from another, empty where there is nothing. It is asked
    before anybody decides, a person approves that very state, and `run` finds it in the call.
    """

    def preview(self, arguments: Mapping[str, Any], world: World) -> str:
        """What would happen, for a person to read; a change of a file as a diff."""

    async def run(self, arguments: Mapping[str, Any], context: Context) -> ToolResult: ...
