"""What a YAML tool does when it runs: values, environment, directory, stdin, exit, steps."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tongs import ErrorCode, ToolCall
from tongs.core.errors import BlockedBy

if TYPE_CHECKING:
    from tests.unit.conftest import Project


def test_run_starts_a_program_without_a_shell(project: Project) -> None:
    result = project.define_and_run(
        "run: printf '%s|' {A} '$HOME' \"two words\"\nparameters: {A: {}}\n", A="$(id) ; x"
    )

    assert result.output == "$(id) ; x|$HOME|two words|"


def test_arguments_of_run_become_options(project: Project) -> None:
    result = project.define_and_run(
        "run: printf '%s|'\n"
        "arguments: {name: '{A}', -x: 1, flag: true, off: false, gone: '{B}'}\n"
        "parameters: {A: {}, B: {required: false}}\n",
        A="v w",
    )

    assert result.output == "--name|v w|-x|1|--flag|"


def test_arguments_of_a_script_are_its_own_words(project: Project) -> None:
    result = project.define_and_run(
        "bash: |\n  printf '%s|' \"$@\"\narguments: ['{A}', b]\nparameters: {A: {}}\n", A="x y"
    )

    assert result.output == "x y|b|"


@pytest.mark.parametrize("value", ["script", "preamble"])
@pytest.mark.parametrize(
    "script",
    [
        "bash: |\n  printf '%s' \"$1\"; : {A}\n",
        "python: |\n  import sys; print(sys.argv[1], end='')\n",
        "script: |\n  printf '%s' \"$1\"\nshell: bash {0} {1}\n",
    ],
)
def test_argument_that_reads_like_a_file_of_ours_arrives_as_it_is(
    project: Project, script: str, value: str
) -> None:
    result = project.define_and_run(
        f"{script}arguments: ['{{A}}']\nparameters: {{A: {{}}}}\n", A=value
    )

    assert result.output == value


@pytest.mark.parametrize(
    ("shell", "script"),
    [
        ("bash", 'echo "$BASH_VERSION" | cut -c1-1 >/dev/null; echo {A}'),
        ("sh", "echo {A}"),
        ("python", "print({A})"),
        ("default", "echo {A}"),
        ("cat {0}", "{RAW:A}"),
        ("bash {0} {1}", "echo hello"),
    ],
)
def test_script_runs_in_its_shell(project: Project, shell: str, script: str) -> None:
    text = json.dumps({"script": script, "shell": shell, "parameters": {"A": {}}})

    result = project.define_and_run(text, A="hello")

    assert result.output.strip() == "hello"


def test_python_uses_the_configured_interpreter(project: Project) -> None:
    (project.home / "config.yml").write_text(f"interpreters: {{python: {sys.executable}}}\n")
    result = project.define_and_run("python: |\n  import sys; print(sys.executable)\n")

    assert result.output.strip() == sys.executable


def test_input_goes_to_stdin(project: Project) -> None:
    result = project.define_and_run(
        "bash: cat\ninput: 'hello {A}'\nparameters: {A: {}}\n", A="$(x)"
    )

    assert result.output == "hello $(x)"


def test_environment_is_scrubbed_and_declared_entries_are_set(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_MINE", "1")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/x")
    result = project.define_and_run(
        "run: env\n"
        "environment:\n"
        "  GREETING: 'hi {A}'\n"
        "  LONGER: '${GREETING}-${HOME}-${NOT_THERE}.'\n"
        "  ABSENT: '{B}'\n"
        "parameters: {A: {}, B: {required: false}}\n",
        A="${HOME}",
    )

    seen = dict(line.split("=", 1) for line in result.output.splitlines())
    assert seen["GREETING"] == "hi ${HOME}"
    assert seen["LONGER"] == f"-{seen['HOME']}-."
    assert "ABSENT" not in seen
    assert "SECRET_OF_MINE" not in seen
    assert "LD_LIBRARY_PATH" not in seen
    assert set(seen) <= {
        *("PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR", "GREETING", "LONGER"),
        *(name for name in seen if name.startswith("LC_")),
    }


def test_step_environment_sees_the_tools_own(project: Project) -> None:
    result = project.define_and_run(
        "environment: {A: one}\n"
        "steps:\n"
        "  - bash: echo $A $B\n    environment: {B: '${A} two'}\n"
        "  - bash: echo $A $B\n"
    )

    assert [step["stdout"] for step in result.metadata["steps"]] == ["one one two\n", "one\n"]


def test_working_directory_starts_at_the_project(project: Project) -> None:
    (project.root / "sub").mkdir()

    result = project.define_and_run("bash: pwd\nworking-directory: sub\n")

    assert result.output == f"{project.root}/sub\n"


def test_home_in_working_directory(project: Project) -> None:
    (project.home.parent / "data").mkdir()

    result = project.define_and_run("bash: pwd\nworking-directory: ~/data\n")

    assert result.output == f"{project.home.parent}/data\n"


@pytest.mark.parametrize(
    ("folder", "line"),
    [
        ("'~'", '{fs: {read: [., "~"], write: [.]}}'),
        ("~/.ssh", "{fs: {read: [., ~/.ssh], write: [.]}}"),
        ("link", "{fs: {read: [., ~/.ssh], write: [.]}}"),
        ("/etc", "{fs: {read: [., /etc], write: [.]}}"),
        ("..", "{fs: {read: [., ABOVE], write: [.]}}"),
    ],
)
def test_folder_that_no_tag_grants_is_refused_with_the_line_that_does(
    project: Project, folder: str, line: str
) -> None:
    (project.home.parent / ".ssh").mkdir()
    (project.root / "link").symlink_to(project.home.parent / ".ssh")

    error = project.define_and_run(
        f"bash: touch ran\ntags: [write]\nworking-directory: {folder}\n"
    ).error

    assert error is not None
    assert (error.code, error.blocked_by) == (ErrorCode.INVALID_PATH, BlockedBy.PERMISSION)
    assert set(error.details["allowed"]) == {str(project.root)}
    line = line.replace("ABOVE", str(project.root.parent))
    assert error.details["hint"] == (
        f"to grant it, write in {project.tools}/t.yaml: permissions: {line}"
    )


def test_folder_that_permissions_grant_is_worked_in(project: Project) -> None:
    result = project.define_and_run(
        "bash: pwd\nworking-directory: '~'\npermissions: {fs: {read: ['~']}}\n"
    )

    assert result.output == f"{project.home.parent}\n"


def test_default_directory_is_never_refused(project: Project) -> None:
    for more in ("", "working-directory: .\n"):
        result = project.define_and_run(f"bash: pwd\n{more}permissions: {{}}\n")
        assert result.output == f"{project.root}\n"


def test_folder_beyond_the_callers_limits_is_refused_with_the_callers_line(
    project: Project,
) -> None:
    (project.home.parent / "data").mkdir()
    project.write("inner", "bash: pwd\nworking-directory: ~/data\n")

    error = project.define_and_run("steps: [{name: s, tool: inner}]\n").error

    assert error is not None
    assert (error.code, error.blocked_by) == (ErrorCode.INVALID_PATH, BlockedBy.CEILING)
    assert error.details["hint"] == (
        "to grant it, write in the definition of t: permissions: {fs: {read: [~/data]}}"
    )


def test_caller_cannot_leave_through_the_working_directory(project: Project) -> None:
    text = "bash: pwd\nworking-directory: '{D}'\nparameters: {D: {}}\n"
    (project.root / "link").symlink_to("/etc")
    (project.root / "sub").mkdir()
    project.write("t", text)

    assert project.run("t", D="sub").output == f"{project.root}/sub\n"
    for outside in ("/etc", "../..", "link"):
        error = project.run("t", D=outside).error
        assert error is not None
        assert error.code is ErrorCode.INVALID_PATH


def test_missing_working_directory_is_named(project: Project) -> None:
    error = project.define_and_run("bash: pwd\nworking-directory: nowhere\n").error

    assert error is not None
    assert error.code is ErrorCode.FILE_NOT_FOUND
    assert "nowhere" in error.message


def test_failure_names_exit_code_and_stderr(project: Project) -> None:
    result = project.define_and_run("bash: echo out; echo bad >&2; exit 3\n")

    assert result.error is not None
    assert result.error.code is ErrorCode.EXECUTION_ERROR
    assert result.error.message == "t failed with exit code 3: bad"
    assert result.output == "out\n"
    assert result.metadata["exitCode"] == 3
    assert result.metadata["stderr"] == "bad\n"


def test_signal_is_named(project: Project) -> None:
    error = project.define_and_run("bash: kill -TERM $$\n").error

    assert error is not None
    assert "SIGTERM" in error.message


def test_timeout_keeps_the_output_so_far(project: Project) -> None:
    result = project.define_and_run("bash: echo early; sleep 60\ntimeout: 300\n")

    assert result.error is not None
    assert result.error.code is ErrorCode.TIMEOUT
    assert result.output == "early\n"
    assert result.metadata["timedOut"] is True


def test_missing_program_is_said_plainly(project: Project) -> None:
    error = project.define_and_run("run: no-such-program-here\n").error

    assert error is not None
    assert error.code is ErrorCode.EXECUTION_ERROR
    assert "no-such-program-here" in error.message


def test_cmd_is_for_windows(project: Project) -> None:
    error = project.define_and_run("cmd: dir\n").error

    assert error is not None
    assert error.code is ErrorCode.UNSUPPORTED_PLATFORM


def test_platform_chooses_between_scripts(project: Project) -> None:
    assert project.define_and_run("bash: echo unix\ncmd: echo dos\n").output == "unix\n"


def test_tool_for_another_platform_is_refused(project: Project) -> None:
    error = project.define_and_run("bash: echo\nplatforms: [windows]\n").error

    assert error is not None
    assert error.code is ErrorCode.UNSUPPORTED_PLATFORM


def test_null_character_in_a_value_is_refused(project: Project) -> None:
    error = project.define_and_run("bash: echo {A}\nparameters: {A: {}}\n", A="a\0b").error

    assert error is not None
    assert error.code is ErrorCode.INVALID_ARGUMENTS


STEPS = """
steps:
  - name: first
    bash: echo out; echo err >&2; exit 4
    continue-on-error: true
  - name: second
    run: printf '%s|' {first.stdout} {first.stderr} {first.exit-code}
  - bash: cat; printf '%s' '{first.output}'
    input: "{second.output}"
