"""Manifests (seed 004), driven by the real command. `seed_004/` holds the seed's own four."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.conftest import Place, Run

from tongs import Runtime
from tongs.core.approval import ApprovalRequest, ApprovalResponse

SEED = Path(__file__).with_name("seed_004")

SCAN = """#!/bin/sh
grep -rn TODO --include='*.py' "$1" | sort
echo Scan complete.
echo "Matches found: $(grep -rn TODO --include='*.py' "$1" | wc -l)"
"""


def manifest(place: Place, name: str, text: str, *, family: str = ".tongs") -> Path:
    folder = place.project / family / "tools" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tool.yml").write_text(text)
    return folder


def command(name: str, entrypoint: str, extra: str = "", permissions: str = "{}") -> str:
    return (
        f"name: {name}\ndescription: does it\nkind: command\n"
        "inputs: {schema: {type: object, additionalProperties: false, properties:"
        " {x: {type: integer}, text: {type: string}, list: {type: array}}}}\n"
        f"exec: {{command: {{entrypoint: {entrypoint}{extra}}}}}\npermissions: {permissions}\n"
    )


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def repo_scan(place: Place, tongs: Run) -> Path:
    shutil.copytree(SEED / "repo_scan", place.project / ".glee/tools/repo_scan")
    entrypoint = place.project / "scripts/scan_todos.sh"
    entrypoint.parent.mkdir()
    entrypoint.write_text(SCAN)
    entrypoint.chmod(0o755)
    (place.project / "a.py").write_text("# TODO one\n# TODO two\n")
    return entrypoint


def test_repo_scan_runs_as_written(place: Place, tongs: Run, repo_scan: Path) -> None:
    tongs("trust", "--yes")

    done = tongs("tool", "run", "repo_scan")

    assert done.stdout.endswith("Scan complete.\nMatches found: 2\n")
    assert (done.stderr, done.code) == ("", 0)
    assert "glee" in tongs("tool", "list").stdout


def test_an_entrypoint_of_the_system_runs_wherever_it_lies(place: Place, tongs: Run) -> None:
    """On most systems /bin is a link by now, and what it leads to is everybody's to read."""
    manifest(place, "say", command("say", "/bin/echo", ", args: [hi]"))
    tongs("trust", "--yes")

    done = tongs("tool", "run", "say", "--yes")

    assert (done.stdout, done.stderr, done.code) == ("hi\n", "", 0)


def test_an_entrypoint_outside_the_directory_is_pinned_too(tongs: Run, repo_scan: Path) -> None:
    tongs("trust", "--yes")
    assert tongs("tool", "run", "repo_scan").code == 0

    repo_scan.write_text(SCAN + "echo evil\n")

    assert "[changed]" in tongs("tool", "list").stdout
    denied = tongs("tool", "run", "repo_scan")
    assert (denied.code, "evil" in denied.stdout) == (3, False)


def test_every_file_of_the_directory_is_pinned(place: Place, tongs: Run) -> None:
    folder = manifest(place, "t", command("t", ".tongs/tools/t/run.sh"))
    script(folder / "run.sh", '. "$(dirname "$0")/lib.sh"')
    (folder / "lib.sh").write_text("echo good\n")
    tongs("trust", "--yes")
    assert tongs("tool", "run", "t").stdout == "good\n"

    (folder / "lib.sh").write_text("echo evil\n")

    assert tongs("tool", "run", "t").code == 3


def test_permissions_are_enforced(place: Place, tongs: Run) -> None:
    (place.project / "src").mkdir()
    (place.project / "src/ok").write_text("fine")
    (place.project / "secret").write_text("hidden")
    folder = manifest(
        place, "t", command("t", ".tongs/tools/t/run.sh", permissions="{fs: {read: [src/]}}")
    )
    script(folder / "run.sh", "cat src/ok; cat secret; echo x > src/new; true")
    tongs("trust", "--yes")

    done = tongs("tool", "run", "t", "--json")

    assert json.loads(done.stdout)["output"] == "fine"
    assert not (place.project / "src/new").exists()


def test_values_are_words_and_never_code(place: Place, tongs: Run) -> None:
    text = command("t", ".tongs/tools/t/run.sh", ', args: ["a${text}b", "${list}", "${x}", end]')
    folder = manifest(place, "t", text)
    script(folder / "run.sh", 'printf "[%s]" "$@"')
    tongs("trust", "--yes")

    done = tongs(
        "tool", "run", "t", "--input-json", '{"text": "$(id) ${x}", "list": ["1 2", "*", 3]}'
    )

    assert done.stdout == "[a$(id) ${x}b][1 2][*][3][end]"


