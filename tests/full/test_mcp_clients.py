"""Clients that people use, each with the real server over stdio: list, call, error, approval."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.conftest import TONGS, Place

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]
AGENTS = ROOT / ".venv" / "agents" / "bin" / "python"
MCP1 = ROOT / ".venv" / "mcp1" / "bin" / "python"
NODE = ROOT / ".suites" / "node"

JSON = ("--format", "json", "-q")
SERVE = ("tongs", "mcp", "serve")
# Where each client has the settings of a project.
SHARED = {"claude-code": ".mcp.json", "cursor": ".cursor/mcp.json", "vscode": ".vscode/mcp.json"}

TOOLS = {
    "greet": """description: Says hello
bash: echo hello {NAME}
parameters: {NAME: {description: Whom}}
tags: [read]
""",
    "fails": "description: Fails\nbash: echo no luck >&2; exit 3\ntags: [read]\n",
    "deploy": """description: Puts the site online
bash: echo deployed to {STAGE}
parameters:
  STAGE: {description: Where, enum: [test, live]}
tags: [write]
approval: {required: true, reason: look at it}
""",
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(*(tmp_path / name for name in ("project", "home", "home/.tongs", "global")))
    for folder in (made.project / ".tongs" / "tools", made.home, made.user, made.glob):
        folder.mkdir(parents=True, mode=0o755, exist_ok=True)
    for name, definition in TOOLS.items():
        made.tool(name, definition, scope="user")
    (made.user / "config.yml").write_text("security: {auto_approve: [greet, fails]}\n")
    return made


def came_of(place: Place, python: Path, *words: str) -> dict[str, Any]:
    assert python.exists(), "hint: make agents mcp1"
    server = {
        "command": TONGS,
        "args": ["mcp", "serve"],
        "env": place.env,
        "cwd": str(place.project),
    }
    done = subprocess.run(
        [str(python), "-m", *words, json.dumps(server)],
        cwd=ROOT,
        env={**place.env, "OPENAI_API_KEY": "none"},
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    came: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert set(TOOLS) <= set(came["tools"])
    assert came["called"].rstrip() == "hello Ann; echo x"
    assert "no luck" in came["failed"]
    assert "exit code 3" in came["failed"]
    return came


def assert_person_decided(came: dict[str, Any]) -> None:
    assert came["allowed"].rstrip() == "deployed to test"
    assert came["edited"].startswith("deployed to test")
    assert "not today" in came["denied"]


def test_clients_of_the_first_major_of_the_sdk(place: Place) -> None:
    came = came_of(place, MCP1, "tests.full.mcp_by_sdk")

    assert came["version"].startswith("1.30.")
    assert came["protocol"] == "2025-11-25"
    assert_person_decided(came)
    assert came["forms"] == 3
    assert "nothing_like_it" in came["unknown"]
    assert "NAME" in came["invalid"]
    assert "MORE" in came["invalid"]


@pytest.mark.parametrize("framework", ["mcp2", "fastmcp"])
def test_clients_of_the_second_major(framework: str, place: Place) -> None:
    came = came_of(place, AGENTS, "tests.full.mcp_by_frameworks", framework)

    assert came["protocol"] == "2026-07-28"
    assert_person_decided(came)
    assert "nothing_like_it" in came["unknown"]
    assert "NAME" in came["invalid"]


def test_the_second_major_speaks_the_older_protocol_too(place: Place) -> None:
    came = came_of(place, AGENTS, "tests.full.mcp_by_sdk")

    assert came["protocol"] == "2025-11-25"
    assert_person_decided(came)


def test_an_agent_of_pydantic_ai(place: Place) -> None:
    assert_person_decided(came_of(place, AGENTS, "tests.full.mcp_by_frameworks", "pydantic_ai"))


def test_an_agent_of_openai_which_cannot_be_asked(place: Place) -> None:
    came = came_of(place, AGENTS, "tests.full.mcp_by_frameworks", "openai_agents")

    assert "APPROVAL_PENDING" in came["allowed"]
    # After a person has allowed it, elsewhere.
    assert "deployed to test" in came["again"]


def inspector(
    place: Place, *words: str, program: str = "mcp-inspector"
) -> subprocess.CompletedProcess[str]:
    path_of_it = NODE / "node_modules" / ".bin" / program
    assert path_of_it.exists(), "hint: make node"
    words = words if program == "mcpdo" else ("--cli", *words)
    path = f"{NODE / 'bin'}:{Path(TONGS).parent}:{place.env['PATH']}"
    # It hands only a few variables to the server, HOME among them.
    return subprocess.run(
        [str(NODE / "bin" / "node"), str(path_of_it), *words],
        cwd=place.project,
        env={**place.env, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )


def test_the_inspector_finds_every_schema_portable(place: Place) -> None:
    examples = sorted((ROOT / "examples" / ".tongs" / "tools").glob("*.yaml"))
    for path in examples:
        place.tool(path.stem, path.read_text(), scope="user")

    done = inspector(
        place,
        "--method",
        "tools/list",
        "--strict",
        "--format",
        "json",
        "-q",
        "tongs",
        "mcp",
        "serve",
    )

    assert (done.returncode, done.stderr) == (0, "")
    listed = {tool["name"] for tool in json.loads(done.stdout)["result"]["tools"]}
    assert {"read_file", "shell", "job_status", "http_request", "tongs_tool"} <= listed
    assert {path.stem for path in examples} <= listed


def test_the_inspector_understands_an_error_of_a_tool_that_promised_a_schema(place: Place) -> None:
    words = ("--method", "tools/call", "--tool-name", "read_file", "--tool-args-json")

    done = inspector(place, *words, '{"path": "no"}', *JSON, *SERVE)

    # 5: the result says that it is an error; 1 would be an error of the Inspector's own.
    assert done.returncode == 5, done.stderr
    assert "FILE_NOT_FOUND" in done.stdout


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_person_decides_in_a_client_of_the_other_sdk(era: str, place: Place) -> None:
    def mcpdo(*words: str) -> dict[str, Any]:
        done = inspector(place, "--format", "json", *words, program="mcpdo")
        assert done.returncode == 0, done.stdout + done.stderr
        came: dict[str, Any] = json.loads(done.stdout)
        return came

    connect = ("connect", "--era", era, "--elicit", "form", "--connection", "it", "--cwd")
    call = ("tools/call", "--connection", "it", "deploy")
    respond = ("elicitation/respond", "--connection", "it")
    try:
        mcpdo(*connect, str(place.project), "--", *SERVE)
        question = mcpdo(*call, "STAGE:=test")["elicitationPending"]
        allowed = mcpdo(*respond, question["elicitationId"], "decision:=allow")
        question = mcpdo(*call, "STAGE:=live")["elicitationPending"]
        edited = mcpdo(*respond, question["elicitationId"], "decision:=edit", "STAGE:=test")
    finally:
        # It keeps the connection in a process of its own.
        inspector(place, "daemon", "stop", program="mcpdo")

    assert "deploy wants to run" in question["message"]
    assert allowed["content"][0]["text"] == "deployed to test\n"
    assert edited["content"][0]["text"].startswith("deployed to test\n")


@pytest.mark.parametrize("client", SHARED)
def test_what_is_installed_is_what_starts(client: str, place: Place) -> None:
    """The Inspector reads the file that was written for a client, and starts what it says."""
    installed = subprocess.run(
        [TONGS, "mcp", "install", client, "--project", "--", "--tools", "greet"],
        cwd=place.project,
        env={**place.env, "PATH": f"{Path(TONGS).parent}:{place.env['PATH']}"},
        check=False,
        capture_output=True,
        text=True,
    )
    assert installed.returncode == 0, installed.stderr
    written = place.project / SHARED[client]
    if client == "vscode":  # the Inspector takes the other spelling only
        data = json.loads(written.read_text())
        written.write_text(json.dumps({"mcpServers": data["servers"]}))

    done = inspector(
        place,
        *("--config", os.fspath(written), "--server", "tongs", "--method", "tools/call"),
        *("--tool-name", "greet", "--tool-args-json", '{"NAME": "you"}', *JSON),
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["result"]["content"][0]["text"] == "hello you\n"
