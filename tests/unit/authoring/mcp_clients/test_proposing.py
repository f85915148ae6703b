"""What a server is proposed to be allowed, by its command line."""

from __future__ import annotations

from typing import Any

import pytest

from tongs.authoring.mcp_clients.machine import Machine
from tongs.authoring.mcp_clients.proposing import proposed
from tongs.core.record import replace

FOLDERS = {"/home/you/project", "/home/you/project/docs", "/srv/data", "/srv/app", "/home/you", "/"}
FOLDERS |= {"/home/you/.ssh", "/home/you/project/data"}
FILES = {
    "/etc/shadow",
    "/home/you/project/.env",
    "/srv/app/main.js",
    "/srv/data/x.db",
    # Installed in different ways.
    "/srv/tool/package.json",
    "/home/you/venvs/git/pyvenv.cfg",
    "/home/you/project/package.json",
}
LINKS = {
    "/home/you/project/data": "/home/you/other/place",
    "/home/you/venvs/git/bin/python": "/home/you/.pyenv/versions/3.12/bin/python3.12",
    "/home/you/.local/bin/git-server": "/home/you/venvs/git/bin/git-server",
    "/srv/web/node_modules/.bin/docs": "/srv/web/node_modules/docs/dist/index.js",
}
MACHINE = Machine(
    home="/home/you",
    project="/home/you/project",
    is_folder=FOLDERS.__contains__,
    is_file=FILES.__contains__,
    real=lambda path: LINKS.get(path, path),
)
# A project has a link to all homes.
LINKED = replace(MACHINE, real=lambda path: "/home" if path.endswith("/link") else path)


def permissions(*words: str, **more: Any) -> dict[str, Any]:
    command, *args = words
    return proposed({"command": command, "args": args, **more}, MACHINE).permissions


def grant(network: Any = False, read: Any = (), write: Any = ()) -> dict[str, Any]:
    return {"network": network, "fs": {"read": list(read), "write": list(write)}}


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("npx -y docs", grant(True, write=["~/.npm"])),
        ("/usr/bin/npx -y docs", grant(True, write=["~/.npm"])),
        ("npx.cmd docs", grant(True, write=["~/.npm"])),
        ("npm exec docs", grant(True, write=["~/.npm"])),
        ("npm start", grant(read=["."])),
        ("uvx docs", grant(True, write=["~/.cache/uv", "~/.local/share/uv"])),
        ("uv tool run docs", grant(True, write=["~/.cache/uv", "~/.local/share/uv"])),
        (
            "uv --directory /srv/app run main.py",
            grant(True, write=["~/.cache/uv", "~/.local/share/uv", "/srv/app"]),
        ),
        ("pipx run docs", grant(True, write=["~/.cache/pipx", "~/.local/share/pipx"])),
        ("docker run -i docs", grant(True)),
        ("node /srv/app/main.js", grant(read=["/srv/app", "."])),
        ("python -m docs", grant(read=["."])),
        ("docs-server", grant(read=["."])),
        ("git-server --repository /home/you/project/docs", grant(read=["~/project/docs", "."])),
        ("npx server-filesystem /srv/data", grant(True, write=["~/.npm", "/srv/data"])),
        ("npx server-filesystem ~/project/docs", grant(True, write=["~/.npm", "~/project/docs"])),
        ("docs --db-path /srv/data/x.db", grant(read=["."], write=["/srv/data/x.db"])),
        ("docs --root=/srv/data", grant(read=["/srv/data", "."])),
        ("node /srv/tool/dist/index.js", grant(read=["/srv/tool", "."])),
        ("node ./dist/index.js", grant(read=["."])),
        ("node /srv/web/node_modules/docs/x.js", grant(read=["/srv/web/node_modules", "."])),
        ("/srv/web/node_modules/.bin/docs", grant(read=["/srv/web/node_modules", "."])),
        (
            "/home/you/.local/bin/git-server",
            grant(read=["~/.local/bin", "~/venvs/git", "~/.pyenv/versions/3.12", "."]),
        ),
        (
            "/home/you/venvs/git/bin/python -m docs",
            grant(read=["~/venvs/git", "~/.pyenv/versions/3.12", "."]),
        ),
        ("/home/you/srv", grant(read=["."])),
        ("/usr/local/bin/docs", grant(read=["."])),
        ("npx docs .", grant(True, read=["."], write=["~/.npm"])),
    ],
)
def test_a_command_line_gets_what_it_needs(line: str, wanted: dict[str, Any]) -> None:
    assert permissions(*line.split()) == wanted


