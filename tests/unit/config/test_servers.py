"""`mcp.servers` of the config, and `mcp/NAME.yml`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.config.test_named import Files

from tongs.config.servers import ServerFiles, is_name
from tongs.config.settings import Settings, load_settings
from tongs.core.errors import DefinitionInvalid, ErrorCode, ToolError
from tongs.core.permissions import Permissions
from tongs.core.scope import Scope
from tongs.core.servers import ServerSpec, ToolTerms
from tongs.schema.check_document import require_valid
from tongs.schema.document import Document, parse, parse_config

EVERYTHING = """\
mcp:
  aliases: glee
  servers:
    git:
      type: stdio
      command: uvx
      args: [mcp-server-git, 5]
      env: {TOKEN: env:GH, DEBUG: true, PATH_TO: null}
      cwd: sub
      permissions: {network: [example.org], fs: {read: ["."]}}
      limits: {memory: 1GiB}
      timeout: 2m
      start_timeout: 5
      idle: 10s
      tools:
        git_status: {tags: [read], approval: false, timeout: 1s}
        git_reset: {enabled: false}
        git_log:
    docs: {url: "https://mcp.example.org/mcp", headers: {Authorization: env:DOCS}, disabled: true}
"""


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def read(path: str) -> Document:
    with open(path, "rb") as file:
        return parse_config(file.read(), path)


def settings(files: Files, *, trusted: bool = False) -> Settings:
    return load_settings(files.places, read, project_trusted=trusted)


def test_a_server_says_everything_about_itself(files: Files) -> None:
    path = files.write("user", "config.yml", EVERYTHING)

    found = settings(files).mcp

    assert found.aliases == "glee"
    assert found.servers == {
        "git": ServerSpec(
            name="git",
            command=("uvx", "mcp-server-git", "5"),
            env={"TOKEN": "env:GH", "DEBUG": "true", "PATH_TO": "env:PATH_TO"},
            cwd="sub",
            permissions=Permissions(network=("example.org",), read=(".",)),
            limits={"memory": 1024**3},
            timeout=120.0,
            start_timeout=5.0,
            idle=10.0,
            tools={
                "git_status": ToolTerms(tags=("read",), approval=False, timeout=1.0),
                "git_reset": ToolTerms(enabled=False),
                "git_log": ToolTerms(),
            },
            source=f"{path}:4",
            scope=Scope.USER,
        ),
        "docs": ServerSpec(
            name="docs",
            url="https://mcp.example.org/mcp",
            headers={"Authorization": "env:DOCS"},
            enabled=False,
            source=f"{path}:19",
            scope=Scope.USER,
        ),
    }


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("command: uvx 'a b' c", ("uvx", "a b", "c")),
        ("{command: /my programs/x, args: [y]}", ("/my programs/x", "y")),
        ("command: [a, b c]", ("a", "b c")),
        ("{command: [a], args: [b]}", ("a", "b")),
        ('command: "a \'b"', ("a 'b",)),
    ],
)
def test_a_command_is_a_text_or_a_list(written: str, words: tuple[str, ...], files: Files) -> None:
    body = written if written.startswith("{") else f"{{{written}}}"
    files.write("user", "config.yml", f"mcp: {{servers: {{x: {body}}}}}")

    assert settings(files).mcp.servers["x"].command == words


@pytest.mark.parametrize(
    ("written", "field", "message"),
    [
        ("x: {}", "mcp.servers.x.command", "is required"),
        ("x: {command: a, url: 'http://b'}", "mcp.servers.x.command", "is not allowed here"),
        ("x: {url: 'http://b', env: {A: b}}", "mcp.servers.x.env", "is not allowed here"),
        ("x: {command: a, headers: {A: b}}", "mcp.servers.x.headers", "is not allowed here"),
        ("x: {command: a, comand: b}", "mcp.servers.x.comand", "unknown key `comand`"),
        ("x: {command: a, type: sse}", "mcp.servers.x.type", "must be one of stdio"),
        ("a__b: {command: a}", "mcp.servers.a__b", "is no allowed name"),
        ("a_: {command: a}", "mcp.servers.a_", "is no allowed name"),
        ("a.b: {command: a}", "mcp.servers.a.b", "is no allowed name"),
    ],
)
def test_what_is_wrong_with_a_server_names_its_line(
    written: str, field: str, message: str, files: Files
) -> None:
    files.write("user", "config.yml", f"mcp:\n  servers:\n    {written}\n")

    with pytest.raises(DefinitionInvalid) as caught:
        settings(files)

    (problem,) = caught.value.problems
    assert (problem.line, problem.field) == (3, field)
    assert message in problem.message


def test_a_projects_servers_count_once_it_is_trusted(files: Files) -> None:
    files.write("user", "config.yml", "mcp: {servers: {git: {command: mine}, a: {command: b}}}")
    project = files.write("project", "config.yml", "mcp: {servers: {git: {command: theirs}}}")

    before, after = settings(files).mcp, settings(files, trusted=True).mcp

    assert before.servers["git"].command == ("mine",)
    assert [problem.field for problem in settings(files).ignored] == ["mcp"]
    assert after.servers["git"] == ServerSpec(
        "git",
        ("theirs",),
        source=f"{project}:1",
        scope=Scope.LOCAL,
        project=files.places.project,
    )
    assert after.servers["a"].command == ("b",)


def server_files(files: Files, *, trusted: bool = False) -> ServerFiles:
    def checked(path: str) -> Document:
        with open(path, "rb") as file:
            return require_valid(parse(file.read(), path), "server")

    return ServerFiles(files.places, checked, lambda document: trusted)


def test_a_file_in_a_scope_folder_is_a_server(files: Files) -> None:
    user = files.write("user", "mcp/git.yml", "command: mine\n")
    files.write("site", "mcp/git.yml", "command: other\n")
    files.write("site", "mcp/time.yaml", "command: time\n")

    found = server_files(files)

    assert found.find("git") == ServerSpec("git", ("mine",), source=f"{user}:1", scope=Scope.USER)
    assert found.find("missing") is None
    assert found.find("../git") is None
    assert found.names() == ["git", "time"]


def test_a_projects_file_is_used_once_it_is_trusted(files: Files) -> None:
    path = files.write("project", "mcp/git.yml", "command: theirs\n")

    with pytest.raises(ToolError) as caught:
        server_files(files).find("git")

    assert caught.value.code is ErrorCode.UNTRUSTED
    assert caught.value.hint == f"read it, then: tongs trust {path}"
    accepted = server_files(files, trusted=True).find("git")
    assert accepted is not None
    assert (accepted.command, accepted.project) == (("theirs",), files.places.project)


def test_two_files_of_one_server_are_refused(files: Files) -> None:
    files.write("user", "mcp/git.yml", "command: a\n")
    files.write("user", "mcp/git.yaml", "command: b\n")

    with pytest.raises(DefinitionInvalid, match="define the same server"):
        server_files(files).find("git")


def test_a_name_leaves_no_doubt_where_it_ends() -> None:
    assert all(map(is_name, ("a", "git", "my-git_2", "A_b-c")))
    assert not any(map(is_name, ("", "_a", "a_", "a__b", "a.b", "a b", "ä", "a" * 65)))
