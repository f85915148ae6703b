"""Seed 004, "AI-Native Tool Creation": its config, its definition and its log lines, verbatim."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.conftest import Place, Run, Show
from tests.web import Reply, Web

from tongs import ErrorCode, Runtime, ToolError
from tongs.core.errors import BlockedBy

CONFIG = Path(__file__).with_name("seed_004_creation") / "config.yml"

# What the seed hands to `glee_tool_create`.
WEATHER: dict[str, Any] = {
    "description": "Get current weather for a location",
    "kind": "http",
    "version": 1,
    "inputs": {
        "schema": {
            "type": "object",
            "required": ["location"],
            "properties": {"location": {"type": "string", "description": "City name"}},
        }
    },
    "outputs": {"format": "json"},
    "exec": {
        "http": {
            "method": "GET",
            "url": "https://api.weather.com/v1/current",
            "query": {"q": "${location}"},
            "headers": {"Authorization": "Bearer ${WEATHER_API_KEY}"},
        }
    },
    "permissions": {
        "network": True,
        "fs": {"read": [], "write": []},
        "secrets": {"WEATHER_API_KEY": {"type": "string", "required": True}},
    },
    "approval": {"required": True, "reason": "Accesses external API"},
}


@pytest.fixture
def web() -> Iterator[Web]:
    made = Web()
    made.answer = lambda asked: Reply.of({"temperature": 21})
    yield made
    made.close()


@pytest.fixture
def open_runtime(place: Place, tongs: Run, monkeypatch: pytest.MonkeyPatch) -> Any:
    """In a project with the seed's ceiling, which the person has accepted."""
    for name, value in place.env.items():
        monkeypatch.setenv(name, value)
    shutil.copytree(CONFIG.parent, place.project / ".glee")
    assert tongs("trust", "--yes", ".glee/config.yml").code == 0
    return lambda: Runtime.open(place.project)


def without_secret(url: str) -> dict[str, Any]:
    """The seed's weather, as far as its own ceiling lets it be, at an address of ours."""
    http = {"method": "GET", "url": f"{url}/v1/current", "query": {"q": "${location}"}}
    permissions = {**WEATHER["permissions"], "secrets": {}}
    return {**WEATHER, "exec": {"http": http}, "permissions": permissions}


def log(place: Place) -> list[str]:
    text = (place.project / ".tongs/audit/tools.log").read_text()
    lines = [
        re.sub(r"^\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\] ", "", line) for line in text.splitlines()
    ]
    return [re.sub(r" (caller|call|digest|not_enforced)=\S+", "", line) for line in lines]


def test_the_seeds_example_exceeds_the_seeds_own_ceiling(place: Place, open_runtime: Any) -> None:
    with open_runtime() as runtime, pytest.raises(ToolError) as refused:
        runtime.create_tool(name="weather", definition=WEATHER, creator="claude")

    source = f"{place.project}/.glee/config.yml:3"
    assert refused.value.code is ErrorCode.DENIED
    assert refused.value.blocked_by is BlockedBy.CEILING
    assert refused.value.details["beyond"] == [
        {
            "ceiling": source,
            "beyond": {
                "network": False,
                "fs": {"read": [], "write": []},
                "secrets": ["WEATHER_API_KEY"],
            },
        }
    ]
    assert refused.value.message.endswith(f": secrets: WEATHER_API_KEY ({source})")
    assert list((place.project / ".tongs/tools").iterdir()) == []


def test_the_story_of_the_seed_in_its_log(
    place: Place, open_runtime: Any, web: Web, tongs: Run
) -> None:
    (place.user / "config.yml").write_text("security: {allow_private_hosts: [127.0.0.1]}\n")
    with open_runtime() as runtime:
        runtime.create_tool("weather", without_secret(web.url), "claude")
    assert tongs("review", "weather", "--yes").code == 0
    done = tongs("tool", "run", "weather", "location=NYC", "--yes")

    assert (json.loads(done.stdout), done.code) == ({"temperature": 21}, 0)
    accepted, *story = log(place)
    assert accepted.startswith("TOOL_TRUSTED name=")
    assert story == [
        "TOOL_CREATED name=weather creator=claude permissions={network:true,fs:{read:[],write:[]}}",
        "TOOL_APPROVED name=weather approver=user",
        'TOOL_EXECUTED name=weather params={location:"NYC"} status=success',
    ]


