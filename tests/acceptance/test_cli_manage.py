"""Listing, showing, adding and removing tools."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.conftest import Outcome, Place, Run, Show

GREET = "description: Say hello\nbash: echo hello {WHO}\nparameters:\n  WHO: {}\ntags: [read]\n"


def test_an_empty_place_says_how_to_begin(tongs: Run) -> None:
    assert tongs("tool", "list") == Outcome("", "no tools found\nhint: tongs help tool add\n", 0)
    assert tongs("tool", "list", "--json") == Outcome("[]\n", "", 0)


def test_the_list_is_a_table_with_what_matters(place: Place, tongs: Run) -> None:
    place.tool("greet", GREET, scope="user")
    place.tool("greet", GREET.replace("hello", "hi"), scope="global")
    place.tool("fetch", "description: 東京\nbash: curl x\ntags: [read, api]\n", scope="global")
    place.tool("new", "description: |\n  Two\n  lines\nbash: 'true'\n")
    foreign = place.project / ".cycod" / "tools"
    foreign.mkdir(parents=True)
    (foreign / "old.yaml").write_text("bash: 'true'\ntags: [write]\n", encoding="utf-8")

    assert tongs("tool", "list") == Outcome(
        "NAME   SCOPE   KIND   MAY       DESCRIPTION\n"
        "fetch  global  yaml   read+net  東京\n"
        "greet  user    yaml   read      Say hello\n"
        "greet  global  yaml   read      [shadowed] Say hi\n"
        "new    local   yaml   run       [untrusted] Two lines\n"
        "old    local   cycod  write     [untrusted]\n",
        "",
        0,
    )


def test_broken_tools_are_listed_with_the_reason_on_stderr(place: Place, tongs: Run) -> None:
    file = place.tool("bad", "description: x\nbash: a\nrun: b\n")
    listed = tongs("tool", "list")
    assert listed.stdout == (
        "NAME  SCOPE  KIND  MAY  DESCRIPTION\nbad   local  yaml  -    [broken]\n"
    )
    assert listed.stderr.startswith(f"warning: bad is broken: {file}:")
    assert listed.code == 0


def test_two_definitions_of_one_name_are_a_clash(place: Place, tongs: Run) -> None:
    place.tool("one", "name: same\nbash: echo 1\n", scope="user")
    place.tool("two", "name: same\nbash: echo 2\n", scope="user")
    listed = tongs("tool", "list")
    assert listed.stdout.count("[clash]") == 2
    assert "defined more than once" in listed.stderr
    refused = tongs("tool", "run", "same")
    assert (refused.stdout, refused.code) == ("", 2)


@pytest.mark.parametrize("text", ["GREET", "say", "read", "echo hello {who}"])
def test_contains_looks_at_name_description_tags_and_definition(
    place: Place, tongs: Run, text: str
) -> None:
    place.tool("greet", GREET, scope="user")
    place.tool("other", "bash: 'true'\n", scope="user")
    listed = json.loads(tongs("tool", "list", "--contains", text, "--json").stdout)
    assert [entry["name"] for entry in listed] == ["greet"]


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ([], ["g", "l", "u"]),
        (["--any"], ["g", "l", "u"]),
        (["-l"], ["l"]),
        (["--user"], ["u"]),
        (["--scope", "global"], ["g"]),
    ],
)
def test_one_scope_can_be_listed(
    place: Place, tongs: Run, options: list[str], names: list[str]
) -> None:
    for scope in ("local", "user", "global"):
        place.tool(scope[0], "bash: 'true'\n", scope=scope)
    listed = json.loads(tongs("tool", "list", "--json", *options).stdout)
    assert [entry["name"] for entry in listed] == names


def test_the_list_as_json_is_complete(place: Place, tongs: Run) -> None:
    file = place.tool("greet", GREET)
    (entry,) = json.loads(tongs("tool", "list", "--json").stdout)
    digest = entry.pop("digest")
    assert len(digest) == 64
    assert entry == {
        "name": "greet",
        "description": "Say hello",
        "scope": "local",
        "kind": "yaml",
        "may": "read",
        "qualifiedName": "yaml:greet",
        "path": str(file),
        "parameters": ["WHO"],
        "tags": ["read"],
        "platforms": [],
        "level": "read",
        "network": False,
        "trust": "untrusted",
        "problems": [],
        "shadowed": False,
        "clash": False,
    }


def test_on_a_terminal_lines_fit_and_hidden_characters_show(place: Place, screen: Show) -> None:
    place.tool("t", f"description: \"\\e[2J\\u202e{'word ' * 40}\"\nbash: 'true'\n", scope="user")
    shown = screen("tool", "list", columns=60)
    shown.end()
    lines = shown.text.splitlines()
    assert all(len(line) <= 60 for line in lines)
    assert lines[1].startswith("t     user   yaml  run  \\x1b[2J\\u202eword")
    assert lines[1].endswith("…")
    assert "\x1b[2J" not in shown.raw


def test_loaded_files_and_folders_join_the_list(place: Place, tongs: Run, tmp_path: Path) -> None:
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "a.yaml").write_text("bash: 'true'\n", encoding="utf-8")
    file = tmp_path / "b.yaml"
    file.write_text("bash: 'true'\n", encoding="utf-8")
    (place.project / "c.yaml").write_text("bash: 'true'\n", encoding="utf-8")
    options = ["--load-tools", str(folder), "--load-tool", str(file)]
    for line in (["tool", "list", "--json", *options], [*options, "tool", "list", "--json"]):
        names = [entry["name"] for entry in json.loads(tongs(*line).stdout)]
        assert names == ["a", "b"]


def test_get_shows_everything_about_a_tool(place: Place, tongs: Run) -> None:
    text = (
        "description: Say hello\nbash: echo hello {WHO}\n"
        "parameters:\n  WHO: {description: Whom, default: world}\n  N: {type: integer}\n"
        "tags: [read, demo]\npermissions: {network: [h], fs: {read: [.]}}\n"
        "approval: {required: true, reason: it is loud}\n"
    )
    file = place.tool("greet", text)
    shown = tongs("tool", "get", "greet")
    assert shown == Outcome(
        "name:         greet\n"
        "description:  Say hello\n"
        "tags:         read, demo\n"
        "may:          read; network: h   reads: .   writes: none   secrets: none\n"
        "approval:     it is loud\n"
        "timeout:      60 s\n"
        "scope:        local\n"
        f"path:         {file}\n"
        "trusted:      no, it came with the project (tongs trust greet)\n"
        "\nparameters:\n"
        "  NAME  TYPE     DEFAULT     DESCRIPTION\n"
        '  WHO   string   "world"     Whom\n'
        "  N     integer  (required)\n"
        "\ndefinition:\n" + "".join(f"  {line}\n" for line in text.splitlines()),
        "",
        0,
    )


def test_get_as_json_has_the_schema_and_the_definition(place: Place, tongs: Run) -> None:
    place.tool("greet", GREET, scope="user")
    shown = json.loads(tongs("tool", "get", "greet", "--user", "--json").stdout)
    assert shown["inputSchema"]["properties"] == {"WHO": {"type": "string"}}
    assert (shown["definition"], shown["trust"], shown["scope"]) == (GREET, "place", "user")


def test_get_of_an_unknown_or_broken_tool_says_why(place: Place, tongs: Run) -> None:
    file = place.tool("bad", "bash: a\nrun: b\n")
    broken = tongs("tool", "get", "bad")
    assert (broken.stdout, broken.code) == ("", 2)
    assert f"{file}:" in broken.stderr
    unknown = tongs("tool", "get", "bat")
    assert unknown == Outcome("", "error: there is no tool `bat`\nhint: did you mean `bad`?\n", 2)
    elsewhere = tongs("tool", "get", "bad", "--user")
    assert elsewhere.stderr.startswith("error: there is no tool `bad` in user scope\n")


def added(tongs: Run, place: Place, *options: str, scope: str = "local") -> dict[str, Any]:
    """The definition as the program reads it back."""
    done = tongs("tool", "add", "t", "--description", "d", *options, f"--{scope}")
    assert done.code == 0, done.stderr
    shown: dict[str, Any] = json.loads(tongs("tool", "get", "t", f"--{scope}", "--json").stdout)
    return shown


@pytest.mark.parametrize("scope", ["local", "user", "global"])
def test_a_tool_is_added_to_its_scope_and_trusted(place: Place, tongs: Run, scope: str) -> None:
    shown = added(tongs, place, "--bash", "echo hi", scope=scope)
    roots = {"local": place.project / ".tongs", "user": place.user, "global": place.glob}
    assert shown["path"] == str(roots[scope] / "tools" / "t.yaml")
    assert shown["trust"] == ("accepted" if scope == "local" else "place")
    assert tongs("tool", "run", "t") == Outcome("hi\n", "", 0)


def test_the_seeds_example_is_added_as_printed(place: Place, tongs: Run) -> None:
    done = tongs(
        *("tool", "add", "weather-lookup", "--description", "Get weather for a location"),
        *("--bash", "curl -s 'wttr.in/{LOCATION}?format={FORMAT}'"),
        *("--parameter", "LOCATION", "City or airport code", "required=true"),
        *("--parameter", "FORMAT", "Output format", "default=3"),
        *("--tag", "weather", "--tag", "api", "--tag", "read", "--timeout", "10000"),
    )
    file = place.project / ".tongs" / "tools" / "weather-lookup.yaml"
    assert done == Outcome("", f"added weather-lookup: {file}\n", 0)
    shown = json.loads(tongs("tool", "get", "weather-lookup", "--json").stdout)
    assert shown["inputSchema"] == {
        "type": "object",
        "properties": {
            "LOCATION": {"type": "string", "description": "City or airport code"},
            "FORMAT": {"type": "string", "description": "Output format", "default": "3"},
        },
        "required": ["LOCATION"],
        "additionalProperties": False,
    }
    assert (shown["timeoutMs"], shown["tags"]) == (10000, ["weather", "api", "read"])


def test_what_a_refusal_asks_for_can_be_granted(place: Place, tongs: Run) -> None:
    shown = added(
        *(tongs, place, "--bash", "true", "--network", "a.example", "--network", "b.example"),
        *("--read", ".", "--write", "out", "--secret", "TOKEN", "--approval", "it costs money"),
    )
    assert shown["permissions"] == {
        "network": ["a.example", "b.example"],
        "fs": {"read": ["."], "write": ["out"]},
        "secrets": ["TOKEN"],
    }
    assert (shown["requiresApproval"], shown["approvalReason"]) == (True, "it costs money")
    assert added(tongs, place, "--bash", "true", "--network", "--force")["permissions"]["network"]


def test_every_kind_can_be_added_and_run(place: Place, tongs: Run) -> None:
    kinds = {
        ("--bash", "echo {A}"): "x y\n",
        ("--python", "print({A})"): "x y\n",
        ("--run", "echo {A}"): "x y\n",
        ("--script", "echo {A}", "--shell", "sh"): "x y\n",
        ("--run", "cat", "--input", "<{A}>"): "<x y>",
        ("--run", "echo", "--arguments", "-n {A}"): "x y",
        ("--run", "echo", "--arguments", '{"key": "{A}"}'): "--key x y\n",
        ("--step", "a", "echo {A}", "--step", "b", "python", "print({a.stdout} * 2)"): "x yx y\n",
        ("--bash", "echo $V", "--env", "V={A}"): "x y\n",
    }
    for options, output in kinds.items():
        added(tongs, place, *options, "--parameter", "A", "text", "--force")
        assert tongs("tool", "run", "t", "A=x y") == Outcome(output, "", 0)


def test_an_existing_tool_is_replaced_only_by_force(place: Place, tongs: Run) -> None:
    added(tongs, place, "--bash", "echo 1")
    refused = tongs("tool", "add", "t", "--description", "d", "--bash", "echo 2")
    assert (refused.code, "hint: add --force to replace it" in refused.stderr) == (2, True)
    assert tongs("tool", "run", "t").stdout == "1\n"
    added(tongs, place, "--bash", "echo 2", "--force")
    assert tongs("tool", "run", "t").stdout == "2\n"


@pytest.mark.parametrize(
    "options",
    [
        ["--bash", "a", "--run", "b"],
        ["--bash", "echo 'open {A}", "--parameter", "A"],
        ["--bash", "eval {A}", "--parameter", "A"],
        [],
        ["--shell", "bash"],
        ["--bash", "a", "--parameter", "A", "d", "type=text"],
        ["--bash", "a", "--step", "x"],
        ["--bash", "a", "--timeout", "soon"],
        ["--bash", "a", "--platform", "amiga"],
        ["--bash", "a", "--env", "novalue"],
        ["--bash", "a", "--scope", "any"],
    ],
)
def test_what_would_not_load_is_not_written(place: Place, tongs: Run, options: list[str]) -> None:
    refused = tongs("tool", "add", "t", "--description", "d", *options)
    assert (refused.stdout, refused.code) == ("", 2)
    assert refused.stderr.startswith("error: ")
    assert list((place.project / ".tongs" / "tools").iterdir()) == []


@pytest.mark.parametrize("name", ["../up", "a/b", "", "-x", "a b", "x\ny"])
def test_a_name_cannot_lead_out_of_the_folder(place: Place, tongs: Run, name: str) -> None:
    refused = tongs("tool", "add", "--description", "d", "--bash", "true", "--", name)
    assert (refused.stdout, refused.code) == ("", 2)
    assert list(place.project.rglob("*.yaml")) == []


def test_remove_takes_the_first_scope_or_the_named_one(place: Place, tongs: Run) -> None:
    local = place.tool("t", "bash: echo local\n")
    user = place.tool("t", "bash: echo user\n", scope="user")
    glob = place.tool("t", "bash: echo global\n", scope="global")
    assert tongs("tool", "remove", "t", "-g") == Outcome("", f"removed t: {glob}\n", 0)
    assert tongs("tool", "remove", "t") == Outcome("", f"removed t: {local}\n", 0)
    assert tongs("tool", "remove", "t").stderr == f"removed t: {user}\n"
    missing = tongs("tool", "remove", "t")
    assert (missing.stdout, missing.code) == ("", 2)


def test_a_broken_tool_can_be_removed_and_a_foreign_one_cannot(place: Place, tongs: Run) -> None:
    broken = place.tool("bad", "bash: [\n")
    assert tongs("tool", "remove", "bad").code == 0
    assert not broken.exists()
    foreign = place.project / ".cycod" / "tools" / "old.yaml"
    foreign.parent.mkdir(parents=True)
    foreign.write_text("bash: 'true'\n", encoding="utf-8")
    assert tongs("tool", "remove", "old").code == 1
    assert foreign.exists()
