"""`tongs doctor`, `tongs sandbox run` and `tongs sandbox explain`, as a person types them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import threading
from collections.abc import Iterator

import pytest
from tests.acceptance.conftest import TONGS, Outcome, Place, Run, Show

TIERS = ("A", "B")

# In tier B nothing bounds how fast root can fork.
UNHELD_FOR_ROOT = ", tree-kill" if os.geteuid() == 0 else ""


@pytest.fixture(params=TIERS)
def tier(request: pytest.FixtureRequest, tongs: Run, limited: Run) -> Run:
    """The command in tier A, and in tier B."""
    return tongs if request.param == "A" else limited


def sandboxed(run: Run, *words: str, **options: object) -> Outcome:
    return run("sandbox", "run", *words, **options)


# --- doctor ---------------------------------------------------------------------------------------


def test_doctor_tells_the_tier_first(tongs: Run, place: Place) -> None:
    done = tongs("doctor")

    lines = done.stdout.splitlines()
    assert lines[0].startswith("tools are confined by tier A (namespaces)")
    assert lines[1].startswith("enforced: ")
    assert {"network", "fs.read", "fs.write"} <= set(lines[1][10:].split(", "))
    assert lines[2] == "not enforced: tree-memory, new-protected-paths"
    assert lines[3] == "security.enforcement: strict (default)"
    assert lines[5].split() == ["LAYER", "WORKS", "NEEDED", "BY", "DETAIL"]
    assert f"state folder  {place.state}, writable" in lines
    assert (done.stderr, done.code) == ("", 0)


def test_doctor_json_holds_everything(tongs: Run, place: Place) -> None:
    done = tongs("doctor", "--json")

    found = json.loads(done.stdout)
    assert sorted(found) == sorted(
        [
            *("tier", "enforced", "notEnforced", "problems", "enforcement", "enforcementSource"),
            *("layers", "tongs", "python", "forkServer", "state", "scratch", "config"),
        ]
    )
    assert (found["tier"], found["problems"], found["config"]) == ("namespaces", {}, [])
    assert found["state"] == {"path": str(place.state), "problem": None}
    assert {"name": "seccomp", "works": True, "remedy": ""}.items() <= found["layers"][2].items()
    assert done.code == 0


def test_doctor_without_user_namespaces_finds_tier_b_and_the_remedy(limited: Run) -> None:
    done = limited("doctor")

    lines = done.stdout.splitlines()
    assert lines[0].startswith("tools are confined by tier B (landlock)")
    gaps = "stat, metadata, protected-paths, scratch-view, tree-memory"
    assert lines[2] == f"not enforced: {gaps}{UNHELD_FOR_ROOT}"
    assert lines[3].startswith("tier A (namespaces) does not hold: ")
    row = next(line for line in lines if line.startswith("user namespaces "))
    assert row.split()[2:] == ["NO", "A", "clone:", "Operation", "not", "permitted"]
    assert "to get what is missing:" in lines
    assert any(line.startswith("  user namespaces: ") for line in lines)
    assert done.code == 0


def test_doctor_without_any_tier_exits_4(limited: Run) -> None:
    done = limited("doctor", landlock=False)

    assert done.stdout.startswith("tools are refused: this machine cannot confine them\n")
    assert "\n  landlock: " in done.stdout
    assert done.code == 4
    found = json.loads(limited("doctor", "--json", landlock=False).stdout)
    assert (found["tier"], found["enforced"]) == (None, [])
    assert sorted(found["problems"]) == ["landlock", "namespaces"]


def test_doctor_names_the_line_that_sets_the_enforcement(tongs: Run, place: Place) -> None:
    config = place.user / "config.yml"
    config.write_text("limits: {processes: 9}\nsecurity:\n  enforcement: best-effort\n")

    done = tongs("doctor")

    assert f"\nsecurity.enforcement: best-effort ({config}:3)\n" in done.stdout
    assert done.code == 0


def test_doctor_where_enforcement_is_off_says_so_and_exits_4(tongs: Run, place: Place) -> None:
    (place.user / "config.yml").write_text("security: {enforcement: 'off'}\n")

    done = tongs("doctor")

    first, second = done.stdout.splitlines()[:2]
    assert first == "tools are NOT confined: the config says so"
    assert second.startswith("tools could be confined by tier A (namespaces): ")
    assert done.code == 4


def test_doctor_does_not_believe_a_project_that_wants_less(tongs: Run, place: Place) -> None:
    (place.project / ".tongs" / "config.yml").write_text("security: {enforcement: 'off'}\n")

    assert "\nsecurity.enforcement: strict (default)\n" in tongs("doctor").stdout


def test_doctor_goes_on_with_a_broken_config(tongs: Run, place: Place) -> None:
    config = place.user / "config.yml"
    config.write_text("security: {enforcement: sometimes}\n")

    done = tongs("doctor")

    lines = done.stdout.splitlines()
    assert lines[0] == "no tool runs here before the config is mended (see below)"
    assert lines[1].startswith("tools are confined by tier A")
    said = [line for line in lines if line.startswith("config ")]
    assert len(said) == 1
    assert f"{config}:1: security.enforcement: must be one of" in said[0]
    assert (done.stderr, done.code) == ("", 2)
    found = json.loads(tongs("doctor", "--json").stdout)
    assert (found["enforcement"], len(found["config"])) == (None, 1)


def test_doctor_works_in_a_folder_that_is_gone(tongs: Run, place: Place) -> None:
    gone = place.home / "gone"
    gone.mkdir()

    script = f'rmdir "$PWD"; exec {TONGS} doctor'
    done = tongs("-c", script, command="bash", cwd=gone)

    assert "tools are confined by tier A" in done.stdout
    assert "the working directory does not exist any more" in done.stdout
    assert (done.stderr, done.code) == ("", 2)


def test_doctor_tells_when_nothing_can_be_kept(tongs: Run, place: Place) -> None:
    shutil.rmtree(place.state, ignore_errors=True)
    place.state.write_text("a file stands where the folder should be")

    done = tongs("doctor")

    assert f"state folder  {place.state} cannot be written: " in done.stdout
    assert "\n  state folder: " in done.stdout


def test_doctor_mends_the_kept_answer(tongs: Run, place: Place) -> None:
    tongs("doctor")
    kept = place.state / "sandbox"
    wrong = kept.read_text().replace("namespaces", "landlock")
    kept.write_text(wrong)

    tongs("doctor")

    right = wrong.replace("landlock", "namespaces")
    assert kept.read_text().splitlines()[:3] == right.splitlines()[:3]


def test_doctor_takes_nothing_else(tongs: Run) -> None:
    done = tongs("doctor", "me")
    assert (done.stdout, done.code) == ("", 2)
    assert done.stderr == "error: doctor: unknown argument `me`\nhint: tongs help doctor\n"


# --- sandbox run ----------------------------------------------------------------------------------


def test_what_is_named_can_be_read_and_nothing_else(tier: Run, place: Place) -> None:
    (place.project / "in").mkdir()
    (place.project / "in" / "data").write_text("seen\n")
    (place.project / "other").write_text("unseen\n")

    assert sandboxed(tier, "--read", "in", "--", "cat", "in/data") == Outcome("seen\n", "", 0)

    refused = sandboxed(tier, "--read", "in", "--", "cat", "other")
    assert (refused.stdout, refused.code) == ("", 1)
    assert refused.stderr.startswith("cat: other: ")
    assert refused.stderr.endswith("hint: to grant it, add: --read other\n")
    assert sandboxed(tier, "--read", "other", "--", "cat", "other").stdout == "unseen\n"


def test_what_is_named_can_be_written_and_nothing_else(tier: Run, place: Place) -> None:
    (place.project / "out").mkdir()
    script = "echo kept > out/file; echo lost > lost"

    done = sandboxed(tier, "--read", ".", "--write", "out", "--", "sh", "-c", script)

    assert done.code == 2
    assert done.stderr.endswith("hint: to grant it, add: --write .\n")
    assert (place.project / "out" / "file").read_text() == "kept\n"
    assert not (place.project / "lost").exists()


def test_without_options_the_working_directory_is_empty(tongs: Run, place: Place) -> None:
    (place.project / "file").write_text("")

    done = sandboxed(tongs, "--", "sh", "-c", "pwd; ls -A")

    assert done == Outcome(f"{place.project}\n", "", 0)


def test_scratch_looks_writable_and_nothing_is_kept(tongs: Run, place: Place) -> None:
    (place.project / "file").write_text("as it was\n")
    script = "echo changed > file; cat file"

    done = sandboxed(tongs, "--scratch", ".", "--", "sh", "-c", script)

    assert done == Outcome("changed\n", "", 0)
    assert (place.project / "file").read_text() == "as it was\n"


def test_scratch_that_cannot_be_had_is_not_said_to_be_there(limited: Run) -> None:
    done = sandboxed(limited, "--scratch", ".", "--", "touch", "new")

    assert "where nothing it writes is kept" not in done.stderr
    assert done.stderr.endswith(
        "hint: to grant it, add: --write .; --scratch needs user namespaces: `tongs doctor`\n"
    )


@pytest.mark.parametrize(
    ("script", "note"),
    [
        ("cat /proc/self/status", "of /proc every tool can read only parts"),
        (
            "echo x > $TMPDIR/f; gzip $TMPDIR/f; exit 1",
            "without a write list, modes and times of files cannot be changed here",
        ),
        (
            "cd $TMPDIR; mkdir a; echo x > a/b; tar cf t a; rm -r a; tar xpf t",
            "without a write list, modes and times of files cannot be changed here",
        ),
    ],
)
def test_what_tier_b_cannot_do_is_not_taken_for_a_missing_grant(
    limited: Run, script: str, note: str
) -> None:
    done = sandboxed(limited, "--read", ".", "--", "sh", "-c", script)

    assert f"write nothing; {note}\n" in done.stderr
    assert "to grant it" not in done.stderr


def test_what_nothing_can_grant_is_told_as_such(tier: Run) -> None:
    done = sandboxed(tier, "--read", ".", "--", "sh", "-c", "echo x > /etc/tongs-test")

    assert "; /etc/tongs-test cannot be granted to any tool\n" in done.stderr
    assert "hint: " not in done.stderr


@pytest.fixture
def port() -> Iterator[int]:
    """A server on the loopback device that answers every line with itself."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                connection.sendall(b"reached\n")

    thread = threading.Thread(target=serve)
    thread.start()
    yield server.getsockname()[1]
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    thread.join()


