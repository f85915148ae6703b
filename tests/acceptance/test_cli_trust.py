"""Tools that came with a project run only after a person accepted them."""

import json
import os
import shlex
import sys
from pathlib import Path

import pytest
from tests.acceptance.conftest import TONGS, Outcome, Place, Run, Show

import tongs as package

TEXT = "description: From afar\nbash: echo ran\n"


def test_a_stranger_is_refused_with_the_command_to_type(place: Place, tongs: Run) -> None:
    place.tool("t", TEXT)
    done = tongs("tool", "run", "t")
    assert (done.stdout, done.code) == ("", 3)
    assert done.stderr.startswith("denied: t was not run: ")
    assert f"tongs trust {place.project}/.tongs/tools/t.yaml\n" in done.stderr
    assert tongs("tool", "run", "t", "--yes", "--auto-approve", "*").code == 3


def test_without_a_terminal_trust_needs_yes(place: Place, tongs: Run) -> None:
    file = place.tool("t", TEXT)
    refused = tongs("trust", "t", stdin=b"y\n")
    assert (refused.stdout, refused.code) == ("", 3)
    assert "hint: read it, then: tongs trust --yes t\n" in refused.stderr
    assert tongs("trust", "--yes", "t") == Outcome("", f"trusted t: {file}\n", 0)
    assert tongs("tool", "run", "t") == Outcome("ran\n", "", 0)
    assert tongs("trust", "t") == Outcome("", f"t is trusted already: {file}\n", 0)


def test_a_change_ends_the_trust(place: Place, tongs: Run) -> None:
    file = place.tool("t", TEXT)
    tongs("trust", "--yes", str(file))
    file.write_text(TEXT.replace("ran", "changed"), encoding="utf-8")
    assert "[changed]" in tongs("tool", "list").stdout
    assert tongs("tool", "run", "t").code == 3


def test_trust_is_listed_and_revoked(place: Place, tongs: Run) -> None:
    file = place.tool("t", TEXT)
    assert tongs("trust", "--list") == Outcome("", "nothing has been accepted\n", 0)
    tongs("trust", "--yes", "t")
    listed = tongs("trust", "--list").stdout.splitlines()
    assert listed[0].split() == ["KIND", "ACCEPTED", "HASH", "PATH"]
    assert listed[1].split()[0] == "tool"
    assert listed[1].split()[-1] == str(file)
    assert tongs("trust", "--revoke", "t").code == 0
    assert tongs("tool", "run", "t").code == 3
    assert tongs("trust", "--revoke", "t").code == 2
    assert tongs("trust", "--revoke").code == 2


def test_links_bring_no_acceptance_into_another_project(place: Place, tongs: Run) -> None:
    (place.project / "build.sh").write_text("echo mine\n")
    place.tool("build", "bash: bash build.sh\n")
    config = place.project / ".tongs" / "config.yml"
    config.write_text("security: {auto_approve: ['*']}\n")
    tongs("trust", "--yes")
    assert tongs("tool", "run", "build").stdout == "mine\n"

    stranger = place.project.parent / "stranger"
    stranger.mkdir()
    (stranger / ".git").touch()
    (stranger / ".tongs").symlink_to(place.project / ".tongs")
    (stranger / "build.sh").write_text("echo theirs\n")

    assert tongs("tool", "run", "build", cwd=stranger).code == 3
    assert tongs("config", "get", "security.auto_approve", cwd=stranger).code != 0
    # It would have run the stranger's script, as it does once a person accepts it there.
    tongs("trust", "--yes", cwd=stranger)
    assert tongs("tool", "run", "build", cwd=stranger).stdout == "theirs\n"
    assert tongs("config", "get", "security.auto_approve", cwd=stranger).code == 0


def test_everything_of_a_project_is_accepted_at_once(place: Place, tongs: Run) -> None:
    place.tool("a", TEXT)
    place.tool("b", TEXT)
    place.tool("bad", "bash: a\nrun: b\n")
    config = place.project / ".tongs" / "config.yml"
    config.write_text("security:\n  auto_approve: [a]\n", encoding="utf-8")
    done = tongs("trust", "--yes")
    assert done.code == 0
    assert done.stderr.count("trusted ") == 3
    assert tongs("tool", "run", "a").stdout == "ran\n"
    assert tongs("trust") == Outcome("", "nothing here waits to be trusted\n", 0)
    assert "config" in tongs("trust", "--list").stdout


def test_on_a_terminal_the_definition_is_shown_and_asked_about(place: Place, screen: Show) -> None:
    file = place.tool("t", TEXT + "# hidden \u202e\n")
    shown = screen("tool", "run", "t")
    shown.wait_for("trust t? [y/N] ")
    assert f"t came with the project: {file}\n" in shown.text
    assert "  bash: echo ran\n  # hidden \\u202e\n" in shown.text
    shown.type("y\n")
    assert shown.end() == 0
    assert shown.text.endswith("ran\n")


