"""What a tool may touch: network, files, secrets. A partial order with meet."""

from __future__ import annotations

import os.path
from collections.abc import Iterable, Mapping

from tongs.core import network as hosts
from tongs.core.annotations import Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.record import dataclass, field

# The programs of the system, which every tool may read.
SYSTEM_FOLDERS = tuple(
    "/" + name for name in "usr bin sbin lib lib32 lib64 libx32 opt nix/store gnu/store".split()
)


@dataclass(frozen=True, slots=True)
class Secret:
    """A value read from the environment by name, and injected only where it is declared."""

    name: str
    required: bool = True


@dataclass(frozen=True, slots=True)
class Permissions:
    """Deny by default: an empty Permissions may touch nothing beyond its own scratch.

    `network` is False, True, or the hosts that may be reached. Paths are absolute by the time two
    Permissions are compared; `resolved` makes them so. What may be written may be read. `scratch`
    is read, too, and looks writable to the call, but nothing it writes there survives; no
    definition can ask for it, and where `write` covers a path, `write` holds.
    """

    network: hosts.Network = False
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    secrets: tuple[Secret, ...] = ()
    scratch: tuple[str, ...] = ()

    @staticmethod
    def from_data(data: Mapping[str, Any]) -> Permissions:
        """From the `permissions:` block every shape shares; the schema has checked it."""
        network = data.get("network", False)
        files = data.get("fs") or {}
        secrets = data.get("secrets") or {}
        return Permissions(
            network=network if isinstance(network, bool) else tuple(network),
            read=tuple(files.get("read") or ()),
            write=tuple(files.get("write") or ()),
            secrets=tuple(
                Secret(name, required=bool((entry or {}).get("required", True)))
                for name, entry in secrets.items()
            ),
        )

    @staticmethod
    def given(data: Any) -> Permissions:
        """The same from a program, which nobody has checked. Raises ToolError."""
        if reason := _wrong(data):
            raise ToolError(
                ErrorCode.INVALID_DEFINITION,
                f"permissions: {reason}",
                hint='{"network": ["example.org"], "fs": {"read": ["."], "write": ["out"]},'
                ' "secrets": {"TOKEN": {}}}',
            )
        return Permissions.from_data(data)

    def to_wire(self) -> dict[str, Any]:
        network = self.network if isinstance(self.network, bool) else list(self.network)
        files = {"read": list(self.read), "write": list(self.write)}
        if self.scratch:
            files["scratch"] = list(self.scratch)
        return {
            "network": network,
            "fs": files,
            "secrets": [secret.name for secret in self.secrets],
        }

    @property
    def readable(self) -> tuple[str, ...]:
        """Every path that may be read, whatever else may be done there."""
        return self.read + self.scratch + self.write

    def resolved(self, base: str, home: str) -> Permissions:
        """The same permissions with every path absolute: see `absolute`."""
        if not self.readable:
            return self
        return Permissions(
            network=self.network,
            read=tuple(absolute(path, base, home) for path in self.read),
            write=tuple(absolute(path, base, home) for path in self.write),
            secrets=self.secrets,
            scratch=tuple(absolute(path, base, home) for path in self.scratch),
        )

    def within(self, ceiling: Permissions) -> bool:
        """Whether nothing here goes beyond `ceiling`. Scratch counts as read: it leaves nothing."""
        return (
            hosts.within(self.network, ceiling.network)
            and all(covered(path, ceiling.readable) for path in self.read + self.scratch)
            and all(covered(path, ceiling.write) for path in self.write)
            and _required(self.secrets).keys() <= _required(ceiling.secrets).keys()
        )

    def beyond(self, ceiling: Permissions) -> Permissions:
        """Only what `ceiling` does not cover: nothing at all where `within` holds."""
        network = self.network
        if hosts.within(network, ceiling.network):
            network = False
        elif not isinstance(network, bool):
            network = tuple(e for e in network if not hosts.within((e,), ceiling.network))
        given = _required(ceiling.secrets)
        return Permissions(
            network=network,
            read=tuple(path for path in self.read if not covered(path, ceiling.readable)),
            write=tuple(path for path in self.write if not covered(path, ceiling.write)),
            secrets=tuple(secret for secret in self.secrets if secret.name not in given),
            scratch=tuple(path for path in self.scratch if not covered(path, ceiling.readable)),
        )

    def conflicts(self, other: Permissions) -> bool:
        """Whether one may change what the other may see, or both may reach the same host."""
        return (
            _touch(self.write, other.readable)
            or _touch(other.write, self.readable)
            or bool(hosts.meet(self.network, other.network))
        )

    def meet(self, other: Permissions) -> Permissions:
        """The most that both allow, written in one way.

        Scratch is what is scratch to one of them and readable to both.
        """
        mine, theirs = _required(self.secrets), _required(other.secrets)
        return Permissions(
            network=hosts.meet(self.network, other.network),
            read=_least(_paths_meet(self.readable, other.readable)),
            write=_least(_paths_meet(self.write, other.write)),
            secrets=tuple(
                Secret(name, required=mine[name] or theirs[name])
                for name in sorted(mine.keys() & theirs.keys())
            ),
            scratch=_least(
                _paths_meet(self.scratch, other.readable)
                + _paths_meet(other.scratch, self.readable)
            ),
        )


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on one process tree; None means that only the timeout bounds it."""

    memory: int = 2 * 1024**3
    processes: int = 256
    file_size: int = 1024**3
    open_files: int = 1024
    cpu: float | None = None
    output: int = 1024**2

    def replaced(self, changes: Mapping[str, Any]) -> Limits:
        if not changes:
            return self
        known = {name: getattr(self, name) for name in Limits.__slots__}
        return Limits(**{**known, **{k: v for k, v in changes.items() if v is not None}})

    def tightened(self, changes: Mapping[str, Any]) -> Limits:
        """The smaller of each: what an untrusted source may ask for."""
        mine = {name: getattr(self, name) for name in Limits.__slots__}
        return self.replaced(
            {
                name: value if mine[name] is None else min(mine[name], value)
                for name, value in changes.items()
                if value is not None
            }
        )


# How much of the walls somebody insists on, the weakest first.
ENFORCEMENTS = ("off", "best-effort", "strict")


def stricter(left: str, right: str) -> str:
    """The stricter of two words for enforcement."""
    return max(left, right, key=ENFORCEMENTS.index)


@dataclass(frozen=True, slots=True)
class Bound:
    """What is taken away, whatever a tool or the user's config gives: it can only tighten.

    `ceilings` hold paths as their author wrote them; `denied` are selectors as in `auto_deny`;
    `rules` are rules of a config as written, each with its `file:line`.
    """

    limits: Mapping[str, Any] = field(default_factory=dict)
    timeout: float | None = None
    ceilings: tuple[Permissions, ...] = ()
    denied: tuple[str, ...] = ()
    enforcement: str = "off"
    rules: tuple[tuple[str, Mapping[str, Any]], ...] = ()

    def meet(self, other: Bound) -> Bound:
        """Both at once."""
        both = {**self.limits, **other.limits}
        for name in self.limits.keys() & other.limits.keys():
            both[name] = min(self.limits[name], other.limits[name])
        return Bound(
            limits=both,
            timeout=shorter(self.timeout, other.timeout),
            ceilings=self.ceilings + other.ceilings,
            denied=tuple(dict.fromkeys(self.denied + other.denied)),
            enforcement=stricter(self.enforcement, other.enforcement),
            rules=self.rules + tuple(rule for rule in other.rules if rule not in self.rules),
        )


def shorter(left: float | None, right: float | None) -> float | None:
    """The shorter of two timeouts; None is none."""
    return min((time for time in (left, right) if time is not None), default=None)


@dataclass(frozen=True, slots=True)
class Grants:
    """What a person's config adds to one tool they do not want to edit (`tools.NAME`)."""

    permissions: Permissions | None = None
    limits: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str | None] = field(default_factory=dict)
    timeout: float | None = None


