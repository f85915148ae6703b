"""Manifests of kind python (seed 004), driven by the real command."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.conftest import Outcome, Place, Run

SEED = Path(__file__).with_name("seed_004")

STATS = """
import os


def run(path):
    files = loc = 0
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                loc += file.read().count(b"\\n")
            files += 1
    return {"files": files, "loc": loc}
"""


@pytest.fixture(scope="session")
def venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with one package in it, as the person would have made it."""
    made = tmp_path_factory.mktemp("venv") / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(made)], check=True)
    (packages,) = made.glob("lib/python3*/site-packages")
    (packages / "only_here.py").write_text("ANSWER = 42\n")
    return made


def manifest(
    name: str = "t",
    *,
    extra: str = "",
    permissions: str = "{}",
    module: str = "lib.t",
    outputs: str = "{}",
) -> str:
    return (
        f"name: {name}\ndescription: does it\nkind: python\n"
        "inputs: {schema: {type: object, additionalProperties: false, properties:"
        " {x: {type: integer}, text: {type: string}, list: {type: array}}}}\n"
        f"outputs: {outputs}\n"
        f"exec: {{python: {{module: {module}, function: run{extra}}}}}\n"
        f"permissions: {permissions}\n"
    )


class Tool:
    """One python tool in a project, defined, trusted and run."""

    def __init__(self, place: Place, tongs: Run) -> None:
        self._place = place
        self._tongs = tongs

    def define(self, source: str, **options: Any) -> None:
        folder = self._place.project / ".tongs/tools/t"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "tool.yml").write_text(manifest(**options))
        module = self._place.project / "lib/t.py"
        module.parent.mkdir(exist_ok=True)
        module.write_text(source)
        trusted = self._tongs("trust", "--yes")
        assert trusted.code == 0, trusted.stderr

    def run(self, given: str = "{}", *words: str, by: Run | None = None) -> Outcome:
        return (by or self._tongs)("tool", "run", "t", "--input-json", given, *words)

    def result(self, given: str = "{}", *words: str, by: Run | None = None) -> dict[str, Any]:
        return json.loads(self.run(given, "--json", *words, by=by).stdout)  # type: ignore[no-any-return]

    def error(self, given: str = "{}", *words: str) -> dict[str, Any]:
        return self.result(given, *words)["error"]  # type: ignore[no-any-return]


@pytest.fixture
def tool(place: Place, tongs: Run) -> Tool:
    return Tool(place, tongs)


def test_repo_stats_runs_as_written(place: Place, tongs: Run, venv: Path) -> None:
    shutil.copytree(SEED / "repo_stats", place.project / ".glee/tools/repo_stats")
    shutil.copytree(venv, place.project / ".venv", symlinks=True)
    (place.project / "tools").mkdir()
    (place.project / "tools/repo_stats.py").write_text(STATS)
    (place.project / "a.txt").write_text("one\ntwo\n")
    tongs("trust", "--yes")

    done = tongs("tool", "run", "repo_stats")

    assert (json.loads(done.stdout), done.stderr, done.code) == ({"files": 2, "loc": 15}, "", 0)


def test_repo_stats_runs_without_user_namespaces(
    place: Place, tongs: Run, limited: Run, venv: Path
) -> None:
    test_repo_stats_runs_as_written(place, tongs, venv)

    assert json.loads(limited("tool", "run", "repo_stats").stdout) == {"files": 2, "loc": 15}


def test_arguments_keep_their_types_and_absent_ones_are_none_or_left_out(tool: Tool) -> None:
    args = ', args: ["${x}", "${text}", "n=${x}", {a: ["${list}"]}, true]'
    tool.define(
        "def run(*args, **kwargs):\n    return [args, kwargs]\n",
        extra=f'{args}, kwargs: {{x: "${{x}}", text: "${{text}}", list: "${{list}}"}}',
    )

    result = tool.result('{"x": 5, "list": [1, "a", null]}')

    expected = [
        [5, None, "n=5", {"a": [[1, "a", None]]}, True],
        {"x": 5, "list": [1, "a", None]},
    ]
    assert result["value"] == expected
    assert json.loads(result["output"]) == expected


def test_text_is_the_text_of_the_value(tool: Tool) -> None:
    tool.define("def run():\n    return 'größe\\n'\n", extra=", return: text")

    assert tool.run().stdout == "größe\n"


