"""Tools of MCP servers: started behind walls, and called through the one pipeline."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.mcp_world import ServerWorld, deeds, serving

from tongs.core.approval import ApprovalResponse
from tongs.core.errors import ErrorCode
from tongs.core.execution import Progressed
from tongs.surfaces.mcp.results import wire_result


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


def test_pictures_are_named_and_their_data_is_kept(world: ServerWorld) -> None:
    result = world.call("picture")

    assert result.output == "[image: image/png, 5 bytes]\n[resource file:///x]\ninside"
    assert result.metadata["blocks"] == [{"type": "image", "mimeType": "image/png", "bytes": 5}]
    read = world.runtime.call_sync("output_read", handle=result.metadata["contentHandle"])
    assert "aGVsbG8=" in read.output


def test_a_picture_reaches_a_client_and_stands_in_no_text(world: ServerWorld) -> None:
    result = world.call("screenshot", "pixels")

    (picture,) = result.attachments
    assert (picture.kind, picture.mime) == ("image", "image/png")
    assert picture.data.endswith(b"pixels")
    assert "pixels" not in json.dumps(result.to_wire())
    assert wire_result(result, None)["content"][1] == {
        "type": "image",
        "mimeType": "image/png",
        "data": base64.b64encode(picture.data).decode(),
    }


def test_a_picture_in_which_a_secret_stands_reaches_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEDS_KEY", "the-secret-of-deeds")
    spec = deeds(tmp_path / "project", env={"KEY": "env:DEEDS_KEY"})
    with serving(tmp_path, monkeypatch, spec) as world:
        result = world.call("screenshot")

    assert result.ok
    assert result.attachments == ()


def test_what_a_server_asks_is_shown_as_its_question_and_answered_by_the_person(
    world: ServerWorld,
) -> None:
    world.asked.clear()
    world.answer = ApprovalResponse(approved=True, modified_args={"password": "given"})

    result = world.call("ask")

    assert json.loads(result.output) == {"action": "accept", "content": {"password": "given"}}
    (request,) = world.asked
    assert request.rule == "elicitation"
    assert "the MCP server deeds asks, not Tongs: Log in \\x1b[1magain" in request.preview
    assert "CAREFUL" in request.preview
    assert "\\u202epassword" in request.preview


@pytest.mark.parametrize(
    "answer",
    [None, ApprovalResponse(approved=False), ApprovalResponse(approved=True, modified_args={})],
    ids=["nobody", "denied", "not-filled-in"],
)
def test_without_an_answer_of_a_person_a_server_gets_none(
    world: ServerWorld, answer: ApprovalResponse | None
) -> None:
    world.answer = answer

    assert json.loads(world.call("ask").output) == {"action": "decline"}


def test_what_a_person_wrote_into_a_form_stands_in_no_record(world: ServerWorld) -> None:
    world.answer = ApprovalResponse(approved=True, modified_args={"password": "my-own-word"})

    world.call("ask")

    state = Path(world.runtime.places.state)
    texts = [path.read_bytes() for path in (state / "audit").rglob("*") if path.is_file()]
    assert any(b"elicitation" in text for text in texts)
    assert not any(b"my-own-word" in text for text in texts)


def test_no_model_is_lent_to_a_server(world: ServerWorld) -> None:
    assert "not supported" in world.call("sample").output


def test_a_server_is_told_of_the_project_that_it_may_read(world: ServerWorld) -> None:
    told = json.loads(world.call("roots").output)

    assert [root["uri"] for root in told["roots"]] == [f"file://{world.project}"]