"""


def test_steps_see_what_earlier_ones_left(project: Project) -> None:
    result = project.define_and_run(STEPS)

    steps = result.metadata["steps"]
    assert [step["name"] for step in steps] == ["first", "second", "step3"]
    assert [step["exitCode"] for step in steps] == [4, 0, 0]
    assert steps[1]["stdout"] == "out|err|4|"
    assert result.output.startswith("out|err|4|")
    assert sorted(result.output.removeprefix("out|err|4|").split()) == ["err", "out"]
    assert result.ok
    assert result.warnings == ("step first of t failed with exit code 4: err (continue-on-error)",)


def test_failing_step_stops_the_tool_and_is_named(project: Project, tmp_path: Path) -> None:
    result = project.define_and_run(
        "steps:\n"
        "  - {name: one, bash: 'echo no >&2; exit 2'}\n"
        f"  - {{name: two, bash: 'touch {tmp_path}/ran'}}\n"
    )

    assert result.error is not None
    assert result.error.message == "step one of t failed with exit code 2: no"
    assert result.error.details["step"] == "one"
    assert not (tmp_path / "ran").exists()


def test_timeout_of_the_tool_covers_all_steps(project: Project) -> None:
    result = project.define_and_run("timeout: 600\nsteps:\n" + "  - bash: sleep 0.25\n" * 8)

    assert result.error is not None
    assert result.error.code is ErrorCode.TIMEOUT
    assert len(result.metadata["steps"]) <= 3


def test_step_may_have_a_shorter_timeout(project: Project) -> None:
    result = project.define_and_run("steps:\n  - {bash: sleep 60, timeout: 200}\n")

    assert result.error is not None
    assert result.error.code is ErrorCode.TIMEOUT


def test_scratch_is_shared_by_the_steps_and_gone_afterwards(project: Project) -> None:
    name = f"scratch-{os.urandom(8).hex()}"
    text = f"steps:\n  - bash: echo kept > $TMPDIR/{name}\n  - bash: cat $TMPDIR/{name}\n"
    result = project.define_and_run(text)

    assert result.output == "kept\n"
    assert not Path("/tmp", name).exists()
    again = project.define_and_run(f"bash: test -e $TMPDIR/{name} || echo gone\n")
    assert again.output == "gone\n"


@pytest.mark.parametrize(
    "definition",
    [
        "bash: 'true {A}'\n",
        "script: 'true {A}'\nshell: sh\n",
        "bash: cat > /dev/null\ninput: '{A}'\n",
        "bash: 'true'\nenvironment: {X: '{A}'}\n",
        "run: 'true {A}'\n",
    ],
)
def test_half_a_surrogate_pair_is_passed_on_or_refused(project: Project, definition: str) -> None:
    result = project.define_and_run(definition + "parameters: {A: {}}\n", A="\ud800")

    assert result.error is None or result.error.code is ErrorCode.INVALID_ARGUMENTS


def test_step_that_calls_a_tool_must_name_its_arguments(project: Project) -> None:
    project.write("inner", "bash: echo {A}\nparameters: {A: {}}\n")
    error = project.define_and_run("steps:\n  - {tool: inner, arguments: [x]}\n").error

    assert error is not None
    assert error.code is ErrorCode.INVALID_DEFINITION


def test_null_character_in_a_working_directory_is_refused(project: Project) -> None:
    text = "bash: pwd\nworking-directory: '{D}'\nparameters: {D: {required: false}}\n"
    project.write("t", text)

    error = project.run("t", D="a\0b").error
    assert error is not None
    assert error.code is ErrorCode.INVALID_PATH
    assert project.run("t").output == f"{project.root}\n"


def test_output_beyond_the_limit_is_kept_and_said(project: Project) -> None:
    result = project.define_and_run(
        "limits: {output: 1000}\nbash: head -c 5000 /dev/zero | tr '\\0' x\n"
    )

    assert len(result.output) == 1000
    assert result.metadata["outputSize"] == 5000
    assert result.metadata["outputHandle"] in result.warnings[0]


def test_promised_json_is_the_value(project: Project) -> None:
    good = project.define_and_run("bash: echo '[1, 2]'\noutputs: {format: json}\n")
    bad = project.define_and_run("bash: echo nothing\noutputs: {format: json}\n")

    assert good.value == [1, 2]
    assert (bad.value, bad.output) == (None, "nothing\n")


def test_json_that_no_other_program_could_read_is_no_value(project: Project) -> None:
    nan = project.define_and_run("bash: echo NaN\noutputs: {format: json}\n")
    deep = "python: print('[' * 100_000)\noutputs: {format: json}\n"
    failed = project.define_and_run("bash: echo nothing; exit 1\noutputs: {format: json}\n")

    assert (nan.ok, nan.value) == (True, None)
    assert "NaN is no number that JSON can carry" in nan.warnings[0]
    assert project.define_and_run(deep).warnings
    assert (failed.ok, list(failed.warnings)) == (False, [])


def test_output_of_the_last_step_is_data_where_the_tool_promises_some(project: Project) -> None:
    steps = "steps:\n  - run: echo first\n  - run: echo '{\"a\":' '1}'\n"
    result = project.define_and_run(f"{steps}outputs: {{format: json}}\n")

    assert (result.value, list(result.warnings)) == ({"a": 1}, [])


def test_preview_of_a_nested_call_shows_tool_and_arguments(project: Project) -> None:
    project.write("inner", "bash: echo {A}\nparameters: {A: {}}\n")
    project.write(
        "t",
        "steps:\n  - {name: one, run: echo 1}\n"
        "  - {tool: inner, arguments: {A: '{one.output}'}}\n"
        "  - {bash: cat, input: '{one.stdout}'}\n",
    )

    shown = project.runtime().validate(ToolCall("c1", "t"), preview=True).output

    assert shown.splitlines() == [
        "# step 1 of 3: one (run)",
        "echo 1",
        "",
        "# step 2 of 3: step2 (tool)",
        'inner {"A": "<one.output>"}',
        "",
        "# step 3 of 3: step3 (bash)",
        "cat",
        "# stdin: '<one.stdout>'",
    ]