def test_async_function_is_awaited(tool: Tool) -> None:
    tool.define("import asyncio\nasync def run():\n    await asyncio.sleep(0)\n    return [1]\n")

    assert tool.result()["value"] == [1]


def test_what_a_tool_prints_cannot_be_taken_for_its_answer(tool: Tool) -> None:
    tool.define(
        "import os, subprocess, sys\n"
        "def run():\n"
        '    print(\'{"answer": "json"}\')\n'
        "    os.write(1, b'raw\\n')\n"
        "    subprocess.run(['echo', 'from a child'])\n"
        "    print('to stderr', file=sys.stderr)\n"
        "    return 'the value'\n"
    )

    result = tool.result()

    printed = '{"answer": "json"}\nraw\nfrom a child\nto stderr\n'
    assert (result["value"], result["metadata"]["stderr"]) == ("the value", printed)
    shown = tool.run()
    assert (shown.stdout, shown.stderr) == ('"the value"', printed)


def test_explain_shows_what_the_interpreter_needs(
    place: Place, tool: Tool, tongs: Run, venv: Path
) -> None:
    shutil.copytree(venv, place.project / ".venv", symlinks=True)
    tool.define("def run():\n    return 1\n", extra=", venv: .venv")

    found = json.loads(tongs("sandbox", "explain", "t", "--json").stdout)
    shown = tongs("sandbox", "explain", "t").stdout

    packages = str(place.project / ".venv/lib")
    assert {"value": packages, "from": "its interpreter"} in found["programs"]
    rows = [line.split() for line in shown.splitlines()]
    assert ["reads", packages, "its", "interpreter"] in rows


def test_required_package_is_looked_for_with_what_the_interpreter_needs_and_no_more(
    place: Place, tool: Tool, venv: Path
) -> None:
    shutil.copytree(venv, place.project / ".venv", symlinks=True)
    private = place.project / ".venv/private"
    private.write_text("x")
    # Every start of this Python fails where it can read what it does not need.
    (packages,) = (place.project / ".venv").glob("lib/python3*/site-packages")
    (packages / "sitecustomize.py").write_text(
        f"import os\nif os.access({str(private)!r}, os.R_OK):\n    os._exit(3)\n"
    )
    tool.define(
        "def run():\n    return 1\n", extra=', venv: .venv}}\nrequires: ["python:only_here"]\n#'
    )

    assert tool.result()["value"] == 1


def test_virtual_environment_brings_its_packages_and_nothing_of_the_person(
    place: Place, tool: Tool, venv: Path
) -> None:
    shutil.copytree(venv, place.project / ".venv", symlinks=True)
    tool.define(
        "import only_here, sys\ndef run():\n    return [only_here.ANSWER, sys.prefix]\n",
        extra=", venv: .venv",
    )

    assert tool.result()["value"] == [42, str(place.project / ".venv")]


def test_environment_behind_links_can_be_used(
    place: Place, tool: Tool, limited: Run, venv: Path
) -> None:
    (place.home / "envs").mkdir()
    shutil.copytree(venv, place.home / "envs/real", symlinks=True)
    (place.home / "envs/named").symlink_to("real")
    (place.project / ".venv").symlink_to(place.home / "envs/named")
    tool.define("import only_here\nrun = lambda: only_here.ANSWER\n", extra=", venv: .venv")

    assert tool.result()["value"] == 42
    assert tool.result(by=limited)["value"] == 42


def test_interpreter_behind_a_linked_folder_can_be_used(
    place: Place, tool: Tool, venv: Path
) -> None:
    # As uv lays its interpreters out: the environment names one by a link without a patch level.
    base = Path(sys.base_prefix)
    (place.home / "python-3").symlink_to(base)
    shutil.copytree(venv, place.project / ".venv", symlinks=True)
    python = place.project / ".venv/bin/python"
    python.unlink()
    python.symlink_to(place.home / "python-3/bin/python3")
    config = place.project / ".venv/pyvenv.cfg"
    config.write_text(f"home = {place.home}/python-3/bin\ninclude-system-site-packages = false\n")
    tool.define("import only_here\nrun = lambda: only_here.ANSWER\n", extra=", venv: .venv")

    assert tool.result()["value"] == 42


