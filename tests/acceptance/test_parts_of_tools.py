"""What an accepted tool runs beside its folder: no other tool may change it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.acceptance.conftest import Place, Run

MANIFEST = """\
name: counted
description: Counts.
kind: command
exec:
  command: {entrypoint: ./scripts/count.sh}
permissions: {fs: {read: [.]}}
"""
MODULE = """\
name: told
description: Tells.
kind: python
exec: {python: {module: lib.tell, function: run}}
"""
WRITE = """\
description: Appends to a file.
tags: [write]
parameters: {FILE: {type: string}}
bash: echo 'echo changed' >> {FILE}
"""
REMOVE = """\
description: Takes a file away.
tags: [write]
parameters: {FILE: {type: string}}
bash: rm -f {FILE} || mv {FILE} away || mv "$(dirname {FILE})" away
"""
OWN = """\
description: Mends the script.
permissions: {fs: {read: [.], write: [scripts/count.sh]}}
bash: echo '# mended' >> scripts/count.sh
"""


@pytest.fixture
def script(place: Place, tongs: Run) -> Path:
    """The script of an accepted tool, in a folder of the project."""
    for name, text in (("counted", MANIFEST), ("told", MODULE)):
        folder = place.project / ".tongs/tools" / name
        folder.mkdir(parents=True)
        (folder / "tool.yml").write_text(text)
    (place.project / "lib").mkdir()
    (place.project / "lib/tell.py").write_text("def run():\n    return 'told'\n")
    script = place.project / "scripts/count.sh"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\necho one\n")
    script.chmod(0o755)
    place.tool("write", WRITE)
    place.tool("remove", REMOVE)
    place.tool("own", OWN)
    assert tongs("trust", "--yes").code == 0
    return script


def test_script_and_module_of_a_tool_stay_as_they_are(
    place: Place, tongs: Run, script: Path
) -> None:
    for file in ("scripts/count.sh", "lib/tell.py"):
        before = (place.project / file).read_text()

        refused = tongs("tool", "run", "write", f"FILE={file}", "--yes")
        removed = tongs("tool", "run", "remove", f"FILE={file}", "--yes")

        assert refused.code != 0
        assert "Read-only file system" in refused.stderr
        assert removed.code != 0
        assert (place.project / file).read_text() == before
    assert tongs("tool", "run", "counted").stdout == "one\n"
    assert tongs("tool", "run", "told").stdout == '"told"'


def test_what_lies_beside_it_can_be_written(place: Place, tongs: Run, script: Path) -> None:
    done = tongs("tool", "run", "write", "FILE=scripts/other.sh", "--yes")

    assert (done.stderr, done.code) == ("", 0)
    assert (place.project / "scripts/other.sh").read_text() == "echo changed\n"


def test_a_tool_that_was_granted_the_very_file_can_write_it(tongs: Run, script: Path) -> None:
    done = tongs("tool", "run", "own", "--yes")

    assert done.code == 0, done.stderr
    assert script.read_text().endswith("# mended\n")
    # Which is then another script, and nobody has accepted it.
    assert tongs("tool", "run", "counted").code != 0


def test_script_of_a_tool_that_nobody_accepted_is_a_file_like_any_other(
    tongs: Run, script: Path
) -> None:
    tongs("trust", "--revoke", "counted")

    done = tongs("tool", "run", "write", "FILE=scripts/count.sh", "--yes")

    assert done.code == 0, done.stderr
    assert script.read_text().endswith("echo changed\n")


def test_where_nothing_can_be_mounted_that_is_said(limited: Run, script: Path) -> None:
    done = limited("tool", "run", "write", "FILE=scripts/count.sh", "--yes", "--json")

    result = json.loads(done.stdout)
    assert "protected-paths" in result["metadata"]["notEnforced"]


def test_explain_names_them(tongs: Run, place: Place, script: Path) -> None:
    found = json.loads(tongs("sandbox", "explain", "write", "--json").stdout)

    assert {str(script), str(place.project / "lib/tell.py")} <= set(found["protected"])
