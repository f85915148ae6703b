"""Every example of seed 000, run by the real command as SEMANTICS.md says.

`seed_000/` holds the seed's example tools letter by letter. Only hosts are replaced, by a server on
the loopback interface.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from tests.prepared import TONGS, Prepared, start

SEED = Path(__file__).with_name("seed_000")
EXAMPLES = Path(__file__).parents[2] / "examples"
WITHOUT_USERNS = Path(__file__).parents[1] / "without_userns.py"

COMMITS = [
    {"commit": {"author": {"name": name}}} for name in ("Ada", "Bob's", "Ada", "$(id)", "Ada")
]
ITEMS = {"items": [1, {"name": "two"}]}


@dataclass
class Project:
    """A project folder with a home of its own, and the real command."""

    root: Path
    home: Path
    prepared: Prepared
    # Put before the command, as a host that forbids user namespaces would be around it.
    around: tuple[str, ...] = ()

    def run(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "TONGS_GLOBAL": str(self.home / "etc" / "tongs"),
            "LANG": "C.UTF-8",
            **{key: value for key, value in os.environ.items() if key.startswith("COVERAGE_")},
        }
        if self.around:
            whole = (*self.around, TONGS, *words)
            done = start(whole, cwd=self.root, env=env, stdin=stdin.encode())
        else:
            done = self.prepared.run(words, cwd=self.root, env=env, stdin=stdin.encode())
        output, errors = done.stdout.decode(), done.stderr.decode()
        return subprocess.CompletedProcess(done.args, done.returncode, output, errors)

    def ok(self, *words: str) -> str:
        """What a command that must succeed prints."""
        done = self.run(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def result(self, *words: str) -> dict[str, Any]:
        """The result of `tool run … --json`, whether it succeeded or not."""
        found: dict[str, Any] = json.loads(self.run("tool", "run", *words, "--json").stdout)
        return found

    def define(self, name: str, text: str) -> None:
        """Put a definition into the project and accept it."""
        folder = self.root / ".tongs" / "tools"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
        self.ok("trust", "--yes", name)

    def configure(self, text: str) -> None:
        folder = self.home / ".tongs"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.yml").write_text(text, encoding="utf-8")


@dataclass
class Web:
    """A loopback server that answers like the two services, and remembers what it was asked."""

    address: str
    asked: list[str] = field(default_factory=list)
    bearers: list[str | None] = field(default_factory=list)

    def answer(self, path: str) -> str:
        if path.startswith("/repos/"):
            return json.dumps(COMMITS)
        if path == "/data.json":
            return json.dumps(ITEMS)
        place, _, query = path[1:].partition("?")
        return f"{unquote(place)}: sunny ({query})\n"


@pytest.fixture
def project(tmp_path: Path, prepared: Prepared) -> Project:
    root, home = tmp_path / "project", tmp_path / "home"
    (root / ".tongs").mkdir(parents=True)
    home.mkdir()
    return Project(root, home, prepared)


@pytest.fixture
def web() -> Iterator[Web]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            service.asked.append(self.path)
            service.bearers.append(self.headers.get("Authorization"))
            body = service.answer(self.path).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its given name
            """A test has nothing to say."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        service = Web(f"127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield service
        server.shutdown()
        thread.join()


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Everything below it, with its time of change, but for the record that Tongs itself keeps."""
    return {
        str(path): (path.read_bytes() if path.is_file() else b"", path.stat().st_mtime_ns)
        for path in (folder, *folder.rglob("*"))
        if "audit" not in path.parts
    }


def seed(name: str) -> str:
    return (SEED / f"{name}.yaml").read_text(encoding="utf-8")


def example(name: str) -> str:
    return (EXAMPLES / ".tongs" / "tools" / f"{name}.yaml").read_text(encoding="utf-8")


# --- weather-lookup -------------------------------------------------------------------------------


def test_weather_lookup_asks_the_service_with_the_default_format(
    project: Project, web: Web
) -> None:
    project.define("weather-lookup", seed("weather-lookup").replace("wttr.in", web.address))

    output = project.ok("tool", "run", "weather-lookup", "--param", "LOCATION=London")

    assert output == "London: sunny (format=3)\n"
    assert web.asked == ["/London?format=3"]


def test_weather_lookup_as_printed_fails_on_a_blank_and_the_url_form_does_not(
    project: Project, web: Web
) -> None:
    text = seed("weather-lookup").replace("wttr.in", web.address)
    project.define("weather-lookup", text)
    printed = project.result("weather-lookup", "LOCATION=New York")

    project.define("weather-lookup", text.replace("{LOCATION}", "{URL:LOCATION}"))
    encoded = project.result("weather-lookup", "LOCATION=New York")

    assert (printed["error"]["code"], printed["metadata"]["exitCode"]) == ("EXECUTION_ERROR", 3)
    assert (encoded["ok"], encoded["output"]) == (True, "New York: sunny (format=3)\n")
    assert web.asked == ["/New%20York?format=3"]


@pytest.mark.parametrize("value", ["'; touch canary; '", "$(touch canary)", "`touch canary`"])
def test_weather_lookup_runs_no_code_of_a_hostile_location(
    project: Project, web: Web, value: str
) -> None:
    text = seed("weather-lookup").replace("wttr.in", web.address)
    project.define("weather-lookup", text.replace("{LOCATION}", "{URL:LOCATION}"))

    result = project.result("weather-lookup", f"LOCATION={value}")

    assert result["output"] == f"{value}: sunny (format=3)\n"
    assert not (project.root / "canary").exists()


# --- github-commit-stats --------------------------------------------------------------------------


def test_github_commit_stats_as_printed_is_invalid_and_the_error_says_how_to_write_it(
    project: Project,
) -> None:
    folder = project.root / ".tongs" / "tools"
    folder.mkdir()
    path = folder / "github-commit-stats.yaml"
    path.write_text(seed("github-commit-stats"), encoding="utf-8")

    refused = project.run(
        "tool", "run", "github-commit-stats", "--param", "OWNER=a", "--param", "REPO=b"
    )
    listed = project.run("tool", "list")

    assert refused.returncode == 2
    # The two steps with `: ` in a plain scalar, both at once.
    assert f"{path}:11: " in refused.stderr
    assert f"{path}:14: " in refused.stderr
    assert "bash: |" in refused.stderr
    assert "[broken]" in listed.stdout


def as_block_scalars(text: str) -> str:
    """The change that the error message asks for."""
    return text.replace("    bash: echo", "    bash: |\n      echo")


def with_host(text: str, web: Web) -> str:
    return text.replace("https://api.github.com", f"http://{web.address}")


STATS = "Ada: 3 commits\nBob's: 1 commits\n$(id): 1 commits\n"


def test_github_commit_stats_counts_authors_over_three_steps(project: Project, web: Web) -> None:
    text = with_host(as_block_scalars(seed("github-commit-stats")), web)
    project.define("github-commit-stats", text)

    result = project.result("github-commit-stats", "--param", "OWNER=o", "--param", "REPO=r")

    assert result["ok"], result["error"]
    assert sorted(result["output"].splitlines()) == sorted(STATS.splitlines())
    assert [step["name"] for step in result["metadata"]["steps"]] == [
        "fetch-commits",
        "count-authors",
        "format-output",
    ]
    assert web.asked == ["/repos/o/r/commits?per_page=10"]


def test_an_absent_token_sets_no_variable_and_a_given_one_arrives(
    project: Project, web: Web
) -> None:
    project.define("github-commit-stats", with_host(example("github-commit-stats"), web))

    project.ok("tool", "run", "github-commit-stats", "OWNER=o", "REPO=r")
    project.ok("tool", "run", "github-commit-stats", "OWNER=o", "REPO=r", "AUTH_TOKEN=t0ken")

    assert web.bearers == [None, "Bearer t0ken"]


# --- analyze-data ---------------------------------------------------------------------------------


@pytest.fixture
def data(project: Project) -> str:
    """A CSV file with a hostile name, and pandas by way of the user's config."""
    project.configure(f"interpreters:\n  python: {sys.executable}\n")
    name = 'it\'s {COLUMN} "data".csv'
    (project.root / name).write_text("city,size\nOslo,1\nRome,3\nOslo,5\n", encoding="utf-8")
    return name