def test_environment_is_read_only_in_a_project_that_may_be_written(
    place: Place, tool: Tool, venv: Path
) -> None:
    shutil.copytree(venv, place.project / ".venv", symlinks=True)
    tool.define(
        "import os\n"
        "def run():\n"
        "    found = {}\n"
        "    for path in ('.venv/lib/x.pth', '.venv/pyvenv.cfg', '.venv/bin/new', 'fine'):\n"
        "        try:\n"
        "            open(path, 'a').close()\n"
        "            found[path] = 'written'\n"
        "        except OSError as error:\n"
        "            found[path] = error.strerror\n"
        "    try:\n"
        "        os.rename('.venv', 'moved')\n"
        "    except OSError as error:\n"
        "        found['rename'] = error.strerror\n"
        "    return found\n",
        extra=", venv: .venv",
        permissions='{fs: {write: ["."]}}',
    )

    assert tool.result()["value"] == {
        ".venv/lib/x.pth": "Read-only file system",
        ".venv/pyvenv.cfg": "Read-only file system",
        ".venv/bin/new": "Read-only file system",
        "fine": "written",
        "rename": "Device or resource busy",
    }


def test_permissions_hold_for_the_function(
    place: Place, tool: Tool, limited: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place.project / "src").mkdir()
    (place.project / "src/ok").write_text("fine")
    (place.project / "secret").write_text("hidden")
    tool.define(
        "import os, socket\n"
        "def tried(work):\n"
        "    try:\n"
        "        return work()\n"
        "    except OSError as error:\n"
        "        return 'refused'\n"
        "def run():\n"
        "    return [tried(lambda: open('src/ok').read()), tried(lambda: open('secret').read()),\n"
        "            tried(lambda: open('src/new', 'w').write('x')),\n"
        "            tried(lambda: open('/etc/shadow').read()),\n"
        "            tried(lambda: socket.socket().connect(('127.0.0.1', 1))),\n"
        "            'TOKEN' in os.environ, 'OTHER' in os.environ]\n",
        permissions="{fs: {read: [src]}, secrets: {TOKEN: {type: string}}}",
    )
    secrets = {"TOKEN": "abcdef", "OTHER": "ghijkl"}

    for by in (None, limited):
        done = (by or tool._tongs)("tool", "run", "t", "--json", env=secrets)
        value = json.loads(done.stdout)["value"]
        assert value == ["fine", "refused", "refused", "refused", "refused", True, False]


def test_module_is_found_where_nothing_around_it_may_be_read(tool: Tool, limited: Run) -> None:
    tool.define("run = lambda: __name__\n")

    assert tool.result()["value"] == "lib.t"
    assert tool.result(by=limited)["value"] == "lib.t"


def test_module_in_a_package_is_imported_with_what_lies_around_it(
    place: Place, tool: Tool, tongs: Run
) -> None:
    (place.project / "pkg/inner").mkdir(parents=True)
    (place.project / "pkg/__init__.py").write_text("NAME = 'outer'\n")
    (place.project / "pkg/inner/__init__.py").write_text(
        "from pkg import NAME\nfrom . import part\nrun = lambda: [NAME, part.NAME]\n"
    )
    (place.project / "pkg/inner/part.py").write_text("NAME = 'part'\n")
    tool.define("", module="pkg.inner")
    assert tool.result()["value"] == ["outer", "part"]

    (place.project / "pkg/__init__.py").write_text("NAME = 'changed'\n")

    assert tool.error()["code"] == "UNTRUSTED"


def test_module_takes_no_place_of_a_folder_around_the_tool(place: Place, tool: Tool) -> None:
    tool.define(
        "import sys\nrun = lambda: 'planted' in sys.modules\n", permissions="{fs: {read: [.]}}"
    )
    planted = "import sys\nsys.modules['planted'] = sys\n"
    (place.project / "lib.py").write_text(f"{planted}__path__ = [{str(place.project / 'lib')!r}]\n")

    assert tool.result()["value"] is False
    # The same text as a package would be run, and is noticed therefore.
    (place.project / "lib.py").rename(place.project / "lib/__init__.py")
    assert tool.error()["code"] == "UNTRUSTED"


def test_byte_code_that_somebody_left_is_not_run(place: Place, tool: Tool) -> None:
    source = "run = lambda: 'accepted'\n"
    tool.define(source)
    module = place.project / "lib/t.py"
    facts = module.stat()
    module.write_text("run = lambda: 'planted!'\n")
    planting = f"import os; os.utime('{module}', ns=({facts.st_mtime_ns}, {facts.st_mtime_ns}))"
    subprocess.run(
        [sys.executable, "-c", f"{planting}; import sys; sys.path[0] = '.'; import lib.t"],
        cwd=place.project,
        env={},
        check=True,
    )
    assert list((place.project / "lib/__pycache__").iterdir())
    module.write_text(source)
    subprocess.run([sys.executable, "-c", planting], check=True)

    assert tool.result()["value"] == "accepted"


