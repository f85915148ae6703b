"""Secrets by reference, and nowhere to be seen: the real command, files, and a real keyring."""

from __future__ import annotations

import base64
import json
import subprocess
import sys

import pytest
from tests.acceptance.conftest import Place, Run, Show

SECRET = "s3cret-value/+1"
ENV = {"TOKEN": SECRET}
DECLARED = "permissions: {secrets: {TOKEN: {}}}\ntags: [read]\n"


def in_state(place: Place) -> list[str]:
    """The files below the person's folder in which the secret can be read."""
    found = [path for path in place.user.rglob("*") if path.is_file()]
    return [str(path) for path in found if SECRET.encode() in path.read_bytes()]


def test_keyring_gives_the_value(place: Place, tongs: Run) -> None:
    # A real one that needs no desktop: its file lies in the home of this test.
    backend = {"PYTHON_KEYRING_BACKEND": "keyrings.alt.file.PlaintextKeyring"}
    kept = "import keyring, sys; keyring.set_password('github', 'ann/token', sys.argv[1])"
    env = {**place.env, **backend}
    subprocess.run([sys.executable, "-c", kept, SECRET], env=env, check=True)
    (place.user / "config.yml").write_text("secrets: {TOKEN: 'keyring:github/ann/token'}\n")
    place.tool("t", f"bash: echo ${{#TOKEN}}\n{DECLARED}", scope="user")

    found = tongs("tool", "run", "t", env=backend)
    elsewhere = tongs("tool", "run", "t", env={**backend, "HOME": str(place.glob)})

    assert (found.stdout, found.code) == (f"{len(SECRET)}\n", 0)
    assert (elsewhere.stdout, elsewhere.code) == ("", 4)
    assert "TOKEN is keyring:github/ann/token" in elsewhere.stderr
    assert "which is not there" in elsewhere.stderr


