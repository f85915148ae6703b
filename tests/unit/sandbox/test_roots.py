"""The entries of a list of files, found once and known by what they are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.core.permissions import Permissions
from tongs.sandbox.host import Host
from tongs.sandbox.roots import READ, SCRATCH, WRITE, KnownRoots, Root, Roots, found_roots


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in ("home/.tongs/state", "home/project/src", "home/data"):
        tmp_path.joinpath(name).mkdir(parents=True)
    return tmp_path / "home"


def host_of(home: Path) -> Host:
    folder = home / ".tongs"
    return Host(home=str(home), state=str(folder / "state"), authority=(str(folder),))


def root(path: Path, mode: int) -> Root:
    facts = path.stat()
    return Root(str(path), mode, facts.st_dev, facts.st_ino)


def refused(home: Path, **permissions: tuple[str, ...]) -> ToolError:
    with pytest.raises(ToolError) as caught:
        found_roots(Permissions(**permissions), host_of(home))  # type: ignore[arg-type]
    assert (caught.value.code, caught.value.blocked_by) == (
        ErrorCode.PERMISSION_DENIED,
        BlockedBy.PERMISSION,
    )
    return caught.value


def test_each_entry_is_known_by_its_device_and_inode(home: Path) -> None:
    permissions = Permissions(
        read=(str(home / "data"),),
        write=(str(home / "project" / "src"),),
        scratch=(str(home / "project"),),
    )

    assert found_roots(permissions, host_of(home)).entries == (
        root(home / "data", READ),
        root(home / "project", SCRATCH),
        root(home / "project" / "src", WRITE),
    )


def test_what_is_not_there_is_left_out_and_named(home: Path) -> None:
    permissions = Permissions(read=(str(home / "no"),), write=(str(home / "data" / "x" / "y"),))

    assert found_roots(permissions, host_of(home)) == Roots(
        missing=(str(home / "data" / "x" / "y"), str(home / "no"))
    )


def test_the_widest_grant_of_a_path_counts(home: Path) -> None:
    project = home / "project"
    both = Permissions(read=(str(project), str(project / "src")), write=(str(project),))

    found = found_roots(both, host_of(home))

    assert found.entries == (root(project, WRITE),)
    assert found.named == {str(project)}


def test_a_wider_grant_inside_a_narrower_one_stays(home: Path) -> None:
    project = home / "project"
    inner = Permissions(read=(str(project),), write=(str(project / "src"),))

    assert found_roots(inner, host_of(home)).entries == (
        root(project, READ),
        root(project / "src", WRITE),
    )


@pytest.mark.parametrize("link", ["link", "through/src"])
def test_a_symbolic_link_is_no_root_whether_it_is_the_entry_or_above_it(
    home: Path, link: str
) -> None:
    home.joinpath("link").symlink_to(home / "project")
    home.joinpath("through").symlink_to(home / "project")

    error = refused(home, read=(str(home / link),))

    real = os.path.realpath(home / link)
    assert "symbolic link" in error.message
    assert error.hint == f"remove the link, or, if it is yours, name what it leads to: {real}"


@pytest.mark.parametrize("kind", ["read", "write", "scratch"])
@pytest.mark.parametrize("inner", ["", "/audit"])
def test_nothing_grants_the_state_folder(home: Path, kind: str, inner: str) -> None:
    error = refused(home, **{kind: (f"{home}/.tongs/state{inner}",)})

    assert "state" in error.message


@pytest.mark.parametrize("path", ["/usr", "/etc", "/var", "/home", "/dev"])
def test_a_folder_of_the_system_is_not_written(home: Path, path: str) -> None:
    assert "too much" in refused(home, write=(path,)).message


def test_the_home_may_be_read_and_not_written(home: Path) -> None:
    assert found_roots(Permissions(read=(str(home),)), host_of(home)).entries
    assert "too much" in refused(home, write=(str(home),)).message


def test_where_tools_are_trusted_by_their_place_is_not_written(home: Path) -> None:
    assert "trusted" in refused(home, write=(f"{home}/.tongs/tools",)).message


@pytest.mark.parametrize("path", ["/", "/proc", "/proc/1"])
def test_the_whole_machine_is_not_granted(home: Path, path: str) -> None:
    assert refused(home, read=(path,)).details["path"] == path


def test_the_nearest_entry_covers_a_path(home: Path) -> None:
    project = home / "project"
    permissions = Permissions(read=(str(project),), write=(str(project / "src"),))
    roots = found_roots(permissions, host_of(home))

    assert roots.covering(str(project / "src" / "x")) == root(project / "src", WRITE)
    assert roots.covering(str(project / "x")) == root(project, READ)
    assert roots.covering(f"{project}x") is None


# --- those of earlier calls -----------------------------------------------------------------------


def test_roots_are_found_once_while_they_are_what_they_were(home: Path) -> None:
    known, host = KnownRoots(), host_of(home)
    program = home / "program"
    program.touch()
    permissions = Permissions(read=(str(home / "data"),), write=(str(home / "project"),))

    first = known.found(permissions, host, (str(program),))

    assert first == found_roots(permissions, host, (str(program),))
    assert known.found(permissions, host, (str(program),)) is first
    assert known.found(permissions, host, ()).entries == first.entries[:1] + first.entries[2:]


def test_root_that_was_replaced_is_found_anew(home: Path) -> None:
    known, host, data = KnownRoots(), host_of(home), home / "data"
    permissions = Permissions(read=(str(data),))
    known.found(permissions, host, ())

    data.rename(home / "old")
    data.mkdir()

    assert known.found(permissions, host, ()).entries == (root(data, READ),)


@pytest.mark.parametrize("above", [False, True])
def test_link_in_the_place_of_a_known_root_is_refused(home: Path, above: bool) -> None:
    known, host, source = KnownRoots(), host_of(home), home / "project/src"
    permissions = Permissions(write=(str(source),))
    known.found(permissions, host, ())

    place = source.parent if above else source
    place.rename(home / "moved")
    (home / "elsewhere/src").mkdir(parents=True)
    place.symlink_to(home / "elsewhere" if above else home / "elsewhere/src")

    with pytest.raises(ToolError, match="symbolic link"):
        known.found(permissions, host, ())


def test_what_was_missing_is_looked_for_each_time(home: Path) -> None:
    known, host, late = KnownRoots(), host_of(home), home / "late"
    permissions = Permissions(read=(str(home / "data"), str(late)))
    programs = (str(home / "program"),)

    assert known.found(permissions, host, programs).missing == (str(late),)
    late.mkdir()
    (home / "program").touch()

    found = known.found(permissions, host, programs)
    assert [entry.path for entry in found.entries] == [
        str(home / "data"),
        str(late),
        str(home / "program"),
    ]
    late.rmdir()
    assert known.found(permissions, host, programs).missing == (str(late),)


def test_only_so_many_are_kept(home: Path) -> None:
    known, host = KnownRoots(), host_of(home)

    for _ in range(200):
        known.found(Permissions(read=(str(home / "data"),)), host, ())

    assert len(known._known) <= 64
