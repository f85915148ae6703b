"""Python tool files: trusted first, imported behind walls, run in a process of their own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.acceptance.conftest import Outcome, Place, Run

from tongs import Runtime

UNITS = '''\
"""Convert units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tongs import BaseTool, ToolError, create_json_schema, tool

try:
    open({mark!r}, "a").close()
except OSError:
    pass


@dataclass
class Length:
    value: float
    unit: Literal["m", "km"]


@tool(tags=["read"], examples=[{{"params": {{"length": {{"value": 1, "unit": "km"}}, "to": "m"}}}}])
def convert(length: Length, to: Literal["m", "km"]) -> Length:
    """Convert a length.

    Args:
        length: What to convert
        to: The unit to have it in
    """
    factor = {{"m": 1, "km": 1000}}
    print("converting")
    return Length(length.value * factor[length.unit] / factor[to], to)


class Shout(BaseTool):
    """Say it louder."""

    tags = ("read",)
    parameters = create_json_schema({{"text": {{"type": "string"}}}}, ["text"])

    async def execute(self, arguments):
        if arguments["text"] == "quiet":
            raise ToolError("TOO_QUIET", "nobody hears that", hint="say something")
        return arguments["text"].upper()


@tool
def careful() -> str:
    """Read what is not the project's."""
    return open({secret!r}).read()
