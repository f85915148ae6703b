"""Tools of MCP servers beside all others: listed, found, ruled, and called by steps."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.conftest import Place, Run
from tests.acceptance.test_mcp_approval import serve
from tests.acceptance.test_mcp_live import until
from tests.acceptance.test_mcp_server import loop
from tests.mcp_client import ERAS, Loop, text

from tongs import Runtime
from tongs.core.servers import ServerSpec
from tongs.store.pins import PinStore

__all__ = ["loop"]

SERVER = Path(__file__).parents[1] / "small_mcp_server.py"
COMMAND = "python3 server.py tools.json"


def told(name: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": f"does {name}", "inputSchema": schema}


SAY, PUSH = told("say", text={"type": "string"}), told("push/all")


@pytest.fixture
def served(place: Place) -> Place:
    """The server `small` of the person's config, pinned and never started."""
    shutil.copy(SERVER, place.project / "server.py")
    (place.project / "tools.json").write_text(json.dumps([SAY, PUSH]))
    (place.user / "config.yml").write_text(
        f"mcp:\n  servers:\n    small: {{command: {COMMAND}, tools: {{off: {{enabled: false}}}}}}\n"
    )
    store = PinStore(str(place.state))
    store.seen(ServerSpec("small"), [SAY, PUSH, told("off")], title="", version="")
    return place


def test_they_are_listed_and_shown_like_every_other(served: Place, tongs: Run) -> None:
    listed = json.loads(tongs("tool", "list", "--json").stdout)
    shown = tongs("tool", "get", "mcp:small__say")

    assert [(e["qualifiedName"], e["may"], e["trust"]) for e in listed] == [
        ("mcp:small__push/all", "read", "accepted"),
        ("mcp:small__say", "read", "accepted"),
    ]
    assert shown.code == 0
    assert "server:       small" in shown.stdout
    assert "accepted:     yes" in shown.stdout
    assert "  name: say\n" in shown.stdout
    assert json.loads(tongs("tool", "get", "small__say", "--json").stdout)["kind"] == "mcp"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("small__sai", "did you mean `small__say`?"),
        ("smal__say", "did you mean `small__say`"),
        ("small__zzzzz", "tongs mcp inspect small"),
        ("small__off", "is switched off: mcp.servers.small.tools.off"),
        ("mcp:other__x", "there is no MCP server `other`"),
    ],
)
def test_what_is_not_there_is_said(name: str, reason: str, served: Place, tongs: Run) -> None:
    done = tongs("tool", "run", name)

    assert done.code == 2
    assert reason in done.stderr


def test_a_name_that_begins_like_a_server_is_the_server_s(served: Place, tongs: Run) -> None:
    served.tool("small__say", "bash: echo evil\n", scope="user")

    listed = json.loads(tongs("tool", "list", "--json").stdout)

    assert [(e["qualifiedName"], e["shadowed"]) for e in listed if e["name"] == "small__say"] == [
        ("mcp:small__say", False),
        ("yaml:small__say", True),
    ]
    assert tongs("tool", "get", "small__say", "--json").stdout.count('"kind": "mcp"') == 1
    assert tongs("tool", "run", "yaml:small__say").stdout == "evil\n"
    assert "is kept for an MCP server" in tongs("lint").stdout
    refused = tongs("tool", "add", "small__new", "--bash", "echo", "--description", "d", "--user")
    assert "is kept for tools of the MCP server small" in refused.stderr
    assert "tongs mcp remove small" in tongs("tool", "remove", "small__push/all").stderr


def test_rules_know_them_by_name_and_by_source(served: Place, tongs: Run) -> None:
    config = served.user / "config.yml"
    config.write_text(
        f"{config.read_text()}security:\n  rules:\n"
        "    - {name: no-push, when: {tool: small__push*}, decision: deny, reason: never}\n"
        "    - {name: servers, when: {source: mcp}, decision: ask, reason: strangers}\n"
    )

    explained = tongs("rules", "explain", "small__push/all")

    assert "no-push" in explained.stdout
    assert "servers" in explained.stdout
    assert tongs("tool", "run", "small__push/all").code == 3


