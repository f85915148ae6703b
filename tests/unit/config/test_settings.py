"""Three config files, and how little a project's own may do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tongs.config.ownership import why_not_own
from tongs.config.places import Places, find_places
from tongs.config.settings import Ceiling, CustomTools, Settings, load_settings
from tongs.core.errors import DefinitionInvalid, Severity
from tongs.core.permissions import Bound, Grants, Limits, Permissions, Secret
from tongs.schema.document import Document, parse

MIB = 1024**2


class Files:
    """The three places in a temporary folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("home/.tongs", "etc/tongs", "home/app/.tongs"):
            (root / name).mkdir(parents=True)

    @property
    def places(self) -> Places:
        env = {"HOME": str(self.root / "home"), "TONGS_GLOBAL": str(self.root / "etc/tongs")}
        return find_places(str(self.root / "home/app"), env)

    def write(self, *, site: str = "", user: str = "", project: str = "") -> None:
        written = {"etc/tongs": site, "home/.tongs": user, "home/app/.tongs": project}
        for folder, text in written.items():
            if text:
                (self.root / folder / "config.yml").write_text(text)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def read(path: str) -> Document:
    return parse(Path(path).read_bytes(), path)


LOOSE = """\
security:
  auto_approve: ["*"]
  auto_deny: [rm-all]
  enforcement: off
  allow_private_hosts: [localhost]
interpreters: {python: /tmp/evil}
limits: {memory: 100GiB, processes: 4, cpu: 5s}
profiles: {wild: {}}
mcp: {servers: {x: {command: x}}}
tools:
  fetch:
    permissions: {network: true}
    envs: {KEY: null, A: 1}
    limits: {memory: 64MiB, output: 9GiB}
    timeout: 5s
  slow: {timeout: 1h}
"""


def test_no_config_file_is_fine_and_loads_nothing(files: Files) -> None:
    assert load_settings(files.places, read) == Settings()


def test_the_later_file_wins_and_lists_add_up(files: Files) -> None:
    files.write(
        site="""\
security:
  enforcement: strict
  auto_deny: [a]
  auto_approve: ["tool:read"]
  allow_private_hosts: [localhost, 10.0.0.0/8]
interpreters: {python: /usr/bin/python3, bash: /bin/bash}
limits: {memory: 1GiB, processes: 10}
profiles: {p: {a: 1}}
tools:
  t: {limits: {memory: 1GB}, timeout: 30s, envs: {A: "1", B: null}, permissions: {network: true}}
""",
        user="""\
security:
  enforcement: best-effort
  auto_deny: [b, a]
  auto_approve: [weather]
  allow_private_hosts: ["::1", localhost]
interpreters: {python: /opt/python, default_shell: sh}
limits: {memory: 512MiB, cpu: 1m30s}
profiles: {q: }
tools:
  t: {limits: {output: 5}, envs: {B: 2, C: true}}
  u: {permissions: {fs: {read: [x]}, secrets: {K: {required: false}}}}
""",
    )

    assert load_settings(files.places, read) == Settings(
        interpreters={"python": "/opt/python", "bash": "/bin/bash", "default_shell": "sh"},
        auto_approve=("tool:read", "weather"),
        auto_deny=("a", "b"),
        enforcement="best-effort",
        private_hosts=("localhost", "10.0.0.0/8", "::1"),
        limits=Limits(memory=512 * MIB, processes=10, cpu=90.0),
        tools={
            "t": Grants(
                permissions=Permissions(network=True),
                limits={"memory": 10**9, "output": 5},
                environment={"A": "1", "B": "2", "C": "true"},
                timeout=30.0,
            ),
            "u": Grants(
                permissions=Permissions(read=("x",), secrets=(Secret("K", required=False),))
            ),
        },
    )


