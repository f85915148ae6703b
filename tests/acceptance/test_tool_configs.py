"""`uses.config`, `uses.profile` and `with.config` of a tool (seed 000, SEMANTICS 23)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.acceptance.conftest import Place, Run

HOSTILE = 'x\'; touch planted; "$(touch planted)" `touch planted`'


def named(place: Place, name: str, text: str, *, scope: str = "user") -> Path:
    roots = {"local": place.project / ".tongs", "user": place.user, "global": place.glob}
    path = roots[scope] / f"{name}.yml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def output(tongs: Run, name: str = "t", *words: str) -> str:
    done = tongs("tool", "run", name, *words)
    assert (done.stderr, done.code) == ("", 0)
    return done.stdout


def refused(tongs: Run, name: str = "t") -> tuple[str, str]:
    """The code and the message of a call that was not run."""
    error = json.loads(tongs("tool", "run", name, "--json").stdout)["error"]
    return error["code"], f"{error['message']} | {error['details'].get('hint', '')}"


def test_values_keep_their_types_in_every_language(place: Place, tongs: Run) -> None:
    named(place, "configs/c", "n: 3\nyes: true\nlist: [a, b c]\napi: {base: x}\nnone: null\n")
    place.tool(
        "t",
        "uses: {config: c}\ntags: [read]\nsteps:\n"
        '  - {name: sh, bash: \'printf "%s|" {config.list} {config.n} "{config.api.base}"\'}\n'
        "  - name: py\n"
        "    python: print([{config.n}, {config.yes}, {config.list}, {config.none}])\n"
        "  - {name: words, run: 'printf %s|%s {config.n} {config.api}'}\n"
        "  - {name: all, bash: 'echo {sh.output} {py.output} {words.output} x{config}'}\n",
        scope="user",
    )

    assert output(tongs) == (
        "a|b c|3|x| [3, True, ['a', 'b c'], None] 3|{\"base\": \"x\"} x{config}\n"
    )


def test_a_value_is_data_and_never_code(place: Place, tongs: Run) -> None:
    named(place, "configs/c", f"v: {json.dumps(HOSTILE)}\n")
    place.tool(
        "t",
        "uses: {config: c}\ntags: [write]\n"
        "bash: printf '%s\\n' {config.v} \"{config.v}\" '{config.v}'\n",
        scope="user",
    )

    assert output(tongs) == f"{HOSTILE}\n" * 3
    assert not (place.project / "planted").exists()


@pytest.mark.parametrize("where", ["uses: {config: c}", "uses: {profile: c}"])
def test_a_second_interpreter_gets_no_value_of_another_file(
    place: Place, tongs: Run, where: str
) -> None:
    for folder in ("configs", "profiles"):
        named(place, f"{folder}/c", "n: 5\n")
    place.tool("t", f"{where}\ntags: [read]\nbash: bash -c 'echo {{config.n}}'\n", scope="user")

    assert refused(tongs)[0] == "INVALID_DEFINITION"


def test_a_later_config_and_then_the_inline_one_win(place: Place, tongs: Run) -> None:
    named(place, "configs/a", "v: a\nw: {x: a, y: a}\n")
    named(place, "configs/b", "v: b\nw: {y: b}\n")
    named(place, "profiles/p", "v: p\n")
    tool = "tags: [read]\nbash: echo {config.v} {config.w.x} {config.w.y}\nuses:\n"
    place.tool("one", tool + "  configs: [a, b]\n", scope="user")
    place.tool("two", tool + "  {configs: [a, b], profile: p}\n", scope="user")
    inline = "with: {config: {v: i}}\n"
    place.tool("three", tool + "  {config: a, profiles: [p]}\n" + inline, scope="user")

    assert output(tongs, "one") == "b a b\n"
    assert output(tongs, "two") == "p a b\n"
    assert output(tongs, "three") == "i a a\n"


def test_a_profile_inside_config_yml_is_found_too(place: Place, tongs: Run) -> None:
    named(place, "config", "profiles: {p: {v: inside}}\n")
    place.tool("t", "uses: {profile: p}\ntags: [read]\nbash: echo {config.v}\n", scope="user")

    assert output(tongs) == "inside\n"


def test_a_config_that_changes_is_seen_by_the_next_call(place: Place, tongs: Run) -> None:
    place.tool("t", "uses: {config: c}\ntags: [read]\nbash: echo {config.v}\n", scope="user")
    missing = refused(tongs)
    named(place, "configs/c", "v: 1\n")
    first = output(tongs)
    named(place, "configs/c", "v: [1, 2]\n")
    second = output(tongs)
    named(place, "configs/c", "w: 1\n")

    assert missing[0] == "INVALID_DEFINITION"
    assert "the config `c` does not exist" in missing[1]
    assert (first, second) == ("1\n", "1 2\n")
    assert refused(tongs) == (
        "INVALID_DEFINITION",
        "t: no config has the value {config.v} (did you mean `config.w`?) | there is: {config.w}",
    )


def test_a_broken_config_is_named_with_its_line(place: Place, tongs: Run) -> None:
    path = named(place, "configs/c", "v: 1\nlimits: {memory: much}\n")
    place.tool("t", "uses: {config: c}\ntags: [read]\nbash: echo {config.v}\n", scope="user")

    code, message = refused(tongs)

    assert code == "INVALID_DEFINITION"
    assert f"{path}:2: limits.memory: must look like" in message
    assert "t " in tongs("tool", "list").stdout


def test_an_unknown_key_of_an_inline_config_is_an_error_at_load(place: Place, tongs: Run) -> None:
    path = place.tool(
        "t", "with: {config: {units: x}}\ntags: [read]\nbash: echo {config.unit}\n", scope="user"
    )

    done = tongs("tool", "run", "t")

    assert done.code == 2
    assert f"{path}:1: with.config: t: no config has the value {{config.unit}}" in done.stderr
    assert "[broken]" in tongs("tool", "list").stdout


@pytest.mark.parametrize(
    "line",
    [
        "security: {auto_approve: ['*']}",
        "interpreters: {bash: /tmp/evil}",
        "tools: {t: {permissions: {network: true}}}",
        "custom_tools: {enabled: true}",
        "profiles: {x: {}}",
        "securty: {}",
    ],
)
def test_an_inline_config_may_not_loosen(place: Place, tongs: Run, line: str) -> None:
    place.tool("t", f"tags: [read]\nbash: echo hi\nwith:\n  config:\n    {line}\n", scope="user")

    assert refused(tongs)[0] == "INVALID_DEFINITION"


def test_values_of_an_untrusted_config_are_not_used(place: Place, tongs: Run) -> None:
    place.tool("t", "uses: {config: c}\ntags: [read]\nbash: echo {config.v}\n", scope="user")
    theirs = named(place, "configs/c", "v: theirs\n", scope="local")
    alone = refused(tongs)
    named(place, "configs/c", "v: mine\n")
    beside = output(tongs)
    tongs("trust", "--yes", str(theirs))
    trusted = output(tongs)
    theirs.write_text("v: changed\n")

    assert alone[0] == "UNTRUSTED"
    assert f"tongs trust {theirs}" in alone[1]
    assert (beside, trusted, output(tongs)) == ("mine\n", "theirs\n", "mine\n")


def test_an_untrusted_config_can_still_tighten(place: Place, tongs: Run) -> None:
    place.tool("t", "uses: {config: c}\ntags: [read]\nbash: ulimit -n\n", scope="user")
    named(place, "configs/c", "limits: {open_files: 90}\n")
    theirs = "limits: {open_files: 50}\nsecurity: {auto_approve: ['*']}\n"
    named(place, "configs/c", theirs, scope="local")

    assert output(tongs) == "50\n"


def test_a_config_takes_time_permissions_and_calls_away(place: Place, tongs: Run) -> None:
    named(place, "configs/quick", "tools: {t: {timeout: 300ms}}\n")
    named(place, "configs/narrow", "security: {max_permissions: {fs: {read: [docs]}}}\n")
    named(place, "configs/denied", "security: {auto_deny: [inner]}\n")
    (place.project / "docs").mkdir()
    (place.project / "docs/a").write_text("docs\n")
    (place.project / "b").write_text("root\n")
    place.tool("inner", "tags: [read]\nbash: echo inner\n", scope="user")
    place.tool("t", "uses: {config: quick}\ntags: [read]\nbash: sleep 20\n", scope="user")
    place.tool(
        "files",
        "uses: {config: narrow}\ntags: [read]\nworking-directory: docs\n"
        "bash: cat a; cat ../b || true\n",
        scope="user",
    )
    place.tool("outer", "uses: {config: denied}\ntags: [read]\ntool: inner\n", scope="user")

    assert refused(tongs)[0] == "TIMEOUT"
    assert tongs("tool", "run", "files").stdout == "docs\n"
    assert refused(tongs, "outer")[0] == "DENIED"
    assert output(tongs, "inner") == "inner\n"


def test_a_config_can_insist_on_walls(place: Place, tongs: Run, limited: Run) -> None:
    named(place, "config", "security: {enforcement: best-effort}\n")
    place.tool("loose", "tags: [read]\nbash: echo ran\n", scope="user")
    inline = "with: {config: {security: {enforcement: strict}}}\n"
    place.tool("strict", "tags: [read]\nbash: echo ran\n" + inline, scope="user")

    loose = limited("tool", "run", "loose", landlock=False)
    strict = limited("tool", "run", "strict", "--json", landlock=False)

    assert (loose.stdout, loose.code) == ("ran\n", 0)
    assert json.loads(strict.stdout)["error"]["code"] == "SANDBOX_UNAVAILABLE"
    assert (
        "enforcement" not in json.loads(tongs("tool", "run", "strict", "--json").stdout)["metadata"]
    )


def test_a_step_cannot_take_the_name_config(place: Place, tongs: Run) -> None:
    place.tool(
        "t",
        "with: {config: {v: 1}}\ntags: [read]\nsteps: [{name: config, bash: echo hi}]\n",
        scope="user",
    )

    assert refused(tongs)[0] == "INVALID_DEFINITION"


def test_explain_names_what_a_config_takes(place: Place, tongs: Run) -> None:
    place.tool(
        "t",
        "tags: [read]\nbash: echo hi\nwith:\n  config:\n"
        "    {limits: {memory: 64MiB}, tools: {t: {timeout: 2s}}}\n",
        scope="user",
    )

    shown = tongs("sandbox", "explain", "t").stdout

    assert "64MiB" in shown
    assert shown.count("a config that the tool uses") == 2
