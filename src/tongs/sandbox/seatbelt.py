"""The back end `seatbelt`: macOS, by a profile for sandbox-exec. Experimental.

We have never run it on a real machine: the profile is tested as text only, so before the first
call `open` tries out on the spot whether it holds. Paths reach the profile as parameters, never as
text, so no name of a file can be read as a rule. Of two rules that fit, the later one holds; but a
rule for one operation (file-read-metadata) may beat a later one for a family (file-read*), so what
is denied is denied under every name that was allowed before.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence

from tongs.core.annotations import TYPE_CHECKING, TypeAlias
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.files import PROTECTED_NAMES as NAMES
from tongs.core.permissions import Permissions, covered
from tongs.core.record import replace
from tongs.sandbox.host import Host

if TYPE_CHECKING:
    import subprocess

    from tongs.core.execution import Command, Policy, Session, SpoolOpener, Waiter

# From the words of a command, the profile and its parameters to the words that are started.
Wrap: TypeAlias = Callable[[Sequence[str], str, Mapping[str, str]], Sequence[str]]

PROGRAM = "/usr/bin/sandbox-exec"

ENFORCED = ("environment", "descriptors", "network", "fs.read", "fs.write", "protected-paths")
# Ending the process group misses whoever starts a session of their own.
NOT_ENFORCED = ("limits", "processes", "tree-memory", "tree-kill", "scratch-view")

# What programs need in order to start: nothing here tells anything about the person.
SYSTEM = (
    *("/usr", "/bin", "/sbin", "/System", "/opt", "/Library/Apple"),
    *("/Library/Developer", "/Library/Frameworks", "/private/etc/ssl", "/private/etc/localtime"),
    *("/private/var/db/dyld", "/private/var/db/timezone", "/private/var/select"),
)
RESOLVER = ("/private/etc/hosts", "/private/etc/resolv.conf", "/private/etc/services")

# Read-only inside a write root: what they hold is run by others, or decides what may run.
PROTECTED = (".git/hooks", ".git/config", *NAMES)

_HEAD = """\
(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow ipc-posix-sem)
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))
(allow file-read* (literal "/"))
(allow file-read* file-write-data
  (literal "/dev/null") (literal "/dev/zero") (literal "/dev/random") (literal "/dev/urandom"))
"""
# Names are resolved by a daemon behind a socket: the only one that is not IP.
_NETWORK = """\
(allow network-outbound (remote ip "*:*"))
(allow network-inbound (local ip "*:*"))
(allow network-bind (local ip "*:*"))
(allow network-outbound (literal "/private/var/run/mDNSResponder"))
(allow mach-lookup
  (global-name "com.apple.SystemConfiguration.DNSConfiguration")
  (global-name "com.apple.SystemConfiguration.configd")
  (global-name "com.apple.trustd.agent"))
"""
_PLAIN = '(require-all (literal (param "{}")) (vnode-type REGULAR-FILE))'


def profile(
    permissions: Permissions,
    *,
    host: Host,
    temp: str,
    system: Sequence[str] = SYSTEM,
    canonical: Callable[[str], str] = os.path.realpath,
) -> tuple[str, dict[str, str]]:
    """The profile and its parameters. `temp` is the call's own folder; paths must be absolute."""
    if permissions.network and permissions.network is not True:
        raise _unavailable(
            "a list of hosts cannot be enforced on macOS",
            "grant `network: true`, or run tongs on Linux",
        )
    if permissions.network:
        system = (*system, *RESOLVER)
    temp, home = canonical(temp), canonical(host.home)
    roots = _real(permissions.write, canonical)
    _check_roots(roots, home)
    programs = (*host.programs, *_real(host.programs, canonical))
    prefixes = [_prefix(program, home) for program in programs]
    # The files handed to the call lie beside its scratch, and stay as they are.
    given = os.path.join(temp, "control")
    venvs = [path for path in prefixes if covered(path, roots) and path not in roots]
    held = _held((given, *host.authority, *_protected(roots), *programs, *venvs), canonical)
    hidden = _held((host.state,) if host.state else (), canonical)
    paths = _Paths()
    readable = (*system, *prefixes, given, *permissions.readable)
    seen = paths.named("READ", _real(readable, canonical))
    writable = paths.named("WRITE", (*roots, os.path.join(temp, "tmp")))
    fixed = paths.named("FIXED", held)
    state = paths.named("STATE", hidden)
    between = paths.named("BETWEEN", _between((*held, *hidden), roots))
    seen += writable
    text = _HEAD + "".join(
        [
            _rule("allow file-read-metadata", _each("path-ancestors", seen)),
            _rule("allow file-read* file-map-executable", _each("subpath", seen)),
            _rule("allow file-write*", _each("subpath", writable)),
            _rule("deny file-write*", _each("subpath", fixed)),
            # Whoever may move a folder away has moved what is held in it.
            _rule(
                "deny file-write-unlink",
                [*_each("literal", fixed + state), *_each("path-ancestors", fixed + state)],
            ),
            # Nor may a folder be put there with the held names already in it.
            _rule("deny file-write-create", _each("literal", between)),
            # In a worktree `.git` is a file that says where the hooks are.
            _rule("deny file-write-data", [_PLAIN.format(name) for name in between]),
            _NETWORK if permissions.network else "(deny network*)\n",
            _rule(
                "deny file-read* file-read-metadata file-map-executable file-write*",
                _each("subpath", state),
            ),
        ]
    )
    return text, paths.found


