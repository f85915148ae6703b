"""What every program needs of the system, and nothing that is anybody's secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from tongs.sandbox.host import Host
from tongs.sandbox.system import system_of


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in (
        *(".local/bin", ".local/lib", ".local/share/keyrings", "bin", ".ssh"),
        *(".pyenv/shims", ".pyenv/versions/3.11/bin", ".pyenv/libexec", ".pyenv/secret"),
        *("project/.venv/bin", "project/.venv/lib", ".cargo/bin", ".tongs/state"),
    ):
        tmp_path.joinpath("home", name).mkdir(parents=True)
    tmp_path.joinpath("home/.cargo/credentials.toml").touch()
    tmp_path.joinpath("home/project/.venv/pyvenv.cfg").touch()
    return tmp_path / "home"


def programs(home: Path, *folders: str, interpreters: tuple[str, ...] = ()) -> set[str]:
    path = ":".join([*(str(home / folder) for folder in folders), "/usr/bin", "/bin"])
    host = Host(
        home=str(home), state=str(home / ".tongs/state"), search_path=path, programs=interpreters
    )
    return {root.path.removeprefix(f"{home}/") for root in system_of(host).programs}


def test_the_folders_of_the_system_need_no_further_grant(home: Path) -> None:
    assert programs(home) == set()


def test_a_folder_of_programs_brings_its_libraries_and_not_what_is_private(home: Path) -> None:
    assert programs(home, ".local/bin", ".cargo/bin") == {
        ".local/bin",
        ".local/lib",
        ".cargo/bin",
    }


def test_a_version_manager_brings_the_versions_it_chooses_from(home: Path) -> None:
    found = programs(home, ".pyenv/shims")

    assert {".pyenv/shims", ".pyenv/versions", ".pyenv/libexec"} <= found
    assert ".pyenv/secret" not in found


def test_programs_directly_in_the_home_bring_nothing_beside_them(home: Path) -> None:
    assert programs(home, "bin") == {"bin"}


@pytest.mark.parametrize("folder", ["", "."])
def test_a_search_path_through_the_home_itself_grants_nothing_of_it(
    home: Path, folder: str
) -> None:
    assert programs(home, folder) == set()


def test_an_interpreter_of_an_environment_brings_the_one_it_was_made_with(home: Path) -> None:
    real = home / ".pyenv/versions/3.11/bin/python3"
    real.touch()
    python = home / "project/.venv/bin/python"
    python.symlink_to(real)

    assert programs(home, interpreters=(str(python),)) == {
        "project/.venv/bin",
        "project/.venv/lib",
        "project/.venv/pyvenv.cfg",
        ".pyenv/versions/3.11/bin",
    }


def test_a_link_on_the_search_path_is_there_as_a_link(home: Path) -> None:
    home.joinpath("current").symlink_to(".local")
    host = Host(home=str(home), search_path=f"{home}/current/bin")

    links = dict(system_of(host).links)

    assert links[f"{home}/current/bin"] == str(home / ".local/bin")


@pytest.mark.parametrize("inner", ["lib64", "libexec", "lib"])
def test_a_link_beside_programs_grants_nothing(home: Path, inner: str) -> None:
    environment = home / "project/.venv"
    environment.joinpath("lib").rmdir()
    environment.joinpath(inner).symlink_to("/")

    assert programs(home, "project/.venv/bin") == {
        "project/.venv/bin",
        "project/.venv/pyvenv.cfg",
    }


@pytest.mark.parametrize("target", [".ssh", ".local/bin"])
def test_a_link_that_a_tool_may_have_put_on_the_search_path_is_not_followed(
    home: Path, target: str
) -> None:
    home.joinpath("project/.bin").symlink_to(home / target)
    host = Host(home=str(home), search_path=f"{home}/project/.bin", project=str(home / "project"))

    assert system_of(host).programs == ()


def test_a_link_to_what_is_no_folder_of_programs_is_not_followed(home: Path) -> None:
    home.joinpath("tools").symlink_to(".ssh")

    assert programs(home, "tools") == set()


def test_no_secret_of_the_system_is_in_what_everybody_may_read() -> None:
    system = system_of(Host())
    readable = (*system.paths, *system.etc, *system.etc_network)

    for secret in ("/etc/shadow", "/etc/passwd", "/etc/ssl/private", "/root", "/home", "/var"):
        assert not any(secret == path or secret.startswith(path + "/") for path in readable)
