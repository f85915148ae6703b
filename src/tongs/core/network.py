"""Which hosts may be reached: entries such as `api.example.org`, `*.example.org`, `[::1]:8080`.

An entry without a port means the ports of the web, `:*` any port. `*.` stands for every name below,
not for the name itself, and for no address. What an entry means is a set of atoms (a host pattern
with one port, or with any), and lists are compared and cut by what they mean, not by how they are
written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tongs.core.annotations import TypeAlias

Network: TypeAlias = bool | tuple[str, ...]
# Host pattern and port; ANY_PORT for every port.
Atom: TypeAlias = tuple[str, int]

WEB_PORTS = (80, 443)
ANY_PORT = -1


def within(mine: Network, ceiling: Network) -> bool:
    """Whether every host and port of `mine` is one of `ceiling`."""
    if ceiling is True or not mine:
        return True
    if isinstance(mine, bool) or isinstance(ceiling, bool):
        return False
    above = _atoms(ceiling)
    return all(_covered(atom, above) for atom in _atoms(mine))


def meet(left: Network, right: Network) -> Network:
    """The hosts and ports that both allow, written in one way; False for none."""
    if left is True or right is True:
        other = right if left is True else left
        return other if isinstance(other, bool) else _written(_atoms(other))
    if not left or not right:
        return False
    theirs = _atoms(right)
    pairs = ((one, other) for one in _atoms(left) for other in theirs)
    return _written([both for one, other in pairs if (both := _common(one, other)) is not None])


def joined(left: Network, right: Network) -> Network:
    """The hosts and ports that either allows, as they are written; False for none."""
    if left is True or right is True:
        return True
    return tuple(dict.fromkeys((*(left or ()), *(right or ())))) or False


def _atoms(entries: Iterable[str]) -> list[Atom]:
    return [atom for entry in entries for atom in _atoms_of(entry)]


def _atoms_of(entry: str) -> Iterator[Atom]:
    """Text that is no entry is a host of that name, which nothing can reach."""
    host, colon, port = entry.lower().rpartition(":")
    # Whole before the port, so that a bare `::1` is not cut.
    whole = bool(colon) and (":" not in host or host.endswith("]"))
    if whole and port == "*":
        yield _plain(host), ANY_PORT
    elif whole and port.isascii() and port.isdigit() and len(port) <= len("65535"):
        yield _plain(host), int(port)
    else:
        for web in WEB_PORTS:
            yield _plain(entry.lower()), web


def _plain(host: str) -> str:
    return host.removesuffix(".")


def _written(atoms: list[Atom]) -> Network:
    """The shortest list for these atoms, in a fixed order."""
    least = {
        atom
        for atom in atoms
        if not any(other != atom and _covered(atom, [other]) for other in atoms)
    }
    entries = set()
    for host, port in least:
        if port in WEB_PORTS and all((host, web) in least for web in WEB_PORTS):
            entries.add(host)
        else:
            entries.add(f"{host}:{'*' if port == ANY_PORT else port}")
    return tuple(sorted(entries)) or False


def _covered(atom: Atom, above: Iterable[Atom]) -> bool:
    """By one atom: hosts and ports are too many for several to cover what no single one does."""
    return any(_common(atom, other) == atom for other in above)


def _common(left: Atom, right: Atom) -> Atom | None:
    host = _common_host(left[0], right[0])
    if host is None:
        return None
    if left[1] == right[1] or right[1] == ANY_PORT:
        return host, left[1]
    return (host, right[1]) if left[1] == ANY_PORT else None


def _common_host(left: str, right: str) -> str | None:
    if left == right or _below(left, right):
        return left
    return right if _below(right, left) else None


def _below(host: str, pattern: str) -> bool:
    return pattern.startswith("*.") and host.endswith(pattern[1:]) and not _is_address(host)


def _is_address(host: str) -> bool:
    """No name of a host ends in a number, so what does is an IPv4 address."""
    return host.endswith("]") or host.rpartition(".")[2].isdigit()
