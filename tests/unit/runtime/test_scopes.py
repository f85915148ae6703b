"""Tools are found in three scopes and in foreign folders; clashes and places are reported."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tongs import DefinitionInvalid, ErrorCode, Scope, ToolError
from tongs.core.tool import Trust

if TYPE_CHECKING:
    from tests.unit.conftest import Project


def put(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text)
    return path


@pytest.fixture
def folders(project: Project, tmp_path: Path) -> dict[Scope, Path]:
    return {
        Scope.LOCAL: project.tools,
        Scope.USER: project.home / "tools",
        Scope.GLOBAL: tmp_path / "global" / "tongs" / "tools",
    }


def test_nearest_scope_answers(project: Project, folders: dict[Scope, Path]) -> None:
    for scope, folder in folders.items():
        put(folder, "t.yaml", f"bash: echo {scope}\n")
    runtime = project.runtime()

    assert [(e.scope, e.shadowed) for e in runtime.entries()] == [
        (Scope.LOCAL, False),
        (Scope.USER, True),
        (Scope.GLOBAL, True),
    ]
    assert runtime.find("t").origin.scope is Scope.LOCAL
    assert runtime.find("t", Scope.GLOBAL).origin.scope is Scope.GLOBAL


def test_user_tools_are_trusted_by_their_place(
    project: Project, folders: dict[Scope, Path]
) -> None:
    put(folders[Scope.USER], "mine.yaml", "bash: echo mine\n")
    put(folders[Scope.LOCAL], "theirs.yaml", "bash: echo theirs\n")

    trust = {entry.name: entry.trust for entry in project.runtime().entries()}

    assert trust == {"mine": Trust.PLACE, "theirs": Trust.UNTRUSTED}
    assert project.run("mine").output == "mine\n"


def test_user_tool_that_others_may_write_is_broken(
    project: Project, folders: dict[Scope, Path]
) -> None:
    path = put(folders[Scope.USER], "t.yaml", "bash: echo\n")
    path.chmod(0o666)

    (entry,) = project.runtime().entries()

    assert entry.broken
    assert "written by everybody" in entry.problems[0]
    assert project.run("t").error is not None


@pytest.mark.parametrize("open_to_all", ["t", "t/inner", "t/inner/run.sh", "beside.sh"])
def test_user_manifest_whose_files_others_may_write_is_broken(
    project: Project, folders: dict[Scope, Path], open_to_all: str
) -> None:
    user = folders[Scope.USER]
    entrypoint = "../beside.sh" if open_to_all == "beside.sh" else "inner/run.sh"
    for script in ("t/inner/run.sh", "beside.sh"):
        put((user / script).parent, Path(script).name, "#!/bin/sh\necho ran\n").chmod(0o755)
    run = f"exec: {{command: {{entrypoint: {entrypoint}}}}}\n"
    put(user / "t", "tool.yml", f"name: t\ndescription: runs\nkind: command\n{run}")
    assert project.run("t").output == "ran\n"

    (user / open_to_all).chmod(0o777)

    (entry,) = [entry for entry in project.runtime().entries() if entry.name == "t"]
    assert entry.broken
    assert f"{user / open_to_all} can be written by everybody" in entry.problems[0]
    assert project.run("t").error is not None


@pytest.mark.parametrize("place", ["leak.yaml", "leak/tool.yml"])
def test_link_of_a_stranger_tells_nothing_of_what_it_leads_to(project: Project, place: str) -> None:
    private = put(project.root.parent, "netrc", "machine example.org password hunter2\n")
    link = project.tools / place
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(private)

    (entry,) = project.runtime().entries()
    error = project.runtime().call_sync("leak").error

    assert entry.problems == (
        f"{link}: it is a link out of the project, to something that cannot be used",
    )
    assert error is not None
    assert "hunter2" not in f"{error} {error.details}"
    # Of a file of its own it does say what is wrong.
    link.unlink()
    link.write_bytes(private.read_bytes())
    assert "hunter2" in str(project.runtime().call_sync("leak").error)


def test_link_in_place_of_settings_tells_nothing_either(project: Project) -> None:
    private = put(project.root.parent, "netrc", "machine example.org password hunter2\n")
    server = project.root / ".tongs" / "mcp" / "s.yml"
    server.parent.mkdir()
    server.symlink_to(private)
    project.write("asks", "mcp: s\ntool: anything\n", trusted=False)

    error = project.runtime().call_sync("asks").error
    assert error is not None
    assert "hunter2" not in f"{error} {error.details}"
    server.unlink()
    server.write_bytes(private.read_bytes())
    assert "hunter2" in str(project.runtime().call_sync("asks").error)


def test_no_program_of_a_project_takes_the_place_of_one_on_the_path(
    project: Project, folders: dict[Scope, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(folders[Scope.USER], "mine.yaml", "bash: echo mine\n")
    put(project.root / "bin", "bash", "#!/bin/sh\necho theirs\n").chmod(0o755)
    path = os.environ["PATH"]

    monkeypatch.setenv("PATH", f"bin::{path}")
    assert project.run("mine").output == "mine\n"
    # It would be found there.
    monkeypatch.setenv("PATH", f"{project.root}/bin:{path}")
    assert project.run("mine").output == "theirs\n"


def test_foreign_tools_are_read_where_they_lie(project: Project) -> None:
    put(project.root / ".cycod" / "tools", "old.yaml", "bash: echo old\n")
    put(project.home.parent / ".cycod" / "tools", "mine.yaml", "bash: echo mine\n")
    runtime = project.runtime()

    assert runtime.find("cycod:old").origin.family == "cycod"
    assert runtime.find("mine").origin.scope is Scope.USER
    with pytest.raises(ToolError) as caught:
        runtime.definitions.remove("old", Scope.ANY)
    assert caught.value.code is ErrorCode.PERMISSION_DENIED
    assert (project.root / ".cycod" / "tools" / "old.yaml").exists()


def test_same_name_in_one_scope_is_reported_and_refused_with_the_choices(
    project: Project,
) -> None:
    put(project.tools, "t.yaml", "bash: echo new\n")
    put(project.root / ".cycod" / "tools", "t.yaml", "bash: echo old\n")
    runtime = project.runtime()

    assert [entry.clash for entry in runtime.entries()] == [True, True]
    with pytest.raises(ToolError) as caught:
        runtime.find("t")
    assert caught.value.details["choices"] == ["cycod:t", "yaml:t"]
    assert runtime.find("yaml:t").origin.family == "tongs"


def test_same_stem_twice_is_an_error_in_both(project: Project) -> None:
    put(project.tools, "t.yaml", "bash: echo 1\n")
    put(project.tools, "t.yml", "bash: echo 2\n")

    entries = project.runtime().entries()

    assert [entry.broken for entry in entries] == [True, True]
    assert "t.yaml and t.yml define the same tool" in entries[0].problems[0]


def test_broken_tool_is_listed_with_its_reason(project: Project) -> None:
    put(project.tools, "t.yaml", "description: x\nbsh: y\n")

    (entry,) = project.runtime().entries()

    assert entry.name == "t"
    assert f"{project.tools}/t.yaml:2" in entry.problems[0]
    with pytest.raises(ToolError) as caught:
        project.runtime().find("t")
    assert caught.value.code is ErrorCode.INVALID_DEFINITION


def test_bare_file_in_the_working_directory_is_no_tool(project: Project) -> None:
    put(project.root, "t.yaml", "bash: echo\n")

    assert project.runtime().entries() == []


def test_named_file_or_folder_is_loaded_but_not_trusted(project: Project, tmp_path: Path) -> None:
    one = put(tmp_path / "else", "one.yaml", "bash: echo one\n")
    put(tmp_path / "more", "two.yaml", "bash: echo two\n")

    runtime = project.runtime(load_tools=[one, tmp_path / "more"])

    assert [(e.name, e.trust) for e in runtime.entries()] == [
        ("one", Trust.UNTRUSTED),
        ("two", Trust.UNTRUSTED),
    ]


def test_changed_file_is_seen_by_a_running_process(project: Project) -> None:
    path = put(project.tools, "t.yaml", "bash: echo 1\n")
    runtime = project.runtime()
    before = runtime.find("t").origin.digest
    path.write_text("bash: echo 2\n")

    after = runtime.find("t").origin.digest

    assert before != after


def test_cache_of_another_content_is_never_used(project: Project) -> None:
    path = put(project.tools, "t.yaml", "bash: echo 1\n")
    project.runtime().entries()
    stamp = path.stat()
    path.write_text("bash: echo 2\n")
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))

    runtime = project.runtime()
    tool = runtime.find("t")
    runtime.definitions.accept(tool)

    assert project.run("t").output == "2\n"


def test_damaged_cache_is_made_again(project: Project) -> None:
    put(project.tools, "t.yaml", "bash: echo 1\n")
    project.runtime().entries()
    cached = list((project.home / "state" / "cache").rglob("*.json"))
    assert cached
    for file in cached:
        file.write_text("{broken")

    assert [entry.name for entry in project.runtime().entries()] == ["t"]


def test_acceptance_is_for_the_bytes_that_were_shown(project: Project) -> None:
    path = put(project.tools, "t.yaml", "bash: echo 1\n")
    runtime = project.runtime()
    shown = runtime.find("t")
    path.write_text("bash: rm -rf /\n")

    with pytest.raises(ToolError) as caught:
        runtime.definitions.accept(shown)

    assert caught.value.code is ErrorCode.UNTRUSTED


def test_what_the_runtime_writes_is_trusted_and_kept_out_of_history(project: Project) -> None:
    runtime = project.runtime()

    path = runtime.definitions.write("new", "bash: echo hi\n", Scope.LOCAL)

    assert Path(path).read_text() == "bash: echo hi\n"
    assert project.run("new").output == "hi\n"
    assert (project.root / ".tongs" / ".gitignore").read_text() == "audit/\ntrash/\n"
    assert "TOOL_CREATED name=new creator=user" in project.audit()
    with pytest.raises(ToolError):
        runtime.definitions.write("new", "bash: echo other\n", Scope.LOCAL)
    runtime.definitions.write("new", "bash: echo other\n", Scope.LOCAL, force=True)
    assert project.run("new").output == "other\n"


def test_broken_definition_is_not_written(project: Project) -> None:
    with pytest.raises(Exception, match="nothing to run"):
        project.runtime().definitions.write("new", "description: x\n", Scope.LOCAL)

    assert list(project.tools.iterdir()) == []


def test_project_config_only_tightens_until_it_is_accepted(project: Project) -> None:
    config = put(
        project.root / ".tongs", "config.yml", "security: {auto_approve: ['*'], auto_deny: [bad]}\n"
    )
    runtime = project.runtime()

    assert runtime.settings.auto_approve == ()
    assert runtime.settings.auto_deny == ("bad",)
    assert [p.field for p in runtime.settings.ignored] == ["security.auto_approve"]

    runtime.definitions.accept_config(str(config), config.read_bytes())
    assert project.runtime().settings.auto_approve == ("*",)

    config.write_text("security: {auto_approve: [other]}\n")
    assert project.runtime().settings.auto_approve == ()


def test_state_folder_that_others_may_write_is_refused(project: Project) -> None:
    state = project.home / "state"
    state.mkdir(exist_ok=True)
    state.chmod(0o777)

    with pytest.raises(DefinitionInvalid, match="written by everybody"):
        project.runtime()


def test_audit_copy_never_follows_a_link_of_the_project(project: Project, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (project.root / ".tongs" / "audit").symlink_to(tmp_path / "elsewhere")

    project.define_and_run("bash: 'true'\n")

    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert project.records()[-1]["event"] == "TOOL_EXECUTED"


def test_project_has_a_readable_copy_of_its_audit(project: Project) -> None:
    project.define_and_run("bash: 'true'\n")

    assert "TOOL_EXECUTED name=t params={} status=success" in project.audit()
    assert (project.root / ".tongs" / ".gitignore").read_text() == "audit/\ntrash/\n"


def test_prefix_of_models_is_understood_and_may_be_part_of_a_name(project: Project) -> None:
    project.write("plain", "bash: echo plain\n")
    project.write("custom_tool_own", "bash: echo own\n")

    assert project.run("custom_tool_plain").output == "plain\n"
    assert project.run("custom_tool_own").output == "own\n"
    with pytest.raises(ToolError, match="there is no tool `custom_tool_none`"):
        project.runtime().find("custom_tool_none")