@pytest.mark.parametrize("source", [seed, example])
def test_analyze_data_describes_the_columns_by_default(
    project: Project, data: str, source: Any
) -> None:
    project.define("analyze-data", source("analyze-data"))

    output = project.ok("tool", "run", "analyze-data", f"FILE_PATH={data}")

    assert ["mean", "3.0"] in [line.split() for line in output.splitlines()]


@pytest.mark.parametrize("source", [seed, example])
def test_analyze_data_shows_as_many_rows_as_asked_for(
    project: Project, data: str, source: Any
) -> None:
    project.define("analyze-data", source("analyze-data"))

    output = project.ok(
        *("tool", "run", "analyze-data", f"FILE_PATH={data}"),
        *("--param", "ANALYSIS_TYPE=head", "--param", "NUM_ROWS=2"),
    )

    assert [line.split() for line in output.splitlines()] == [
        ["city", "size"],
        ["0", "Oslo", "1"],
        ["1", "Rome", "3"],
    ]


@pytest.mark.parametrize("source", [seed, example])
def test_analyze_data_lists_the_values_of_a_column(
    project: Project, data: str, source: Any
) -> None:
    project.define("analyze-data", source("analyze-data"))

    words = (f"FILE_PATH={data}", "ANALYSIS_TYPE=unique", "COLUMN=city")
    output = project.ok("tool", "run", "analyze-data", *words)

    assert output.index("Oslo") < output.index("Rome")