@pytest.mark.parametrize(
    ("extra", "given", "stdin"),
    [
        (", stdin: 'n=${x}'", '{"x": 5}', "n=5"),
        (", stdin: {n: '${x}', t: '${text}'}", '{"x": 5}', '{"n": 5}'),
        (", stdin: '${list}'", '{"list": [1, "a"]}', '[1, "a"]'),
    ],
)
def test_stdin_is_a_text_or_json(
    place: Place, tongs: Run, extra: str, given: str, stdin: str
) -> None:
    folder = manifest(place, "t", command("t", ".tongs/tools/t/run.sh", extra))
    script(folder / "run.sh", "cat")
    tongs("trust", "--yes")

    assert tongs("tool", "run", "t", "--input-json", given).stdout == stdin


# --- the error table of the seed ------------------------------------------------------------------


def told(done_stdout: str) -> dict[str, object]:
    return json.loads(done_stdout)  # type: ignore[no-any-return]  # an object


def test_input_validation_names_every_violation_and_runs_nothing(place: Place, tongs: Run) -> None:
    folder = manifest(place, "t", command("t", ".tongs/tools/t/run.sh"))
    script(folder / "run.sh", "echo ran")
    tongs("trust", "--yes")

    done = tongs("tool", "run", "t", "--input-json", '{"x": "no", "text": 5}', "--json")

    error = json.loads(done.stdout)["error"]
    assert (error["code"], error["blockedBy"], done.code) == ("INVALID_ARGUMENTS", "schema", 2)
    assert [v["path"] for v in error["details"]["violations"]] == [["x"], ["text"]]


def test_an_exit_code_that_is_not_listed_is_an_error_with_stderr(place: Place, tongs: Run) -> None:
    folder = manifest(place, "t", command("t", ".tongs/tools/t/run.sh", ", exit_codes_ok: [0, 2]"))
    script(folder / "run.sh", 'read -r code; echo "about $code" >&2; exit "$code"')
    text = command("t", ".tongs/tools/t/run.sh", ", exit_codes_ok: [0, 2], stdin: '${x}'")
    (folder / "tool.yml").write_text(text)
    tongs("trust", "--yes")

    good = tongs("tool", "run", "t", "x=2")
    bad = tongs("tool", "run", "t", "x=3", "--json")

    assert good.code == 0
    error = json.loads(bad.stdout)["error"]
    assert (error["code"], error["details"]["exitCode"], bad.code) == ("EXECUTION_ERROR", 3, 1)
    assert error["details"]["stderr"] == "about 3"


def test_timeout_kills_and_tells(place: Place, tongs: Run) -> None:
    folder = manifest(place, "t", command("t", ".tongs/tools/t/run.sh", ", timeout_ms: 300"))
    script(folder / "run.sh", "sleep 60")
    tongs("trust", "--yes")

    done = tongs("tool", "run", "t", "--json")

    error = json.loads(done.stdout)["error"]
    assert (error["code"], done.code) == ("TIMEOUT", 1)
    assert "`timeout_ms` in the manifest" in error["details"]["hint"]


def test_output_that_does_not_fit_is_a_warning_and_kept(place: Place, tongs: Run) -> None:
    text = command("t", ".tongs/tools/t/run.sh") + (
        "outputs: {format: json, schema: {type: object, required: [a]}}\n"
    )
    folder = manifest(place, "t", text)
    script(folder / "run.sh", "echo '{\"b\": 1}'")
    tongs("trust", "--yes")

    done = tongs("tool", "run", "t", "--json")

    result = json.loads(done.stdout)
    assert (result["ok"], result["value"], done.code) == (True, {"b": 1}, 0)
    assert any("does not fit its schema" in warning for warning in result["warnings"])


def test_a_secret_that_is_missing_stops_the_call(place: Place, tongs: Run) -> None:
    permissions = "{secrets: {API_KEY: {type: string, required: true}}}"
    folder = manifest(place, "t", command("t", ".tongs/tools/t/run.sh", permissions=permissions))
    script(folder / "run.sh", 'echo "got $API_KEY"')
    tongs("trust", "--yes")

    missing = tongs("tool", "run", "t", "--json")

    assert json.loads(missing.stdout)["error"]["code"] == "SECRET_MISSING"
    assert missing.code == 4