@pytest.mark.parametrize("options", [(), ("--no-network",)])
def test_the_network_is_off_unless_asked_for(
    tier: Run, port: int, options: tuple[str, ...]
) -> None:
    command = ("--", "bash", "-c", f"head -n1 < /dev/tcp/127.0.0.1/{port}")

    refused = sandboxed(tier, *options, *command)
    assert (refused.stdout, refused.code) == ("", 1)
    assert "network was off" in refused.stderr
    assert refused.stderr.endswith("hint: to grant it, add: --network\n")

    assert sandboxed(tier, "--network", *command) == Outcome("reached\n", "", 0)


def test_a_list_of_hosts_needs_tier_a(limited: Run) -> None:
    done = sandboxed(limited, "--host", "example.org", "--", "true")

    assert (done.stdout, done.code) == ("", 4)
    assert done.stderr.startswith("error: ")
    assert "example.org" in done.stderr


def test_a_host_that_is_not_listed_is_refused(tongs: Run, port: int) -> None:
    fetch = f"import urllib.request as u; u.urlopen('http://127.0.0.1:{port}/')"

    done = sandboxed(tongs, "--host", "example.org", "--", "python3", "-c", fetch)

    assert done.code == 1
    assert "403" in done.stderr
    assert done.stderr.endswith(f"hint: to grant it, add: --host 127.0.0.1:{port}\n")