def test_on_a_terminal_a_change_is_shown_as_a_difference(
    place: Place, screen: Show, tongs: Run
) -> None:
    file = place.tool("t", TEXT)
    tongs("trust", "--yes", "t")
    file.write_text(TEXT.replace("echo ran", "echo stolen"), encoding="utf-8")
    shown = screen("tool", "run", "t")
    shown.wait_for("trust t? [y/N] ")
    assert "t changed since you accepted it" in shown.text
    assert "  -bash: echo ran\n  +bash: echo stolen\n" in shown.text
    shown.type("\n")
    assert shown.end() == 3
    assert "stolen\n" not in shown.text


def test_the_person_is_asked_on_the_terminal_when_stdin_is_a_pipe(
    place: Place, screen: Show
) -> None:
    place.tool("t", "bash: echo ran\nparameters:\n  A: {}\n")
    reader, writer = os.pipe()
    os.write(writer, b'{"A": "y"}')
    os.close(writer)
    shown = screen("tool", "run", "t", "--input-json", "-", stdin=reader)
    os.close(reader)
    shown.wait_for("trust t? [y/N] ")
    shown.type("y\n")
    assert shown.end() == 0
    assert shown.text.endswith("ran\n")


def test_a_definition_that_changes_while_it_is_read_is_not_accepted(
    place: Place, screen: Show, tongs: Run
) -> None:
    file = place.tool("t", TEXT)
    shown = screen("trust", "t")
    shown.wait_for("trust t? [y/N] ")
    file.write_text(TEXT.replace("ran", "swapped"), encoding="utf-8")
    shown.type("y\n")
    assert shown.end() == 3
    assert "changed while you were reading it" in shown.text
    assert tongs("tool", "run", "t").code == 3


def test_trust_asks_about_each_tool_in_turn(place: Place, screen: Show, tongs: Run) -> None:
    place.tool("a", TEXT)
    place.tool("b", TEXT)
    shown = screen("trust")
    shown.wait_for("trust a? [y/N] ")
    shown.type("n\n")
    shown.wait_for("trust b? [y/N] ")
    shown.type("yes\n")
    assert shown.end() == 3
    assert tongs("tool", "run", "a").code == 3
    assert tongs("tool", "run", "b").stdout == "ran\n"


def test_command_to_type_works_for_a_loaded_file_and_a_name_taken_twice(
    place: Place, tongs: Run, tmp_path: Path
) -> None:
    loaded = tmp_path / "a loaded file.yaml"
    loaded.write_text("name: loaded\nbash: echo loaded\n", encoding="utf-8")
    twins = [place.tool(stem, f"name: twin\nbash: echo {stem}\n") for stem in ("one", "two")]
    refused = tongs("--load-tool", str(loaded), "tool", "run", "loaded")
    command = shlex.split(refused.stderr.rpartition("then: ")[2])

    assert tongs(*command[1:], "--yes") == Outcome("", f"trusted loaded: {loaded}\n", 0)
    assert tongs("--load-tool", str(loaded), "tool", "run", "loaded").stdout == "loaded\n"
    assert tongs("trust", "--yes", str(twins[1])).stderr == f"trusted twin: {twins[1]}\n"


@pytest.mark.parametrize("tier", ["A", "B", "off"])
def test_tool_cannot_give_itself_authority(
    place: Place, tongs: Run, limited: Run, tier: str
) -> None:
    """What the command itself refuses, whether or not a wall around the tool does as well."""
    if tier == "off":
        (place.user / "config.yml").write_text("security: {enforcement: off}\n")
    run = limited if tier == "B" else tongs
    place.tool("other", TEXT)
    commands = {
        "trusting": "trust --yes other",
        "adding": "tool add new --description d --bash 'echo hi' --user",
        "creating": "tool new new --user",
        "leaving": "trust --yes other",
    }
    for name, command in commands.items():
        script = f"{shlex.quote(TONGS)} {command}"
        if name == "leaving":
            # A daemon of its own session is still a child of the call.
            script = f"setsid -w bash -c {shlex.quote(script)}"
        home = f"environment: {{TONGS_HOME: {place.env['TONGS_HOME']}}}"
        # All that the command needs to run, in there.
        needed = [
            str(place.project),
            sys.prefix,
            sys.base_prefix,
            str(Path(package.__file__).parents[1]),
        ]
        permissions = f"permissions: {{fs: {{read: {json.dumps(needed)}}}}}"
        place.tool(name, f"bash: |\n  {script}\n{home}\n{permissions}\n", scope="user")
        done = run("tool", "run", name)
        assert "started by one" in done.stderr, done
        assert done.code == 1
    assert tongs("tool", "run", "other").code == 3
    assert not (Path(place.env["TONGS_HOME"]) / "tools" / "new.yaml").exists()
    # The same commands by the person.
    assert tongs("trust", "--yes", "other").code == 0
    assert tongs("tool", "run", "other").stdout == "ran\n"


def test_stdin_reaches_a_tool_on_request(place: Place, tongs: Run) -> None:
    place.tool("upper", "bash: tr a-z A-Z\n", scope="user")
    assert tongs("tool", "run", "upper", "--stdin", stdin=b"hello\n").stdout == "HELLO\n"
    assert tongs("tool", "run", "upper", stdin=b"hello\n").stdout == ""
    both = tongs("tool", "run", "upper", "--stdin", "--input-json", "-", stdin=b"{}")
    assert both.code == 2