def test_analyze_data_runs_no_code_of_a_hostile_column(project: Project, data: str) -> None:
    project.define("analyze-data", seed("analyze-data"))
    hostile = "'] or open('canary', 'w') or data['city"

    words = (f"FILE_PATH={data}", "ANALYSIS_TYPE=unique", f"COLUMN={hostile}")
    result = project.result("analyze-data", *words)

    assert "KeyError" in result["metadata"]["stderr"]
    assert not (project.root / "canary").exists()


# --- search-code ----------------------------------------------------------------------------------


@pytest.fixture
def tree(project: Project) -> None:
    source = project.root / "src"
    (source / "deep").mkdir(parents=True)
    (source / "a.py").write_text("# TODO one\nmastodon = 1\n", encoding="utf-8")
    (source / "deep" / "b.py").write_text("# todo two\n", encoding="utf-8")
    (source / "notes.txt").write_text("TODO three\n", encoding="utf-8")


def with_mappings(text: str) -> str:
    """The seed's comments about the two booleans, as keys."""
    case, word = "    # This will be converted to -i", "    # This will be converted to -w"
    return text.replace(case, f"    false-value: -i\n{case}").replace(
        word, f"    true-value: -w\n{word}"
    )


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["FILE_TYPE=py"], ["a.py:# TODO one", "a.py:mastodon = 1", "deep/b.py:# todo two"]),
        (["FILE_TYPE=py", "WHOLE_WORD=true"], ["a.py:# TODO one", "deep/b.py:# todo two"]),
        (["FILE_TYPE=py", "CASE_SENSITIVE=true"], ["a.py:# TODO one"]),
        (["CASE_SENSITIVE=true"], ["a.py:# TODO one", "notes.txt:TODO three"]),
        (["CASE_SENSITIVE=true", "WHOLE_WORD=true", "FILE_TYPE=txt"], ["notes.txt:TODO three"]),
    ],
)
@pytest.mark.parametrize("source", ["seed", "example"])
@pytest.mark.usefixtures("tree")
def test_search_code_maps_its_two_booleans_to_options(
    project: Project, source: str, words: list[str], found: list[str]
) -> None:
    texts = {"seed": with_mappings(seed("search-code")), "example": example("search-code")}
    project.define("search-code", texts[source])
    pattern = "TOD[O]" if "CASE_SENSITIVE=true" in words else "tod[o]"

    output = project.ok("tool", "run", "search-code", f"PATTERN={pattern}", "DIRECTORY=src", *words)

    assert sorted(output.splitlines()) == [f"src/{line}" for line in found]


@pytest.mark.usefixtures("tree")
def test_search_code_without_mappings_greps_for_false(project: Project) -> None:
    project.define("search-code", seed("search-code"))

    shown = project.ok(
        *("tool", "run", "search-code", "--param", "PATTERN=TODO", "--param", "DIRECTORY=./src"),
        "--show-command",
    )

    assert shown.splitlines()[:2] == ["__t0='false'", "__t1='false'"]
    assert shown.splitlines()[-1].startswith('grep -r "${__t0}" "${__t1}" "${__t2}"')


