"""What lies around the interpreter of an environment: enough to start it, and nothing private."""

from __future__ import annotations

from pathlib import Path

import pytest

from tongs.formats.manifest_python import around


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """An installation of Python, with something private beside it."""
    made = tmp_path / "base"
    (made / "bin").mkdir(parents=True)
    (made / "bin/python3").write_text("")
    (made / "lib/python3.12").mkdir(parents=True)
    (made / "lib/python3.12/os.py").write_text("")
    (made / "share").mkdir()
    return made


def environment(folder: Path, python: Path, home: Path) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "lib").mkdir()
    (folder / "notes").write_text("private")
    (folder / "bin/python").symlink_to(python)
    (folder / "pyvenv.cfg").write_text(f"home = {home}\nversion = 3.12\n")
    return folder


def test_environment_and_installation_are_there_without_what_lies_beside(
    tmp_path: Path, base: Path
) -> None:
    venv = environment(tmp_path / "venv", base / "bin/python3", base / "bin")

    assert around(str(venv)) == (
        f"{venv}/bin",
        f"{venv}/lib",
        f"{venv}/pyvenv.cfg",
        f"{venv}/bin/python",
        f"{base}/bin",
        f"{base}/lib",
    )


def test_links_on_the_way_are_named(tmp_path: Path, base: Path) -> None:
    (tmp_path / "minor").symlink_to("base")
    venv = environment(tmp_path / "venv", tmp_path / "minor/bin/python3", tmp_path / "minor/bin")

    assert {f"{tmp_path}/minor", f"{base}/bin", f"{base}/lib"} <= set(around(str(venv)))


def test_link_that_leads_elsewhere_opens_nothing(tmp_path: Path) -> None:
    private = tmp_path / "private"
    (private / "bin").mkdir(parents=True)
    (private / "bin/key").write_text("secret")
    (private / "lib").mkdir()
    venv = environment(tmp_path / "venv", private / "bin/key", private / "bin")

    assert not [path for path in around(str(venv)) if path.startswith(str(private))]


def test_folder_that_is_no_environment_opens_nothing(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()

    assert around(str(tmp_path)) == ()
    assert around(str(tmp_path / "missing")) == ()


def test_links_in_a_circle_come_to_an_end(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    venv = environment(tmp_path / "venv", tmp_path / "a/python", tmp_path / "a")

    assert f"{tmp_path}/a" in around(str(venv))


def test_config_without_a_home_is_read(tmp_path: Path, base: Path) -> None:
    venv = environment(tmp_path / "venv", base / "bin/python3", base / "bin")
    (venv / "pyvenv.cfg").write_bytes(b"\xff\nhome\nhome = relative\n")

    assert f"{base}/lib" in around(str(venv))


def test_installation_without_an_environment_can_be_named(base: Path) -> None:
    (base / "bin/python").symlink_to("python3")

    assert set(around(str(base))) >= {f"{base}/bin", f"{base}/lib"}