def test_a_declared_secret_is_there_and_redacted(place: Place, tongs: Run) -> None:
    permissions = "{secrets: {API_KEY: {type: string, required: true}}}"
    folder = manifest(place, "t", command("t", ".tongs/tools/t/run.sh", permissions=permissions))
    script(folder / "run.sh", 'echo "got ${API_KEY}, not ${OTHER_KEY-nothing}"')
    tongs("trust", "--yes")

    done = tongs("tool", "run", "t", env={"API_KEY": "s3cret-value", "OTHER_KEY": "other"})

    assert done.stdout == "got [redacted], not nothing\n"


# --- what a manifest may not be -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (command("other", "./run.sh"), "is not that of its directory"),
        (command("t", "./missing.sh"), "there is no file"),
        (command("t", "jq", ', args: ["${nothing}"]'), "${nothing} is no input"),
        (command("t", "jq", permissions="{secrets: {x: {}}}"), "is an input, too"),
        (command("t", "jq").replace("kind: command", "kind: python"), "but exec has `command`"),
        (command("t", "jq") + "approval: {required: true}\n", "reason"),
        (command("t", "jq") + "unknown: 1\n", "unknown"),
        (command("t", "jq").replace("type: object", "type: array"), "object"),
    ],
)
def test_what_is_wrong_is_listed_with_its_line(
    place: Place, tongs: Run, text: str, message: str
) -> None:
    folder = manifest(place, "t", text)

    listed = tongs("tool", "list")

    assert "[broken]" in listed.stdout
    assert message in listed.stderr
    assert f"{folder / 'tool.yml'}:" in listed.stderr
    assert "Traceback" not in listed.stderr


def test_a_file_beside_the_manifest_is_pointed_at(place: Place, tongs: Run) -> None:
    folder = manifest(place, "t", command("t", "./run.sh"))
    script(folder / "run.sh", "echo hi")

    done = tongs("lint")

    assert ".tongs/tools/t/run.sh" in done.stdout + done.stderr or done.code != 0
    called = tongs("tool", "run", "t")
    assert "hint: write `.tongs/tools/t/run.sh`" in called.stderr


def test_in_the_users_folder_paths_start_at_the_tool(place: Place, tongs: Run) -> None:
    folder = place.user / "tools" / "t"
    folder.mkdir(parents=True)
    (folder / "tool.yml").write_text(command("t", "./run.sh"))
    script(folder / "run.sh", "pwd")

    done = tongs("tool", "run", "t")

    assert done.stdout == f"{place.project}\n"


def test_a_directory_that_is_too_large_says_so(place: Place, tongs: Run) -> None:
    folder = manifest(place, "t", command("t", "jq"))
    for number in range(1001):
        (folder / f"f{number}").touch()

    assert "more than 1000 files" in tongs("tool", "list").stderr


def test_tool_dir_is_the_directory_of_the_tool(place: Place, tongs: Run) -> None:
    text = command("t", "cat", ', args: ["${tool_dir}/data.txt", "$${tool_dir}"]')
    folder = manifest(place, "t", text)
    (folder / "data.txt").write_text("data\n")
    tongs("trust", "--yes")

    done = tongs("tool", "run", "t")

    assert done.stdout == "data\n"
    assert "${tool_dir}" in done.stderr
    assert os.path.exists(folder)


# --- what changes after it was accepted -----------------------------------------------------------


def in_process(place: Place) -> Iterator[None]:
    """The environment of the place, for a runtime in this very process."""
    before = {**os.environ}
    os.environ.update(place.env)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture
def inside(place: Place) -> Iterator[None]:
    yield from in_process(place)


def test_what_is_swapped_while_a_person_is_asked_does_not_run(place: Place, inside: None) -> None:
    folder = manifest(place, "t", command("t", ".tongs/tools/t/run.sh"))
    entrypoint = script(folder / "run.sh", "echo good")

    async def swapping(request: ApprovalRequest) -> ApprovalResponse:
        script(entrypoint, "echo evil")
        return ApprovalResponse(approved=True)

    with Runtime.open(place.project) as runtime:
        runtime.definitions.accept(runtime.find("t"))
        result = runtime.call_sync("t", approver=swapping)

    assert result.error is not None
    assert (result.error.code, result.output) == ("UNTRUSTED", "")