def command(argv: Sequence[str], text: str, parameters: Mapping[str, str]) -> list[str]:
    """The words that run `argv` under a profile."""
    named = [f"-D{name}={value}" for name, value in parameters.items()]
    return [PROGRAM, "-p", text, *named, "--", *argv]


class _Paths:
    """The parameters of one profile: paths under names of our own."""

    def __init__(self) -> None:
        self.found: dict[str, str] = {}

    def named(self, kind: str, paths: Iterable[str]) -> list[str]:
        names = []
        for number, path in enumerate(dict.fromkeys(paths)):
            self.found[f"{kind}_{number}"] = path
            names.append(f"{kind}_{number}")
        return names


def _real(paths: Iterable[str], canonical: Callable[[str], str]) -> list[str]:
    """The paths as the kernel sees them, since it compares without looking at links."""
    found = []
    for path in paths:
        if not path.startswith("/") or "\0" in path:
            raise ValueError(f"not an absolute path: {path!r}")
        found.append(canonical(path))
    return found


def _held(paths: Sequence[str], canonical: Callable[[str], str]) -> list[str]:
    """Both what a path leads to and, where it is a link, the link itself."""
    return [*_real(paths, canonical), *paths]


def _each(kind: str, names: Iterable[str]) -> list[str]:
    return [f'({kind} (param "{name}"))' for name in names]


def _rule(head: str, filters: Sequence[str]) -> str:
    # A rule without a filter is a rule about everything.
    return f"({head}\n  " + "\n  ".join(filters) + ")\n" if filters else ""


def _prefix(program: str, home: str) -> str:
    """Where an interpreter has its libraries: PREFIX of PREFIX/bin/python, unless that is home."""
    prefix = os.path.dirname(os.path.dirname(program))
    return program if covered(home, (prefix,)) else prefix


def _protected(roots: Iterable[str]) -> list[str]:
    """The protected paths that a write root holds, is, or lies in."""
    found = []
    for root in roots:
        for base in (root, *_above(root)):
            for name in PROTECTED:
                path = os.path.join(base, name)
                if covered(path, (root,)) or covered(root, (path,)):
                    found.append(path)
    return found


def _between(held: Iterable[str], roots: Sequence[str]) -> list[str]:
    """The folders below a write root on the way to something held."""
    return [
        folder
        for path in held
        for folder in _above(path)
        if folder not in roots and covered(folder, roots)
    ]


def _above(path: str) -> list[str]:
    found = []
    while (parent := os.path.dirname(path)) != path:
        found.append(parent)
        path = parent
    return found


def _check_roots(roots: Iterable[str], home: str) -> None:
    for root in roots:
        if covered(home, (root,)):
            raise ToolError(
                ErrorCode.PERMISSION_DENIED,
                f"`{root}` may not be written as a whole: the home directory lies in it",
                hint="name the folders that are meant in `permissions.fs.write`",
            )


def create(
    *, direct: bool, spool: SpoolOpener | None, temp_root: str, host: Host
) -> SeatbeltSandbox:
    return SeatbeltSandbox(spool=spool, temp_root=temp_root, host=host)


