"""Configs and profiles that have a name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tongs.config.named import CONFIGS, PROFILES, SETTINGS, NamedConfigs, merged, named_files
from tongs.config.places import Places, find_places
from tongs.config.settings import Settings, load_settings
from tongs.config.voices import read_voices
from tongs.core.errors import DefinitionInvalid
from tongs.core.permissions import Limits
from tongs.schema.document import Document, parse_config
from tongs.schema.files import load


class Files:
    """Three scope folders: `site`, `user` and `project`."""

    def __init__(self, root: Path) -> None:
        self.folders = {
            "site": root / "etc/tongs",
            "user": root / "home/.tongs",
            "project": root / "home/app/.tongs",
        }
        for folder in self.folders.values():
            folder.mkdir(parents=True)
        self.root = root

    @property
    def places(self) -> Places:
        env = {"HOME": str(self.root / "home"), "TONGS_GLOBAL": str(self.root / "etc/tongs")}
        return find_places(str(self.root / "home/app"), env)

    def write(self, scope: str, name: str, text: str) -> Path:
        path = self.folders[scope] / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    def settings(self, profile: str | None = None, *, trusted: bool = False) -> Settings:
        return load_settings(self.places, read, project_trusted=trusted, profile=profile)

    def named(self, *, trusted: bool = False) -> NamedConfigs:
        return read_voices(self.places, read, project_trusted=trusted).named


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def read(path: str) -> Document:
    return parse_config(Path(path).read_bytes(), path)


def memory(settings: Settings) -> int:
    return settings.limits.memory


def test_the_keys_that_are_settings_are_those_of_config_yml() -> None:
    assert {*SETTINGS, PROFILES} == set(load("config")["properties"])


@pytest.mark.parametrize("trusted", [True, False])
def test_a_profile_speaks_after_the_three_files(files: Files, trusted: bool) -> None:
    for number, scope in enumerate(files.folders, 1):
        files.write(scope, "config.yml", f"limits: {{memory: {4 - number}, processes: 9}}")
    files.write("user", "profiles/p.yml", "limits: {memory: 7}\nsecurity: {auto_deny: [x]}\n")

    settings = files.settings("p", trusted=trusted)

    assert (memory(settings), settings.auto_deny) == (7, ("x",))
    assert settings.limits.processes == 9
    assert memory(files.settings(trusted=trusted)) == 1


def test_the_nearest_profile_that_is_vouched_for_is_taken(files: Files) -> None:
    files.write("site", "profiles/p.yml", "limits: {memory: 1}")
    assert memory(files.settings("p")) == 1
    files.write("user", "config.yml", "profiles: {p: {limits: {memory: 2}}}")
    assert memory(files.settings("p")) == 2
    files.write("project", "profiles/p.yaml", "limits: {memory: 3}")
    assert memory(files.settings("p", trusted=True)) == 3


def test_a_project_cannot_undo_a_profile_by_having_one_of_its_name(files: Files) -> None:
    files.write("user", "profiles/careful.yml", "security: {auto_deny: ['*']}")
    files.write(
        "project", "profiles/careful.yml", "security: {auto_approve: ['*'], auto_deny: [y]}"
    )

    settings = files.settings("careful")

    assert (settings.auto_deny, settings.auto_approve) == (("*", "y"), ())
    assert [problem.field for problem in settings.ignored] == ["security.auto_approve"]


def test_an_untrusted_inline_profile_only_tightens(files: Files) -> None:
    loose = "{security: {auto_approve: ['*'], enforcement: off}, limits: {processes: 2}}"
    files.write("project", "config.yml", f"profiles: {{p: {loose}}}")

    settings = files.settings("p")

    assert settings.limits == Limits(processes=2)
    assert (settings.auto_approve, settings.enforcement) == ((), "strict")


def test_a_trusted_project_profile_never_weakens_the_enforcement(files: Files) -> None:
    files.write("project", "profiles/p.yml", "security: {enforcement: off}")

    assert files.settings("p", trusted=True).enforcement == "strict"


def test_ones_own_profile_may_weaken_the_enforcement(files: Files) -> None:
    files.write("user", "profiles/p.yml", "security: {enforcement: best-effort}")

    assert files.settings("p").enforcement == "best-effort"


def test_an_empty_profile_is_fine(files: Files) -> None:
    files.write("user", "config.yml", "profiles: {p: }")
    files.write("user", "profiles/q.yml", "# nothing yet\n")

    assert files.settings("p") == files.settings("q") == Settings()


@pytest.mark.parametrize("name", ["nope", "../config", "", "a/b", "x" * 200])
def test_an_unknown_profile_is_an_error_with_the_nearest_name(files: Files, name: str) -> None:
    files.write("user", "profiles/nop.yml", "limits: {memory: 1}")
    files.write("site", "config.yml", "profiles: {inside: {}}")

    with pytest.raises(DefinitionInvalid) as caught:
        files.settings(name)

    (problem,) = caught.value.problems
    assert f"there is no profile `{name}`" in problem.message
    assert ("did you mean `nop`" in problem.message) == (name == "nope")
    assert problem.hint == "there are: inside, nop"


def test_without_any_profile_the_hint_says_where_one_is_written(files: Files) -> None:
    with pytest.raises(DefinitionInvalid) as caught:
        files.settings("p")

    assert caught.value.problems[0].hint == "write one: profiles/NAME.yml"


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("a: b: c", ""),
        ("[]", ""),
        ("limits: {memory: much}", "limits.memory"),
        ("securty: {}", "securty"),
        ("profiles: {x: {}}", "profiles"),
        ("security: {rules: [{when: {tool: a}, decision: b}]}", "security.rules[0].decision"),
    ],
)
def test_a_broken_profile_is_an_error_only_where_it_is_used(
    files: Files, text: str, field: str
) -> None:
    path = files.write("user", "profiles/p.yml", text)

    with pytest.raises(DefinitionInvalid) as caught:
        files.settings("p")

    assert [(p.file, p.field) for p in caught.value.problems] == [(str(path), field)]
    assert files.settings() == Settings()


def test_two_of_one_name_in_one_scope_are_refused(files: Files) -> None:
    files.write("user", "profiles/p.yml", "{}")
    files.write("user", "profiles/p.yaml", "{}")

    with pytest.raises(DefinitionInvalid, match="both define `p`"):
        files.settings("p")


def test_a_profile_that_somebody_else_could_write_is_refused(files: Files) -> None:
    files.write("user", "profiles/p.yml", "security: {auto_approve: ['*']}").chmod(0o666)

    with pytest.raises(DefinitionInvalid, match="can be written by everybody"):
        files.settings("p")


def test_what_is_no_setting_is_a_value(files: Files) -> None:
    files.write("user", "configs/c.yml", "units: metric\nlimits: {memory: 5}\napi: {a: 1}\n")

    (voice,) = files.named().find(CONFIGS, "c")

    assert voice.values == {"units": "metric", "api": {"a": 1}}
    assert voice.settings.data == {"limits": {"memory": 5}}
    assert voice.settings.line_of(("limits", "memory")) == 2


def test_names_and_files_of_both_kinds_are_known(files: Files) -> None:
    config = files.write("project", "configs/c.yml", "{}")
    profile = files.write("project", "profiles/p.yaml", "{}")
    files.write("project", "profiles/notes.txt", "")
    named = files.named()

    assert (named.names(CONFIGS), named.names(PROFILES)) == (["c"], ["p"])
    folder = Path(named.places.config_files()[2][1]).parent
    assert named_files(str(folder)) == [str(config), str(profile)]
    assert named.paths(CONFIGS, "../c") == []
    assert str(config) in named.paths(CONFIGS, "c")
    assert str(files.folders["user"] / "config.yml") in named.paths(PROFILES, "p")


def test_mappings_are_merged_key_by_key() -> None:
    before = {"a": {"b": 1, "c": [1]}, "d": 1}

    assert merged(before, {"a": {"c": [2], "e": 3}, "d": {"x": 1}}) == {
        "a": {"b": 1, "c": [2], "e": 3},
        "d": {"x": 1},
    }