@pytest.mark.usefixtures("tree")
def test_arguments_of_a_script_are_its_positional_ones_and_not_appended(project: Project) -> None:
    project.define("search-code", with_mappings(seed("search-code")))

    words = ("PATTERN=TODO", "DIRECTORY=src", "FILE_TYPE=txt", "OUTPUT_FILE=found.txt")
    output = project.ok("tool", "run", "search-code", *words)

    # Appended, grep would stop at an unknown option.
    assert output == "src/notes.txt:TODO three\n"


# --- process-data ---------------------------------------------------------------------------------

ADD_PROCESS_DATA = (
    *("tool", "add", "process-data", "--description", "Process data from a file"),
    *("--step", "fetch", "curl -s '{URL}' > data.json"),
    *("--step", "process", "jq '.items' data.json"),
    *("--step", "cleanup", "rm data.json"),
    *("--parameter", "URL", "URL to fetch data from", "required=true"),
    *("--tag", "api", "--tag", "read"),
)


def test_process_data_runs_its_three_steps_and_gives_the_last_ones_output(
    project: Project, web: Web
) -> None:
    project.ok(*ADD_PROCESS_DATA)

    result = project.result("process-data", "--param", f"URL=http://{web.address}/data.json")

    assert result["ok"], result["error"]
    assert result["output"] == ""  # `rm` is the last step and says nothing
    steps = {step["name"]: step for step in result["metadata"]["steps"]}
    assert json.loads(steps["process"]["stdout"]) == ITEMS["items"]
    assert [step["exitCode"] for step in steps.values()] == [0, 0, 0]
    assert "scratch-view" in result["metadata"]["enforced"]
    assert not (project.root / "data.json").exists()


@pytest.mark.parametrize("steps", [("fetch", "process", "cleanup"), ("fetch", "process")])
def test_what_process_data_writes_is_shared_by_its_steps_and_changes_nothing(
    project: Project, web: Web, steps: tuple[str, ...]
) -> None:
    project.ok(*ADD_PROCESS_DATA)
    file = project.root / ".tongs" / "tools" / "process-data.yaml"
    if "cleanup" not in steps:
        text = file.read_text(encoding="utf-8")
        kept = text.replace("  - name: cleanup\n    script: rm data.json\n", "")
        file.write_text(kept, encoding="utf-8")
        project.ok("trust", "--yes", "process-data")
    # A file of the same name, of which the call sees what it wrote itself.
    (project.root / "data.json").write_text("mine\n", encoding="utf-8")
    before = snapshot(project.root)

    result = project.result("process-data", f"URL=http://{web.address}/data.json")

    assert [step["name"] for step in result["metadata"]["steps"]] == list(steps)
    assert json.loads(result["metadata"]["steps"][1]["stdout"]) == ITEMS["items"]
    assert snapshot(project.root) == before


def test_process_data_without_user_namespaces_is_told_which_tag_it_needs(
    project: Project, web: Web
) -> None:
    project.ok(*ADD_PROCESS_DATA)
    project.around = (sys.executable, str(WITHOUT_USERNS), "--")
    before = snapshot(project.root)
    words = ("process-data", f"URL=http://{web.address}/data.json")

    refused = project.result(*words)

    assert "scratch-view" in refused["metadata"]["notEnforced"]
    assert refused["error"]["code"] == "EXECUTION_ERROR"
    assert refused["error"]["details"]["step"] == "fetch"
    assert ", or add the tag `write`" in refused["error"]["details"]["hint"]
    assert "or add the tag `write`" in project.run("tool", "run", *words).stderr
    assert snapshot(project.root) == before

    file = project.root / ".tongs" / "tools" / "process-data.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("[api, read]", "[api, write]"), encoding="utf-8")
    project.ok("trust", "--yes", "process-data")
    assert project.result(*words)["ok"]


def test_a_failing_step_stops_the_tool_and_is_named(project: Project, web: Web) -> None:
    project.ok(*ADD_PROCESS_DATA)

    # The server answers with a line of text, which is no JSON.
    result = project.result("process-data", "--param", f"URL=http://{web.address}/London")

    assert result["error"]["code"] == "EXECUTION_ERROR"
    assert result["error"]["details"]["step"] == "process"
    assert [step["name"] for step in result["metadata"]["steps"]] == ["fetch", "process"]