def test_a_host_with_a_private_address_needs_the_word_of_a_person(
    tongs: Run, port: int, place: Place
) -> None:
    fetch = f"import urllib.request as u; u.urlopen('http://127.0.0.1:{port}/')"

    done = sandboxed(tongs, "--host", f"127.0.0.1:{port}", "--", "python3", "-c", fetch)

    line = 'security: {allow_private_hosts: ["127.0.0.1"]}'
    config = place.user / "config.yml"
    assert done.stderr.endswith(f"hint: to grant it, write in {config}: {line}\n")


def test_variables_are_set_passed_on_or_absent(tier: Run) -> None:
    done = sandboxed(
        tier,
        *("--env", "SET={x} ${HOME} =", "--env", "MINE", "--env", "NOT_SET"),
        *("--", "sh", "-c", 'echo "$SET|$MINE|${NOT_SET-absent}|${OTHER-absent}"'),
        env={"MINE": "mine", "OTHER": "other"},
    )
    assert done == Outcome("{x} ${HOME} =|mine|absent|absent\n", "", 0)


def test_words_arrive_as_they_were_typed(tier: Run) -> None:
    words = ("{A}", "$(touch x)", "a b", "--", "--json", "'", "")

    done = sandboxed(tier, "--", "printf", "%s\\n", *words)

    assert done == Outcome("".join(f"{word}\n" for word in words), "", 0)


