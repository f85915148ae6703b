"""What a tool may touch: network, files, secrets. A partial order with meet."""

from __future__ import annotations

import os.path
from collections.abc import Iterable, Mapping

from tongs.core.annotations import Any
from tongs.core.record import dataclass, field


@dataclass(frozen=True, slots=True)
class Secret:
    """A value read from the environment by name, and injected only where it is declared."""

    name: str
    required: bool = True


@dataclass(frozen=True, slots=True)
class Permissions:
    """Deny by default: an empty Permissions may touch nothing beyond its own scratch.

    `network` is False, True, or the hosts that may be reached. Paths are absolute by the time two
    Permissions are compared; `resolved` makes them so.
    """

    network: bool | tuple[str, ...] = False
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    secrets: tuple[Secret, ...] = ()

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

    def to_wire(self) -> dict[str, Any]:
        network = self.network if isinstance(self.network, bool) else list(self.network)
        return {
            "network": network,
            "fs": {"read": list(self.read), "write": list(self.write)},
            "secrets": [secret.name for secret in self.secrets],
        }

    def resolved(self, base: str) -> Permissions:
        """The same permissions with every path absolute, relative ones starting at `base`."""
        if not self.read and not self.write:
            return self
        return Permissions(
            network=self.network,
            read=_absolute(self.read, base),
            write=_absolute(self.write, base),
            secrets=self.secrets,
        )

    def within(self, ceiling: Permissions) -> bool:
        """Whether nothing here goes beyond `ceiling`."""
        return (
            _network_within(self.network, ceiling.network)
            and all(_covered(path, ceiling.read + ceiling.write) for path in self.read)
            and all(_covered(path, ceiling.write) for path in self.write)
            and _names(self.secrets) <= _names(ceiling.secrets)
        )

    def meet(self, other: Permissions) -> Permissions:
        """The most that both allow."""
        shared = _names(self.secrets) & _names(other.secrets)
        return Permissions(
            network=_network_meet(self.network, other.network),
            read=_paths_meet(self.read + self.write, other.read + other.write),
            write=_paths_meet(self.write, other.write),
            secrets=tuple(secret for secret in self.secrets if secret.name in shared),
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


@dataclass(frozen=True, slots=True)
class Grants:
    """What a person's config adds to one tool they do not want to edit (`tools.NAME`)."""

    permissions: Permissions | None = None
    limits: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str | None] = field(default_factory=dict)
    timeout: float | None = None


def _absolute(paths: Iterable[str], base: str) -> tuple[str, ...]:
    return tuple(os.path.normpath(os.path.join(base, os.path.expanduser(path))) for path in paths)


def _names(secrets: Iterable[Secret]) -> frozenset[str]:
    return frozenset(secret.name for secret in secrets)


def _covered(path: str, roots: Iterable[str]) -> bool:
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)


def _paths_meet(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...]:
    both = [path for path in left if _covered(path, right)]
    both += [path for path in right if _covered(path, left)]
    return tuple(dict.fromkeys(both))


def _network_within(mine: bool | tuple[str, ...], ceiling: bool | tuple[str, ...]) -> bool:
    if ceiling is True or not mine:
        return True
    if isinstance(mine, bool) or isinstance(ceiling, bool):
        return False
    return set(mine) <= set(ceiling)


def _network_meet(
    left: bool | tuple[str, ...], right: bool | tuple[str, ...]
) -> bool | tuple[str, ...]:
    if left is True:
        return right
    if right is True:
        return left
    if not left or not right:
        return False
    return tuple(host for host in left if host in right) or False