def test_interpreter_of_the_config_is_used_where_no_environment_is_named(
    place: Place, tool: Tool, venv: Path
) -> None:
    (place.user / "config.yml").write_text(f"interpreters: {{python: {venv}/bin/python}}\n")
    tool.define("import only_here\nrun = lambda: only_here.ANSWER\n")

    assert tool.result()["value"] == 42


def test_buffers_and_exit_functions_are_not_lost(place: Place, tool: Tool) -> None:
    (place.project / "out").mkdir()
    tool.define(
        "import atexit, threading\n"
        "left = open('out/left', 'w')\n"
        "def run():\n"
        "    left.write('written')\n"
        "    atexit.register(lambda: open('out/exit', 'w').write('called'))\n"
        "    threading.Thread(target=threading.Event().wait).start()\n"
        "    return 'done'\n",
        permissions="{fs: {write: [out]}}",
    )

    assert tool.result()["value"] == "done"
    assert (place.project / "out/left").read_text() == "written"
    assert (place.project / "out/exit").read_text() == "called"


# --- the error table of the seed ------------------------------------------------------------------


def test_input_validation_names_every_violation_and_runs_nothing(place: Place, tool: Tool) -> None:
    tool.define("open('ran', 'w')\nrun = lambda: 1\n", permissions='{fs: {write: ["."]}}')

    error = tool.error('{"x": "no", "text": 5}')

    paths = sorted(violation["path"][0] for violation in error["details"]["violations"])
    assert (error["code"], paths) == ("INVALID_ARGUMENTS", ["text", "x"])
    assert not (place.project / "ran").exists()


def test_exception_gives_its_type_its_message_and_the_tools_own_lines(
    place: Place, tool: Tool
) -> None:
    tool.define(
        "import json\n"
        "class Odd(ValueError):\n    pass\n"
        "def inner():\n"
        "    try:\n        json.loads('{')\n"
        "    except ValueError:\n        raise Odd('not today') from None\n"
        "def run():\n    inner()\n"
    )

    result = tool.result()

    error, file = result["error"], place.project / "lib/t.py"
    assert (error["code"], error["message"]) == (
        "EXECUTION_ERROR",
        "t raised lib.t.Odd: not today",
    )
    assert error["details"]["exceptionType"] == "lib.t.Odd"
    assert error["details"]["traceback"] == [f"{file}:10 in run", f"{file}:8 in inner"]
    assert "Traceback" not in tool.run().stderr


def test_timeout_kills_the_process_and_what_it_started(place: Place, tool: Tool) -> None:
    (place.project / "out").mkdir()
    tool.define(
        "import subprocess, time\n"
        "def run():\n"
        "    loop = 'while :; do echo >> out/ticks; sleep 0.05; done'\n"
        "    subprocess.Popen(['sh', '-c', loop], start_new_session=True)\n"
        "    print('waiting', flush=True)\n"
        "    time.sleep(60)\n",
        extra=", timeout_ms: 1500",
        permissions="{fs: {write: [out]}}",
    )

    result = tool.result()
    ticks = (place.project / "out/ticks").stat().st_size
    time.sleep(0.3)

    assert (result["error"]["code"], result["metadata"]["stderr"]) == ("TIMEOUT", "waiting\n")
    assert (place.project / "out/ticks").stat().st_size == ticks > 0


def test_output_that_does_not_fit_is_a_warning_and_is_returned(tool: Tool) -> None:
    tool.define(
        "run = lambda: {'n': 'x'}\n", outputs="{schema: {properties: {n: {type: integer}}}}"
    )

    result = tool.result()

    assert (result["ok"], result["value"], len(result["warnings"])) == (True, {"n": "x"}, 1)


def test_missing_secret_is_an_error_and_runs_nothing(place: Place, tool: Tool) -> None:
    tool.define(
        "open('ran', 'w')\nrun = lambda: 1\n",
        permissions='{fs: {write: ["."]}, secrets: {TOKEN: {type: string, required: true}}}',
    )

    assert tool.error()["code"] == "SECRET_MISSING"
    assert not (place.project / "ran").exists()


# --- what else can go wrong -----------------------------------------------------------------------


