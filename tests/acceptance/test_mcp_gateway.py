"""Tools of MCP servers: started behind walls, and called through the one pipeline."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from tests.mcp_world import ServerWorld, serving

from tongs.core.errors import ErrorCode
from tongs.core.execution import Progressed


@pytest.fixture(params=[True, False], ids=["command-line", "program"], scope="module")
def world(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerWorld]:
    """One server for all tests of this file that leave it as it is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NOBODY_MAY_SEE", "this")
        folder = tmp_path_factory.mktemp("gateway")
        with serving(folder, patch, single_thread=request.param) as made:
            yield made


def test_a_server_is_started_by_the_first_that_needs_it(world: ServerWorld) -> None:
    result = world.call("say", "hello")

    assert (result.ok, result.output) == (True, "hello")
    assert {"network", "fs.read", "fs.write", "tree-kill"} <= set(result.metadata["enforced"])
    assert world.status == "running"


def test_structure_comes_as_the_value_and_is_checked(world: ServerWorld) -> None:
    right, wrong = world.call("value", '{"n": 3}'), world.call("value", '{"n": "three"}')

    assert (right.value, list(right.warnings)) == ({"n": 3}, [])
    assert wrong.ok
    assert "does not fit its schema" in wrong.warnings[0]


def test_an_error_of_the_tool_is_an_error(world: ServerWorld) -> None:
    result = world.call("fail")

    assert result.error is not None
    assert (result.error.code, result.error.message) == (ErrorCode.EXECUTION_ERROR, "it went wrong")


def test_progress_reaches_whoever_watches(world: ServerWorld) -> None:
    world.events.clear()

    world.call("progress")

    assert Progressed(1, 2, "half") in world.events


def test_a_server_sees_nothing_of_our_environment(world: ServerWorld) -> None:
    seen = json.loads(world.call("environment").output)

    assert "NOBODY_MAY_SEE" not in seen
    assert "TONGS_HOME" not in seen
    assert {"PATH", "HOME", "TMPDIR"} <= set(seen)