def test_created_tool_waits_for_review_and_does_not_run(
    place: Place, open_runtime: Any, web: Web, tongs: Run
) -> None:
    with open_runtime() as runtime:
        made = runtime.create_tool("weather", without_secret(web.url), "claude")

        result = runtime.call_sync("weather", location="NYC")

    assert made.path == f"{place.project}/.tongs/tools/weather/tool.yml"
    assert result.error is not None
    assert result.error.code is ErrorCode.UNTRUSTED
    assert web.asked == []
    listed = json.loads(tongs("tool", "list", "--json").stdout)
    assert [(entry["name"], entry["trust"]) for entry in listed] == [("weather", "review")]
    assert "[review]" in tongs("tool", "list").stdout


def test_approval_is_required_whatever_the_agent_writes(open_runtime: Any, web: Web) -> None:
    definition = {**without_secret(web.url), "approval": {"required": False}}

    with open_runtime() as runtime:
        tool = runtime.create_tool("weather", definition, "claude").tool

    assert (tool.requires_approval, tool.approval_reason) == (True, "Created by claude")


def test_each_call_asks_after_the_review_too(
    open_runtime: Any, place: Place, web: Web, tongs: Run
) -> None:
    (place.user / "config.yml").write_text(
        'security: {allow_private_hosts: [127.0.0.1], auto_approve: ["*"]}\n'
    )
    with open_runtime() as runtime:
        runtime.create_tool("weather", without_secret(web.url), "claude")
    tongs("review", "weather", "--yes")

    with open_runtime() as runtime:
        result = runtime.call_sync("weather", location="NYC")

    assert result.error is not None
    assert result.error.code is ErrorCode.APPROVAL_DENIED
    assert web.asked == []


def test_ceiling_that_came_down_since_refuses_the_call(
    open_runtime: Any, place: Place, web: Web, tongs: Run
) -> None:
    with open_runtime() as runtime:
        runtime.create_tool("weather", without_secret(web.url), "claude")
    tongs("review", "weather", "--yes")
    (place.user / "config.yml").write_text("security: {max_permissions: {network: false}}\n")

    done = tongs("tool", "run", "weather", "location=NYC", "--yes", "--json")

    error = json.loads(done.stdout)["error"]
    assert (error["code"], error["blockedBy"], done.code) == ("DENIED", "ceiling", 3)
    assert "network: true" in error["message"]
    assert web.asked == []


def test_persons_own_grant_counts_above_the_ceiling(
    open_runtime: Any, place: Place, tongs: Run
) -> None:
    (place.project / "notes.txt").write_text("from the person\n")
    with open_runtime() as runtime:
        runtime.create_tool("show", command("cat", "notes.txt"), "claude")
    tongs("review", "show", "--yes")
    assert tongs("tool", "run", "show", "--yes").code == 1

    (place.user / "config.yml").write_text(
        "security: {max_permissions: {network: false}}\n"
        "tools: {show: {permissions: {fs: {read: [notes.txt]}}}}\n"
    )

    assert tongs("tool", "run", "show", "--yes").stdout == "from the person\n"


def test_changed_definition_is_reviewed_again_with_the_difference(
    open_runtime: Any, tongs: Run, screen: Show
) -> None:
    with open_runtime() as runtime:
        runtime.create_tool("greet", command("echo", "hello"), "claude")
    tongs("review", "greet", "--yes")
    assert tongs("tool", "run", "greet", "--yes").stdout == "hello\n"

    with open_runtime() as runtime:
        changed = runtime.create_tool("greet", command("echo", "goodbye"), "claude")

    assert changed.changed
    assert tongs("tool", "run", "greet", "--yes").code == 3
    shown = screen("review", "greet")
    shown.wait_for("approve greet? [y/N] ")
    assert "-      args: [hello]" in shown.text
    assert "+      args: [goodbye]" in shown.text
    shown.type("y\n")
    assert shown.end() == 0
    assert tongs("tool", "run", "greet", "--yes").stdout == "goodbye\n"


def command(program: str, *args: str, **more: Any) -> Mapping[str, Any]:
    return {
        "description": "does it",
        "kind": "command",
        "exec": {"command": {"entrypoint": program, "args": list(args)}},
        "permissions": {"network": False, "fs": {"read": [], "write": []}, "secrets": {}},
        **more,
    }