def test_an_untrusted_project_file_only_tightens(files: Files) -> None:
    files.write(user="tools: {slow: {timeout: 2s}}\nlimits: {processes: 8}\n", project=LOOSE)

    settings = load_settings(files.places, read)

    assert settings == Settings(
        auto_deny=("rm-all",),
        limits=Limits(processes=4, cpu=5.0),
        tools={"slow": Grants(timeout=2.0)},
        bounds={
            "fetch": Bound(limits={"memory": 64 * MIB, "output": 9 * 1024**3}, timeout=5.0),
            "slow": Bound(timeout=3600.0),
        },
        ignored=settings.ignored,
    )
    path = str(files.root / "home/app/.tongs/config.yml")
    assert {problem.file for problem in settings.ignored} == {path}
    assert {problem.severity for problem in settings.ignored} == {Severity.WARNING}
    assert {(problem.line, problem.field) for problem in settings.ignored} == {
        (2, "security.auto_approve"),
        (4, "security.enforcement"),
        (5, "security.allow_private_hosts"),
        (6, "interpreters"),
        (7, "limits.memory"),
        (9, "mcp"),
        (12, "tools.fetch.permissions"),
        (13, "tools.fetch.envs"),
        (14, "tools.fetch.limits.output"),
        (16, "tools.slow.timeout"),
    }


def test_a_trusted_project_file_is_taken_but_never_weakens_the_enforcement(files: Files) -> None:
    files.write(project=LOOSE)

    settings = load_settings(files.places, read, project_trusted=True)

    assert settings.auto_approve == ("*",)
    assert settings.private_hosts == ("localhost",)
    assert settings.interpreters == {"python": "/tmp/evil"}
    assert settings.tools["fetch"].permissions == Permissions(network=True)
    assert settings.enforcement == "strict"
    assert [problem.field for problem in settings.ignored] == ["security.enforcement"]


def test_even_a_trusted_project_file_does_not_let_clients_be_asked_again(files: Files) -> None:
    files.write(user="approvals: {mcp: false}\n", project="approvals: {mcp: true}\n")

    assert not load_settings(files.places, read, project_trusted=True).approvals.mcp


def test_trust_can_depend_on_the_very_bytes(files: Files) -> None:
    files.write(project=LOOSE)
    digest = read(str(files.root / "home/app/.tongs/config.yml")).digest

    def accepted(document: Document) -> bool:
        return document.digest == digest

    assert load_settings(files.places, read, project_trusted=accepted).auto_approve == ("*",)
    files.write(project=LOOSE + "# changed\n")
    assert load_settings(files.places, read, project_trusted=accepted).auto_approve == ()


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize(
    ("own", "projects", "result"),
    [
        ("strict", "off", "strict"),
        ("strict", "best-effort", "strict"),
        ("best-effort", "off", "best-effort"),
        ("best-effort", "strict", "strict"),
        ("off", "strict", "strict"),
        ("off", "off", "off"),
    ],
)
def test_no_project_file_weakens_the_enforcement(
    files: Files, own: str, projects: str, result: str, trusted: bool
) -> None:
    files.write(
        user=f"security: {{enforcement: {own}}}", project=f"security: {{enforcement: {projects}}}"
    )

    settings = load_settings(files.places, read, project_trusted=trusted)

    assert settings.enforcement == result
    ignored = [problem.field for problem in settings.ignored]
    assert ignored == (["security.enforcement"] if result == own != projects else [])


def test_profiles_and_named_blocks_of_a_project_carry_no_enforcement(files: Files) -> None:
    files.write(project="profiles: {loose: {security: {enforcement: off}}}")

    assert load_settings(files.places, read, project_trusted=True).enforcement == "strict"


def test_grants_of_the_user_hold_beside_an_untrusted_project_file(files: Files) -> None:
    files.write(
        user="tools: {t: {permissions: {network: [a.example], fs: {write: [out]}}}}",
        project="tools: {t: {permissions: {network: true}}}",
    )

    assert load_settings(files.places, read).tools["t"] == Grants(
        Permissions(network=("a.example",), write=("out",))
    )


def test_a_project_file_may_make_the_enforcement_stricter(files: Files) -> None:
    files.write(user="security: {enforcement: off}", project="security: {enforcement: best-effort}")

    assert load_settings(files.places, read).enforcement == "best-effort"


def test_limits_of_a_tool_are_its_own_then_granted_then_bounded() -> None:
    settings = Settings(
        limits=Limits(memory=1000, processes=50),
        tools={"t": Grants(limits={"memory": 5000}), "s": Grants(timeout=9.0)},
        bounds={"t": Bound(limits={"memory": 300, "cpu": 2.0, "processes": 90}, timeout=4.0)},
    )

    assert settings.limits_for("other", {"memory": 20}) == Limits(memory=20, processes=50)
    assert settings.limits_for("t", {"memory": 20, "output": 7}) == Limits(
        memory=300, processes=50, cpu=2.0, output=7
    )
    assert settings.timeout_for("other", 60.0) == 60.0
    assert settings.timeout_for("t", 60.0) == 4.0
    assert settings.timeout_for("t", 1.0) == 1.0
    assert settings.timeout_for("t", None) == 4.0
    assert settings.timeout_for("s", 60.0) == 9.0


