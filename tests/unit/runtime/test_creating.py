"""What an agent may not do by creating a tool. Each attack stands beside what is allowed."""

from __future__ import annotations

import json
import os
import resource
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tongs import ErrorCode, Runtime, ToolError
from tongs.builtin import ALIASES, MODULES
from tongs.core.errors import BlockedBy
from tongs.core.tool import Trust

if TYPE_CHECKING:
    from tests.unit.conftest import Project

NOTHING = {"network": False, "fs": {"read": [], "write": []}, "secrets": {}}


def echo(*args: str, **more: Any) -> dict[str, Any]:
    return {
        "description": "says it",
        "kind": "command",
        "inputs": {
            "schema": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "text": {"type": "string", "description": "what"},
                    "count": {"type": "integer", "description": "how often"},
                },
            }
        },
        "exec": {"command": {"entrypoint": "echo", "args": list(args), **more.pop("body", {})}},
        "permissions": NOTHING,
        **more,
    }


def refused(project: Project, *arguments: Any) -> ToolError:
    before = sorted(map(str, project.root.rglob("*")))
    with pytest.raises(ToolError) as caught:
        project.runtime().create_tool(*arguments)
    assert sorted(map(str, project.root.rglob("*"))) == before
    return caught.value


def create(project: Project, name: str = "say", **more: Any) -> Any:
    return project.runtime().create_tool(name, echo("hello", **more), "claude")


def approve(project: Project, name: str = "say") -> None:
    runtime = project.runtime()
    runtime.definitions.approve(runtime.find(name))


@pytest.mark.parametrize("as_text", [False, True])
def test_created_tool_runs_after_its_review(project: Project, as_text: bool) -> None:
    definition = echo("hello")
    given = json.dumps(definition) if as_text else definition
    made = project.runtime().create_tool("say", given, "claude")
    assert made.tool.trust is Trust.REVIEW

    approve(project)

    allowed = project.runtime(auto_approve=["say"]).call_sync("say")
    assert allowed.output == "hello\n"


def test_only_the_directory_is_left_and_no_trace_of_how_it_was_written(project: Project) -> None:
    create(project)

    assert sorted(os.listdir(project.tools)) == ["say"]
    assert os.listdir(project.tools / "say") == ["tool.yml"]


@pytest.mark.parametrize(
    "name", ["", "..", ".hidden", "-x", "a/b", "../up", "a b", "x" * 129, "a\n", "ä", None, 3]
)
def test_name_that_is_no_name_is_refused(project: Project, name: Any) -> None:
    assert refused(project, name, echo(), "claude").code is ErrorCode.INVALID_ARGUMENTS


@pytest.mark.parametrize("name", [*MODULES, *ALIASES, "Web_Search", "custom_tool_x"])
def test_name_that_tongs_keeps_for_itself_is_refused(project: Project, name: str) -> None:
    error = refused(project, name, echo(), "claude")

    assert (error.code, error.blocked_by) == (ErrorCode.INVALID_ARGUMENTS, BlockedBy.TRUST)


@pytest.mark.parametrize("creator", ["", "user", "a\nb", "x" * 65, " claude", None])
def test_creator_that_would_blur_the_record_is_refused(project: Project, creator: Any) -> None:
    assert refused(project, "say", echo(), creator).code is ErrorCode.INVALID_ARGUMENTS


@pytest.mark.parametrize("scope", ["local", "user", "global"])
@pytest.mark.parametrize("name", ["taken", "TAKEN"])
def test_tool_of_somebody_else_is_neither_replaced_nor_shadowed(
    project: Project, tmp_path: Path, scope: str, name: str
) -> None:
    folders = {
        "local": project.tools,
        "user": project.home / "tools",
        "global": tmp_path / "global" / "tongs" / "tools",
    }
    folders[scope].mkdir(parents=True, exist_ok=True)
    (folders[scope] / "taken.yaml").write_text("bash: echo mine\n")

    error = refused(project, name, echo(), "claude")

    assert "already defines `taken`" in error.message