'''


def put(place: Place, text: str, name: str = "units.py") -> Path:
    path = place.project / ".tongs" / "tools" / name
    path.write_text(text)
    return path


def units(place: Place) -> Path:
    mark, secret = str(place.home / "imported"), str(place.home / "secret")
    (place.home / "secret").write_text("s3cret")
    return put(place, UNITS.format(mark=mark, secret=secret))


def listed(done: Outcome) -> dict[str, dict[str, object]]:
    return {entry["name"]: entry for entry in json.loads(done.stdout)}


def test_nothing_of_a_file_runs_before_a_person_has_trusted_it(place: Place, tongs: Run) -> None:
    units(place)

    entries = listed(tongs("tool", "list", "--json"))
    run = tongs("tool", "run", "units")
    tongs("tool", "get", "units")
    tongs("lint")
    tongs("tools", "export", "--format", "mcp")
    tongs("tool", "validate", "units")

    assert (entries["units"]["kind"], entries["units"]["trust"]) == ("python", "untrusted")
    assert (run.code, "tongs trust" in run.stderr) == (3, True)
    assert not (place.home / "imported").exists()


def test_file_is_imported_behind_walls_once_and_its_tools_are_listed(
    place: Place, tongs: Run
) -> None:
    trusted(place, tongs)

    entries = listed(tongs("tool", "list", "--json"))
    again = listed(tongs("tool", "list", "--json"))

    # It tries to leave a mark in the home, and cannot.
    assert not (place.home / "imported").exists()
    assert again == entries
    assert {name: entry["kind"] for name, entry in entries.items()} == {
        "careful": "python",
        "convert": "python",
        "shout": "python",
    }
    assert entries["convert"]["parameters"] == ["length", "to"]


def trusted(place: Place, tongs: Run) -> Path:
    path = units(place)
    assert tongs("trust", "--yes", str(path)).code == 0
    return path


def test_tools_of_a_file_run_in_a_process_of_their_own(place: Place, tongs: Run) -> None:
    trusted(place, tongs)

    arguments = '{"length": {"value": 5, "unit": "km"}, "to": "m"}'
    converted = tongs("tool", "run", "convert", "--input-json", arguments)
    shouted = tongs("tool", "run", "python:shout", "text=hi", "--json")
    quiet = tongs("tool", "run", "shout", "text=quiet", "--json")
    wrong = tongs("tool", "run", "convert", "--input-json", '{"length": {"value": 5}, "to": "m"}')

    assert (json.loads(converted.stdout), converted.stderr) == (
        {"value": 5000.0, "unit": "m"},
        "converting\n",
    )
    result = json.loads(shouted.stdout)
    assert (result["value"], "fs.write" in result["metadata"]["enforced"]) == ("HI", True)
    error = json.loads(quiet.stdout)["error"]
    assert (error["code"], error["details"]["hint"]) == ("TOO_QUIET", "say something")
    assert (wrong.code, "unit" in wrong.stderr) == (2, True)


def test_tool_of_a_file_reads_only_what_it_may(place: Place, tongs: Run) -> None:
    trusted(place, tongs)

    done = tongs("tool", "run", "careful", "--json")

    error = json.loads(done.stdout)["error"]
    assert error["code"] in ("FILE_NOT_FOUND", "PERMISSION_DENIED")
    assert "s3cret" not in done.stdout


def test_changed_file_has_to_be_trusted_again(place: Place, tongs: Run) -> None:
    path = trusted(place, tongs)
    path.write_text(path.read_text().replace("louder", "LOUDER"))

    entries = listed(tongs("tool", "list", "--json"))
    done = tongs("tool", "run", "units")

    assert entries["units"]["trust"] == "changed"
    assert done.code == 3


def test_what_runs_is_what_was_accepted(place: Place, tongs: Run) -> None:
    """The text of the file travels with the call: whoever changes it meanwhile is too late."""
    path = trusted(place, tongs)
    os.environ["TONGS_HOME"], before = str(place.user), os.environ.get("TONGS_HOME")
    try:
        with Runtime.open(place.project, auto_approve=["*"]) as runtime:
            tool = runtime.find("shout")
            path.write_text("raise SystemExit('changed')\n")
            source = tool.plan.source
    finally:
        if before is None:
            del os.environ["TONGS_HOME"]
        else:
            os.environ["TONGS_HOME"] = before

    assert b"class Shout" in source


def test_file_that_cannot_be_used_is_broken_with_the_reason(place: Place, tongs: Run) -> None:
    texts = {
        "none.py": ("x = 1\n", "it defines no tool"),
        "syntax.py": ("def (\n", "SyntaxError"),
        "lacks.py": ("import nothing_like_it\n", "No module named 'nothing_like_it'"),
        "twice.py": (
            "from tongs import tool\n@tool\ndef a():\n 'd'\n@tool(name='a')\ndef b():\n 'd'\n",
            "two tools are called `a`",
        ),
        "hint.py": ("from tongs import tool\n@tool\ndef a(x: type):\n 'd'\n", "`x`"),
        "nodoc.py": ("from tongs import tool\n@tool\ndef a():\n  pass\n", "description"),
        "exits.py": ("import os\nos._exit(3)\n", "exit code 3"),
    }
    for name, (text, _) in texts.items():
        tongs("trust", "--yes", str(put(place, text, name)))

    entries = {
        Path(str(e["path"])).name: e for e in listed(tongs("tool", "list", "--json")).values()
    }

    found = {
        name: any(why in p for p in entries[name]["problems"]) for name, (_, why) in texts.items()
    }
    assert found == dict.fromkeys(texts, True)


@pytest.mark.full
def test_file_that_takes_too_long_is_broken_with_the_reason(place: Place, tongs: Run) -> None:
    tongs("trust", "--yes", str(put(place, "import time\ntime.sleep(99)\n", "slow.py")))

    (entry,) = listed(tongs("tool", "list", "--json")).values()

    assert any("longer than" in problem for problem in entry["problems"])


def test_user_scope_needs_no_trust_and_a_file_with_the_bit_is_an_executable(
    place: Place, tongs: Run
) -> None:
    folder = place.user / "tools"
    folder.mkdir()
    (folder / "mine.py").write_text(
        "from tongs import tool\n@tool\ndef mine() -> str:\n    'Mine.'\n    return 'mine'\n"
    )
    program = put(place, "#!/usr/bin/env python3\nprint('{}')\n", "program.py")
    program.chmod(0o755)

    run = tongs("tool", "run", "mine")
    entries = listed(tongs("tool", "list", "--json"))

    assert run.stdout == "mine"
    assert (entries["mine"]["kind"], entries["program.py"]["kind"]) == ("python", "exec")


def test_hint_says_that_the_tools_of_a_file_are_not_known_yet(place: Place, tongs: Run) -> None:
    path = units(place)

    done = tongs("tool", "run", "convert")

    assert done.code == 2
    assert f"hint: nobody knows the tools of {path} before it is trusted\n" in done.stderr


def test_file_is_not_removed_for_one_of_its_tools(place: Place, tongs: Run) -> None:
    path = trusted(place, tongs)

    done = tongs("tool", "remove", "shout")

    assert (done.code, "also defines careful, convert" in done.stderr) == (2, True)
    assert path.exists()


def test_file_whose_import_failed_is_asked_again(place: Place, tongs: Run) -> None:
    """What it lacked may have been installed since; without the cache, at once."""
    path = put(
        place,
        "from tongs import tool\nimport extra_module_of_a_test\n"
        "@tool\ndef late() -> int:\n    'd'\n    return 1\n",
        "late.py",
    )
    tongs("trust", "--yes", str(path))
    before = listed(tongs("tool", "list", "--json"))
    path.write_text(path.read_text().replace("import extra_module_of_a_test\n", ""))
    tongs("trust", "--yes", str(path))

    after = listed(tongs("tool", "list", "--json"))

    assert (list(before), list(after)) == (["late"], ["late"])
    assert before["late"]["problems"] != []
    assert after["late"]["problems"] == []


def test_examples_of_a_python_tool_are_tested(place: Place, tongs: Run) -> None:
    trusted(place, tongs)

    done = tongs("tool", "test", "convert")

    assert done.code == 0, done.stderr


def test_file_named_by_hand_is_loaded(place: Place, tongs: Run) -> None:
    path = place.project / "extra.py"
    path.write_text("from tongs import tool\n@tool\ndef extra() -> int:\n    'd'\n    return 7\n")
    tongs("trust", "--yes", str(path))

    done = tongs("--load-tool", str(path), "tool", "run", "extra")

    assert done.stdout == "7"


def test_validate_tells_the_story_of_a_python_file(place: Place, tongs: Run) -> None:
    trusted(place, tongs)

    done = tongs("tool", "validate", "convert")

    assert (done.code, "a Python file in local scope" in done.stdout) == (0, True)