def test_the_mistakes_of_all_files_come_at_once(files: Files) -> None:
    files.write(
        site="a: b: c\n",
        user="securty: {}\nlimits:\n  memory: much\n  cpu: soon\n",
        project="security:\n  enforcement: sometimes\n",
    )

    with pytest.raises(DefinitionInvalid) as caught:
        load_settings(files.places, read)

    site, user, project = (path for _, path in files.places.config_files())
    assert [(p.file, p.line, p.field, p.message) for p in caught.value.problems] == [
        (site, 1, "", "the text of `a` contains `: `, which YAML reads as another key"),
        (user, 1, "securty", "unknown key `securty` (did you mean `security`?)"),
        (user, 3, "limits.memory", 'must look like "256MiB" or "1GB", got "much"'),
        (user, 4, "limits.cpu", 'must look like "30s" or "1h30m", got "soon"'),
        (
            project,
            2,
            "security.enforcement",
            'must be one of strict, best-effort, off, got "sometimes"',
        ),
    ]


def test_a_config_everybody_can_write_is_refused(files: Files) -> None:
    files.write(user="security: {auto_approve: ['*']}")
    path = files.root / "home/.tongs/config.yml"
    path.chmod(0o666)

    with pytest.raises(DefinitionInvalid) as caught:
        load_settings(files.places, read)

    assert [str(problem) for problem in caught.value.problems] == [
        f"{path}: {path} can be written by everybody (chmod o-w)"
    ]


def test_a_config_that_leads_nowhere_is_an_error_since_it_may_have_denied(files: Files) -> None:
    path = files.root / "home/.tongs/config.yml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to("nothing")

    with pytest.raises((DefinitionInvalid, FileNotFoundError)):
        load_settings(files.places, read)


def test_a_config_in_a_folder_everybody_can_write_is_refused(files: Files) -> None:
    files.write(site="limits: {}")
    (files.root / "etc/tongs").chmod(0o777)

    with pytest.raises(DefinitionInvalid, match="can be written by everybody"):
        load_settings(files.places, read)


def test_a_place_is_ones_own_by_owner_and_mode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "place"
    assert why_not_own(str(place)) is None
    place.mkdir(mode=0o755)
    assert why_not_own(str(place)) is None

    if os.getuid() == 0:
        os.chown(place, 1234, 4321)
        assert "another user (uid 1234)" in (why_not_own(str(place)) or "")
        monkeypatch.setattr(os, "geteuid", lambda: 1234)
        place.chmod(0o775)
        assert "its group" in (why_not_own(str(place)) or "")
        os.chown(place, 1234, 1234)
        assert why_not_own(str(place)) is None


def test_rule_that_is_not_understood_stops_everything(files: Files) -> None:
    files.write(user="security: {rules: [{deny: x}]}")

    with pytest.raises(DefinitionInvalid) as caught:
        load_settings(files.places, read)

    assert {problem.rule for problem in caught.value.problems} == {"schema"}


def test_rules_of_all_files_are_kept_with_their_lines(files: Files) -> None:
    files.write(
        user="security:\n  rules:\n  - {when: {tool: a}, decision: deny}\n",
        project="security:\n  rules:\n  - {when: {tool: b}, decision: ask}\n",
    )

    rules = load_settings(files.places, read, project_trusted=True).rules

    assert [(rule.data["when"], rule.source.rpartition(":")[2]) for rule in rules] == [
        ({"tool": "a"}, "3"),
        ({"tool": "b"}, "3"),
    ]


def test_untrusted_project_may_only_tighten_by_rules(files: Files) -> None:
    files.write(
        project="security:\n  rules:\n  - {when: {tool: a}, decision: allow}\n"
        "  - {when: {tool: b}, decision: ask}\n  - {when: {tool: c}, decision: deny}\n"
    )

    settings = load_settings(files.places, read)

    assert [rule.data["decision"] for rule in settings.rules] == ["ask", "deny"]
    assert [(problem.line, problem.rule) for problem in settings.ignored] == [(3, "config-ignored")]