def test_the_address_of_a_server_is_all_it_may_reach() -> None:
    proposal = proposed({"url": "https://me:pw@mcp.example.org:8443/x"}, MACHINE)

    assert proposal.permissions == grant(["mcp.example.org:8443"])


@pytest.mark.parametrize("path", ["/", "/home/you", "~", "/home/you/."])
def test_a_whole_home_is_never_proposed(path: str) -> None:
    proposal = proposed({"command": "npx", "args": ["server-filesystem", path]}, MACHINE)

    assert proposal.permissions == grant(True, write=["~/.npm"])
    assert "too much to grant" in proposal.warnings[0]


@pytest.mark.parametrize("path", ["/", "~", "../..", "link"])
def test_a_whole_home_is_not_proposed_because_a_server_starts_there(path: str) -> None:
    proposal = proposed({"command": "docs", "cwd": path}, LINKED)

    assert proposal.permissions == grant(read=["."])
    assert "too much to grant" in proposal.warnings[0]


def test_a_link_of_the_project_is_what_it_leads_to() -> None:
    proposal = proposed({"command": "docs", "args": ["./link"]}, LINKED)

    assert proposal.permissions == grant(read=["."])
    assert "too much to grant" in proposal.warnings[0]


def test_a_path_that_is_not_there_is_said_and_not_granted() -> None:
    proposal = proposed({"command": "docs", "args": ["/nowhere"]}, MACHINE)

    assert proposal.permissions == grant(read=["."])
    assert proposal.warnings == ("its argument `/nowhere` looks like a path, but there is none",)


def test_variables_and_the_working_directory_count_too() -> None:
    env = {"MEMORY_FILE": "/srv/data/x.db", "TOKEN": "env:TOKEN", "URL": "https://x.example/"}

    wanted = grant(read=["/srv/app", "."], write=["/srv/data/x.db"])
    assert permissions("docs", env=env, cwd="/srv/app") == wanted


def test_folders_that_a_program_keeps_things_in_are_named_whole() -> None:
    assert proposed({"command": "uvx", "args": ["x"]}, MACHINE).folders == (
        "/home/you/.cache/uv",
        "/home/you/.local/share/uv",
    )


def test_every_permission_has_its_reason() -> None:
    proposal = proposed({"command": "npx", "args": ["server-filesystem", "/srv/data"]}, MACHINE)

    assert proposal.reasons == (
        "it may use the network, since npx fetches the server",
        "it may write ~/.npm, where npx keeps it",
        "it may write /srv/data, which its arguments name",
    )


@pytest.mark.parametrize(
    "words",
    [
        ("npx", "docs", "~/.ssh"),
        ("npx", "docs", "/etc/shadow"),
        ("npx", "docs", "./.env"),
        ("npx", "docs", "./data"),
        ("npx", "docs", "--output", "~/.ssh"),
    ],
)
def test_keys_and_links_out_of_the_project_are_not_proposed(words: tuple[str, ...]) -> None:
    proposal = proposed({"command": words[0], "args": list(words[1:])}, MACHINE)

    assert proposal.permissions == grant(True, write=["~/.npm"])
    assert any(words[-1] in warning for warning in proposal.warnings)


@pytest.mark.parametrize("cwd", ["/", "~", "/home/you/.ssh", "data"])
def test_where_it_starts_is_no_way_to_more(cwd: str) -> None:
    assert permissions("npx", "docs", cwd=cwd) == grant(True, write=["~/.npm"])


def test_where_a_program_is_said_to_be_is_no_way_to_keys() -> None:
    assert permissions("python3", "~/.ssh/x.py") == grant(read=["."])