def test_keyring_that_cannot_be_used_is_said(place: Place, tongs: Run) -> None:
    (place.user / "config.yml").write_text("secrets: {TOKEN: 'keyring:github/token'}\n")
    place.tool("t", f"bash: echo $TOKEN\n{DECLARED}", scope="user")

    done = tongs(
        "tool", "run", "t", env={"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
    )

    assert done.code == 4
    assert "the keyring refused (NoKeyringError)" in done.stderr


def test_config_list_shows_references_and_no_values(place: Place, tongs: Run) -> None:
    (place.user / "config.yml").write_text("secrets: {TOKEN: 'env:GH'}\n")

    listed = tongs("config", "list", env={"GH": SECRET})

    assert "env:GH" in listed.stdout
    assert SECRET not in listed.stdout + listed.stderr


@pytest.mark.parametrize("command", [("config", "list"), ("lint",), ("tool", "list")])
def test_secret_written_into_the_config_is_not_repeated(
    place: Place, tongs: Run, command: tuple[str, ...]
) -> None:
    (place.user / "config.yml").write_text(f"secrets: {{TOKEN: '{SECRET}'}}\n")

    done = tongs(*command)

    assert "must be a reference" in done.stdout + done.stderr
    assert SECRET not in done.stdout + done.stderr


def test_untrusted_project_cannot_say_where_a_secret_is(place: Place, tongs: Run) -> None:
    (place.project / ".tongs/config.yml").write_text("secrets: {TOKEN: 'env:HOME'}\n")
    place.tool("t", f"bash: echo ${{#TOKEN}}\n{DECLARED}", scope="user")

    assert tongs("tool", "run", "t", env={"TOKEN": "12345"}).stdout == "5\n"
    assert "secrets: is ignored" in tongs("config", "list").stdout


def test_output_is_live_and_without_the_secret(place: Place, screen: Show) -> None:
    go_on = place.project / "go-on"
    place.tool(
        "t",
        """bash: |
  echo started
  printf %s "${TOKEN:0:6}"
  until [ -e go-on ]; do sleep 0.05; done
  echo "${TOKEN:6} and more"
permissions: {fs: {read: ["."]}, secrets: {TOKEN: {}}}
""",
        scope="user",
    )

    shown = screen("tool", "run", "t", env=ENV)
    shown.wait_for("started")
    go_on.touch()

    assert shown.end() == 0
    assert "[redacted] and more" in shown.text
    assert SECRET[:6] not in shown.text


def test_large_output_is_kept_without_the_secret(place: Place, tongs: Run) -> None:
    (place.user / "config.yml").write_text("limits: {output: 1KiB}\n")
    place.tool(
        "t",
        'bash: for i in $(seq 2000); do echo "$i $TOKEN"; done\n' + DECLARED,
        scope="user",
    )

    done = tongs("tool", "run", "t", "--json", env=ENV)

    result = json.loads(done.stdout)
    (kept,) = (place.state / "spool").iterdir()
    assert kept.name.startswith(result["metadata"]["outputHandle"])
    assert kept.read_text().count("[redacted]") == 2000
    assert "bytes were lost" not in " ".join(result["warnings"])
    assert in_state(place) == []
    # What is held ends before the secret that was cut.
    assert SECRET[:4] not in result["output"]


def test_tail_of_an_error_begins_after_the_secret_that_was_cut(place: Place, tongs: Run) -> None:
    end = "x" * (2000 - len(SECRET) // 2)
    place.tool("t", f'bash: printf "%s%s" "$TOKEN" {end} >&2; exit 1\n{DECLARED}', scope="user")

    error = json.loads(tongs("tool", "run", "t", "--json", env=ENV).stdout)["error"]

    assert SECRET[-4:] not in json.dumps(error)


def test_record_question_and_preview_have_no_secret(place: Place, tongs: Run, screen: Show) -> None:
    place.tool(
        "t",
        f"""bash: 'echo {{TEXT}}'
parameters: {{TEXT: {{type: string, description: what}}}}
approval: {{required: true, reason: look}}
{DECLARED}""",
        scope="user",
    )
    encoded = base64.b64encode(f"ann:{SECRET}".encode()).decode()

    shown = screen("tool", "run", "t", f"TEXT=<{SECRET}> {encoded}", env=ENV)
    shown.wait_for("[d]eny")
    shown.type("a\n")

    assert shown.end() == 0
    assert "<[redacted]>" in shown.text
    assert SECRET not in shown.text
    assert encoded not in shown.text
    assert in_state(place) == []
    record = (place.state / "audit/chain-000001.jsonl").read_text()
    assert '"TEXT":"<[redacted]>' in record


def test_inner_call_hides_the_secret_of_the_outer_one(place: Place, tongs: Run) -> None:
    place.tool(
        "inner",
        "bash: echo {TEXT}\nparameters: {TEXT: {type: string, description: what}}\ntags: [read]\n",
        scope="user",
    )
    place.tool(
        "outer",
        f"""steps:
  - {{name: show, bash: 'echo "$TOKEN"'}}
  - {{name: use, tool: inner, arguments: {{TEXT: '{{show.output}}'}}}}
{DECLARED}""",
        scope="user",
    )

    done = tongs("tool", "run", "outer", env=ENV)

    assert (done.stdout, done.code) == ("[redacted]\n", 0)
    assert in_state(place) == []


def test_step_gets_the_very_output_of_the_step_before(place: Place, tongs: Run) -> None:
    place.tool(
        "t",
        f"""steps:
  - {{name: one, bash: 'printf %s "$TOKEN"'}}
  - {{name: two, bash: 'cat | wc -c', input: '{{one.output}}'}}
{DECLARED}""",
        scope="user",
    )

    assert tongs("tool", "run", "t", env=ENV).stdout.strip() == str(len(SECRET))


def test_edited_question_keeps_what_the_person_did_not_see(place: Place, screen: Show) -> None:
    place.tool(
        "t",
        f"""bash: 'echo "{{N}} $([ {{TEXT}} = "$TOKEN" ] && echo same)"'
parameters:
  TEXT: {{type: string, description: what}}
  N: {{type: integer, description: which}}
approval: {{required: true, reason: look}}
{DECLARED}""",
        scope="user",
    )

    shown = screen("tool", "run", "t", f"TEXT={SECRET}", "N=1", env={**ENV, "TERM": "dumb"})
    shown.wait_for("[d]eny")
    shown.type("e\n")
    shown.wait_for("(empty: back): ")
    shown.type('{"TEXT": "[redacted]", "N": 2}\n')

    assert shown.end() == 0
    assert "2 same" in shown.text