def test_every_ceiling_is_kept_with_its_line(files: Files) -> None:
    files.write(
        user="security:\n  max_permissions: {network: [a.example], secrets: [KEY]}\n",
        project="security: {max_permissions: {fs: {read: [.]}, secrets: {K: {type: string}}}}\n",
    )

    user, project = (path for _, path in files.places.config_files()[1:])
    assert load_settings(files.places, read).ceilings == (
        Ceiling(Permissions(network=("a.example",), secrets=(Secret("KEY"),)), f"{user}:2"),
        Ceiling(Permissions(read=(".",), secrets=(Secret("K"),)), f"{project}:1", vouched=False),
    )


GLEE = """\
agents: {a: 1}
security:
  mode: x
  max_permissions: {network: false, fs: {read: ["."], write: []}, secrets: [K]}
"""


def test_of_a_glee_config_only_the_ceiling_counts(files: Files) -> None:
    path = files.root / "home/app/.glee/config.yml"
    path.parent.mkdir()
    path.write_text(GLEE)

    assert load_settings(files.places, read) == Settings(
        ceilings=(
            Ceiling(Permissions(read=(".",), secrets=(Secret("K"),)), f"{path}:4", vouched=False),
        )
    )
    accepted = load_settings(files.places, read, project_trusted=True)
    assert [ceiling.vouched for ceiling in accepted.ceilings] == [True]


@pytest.mark.parametrize(
    "text", ["a: b: c", "[]", "security: {max_permissions: {network: maybe}}", ""]
)
def test_a_glee_config_that_cannot_be_read_stands_for_the_lowest_ceiling(
    files: Files, text: str
) -> None:
    path = files.root / "home/app/.glee/config.yml"
    path.parent.mkdir()
    path.write_text(text)

    settings = load_settings(files.places, read)

    assert settings.ceilings == (Ceiling(Permissions(), str(path), vouched=False),)
    assert [problem.file for problem in settings.ignored] == [str(path)]


@pytest.mark.parametrize("text", ["other: 1", "security: none", "security: {mode: x}"])
def test_a_glee_config_without_a_ceiling_changes_nothing(files: Files, text: str) -> None:
    path = files.root / "home/app/.glee/config.yml"
    path.parent.mkdir()
    path.write_text(text)

    assert load_settings(files.places, read) == Settings()


CUSTOM = """\
custom_tools:
  enabled: {enabled}
  global_dir: /g
  local_dir: l
  timeout: {timeout}
  max_output_size: {size}
  env_whitelist: [SECRET]
  prefix: x_
"""


def test_an_untrusted_project_only_takes_from_executables(files: Files) -> None:
    files.write(project=CUSTOM.format(enabled="false", timeout="2s", size="1KiB"))

    settings = load_settings(files.places, read)

    assert settings.custom_tools == CustomTools(enabled=False, timeout=2.0, max_output_size=1024)
    assert [problem.field for problem in settings.ignored] == [
        f"custom_tools.{key}" for key in ("global_dir", "local_dir", "env_whitelist", "prefix")
    ]


def test_an_untrusted_project_gives_executables_nothing(files: Files) -> None:
    own = "custom_tools: {enabled: false, timeout: 1s, max_output_size: 10}\n"
    files.write(user=own, project=CUSTOM.format(enabled="true", timeout="1h", size="1GiB"))

    settings = load_settings(files.places, read)

    assert settings.custom_tools == CustomTools(enabled=False, timeout=1.0, max_output_size=10)
    assert {problem.field for problem in settings.ignored} >= {
        f"custom_tools.{key}" for key in ("enabled", "timeout", "max_output_size")
    }


def test_an_untrusted_project_lets_executables_say_no_more_than_other_tools(files: Files) -> None:
    files.write(project="custom_tools: {max_output_size: 1GiB}\n")

    settings = load_settings(files.places, read)

    assert settings.custom_tools == CustomTools()
    assert [problem.field for problem in settings.ignored] == ["custom_tools.max_output_size"]
    trusted = load_settings(files.places, read, project_trusted=True)
    assert trusted.custom_tools.max_output_size == 1024**3


def test_a_trusted_project_sets_every_key_of_executables(files: Files) -> None:
    files.write(project=CUSTOM.format(enabled="true", timeout="1h", size="1KiB"))

    assert load_settings(files.places, read, project_trusted=True).custom_tools == CustomTools(
        True, "/g", "l", 3600.0, 1024, ("SECRET",), "x_"
    )