def test_standard_input_is_passed_on(tier: Run) -> None:
    assert sandboxed(tier, "--", "cat", stdin=b"a\0\xff").stdout == "a\0\udcff"
    assert sandboxed(tier, "--", "cat") == Outcome("", "", 0)


def test_on_a_terminal_the_program_does_not_wait_for_input(screen: Show) -> None:
    shown = screen("sandbox", "run", "--", "cat")
    assert shown.end() == 0


@pytest.mark.parametrize("code", [1, 2, 3, 4, 77, 255])
def test_the_exit_code_is_that_of_the_program(tier: Run, code: int) -> None:
    assert sandboxed(tier, "--", "sh", "-c", f"exit {code}").code == code


def test_a_signal_a_timeout_and_a_missing_program_have_codes_as_in_a_shell(tongs: Run) -> None:
    killed = sandboxed(tongs, "--", "sh", "-c", "kill -TERM $$")
    assert (killed.stdout, killed.code) == ("", 128 + signal.SIGTERM)

    late = sandboxed(tongs, "--timeout", "100ms", "--", "sleep", "60")
    assert (late.stdout, late.code) == ("", 124)
    assert late.stderr.startswith("error: sandbox run did not finish within 0.")

    missing = sandboxed(tongs, "--", "no-such-program")
    assert (missing.stdout, missing.code) == ("", 127)
    assert missing.stderr.startswith("error: cannot start `no-such-program`: not found on PATH\n")


def test_memory_and_processes_are_limited(tongs: Run) -> None:
    fill = "x = bytearray(300 * 1024**2)"
    done = sandboxed(tongs, "--memory", "100MiB", "--", "python3", "-c", fill)
    assert done.code == 1
    assert "MemoryError" in done.stderr
    assert done.stderr.endswith("hint: to grant it, add: --memory 200MiB\n")
    assert sandboxed(tongs, "--memory", "1GiB", "--", "python3", "-c", fill).code == 0

    several = "for n in 1 2 3 4 5 6 7 8; do sleep $1 & done; wait"
    assert sandboxed(tongs, "--", "sh", "-c", several, "sh", "0").code == 0
    many = sandboxed(tongs, "--processes", "3", "--", "sh", "-c", several, "sh", "60")
    assert many.code != 0
    assert many.stderr.endswith("hint: to grant it, add: --processes 6\n")


def test_output_comes_while_the_program_runs(screen: Show, place: Place) -> None:
    script = "echo begun; while [ ! -e go ]; do sleep 0.01; done; echo done"
    shown = screen("sandbox", "run", "--write", ".", "--", "sh", "-c", script)

    shown.wait_for("begun\n")
    (place.project / "go").touch()

    shown.wait_for("done\n")
    assert shown.end() == 0


def test_json_has_the_whole_result(tier: Run) -> None:
    done = sandboxed(tier, "--json", "--", "sh", "-c", "echo out; echo err >&2; exit 5")

    result = json.loads(done.stdout)
    assert (done.stderr, done.code) == ("", 5)
    assert (result["ok"], result["output"]) == (False, "out\n")
    assert (result["metadata"]["exitCode"], result["metadata"]["stderr"]) == (5, "err\n")
    assert {"network", "fs.read", "fs.write"} <= set(result["metadata"]["enforced"])


