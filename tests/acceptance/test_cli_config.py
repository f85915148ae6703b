"""`tongs config` and `--profile`, driven by the real command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from tests.acceptance.conftest import TONGS, Place, Run

from tongs.schema.document import parse_config

SHOW = """\
description: shows its limits
tags: [read]
bash: ulimit -n
"""


def config(place: Place, text: str, *, scope: str = "local", name: str = "config.yml") -> Path:
    roots = {"local": place.project / ".tongs", "user": place.user, "global": place.glob}
    path = roots[scope] / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def listed(tongs: Run, *options: str) -> dict[str, tuple[object, list[str]]]:
    answer = json.loads(tongs("config", "list", "--json", *options).stdout)
    return {one["key"]: (one["value"], one["sources"]) for one in answer["settings"]}


def test_each_scope_and_then_the_profile_wins_and_list_names_the_line(
    place: Place, tongs: Run
) -> None:
    place.tool("show", SHOW, scope="user")
    key = "limits.open_files"
    seen = [listed(tongs)[key]]
    sites = [config(place, "limits:\n  open_files: 90\n", scope="global")]
    seen.append(listed(tongs)[key])
    sites.append(config(place, "\nlimits: {open_files: 80}\n", scope="user"))
    seen.append(listed(tongs)[key])
    sites.append(config(place, "limits: {open_files: 70}\n"))
    seen.append(listed(tongs)[key])
    profile = config(place, "limits: {open_files: 75}\n", scope="user", name="profiles/p.yml")

    before = tongs("--profile", "p", "tool", "run", "show")
    after = tongs("tool", "run", "show", "--profile", "p")
    without = tongs("tool", "run", "show")

    lines = [f"{path}:{line}" for path, line in zip(sites, (2, 2, 1), strict=True)]
    assert seen == [(1024, ["default"]), (90, [lines[0]]), (80, [lines[1]]), (70, [lines[2]])]
    assert listed(tongs, "--profile", "p")[key] == (75, [f"{profile}:1 (profile p)"])
    assert (before.stdout, after.stdout, without.stdout) == ("75\n", "75\n", "70\n")


def test_an_inline_config_of_a_tool_tightens_and_never_loosens(place: Place, tongs: Run) -> None:
    config(place, "limits: {open_files: 80}\n", scope="user")
    place.tool("less", SHOW + "with: {config: {limits: {open_files: 60}}}\n", scope="user")
    place.tool("more", SHOW + "with: {config: {limits: {open_files: 99}}}\n", scope="user")

    assert tongs("tool", "run", "less").stdout == "60\n"
    assert tongs("tool", "run", "more").stdout == "80\n"


def test_what_a_project_may_not_say_is_listed_as_ignored(place: Place, tongs: Run) -> None:
    path = config(place, "security:\n  auto_approve: ['*']\nlimits: {open_files: 999999}\n")

    shown = tongs("config", "list")
    tongs("trust", "--yes", str(path))

    assert f"{path}:2: security.auto_approve: is ignored" in shown.stdout
    assert f"{path}:3: limits.open_files: is wider than the user's" in shown.stdout
    assert listed(tongs)["security.auto_approve"] == (["*"], [f"{path}:2"])


def test_an_untrusted_profile_of_a_project_only_tightens(place: Place, tongs: Run) -> None:
    place.tool("show", SHOW, scope="user")
    path = config(
        place,
        "security: {auto_deny: [show], auto_approve: ['*']}\n",
        name="profiles/theirs.yml",
    )

    denied = tongs("--profile", "theirs", "tool", "run", "show", "-v")
    ignored = json.loads(tongs("config", "list", "--json", "--profile", "theirs").stdout)["ignored"]

    assert (denied.code, "security.auto_approve: is ignored" in denied.stderr) == (3, True)
    assert [(one["file"], one["field"]) for one in ignored] == [
        (str(path), "security.auto_approve")
    ]


def test_a_profile_that_does_not_exist_is_an_error_with_the_nearest(
    place: Place, tongs: Run
) -> None:
    config(place, "profiles: {careful: {}}\n", scope="user")

    done = tongs("tool", "list", "--profile", "carefull")

    assert (done.code, done.stderr.splitlines()) == (
        2,
        [
            "error: --profile: there is no profile `carefull` (did you mean `careful`?)",
            "hint: there are: careful",
        ],
    )


def test_a_broken_profile_is_named_with_its_line_and_others_work(place: Place, tongs: Run) -> None:
    path = config(place, "limits:\n  a: b: c\n", scope="user", name="profiles/bad.yml")

    broken = tongs("tool", "list", "--profile", "bad")

    assert broken.code == 2
    assert broken.stderr.startswith(f"error: {path}:2: ")
    assert tongs("tool", "list").code == 0


def test_get_prints_one_value(place: Place, tongs: Run) -> None:
    config(place, "security: {auto_deny: [a]}\nstore: /x\n", scope="user")

    assert tongs("config", "get", "security.auto_deny").stdout == '["a"]\n'
    assert tongs("config", "get", "store").stdout == "/x\n"
    assert tongs("config", "get", "store", "--json").stdout == '"/x"\n'
    assert json.loads(tongs("config", "get", "security").stdout) == {
        "auto_deny": ["a"],
        "enforcement": "strict",
    }
    assert tongs("config", "get", "models").code == 1
    assert tongs("config", "get", "securty").code == 2
    assert tongs("config", "get", "a..b").code == 2


COMMENTED = """\
# why we deny
security:
  auto_deny: [a]  # the first

