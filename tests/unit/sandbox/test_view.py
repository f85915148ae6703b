"""What a call sees, as the steps of a private root and as rules of Landlock."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tongs.core.permissions import Permissions
from tongs.sandbox import mounts, rights, view
from tongs.sandbox.host import Host
from tongs.sandbox.roots import READ, Root, found_roots
from tongs.sandbox.system import System
from tongs.sandbox.view import Guest, Step

ABI = 7
SYSTEM = System(
    paths=("/usr",),
    links=(("/bin", "usr/bin"),),
    etc=("/etc/localtime",),
    etc_network=("/etc/resolv.conf",),
    programs=(),
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("home/.tongs/state", "home/project/.tongs", "home/project/.venv/bin"):
        tmp_path.joinpath(name).mkdir(parents=True)
    return tmp_path / "home/project"


def host_of(project: Path) -> Host:
    home = project.parent
    return Host(home=str(home), state=f"{home}/.tongs/state", authority=(f"{home}/.tongs",))


def steps(
    project: Path, permissions: Permissions, system: System = SYSTEM, cwd: str = "/"
) -> list[Step]:
    host = host_of(project)
    roots = found_roots(permissions, host)
    protected = view.Held(roots, str(project)).protected(system, host)
    network = permissions.network is True
    paths = tuple(path for path, _ in protected)
    guest = Guest(cwd=cwd, protected=paths, network=network, user=1000, group=1000)
    return view.private_root(roots, system, host, guest)


def test_a_root_is_bound_at_its_own_path_by_its_identity(project: Path) -> None:
    path = str(project).encode()
    facts = project.stat()
    identity = (facts.st_dev, facts.st_ino)

    assert (mounts.BIND, path, path, mounts.READ_ONLY, *identity) in steps(
        project, Permissions(read=(str(project),))
    )
    assert (mounts.BIND, path, path, 0, *identity) in steps(
        project, Permissions(write=(str(project),))
    )
    assert (mounts.OVERLAY, path, path, *identity) in steps(
        project, Permissions(read=(str(project),), scratch=(str(project),))
    )


def test_only_a_root_that_may_be_written_has_something_to_protect(project: Path) -> None:
    kept = (mounts.PROTECT, str(project / ".tongs").encode())

    assert kept in steps(project, Permissions(write=(str(project),)))
    assert kept not in steps(project, Permissions(read=(str(project),)))


def test_what_is_granted_by_its_own_name_is_not_protected(project: Path) -> None:
    granted = Permissions(write=(str(project), str(project / ".tongs")))

    protected = [step for step in steps(project, granted) if step[0] == mounts.PROTECT]
    assert (mounts.PROTECT, str(project / ".glee").encode()) in protected
    assert (mounts.PROTECT, str(project / ".tongs").encode()) not in protected


def test_what_may_only_be_read_by_its_own_name_stays_protected(project: Path) -> None:
    granted = Permissions(read=(str(project / ".tongs"),), write=(str(project),))

    assert (mounts.PROTECT, str(project / ".tongs").encode()) in steps(project, granted)


def test_what_gives_tongs_its_orders_is_protected_whoever_names_it(project: Path) -> None:
    mine = str(project / ".venv")
    host = Host(home=str(project.parent), authority=(mine,))
    roots = found_roots(Permissions(write=(str(project),)), host)

    assert mine in dict(view.Held(roots, "").protected(SYSTEM, host))


def test_what_is_protected_is_known_by_what_lies_there_now(project: Path) -> None:
    roots = found_roots(Permissions(write=(str(project),)), Host())

    before = dict(view.Held(roots, "").protected(SYSTEM, Host()))
    project.joinpath(".vscode").mkdir()
    after = dict(view.Held(roots, "").protected(SYSTEM, Host()))

    assert before[str(project / ".vscode")] is None
    assert after[str(project / ".vscode")] is not None


def test_programs_that_tools_run_from_are_protected_in_a_write_root(project: Path) -> None:
    environment = str(project / ".venv/bin")
    facts = os.stat(environment)
    program = Root(environment, READ, facts.st_dev, facts.st_ino)
    system = System(SYSTEM.paths, SYSTEM.links, SYSTEM.etc, SYSTEM.etc_network, (program,))

    found = steps(project, Permissions(write=(str(project),)), system)

    assert (mounts.PIN, str(project / ".venv").encode()) in found
    assert (mounts.PROTECT, environment.encode()) in found


def test_the_state_folder_is_hidden_wherever_a_root_holds_it(project: Path) -> None:
    home = project.parent
    state = f"{home}/.tongs/state".encode()

    found = steps(project, Permissions(read=(str(home),)))

    assert found[-2:] == [(mounts.PIN, f"{home}/.tongs".encode()), (mounts.HIDE, state)]


def test_a_working_directory_that_was_not_granted_is_an_empty_folder(project: Path) -> None:
    empty = (mounts.FOLDER, str(project).encode(), 0o755)

    assert empty in steps(project, Permissions(), cwd=str(project))
    assert empty not in steps(project, Permissions(read=(str(project),)), cwd=str(project))


def test_names_are_resolved_only_with_the_network(project: Path) -> None:
    def has(permissions: Permissions, path: bytes) -> bool:
        return any(step[1] == path for step in steps(project, permissions) if step[0] == "bind")

    assert has(Permissions(network=True), b"/etc/resolv.conf")
    assert not has(Permissions(), b"/etc/resolv.conf")


def test_those_above_are_mounted_before_those_below(project: Path) -> None:
    inner = project / ".venv"
    permissions = Permissions(read=(str(project),), write=(str(inner),))

    found = steps(project, permissions)

    order = [step[1] for step in found if step[0] == mounts.BIND]
    assert order.index(str(project).encode()) < order.index(str(inner).encode())


def test_behind_a_private_root_landlock_grants_writing_only_where_it_is_meant(
    project: Path,
) -> None:
    roots = found_roots(
        Permissions(read=(str(project / ".venv"),), write=(str(project / ".tongs"),)),
        Host(home=str(project.parent)),
    )

    rules = {path: mask for path, mask, _, _ in view.rules_inside(roots, host_of(project), ABI)}

    writable = {path for path, mask in rules.items() if mask == rights.writing(ABI)}
    assert rules[b"/"] == rights.reading(ABI)
    assert writable == {
        b"/tmp",
        b"/dev/shm",
        str(project.parent).encode(),
        str(project / ".tongs").encode(),
    }


def test_alone_landlock_grants_a_scratch_view_for_reading(project: Path) -> None:
    permissions = Permissions(read=(str(project),), scratch=(str(project),))
    roots = found_roots(permissions, host_of(project))

    rules = view.rules_alone(roots, SYSTEM, ABI, network=False)
    rules += view.rules_of_scratch("/s", "/s/tmp", ABI)

    facts = project.stat()
    entry = (str(project).encode(), rights.reading(ABI), facts.st_dev, facts.st_ino)
    masks = {path: mask for path, mask, _, _ in rules}
    assert entry in rules
    assert masks[b"/s/tmp"] == rights.writing(ABI)
    assert masks[b"/s"] == rights.reading(ABI)
    assert b"/etc/resolv.conf" not in masks
    assert not any(path.startswith(b"/proc/self") for path in masks)