def test_models_are_offered_them_under_names_they_can_say(
    served: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, value in served.env.items():
        monkeypatch.setenv(key, value)
    config = served.user / "config.yml"
    config.write_text(config.read_text().replace("tools: {", "tools: {say: {approval: false}, "))
    with Runtime.open(served.project) as runtime:
        offer = runtime.offered(tools=["small__say", "small__push/all"])
        names = [each["function"]["name"] for each in offer.to_openai_tools()]

        assert names == ["small__say", "small__push_all"]
        assert [e.name for e in runtime.offered(tags=["read"]).list() if "small" in e.name] == [
            *("small__push/all", "small__say")
        ]
        # A call of a model is asked about, unless the config says otherwise of this tool.
        call = {"id": "1", "type": "function"}
        said, refused = runtime.handle_openai_sync(
            [
                {**call, "function": {"name": "small__say", "arguments": '{"text": "hi"}'}},
                {**call, "function": {"name": "small__push_all", "arguments": "{}"}},
            ]
        )
    assert said["content"] == 'say {"text": "hi"}'
    assert "nobody could be asked" in refused["content"]


def test_a_client_of_ours_gets_the_tools_of_servers_that_were_never_connected(
    served: Place, loop: Loop
) -> None:
    (served.state / "mcp" / "pins.json").unlink()
    config = served.user / "config.yml"
    config.write_text(config.read_text() + "    dead: {command: /does/not/exist}\n")
    talk = serve(loop, served, "--auto-approve", "tool:read", era=ERAS[0])

    assert "small__say" not in talk.tools()
    until(lambda: any("list_changed" in str(each) for each in talk.heard))

    assert "small__say" in talk.tools()
    assert text(talk.call("small__say", text="hi")) == 'say {"text": "hi"}'
    talk.close()


STEPS = f"""\
description: says it three times
uses: {{mcp: helper}}
with:
  mcps: [{{name: own, command: {COMMAND}}}]
tags: [read]
parameters: {{WHAT: {{}}}}
steps:
  - {{name: one, mcp: small, tool: say, arguments: {{text: "{{WHAT}}"}}}}
  - {{name: two, mcp: own, tool: say, arguments: {{text: "{{one.output}}"}}}}
  - {{name: three, mcp: helper, tool: say, arguments: {{text: two}}}}
  - name: all
    bash: echo {{one.output}} / {{two.output}} / {{three.output}}
"""


def test_steps_call_servers_of_the_config_of_files_and_of_their_own(
    served: Place, tongs: Run
) -> None:
    (served.user / "mcp").mkdir()
    (served.user / "mcp" / "helper.yml").write_text(f"command: {COMMAND}\n")
    served.tool("thrice", STEPS, scope="user")

    done = tongs("tool", "run", "thrice", "WHAT=hi", "--json")

    result = json.loads(done.stdout)
    assert result["error"] is None, result
    assert result["output"] == (
        'say {"text": "hi"} / say {"text": "say {\\"text\\": \\"hi\\"}"} / say {"text": "two"}\n'
    )
    # Both were pinned by their first call; neither is there for anybody else.
    assert {pinned.server for pinned in PinStore(str(served.state)).all()} == {
        *("small", "helper", "thrice.own")
    }
    assert tongs("tool", "run", "thrice.own__say", "text=x").code == 2
    assert "helper__say" not in tongs("tool", "list").stdout


def test_a_single_step_is_the_result_of_the_server_s_tool(served: Place, tongs: Run) -> None:
    served.tool("say", "mcp: small\ntool: say\narguments: {text: fixed}\n", scope="user")

    assert tongs("tool", "run", "say").stdout == 'say {"text": "fixed"}'
    assert tongs("tool", "run", "say", "--show-command").stdout.startswith("small__say {")


def test_a_server_that_may_do_more_than_its_caller_is_refused_by_the_missing_line(
    served: Place, tongs: Run
) -> None:
    config = served.user / "config.yml"
    extra = "permissions: {network: [example.org], fs: {read: [.], write: [out]}}"
    config.write_text(config.read_text().replace("tools:", f"{extra}, tools:"))
    served.tool("say", "mcp: small\ntool: say\narguments: {text: x}\ntags: [read]\n", scope="user")

    done = tongs("tool", "run", "say", "--yes", "--json")

    error = json.loads(done.stdout)["error"]
    assert (done.code, error["code"], error["blockedBy"]) == (3, "DENIED", "ceiling")
    assert (
        "add to the permissions of say: "
        "permissions: {network: [example.org], fs: {write: [out]}}" in error["details"]["hint"]
    )


@pytest.mark.parametrize(
    ("definition", "reason"),
    [
        ("mcp: smal\ntool: say\n", "uses the MCP server `smal`, which does not exist"),
        ("uses: {mcps: [none]}\nbash: echo\n", "uses the MCP server `none`, which does not exist"),
        ("mcp: small\ntool: none\n", "cannot call it: there is no tool `small__none`"),
        ("mcp: theirs\ntool: x\n", "came with the project, and nobody has accepted"),
    ],
)
def test_what_a_step_names_must_be_there(
    definition: str, reason: str, served: Place, tongs: Run
) -> None:
    (served.project / ".tongs" / "mcp").mkdir()
    (served.project / ".tongs" / "mcp" / "theirs.yml").write_text("command: x\n")
    served.tool("t", definition, scope="user")

    done = tongs("tool", "run", "t")

    assert done.code in (2, 3)
    assert reason in done.stderr


def test_the_linter_knows_servers(served: Place, tongs: Run) -> None:
    folder = served.project / ".tongs" / "mcp"
    folder.mkdir()
    (folder / "fine.yml").write_text("command: x\n")
    (folder / "bad__name.yml").write_text("comand: x\n")
    served.tool("t", "uses: {mcps: [fine, nobody]}\nmcp: smal\ntool: say\n")
    served.tool("u", "with: {mcps: [{name: own, command: x}]}\nmcp: own\ntool: say\n")

    found = json.loads(tongs("lint", "--json").stdout)

    messages = [each["message"] for each in found["problems"]]
    assert "there is no MCP server `nobody`" in messages
    assert "there is no MCP server `smal`" in messages
    assert "'bad__name' is no name for a server" in messages
    assert any("unknown key `comand`" in message for message in messages)
    assert not any("`own`" in message or "`fine`" in message for message in messages)


def test_a_project_s_server_file_is_accepted_like_other_settings(served: Place, tongs: Run) -> None:
    folder = served.project / ".tongs" / "mcp"
    folder.mkdir()
    (folder / "theirs.yml").write_text(f"command: {COMMAND}\n")
    served.tool("t", "mcp: theirs\ntool: say\narguments: {text: x}\n", scope="user")

    assert tongs("trust", "--yes").code == 0
    assert tongs("tool", "run", "t").stdout == 'say {"text": "x"}'


def test_other_commands_know_them(served: Place, tongs: Run) -> None:
    validated = tongs("tool", "validate", "small__say")

    assert validated.code == 0, validated
    assert "a tool of an MCP server" in validated.stdout
    assert "small__say" in tongs("sandbox", "explain", "small__say").stdout
    assert "trusted already" in tongs("trust", "small__say").stderr
    assert tongs("tool", "list", "--contains", "does say").stdout.count("small__") == 1
    assert "small" in tongs("__complete", "zsh", "--", "mcp", "pin", "s").stdout
    assert [each["name"] for each in json.loads(tongs("mcp", "list", "--json").stdout)] == ["small"]


def test_a_server_inside_a_tool_is_looked_at_once_the_tool_is_trusted(
    served: Place, tongs: Run
) -> None:
    own = f"with: {{mcps: [{{name: own, command: {COMMAND}}}]}}\nmcp: own\ntool: say\n"
    served.tool("theirs", own)

    refused = tongs("mcp", "inspect", "theirs.own")

    assert (refused.code, "nobody has accepted" in refused.stderr) == (3, True)
    assert tongs("trust", "--yes", "theirs").code == 0
    assert "first connection" in tongs("mcp", "inspect", "theirs.own").stderr