limits:
  memory: 1GiB # enough
"""


def test_set_changes_one_line_and_keeps_the_rest(place: Place, tongs: Run) -> None:
    path = config(place, COMMENTED, scope="user")
    path.chmod(0o600)

    done = tongs("config", "set", "security.auto_deny", "b,tool:write")

    assert (done.code, done.stderr) == (
        0,
        f'security.auto_deny is ["b", "tool:write"] now: {path}\n',
    )
    assert path.read_text() == COMMENTED.replace("[a]", "[b, 'tool:write']")
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("limits.memory", "much", 'limits.memory: must look like "256MiB" or "1GB", got "much"'),
        ("limits.mem", "1", "limits.mem: unknown key `mem` (did you mean `memory`?)"),
        ("security.rules", "[{a: b}]", "security.rules[0]"),
    ],
)
def test_set_writes_nothing_that_would_not_be_read(
    place: Place, tongs: Run, key: str, value: str, said: str
) -> None:
    path = config(place, COMMENTED, scope="user")

    done = tongs("config", "set", key, value)

    assert (done.code, path.read_text()) == (2, COMMENTED)
    assert said in done.stderr


def test_set_takes_any_text_and_refuses_bytes_that_are_none(place: Place, tongs: Run) -> None:
    path = config(place, "# mine\n", scope="user")

    assert tongs("config", "set", "tools.t.envs.A", "\U0001f600 # 'x' {y}").code == 0
    assert tongs("config", "set", "tools.t.envs.B", b"\xff").code == 2

    assert parse_config(path.read_bytes(), "f").data == {
        "tools": {"t": {"envs": {"A": "\U0001f600 # 'x' {y}"}}}
    }


def test_set_says_which_line_to_write_where_it_cannot_do_it(place: Place, tongs: Run) -> None:
    text = "security:\n  auto_deny:\n    - a # first\n"
    path = config(place, text, scope="user")

    done = tongs("config", "set", "security.auto_deny", "b")

    assert (done.code, path.read_text()) == (2, text)
    assert f"{path}:2: security.auto_deny was not set" in done.stderr
    assert "hint: write it yourself: `auto_deny: [b]`" in done.stderr


def test_set_in_a_project_says_that_it_must_be_trusted(place: Place, tongs: Run) -> None:
    done = tongs("config", "set", "security.auto_deny", "x", "--local")

    path = place.project / ".tongs/config.yml"
    assert path.read_text() == "security:\n  auto_deny: [x]\n"
    assert f"hint: tongs trust {path}" in done.stderr


def test_set_follows_a_link_and_leaves_it_a_link(place: Place, tongs: Run) -> None:
    real = place.home / "dotfiles.yml"
    real.write_text("limits: {memory: 1GiB}\n")
    (place.user / "config.yml").symlink_to(real)

    assert tongs("config", "set", "limits.memory", "2GiB").code == 0

    assert (place.user / "config.yml").is_symlink()
    assert real.read_text() == "limits: {memory: 2GiB}\n"


@pytest.mark.parametrize("link", ["config.yml", ""])
def test_a_project_cannot_have_the_settings_of_the_user_changed(
    place: Place, tongs: Run, link: str
) -> None:
    users = config(place, "limits: {memory: 1GiB}\n", scope="user")
    project = place.project.parent / "stranger"
    (project / ".git").mkdir(parents=True)
    linked = project / ".tongs" / link
    linked.parent.mkdir(exist_ok=True)
    linked.symlink_to(users if link else place.user)
    change = ("config", "set", "--local", "security.auto_approve", "[tool:read]")

    assert tongs(*change, cwd=project).code != 0
    assert tongs("config", "init", "--local", "--force", cwd=project).code != 0
    assert users.read_text() == "limits: {memory: 1GiB}\n"

    linked.unlink()
    assert tongs(*change, cwd=project).code == 0
    assert users.read_text() == "limits: {memory: 1GiB}\n"


def test_a_tool_cannot_change_settings(place: Place, tongs: Run) -> None:
    place.tool(
        "evil",
        f"tags: [run]\nbash: |\n  {TONGS} config set security.enforcement off 2>&1\n"
        f"  {TONGS} config init --force 2>&1\n"
        "environment: {TONGS_HOME: " + str(place.user) + "}\n",
        scope="user",
    )
    path = config(place, "security: {enforcement: 'off'}\nlimits: {memory: 4GiB}\n", scope="user")
    before = path.read_text()

    done = tongs("tool", "run", "evil")

    assert done.stdout.count("a tool may not") == 2
    assert path.read_text() == before


def test_init_writes_a_sample_and_never_over_a_file(place: Place, tongs: Run) -> None:
    path = place.user / "config.yml"

    first = tongs("config", "init")
    sample = path.read_text()
    path.write_text("limits: {memory: 1GiB}\n")
    second = tongs("config", "init")
    kept = path.read_text()
    forced = tongs("config", "init", "--force")

    assert (first.code, second.code, forced.code) == (0, 2, 0)
    assert "already exists" in second.stderr
    assert (kept, path.read_text()) == ("limits: {memory: 1GiB}\n", sample)
    assert parse_config(sample.encode(), "f").data == {}
    assert tongs("tool", "list").code == tongs("lint", "--strict").code == 0
    assert tongs("config", "set", "limits.memory", "1GiB").code == 0
    assert path.read_text().startswith(sample)


def test_path_lists_every_file_that_is_looked_at(place: Place, tongs: Run) -> None:
    config(place, "{}", scope="user")
    local = config(place, "{}")
    profile = config(place, "{}", name="profiles/p.yml")
    glee = place.project / ".glee/config.yml"
    glee.parent.mkdir()
    glee.write_text("{}")
    tongs("trust", "--yes", str(profile))

    rows = json.loads(tongs("config", "path", "--json").stdout)

    assert [(row["scope"], row["file"], row["state"]) for row in rows] == [
        ("global", str(place.glob / "config.yml"), "missing"),
        ("user", str(place.user / "config.yml"), "found"),
        ("local", str(local), "untrusted: may only tighten"),
        ("local", str(profile), "trusted"),
        ("glee", str(glee), "only its ceiling counts"),
    ]
    assert "SCOPE" in tongs("config", "path").stdout


def test_a_broken_config_can_still_be_found_and_mended(place: Place, tongs: Run) -> None:
    path = config(place, "limits: {memory: wrong}\n", scope="user")

    assert tongs("config", "path").code == 0
    assert tongs("config", "list").code == 2
    assert tongs("config", "set", "limits.memory", "1GiB").code == 0
    assert path.read_text() == "limits: {memory: 1GiB}\n"


def test_the_ceiling_of_glee_is_shown_with_its_line(place: Place, tongs: Run) -> None:
    path = place.project / ".glee/config.yml"
    path.parent.mkdir()
    path.write_text("x: 1\nsecurity:\n  max_permissions: {network: false, secrets: [K]}\n")

    answer = json.loads(tongs("config", "list", "--json").stdout)

    assert listed(tongs)["security.max_permissions"] == (
        {"network": False, "fs": {"read": [], "write": []}, "secrets": ["K"]},
        [f"{path}:3"],
    )
    assert [one["field"] for one in answer["ignored"]] == ["x"]


def test_a_kill_leaves_the_old_file_or_the_new_one(place: Place) -> None:
    path = config(place, COMMENTED, scope="user")
    whole = {COMMENTED}
    for number in range(12):
        started = subprocess.Popen(
            [TONGS, "config", "set", "limits.memory", f"{number + 2}GiB"],
            cwd=place.project,
            env=place.env,
            stderr=subprocess.DEVNULL,
        )
        whole.add(COMMENTED.replace("1GiB", f"{number + 2}GiB"))
        try:
            # Another moment each time, from before the start to after the end.
            started.wait(timeout=0.02 * number)
        except subprocess.TimeoutExpired:
            os.kill(started.pid, signal.SIGKILL)
        started.wait()
        assert path.read_text() in whole


def test_two_changes_at_once_are_both_kept(place: Place, tongs: Run) -> None:
    keys = ["memory", "file_size", "output"]
    running = [
        subprocess.Popen(
            [TONGS, "config", "set", f"limits.{key}", "5MiB"], cwd=place.project, env=place.env
        )
        for key in keys
    ]
    assert [one.wait() for one in running] == [0, 0, 0]

    data = parse_config((place.user / "config.yml").read_bytes(), "f").data
    assert data == {"limits": dict.fromkeys(keys, "5MiB")}


def test_keys_and_profiles_are_completed(place: Place, tongs: Run) -> None:
    config(place, "profiles: {careful: {}}\n", scope="user")

    keys = tongs("__complete", "fish", "--", "config", "get", "limits.me").stdout
    profiles = tongs("__complete", "fish", "--", "--profile", "ca").stdout

    assert keys.splitlines()[1].startswith("limits.memory\t")
    assert profiles.splitlines()[1].startswith("careful")