def test_a_file_that_becomes_a_part_of_the_tool_is_noticed_by_a_server(
    place: Place, inside: None
) -> None:
    module = place.project / "lib" / "t.py"
    module.parent.mkdir()
    module.write_text("def run():\n    return 'good'\n")
    manifest(
        place,
        "t",
        "name: t\ndescription: does it\nkind: python\n"
        "exec: {python: {module: lib.t, function: run}}\npermissions: {fs: {read: [.]}}\n",
    )
    with Runtime.open(place.project, auto_approve=["*"]) as runtime:
        runtime.definitions.accept(runtime.find("t"))
        assert runtime.call_sync("t").value == "good"

        (place.project / "lib/t").mkdir()
        (place.project / "lib/t/__init__.py").write_text("def run():\n    return 'evil'\n")
        result = runtime.call_sync("t")

    assert result.error is None or result.error.code == "UNTRUSTED"
    assert result.value in (None, "good")


def test_no_file_of_the_project_takes_the_place_of_a_module_of_python(
    place: Place, tongs: Run
) -> None:
    (place.project / "lib").mkdir()
    (place.project / "csv.py").write_text("raise SystemExit('evil')\n")
    (place.project / "lib/t.py").write_text("import csv\ndef run():\n    return csv.__name__\n")
    manifest(
        place,
        "t",
        "name: t\ndescription: does it\nkind: python\n"
        "exec: {python: {module: lib.t, function: run}}\npermissions: {fs: {read: [.]}}\n",
    )
    tongs("trust", "--yes")

    assert tongs("tool", "run", "t").stdout.strip() == '"csv"'


def test_validate_runs_nothing_that_an_untrusted_project_brought(place: Place, tongs: Run) -> None:
    trace = place.home / "trace"
    python = script(place.project / ".venv/bin/python", f"echo x >> {trace}; echo 9.9")
    (place.project / "lib").mkdir()
    (place.project / "lib/t.py").write_text("def run():\n    return 1\n")
    manifest(
        place,
        "t",
        "name: t\ndescription: does it\nkind: python\nrequires: ['python:zzz>=1']\n"
        "exec: {python: {module: lib.t, function: run, venv: .venv}}\n",
    )

    done = tongs("tool", "validate", "t")

    assert "not looked at before it is trusted: python:zzz>=1" in done.stdout + done.stderr
    assert "9.9" not in done.stdout + done.stderr
    assert python.exists()


def test_value_that_would_be_an_option_of_a_known_program_is_refused(
    place: Place, tongs: Run
) -> None:
    manifest(place, "pack", command("pack", "tar", ', args: ["-cf", "/dev/null", "${text}"]'))
    tongs("trust", "--yes", "pack")

    done = tongs("tool", "run", "pack", "text=--to-command=id")

    assert done.code == 2
    assert "pack was not run: text may not begin with `-` here" in done.stderr


def test_schema_with_references_takes_text_and_is_shown(place: Place, tongs: Run) -> None:
    manifest(
        place,
        "t",
        "name: t\ndescription: d\nkind: command\n"
        "inputs:\n  schema:\n    type: object\n    required: [n, q]\n"
        "    properties: {n: {$ref: '#/$defs/N'}, q: {$ref: '#/$defs/Q'}, any: true}\n"
        "    $defs: {N: {type: integer}, Q: {type: object}}\n"
        "exec: {command: {entrypoint: cat, stdin: {n: '${n}', q: '${q}', any: '${any}'}}}\n",
    )
    tongs("trust", "--yes")

    done = tongs("tool", "run", "t", "n=5", 'q={"a": 1}', "any=x")
    wrong = tongs("tool", "run", "t", "n=five", "q={}")
    shown = tongs("tool", "get", "t")

    assert json.loads(done.stdout) == {"n": 5, "q": {"a": 1}, "any": "x"}
    assert wrong.stderr.endswith("hint: tongs tool run t --param n=3\n")
    assert "n     integer  (required)" in shown.stdout


def test_schema_of_the_output_alone_says_that_it_is_json(place: Place, tongs: Run) -> None:
    text = command("t", "echo", """, args: ['{"a": 1}']""")
    manifest(place, "t", text + "outputs: {schema: {type: object, required: [b]}}\n")
    tongs("trust", "--yes")

    result = json.loads(tongs("tool", "run", "t", "--json").stdout)

    assert result["value"] == {"a": 1}
    assert result["warnings"] == ["the output does not fit its schema: b is required"]