def test_a_trial_stands_in_the_audit_log(tongs: Run, place: Place) -> None:
    sandboxed(tongs, "--", "echo", "a b")

    (line,) = place.copy.splitlines()
    assert 'TOOL_EXECUTED name="sandbox run" params={command:["echo","a b"]}' in line
    assert "status=success caller=user" in line


def test_what_is_denied_to_all_is_denied_here(tongs: Run, place: Place) -> None:
    done = tongs("--auto-deny", "*", "sandbox", "run", "--", "touch", "/tmp/never")

    assert (done.stdout, done.code) == ("", 3)
    assert done.stderr.startswith("denied: ")
    assert "TOOL_DENIED" in place.copy


def test_grants_of_tools_are_not_for_a_trial(tongs: Run, place: Place) -> None:
    (place.project / "file").write_text("")
    grants = f'tools: {{"sandbox run": {{permissions: {{fs: {{read: ["{place.project}"]}}}}}}}}\n'
    (place.user / "config.yml").write_text(grants)

    assert sandboxed(tongs, "--", "ls") == Outcome("", "", 0)


def test_where_nothing_can_be_enforced_nothing_is_run(limited: Run, place: Place) -> None:
    done = sandboxed(limited, "--write", ".", "--", "touch", "ran", landlock=False)

    assert (done.stdout, done.code) == ("", 4)
    assert done.stderr.startswith("error: this machine cannot confine a tool (namespaces: ")
    assert done.stderr.endswith("hint: `tongs doctor` tells what is missing and how to get it\n")
    assert not (place.project / "ran").exists()


def test_an_answer_kept_from_a_better_host_opens_nothing(
    tongs: Run, limited: Run, place: Place
) -> None:
    """The state folder may be shared by a host and its containers."""
    secret = place.home / "secret"
    secret.write_text("secret\n")
    for run in (tongs, limited):
        run("doctor")

        done = sandboxed(limited, "--", "cat", str(secret), landlock=False)

        assert (done.stdout, done.code) == ("", 4)


def test_best_effort_runs_and_says_that_nothing_held(limited: Run, place: Place) -> None:
    (place.user / "config.yml").write_text("security: {enforcement: best-effort}\n")

    done = sandboxed(limited, "--", "echo", "ran", landlock=False)

    assert (done.stdout, done.code) == ("ran\n", 0)
    assert "best-effort" in done.stderr
    assert "enforcement=best-effort" in place.copy


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "the command is missing"),
        (["--"], "the command is missing"),
        (["ls"], "the command `ls` needs `--` before it"),
        (["--reed", ".", "--", "ls"], "unknown option `--reed`"),
        (["--read", "nope", "--", "ls"], "--read nope: there is no such file or folder"),
        (["--write", "nope", "--", "ls"], "--write nope: there is no such file or folder"),
        (["--read", "", "--", "ls"], "--read : there is no such file or folder"),
        (["--network", "--no-network", "--", "ls"], "--network and --no-network exclude"),
        (["--network", "--host", "a.org", "--", "ls"], "--network and --host exclude each other"),
        (["--host", "http://a.org", "--", "ls"], "--host http://a.org: "),
        (["--host", "", "--", "ls"], "--host : "),
        (["--env", "1=2", "--", "ls"], "--env 1=2: expected NAME or NAME=VALUE"),
        (["--memory", "much", "--", "ls"], "--memory much: must be a size such as"),
        (["--memory", "0", "--", "ls"], "--memory 0: must be at least 1"),
        (["--processes", "-1", "--", "ls"], "--processes"),
        (["--processes", "x", "--", "ls"], "--processes x: must be a whole number"),
        (["--read", "--", "ls"], "argument --read: expected one argument"),
    ],
)
def test_a_mistake_is_said_and_nothing_is_run(
    tongs: Run, place: Place, words: list[str], message: str
) -> None:
    done = sandboxed(tongs, *words)

    assert (done.stdout, done.code) == ("", 2)
    assert done.stderr.startswith("error: sandbox run: ")
    assert message in done.stderr
    assert "\nhint: " in done.stderr
    assert not (place.state / "audit").exists()


