"""Every call takes the one path: validated, decided, asked about, run, recorded, never raising."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.sandbox.running import is_locked

from tongs import ApprovalRequest, ApprovalResponse, ErrorCode, Runtime, ToolResult
from tongs.core.approval import FileChange, Remember, Span
from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.driving import drive
from tongs.core.errors import BlockedBy, DefinitionInvalid
from tongs.core.execution import Event, OutputArrived
from tongs.core.parts import Door
from tongs.core.record import replace
from tongs.pipeline import run
from tongs.pipeline.question import asker
from tongs.sandbox.waiting import BlockingWaiter, LoopWaiter

if TYPE_CHECKING:
    from tests.unit.conftest import Project

AGENT = Caller(CallerKind.AGENT, "claude")
PERSON = Caller(CallerKind.PERSON, "user")
TOUCH = "bash: touch {F}\nparameters: {F: {}}\ntags: [write]\n"


class Person:
    """A double for a person: gives one answer and remembers what was asked."""

    def __init__(self, answer: ApprovalResponse | None) -> None:
        self.answer = answer
        self.asked: list[ApprovalRequest] = []

    async def __call__(self, request: ApprovalRequest) -> ApprovalResponse | None:
        self.asked.append(request)
        return self.answer


def call(
    runtime: Runtime, person: Person | None, arguments: Mapping[str, Any], name: str = "t"
) -> ToolResult:
    return runtime.run_sync(ToolCall("c1", name, arguments, AGENT), approver=person)


def code(result: ToolResult) -> object:
    return None if result.error is None else result.error.code


def test_denied_call_starts_no_process(project: Project) -> None:
    project.write("t", TOUCH)
    person = Person(ApprovalResponse(approved=False, reason="not now", approver="ann"))

    result = call(project.runtime(), person, {"F": "made"})

    assert result.error is not None
    assert (result.error.code, result.error.blocked_by) == (
        ErrorCode.APPROVAL_DENIED,
        BlockedBy.APPROVAL,
    )
    assert result.error.message == "t was not run: ann denied it (not now)"
    assert not (project.root / "made").exists()


def test_nobody_reachable_is_a_denial_with_a_way_out(project: Project) -> None:
    project.write("t", TOUCH)

    result = call(project.runtime(), None, {"F": "made"})

    assert result.error is not None
    assert result.error.code is ErrorCode.APPROVAL_DENIED
    assert "--auto-approve t" in result.error.hint
    assert not (project.root / "made").exists()


def test_a_question_in_the_midst_of_a_call_that_reaches_nobody_has_no_answer() -> None:
    nothing: Any = None

    ask = asker(nothing, nothing, nothing, Door(waiter=BlockingWaiter()))

    assert drive(ask(nothing)) is None


def test_approved_call_runs_and_the_request_shows_what_will_run(project: Project) -> None:
    project.write("t", TOUCH)
    person = Person(ApprovalResponse(approved=True, approver="ann"))

    result = call(project.runtime(), person, {"F": "made"})

    assert result.ok
    assert (project.root / "made").exists()
    (request,) = person.asked
    assert (request.tool, request.args, request.rule) == ("t", {"F": "made"}, "level write")
    assert request.preview == "__t0='made'\ntouch \"${__t0}\""
    assert "TOOL_APPROVED name=t approver=ann" in project.audit()


def test_edited_arguments_are_what_runs(project: Project) -> None:
    project.write("t", TOUCH)
    person = Person(ApprovalResponse(approved=True, modified_args={"F": "edited"}))

    result = call(project.runtime(), person, {"F": "made"})

    assert result.ok
    assert not (project.root / "made").exists()
    assert (project.root / "edited").exists()
    assert result.metadata["modifiedArguments"] == {"F": "edited"}


def test_edited_arguments_are_validated_again(project: Project) -> None:
    project.write("t", TOUCH)
    person = Person(ApprovalResponse(approved=True, modified_args={"F": 3}))

    result = call(project.runtime(), person, {"F": "made"})

    assert code(result) is ErrorCode.INVALID_ARGUMENTS


def test_invalid_arguments_are_all_named_and_nobody_is_asked(project: Project) -> None:
    project.write("t", "bash: echo {A} {B}\nparameters: {A: {}, B: {type: integer}}\n")
    person = Person(ApprovalResponse(approved=True))

    result = call(project.runtime(), person, {"B": "x", "C": 1})

    assert result.error is not None
    assert result.error.code is ErrorCode.INVALID_ARGUMENTS
    assert result.error.blocked_by is BlockedBy.SCHEMA
    assert len(result.error.details["violations"]) == 3
    assert person.asked == []


def test_json_from_a_program_is_not_coerced(project: Project) -> None:
    project.write("t", "bash: echo {B}\nparameters: {B: {type: integer}}\n")

    assert code(call(project.runtime(auto_approve=["*"]), None, {"B": "5"})) is (
        ErrorCode.INVALID_ARGUMENTS
    )


def test_untrusted_tool_is_not_run_even_when_approved(project: Project) -> None:
    project.write("t", TOUCH, trusted=False)

    result = call(project.runtime(auto_approve=["*"]), None, {"F": "made"})

    assert result.error is not None
    assert (result.error.code, result.error.blocked_by) == (
        ErrorCode.UNTRUSTED,
        BlockedBy.TRUST,
    )
    assert not (project.root / "made").exists()


def test_changed_tool_is_untrusted_again(project: Project) -> None:
    path = project.write("t", TOUCH)
    path.write_text(TOUCH.replace("touch", "rm -rf"))

    result = call(project.runtime(auto_approve=["*"]), None, {"F": "made"})

    assert result.error is not None
    assert "changed since it was accepted" in result.error.message


def test_missing_secret_stops_the_call_before_anything_runs(project: Project) -> None:
    project.write("t", "bash: touch made\npermissions: {secrets: {API_KEY: {type: string}}}\n")

    result = call(project.runtime(auto_approve=["*"]), None, {})

    assert code(result) is ErrorCode.SECRET_MISSING
    assert not (project.root / "made").exists()


def test_secret_reaches_the_tool_and_never_the_result_or_the_audit(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_KEY", "hunter22")
    project.write(
        "t",
        'bash: |\n  test "$API_KEY" = hunter22 && echo "key $API_KEY {A}"; '
        'echo "$API_KEY" >&2; exit 1\n'
        "parameters: {A: {}}\n"
        "permissions: {secrets: {API_KEY: {type: string}}}\n",
    )

    result = call(project.runtime(auto_approve=["*"]), None, {"A": "hunter22"})

    assert result.output == "key [redacted] [redacted]\n"
    assert "hunter22" not in repr(result.to_wire())
    assert "hunter22" not in project.audit() + repr(project.records())


def test_optional_secret_may_be_missing(project: Project) -> None:
    project.write(
        "t",
        "bash: echo [${API_KEY-none}]\n"
        "permissions: {secrets: {API_KEY: {type: string, required: false}}}\n",
    )

    assert call(project.runtime(auto_approve=["*"]), None, {}).output == "[none]\n"


OUTER = """
tags: [write]
with:
  tools:
    - name: helper
      bash: echo helped {X}; cat
      parameters: {X: {}}
      tags: [read]