def test_value_that_is_no_json_is_an_error_that_names_its_type(tool: Tool) -> None:
    tool.define("import datetime\nrun = lambda: {'a': [datetime.date(2025, 1, 9)]}\n")

    error = tool.error()

    assert (error["code"], error["details"]["type"]) == ("EXECUTION_ERROR", "datetime.date")
    assert "return: text" in error["details"]["hint"]


@pytest.mark.parametrize(
    ("value", "kind"), [("float('nan')", "float"), ("{(1, 2): 3}", "tuple"), ("{1}", "set")]
)
def test_odd_values_are_named(tool: Tool, value: str, kind: str) -> None:
    tool.define(f"run = lambda: {value}\n")

    assert tool.error()["details"]["type"] == kind


def test_value_that_holds_itself_is_an_error(tool: Tool) -> None:
    tool.define("def run():\n    a = []\n    a.append(a)\n    return a\n")

    assert tool.error()["details"]["where"] == "result"


def test_exit_is_an_error(tool: Tool) -> None:
    tool.define("import sys\nrun = lambda: sys.exit(3)\n")

    error = tool.error()

    assert (error["code"], error["details"]["code"]) == ("EXECUTION_ERROR", 3)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import os\nrun = lambda: os._exit(0)\n", "without an answer"),
        ("import os\nrun = lambda: os._exit(1)\n", "exit code 1"),
        ("import os\nrun = lambda: os.kill(os.getpid(), 9)\n", "SIGKILL"),
    ],
)
def test_end_without_an_answer_is_an_error(tool: Tool, source: str, words: str) -> None:
    tool.define(source)

    error = tool.error()

    assert error["code"] == "EXECUTION_ERROR"
    assert words in error["message"]


def test_import_that_fails_names_the_exception_and_the_remedy(
    place: Place, tool: Tool, venv: Path
) -> None:
    shutil.copytree(venv, place.project / ".venv", symlinks=True)
    tool.define("import no_such_package.part\nrun = 1\n", extra=", venv: .venv")

    error = tool.error()

    assert error["details"]["exceptionType"] == "ModuleNotFoundError"
    assert error["details"]["hint"].endswith("-m pip install no_such_package")


def test_module_of_the_project_that_may_not_be_read_is_named(place: Place, tool: Tool) -> None:
    tool.define("import lib.other\nrun = 1\n")
    (place.project / "lib/other.py").write_text("")

    assert "add lib/other.py to permissions.fs.read" in tool.error()["details"]["hint"]


def test_text_that_is_no_python_is_an_error_with_its_line(tool: Tool) -> None:
    tool.define("def run():\n    return (\n")

    details = tool.error()["details"]

    assert (details["exceptionType"], details["line"]) == ("SyntaxError", 2)


def test_missing_function_is_named_with_those_there_are(tool: Tool) -> None:
    tool.define("def rum():\n    pass\nclass Other:\n    pass\n")

    error = tool.error()

    assert "lib.t.run does not exist" in error["message"]
    assert error["details"]["hint"] == "`function` names one of rum"


def test_missing_environment_is_an_error_that_says_how_to_make_it(tool: Tool) -> None:
    tool.define("run = lambda: 1\n", extra=", venv: nowhere")

    error = tool.error()

    assert (error["code"], "python3 -m venv" in error["details"]["hint"]) == (
        "FILE_NOT_FOUND",
        True,
    )


def test_answer_beyond_the_limit_is_cut_and_kept(place: Place, tool: Tool) -> None:
    (place.user / "config.yml").write_text("tools: {t: {limits: {output: 1000}}}\n")
    tool.define("run = lambda: ['x' * 5000]\n")

    result = tool.result()

    assert (result["ok"], result["value"], len(result["output"]) < 1000) == (True, None, True)
    assert result["metadata"]["outputHandle"]
    assert any("cut" in warning for warning in result["warnings"])


def test_preview_shows_the_call_and_no_secret(tool: Tool, tongs: Run) -> None:
    tool.define(
        "run = lambda *args: 1\n",
        extra=', args: ["${x}", "${TOKEN}"]',
        permissions="{secrets: {TOKEN: {type: string}}}",
    )

    done = tongs("tool", "run", "t", "x=5", "--show-command", env={"TOKEN": "s3cret-value"})

    assert "lib.t.run(5, '<TOKEN>')" in done.stdout + done.stderr
    assert "s3cret-value" not in done.stdout + done.stderr