@pytest.mark.parametrize("option", ["--read", "--write"])
def test_the_state_folder_can_be_granted_by_nothing(tongs: Run, place: Place, option: str) -> None:
    tongs("doctor")

    done = sandboxed(tongs, option, str(place.state), "--", "ls", str(place.state))

    assert (done.stdout, done.code) == ("", 1)
    assert "Tongs' own state" in done.stderr


def test_a_link_is_granted_as_what_it_leads_to(tier: Run, place: Place) -> None:
    folder = place.home / "folder"
    folder.mkdir()
    (folder / "file").write_text("there\n")
    (place.project / "link").symlink_to(folder)

    done = sandboxed(tier, "--read", "link", "--", "cat", str(folder / "file"))

    assert done == Outcome("there\n", "", 0)


# --- sandbox explain ------------------------------------------------------------------------------


def rows(text: str) -> list[list[str]]:
    """The cells of the table, without the header."""
    lines = text.split("\n\n")[1].splitlines()
    starts = [lines[0].index(name) for name in ("WHAT", "VALUE", "FROM")]
    ends = [*starts[1:], None]
    return [
        [line[start:end].strip() for start, end in zip(starts, ends, strict=True)]
        for line in lines[1:]
    ]


def test_explain_shows_what_tags_give(tongs: Run, place: Place) -> None:
    place.tool("look", "bash: ls\ntags: [read, api]\n", scope="user")

    done = tongs("sandbox", "explain", "look")

    assert done.stdout.startswith(
        f"look ({place.user}/tools/look.yaml) is confined by tier A (namespaces)\n"
    )
    assert rows(done.stdout)[:4] == [
        ["network", "on", "tag `api`"],
        ["scratch", str(place.project), "tag `read`: looks writable, nothing is kept"],
        ["writes", "nothing", ""],
        ["environment", "PATH HOME LANG TMPDIR", "default"],
    ]
    assert ["limit memory", "2GiB", "default"] in rows(done.stdout)
    assert ["timeout", "60 s", "default"] in rows(done.stdout)
    assert "\nnot enforced:  tree-memory, unix-names\n" in done.stdout
    assert f"\nto grant more, write in {place.user}/config.yml:\n" in done.stdout
    assert (done.stderr, done.code) == ("", 0)


def test_explain_in_tier_b_says_what_is_missing(limited: Run, place: Place) -> None:
    place.tool("look", "bash: ls\ntags: [read]\n", scope="user")

    done = limited("sandbox", "explain", "look")

    assert "is confined by tier B (landlock)\n" in done.stdout
    assert ["reads", str(place.project), "tag `read`"] in rows(done.stdout)
    assert f"\nnot enforced:  stat, scratch-view, tree-memory{UNHELD_FOR_ROOT}\n" in done.stdout


def test_explain_names_the_source_of_everything(tongs: Run, place: Place) -> None:
    (place.project / "out" / ".git" / "hooks").mkdir(parents=True)
    (place.project / "data").mkdir()
    place.tool(
        "fetch",
        "bash: 'true'\ntimeout: 5000\nlimits: {memory: 100MiB, open_files: 50}\n"
        "permissions:\n  network: [api.example.org]\n  fs: {read: [data], write: [out]}\n"
        "  secrets: {TOKEN: {}, EXTRA: {required: false}}\n",
        scope="user",
    )
    config = place.user / "config.yml"
    config.write_text(
        "limits: {processes: 99}\n"
        "tools:\n"
        "  fetch:\n"
        f"    permissions: {{fs: {{read: [{place.home}]}}}}\n"
        "    limits: {memory: 1GiB}\n"
        "    envs: {MODE: gentle}\n"
    )

    done = tongs("sandbox", "explain", "fetch")

    project = place.project
    assert rows(done.stdout) == [
        ["network", "api.example.org", "declared, permissions.network"],
        ["reads", f"{project}/data", "declared, permissions.fs.read"],
        ["reads", str(place.home), f"config, {config}:4"],
        ["writes", f"{project}/out", "declared, permissions.fs.write"],
        ["protected", f"{project}/out/.git/hooks", "read-only"],
        ["secret", "TOKEN (missing)", "declared, permissions.secrets"],
        ["secret", "EXTRA", "declared, permissions.secrets"],
        ["environment", "PATH HOME LANG TMPDIR", "default"],
        ["environment", "MODE", f"config, {config}:6"],
        ["limit memory", "1GiB", f"config, {config}:5"],
        ["limit processes", "99", f"config, {config}:1"],
        ["limit file size", "1GiB", "default"],
        ["limit open files", "50", "declared, limits.open_files"],
        ["limit cpu", "none", "default"],
        ["limit output", "1MiB", "default"],
        ["timeout", "5 s", "declared, timeout"],
    ]
    assert done.stderr == ("warning: a call would be refused: it needs TOKEN in the environment\n")
    assert done.code == 0