steps:
  - name: one
    tool: helper
    arguments: {X: "{A}"}
    input: some input
  - bash: echo "then {one.output}"
parameters: {A: {}}
"""


def test_inline_helper_is_called_through_the_same_pipeline(project: Project) -> None:
    project.write("t", OUTER)

    result = call(project.runtime(auto_approve=["t"]), None, {"A": "me"})

    assert result.error is None
    assert result.output == "then helped me\nsome input\n"
    assert "TOOL_EXECUTED name=helper" in project.audit()
    assert "caller=t" in project.audit()


def test_inline_helper_cannot_be_called_from_outside(project: Project) -> None:
    project.write("t", OUTER)

    assert code(call(project.runtime(auto_approve=["*"]), None, {}, "helper")) is (
        ErrorCode.TOOL_NOT_FOUND
    )


def test_inline_helper_gets_nothing_that_its_name_was_granted(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "of-the-real-deploy")
    (project.home / "config.yml").write_text(
        "security: {auto_approve: [deploy, tool:read]}\ntools: {deploy: {envs: {TOKEN: null}}}\n"
    )
    inline = "with: {tools: [{name: deploy, tags: [%s], bash: 'echo token=$TOKEN'}]}\n"
    project.write("reader", "tool: deploy\ntags: [read]\n" + inline % "read")
    project.write("runner", "tool: deploy\ntags: [read]\n" + inline % "run")
    runtime = project.runtime()

    assert runtime.call_sync("reader").output == "token=\n"
    refused = runtime.call_sync("runner").error
    assert refused is not None
    assert refused.code is ErrorCode.APPROVAL_DENIED


def test_named_tool_of_a_higher_level_is_asked_about(project: Project) -> None:
    project.write("inner", "bash: touch made\ntags: [run]\n")
    project.write("t", "tool: inner\nuses: {tools: [inner]}\ntags: [read]\n")

    refused = call(project.runtime(auto_approve=["tool:read"]), None, {})
    assert code(refused) is ErrorCode.APPROVAL_DENIED
    assert not (project.root / "made").exists()

    allowed = call(project.runtime(auto_approve=["tool:run"]), None, {})
    assert allowed.ok


def test_failure_of_a_nested_tool_names_the_step(project: Project) -> None:
    project.write("inner", "bash: echo no >&2; exit 7\n")
    project.write("t", "steps:\n  - {name: go, tool: inner}\n")

    result = call(project.runtime(auto_approve=["*"]), None, {})

    assert result.error is not None
    assert result.error.message == "step go of t: inner failed with exit code 7: no"


def test_tool_that_calls_itself_is_a_mistake_in_its_definition(project: Project) -> None:
    (project.tools / "a.yaml").write_text("tool: b\n")
    (project.tools / "b.yaml").write_text("tool: a\n")

    result = call(project.runtime(auto_approve=["*"]), None, {}, "a")

    assert result.error is not None
    assert result.error.code is ErrorCode.INVALID_DEFINITION
    assert "a > b > a" in result.error.message


def test_call_of_a_tool_that_does_not_exist_is_a_mistake_in_the_definition(
    project: Project,
) -> None:
    (project.tools / "a.yaml").write_text("tool: nothing\n")

    assert code(call(project.runtime(), None, {}, "a")) is ErrorCode.INVALID_DEFINITION


def test_server_that_does_not_exist_is_a_mistake_in_the_definition(project: Project) -> None:
    (project.tools / "a.yaml").write_text("bash: echo hi\nuses: {tools: [], mcp: server}\n")

    result = call(project.runtime(auto_approve=["*"]), None, {}, "a")

    assert result.error is not None
    assert result.error.code is ErrorCode.INVALID_DEFINITION
    assert "the MCP server `server`, which does not exist" in result.error.message


def test_output_that_breaks_its_promise_is_a_warning(project: Project) -> None:
    project.write(
        "t",
        'bash: |\n  echo \'{"n": "x"}\'\n'
        "outputs: {format: json, schema: {type: object, properties: {n: {type: integer}}}}\n",
    )

    result = call(project.runtime(auto_approve=["*"]), None, {})

    assert result.ok
    assert result.value == {"n": "x"}
    assert len(result.warnings) == 1


def test_bug_in_a_rule_becomes_an_internal_error_with_its_id_in_the_log(
    project: Project,
) -> None:
    class Broken:
        def check(self, call: object, tool: object) -> None:
            raise ZeroDivisionError("oops")

    project.write("t", TOUCH)

    result = call(project.runtime(rules=[Broken()]), None, {"F": "made"})

    assert result.error is not None
    assert result.error.code is ErrorCode.INTERNAL_ERROR
    log = Path(result.error.details["log"]).read_text()
    assert f"id={result.error.details['id']}" in log
    assert "ZeroDivisionError: oops" in log
    assert not (project.root / "made").exists()


def test_async_and_sync_calls_give_the_same(project: Project) -> None:
    project.write("t", "bash: echo {A}\nparameters: {A: {}}\ntags: [read]\n")

    with Runtime.open(project.root, auto_approve=["tool:read"]) as runtime:
        waited = asyncio.run(runtime.call("t", A="x"))
        blocked = runtime.call_sync("t", {"A": "x"})

    assert waited.output == blocked.output == "x\n"


def test_cancelled_async_call_kills_the_tool_and_is_recorded(project: Project) -> None:
    # The lock tells whether it lives: its pid is one of another namespace.
    project.write("t", "bash: exec 9> lock; flock 9; echo started; sleep 60\n")
    held = []

    async def cancel_when_running(runtime: Runtime) -> None:
        started = asyncio.Event()

        def observe(event: Event) -> None:
            if isinstance(event, OutputArrived):
                held.append(is_locked(project.root / "lock"))
                started.set()

        door = Door(LoopWaiter(), observe=observe)
        task = asyncio.create_task(runtime.run(ToolCall("c1", "t", caller=PERSON), door))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with Runtime.open(project.root) as runtime:
        asyncio.run(cancel_when_running(runtime))

    assert held == [True]
    assert not is_locked(project.root / "lock")
    assert "status=error code=CANCELLED" in project.audit()


def test_mapping_and_keywords_together_are_refused(project: Project) -> None:
    with pytest.raises(TypeError, match="not both"):
        project.runtime().call_sync("t", {"A": 1}, B=2)


@pytest.mark.parametrize("arguments", [5, [1, 2], "text"])
def test_arguments_that_are_no_mapping_are_refused(project: Project, arguments: object) -> None:
    with pytest.raises(TypeError, match="a mapping of names to values"):
        project.runtime().call_sync("t", arguments)  # type: ignore[arg-type]


def test_arguments_nested_without_end_are_an_error_of_the_call(project: Project) -> None:
    project.write("t", "bash: echo {A}\nparameters: {A: {type: object}}\n")
    endless: dict[str, object] = {}
    endless["again"] = endless

    assert not project.runtime().call_sync("t", {"A": endless}).ok


def test_every_result_says_what_was_enforced_and_what_was_not(project: Project) -> None:
    result = project.define_and_run("bash: 'true'\n")

    walls = {"tree-kill", "network", "fs.read", "fs.write"}
    assert walls <= {*result.metadata["enforced"]}
    assert walls.isdisjoint(result.metadata["notEnforced"])
    assert ("enforcement" in result.metadata, result.warnings) == (False, ())


@pytest.mark.parametrize("enforcement", ["off", "best-effort"])
def test_walls_that_need_not_stand_are_said_in_result_and_audit(
    project: Project, enforcement: str
) -> None:
    (project.home / "config.yml").write_text(f"security: {{enforcement: {enforcement}}}\n")
    project.write("t", "bash: 'true'\n")

    result = project.run("t")

    assert result.ok
    assert result.metadata["enforcement"] == enforcement
    assert ("network" in result.metadata["enforced"]) == (enforcement != "off")
    assert ("network" in result.metadata["notEnforced"]) == (enforcement == "off")
    warning = f"security.enforcement is {enforcement}: the walls may not stand"
    assert list(result.warnings) == [warning]
    assert f" enforcement={enforcement}" in project.audit().splitlines()[-1]


def test_audit_says_what_was_not_enforced(project: Project) -> None:
    project.write("t", "bash: 'true'\n")
    result = project.run("t")
    assert " enforcement=" not in project.audit().splitlines()[-1]
    for name in result.metadata["notEnforced"]:
        assert f'"{name}"' in project.audit().splitlines()[-1]

    (project.home / "config.yml").write_text("security: {enforcement: off}\n")
    project.run("t")
    assert re.search('not_enforced=.*"network"', project.audit().splitlines()[-1])


def test_what_a_session_has_to_say_is_in_the_result(project: Project) -> None:
    result = project.define_and_run("bash: echo ran\npermissions: {fs: {read: [., gone]}}\n")

    assert result.output == "ran\n"
    assert list(result.warnings) == [
        f"{project.root}/gone does not exist, so it was not granted",
    ]


def test_confined_tool_that_fails_says_what_was_off_and_the_line_that_grants_it(
    project: Project,
) -> None:
    outside = project.home.parent / "notes"
    outside.write_text("secret")

    error = project.define_and_run(f"bash: cat {outside}\ntags: [write]\n").error

    assert error is not None
    assert error.code is ErrorCode.EXECUTION_ERROR
    root = project.root
    granted = "permissions: {fs: {read: [., ~/notes], write: [.]}}"
    assert error.details["confined"] == (
        f"network was off; it could read and write {root} (from its tag `write`)"
    )
    assert error.details["grants"] == [granted]
    assert error.hint == f"to grant it, write in {project.tools}/t.yaml: {granted}"


def test_program_that_a_tool_may_not_read_is_named_with_the_line_that_grants_it(
    project: Project,
) -> None:
    program = project.home.parent / "program"
    program.write_text("#!/bin/sh\necho ran\n")
    program.chmod(0o700)
    text = f"run: {program}\ntags: [read]\n"

    result = project.define_and_run(text)

    assert result.error is not None
    assert result.error.message == f"cannot start `{program}`: it may not read {program}"
    assert "fs.read" in result.metadata["enforced"]
    (line,) = result.error.details["grants"]
    assert result.error.hint == f"to grant it, write in {project.tools}/t.yaml: {line}"
    assert project.define_and_run(f"{text}{line}\n").output == "ran\n"


def test_tool_whose_processes_together_pass_a_limit_is_told_that_limit(project: Project) -> None:
    many = "bash: for n in 1 2 3 4 5 6 7 8; do sleep 60 & done; wait\n"

    error = project.define_and_run(f"{many}tags: [write]\nlimits: {{processes: 4}}\n").error

    assert error is not None
    assert error.details["exceeded"] == "processes"
    assert error.details["confined"].endswith("; limits.processes was 4")
    assert error.details["grants"] == ["limits: {processes: 8}"]
    assert error.hint == f"to grant it, write in {project.tools}/t.yaml: limits: {{processes: 8}}"


def test_host_that_a_list_refused_is_named_although_the_tool_says_nothing(
    project: Project,
) -> None:
    reach = "import urllib.request as u; u.urlopen('http://not-listed.example.org/')"
    text = f'bash: python3 -c "{reach}" 2> /dev/null\npermissions: {{network: [a.example.org]}}\n'

    result = project.define_and_run(text)

    assert result.error is not None
    assert result.metadata["stderr"] == ""
    assert result.error.details["grants"] == [
        "permissions: {network: [a.example.org, not-listed.example.org]}"
    ]


def test_hint_of_the_executor_stays_where_it_knows_better(project: Project) -> None:
    error = project.define_and_run("run: no-such-program\ntags: [read]\n").error

    assert error is not None
    assert error.hint.startswith("install it; the tool's PATH is ")
    assert "confined" in error.details


def test_confined_tool_that_fails_for_its_own_reasons_is_given_no_hint(project: Project) -> None:
    error = project.define_and_run("bash: exit 7\npermissions: {network: true}\n").error

    assert error is not None
    assert error.details["confined"] == "network was on; it could read nothing and write nothing"
    assert ("grants" in error.details, error.hint) == (False, "")


def test_tool_that_nothing_confined_fails_without_a_word_about_walls(project: Project) -> None:
    (project.home / "config.yml").write_text("security: {enforcement: off}\n")

    error = project.define_and_run("bash: cat /no/such/file\n").error

    assert error is not None
    assert "confined" not in error.details


def test_tool_out_of_time_says_nothing_of_walls(project: Project) -> None:
    error = project.define_and_run("bash: sleep 60\ntimeout: 200\n").error

    assert error is not None
    assert (error.code, "confined" in error.details) == (ErrorCode.TIMEOUT, False)


def test_hint_says_how_whoever_called_can_be_allowed(project: Project) -> None:
    project.write("t", TOUCH + "approval: {required: true, reason: it writes}\n")
    runtime = project.runtime()
    hints = {}

    for kind in (CallerKind.PERSON, CallerKind.PROGRAM, CallerKind.AGENT):
        result = runtime.run_sync(ToolCall("c1", "t", {"F": "x"}, Caller(kind, "somebody")))
        assert result.error is not None
        hints[kind] = result.error.hint

    assert "--yes" in hints[CallerKind.PERSON]
    assert "approver=" in hints[CallerKind.PROGRAM]
    assert "--auto-approve t" in hints[CallerKind.AGENT]


def test_interrupt_while_a_person_is_asked_is_a_cancelled_call(project: Project) -> None:
    async def interrupted(request: ApprovalRequest) -> ApprovalResponse | None:
        raise KeyboardInterrupt

    project.write("t", TOUCH)

    result = project.runtime().run_sync(
        ToolCall("c1", "t", {"F": "x"}, AGENT), approver=interrupted
    )

    assert code(result) is ErrorCode.CANCELLED
    assert not (project.root / "x").exists()


def test_tools_nested_too_deeply_are_refused(project: Project) -> None:
    (project.tools / "t0.yaml").write_text("bash: touch reached\n")
    for number in range(1, 11):
        (project.tools / f"t{number}.yaml").write_text(f"tool: t{number - 1}\n")
    runtime = project.runtime()
    for entry in runtime.entries():
        runtime.definitions.accept(runtime.find(entry.name))

    result = project.run("t10")

    assert result.error is not None
    assert result.error.code is ErrorCode.INVALID_DEFINITION
    assert "nested too deeply" in result.error.message
    assert not (project.root / "reached").exists()
    assert project.run("t5").ok


def test_success_of_a_tool_with_secrets_is_redacted_too(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_KEY", "hunter22")
    project.write("t", "bash: echo $API_KEY\npermissions: {secrets: {API_KEY: {}}}\n")

    assert project.run("t").output == "[redacted]\n"


SECRETIVE = """bash: 'printf "%s|" {L} {T}'
parameters: {L: {type: array}, T: {type: string}, O: {type: object, default: {}}}
permissions: {secrets: {API_KEY: {}}}
"""


def test_person_sees_arguments_without_secrets_and_edits_around_them(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_KEY", "hunter22")
    project.write("t", SECRETIVE)
    given = {"L": ["hunter22", "b"], "T": "hunter22", "O": {"k": "hunter22"}}
    edited = {"L": ["[redacted]", "c"], "T": "[redacted]!", "O": {"k": "[redacted]", "n": 1}}
    person = Person(ApprovalResponse(approved=True, modified_args=edited))

    result = call(project.runtime(), person, given)

    (request,) = person.asked
    shown = {"L": ["[redacted]", "b"], "T": "[redacted]", "O": {"k": "[redacted]"}}
    assert request.args == shown
    assert "hunter22" not in request.preview
    # What was left alone is what was given, and the output is redacted again.
    assert result.output == "[redacted]|c|[redacted]!|"
    assert result.metadata["modifiedArguments"]["O"] == {"k": "[redacted]", "n": 1}
    assert "hunter22" not in project.audit()


def test_traceback_of_a_call_is_kept_without_its_secrets(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_KEY", "hunter22")
    project.write("t", SECRETIVE)

    def watch(event: Event) -> None:
        if isinstance(event, OutputArrived):
            raise RuntimeError("broken by hunter22")

    call_ = ToolCall("c1", "t", {"L": [], "T": "xxxxxxxxxxxxxxxxxx"}, PERSON)
    result = project.runtime().run_sync(call_, observe=watch)

    assert code(result) is ErrorCode.INTERNAL_ERROR
    log = (project.home / "state" / "log" / "tongs.log").read_text()
    assert "broken by [redacted]" in log
    assert "hunter22" not in log


def test_call_that_cannot_be_recorded_does_not_run(project: Project) -> None:
    project.write("t", "bash: touch made\n")
    audit = project.home / "state" / "audit"
    shutil.rmtree(audit)
    audit.write_text("a file where the folder should be")

    result = project.run("t")

    assert result.error is not None
    assert result.error.code is ErrorCode.INTERNAL_ERROR
    assert result.error.message == (
        "t was not run: the audit record cannot be written: File exists"
    )
    assert str(audit) in result.error.hint
    assert not (project.root / "made").exists()


def test_call_whose_readable_copy_cannot_be_written_runs_and_says_so(project: Project) -> None:
    project.write("t", "bash: echo hi\n")
    copy = project.root / ".tongs" / "audit"
    shutil.rmtree(copy)
    copy.write_text("a file where the folder should be")

    result = project.run("t")

    assert result.output == "hi\n"
    assert "cannot be written" in result.warnings[0]


def test_profile_of_the_library_bounds_every_call(project: Project) -> None:
    project.write("t", "bash: echo hi\n")
    profile = project.root / ".tongs/profiles/shut.yml"
    profile.parent.mkdir(parents=True)
    profile.write_text("security: {auto_deny: [t]}\n")

    opened = project.runtime(auto_approve=["*"], profile="shut")

    assert code(call(opened, None, {})) is ErrorCode.DENIED
    assert call(project.runtime(auto_approve=["*"]), None, {}).ok
    with pytest.raises(DefinitionInvalid, match="there is no profile `open`"):
        project.runtime(profile="open")


def test_the_model_is_told_in_words_when_its_arguments_were_changed(project: Project) -> None:
    project.write("t", TOUCH)
    person = Person(ApprovalResponse(approved=True, modified_args={"F": "edited"}, approver="ann"))

    result = call(project.runtime(), person, {"F": "made"})

    assert result.warnings[-1] == (
        'ann changed the arguments before allowing it; it ran with {"F": "edited"}'
    )
    unnamed = Person(ApprovalResponse(approved=True, modified_args={"F": "edited"}))
    warnings = call(project.runtime(), unnamed, {"F": "made"}).warnings
    assert warnings[-1].startswith("the person changed")


def test_an_approval_that_is_used_up_elsewhere_starts_nothing(project: Project) -> None:
    project.write("t", TOUCH)
    person = Person(ApprovalResponse(approved=True, id="0123456789"))

    result = call(project.runtime(), person, {"F": "made"})

    assert code(result) is ErrorCode.APPROVAL_DENIED
    assert not (project.root / "made").exists()


def test_a_tool_may_ask_depending_on_its_arguments(project: Project) -> None:
    project.write("t", TOUCH)
    runtime = project.runtime(auto_approve=["tool:write"])
    asks = replace(
        runtime.find("t"), name="asks", requires_approval=lambda args: args["F"] == "made"
    )
    runtime.registry.register(asks)
    person = Person(ApprovalResponse(approved=False))

    assert call(runtime, person, {"F": "other"}, "asks").ok
    assert code(call(runtime, person, {"F": "made"}, "asks")) is ErrorCode.APPROVAL_DENIED
    assert [request.rule for request in person.asked] == ["approval.required"]


def test_an_executor_that_writes_files_can_show_the_difference(project: Project) -> None:
    project.write("t", TOUCH)
    runtime = project.runtime()
    change = FileChange("made", None, "")
    executor = runtime._parts.executors["script"]
    telling = type("Telling", (), {"changes": lambda self, tool, arguments, world: [change]})()
    telling.preview, telling.execute = executor.preview, executor.execute
    parts = replace(runtime._parts, executors={runtime.find("t").executor: telling})
    person = Person(ApprovalResponse(approved=False))

    drive(run(ToolCall("c1", "t", {"F": "made"}, AGENT), parts, Door(BlockingWaiter(), person)))

    assert [request.changes for request in person.asked] == [(change,)]


def test_built_in_tool_acts_on_the_state_that_was_approved(project: Project) -> None:
    kept = project.root / "notes.txt"
    kept.write_text("before")
    person = Person(ApprovalResponse(approved=True))
    arguments = {"path": "notes.txt", "content": "after"}

    result = call(project.runtime(), person, arguments, "write_file")

    assert result.ok
    assert kept.read_text() == "after"
    (request,) = person.asked
    assert request.rule == "approval.required"
    assert "before" in request.preview


def test_built_in_tool_that_was_approved_leaves_another_state_alone(project: Project) -> None:
    kept = project.root / "notes.txt"
    kept.write_text("before")

    async def changing(request: ApprovalRequest) -> ApprovalResponse:
        kept.write_text("changed meanwhile")
        return ApprovalResponse(approved=True)

    tool_call = ToolCall("c1", "write_file", {"path": "notes.txt", "content": "x"}, AGENT)
    result = project.runtime().run_sync(tool_call, approver=changing)

    assert not result.ok
    assert kept.read_text() == "changed meanwhile"


def test_built_in_tool_that_replaces_nothing_has_nothing_at_stake(project: Project) -> None:
    person = Person(ApprovalResponse(approved=False))

    assert code(call(project.runtime(), person, {"command": "touch x"}, "shell")) is (
        ErrorCode.APPROVAL_DENIED
    )
    assert len(person.asked) == 1


def test_nobody_is_asked_about_what_cannot_run_here(project: Project) -> None:
    project.write("t", f"{TOUCH}requires: [there-is-no-such-program]\n")
    person = Person(ApprovalResponse(approved=True))

    result = call(project.runtime(), person, {"F": "made"})

    assert result.error is not None
    assert "there-is-no-such-program" in result.error.message
    assert person.asked == []


def test_person_who_always_allows_it_is_not_asked_again(project: Project) -> None:
    project.write("t", TOUCH)
    always = Remember({"tool": "t"}, Span.SESSION)
    person = Person(ApprovalResponse(approved=True, remember=always))
    runtime = project.runtime()

    assert call(runtime, person, {"F": "one"}).ok
    assert call(runtime, person, {"F": "two"}).ok

    assert len(person.asked) == 1
    assert (project.root / "two").exists()


def test_list_that_a_person_made_longer_is_taken_as_it_is(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_KEY", "hunter22")
    project.write("t", SECRETIVE)
    edited = {"L": ["[redacted]", "b", "c"], "T": "x"}
    person = Person(ApprovalResponse(approved=True, modified_args=edited))

    result = call(project.runtime(), person, {"L": ["hunter22", "b"], "T": "y"})

    # Nobody can tell which of its elements is which.
    assert result.output == "[redacted]|b|c|x|"


def test_tool_that_times_itself_has_no_other_limit(project: Project) -> None:
    result = call(project.runtime(auto_approve=["*"]), None, {"command": "echo hi"}, "shell")

    assert "hi" in result.output


def test_tool_that_finds_what_it_requires_runs(project: Project) -> None:
    project.write("t", f"{TOUCH}requires: [bash]\n")

    assert project.run("t", F="made").ok