def absolute(path: str, base: str, home: str) -> str:
    """An author's path: `~` is the home directory, and relative ones start at `base`."""
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    # Two slashes at the start mean the same as one, but would compare differently.
    return os.path.normpath("/" + os.path.join(base, path).lstrip("/"))


def _wrong(data: Any) -> str:
    """What is wrong with permissions as data; empty for nothing."""
    if not isinstance(data, Mapping):
        return f"expected a dict, got {data!r:.80}"
    files = data.get("fs") or {}
    for part, known in ((data, ("network", "fs", "secrets")), (files, ("read", "write"))):
        if not isinstance(part, Mapping):
            return f"`fs` must be a dict, got {part!r:.80}"
        if unknown := [key for key in part if key not in known]:
            return f"there is no `{unknown[0]}`, only {', '.join(known)}"
    network = data.get("network", False)
    if not isinstance(network, bool) and not _is_texts(network):
        return f"`network` must be True, False or a list of hosts, got {network!r:.80}"
    for name, paths in files.items():
        if paths is not None and not _is_texts(paths):
            return f"`fs.{name}` must be a list of paths, got {paths!r:.80}"
    if not isinstance(data.get("secrets") or {}, Mapping):
        return f"`secrets` must be a dict, got {data['secrets']!r:.80}"
    return ""


def _is_texts(given: Any) -> bool:
    return isinstance(given, list | tuple) and all(isinstance(each, str) for each in given)


def covered(path: str, roots: Iterable[str]) -> bool:
    """Whether a path is one of the roots, or lies below one; all of them absolute."""
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)


def _touch(paths: Iterable[str], others: tuple[str, ...]) -> bool:
    """Whether something lies below one of each."""
    return any(covered(path, others) or any(covered(o, (path,)) for o in others) for path in paths)


def _required(secrets: Iterable[Secret]) -> dict[str, bool]:
    """By name; a secret named twice is required if it is required once."""
    found: dict[str, bool] = {}
    for secret in secrets:
        found[secret.name] = found.get(secret.name, False) or secret.required
    return found


def _paths_meet(left: tuple[str, ...], right: tuple[str, ...]) -> list[str]:
    both = [path for path in left if covered(path, right)]
    return both + [path for path in right if covered(path, left)]


def _least(paths: Iterable[str]) -> tuple[str, ...]:
    """The paths without those that lie below another one, in a fixed order."""
    kept: list[str] = []
    # A folder sorts before everything below it.
    for path in sorted(set(paths)):
        if not covered(path, kept):
            kept.append(path)
    return tuple(kept)