def test_folder_that_is_there_already_is_left_alone(project: Project) -> None:
    (project.tools / "say").mkdir()
    (project.tools / "say" / "evil.sh").write_text("echo evil\n")

    assert "exists already" in refused(project, "say", echo(), "claude").message


def test_link_in_place_of_the_tool_folder_leads_nowhere(project: Project, tmp_path: Path) -> None:
    project.tools.rmdir()
    (tmp_path / "elsewhere").mkdir()
    project.tools.symlink_to(tmp_path / "elsewhere")

    assert "is no folder of this project" in refused(project, "say", echo(), "claude").message
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_nothing_is_created_in_a_folder_that_is_trusted_for_its_place(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person may keep their own folder in a project, as settings in a repository."""
    (project.root / ".git").mkdir()
    (project.root / ".tongs").chmod(0o700)
    monkeypatch.setenv("TONGS_HOME", str(project.root / ".tongs"))
    with pytest.raises(ToolError) as inside:
        project.runtime().create_tool("say", echo(), "claude")
    assert not (project.tools / "say").exists()

    monkeypatch.setenv("TONGS_HOME", str(project.home))
    monkeypatch.chdir(os.environ["HOME"])
    with pytest.raises(ToolError) as at_home, Runtime.open() as runtime:
        runtime.create_tool("say", echo(), "claude")

    assert "is no folder of this project" in inside.value.message
    assert "there is no project here" in at_home.value.message
    assert not (project.home / "tools").exists()


def test_tool_of_another_agent_is_not_replaced(project: Project) -> None:
    create(project)

    error = refused(project, "say", echo("other"), "codex")

    assert "created by claude" in error.message
    assert create(project).changed


@pytest.mark.parametrize(
    "config",
    ["tools: {say: {permissions: {network: true}}}", "security: {auto_approve: [say]}"],
)
def test_what_the_config_gives_to_a_name_is_not_inherited(project: Project, config: str) -> None:
    (project.home / "config.yml").write_text(f"{config}\n")

    assert "already gives something" in refused(project, "say", echo(), "claude").message


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"kind": "python", "exec": {"python": {"module": "evil", "function": "run"}}}, "python"),
        ({"exec": {"command": {"entrypoint": "./evil.sh"}}}, "entrypoint"),
        ({"exec": {"command": {"entrypoint": "/bin/sh"}}}, "entrypoint"),
        ({"exec": {"command": {"entrypoint": "bash", "args": ["-c", "ls ${text}"]}}}, "args"),
        ({"exec": {"command": {"entrypoint": "env", "args": ["sh", "-c", "${text}"]}}}, "args"),
        ({"exec": {"command": {"entrypoint": "bash", "stdin": "ls ${text}"}}}, "stdin"),
        ({"exec": {"command": {"entrypoint": "env", "args": ["sh"], "stdin": "${text}"}}}, "stdin"),
        ({"exec": {"command": {"entrypoint": "git", "env": {"GIT_SSH_COMMAND": "x"}}}}, "env"),
        ({"exec": {"command": {"entrypoint": "ls", "env": {"LD_PRELOAD": "x.so"}}}}, "env"),
        ({"permissions": None}, "permissions"),
        ({"name": "another"}, "name"),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_definition_that_brings_or_builds_code_is_refused(
    project: Project, change: dict[str, Any], field: str
) -> None:
    (project.root / "evil.sh").write_text("#!/bin/sh\n")
    (project.root / "evil.sh").chmod(0o755)
    (project.root / "evil.py").write_text("def run(): ...\n")
    definition = {k: v for k, v in {**echo(), **change}.items() if v is not None}

    error = refused(project, "say", definition, "claude")

    assert error.code is ErrorCode.INVALID_DEFINITION
    assert any(field in problem["field"] for problem in error.details["problems"])


@pytest.mark.parametrize(
    "line",
    [
        "python3 evil.py",
        "python3.11 -u evil.py ${text}",
        "python3 -m evil",
        "python3 ${text}",
        "python3",
        "bash evil.sh",
        "bash -e evil.sh",
        "bash --rcfile evil.sh -i -c true",
        "env A=1 bash evil.sh",
        "env -S 'bash evil.sh'",
        "env ./evil.sh",
        "timeout 5 sh evil.sh",
        "busybox sh evil.sh",
        "xargs sh",
        "find . -name evil.sh -exec sh {} ;",
        "perl -I. -MEvil -e 1",
        "node -r ./evil.js -e 1",
        "awk -f evil.awk",
        "sed -f evil.sed",
        "make x",
        "env make",
        "npm run x",
        "docker run -v .:/x box python3 /x/evil.py",
    ],
)
def test_program_that_would_run_a_file_of_the_project_is_refused(
    project: Project, line: str
) -> None:
    entrypoint, *args = shlex.split(line)
    definition = {**echo(), "exec": {"command": {"entrypoint": entrypoint, "args": args}}}

    error = refused(project, "say", definition, "claude")

    messages = [problem["message"] for problem in error.details["problems"]]
    assert any("text that the definition does not hold" in message for message in messages)


@pytest.mark.parametrize(
    "command",
    [
        {"entrypoint": "python3", "args": ["-c", "import sys; print(sys.argv[1])", "${text}"]},
        {"entrypoint": "python3", "args": ["--version"]},
        {"entrypoint": "bash", "stdin": "echo hello"},
        {"entrypoint": "env", "args": ["A=1", "sh", "-ec", "echo $A"]},
        {"entrypoint": "jq", "args": ["-r", ".a", "data.json"]},
        {"entrypoint": "sed", "args": ["-n", "1p", "notes.txt"]},
        {"entrypoint": "find", "args": [".", "-name", "*.py"]},
        {"entrypoint": "git", "args": ["log", "--format=%H", "${text}"]},
        {"entrypoint": "bash", "args": ["-c", 'echo "$1"', "_", "${text}"]},
        {"entrypoint": "bash", "args": ["-c", "echo ${count}"]},
        {"entrypoint": "wc", "args": ["-l"], "stdin": "${text}"},
        {"entrypoint": "ls", "env": {"LANG": "C"}},
    ],
)
def test_installed_program_with_plain_values_is_fine(
    project: Project, command: dict[str, Any]
) -> None:
    definition = {**echo(), "exec": {"command": command}}

    assert project.runtime().create_tool("say", definition, "claude").tool.name == "say"


@pytest.mark.parametrize(
    ("permissions", "lines"),
    [
        ({"network": True}, "network: true"),
        ({"network": ["a.example.org"]}, "network: a.example.org"),
        ({"fs": {"read": ["/etc", "src"]}}, "fs.read: /etc"),
        ({"fs": {"read": ["../other"]}}, "fs.read: ../other"),
        ({"fs": {"read": ["~/.ssh"]}}, "fs.read: ~/.ssh"),
        ({"fs": {"write": ["."]}}, "fs.write: ."),
        ({"secrets": {"KEY": {}, "TOKEN": {"required": False}}}, "secrets: KEY, secrets: TOKEN"),
    ],
)
def test_default_ceiling_is_the_project_for_reading(
    project: Project, permissions: dict[str, Any], lines: str
) -> None:
    error = refused(project, "say", echo(permissions=permissions), "claude")

    assert (error.code, error.blocked_by) == (ErrorCode.DENIED, BlockedBy.CEILING)
    assert error.message.endswith(f": {lines} (the default ceiling)")
    assert create(project, permissions={"fs": {"read": [".", "src"]}}).tool.name == "say"


def test_every_ceiling_counts(project: Project) -> None:
    user = project.home / "config.yml"
    user.write_text("security: {max_permissions: {network: true, fs: {write: [out]}}}\n")
    (project.root / ".glee").mkdir()
    glee = project.root / ".glee" / "config.yml"
    glee.write_text("security: {max_permissions: {network: [a.org], fs: {write: ['.']}}}\n")
    wanted = {"network": ["a.org", "b.org"], "fs": {"write": ["src", "out/x"]}}

    error = refused(project, "say", echo(permissions=wanted), "claude")

    assert error.message.endswith(f": fs.write: src ({user}:1); network: b.org ({glee}:1)")


@pytest.mark.parametrize("family", [".tongs", ".glee"])
def test_wide_ceiling_of_a_project_counts_when_a_person_has_accepted_it(
    project: Project, family: str
) -> None:
    """An agent may write one itself."""
    config = project.root / family / "config.yml"
    config.parent.mkdir(exist_ok=True)
    config.write_text("security: {max_permissions: {network: true, fs: {write: ['/']}}}\n")
    wide = echo(permissions={"network": True})

    error = refused(project, "say", wide, "claude")
    assert error.message.endswith(": network: true (the default ceiling)")

    project.runtime().definitions.accept_config(str(config), config.read_bytes())
    assert project.runtime().create_tool("say", wide, "claude").tool.name == "say"


def test_narrow_ceiling_of_a_project_counts_at_once(project: Project) -> None:
    (project.root / ".tongs" / "config.yml").write_text("security: {max_permissions: {}}\n")

    error = refused(project, "say", echo(permissions={"fs": {"read": ["."]}}), "claude")

    assert error.message.endswith("(the default ceiling)") is False
    assert "fs.read: ." in error.message


def test_mark_of_the_agent_outweighs_a_folder_that_somebody_works_on(project: Project) -> None:
    project.runtime().definitions.develop(str(project.tools), 3600)
    create(project)

    assert project.runtime().find("say").trust is Trust.REVIEW


@pytest.mark.parametrize(
    "edit",
    [
        lambda folder: (folder / "tool.yml").write_text((folder / "tool.yml").read_text() + "\n"),
        lambda folder: (folder / "more.sh").write_text("echo more\n"),
    ],
)
def test_whatever_changes_is_reviewed_again(project: Project, edit: Any) -> None:
    create(project)
    approve(project)
    assert project.runtime().find("say").trust is Trust.ACCEPTED

    edit(project.tools / "say")

    assert project.runtime().find("say").trust is Trust.REVIEW


def test_file_that_was_edited_past_the_checks_still_asks_and_gets_nothing(
    project: Project,
) -> None:
    create(project)
    path = project.tools / "say" / "tool.yml"
    text = path.read_text().replace("required: true", "required: false")
    start, _, rest = text.partition("permissions:")
    path.write_text(start + rest[rest.index("approval:") :])
    approve(project)

    tool = project.runtime().find("say")

    assert tool.requires_approval
    assert tool.permissions is not None
    assert (tool.permissions.network, tool.permissions.write) == (False, ())


def test_agent_may_lower_limits_and_not_raise_them(project: Project) -> None:
    (project.home / "config.yml").write_text("limits: {processes: 10, open_files: 64}\n")
    definition = echo(limits={"processes": 5000, "open_files": 32}, body={"args": ["-nu"]})
    definition["exec"]["command"] = {"entrypoint": "bash", "args": ["-c", "ulimit -n"]}
    project.runtime().create_tool("say", definition, "claude")
    approve(project)

    result = project.runtime(auto_approve=["say"]).call_sync("say")

    assert result.output == "32\n"


def test_person_who_trusts_is_sent_to_the_review(project: Project) -> None:
    create(project)
    runtime = project.runtime()

    with pytest.raises(ToolError) as refusal:
        runtime.definitions.accept(runtime.find("say"))

    assert (refusal.value.code, refusal.value.hint) == (ErrorCode.UNTRUSTED, "tongs review say")


def test_removed_tool_leaves_its_name_to_others(project: Project) -> None:
    create(project)
    runtime = project.runtime()
    runtime.definitions.remove("say", runtime.find("say").origin.scope)

    project.write("say", "bash: echo mine\n")

    assert project.run("say").output == "mine\n"
    assert project.runtime().find("say").creator == ""


def test_one_that_cannot_be_written_leaves_nothing(project: Project) -> None:
    project.runtime().entries()  # what is cached on disk is written before
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, hard))
    try:
        error = refused(project, "say", echo(), "claude")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert (error.code, "File too large" in error.message) == (ErrorCode.PERMISSION_DENIED, True)
    assert project.runtime().definitions.trust.creation(str(project.tools / "say/tool.yml")) is None
