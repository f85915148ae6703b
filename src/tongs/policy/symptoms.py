"""What the error output of a failed process points at: hosts, paths, sockets, limits.

The text is a stranger's: only its end is read, and what is taken from it is short, printable and of
the shape of a host or a path. A symptom is a guess; whether it has to do with the confinement is
for `confined.py` to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from tongs.core.annotations import Any
from tongs.core.execution import Session
from tongs.core.record import dataclass

_END = 8000
_LONGEST_LINE = 1000
_LONGEST_PATH = 200
# More than this is a program that goes on in spite of failures; the last ones ended it.
_MOST = 3

_SIGKILL = 9
_SIGXCPU = 24
_SIGXFSZ = 25


@dataclass(frozen=True, slots=True)
class Ending:
    """How the process ended that made the call fail; `cwd` is where it started, if known."""

    stderr: str = ""
    exit_code: int | None = None
    signal: int | None = None
    cwd: str | None = None
    # What it would have needed to start at all.
    unread: tuple[str, ...] = ()
    # What a list of hosts has kept it from, as `host:port`.
    refused: tuple[str, ...] = ()
    # The limit that ended it.
    exceeded: str = ""
    # Its temporary folder.
    scratch: str = ""

    @classmethod
    def of(
        cls, metadata: Mapping[str, Any], details: Mapping[str, Any], session: Session
    ) -> Ending:
        """From the metadata of a result, the details of its error, and where it ran."""
        return cls(
            str(metadata.get("stderr", "")),
            metadata.get("exitCode"),
            metadata.get("signal"),
            unread=tuple(details.get("unread", ())),
            refused=tuple(session.refused_hosts),
            exceeded=str(details.get("exceeded", "")),
            # To ask for the folder of a call that has started nothing would make one.
            scratch=session.scratch if "stderr" in metadata else "",
        )


@dataclass(frozen=True, slots=True)
class Symptoms:
    """Paths are as the program wrote them.

    `missing` ones were to be read, `unmade` ones lie in a folder that was missing, `refused` ones
    were to be read or written, `unwritable` ones written, and with `barred` ones something was to
    be done that is not permitted, whatever the path.
    """

    network: bool = False
    # `name` or `name:port`.
    hosts: tuple[str, ...] = ()
    unix_sockets: bool = False
    missing: tuple[str, ...] = ()
    unmade: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    unwritable: tuple[str, ...] = ()
    barred: tuple[str, ...] = ()
    # Modes, owners or times of files were not to be changed.
    metadata: bool = False
    # Names of `Limits`.
    limits: tuple[str, ...] = ()


def symptoms(ending: Ending) -> Symptoms:
    """Read the end of what a failed process wrote, and how it ended."""
    if ending.exceeded:
        # What is known for sure needs no guess.
        return Symptoms(limits=(ending.exceeded,))
    text = ending.stderr[-_END:]
    lines = [line[:_LONGEST_LINE] for line in text.splitlines()]
    sockets = [line for line in lines if _UNIX_SOCKET.search(line)]
    reached = [line for line in lines if _NETWORK.search(line) and line not in sockets]
    # Python names neither socket nor host where the call itself was refused.
    refused_call = "socket" in text and "PermissionError: [Errno 1]" in text
    # curl, told to be silent: it could not resolve a name, or not connect.
    silent = not text.strip() and ending.exit_code in (6, 7)
    found: dict[str, list[str]] = {kind: [] for kind in _KINDS}
    for line in lines:
        if line not in sockets and line not in reached and (path := _path(line)) is not None:
            found[path[0]].append(path[1])
    return Symptoms(
        network=bool(reached) or refused_call or silent,
        hosts=_last(host for line in reached for host in _hosts(line)),
        unix_sockets=bool(sockets),
        # Python names the call and the trouble in different lines.
        metadata=bool(_METADATA.search(text) and _NOT_PERMITTED.search(text)),
        limits=tuple(_limits(text, ending)),
        **{kind: _last(paths) for kind, paths in found.items()},
    )


def _last(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))[-_MOST:]


_UNIX_SOCKET = re.compile(
    r"docker daemon|docker\.sock|\bdial unix\b|unix://|unix[- ]domain|\bAF_UNIX\b"
    r"|SSH_AUTH_SOCK|authentication agent|\bconnect E[A-Z]+ /|socket \"/",
    re.IGNORECASE,
)
_NETWORK = re.compile(
    r"could not resolve|couldn't resolve|unable to resolve host|failed to resolve"
    r"|name resolution|name or service not known|nodename nor servname|no such host\b"
    r"|no address associated|failed to lookup address|bad hostname"
    r"|\bEAI_AGAIN\b|\bENOTFOUND\b|UnknownHostException|gaierror"
    r"|\bENETUNREACH\b|\bEHOSTUNREACH\b|network is unreachable|no route to host"
    r"|\bECONNREFUSED\b|connection refused|failed to connect to|couldn't connect to server"
    r"|\bdial (?:tcp|udp)|tunnel(?:ing)? (?:connection )?failed|code 403 from proxy"
    r"|\bconnect (?:EPERM|EACCES) [0-9[]"
    r"|socket(?:exception)?: operation not permitted|/dev/(?:tcp|udp)/\S+: operation not permitted",
    re.IGNORECASE,
)

_HOST = r"(?P<host>[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,251}[A-Za-z0-9_])?)"
_HOSTS = tuple(
    re.compile(pattern.replace("HOST", _HOST).replace("PORT", r"(?P<port>[0-9]{1,5})"))
    for pattern in (
        r"(?i:resolve (?:hostname|host address|host)):? [‘'\"]?HOST",
        r"(?i:failed to resolve) '?HOST",
        r"(?i:failed to connect to) HOST (?i:port) PORT",
        r"getaddrinfo E[A-Z_]+ HOST",
        r"connect E[A-Z]+ HOST:PORT",
        r"UnknownHostException: HOST",
        r"\blookup HOST(?= on |: )",
        r"\bhost='HOST', port=PORT",
        r"[a-z]://(?:[^\s/@]*@)?HOST(?::PORT)?(?=[/'\"\s]|$)",
        r"/dev/(?:tcp|udp)/HOST/PORT",
        r"(?i:bad hostname) '?HOST(?::PORT)?",
        r": HOST: (?i:temporary failure in name|name or service not known)",
    )
)


def _hosts(line: str) -> list[str]:
    """Hosts of one line. What ssh reaches is no web server, so a list of hosts would not help."""
    if line.startswith("ssh: "):
        return []
    matches = [match for pattern in _HOSTS for match in pattern.finditer(line)]
    ports = {match["host"].lower(): match.groupdict().get("port") for match in matches}
    ports |= {m["host"].lower(): m["port"] for m in matches if m.groupdict().get("port")}
    return [
        host if port in (None, "80", "443") else f"{host}:{port}" for host, port in ports.items()
    ]


_KINDS = ("missing", "unmade", "refused", "unwritable", "barred")
# To make or to change something, where reading it would be told in the same words.
_TO_WRITE_KIND = {"missing": "unmade"}
_WRONG = re.compile(
    r"(?P<unwritable>read-only file system|\bEROFS\b)"
    r"|(?P<refused>permission denied|\bEACCES\b|\[Errno 13\]|unable to open database)"
    r"|(?P<barred>operation not permitted|\bEPERM\b)"
    r"|(?P<missing>no such file(?: or directory)?|directory nonexistent|\bENOENT\b|\[Errno 2\]"
    r"|cannot find module|couldn't open file)",
    re.IGNORECASE,
)
_TO_WRITE = re.compile(
    r"cannot (?:create|touch|remove|move|rename|mkdir)|failed to create|changing (?:perm|owner)"
    r"|, (?:mkdir|unlink|rmdir|rename|copyfile|symlink|chmod|utime|truncate|mkdtemp)\b"
    r"|for writing|temporary file",
    re.IGNORECASE,
)
_NOT_PERMITTED = re.compile(r"operation not permitted|\bEPERM\b", re.IGNORECASE)
_METADATA = re.compile(
    r"\b(?:chmod|chown|copystat|utimes?)\b|cannot change (?:mode|ownership)"
    r"|(?:changing|preserving|setting) (?:attributes|ownership|permissions|times)",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"(?<!\w)(?<!thread )['\"‘“]([^'\"‘’“”]+)['\"’”]")
_BARE = re.compile(r"(?<![^\s:=(])(~?/(?!/)[^\s:'\"‘’()<>,;|]*)")
# As in `bash: line 1: out/x: Read-only file system`.
_RELATIVE = re.compile(
    r"(?:: |cannot (?:create|mkdir|open) )([^\s:/][^\s:]*)(?:: cannot open)?: $", re.IGNORECASE
)
# A shell names its script first, which is not what the trouble is about.
_SCRIPT = re.compile(r"^[^\s:]+:(?: line \d+| \d+|(?:\w+:)?\d+): ")


def _path(line: str) -> tuple[str, str] | None:
    """The kind of trouble in a line, and the path it is about."""
    line = _SCRIPT.sub(": ", line)
    wrong = _WRONG.search(line)
    if wrong is None:
        return None
    kind = str(wrong.lastgroup)
    before, after = line[: wrong.start()], line[wrong.end() :]
    path = _named(before) or _named(after)
    if path is None and (relative := _RELATIVE.search(before)):
        path = relative[1]
    if path is None or not path.isprintable() or len(path) > _LONGEST_PATH:
        return None
    if _TO_WRITE.search(line) and not (kind == "barred" and _METADATA.search(line)):
        kind = _TO_WRITE_KIND.get(kind, "unwritable")
    return kind, path


def _named(text: str) -> str | None:
    """The last path in a text; one in quotes is surer, and may be relative."""
    for found in (_QUOTED.findall(text), _BARE.findall(text)):
        if found:
            return str(found[-1])
    return None


def _limits(text: str, ending: Ending) -> Iterator[str]:
    # A shell tells of a signal by 128 and its number.
    ended = ending.signal if ending.signal is not None else (ending.exit_code or 0) - 128
    if ended == _SIGKILL or _MEMORY.search(text):
        yield "memory"
    if _PROCESSES.search(text):
        yield "processes"
    if ended == _SIGXFSZ or _FILE_SIZE.search(text):
        yield "file_size"
    if _OPEN_FILES.search(text):
        yield "open_files"
    if ended == _SIGXCPU:
        yield "cpu"


_MEMORY = re.compile(
    r"cannot allocate memory|can't allocate memory|\bMemoryError\b|\bENOMEM\b|out of memory"
    r"|fatal process OOM|cannot allocate \d+ bytes|could not reserve enough space"
    r"|OutOfMemoryError|std::bad_alloc|memory allocation of \d+ bytes failed|virtual memory exh",
    re.IGNORECASE,
)
_PROCESSES = re.compile(
    r"fork: (?:retry: )?resource temporarily unavailable|can't start new thread"
    r"|BlockingIOError: \[Errno 11\]|\b(?:spawn|fork)\b[^\n]{0,80}\bEAGAIN\b|pthread_create failed"
    r"|unable to create (?:native )?thread|cannot fork|can't fork",
    re.IGNORECASE,
)
_FILE_SIZE = re.compile(r"file size limit exceeded|file too large|\bEFBIG\b", re.IGNORECASE)
_OPEN_FILES = re.compile(r"too many open files|\bEMFILE\b", re.IGNORECASE)