class SeatbeltSandbox:
    """Opens sessions whose commands run under sandbox-exec."""

    def __init__(self, *, spool: SpoolOpener | None, temp_root: str, host: Host) -> None:
        self._spool = spool
        self._temp_root = temp_root
        self._host = host
        self._proven = False

    def open(self, policy: Policy, waiter: Waiter) -> Session:
        if sys.platform != "darwin":
            raise _unavailable(f"sandbox-exec is part of macOS; this is {sys.platform}")
        session = confined(
            policy, waiter, host=self._host, spool=self._spool, temp_root=self._temp_root
        )
        if not self._proven:
            try:
                prove(self._temp_root)
            except BaseException:
                session.close()
                raise
            self._proven = True
        return session

    def cannot_enforce(self, policy: Policy) -> Sequence[str]:
        return NOT_ENFORCED

    def expect_threads(self) -> None:
        """Nothing here forks this process as it is."""

    def close(self) -> None:
        """Nothing is kept between calls."""


def confined(
    policy: Policy,
    waiter: Waiter,
    *,
    host: Host,
    spool: SpoolOpener | None,
    temp_root: str,
    wrap: Wrap = command,
) -> Session:
    """A session whose commands start as `wrap` says."""
    from tongs.sandbox.portable import Manner, PortableSession  # noqa: PLC0415 - never on Linux

    own = tuple(path for path in policy.programs if path.endswith("/bin/python"))
    held = (*host.authority, *policy.held)
    host = replace(host, programs=(*host.programs, *own), authority=held)

    def words(asked: Command, base: str) -> Sequence[str]:
        return wrap(asked.argv, *profile(policy.permissions, host=host, temp=base))

    # What cannot be enforced is refused before anything is made.
    profile(policy.permissions, host=host, temp=temp_root)
    manner = Manner(words, _group, {"start_new_session": True}, ENFORCED, NOT_ENFORCED)
    return PortableSession(policy, waiter, manner, spool=spool, temp_root=temp_root)


def _group(process: subprocess.Popen[bytes]) -> Callable[[], None]:
    """Ends the process group; it has the number of its first process."""
    import contextlib  # noqa: PLC0415 - as above
    import signal  # noqa: PLC0415 - as above

    def end() -> None:
        # PermissionError: on macOS a group of which only a zombie is left.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)

    return end


# Reads what is granted, and neither reads nor writes nor reaches what is not.
_PROOF = """
cat "$1" || exit 2
cat "$2" && exit 3
(: > "$3") && exit 4
/usr/bin/nc -z 127.0.0.1 "$4" && exit 5
exit 0
"""


def prove(temp_root: str, wrap: Wrap = command) -> None:
    """Try the profile out; ToolError unless it does here what it says."""
    import socket  # noqa: PLC0415 - never on Linux
    import subprocess  # noqa: PLC0415 - never on Linux
    import tempfile  # noqa: PLC0415 - never on Linux

    with (
        tempfile.TemporaryDirectory(dir=temp_root) as inside,
        tempfile.TemporaryDirectory(dir=temp_root) as outside,
        socket.create_server(("127.0.0.1", 0)) as server,
    ):
        os.mkdir(os.path.join(inside, "tmp"))
        granted, secret = os.path.join(inside, "tmp", "file"), os.path.join(outside, "file")
        for path in (granted, secret):
            with open(path, "w", encoding="ascii"):
                pass
        asked = ("/bin/sh", "-c", _PROOF, "sh", granted, secret, os.path.join(outside, "new"))
        text, named = profile(Permissions(), host=Host(), temp=inside)
        try:
            code = subprocess.run(
                wrap((*asked, str(server.getsockname()[1])), text, named),
                env={"PATH": "/usr/bin:/bin"},
                cwd="/",
                capture_output=True,
                timeout=30,
                check=False,
            ).returncode
        except (OSError, subprocess.TimeoutExpired) as error:
            raise _unavailable(f"sandbox-exec cannot be used: {error}") from error
    if code != 0:
        raise _unavailable(f"the Seatbelt profile does not hold on this system (trial: {code})")


def _unavailable(message: str, hint: str = "run tongs on Linux") -> ToolError:
    return ToolError(ErrorCode.SANDBOX_UNAVAILABLE, message, hint=hint)
