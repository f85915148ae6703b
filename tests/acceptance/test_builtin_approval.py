"""Which calls of `shell` and `run_code` an agent may make without asking: where the walls stand."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from tests.acceptance.conftest import WITHOUT_USERNS, Place

PROGRAM = """
import json, sys
from tongs import Runtime
from tongs.core.call import Caller, CallerKind
agent = Caller(CallerKind.AGENT, "claude")
name, arguments = json.loads(sys.argv[1])
with Runtime.open(single_thread=True) as runtime:
    print(json.dumps(runtime.call_sync(name, arguments, caller=agent).to_wire()))
"""
CODE = {"language": "bash", "code": "echo ran"}
MACHINES: dict[str, list[str]] = {
    "namespaces": [],
    "landlock": [sys.executable, WITHOUT_USERNS, "--"],
    "nothing": [sys.executable, WITHOUT_USERNS, "--no-landlock", "--"],
}


def by_agent(place: Place, machine: str, name: str, **arguments: object) -> tuple[str, str]:
    """The code of the error, and the output."""
    done = subprocess.run(
        [*MACHINES[machine], sys.executable, "-c", PROGRAM, json.dumps([name, arguments])],
        cwd=place.project,
        env=place.env,
        capture_output=True,
        check=True,
    )
    wire = json.loads(done.stdout)
    return "" if wire["ok"] else wire["error"]["code"], wire["output"]


@pytest.mark.parametrize("machine", ["namespaces", "landlock"])
def test_agent_runs_code_without_asking_where_it_is_confined(place: Place, machine: str) -> None:
    assert by_agent(place, machine, "run_code", **CODE) == ("", "ran\n")


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("enforcement", ["strict", "best-effort", "off"])
def test_agent_is_asked_where_nothing_confines_its_code(
    place: Place, machine: str, enforcement: str
) -> None:
    (place.user / "config.yml").write_text(f"security: {{enforcement: {enforcement}}}\n")
    confined = machine != "nothing" and enforcement != "off"

    code, output = by_agent(place, machine, "run_code", **CODE)

    if confined:
        assert (code, output) == ("", "ran\n")
    elif enforcement == "strict":
        assert (code, output) == ("SANDBOX_UNAVAILABLE", "")
    else:
        assert (code, output) == ("APPROVAL_DENIED", "")


@pytest.mark.parametrize("machine", ["namespaces", "landlock"])
def test_agent_is_asked_about_every_shell_command(place: Place, machine: str) -> None:
    assert by_agent(place, machine, "shell", command="touch ran") == ("APPROVAL_DENIED", "")
    assert not (place.project / "ran").exists()


def test_agent_that_was_approved_runs_commands(place: Place) -> None:
    (place.user / "config.yml").write_text("security: {auto_approve: [shell]}\n")

    assert by_agent(place, "namespaces", "shell", command="echo ran") == ("", "ran\n")


@pytest.mark.parametrize("name", ["run_code", "tool:run"])
def test_what_is_denied_is_denied_to_built_in_tools_too(place: Place, name: str) -> None:
    (place.user / "config.yml").write_text(f'security: {{auto_deny: ["{name}"]}}\n')

    assert by_agent(place, "namespaces", "run_code", **CODE) == ("DENIED", "")


def test_tool_of_a_folder_cannot_say_that_it_is_automatic(place: Place) -> None:
    place.tool("mine", "bash: echo ran\nautomatic: true\n", scope="user")
    place.tool("plain", "bash: echo ran\n", scope="user")

    assert by_agent(place, "namespaces", "mine")[0] == "INVALID_DEFINITION"
    assert by_agent(place, "namespaces", "plain")[0] == "APPROVAL_DENIED"


def test_tool_does_not_lend_an_agent_more_than_it_was_allowed(place: Place) -> None:
    place.tool(
        "outer",
        "tool: run_code\narguments: {language: bash, code: echo ran}\ntags: [read]\n",
        scope="user",
    )
    (place.user / "config.yml").write_text("security: {auto_approve: [outer]}\n")

    assert by_agent(place, "namespaces", "outer") == ("APPROVAL_DENIED", "")


@pytest.mark.parametrize("path", ["notes", ".env"])
@pytest.mark.parametrize("text", ["KEY=the", "KEY=no", "absent"])
def test_denied_edit_tells_nothing_about_the_file(place: Place, path: str, text: str) -> None:
    """The tool looks at a file to say what would change; the rules have spoken before that."""
    place.user.mkdir(exist_ok=True)
    (place.user / "config.yml").write_text("security: {auto_deny: [edit_file]}\n")
    (place.project / path).write_text("KEY=the-word\n")
    arguments = {"path": path, "oldText": text, "newText": "x"}

    code, output = by_agent(place, "namespaces", "edit_file", **arguments)

    assert (code, output) == ("DENIED", "")


def test_search_and_move_do_not_lead_around_the_rule_about_secrets(place: Place) -> None:
    for name in (".env", "id_rsa"):
        (place.project / name).write_text("KEY=the-word\n")
    found = {"pattern": "KEY", "includeHidden": True}

    assert by_agent(place, "namespaces", "read_file", path=".env") == ("DENIED", "")
    assert by_agent(place, "namespaces", "search_files", **found) == ("", "")
    moved = {"from": ".env", "to": "plain"}
    assert by_agent(place, "namespaces", "move_file", **moved) == ("DENIED", "")
    assert (place.project / ".env").exists()