def test_explain_as_json(tongs: Run, place: Place) -> None:
    place.tool("look", "bash: ls\ntags: [read]\n", scope="user")

    found = json.loads(tongs("sandbox", "explain", "look", "--json").stdout)

    project = str(place.project)
    assert (found["tool"], found["tier"], found["refusal"]) == ("look", "namespaces", None)
    assert found["network"] == {"value": False, "from": "no tag for the network"}
    assert found["scratch"] == [{"value": project, "from": "tag `read`"}]
    assert (found["write"], found["secrets"]) == ([], [])
    assert found["limits"]["memory"] == {"value": 2 * 1024**3, "from": "default"}
    assert [change["effect"] for change in found["changes"]] == [
        *("the whole network", f"writing in {project}", "twice the memory")
    ]


@pytest.mark.parametrize("number", [0, 1, 2])
def test_every_line_that_explain_offers_grants_what_it_says(
    tongs: Run, place: Place, number: int
) -> None:
    file = place.tool("look", "bash: ls\ntags: [read]\n")
    tongs("trust", "--yes", "look")
    before = json.loads(tongs("sandbox", "explain", "look", "--json").stdout)
    change = before["changes"][number]
    assert change["where"] == str(file)

    file.write_text("bash: ls\ntags: [read]\n" + "\n".join(change["lines"]) + "\n")

    after = json.loads(tongs("sandbox", "explain", "look", "--json").stdout)
    granted = (
        after["network"]["value"],
        [part["value"] for part in after["write"]],
        after["limits"]["memory"]["value"],
    )
    wanted: list[object] = [False, [], 2 * 1024**3]
    wanted[number] = (True, [str(place.project)], 4 * 1024**3)[number]
    assert granted == tuple(wanted)


def test_explain_runs_nothing_and_asks_nobody(screen: Show, place: Place) -> None:
    place.tool("touch", "bash: touch ran\napproval: {required: true}\ntags: [write]\n")

    shown = screen("sandbox", "explain", "touch")

    shown.wait_for("a call would be refused: the tool is not trusted\n")
    assert shown.end() == 0
    assert not (place.project / "ran").exists()
    assert not (place.state / "audit").exists()


def test_explain_tells_why_a_call_would_be_refused(limited: Run, place: Place) -> None:
    place.tool("hosts", "bash: 'true'\npermissions: {network: [a.example.org]}\n", scope="user")

    nothing = limited("sandbox", "explain", "hosts", landlock=False)
    assert " would be refused: this machine cannot confine a tool" in nothing.stdout
    assert nothing.code == 0

    first = limited("sandbox", "explain", "hosts").stdout.splitlines()[0]
    assert " would be refused: " in first
    assert "a.example.org" in first


def test_explain_says_when_nothing_is_confined(tongs: Run, place: Place) -> None:
    (place.user / "config.yml").write_text("security: {enforcement: 'off'}\n")
    place.tool("look", "bash: ls\ntags: [read]\n", scope="user")

    first = tongs("sandbox", "explain", "look").stdout.splitlines()[0]

    assert first.endswith(" is NOT confined: security.enforcement is off")


def test_explain_of_no_tool_is_an_error(tongs: Run, place: Place) -> None:
    place.tool("weather", "bash: ls\n", scope="user")

    assert tongs("sandbox", "explain", "wether").code == 2
    assert tongs("sandbox", "explain").stderr.startswith("error: sandbox explain: TOOL is missing")
    assert "did you mean" in tongs("sandbox", "explian", "weather").stderr
