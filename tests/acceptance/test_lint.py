"""`tongs lint`, through the real command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.conftest import Outcome, Place, Run, Show

SEED = Path(__file__).parent / "seed_000"
CLEAN = "description: Does it.\ntags: [read]\nbash: ls\n"

Lint = Callable[..., dict[str, Any]]


@pytest.fixture
def lint(tongs: Run) -> Lint:
    """The JSON report."""

    def run(*arguments: str, **options: Any) -> dict[str, Any]:
        report: dict[str, Any] = json.loads(tongs("lint", "--json", *arguments, **options).stdout)
        return report

    return run


def _short(report: dict[str, Any]) -> list[tuple[str, int, str, str]]:
    return [(Path(p["file"]).name, p["line"], p["severity"], p["rule"]) for p in report["problems"]]


def test_the_examples_of_the_seed_get_exactly_what_is_wrong_with_them(
    place: Place, lint: Lint
) -> None:
    for file in SEED.glob("*.yaml"):
        place.tool(file.stem, file.read_text())

    report = lint()

    assert _short(report) == [
        ("github-commit-stats.yaml", 11, "error", "colon-trap"),
        ("github-commit-stats.yaml", 14, "error", "colon-trap"),
        ("search-code.yaml", 4, "warning", "bare-boolean"),
        ("search-code.yaml", 4, "warning", "bare-boolean"),
        ("search-code.yaml", 4, "note", "missing-end-of-options"),
        ("search-code.yaml", 5, "warning", "arguments-unused"),
        ("weather-lookup.yaml", 4, "note", "url-without-encoding"),
    ]
    assert report["counts"] == {"error": 2, "warning": 3, "note": 2}
    assert report["files"] == 4


def test_a_finding_for_people_says_where_what_why_and_the_fix(place: Place, tongs: Run) -> None:
    place.tool("a", CLEAN.replace("ls", "echo {CITY}"))
    place.tool("b", CLEAN)

    assert tongs("lint") == Outcome(
        ".tongs/tools/a.yaml:3: warning unknown-placeholder: {CITY} names no parameter and stays"
        " as it is\n"
        "    why: an unknown name stays as it is, so the command gets the braces\n"
        "    fix: declare CITY under `parameters:`, or leave it if braces are meant\n"
        "\n"
        "2 files checked: 1 warning\n",
        "",
        0,
    )


def test_a_problem_on_the_wire_has_all_its_parts(place: Place, lint: Lint) -> None:
    file = place.tool("a", CLEAN + "timeout: 30\n")

    assert lint() == {
        "problems": [
            {
                "file": str(file),
                "line": 4,
                "field": "timeout",
                "rule": "suspicious-timeout",
                "severity": "warning",
                "message": "30 milliseconds end a program before it does much",
                "hint": "if seconds are meant: `timeout: 30000`",
                "why": "`timeout` counts milliseconds, and the tool's own covers all its steps",
            }
        ],
        "counts": {"error": 0, "warning": 1, "note": 0},
        "files": 1,
    }


@pytest.mark.parametrize(
    ("text", "plain", "strict"),
    [
        (CLEAN, 0, 0),
        ("tags: [read]\nbash: ls\n", 0, 0),
        (CLEAN + "timeout: 1\n", 0, 2),
        (CLEAN + "nonsense: 1\n", 2, 2),
    ],
)
def test_errors_fail_and_with_strict_warnings_too(
    place: Place, tongs: Run, text: str, plain: int, strict: int
) -> None:
    place.tool("a", text)

    assert (tongs("lint").code, tongs("lint", "--strict").code) == (plain, strict)


def test_clean_tools_are_said_to_be_clean(place: Place, tongs: Run) -> None:
    place.tool("a", CLEAN)

    assert tongs("lint") == Outcome("1 file checked, nothing found\n", "", 0)


def test_a_project_without_tools_is_no_failure(tongs: Run) -> None:
    assert tongs("lint") == Outcome("", "no tools found\nhint: tongs help lint\n", 0)


def test_names_are_compared_across_files_and_scopes(place: Place, lint: Lint) -> None:
    place.tool("one", CLEAN + "name: same\n")
    place.tool("two", CLEAN + "name: same\n")
    place.tool("twin", CLEAN).with_suffix(".yml").write_text(CLEAN)
    place.tool("near", CLEAN)
    place.tool("near", CLEAN, scope="user")
    place.tool("read_file", CLEAN)
    place.tool("caller", CLEAN.replace("bash: ls", "tool: nobody"))
    place.tool("circle", CLEAN.replace("bash: ls", "tool: circle"))

    report = lint()

    assert sorted(_short(report)) == [
        ("caller.yaml", 3, "warning", "unknown-tool"),
        ("circle.yaml", 3, "error", "tool-cycle"),
        ("near.yaml", 0, "note", "shadowed-tool"),
        ("one.yaml", 4, "error", "duplicate-name"),
        ("read_file.yaml", 0, "warning", "reserved-name"),
        ("twin.yaml", 0, "error", "duplicate-file"),
        ("twin.yml", 0, "error", "duplicate-file"),
        ("two.yaml", 4, "error", "duplicate-name"),
    ]
    hidden = next(p for p in report["problems"] if p["rule"] == "shadowed-tool")
    assert hidden["file"] == str(place.user / "tools" / "near.yaml")


def test_root_looks_at_the_project_there_and_at_nothing_else(
    place: Place, lint: Lint, tmp_path: Path
) -> None:
    place.tool("here", CLEAN + "timeout: 1\n")
    place.tool("mine", CLEAN + "timeout: 1\n", scope="user")

    report = lint("--root", str(place.project), cwd=tmp_path)

    assert _short(report) == [("here.yaml", 4, "warning", "suspicious-timeout")]


def test_root_may_be_a_plain_folder_of_definitions(lint: Lint, tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    (folder / "a.yaml").write_text(CLEAN + "timeout: 1\n")
    (folder / "readme.txt").write_text("no tool")

    report = lint("--root", str(folder))

    assert _short(report) == [("a.yaml", 4, "warning", "suspicious-timeout")]
    assert report["files"] == 1


def test_paths_are_files_folders_and_projects(place: Place, lint: Lint, tmp_path: Path) -> None:
    place.tool("inside", CLEAN)
    lone = tmp_path / "lone.yaml"
    lone.write_text(CLEAN)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.yml").write_text(CLEAN)

    report = lint(str(lone), str(tmp_path / "folder"), str(place.project))

    assert (report["problems"], report["files"]) == ([], 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere",), "lint: there is no file or folder `nowhere`"),
        (("--root", "nowhere"), "lint: there is no file or folder `nowhere`"),
        (("--root", ".", "."), "lint: --root and PATH cannot be used together"),
        (("--json", "--sarif"), "lint: --json and --sarif cannot be used together"),
        (("--user", "."), "lint: --scope and PATH cannot be used together"),
        (("--user", "--root", "."), "lint: --scope and --root cannot be used together"),
        (("--dry-run",), "lint: --dry-run needs --fix"),
    ],
)
def test_what_cannot_be_looked_at_or_contradicts_itself_is_a_usage_error(
    tongs: Run, arguments: tuple[str, ...], message: str
) -> None:
    outcome = tongs("lint", *arguments)

    assert (outcome.stdout, outcome.stderr.splitlines()[0], outcome.code) == (
        "",
        f"error: {message}",
        2,
    )


def test_a_user_tool_that_others_can_write_is_an_error(place: Place, lint: Lint) -> None:
    place.tool("open", CLEAN, scope="user").chmod(0o666)

    assert _short(lint()) == [("open.yaml", 0, "error", "place")]


def test_files_that_cannot_be_read_as_yaml_are_errors_beside_the_others(
    place: Place, lint: Lint
) -> None:
    place.tool("good", CLEAN + "timeout: 1\n")
    place.tool("odd", "bash: ls\n\tx: y\n")
    (place.project / ".tongs" / "tools" / "gone.yaml").symlink_to("nowhere")

    assert _short(lint()) == [
        ("gone.yaml", 0, "error", "unreadable"),
        ("good.yaml", 4, "warning", "suspicious-timeout"),
        ("odd.yaml", 2, "error", "yaml"),
    ]


def test_nothing_is_run_and_nothing_is_trusted(place: Place, tongs: Run) -> None:
    place.tool("a", CLEAN.replace("ls", "touch ran"))

    tongs("lint")

    assert not (place.project / "ran").exists()
    assert json.loads(tongs("tool", "list", "--json").stdout)[0]["trust"] == "untrusted"


def test_colour_is_for_terminals_and_for_those_who_ask(place: Place, tongs: Run) -> None:
    place.tool("a", CLEAN + "timeout: 1\n")

    assert "\x1b[" not in tongs("lint").stdout
    assert "\x1b[33mwarning\x1b[0m" in tongs("lint", "--color", "always").stdout


def test_hidden_characters_of_a_definition_never_reach_the_reader(place: Place, tongs: Run) -> None:
    place.tool("a", 'description: Does it.\ntags: [read]\nbash: ls\n"x\\e[31m": 1\n')

    assert "\x1b" not in tongs("lint").stdout


def test_the_report_can_be_read_on_a_terminal(place: Place, screen: Show) -> None:
    place.tool("a", CLEAN + "timeout: 1\n")

    shown = screen("lint")

    assert shown.end() == 0
    assert "\x1b[33mwarning\x1b[0m suspicious-timeout" in shown.raw
