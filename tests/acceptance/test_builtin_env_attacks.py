"""What a model could make an interpreter do by its environment, and that `run_code` refuses it.

Each attack is carried out once as the author of a tool may: there it works, so that the refusal is
what stops it.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from tests.acceptance.conftest import Place, Run

SHARED_OBJECT = """
#include <stdio.h>
__attribute__((constructor)) static void loaded(void) { fputs("PLANTED\\n", stderr); }
"""
HELLO = {"bash": "echo hello", "python": "print('hello')"}


@pytest.fixture
def planted(place: Place) -> Path:
    """What an agent could write into the workspace before."""
    folder = place.project / "planted"
    folder.mkdir()
    (folder / "code.c").write_text(SHARED_OBJECT)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "code.so", "code.c"], cwd=folder, check=True)
    (folder / "rc").write_text("echo PLANTED\n")
    (folder / "sitecustomize.py").write_text("print('PLANTED')\n")
    for name in ("bash", "python3"):
        (folder / name).write_text("#!/bin/sh\necho PLANTED\n")
        (folder / name).chmod(0o755)
    return folder


ATTACKS = [
    ("bash", "BASH_ENV", "{}/rc"),
    ("bash", "LD_PRELOAD", "{}/code.so"),
    ("bash", "BASH_FUNC_echo%%", "() {{ builtin echo PLANTED; }}"),
    ("bash", "SHELLOPTS", "xtrace"),
    ("python", "PYTHONPATH", "{}"),
    ("python", "LD_PRELOAD", "{}/code.so"),
    ("python", "PYTHONHOME", "{}"),
    ("python", "PATH", "{}"),
    ("bash", "PATH", "{}"),
]


@pytest.mark.parametrize(("language", "name", "value"), ATTACKS)
def test_variable_that_plants_code_is_refused(
    tongs: Run, place: Place, planted: Path, language: str, name: str, value: str
) -> None:
    value = value.format(planted)
    # The twin: the author of a tool has written the same variable down.
    definition = {language: HELLO[language], "environment": {name: value}, "tags": ["write"]}
    place.tool("twin", json.dumps(definition))
    assert tongs("trust", "--yes").code == 0
    worked = tongs("tool", "run", "twin")
    honest = json.dumps({"language": language, "code": HELLO[language], "env": {"X": value}})
    given = json.dumps({"language": language, "code": HELLO[language], "env": {name: value}})

    done = tongs("tool", "run", "run_code", "--input-json", given, "--json")

    # There the code does not run as it is written.
    assert (worked.stdout, worked.stderr, worked.code) != ("hello\n", "", 0)
    assert tongs("tool", "run", "run_code", "--input-json", honest).stdout == "hello\n"
    assert (done.code, json.loads(done.stdout)["error"]["code"]) == (2, "INVALID_ARGUMENTS")
    assert "PLANTED" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "name",
    "GIT_SSH_COMMAND NODE_OPTIONS ENV IFS PS4 ld_preload TONGS_HOME DYLD_INSERT_LIBRARIES".split(),
)
def test_other_names_that_programs_obey_are_refused(tongs: Run, name: str) -> None:
    given = json.dumps({"language": "bash", "code": "echo hello", "env": {name: "x"}})

    done = tongs("tool", "run", "run_code", "--input-json", given, "--json")

    assert json.loads(done.stdout)["error"]["details"]["variable"] == name


def test_module_of_the_workspace_is_not_loaded_by_itself(
    tongs: Run, place: Place, planted: Path
) -> None:
    (place.project / "sitecustomize.py").write_text("print('PLANTED')\n")
    (place.project / "json.py").write_text("print('PLANTED')\n")
    code = "import json; print(json.dumps(1))"
    plain = subprocess.run(
        ["python3", "-c", code],
        cwd=place.project,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )

    done = tongs("tool", "run", "run_code", "language=python", f"code={code}")

    assert "PLANTED" in plain.stdout
    assert done.stdout == "1\n"
