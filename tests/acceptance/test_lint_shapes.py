"""`tongs lint` for manifests, executables and config files, through the real command."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.conftest import Place, Run

SEED = Path(__file__).parent / "seed_004"
MANIFEST = """\
name: {name}
description: Does it.
kind: command
exec:
  command: {{entrypoint: ./run.sh}}
examples: [{{params: {{}}}}]
tags: [read]
"""
HELLO = """\
#!/bin/sh
touch "$(dirname "$0")/asked" 2>/dev/null
cat <<'EOF'
{"name": "hello", "description": "Say hello.", "tag": ["read"],
 "input_schema": {"type": "object", "properties": {"who": {"type": "string"}}}}
EOF
"""

Found = list[tuple[str, int, str, str]]


def _lint(tongs: Run, place: Place, *arguments: str, **options: Any) -> Found:
    """File below the project, line, severity and rule."""
    report = json.loads(tongs("lint", "--json", *arguments, **options).stdout)
    top = f"{place.project}/"
    return [
        (p["file"].removeprefix(top), p["line"], p["severity"], p["rule"])
        for p in report["problems"]
    ]


def _manifest(folder: Path, name: str, text: str = MANIFEST) -> Path:
    file = folder / name / "tool.yml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text.format(name=name) if text is MANIFEST else text)
    return file


def _executable(file: Path, text: str = HELLO, mode: int = 0o755) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(mode)
    return file


@pytest.fixture
def project(place: Place) -> Path:
    _executable(place.project / "run.sh", "#!/bin/sh\n")
    return place.project


def test_the_manifests_of_the_seed_get_exactly_what_is_wrong_with_them(
    place: Place, tongs: Run
) -> None:
    shutil.copytree(SEED, place.project / ".glee" / "tools")

    assert _lint(tongs, place) == [
        (".glee/tools/repo_scan/tool.yml", 21, "error", "missing-file"),
        (".glee/tools/repo_scan/tool.yml", 37, "note", "no-security-tag"),
        (".glee/tools/repo_stats/tool.yml", 21, "error", "missing-file"),
        (".glee/tools/repo_stats/tool.yml", 24, "warning", "missing-venv"),
        (".glee/tools/repo_stats/tool.yml", 37, "note", "no-security-tag"),
        (".glee/tools/slack_notify/tool.yml", 38, "note", "wide-network"),
        (".glee/tools/web_search/tool.yml", 58, "note", "wide-network"),
    ]


@pytest.mark.parametrize("folder", [".tongs/tools", ".glee/tools"])
def test_manifests_are_found_where_they_lie(
    project: Path, tongs: Run, place: Place, folder: str
) -> None:
    _manifest(project / folder, "clean")
    broken = _manifest(project / folder, "broken", "kind: command\n")

    found = _lint(tongs, place)

    assert {(file, severity, rule) for file, _, severity, rule in found} == {
        (str(broken.relative_to(project)), "error", "schema")
    }


@pytest.mark.parametrize("folder", [".tongs/tools", "kodelet-tools", ".kodelet/tools"])
def test_an_executable_is_not_run_before_it_is_trusted(
    project: Path, tongs: Run, place: Place, folder: str
) -> None:
    file = _executable(project / folder / "hello")
    name = str(file.relative_to(project))

    assert _lint(tongs, place) == [(name, 0, "note", "not-asked")]
    assert not (file.parent / "asked").exists()

    tongs("trust", "--yes")
    assert _lint(tongs, place) == [
        (name, 0, "warning", "ignored-key"),
        (name, 0, "note", "missing-description"),
    ]


def test_an_executable_of_the_user_is_asked_what_it_is(place: Place, tongs: Run) -> None:
    _executable(place.user / "tools" / "hello", HELLO.replace("hello", "other"))
    _executable(place.user / "tools" / "broken", "#!/bin/sh\nexit 3\n")
    top = str(place.user / "tools")

    assert _lint(tongs, place) == [
        (f"{top}/broken", 0, "error", "description"),
        (f"{top}/hello", 0, "warning", "ignored-key"),
        (f"{top}/hello", 0, "note", "missing-description"),
        (f"{top}/hello", 0, "warning", "name-differs"),
    ]


def test_a_script_without_the_executable_bit_is_mentioned(
    project: Path, tongs: Run, place: Place
) -> None:
    _executable(project / ".tongs" / "tools" / "bare", mode=0o644)
    # A Python tool file, and two files that are no program at all.
    _executable(project / ".tongs" / "tools" / "functions.py", mode=0o644)
    _executable(project / ".tongs" / "tools" / "README", "read me\n", mode=0o644)
    _executable(project / ".cycod" / "tools" / "script", mode=0o644)
    _executable(project / "kodelet-tools" / "tool.py", mode=0o644)

    assert _lint(tongs, place) == [
        (".tongs/tools/bare", 0, "warning", "no-executable-bit"),
        (".tongs/tools/functions.py", 0, "note", "not-asked"),
        ("kodelet-tools/tool.py", 0, "warning", "no-executable-bit"),
    ]


def test_names_are_compared_across_shapes(project: Path, tongs: Run, place: Place) -> None:
    place.tool("same", "description: Does it.\ntags: [read]\nbash: ls\n")
    _manifest(project / ".tongs" / "tools", "same")
    _manifest(place.user / "tools", "same", MANIFEST.format(name="same").replace("./run.sh", "ls"))
    _executable(project / ".tongs" / "tools" / "shell")

    assert _lint(tongs, place) == [
        (".tongs/tools/same.yaml", 0, "error", "duplicate-name"),
        (".tongs/tools/same/tool.yml", 1, "error", "duplicate-name"),
        (".tongs/tools/shell", 0, "note", "not-asked"),
        (".tongs/tools/shell", 0, "warning", "reserved-name"),
        (f"{place.user}/tools/same/tool.yml", 1, "note", "shadowed-tool"),
    ]


def test_two_manifests_in_one_directory_are_an_error(
    project: Path, tongs: Run, place: Place
) -> None:
    file = _manifest(project / ".tongs" / "tools", "twin")
    shutil.copy(file, file.with_suffix(".yaml"))

    assert _lint(tongs, place) == [(".tongs/tools/twin/tool.yml", 0, "error", "duplicate-file")]


def test_a_tool_of_the_user_that_others_can_write_is_an_error(place: Place, tongs: Run) -> None:
    text = MANIFEST.format(name="open").replace("./run.sh", "ls")
    file = _manifest(place.user / "tools", "open", text)
    file.parent.chmod(0o777)

    assert _lint(tongs, place) == [(str(file), 0, "error", "place")]


def test_scope_chooses_what_is_reported(project: Path, tongs: Run, place: Place) -> None:
    _executable(project / ".tongs" / "tools" / "bare", mode=0o644)
    _executable(place.user / "tools" / "mine", mode=0o644)

    assert [file for file, *_ in _lint(tongs, place, "--local")] == [".tongs/tools/bare"]
    assert [file for file, *_ in _lint(tongs, place, "--scope", "user")] == [
        f"{place.user}/tools/mine"
    ]


def test_paths_may_be_manifests_directories_and_executables(
    project: Path, tongs: Run, place: Place, tmp_path: Path
) -> None:
    # Outside of any project, paths start where the person is.
    file = _manifest(tmp_path / "elsewhere", "one")
    _manifest(tmp_path / "elsewhere", "two")
    _executable(tmp_path / "elsewhere" / "hello")
    _executable(tmp_path / "elsewhere" / "bare", mode=0o644)

    for paths, count, rules in (
        ([file], 1, []),
        ([file.parent], 1, []),
        ([tmp_path / "elsewhere" / "hello"], 1, ["not-asked"]),
        ([tmp_path / "elsewhere" / "bare"], 1, ["no-executable-bit"]),
        ([tmp_path / "elsewhere"], 4, ["no-executable-bit", "not-asked"]),
    ):
        report = json.loads(tongs("lint", "--json", *map(str, paths)).stdout)
        assert (report["files"], [p["rule"] for p in report["problems"]]) == (count, rules)


def test_a_config_file_is_looked_at_with_the_tools(project: Path, tongs: Run, place: Place) -> None:
    (project / ".tongs" / "config.yml").write_text("security:\n  auto_approve: ['*']\n")
    _executable(project / ".tongs" / "tools" / "bare", mode=0o644)

    assert _lint(tongs, place) == [
        (".tongs/config.yml", 2, "warning", "config-ignored"),
        (".tongs/tools/bare", 0, "warning", "no-executable-bit"),
    ]


def test_a_wrong_config_file_is_a_finding_like_any_other(place: Place, tongs: Run) -> None:
    file = place.user / "config.yml"
    file.write_text("limits: {processes: many}\nsecurtiy: {}\n")

    assert _lint(tongs, place) == [
        (str(file), 1, "error", "schema"),
        (str(file), 2, "error", "schema"),
    ]
    outcome = tongs("lint")
    assert (outcome.code, outcome.stderr) == (
        2,
        "the tools were not looked at: the config has to be mended first\n",
    )
    assert "unknown key `securtiy` (did you mean `security`?)" in outcome.stdout
    assert (
        json.loads(tongs("lint", "--sarif").stdout)["runs"][0]["results"][0]["ruleId"] == "schema"
    )


def test_a_config_file_may_be_named(place: Place, tongs: Run, tmp_path: Path) -> None:
    file = tmp_path / "config.yml"
    file.write_text("limits: 1\n")

    assert _lint(tongs, place, str(file)) == [(str(file), 1, "error", "schema")]


def test_named_configs_and_profiles_are_looked_at(project: Path, tongs: Run, place: Place) -> None:
    folder = project / ".tongs"
    for file, text in (
        ("configs/fast.yml", "limits: {processes: many}\nanything: else\n"),
        ("profiles/work.yaml", "host: here\nlimit: {}\nprofiles: {}\n"),
        ("profiles/good.yml", "limits: {memory: 1GiB}\n"),
    ):
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text(text)
    own = place.user / "configs" / "mine.yml"
    own.parent.mkdir()
    own.write_text("limits: 1\n")
    of_project = [
        (".tongs/configs/fast.yml", 1, "error", "schema"),
        (".tongs/profiles/work.yaml", 2, "error", "definition"),
        (".tongs/profiles/work.yaml", 3, "error", "schema"),
    ]

    assert _lint(tongs, place) == sorted([*of_project, (str(own), 1, "error", "schema")])
    assert _lint(tongs, place, "--local") == of_project
    assert _lint(tongs, place, "--root", str(project)) == of_project
    assert _lint(tongs, place, str(folder / "configs/fast.yml")) == of_project[:1]


def test_a_named_config_is_mended(project: Path, tongs: Run, place: Place) -> None:
    file = project / ".tongs" / "profiles" / "work.yml"
    file.parent.mkdir()
    file.write_text('limits: {processes: "12"}\n')

    tongs("lint", "--fix")

    assert file.read_text() == "limits: {processes: 12}\n"


def test_root_looks_at_all_shapes_of_another_project(
    project: Path, tongs: Run, place: Place, tmp_path: Path
) -> None:
    _manifest(project / ".glee" / "tools", "broken", "kind: command\n")
    _executable(project / "kodelet-tools" / "hello")

    found = _lint(tongs, place, "--root", str(project), cwd=tmp_path)

    assert {(file, rule) for file, _, _, rule in found} == {
        (".glee/tools/broken/tool.yml", "schema"),
        ("kodelet-tools/hello", "not-asked"),
    }


def test_sarif_names_files_from_the_root(project: Path, tongs: Run, place: Place) -> None:
    _executable(project / ".tongs" / "tools" / "bare", mode=0o644)
    (project / "src").mkdir()

    outcome = tongs("lint", "--sarif", cwd=project / "src")

    (run,) = json.loads(outcome.stdout)["runs"]
    (result,) = run["results"]
    assert (outcome.code, outcome.stderr, result["level"], result["locations"]) == (
        0,
        "",
        "warning",
        [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": ".tongs/tools/bare", "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": 1},
                }
            }
        ],
    )


def test_a_tool_directory_that_cannot_be_read_whole_is_an_error(
    project: Path, tongs: Run, place: Place
) -> None:
    file = _manifest(project / ".tongs" / "tools", "deep")
    (file.parent / "assets").mkdir()
    (file.parent / "assets" / "gone").symlink_to("nowhere")

    assert _lint(tongs, place) == [(".tongs/tools/deep/tool.yml", 0, "error", "bundle")]


def test_a_config_that_cannot_be_used_is_reported_as_data(place: Place, tongs: Run) -> None:
    file = place.user / "config.yml"
    file.write_text("limits: {}\n")
    file.chmod(0o666)

    assert _lint(tongs, place) == [(str(file), 0, "error", "place")]


def test_what_a_tool_requires_and_nobody_has_is_a_warning_in_every_shape(
    project: Path, tongs: Run, place: Place
) -> None:
    place.tool("t", "description: d\nbash: echo\ntags: [read]\nrequires: [sh, no-such-program]\n")
    text = MANIFEST.replace("./run.sh", "echo").format(name="m")
    _manifest(project / ".tongs/tools", "m", f"{text}requires:\n- no-such-program\n- bash>=99\n")
    described = HELLO.replace('"tag":', '"requires": ["no-such-program"], "tags":')
    _executable(project / ".tongs/tools/hello", described)

    # To ask for a version is to run something, so nobody asks for a stranger.
    found = _lint(tongs, place)
    tongs("trust", "--yes")
    trusted = _lint(tongs, place)

    missing = ("warning", "missing-requirement")
    assert [each for each in found if each[3] == missing[1]] == [
        (".tongs/tools/m/tool.yml", 9, *missing),
        (".tongs/tools/t.yaml", 4, *missing),
    ]
    assert [each for each in trusted if each[3] == missing[1]] == [
        (".tongs/tools/hello", 0, *missing),
        (".tongs/tools/m/tool.yml", 9, *missing),
        (".tongs/tools/m/tool.yml", 10, *missing),
        (".tongs/tools/t.yaml", 4, *missing),
    ]