def test_the_example_process_data_prints_the_items_and_leaves_nothing(
    project: Project, web: Web
) -> None:
    project.define("process-data", example("process-data"))
    before = sorted(path.name for path in project.root.iterdir())

    output = project.ok("tool", "run", "process-data", f"URL=http://{web.address}/data.json")

    assert json.loads(output) == ITEMS["items"]
    assert sorted(path.name for path in project.root.iterdir()) == before


# --- the commands as the seed types them ----------------------------------------------------------

ADD_WEATHER = (
    *("tool", "add", "weather-lookup", "--description", "Get weather for a location"),
    *("--bash", "curl -s 'wttr.in/{LOCATION}?format={FORMAT}'"),
    *("--parameter", "LOCATION", "City or airport code", "required=true"),
    *("--parameter", "FORMAT", "Output format", "default=3"),
    *("--tag", "weather", "--tag", "api", "--tag", "read"),
)


def at(web: Web, words: tuple[str, ...]) -> list[str]:
    return [word.replace("wttr.in", web.address) for word in words]


def test_weather_lookup_is_added_shown_run_and_removed(project: Project, web: Web) -> None:
    project.ok(*at(web, ADD_WEATHER), "--timeout", "10000")

    assert "City or airport code" in project.ok("tool", "get", "weather-lookup")
    assert "weather-lookup" in project.ok("tool", "list")
    assert "weather-lookup" not in project.ok("tool", "list", "--scope", "global")
    output = project.ok("tool", "run", "weather-lookup", "--param", "LOCATION=London")
    assert output == "London: sunny (format=3)\n"
    project.ok("tool", "remove", "weather-lookup")
    assert project.run("tool", "get", "weather-lookup").returncode == 2


def test_added_weather_lookup_has_the_inputs_of_the_seeds_file(project: Project) -> None:
    project.ok(*ADD_WEATHER, "--timeout", "10000")
    added = json.loads(project.ok("tool", "get", "weather-lookup", "--json"))

    project.define("weather-lookup", seed("weather-lookup"))
    written = json.loads(project.ok("tool", "get", "weather-lookup", "--json"))

    same = ("name", "description", "inputSchema", "tags", "level", "timeoutMs")
    defaulted = written["inputSchema"]["properties"]["LOCATION"]
    assert defaulted == {"type": "string", "description": "City or airport code"}
    assert {key: added[key] for key in same} == {key: written[key] for key in same}


@pytest.mark.parametrize("scope", [["--scope", "user"], ["--user"], ["-u"]])
def test_both_spellings_of_a_scope_work_with_every_command(
    project: Project, web: Web, scope: list[str]
) -> None:
    project.ok(*at(web, ADD_WEATHER), *scope)

    assert "weather-lookup" in project.ok("tool", "list", *scope)
    assert "user" in project.ok("tool", "get", "weather-lookup", *scope)
    assert project.run("tool", "get", "weather-lookup", "--scope", "local").returncode == 2
    assert project.ok("tool", "run", "weather-lookup", "--param", "LOCATION=Bonn", *scope)
    project.ok("tool", "remove", "weather-lookup", *scope)
    assert project.ok("tool", "list", "--json").strip() == "[]"


def test_commit_stats_runs_from_the_user_scope(project: Project, web: Web) -> None:
    folder = project.home / ".tongs" / "tools"
    folder.mkdir(parents=True)
    text = with_host(as_block_scalars(seed("github-commit-stats")), web)
    (folder / "github-commit-stats.yaml").write_text(text, encoding="utf-8")

    words = ("--param", "OWNER=microsoft", "--param", "REPO=vscode", "--scope", "user")
    output = project.ok("tool", "run", "github-commit-stats", *words)

    assert sorted(output.splitlines()) == sorted(STATS.splitlines())
    assert web.asked == ["/repos/microsoft/vscode/commits?per_page=10"]


@pytest.mark.parametrize("what", ["tool:read", "tool:weather"])
def test_auto_approve_stands_before_the_command(project: Project, web: Web, what: str) -> None:
    project.ok(*at(web, ADD_WEATHER))

    run = ("tool", "run", "weather-lookup", "--param", "LOCATION=London")
    assert project.ok("--auto-approve", what, *run) == "London: sunny (format=3)\n"
    assert project.run("--auto-approve", what, "--auto-deny", what, *run).returncode == 3


