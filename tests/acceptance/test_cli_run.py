"""Running a tool from the command line."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.conftest import Outcome, Place, Run, Show


def user_tool(place: Place, name: str, text: str) -> None:
    """A tool that needs no trust."""
    place.tool(name, text, scope="user")


ECHO = "run: printf %s\narguments: ['{A}']\nparameters:\n  A: {}\ntags: [read]\n"


@pytest.mark.parametrize(
    "value",
    [
        "",
        "a=b=c",
        "--help",
        "-n",
        "$(touch x)",
        "it's",
        "a\nb",
        " blank ",
        "é東🔧",
        "{A}",
        "=",
        "*",
    ],
)
@pytest.mark.parametrize("spelling", [["--param"], []])
def test_any_value_arrives_as_it_is(
    place: Place, tongs: Run, value: str, spelling: list[str]
) -> None:
    user_tool(place, "echo", ECHO)
    assert tongs("tool", "run", "echo", *spelling, f"A={value}") == Outcome(value, "", 0)


def test_bytes_that_are_no_text_are_refused_and_run_nothing(place: Place, tongs: Run) -> None:
    user_tool(place, "echo", ECHO)
    done = tongs("tool", "run", "echo", b"A=\xff\xfe")
    assert (done.stdout, done.code) == ("", 2)
    assert done.stderr.startswith("error: echo was not run: A ")


def test_parameters_are_coerced_by_their_type(place: Place, tongs: Run) -> None:
    text = "python: print({L}, {N}, {B}, {O})\nparameters:\n" + "".join(
        f"  {name}: {{type: {kind}}}\n"
        for name, kind in {"L": "array", "N": "number", "B": "boolean", "O": "object"}.items()
    )
    user_tool(place, "typed", text)
    done = tongs("tool", "run", "typed", "L=a", "L=b", "--param", "N=5", "B=true", 'O={"k": [1]}')
    assert done == Outcome("['a', 'b'] 5 True {'k': [1]}\n", "", 0)


@pytest.mark.parametrize("source", ["inline", "@file", "-"])
def test_parameters_come_as_json(place: Place, tongs: Run, source: str) -> None:
    user_tool(place, "echo", ECHO)
    (place.project / "in.json").write_text('{"A": "x"}', encoding="utf-8")
    given = {"inline": '{"A": "x"}', "@file": "@in.json", "-": "-"}[source]
    stdin = b'{"A": "x"}' if source == "-" else b""
    done = tongs("tool", "run", "echo", "--input-json", given, stdin=stdin)
    assert done == Outcome("x", "", 0)


def test_wrong_arguments_run_nothing_and_say_all_that_is_wrong(place: Place, tongs: Run) -> None:
    user_tool(
        place,
        "forecast",
        "bash: touch ran; echo {DAYS} {CITY}\n"
        "parameters:\n  DAYS: {type: integer}\n  CITY: {enum: [Rome, Oslo]}\n",
    )
    done = tongs("tool", "run", "forecast", "DAYS=x", "CITY=Paris")
    assert (done.stdout, done.code) == ("", 2)
    assert done.stderr.startswith("error: forecast was not run: ")
    assert "DAYS" in done.stderr
    assert "CITY" in done.stderr
    assert "hint: " in done.stderr
    assert not (place.project / "ran").exists()


def test_an_unknown_parameter_suggests_the_nearest(place: Place, tongs: Run) -> None:
    user_tool(place, "w", "bash: echo {LOCATION}\nparameters:\n  LOCATION: {}\n")
    assert tongs("tool", "run", "w", "LOCATON=x") == Outcome(
        "",
        "error: w was not run: it has no parameter LOCATON\nhint: did you mean `LOCATION`?\n",
        2,
    )


def test_the_result_is_stdout_and_stderr_stays_apart(place: Place, tongs: Run) -> None:
    user_tool(place, "both", "bash: echo out; echo err >&2\n")
    assert tongs("tool", "run", "both") == Outcome("out\n", "err\n", 0)
    assert tongs("tool", "run", "both", "--no-stream").stdout == "out\n"


def test_a_failing_tool_exits_1_and_its_stderr_is_shown_once(place: Place, tongs: Run) -> None:
    user_tool(place, "fail", "bash: echo out; echo broken pipe >&2; exit 7\n")
    confined = (
        f"confined: network was off; it could read and write {place.project}"
        " (from having no security tag)\n"
    )
    assert tongs("tool", "run", "fail") == Outcome(
        "out\n", f"broken pipe\nerror: fail failed with exit code 7\n{confined}", 1
    )
    assert tongs("tool", "run", "fail", "--no-stream") == Outcome(
        "out\n", f"error: fail failed with exit code 7: broken pipe\n{confined}", 1
    )


def test_a_reader_that_may_not_write_is_told_of_the_tag(place: Place, limited: Run) -> None:
    file = place.tool("new", "bash: touch new\ntags: [read]\n")
    limited("trust", "--yes", "new")

    refused = limited("tool", "run", "new")

    assert refused == Outcome(
        "",
        "touch: cannot touch 'new': Permission denied\n"
        "error: new failed with exit code 1\n"
        f"confined: network was off; it could read {place.project} and write nothing"
        " (from its tag `read`)\n"
        f"hint: to grant it, write in {file}: permissions: {{fs: {{read: [.], write: [.]}}}},"
        " or add the tag `write`; to write without keeping it needs user namespaces:"
        " `tongs doctor`\n",
        1,
    )


@pytest.mark.parametrize("scope", ["local", "user"])
def test_a_tool_that_fails_at_a_wall_is_told_the_line_that_opens_it(
    place: Place, tongs: Run, scope: str
) -> None:
    (place.home / "notes").write_text("from home\n", encoding="utf-8")
    definition = place.tool("notes", f"bash: cat {place.home}/notes\n", scope=scope)
    tongs("trust", "--yes", "notes")

    refused = tongs("tool", "run", "notes")

    assert (refused.stdout, refused.code) == ("", 1)
    hint = refused.stderr.partition("hint: to grant it, write in ")[2]
    where, _, line = hint.partition(": ")
    assert where == str(definition if scope == "local" else place.user / "config.yml")
    with open(where, "a", encoding="utf-8") as file:
        file.write(line)
    tongs("trust", "--yes", "notes")
    assert tongs("tool", "run", "notes") == Outcome("from home\n", "", 0)


def test_a_tool_whose_walls_are_off_by_config_says_so_each_time(place: Place, tongs: Run) -> None:
    user_tool(place, "t", "bash: cat ../home/notes\n")
    (place.home / "notes").write_text("from home\n", encoding="utf-8")
    (place.user / "config.yml").write_text("security: {enforcement: off}\n", encoding="utf-8")

    said = "warning: security.enforcement is off: the walls may not stand\n"

    assert tongs("tool", "run", "t") == Outcome("from home\n", said, 0)
    assert "enforcement=off" in place.copy


def test_output_reaches_a_pipe_byte_for_byte(place: Place, tongs: Run) -> None:
    user_tool(place, "raw", r"bash: printf '\xff\x00\x1b[31m\r\n\u202e'" + "\n")
    done = tongs("tool", "run", "raw")
    assert done.stdout == "\udcff\x00\x1b[31m\r\n\u202e"


def test_more_output_than_is_kept_reaches_a_pipe_whole(place: Place, tongs: Run) -> None:
    user_tool(place, "big", "bash: head -c 5000000 /dev/zero | tr '\\0' x\n")
    assert len(tongs("tool", "run", "big").stdout) == 5_000_000


def test_of_several_steps_the_last_is_the_result(place: Place, tongs: Run) -> None:
    user_tool(
        place,
        "steps",
        "steps:\n- {name: a, bash: echo one; echo note >&2}\n"
        "- {name: b, bash: 'echo {a.stdout} two'}\n",
    )
    assert tongs("tool", "run", "steps") == Outcome("one two\n", "note\n", 0)
    verbose = tongs("tool", "run", "steps", "-v")
    assert (verbose.stdout, "\none\n" in verbose.stderr) == ("one two\n", True)


def test_on_a_terminal_output_is_live_and_harmless(place: Place, screen: Show) -> None:
    gate = place.project / "gate"
    os.mkfifo(gate)
    user_tool(
        place,
        "live",
        f"bash: printf 'first \\e[2J\\xe2\\x80\\xae'; read _ < {gate};"
        " printf '\\xc3'; printf '\\xa9 last'\n",
    )
    shown = screen("tool", "run", "live")
    shown.wait_for("first \\x1b[2J\\u202e")
    gate.write_text("go\n", encoding="utf-8")

    assert shown.end() == 0
    assert shown.text == "first \\x1b[2J\\u202eé last\n"
    assert "\x1b[2J" not in shown.raw


def test_on_a_terminal_what_follows_an_output_begins_a_line(
    place: Place, screen: Show, tongs: Run
) -> None:
    (place.project / "half").write_text("no line end", encoding="utf-8")
    shown = screen("tool", "run", "read_file", "path=half")

    assert shown.end() == 0
    assert shown.text == "no line end\n"
    assert tongs("tool", "run", "read_file", "path=half").stdout == "no line end"


def test_on_a_terminal_steps_show_their_progress(place: Place, screen: Show) -> None:
    user_tool(
        place,
        "steps",
        "steps:\n- {name: fetch, bash: echo one}\n"
        "- {name: show, bash: 'echo {fetch.stdout} two'}\n",
    )
    shown = screen("tool", "run", "steps")
    assert shown.end() == 0
    assert "step 1 of 2  fetch  0" in shown.text
    assert "step 2 of 2  show  0" in shown.text
    assert "one two\n" in shown.text


def test_progress_goes_on_while_a_step_runs(place: Place, screen: Show) -> None:
    gate = place.project / "gate"
    os.mkfifo(gate)
    user_tool(
        place,
        "steps",
        f"steps:\n- {{name: slow, bash: read _ < {gate}}}\n- {{name: end, bash: echo done}}\n",
    )
    shown = screen("tool", "run", "steps")
    shown.wait_for("step 1 of 2  slow  1s")
    gate.write_text("go\n", encoding="utf-8")
    assert shown.end() == 0
    assert "done\n" in shown.text


def result(done: Outcome) -> dict[str, Any]:
    wire: dict[str, Any] = json.loads(done.stdout)
    assert set(wire) == {"ok", "output", "value", "error", "warnings", "metadata"}
    return wire


def test_json_is_the_result(place: Place, tongs: Run) -> None:
    user_tool(place, "both", "bash: echo out; echo err >&2\n")
    done = tongs("tool", "run", "both", "--json")
    wire = result(done)
    assert (done.stderr, done.code) == ("", 0)
    assert (wire["ok"], wire["output"], wire["error"]) == (True, "out\n", None)
    assert wire["metadata"]["exitCode"] == 0
    assert wire["metadata"]["durationMs"] > 0


@pytest.mark.parametrize(
    ("arguments", "code", "exit_code", "blocked_by"),
    [
        (["nosuch"], "TOOL_NOT_FOUND", 2, None),
        (["broken"], "INVALID_DEFINITION", 2, None),
        (["strict"], "INVALID_ARGUMENTS", 2, "schema"),
        (["strict", "N=x"], "INVALID_ARGUMENTS", 2, "schema"),
        (["strict", "M=1"], "INVALID_ARGUMENTS", 2, "schema"),
        (["strict", "--input-json", "{"], "INVALID_ARGUMENTS", 2, "schema"),
        (["strict", "N=1", "--auto-deny", "strict"], "DENIED", 3, "rule"),
        (["strict", "N=1", "--auto-deny", "x,tool:run"], "DENIED", 3, "rule"),
        (["asks"], "APPROVAL_DENIED", 3, "approval"),
        (["stranger"], "UNTRUSTED", 3, "trust"),
        (["elsewhere"], "UNSUPPORTED_PLATFORM", 4, None),
        (["secret"], "SECRET_MISSING", 4, None),
        (["fails"], "EXECUTION_ERROR", 1, None),
        (["slow", "--timeout", "50"], "TIMEOUT", 1, None),
        (["slow", "--timeout", "50ms"], "TIMEOUT", 1, None),
    ],
)
def test_every_refusal_is_a_result_with_its_class_of_exit_code(
    place: Place,
    tongs: Run,
    arguments: list[str],
    code: str,
    exit_code: int,
    blocked_by: str | None,
) -> None:
    user_tool(place, "broken", "bash: a\nrun: b\n")
    user_tool(place, "strict", "bash: echo {N}\nparameters:\n  N: {type: integer}\n")
    user_tool(place, "asks", "bash: 'true'\napproval: {required: true, reason: r}\n")
    place.tool("stranger", "bash: 'true'\n")
    user_tool(place, "elsewhere", "bash: 'true'\nplatforms: [windows]\n")
    user_tool(place, "secret", "bash: 'true'\npermissions: {secrets: {NO_SUCH: {type: string}}}\n")
    user_tool(place, "fails", "bash: exit 3\n")
    user_tool(place, "slow", "bash: sleep 300\n")

    done = tongs("tool", "run", *arguments, "--json")
    error = result(done)["error"]

    assert (error["code"], error["blockedBy"], done.code) == (code, blocked_by, exit_code)
    plain = tongs("tool", "run", *arguments)
    assert (plain.stdout, plain.code) == ("", exit_code)
    assert plain.stderr.startswith("denied: " if exit_code == 3 else "error: ")


def test_show_command_shows_and_runs_nothing(place: Place, tongs: Run) -> None:
    user_tool(place, "touch", "bash: touch {F}\nparameters:\n  F: {}\n")
    done = tongs("tool", "run", "touch", "F=it's", "--show-command")
    assert (done.stderr, done.code) == ("", 0)
    assert "touch" in done.stdout
    assert not (place.project / "it's").exists()


def test_a_dry_run_checks_and_runs_nothing(place: Place, tongs: Run) -> None:
    user_tool(
        place, "t", "bash: touch {F}\nparameters:\n  F: {}\n  N: {type: integer, default: 3}\n"
    )
    done = tongs("tool", "run", "t", "F=x", "--dry-run")
    assert json.loads(done.stdout) == {"F": "x", "N": 3}
    assert (done.code, done.stderr.startswith("nothing was run; ")) == (0, True)
    wrong = tongs("tool", "run", "t", "--dry-run")
    assert (wrong.stdout, wrong.code) == ("", 2)
    assert not (place.project / "x").exists()


def test_yes_answers_what_would_be_asked(place: Place, tongs: Run) -> None:
    user_tool(place, "asks", "bash: echo ran\napproval: {required: true, reason: it is loud}\n")
    refused = tongs("tool", "run", "asks")
    assert (refused.stdout, refused.code) == ("", 3)
    assert "it is loud" in refused.stderr
    assert "--yes" in refused.stderr
    assert tongs("tool", "run", "asks", "--yes") == Outcome("ran\n", "", 0)
    assert tongs("--auto-approve", "asks", "tool", "run", "asks") == Outcome("ran\n", "", 0)


def test_deny_wins_over_approve_and_yes(place: Place, tongs: Run) -> None:
    user_tool(place, "t", "bash: echo ran\ntags: [read]\n")
    for options in (["--auto-deny", "tool:read"], ["--auto-deny=a", "--auto-deny=b,t"]):
        done = tongs("tool", "run", "t", "--yes", "--auto-approve", "*", *options)
        assert (done.stdout, done.code) == ("", 3)


def test_a_tool_with_secrets_is_shown_at_the_end_and_redacted(place: Place, tongs: Run) -> None:
    user_tool(
        place,
        "leaky",
        "bash: echo $TOKEN; echo $TOKEN >&2; exit 1\n"
        "permissions: {secrets: {TOKEN: {type: string}}}\n",
    )
    done = tongs("tool", "run", "leaky", env={"TOKEN": "hunter2-secret"})
    assert "hunter2" not in done.stdout + done.stderr
    assert "[redacted]" in done.stdout
    assert "[redacted]" in done.stderr


def test_the_scope_picks_the_tool(place: Place, tongs: Run) -> None:
    for scope in ("user", "global"):
        place.tool("t", f"bash: echo {scope}\n", scope=scope)
    assert tongs("tool", "run", "t").stdout == "user\n"
    assert tongs("tool", "run", "t", "-g").stdout == "global\n"
    assert tongs("tool", "run", "t", "--scope", "local").code == 2
    assert tongs("tool", "run", "yaml:t").stdout == "user\n"


def test_show_command_and_dry_run_exclude_each_other(place: Place, tongs: Run) -> None:
    user_tool(place, "t", "bash: 'true'\n")
    assert tongs("tool", "run", "t", "--dry-run", "--show-command").code == 2


def test_a_tool_in_a_file_needs_trust_like_any_stranger(
    place: Place, tongs: Run, tmp_path: Path
) -> None:
    file = tmp_path / "given.yaml"
    file.write_text("bash: echo given\n", encoding="utf-8")
    refused = tongs("--load-tool", str(file), "tool", "run", "given")
    assert (refused.stdout, refused.code) == ("", 3)
    assert tongs("trust", "--yes", "given", "--load-tool", str(file)).code == 0
    assert tongs("tool", "run", "given", "--load-tool", str(file)).stdout == "given\n"


def test_progress_never_erases_a_line_the_tool_has_begun(place: Place, screen: Show) -> None:
    gate = place.project / "gate"
    os.mkfifo(gate)
    text = (
        "steps:\n- {name: a, bash: 'true'}\n"
        f"- {{name: b, bash: 'printf half; read _ < {gate}; echo whole'}}\n"
    )
    user_tool(place, "steps", text)
    shown = screen("tool", "run", "steps")
    shown.wait_for("half")
    gate.write_text("go\n", encoding="utf-8")
    assert shown.end() == 0
    assert "halfwhole\nstep 2 of 2  b" in shown.text


def test_a_step_that_asks_has_the_terminal_for_itself(place: Place, screen: Show) -> None:
    user_tool(place, "inner", "bash: echo inner\napproval: {required: true, reason: r}\n")
    user_tool(
        place, "outer", "steps:\n- {name: a, tool: inner}\n- {name: b, bash: 'echo {a.stdout}!'}\n"
    )
    shown = screen("tool", "run", "outer")
    shown.wait_for("[d]eny  [?]: ")
    shown.type("a\n")
    assert shown.end() == 0
    assert "inner!\n" in shown.text


def test_every_attempt_is_in_the_audit_log(place: Place, tongs: Run) -> None:
    tongs("tool", "run", "nosuch")
    assert "name=nosuch" in place.copy
    assert "code=TOOL_NOT_FOUND" in place.copy
