"""Servers of other programs, as config.yml has them."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from tongs.authoring.mcp_clients.reading import Found, config_name, read, sources
from tongs.authoring.mcp_clients.secrets import looks_secret, shaped_secret
from tongs.authoring.mcp_clients.variables import Text, Variables

PLACES = Variables(home="/home/you", project="/home/you/project", present=frozenset({"SET"}))


def found(data: dict[str, Any]) -> list[Found]:
    return [each for source in sources(data, PLACES) for each in read(source)]


def one(server: dict[str, Any]) -> Found:
    (only,) = found({"mcpServers": {"one": server}})
    return only


def test_a_server_of_claude_is_taken_over_as_it_is() -> None:
    server = {"command": "npx", "args": ["-y", "docs"], "env": {"LOG": "debug"}, "cwd": "sub"}

    assert one({**server, "type": "stdio"}) == Found("one", server)


def test_each_program_is_told_by_its_keys() -> None:
    server = {"command": "docs"}

    assert [each.name for each in found({"mcpServers": {"a": server}})] == ["a"]
    assert [each.name for each in found({"servers": {"a": server}})] == ["a"]
    assert [each.name for each in found({"mcp": {"servers": {"a": server}}})] == ["a"]
    assert [each.name for each in found({"mcp_servers": {"a": server}})] == ["a"]
    of_project = {"projects": {"/home/you/project": {"mcpServers": {"b": server}}, "/x": {}}}
    assert [e.name for e in found({"mcpServers": {"a": server}, **of_project})] == ["a", "b"]
    assert found({"theme": "dark"}) == []


def test_a_secret_is_named_and_not_copied() -> None:
    key = "ghp_" + "a1" * 18
    read_ = one({"command": "x", "env": {"GITHUB_TOKEN": "hunter2", "OTHER": key, "LOG": "1"}})

    assert read_.entry["env"] == {
        "GITHUB_TOKEN": "env:GITHUB_TOKEN",
        "OTHER": "env:OTHER",
        "LOG": "1",
    }
    assert dict(read_.needs) == {
        "GITHUB_TOKEN": "its variable GITHUB_TOKEN",
        "OTHER": "its variable OTHER",
    }
    assert "hunter2" not in str(read_)
    assert key not in str(read_)


def test_variables_become_references() -> None:
    read_ = one(
        {
            "url": "https://docs.example/mcp",
            "headers": {
                "Authorization": "Bearer ${TOKEN}",
                "X-Key": "${env:KEY}",
                "X-Both": "${USER_ID}:${TOKEN}",
                "X-Team": "a",
            },
        }
    )

    assert read_.entry == {
        "url": "https://docs.example/mcp",
        "headers": {
            "Authorization": "Bearer env:TOKEN",
            "X-Key": "env:KEY",
            "X-Both": "env:ONE_X_BOTH",
            "X-Team": "a",
        },
    }
    assert dict(read_.needs) == {
        "TOKEN": "a part of its header Authorization",
        "KEY": "its header X-Key",
        "ONE_X_BOTH": "`${USER_ID}:${TOKEN}`, whole",
    }


def test_the_secret_of_a_header_is_named_and_its_scheme_stays() -> None:
    headers = {"Authorization": "Bearer abc-123", "X-Api-Key": "abc 123"}

    read_ = one({"url": "https://docs.example/mcp", "headers": headers})

    assert read_.entry["headers"] == {
        "Authorization": "Bearer env:ONE_AUTHORIZATION",
        "X-Api-Key": "env:ONE_X_API_KEY",
    }
    assert dict(read_.needs) == {
        "ONE_AUTHORIZATION": "what follows Bearer in its header Authorization",
        "ONE_X_API_KEY": "its header X-Api-Key",
    }


def test_a_text_that_reads_like_a_reference_is_left_out() -> None:
    read_ = one(
        {"command": "x", "env": {"A": "env:AWS_SECRET_ACCESS_KEY", "B": "a file:/etc/passwd"}}
    )

    assert "env" not in read_.entry
    assert len(read_.notes) == 2


def test_questions_of_vs_code_become_variables() -> None:
    (read_,) = found(
        {
            "inputs": [{"id": "api-key", "type": "promptString", "password": True}],
            "servers": {
                "s": {
                    "type": "stdio",
                    "command": "${workspaceFolder}/bin/server",
                    "args": ["--root", "${workspaceFolder}", "--key=${input:api-key}"],
                    "env": {"KEY": "${input:api-key}", "OTHER": "${input:unlisted}"},
                }
            },
        }
    )

    assert read_.entry == {
        "command": "/home/you/project/bin/server",
        "args": ["--root", "/home/you/project", "--key=${input:api-key}"],
        # Nobody can fill in the argument.
        "enabled": False,
        "env": {"KEY": "env:API_KEY", "OTHER": "env:UNLISTED"},
    }
    assert "${input:api-key}" in read_.notes[0]


def test_a_server_of_codex_is_taken_over() -> None:
    text = """
    [mcp_servers.docs]
    command = "docs"
    env_vars = ["HOME_TOKEN"]
    startup_timeout_sec = 20
    tool_timeout_sec = 90.0
    enabled = false
    disabled_tools = ["rm"]

    [mcp_servers.far]
    url = "https://far.example/mcp"
    bearer_token_env_var = "FAR"
    env_http_headers = {X-Org = "ORG"}
    """

    docs, far = found(tomllib.loads(text))

    assert docs.entry == {
        "command": "docs",
        "env": {"HOME_TOKEN": None},
        "timeout": "90s",
        "start_timeout": "20s",
        "enabled": False,
        "tools": {"rm": {"enabled": False}},
    }
    assert far.entry["headers"] == {"X-Org": "env:ORG", "Authorization": "Bearer env:FAR"}
    assert far.needs["FAR"] == "the token of its header Authorization"


def test_addresses_of_gemini_are_told_apart() -> None:
    old, new = found(
        {
            "mcpServers": {
                "old": {"url": "https://x.example/sse"},
                "new": {"httpUrl": "https://x.example/mcp", "timeout": 5000, "trust": True},
            }
        }
    )

    assert "SSE" in old.refused
    assert new.entry == {"url": "https://x.example/mcp", "timeout": "5s"}
    assert new.notes == ("`trust` is not taken over: your rules decide about its calls",)


@pytest.mark.parametrize(
    "server",
    [
        {},
        {"command": ""},
        {"command": 1},
        {"type": "sse", "url": "https://x.example"},
        {"url": "ftp://x.example"},
        {"url": "https://${HOST}/mcp"},
        "npx docs",
        None,
    ],
)
def test_a_server_that_cannot_be_reached_is_refused(server: Any) -> None:
    refused = one(server)

    assert refused.refused
    assert refused.entry == {}


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("git", "git"),
        ("my server!", "my-server"),
        ("a__b", "a_b"),
        ("_x_", "x"),
        ("\x1b[31mred", "31mred"),
        ("é", "server"),
        ("@scope/name.x", "scope-name-x"),
        ("a" * 100, "a" * 60),
    ],
)
def test_names_become_parts_of_names_of_tools(written: str, name: str) -> None:
    assert config_name(written) == name


def test_two_names_that_become_one_are_kept_apart() -> None:
    both = found({"mcpServers": {"a b": {"command": "x"}, "a-b": {"command": "y"}}})

    assert [(each.name, each.notes) for each in both] == [
        ("a-b", ("it was called `a b`",)),
        ("a-b-2", ("it was called `a-b`",)),
    ]


def test_a_program_with_blanks_in_its_path_is_one_word() -> None:
    assert one({"command": "/opt/my tools/srv"}).entry == {"command": ["/opt/my tools/srv"]}
    assert one({"command": "cmd", "args": ["/c", "npx", "x"]}).entry == {
        "command": "npx",
        "args": ["x"],
    }


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("plain $5", Text("plain $5")),
        ("${userHome}/x", Text("/home/you/x")),
        ("${workspaceFolderBasename}${/}", Text("project/")),
        ("${NOT_SET:-a}", Text("a")),
        ("${SET:-a}", Text("${SET:-a}", ("SET",), "SET", ("${SET:-a}",))),
        ("${command:x}", Text("${command:x}", (), "", ("${command:x}",))),
        ("a${B}", Text("a${B}", ("B",), "", ("${B}",))),
    ],
)
def test_places_are_filled_in(text: str, filled: Text) -> None:
    assert PLACES.filled(text) == filled


@pytest.mark.parametrize(
    "name", "API_KEY apiKey X-API-Key GITHUB_PAT Authorization dbPassword".split()
)
def test_names_of_secrets_are_known(name: str) -> None:
    assert looks_secret(name, "x")
    assert not looks_secret(name, "")
    assert not looks_secret(name, "true")


@pytest.mark.parametrize("name", "PATH LOG_LEVEL KEYBOARD AUTHOR MONKEY BYPASS REGION".split())
def test_other_names_are_no_secrets(name: str) -> None:
    assert not looks_secret(name, "some value")


@pytest.mark.parametrize(
    ("value", "secret"),
    [
        ("postgresql://me:pw@host/db", True),
        ("https://x.example/mcp?api_key=1", True),
        ("eyJhbGciOiJIUzI1.eyJzdWIiOiIx.abc", True),
        ("sk-proj-abcdefghijklmnop", True),
        ("https://x.example/mcp?page=1", False),
        ("/home/you/some/long/path/that/goes/on", False),
        ("@modelcontextprotocol/server-filesystem", False),
    ],
)
def test_shapes_of_secrets_are_known(value: str, secret: bool) -> None:
    assert shaped_secret(value) is secret


def test_what_is_not_taken_over_is_said() -> None:
    read_ = one(
        {
            "command": "x",
            "args": ["--api-key", "abc", "--verbose"],
            "env": {"not a name": "1"},
            "envFile": ".env",
            "disabled": True,
            "somethingNew": 1,
        }
    )

    assert read_.entry == {
        "command": "x",
        "args": ["--api-key", "abc", "--verbose"],
        "enabled": False,
    }
    assert read_.notes == (
        "its arguments seem to hold a secret, which every program of yours can see",
        "its variable `not a name` is not taken over: it is no such name",
        "its variables in .env are not read",
        "`somethingNew` is not taken over",
    )


def test_a_secret_in_an_address_is_said() -> None:
    read_ = one({"url": "https://x.example/mcp?token=abc"})

    assert read_.notes == ("its address seems to hold a secret, which stands in config.yml now",)