@pytest.mark.parametrize(
    "topic",
    [
        *("tool", "tool add", "tool get", "tool list", "tool remove", "tool run", "tools"),
        "find scope --expand",
    ],
)
def test_every_help_page_of_the_seed_exists(project: Project, topic: str) -> None:
    assert len(project.ok("help", *topic.split()).splitlines()) > 5


# --- the small examples ---------------------------------------------------------------------------

SMALL = {
    "simple-tool": """
name: simple-tool
description: A simple tool
bash: printf '<%s>' {PARAM}
parameters:
  PARAM:
    type: string
    description: A parameter
""",
    "multi-step-tool": """
name: multi-step-tool
description: A tool with multiple steps
steps:
  - name: step1
    bash: printf '%s' {PARAM}; echo problem >&2
  - name: step2
    bash: printf '<%s>' {step1.stdout} {step1.stderr} {step1.exit-code}
parameters:
  PARAM:
    type: string
    description: A parameter
""",
    "with-arguments": """
bash: printf '<%s>' "$@"
arguments:
  arg1: "{PARAM}"
  arg2: "{OTHER}"
parameters:
  PARAM: {}
  OTHER: {default: "3"}
""",
    "with-raw": """
bash: printf '<%s>' {PARAM} {RAW:CODE}
parameters:
  PARAM: {}
  CODE: {default: "$((1 + 1))"}
""",
    "with-environment": """
bash: printf '<%s>' "$API_KEY" "$DEBUG" "${PATH##*:}"
environment:
  API_KEY: "{PARAM}"
  DEBUG: "true"
  PATH: "${PATH}:/usr/local/bin"
parameters:
  PARAM: {}
""",
}


@pytest.mark.parametrize(
    ("name", "output"),
    [
        ("simple-tool", "<a b; touch canary>"),
        ("multi-step-tool", "<a b; touch canary><problem><0>"),
        ("with-arguments", "<--arg1><a b; touch canary><--arg2><3>"),
        ("with-raw", "<a b; touch canary><2>"),
        ("with-environment", "<a b; touch canary><true></usr/local/bin>"),
    ],
)
def test_small_examples_carry_the_exact_value(project: Project, name: str, output: str) -> None:
    project.define(name, SMALL[name])

    assert project.ok("tool", "run", name, "PARAM=a b; touch canary") == output
    assert not (project.root / "canary").exists()


def test_tools_in_the_folders_of_the_seeds_program_are_found(project: Project, web: Web) -> None:
    folder = project.root / ".cycod" / "tools"
    folder.mkdir(parents=True)
    text = seed("weather-lookup").replace("wttr.in", web.address)
    (folder / "weather-lookup.yaml").write_text(text, encoding="utf-8")

    project.ok("trust", "--yes", "weather-lookup")
    output = project.ok("tool", "run", "cycod:weather-lookup", "LOCATION=London")

    assert output == "London: sunny (format=3)\n"


# --- our own versions -----------------------------------------------------------------------------


def test_the_examples_folder_lists_five_usable_tools(project: Project) -> None:
    shutil.copytree(EXAMPLES / ".tongs", project.root / ".tongs", dirs_exist_ok=True)

    listed = json.loads(project.ok("tool", "list", "--json"))

    assert [tool["name"] for tool in listed] == [
        *("analyze-data", "github-commit-stats", "process-data"),
        *("search-code", "weather-lookup"),
    ]
    assert not [tool["name"] for tool in listed if tool["problems"]]


def test_the_examples_are_clean_for_lint(project: Project) -> None:
    shutil.copytree(EXAMPLES / ".tongs", project.root / ".tongs", dirs_exist_ok=True)

    done = project.run("lint", "--json")

    assert (done.returncode, json.loads(done.stdout)["problems"]) == (0, [])


def test_the_example_weather_lookup_encodes_what_it_is_given(project: Project, web: Web) -> None:
    text = example("weather-lookup").replace("https://wttr.in", f"http://{web.address}")
    project.define("weather-lookup", text)

    output = project.ok("tool", "run", "weather-lookup", "LOCATION=São Paulo?/#")

    assert output == "São Paulo?/#: sunny (format=3)\n"
