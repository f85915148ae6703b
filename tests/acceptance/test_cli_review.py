"""`tongs tool create` and `tongs review`, as a person and a program use them."""

from __future__ import annotations

import json

import pytest
from tests.acceptance.conftest import Outcome, Place, Run, Show

SAY = """name: say
description: says it
kind: command
inputs:
  schema:
    type: object
    additionalProperties: false
    properties:
      text: {type: string, description: what to say}
exec: {command: {entrypoint: echo, args: ["${text}"]}}
permissions: {network: false, fs: {read: ["."], write: []}, secrets: {}}
"""


@pytest.fixture
def made(place: Place, tongs: Run) -> Outcome:
    (place.project / "say.yml").write_text(SAY)
    return tongs("tool", "create", "--from", "say.yml", "--creator", "claude")


def test_create_says_what_was_written_and_what_comes_next(place: Place, made: Outcome) -> None:
    path = f"{place.project}/.tongs/tools/say/tool.yml"

    assert made == Outcome(
        "",
        f"warning: {path}:1: the tool has no examples\n"
        f"wrote {path}\n"
        "say waits for review:  tongs review say\n",
        0,
    )


def test_definition_may_come_from_a_program(place: Place, tongs: Run) -> None:
    given = json.dumps({"description": "d", "kind": "command", "permissions": {}}).encode()
    whole = json.loads(given) | {"exec": {"command": {"entrypoint": "date"}}}

    broken = tongs("tool", "create", "now", "--from", "-", "--creator", "x", stdin=given)
    done = tongs(
        *("tool", "create", "now", "--from", "-", "--creator", "x", "--json"),
        stdin=json.dumps(whole).encode(),
    )

    assert (broken.code, broken.stdout) == (2, "")
    wire = json.loads(done.stdout)
    assert (wire["name"], wire["creator"], wire["trust"], wire["changed"]) == (
        *("now", "x", "review"),
        False,
    )


@pytest.mark.parametrize(
    ("arguments", "stdin", "said"),
    [
        (["--from", "missing.yml", "--creator", "x"], b"", "there is no file"),
        (["--from", "-", "--creator", "x"], b"description: d\n", "has no name"),
        (["--from", "-", "--creator", "x"], b"\xff\xfe", "is no UTF-8 text"),
        (["--from", "-"], b"", "--creator is missing"),
        (["n", "--from", "-", "--creator", "x"], b"- a list\n", "must be keys and values"),
        (["n", "--from", "-", "--creator", "x"], b"a: [\n", "cannot be used"),
    ],
)
def test_mistake_is_one_sentence(tongs: Run, arguments: list[str], stdin: bytes, said: str) -> None:
    done = tongs("tool", "create", *arguments, stdin=stdin)

    assert (done.stdout, done.code) == ("", 2)
    assert said in done.stderr


def test_file_that_is_not_there_is_told_with_what_to_do(tongs: Run) -> None:
    done = tongs("tool", "create", "--from", "missing.yml", "--creator", "x")

    assert done.stderr.splitlines() == [
        "error: tool create: there is no file `missing.yml`",
        "hint: name the file that holds the definition, or `-` for standard input",
    ]


def test_what_waits_is_listed(made: Outcome, tongs: Run) -> None:
    listed = tongs("review")

    header, line = listed.stdout.splitlines()
    assert header.split() == ["NAME", "CREATED", "BY", "WHEN", "DESCRIPTION"]
    assert line.split()[:2] == ["say", "claude"]
    (wire,) = json.loads(tongs("review", "--json").stdout)
    assert wire["may"] == [
        "reach no host",
        "read the whole project",
        "change no file",
        "be given no secret",
    ]


def test_nobody_is_asked_without_a_terminal(made: Outcome, tongs: Run) -> None:
    done = tongs("review", "say")

    assert done.code == 3
    assert "it may read the whole project" in done.stdout
    assert "entrypoint: echo" in done.stdout
    assert "hint: read it, then: tongs review say --yes" in done.stderr
    assert tongs("tool", "run", "say", "text=x", "--yes").code == 3


def test_reading_it_as_json_approves_nothing(made: Outcome, tongs: Run) -> None:
    assert json.loads(tongs("review", "say", "--json").stdout)["waits"] is True
    assert json.loads(tongs("review", "say", "--json").stdout)["waits"] is True


def test_yes_needs_a_name(made: Outcome, tongs: Run) -> None:
    assert tongs("review", "--yes").code == 2


def test_approved_one_waits_no_more(made: Outcome, tongs: Run) -> None:
    assert tongs("review", "say", "--yes").code == 0

    assert tongs("review") == Outcome("", "nothing waits for review\n", 0)
    assert "was approved as it is" in tongs("review", "say").stderr
    assert "created by:   claude" in tongs("tool", "get", "say").stdout


def test_tool_of_a_person_is_nothing_to_review(place: Place, tongs: Run) -> None:
    place.tool("mine", "bash: echo mine\n")

    done = tongs("review", "mine")

    assert (done.code, "was not created by an agent" in done.stderr) == (2, True)


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 3), ("", 3), ("yes please", 3)])
def test_person_answers_on_the_terminal(
    made: Outcome, tongs: Run, screen: Show, answer: str, code: int
) -> None:
    shown = screen("review", "say")
    shown.wait_for("approve say? [y/N] ")
    shown.type(f"{answer}\n")

    assert shown.end() == code
    assert tongs("tool", "run", "say", "text=x", "--yes").code == code


def test_run_on_a_terminal_shows_the_review(made: Outcome, screen: Show) -> None:
    shown = screen("tool", "run", "say", "text=hello")
    shown.wait_for("approve say? [y/N] ")
    assert "say was created by claude" in shown.text
    shown.type("y\n")
    shown.wait_for("[d]eny")
    shown.type("a\n")

    assert shown.end() == 0
    assert "hello" in shown.text


def test_trust_points_to_the_review(made: Outcome, tongs: Run) -> None:
    refused = tongs("trust", "say", "--yes")
    passed_over = tongs("trust", "--yes")

    assert (refused.code, "hint: tongs review say" in refused.stderr) == (3, True)
    assert passed_over == Outcome(
        "",
        "created by agents, and waiting for review: say\nhint: tongs review\n",
        0,
    )
    assert tongs("tool", "run", "say", "text=x", "--yes").code == 3


def test_no_text_of_the_agent_looks_like_a_line_of_the_review(place: Place, tongs: Run) -> None:
    text = SAY.replace("says it", '"says it\\n  it may reach no host\\n\\e[2Jall fine"')
    tongs("tool", "create", "--from", "-", "--creator", "claude", stdin=text.encode())

    shown = tongs("review", "say").stdout

    assert "\x1b" not in shown
    assert [line for line in shown.splitlines() if line == "  it may reach no host"] == [
        "  it may reach no host"
    ]


def test_one_beyond_the_ceiling_cannot_be_approved(
    place: Place, made: Outcome, tongs: Run, screen: Show
) -> None:
    (place.user / "config.yml").write_text("security: {max_permissions: {network: true}}\n")

    refused = tongs("review", "say", "--yes")
    shown = screen("review", "say")

    assert (refused.code, "fs.read: ." in refused.stderr) == (3, True)
    assert shown.end() == 3
    assert "BEYOND THE CEILING, cannot run: fs.read: ." in shown.text
