"""Completion, through the callback and through real shells."""

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.acceptance.conftest import TONGS, Place, Run
from tests.screen import Screen

SHELLS = ("bash", "zsh", "fish")


@pytest.fixture
def tools(place: Place) -> Place:
    place.tool(
        "weather",
        "description: Get weather\nbash: echo {LOCATION} {FORMAT}\n"
        "parameters:\n  LOCATION: {}\n  FORMAT: {default: '3'}\n",
    )
    place.tool("greet", "bash: 'true'\n", scope="user")
    return place


def program(name: str) -> str:
    """A shell to complete in; `make test` fetches those that are missing."""
    found = shutil.which(name)
    assert found is not None, f"{name} is missing: make programs"
    return found


def completed(place: Place, line: str) -> list[str]:
    """What real bash offers for a line, with the cursor at its end."""
    script = """
        source <("$1" completion bash)
        COMP_LINE=$2 COMP_POINT=${#2}
        # Bash itself splits at its break characters, and so the words that the function sees.
        COMP_WORDS=(tongs) COMP_CWORD=0
        _tongs 2>/dev/null
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    tongs_on_path = place.project / "bin"
    tongs_on_path.mkdir(exist_ok=True)
    link = tongs_on_path / "tongs"
    if not link.exists():
        link.symlink_to(TONGS)
    env = {**place.env, "PATH": f"{tongs_on_path}:{place.env['PATH']}"}
    done = subprocess.run(
        ["bash", "--norc", "-c", script, "_", TONGS, line],
        cwd=place.project,
        env=env,
        capture_output=True,
        check=True,
    )
    return done.stdout.decode().splitlines()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        (
            "tongs ",
            [
                *("tool", "tools", "mcp", "run", "chat", "trust", "review", "approvals", "lint"),
                *("schema", "config", "trash", "models", "doctor", "sandbox", "rules", "audit"),
                *("completion", "help"),
            ],
        ),
        ("tongs to", ["tool", "tools"]),
        ("tongs tools ", ["export"]),
        ("tongs tools export --format op", ["openai", "openai-responses", "openai-flat"]),
        ("tongs tool a", ["add"]),
        ("tongs tool ne", ["new"]),
        ("tongs mcp install c", ["claude-code", "codex", "cursor", "claude-desktop"]),
        ("tongs mcp import --client g", ["gemini"]),
        ("tongs tool new x --shape ", ["yaml", "executable", "manifest"]),
        ("tongs tool new x --lang n", ["node"]),
        ("tongs tool test we", ["weather"]),
        ("tongs tool test greet we", ["weather"]),
        ("tongs tool validate we", ["weather"]),
        ("tongs tool import --op", ["--openapi", "--operation"]),
        ("tongs -v tool r", ["remove", "run"]),
        ("tongs --color ", ["auto", "always", "never"]),
        ("tongs tool run ", ["greet", "weather"]),
        ("tongs tool run we", ["weather"]),
        ("tongs tool get --user gr", ["greet"]),
        ("tongs tool run weather ", ["LOCATION=", "FORMAT="]),
        ("tongs tool run weather LO", ["LOCATION="]),
        ("tongs tool run weather --param F", ["FORMAT="]),
        ("tongs tool run weather --json --param F", ["FORMAT="]),
        ("tongs tool list --scope ", ["local", "user", "global", "any"]),
        ("tongs tool add x --scope ", ["local", "user", "global"]),
        ("tongs tool list --js", ["--json"]),
        ("tongs tool run --show", ["--show-command"]),
        ("tongs --auto-app", ["--auto-approve"]),
        ("tongs --auto-approve we", ["weather"]),
        ("tongs sandbox ", ["run", "explain"]),
        ("tongs sandbox explain we", ["weather"]),
        ("tongs sandbox run --no-n", ["--no-network"]),
        ("tongs doctor --j", ["--json"]),
        ("tongs completion ", ["bash", "zsh", "fish"]),
        ("tongs help tool l", ["list"]),
        ("tongs help tr", ["trash", "trust"]),
        ("tongs trust w", ["weather"]),
        ("tongs tool run 'we", ["weather"]),
        ("tongs nonsense ", [""]),
    ],
)
def test_bash_offers_what_fits(tools: Place, line: str, offered: list[str]) -> None:
    assert completed(tools, line) == offered


def test_bash_gets_answers_without_what_it_splits_off(tools: Place) -> None:
    assert completed(tools, "tongs --auto-approve tool:r") == ["read", "run"]


def test_bash_completes_in_a_real_interactive_shell(tools: Place) -> None:
    shell = Screen(
        ["bash", "--norc", "--noprofile", "-i"],
        cwd=tools.project,
        env={**tools.env, "PS1": "> ", "PATH": f"{Path(TONGS).parent}:{tools.env['PATH']}"},
    )
    try:
        shell.wait_for("> ")
        shell.type("source <(tongs completion bash); echo rea''dy\n")
        shell.wait_for("ready\n")
        shell.type("tongs tool ru\twea\tLOC\t")
        shell.wait_for("tongs tool run weather LOCATION=")
        shell.type("x\n")
        shell.wait_for("trust weather? [y/N] ")
        shell.type("y\n")
        shell.wait_for("x 3\n")
        shell.type("exit\n")
        assert shell.end() == 0
    finally:
        shell.close()


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_get_values_with_descriptions(
    tools: Place, tongs: Run, shell: str
) -> None:
    answer = tongs("__complete", shell, "--", "tool", "run", "")
    assert answer.stdout == "words\ngreet\t\nweather\tGet weather\n"
    parameters = tongs("__complete", shell, "--", "tool", "run", "weather", "--param", "L")
    assert parameters.stdout == "words\nLOCATION=\t\n"
    assert tongs("__complete", shell, "--", "--load-tool", "").stdout == "files\n"
    assert tongs("__complete", shell, "--", "--load-tools", "").stdout == "folders\n"
    assert tongs("__complete", shell, "--", "sandbox", "run", "--read", "").stdout == "files\n"
    assert tongs("__complete", shell, "--", "sandbox", "run", "--scratch", "").stdout == "folders\n"
    assert tongs("__complete", shell, "--", "sandbox", "run", "--", "ls", "").stdout == "files\n"
    assert tongs("__complete", shell, "--", "lint", "").stdout == "files\n"
    assert (
        tongs("__complete", shell, "--", "schema", "m").stdout.split("\t")[0] == "words\nmanifest"
    )
    options = tongs("__complete", shell, "--", "tool", "list", "--j")
    assert options.stdout == "words\n--json\t\n"


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_accepted_by_its_shell(tongs: Run, tmp_path: Path, shell: str) -> None:
    script = tongs("completion", shell)
    assert (script.stderr, script.code) == ("", 0)
    assert "__complete" in script.stdout
    file = tmp_path / f"completion.{shell}"
    file.write_text(script.stdout, encoding="utf-8")
    subprocess.run([program(shell), "-n", str(file)], check=True, timeout=30)


def test_an_unknown_shell_is_refused(tongs: Run) -> None:
    assert tongs("completion", "tcsh").code == 2


def test_completion_starts_nothing_and_survives_broken_tools(place: Place, tongs: Run) -> None:
    place.tool("bad", "bash: [\n")
    assert tongs("__complete", "fish", "--", "tool", "remove", "").stdout == "words\nbad\t\n"


def test_fish_offers_what_fits(tools: Place) -> None:
    done = subprocess.run(
        [
            program("fish"),
            "--no-config",
            "-c",
            "tongs completion fish | source; complete -C 'tongs tool run '",
        ],
        cwd=tools.project,
        env={**tools.env, "PATH": f"{Path(TONGS).parent}:{tools.env['PATH']}"},
        capture_output=True,
        check=True,
    )
    assert done.stdout.decode().splitlines() == ["greet", "weather\tGet weather"]


def test_zsh_completes_in_a_real_interactive_shell(tools: Place) -> None:
    shell = Screen(
        [program("zsh"), "--no-rcs", "-i"],
        cwd=tools.project,
        env={**tools.env, "PS1": "> ", "PATH": f"{Path(TONGS).parent}:{tools.env['PATH']}"},
    )
    try:
        shell.wait_for("> ")
        shell.type("autoload -Uz compinit; compinit -D -u; source <(tongs completion zsh)\n")
        shell.wait_for("> ")
        shell.type("echo rea''dy\n")
        shell.wait_for("ready\n")
        shell.type("tongs tool run wea\tLOC\t")
        shell.wait_for("LOCATION=")
        # The editor draws the line in pieces; that the command runs shows what it holds.
        shell.type("x\n")
        shell.wait_for("trust weather? [y/N] ")
        shell.type("y\n")
        shell.wait_for("x 3\n")
        shell.type("exit\n")
        assert shell.end() == 0
    finally:
        shell.close()
