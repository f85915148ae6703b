"""What is found out when a session is opened, and what waits for its first process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.sandbox.running import World, bash

from tongs.core.errors import ErrorCode, ToolError
from tongs.core.permissions import Permissions


@pytest.fixture(params=["namespaces", "landlock"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    made = World(request.param, permissions=Permissions(write=(str(tmp_path),)))
    yield made
    made.close()


def test_what_cannot_be_granted_is_refused_before_any_process(world: World, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("/etc")
    world.permissions = Permissions(read=(str(link),))

    with pytest.raises(ToolError) as caught:
        world.session()

    assert caught.value.code is ErrorCode.PERMISSION_DENIED


def test_a_path_that_is_missing_is_said_of_a_call_without_processes(
    world: World, tmp_path: Path
) -> None:
    missing = tmp_path / "missing"
    world.permissions = Permissions(read=(str(missing),))

    assert world.session().warnings == [f"{missing} does not exist, so it was not granted"]


def test_what_is_enforced_is_the_same_before_and_after_the_first_process(world: World) -> None:
    session = world.session()
    before = (session.enforced, session.not_enforced)

    world.step(session, bash("true"))

    assert (session.enforced, session.not_enforced) == before


def test_a_tool_file_that_a_process_made_is_named(world: World, tmp_path: Path) -> None:
    made = tmp_path / ".mcp.json"
    session = world.session()

    world.step(session, bash('echo "{}" > "$1"', str(made)))

    assert session.warnings == [
        f"{made} was changed while the tool ran; look at it, since it makes others run"
    ]


def test_every_session_looks_for_changes_of_its_own_processes(world: World, tmp_path: Path) -> None:
    made = tmp_path / ".mcp.json"
    world.run(bash('echo "{}" > "$1"', str(made)))

    session = world.session()
    world.step(session, bash("true"))

    assert session.warnings == []


def test_a_granted_folder_that_was_exchanged_meanwhile_is_not_used(
    world: World, tmp_path: Path
) -> None:
    granted, other = tmp_path / "granted", tmp_path / "other"
    granted.mkdir()
    other.mkdir()
    (other / "secret").write_text("secret\n")
    world.permissions = Permissions(read=(str(granted),))
    session = world.session()
    granted.rename(tmp_path / "gone")
    other.rename(granted)

    with pytest.raises(ToolError):
        world.step(session, bash('cat "$1/secret"', str(granted)))
