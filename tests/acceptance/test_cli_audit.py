"""`tongs audit`: what happened can be seen, and nobody can change it unseen."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.conftest import TONGS, Outcome, Place, Run

HI = 'description: says hi\nbash: echo "hi {WHO}"\nparameters: {WHO: {type: string}}\n'


@pytest.fixture
def chain(place: Place, tongs: Run) -> Path:
    """The file of a chain in which one call went well, one failed, and one was refused."""
    place.tool("hi", HI, scope="user")
    place.tool("bad", "bash: exit 3\n", scope="user")
    assert tongs("tool", "run", "hi", "WHO=you").code == 0
    assert tongs("tool", "run", "bad").code == 1
    assert tongs("tool", "run", "hi").code == 2
    return place.state / "audit" / "chain-000001.jsonl"


def records(tongs: Run, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(tongs("audit", "list", "--json", *words).stdout)
    return found


def events(found: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(one["event"], one.get("tool", "")) for one in found]


def test_list_shows_every_event_in_order(chain: Path, tongs: Run) -> None:
    assert events(records(tongs)) == [
        ("CHAIN_OPENED", ""),
        ("TOOL_STARTED", "hi"),
        ("TOOL_EXECUTED", "hi"),
        ("TOOL_STARTED", "bad"),
        ("TOOL_EXECUTED", "bad"),
        ("TOOL_DENIED", "hi"),
    ]
    lines = tongs("audit", "list").stdout.splitlines()
    assert lines[0].split() == ["SEQ", "TIME", "EVENT", "TOOL", "CALLER", "STATUS", "CALL"]
    assert len(lines) == 7


def test_record_holds_what_was_asked_allowed_and_done(
    chain: Path, tongs: Run, place: Place
) -> None:
    begun, ended = records(tongs, "--call", records(tongs, "--tool", "hi")[0]["call"])

    assert begun["arguments"] == {"WHO": "you"}
    assert (begun["caller"], begun["kind"]) == ("user", "person")
    assert (begun["decision"], begun["rule"]) == ("allow", "typed")
    assert begun["source"] == "yaml:hi"
    assert len(begun["definition"]) == 64
    assert begun["permissions"]["network"] is False
    assert begun["project"] == str(place.project)
    assert (ended["status"], ended["exit"], ended["outputSize"]) == ("success", 0, 7)
    assert ended["outputHash"] == hashlib.sha256(b"hi you\n").hexdigest()
    assert "network" in ended["enforced"]
    assert ended["durationMs"] > 0


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--status", "denied"), [("TOOL_DENIED", "hi")]),
        (("--status", "error"), [("TOOL_EXECUTED", "bad")]),
        (("--event", "tool_started"), [("TOOL_STARTED", "hi"), ("TOOL_STARTED", "bad")]),
        (("--limit", "1"), [("TOOL_DENIED", "hi")]),
        (("--caller", "nobody"), []),
        (("--until", "1h"), []),
        (("--since", "1h", "--limit", "2"), [("TOOL_EXECUTED", "bad"), ("TOOL_DENIED", "hi")]),
        (("--until", "2026-01-01T00:00+01:00"), []),
    ],
)
def test_filters_choose_records(
    chain: Path, tongs: Run, words: tuple[str, ...], expected: list[tuple[str, str]]
) -> None:
    assert events(records(tongs, *words)) == expected


@pytest.mark.parametrize("words", [("--status", "fine"), ("--since", "then"), ("--limit", "many")])
def test_filter_that_means_nothing_is_refused(tongs: Run, words: tuple[str, ...]) -> None:
    done = tongs("audit", "list", *words)

    assert (done.code, done.stdout) == (2, "")
    assert words[0] in done.stderr
    assert "hint:" in done.stderr


def test_show_tells_all_about_a_call(chain: Path, tongs: Run) -> None:
    call = records(tongs, "--tool", "hi")[0]["call"]

    shown = tongs("audit", "show", call).stdout

    assert 'arguments: {"WHO": "you"}' in shown
    assert "status: success" in shown
    assert tongs("audit", "show", "2").stdout in shown
    assert json.loads(tongs("audit", "show", call, "--json").stdout)[1]["exit"] == 0
    assert tongs("audit", "show", "nosuch") == Outcome(
        "", "error: there is no call and no record `nosuch`\nhint: tongs audit list\n", 2
    )


def test_stats_count_calls_by_tool(chain: Path, tongs: Run) -> None:
    bad, hi = json.loads(tongs("audit", "stats", "--json").stdout)

    assert (bad["tool"], bad["calls"], bad["error"]) == ("bad", 1, 1)
    assert (hi["tool"], hi["calls"], hi["success"], hi["denied"]) == ("hi", 2, 1, 1)
    assert hi["longestMs"] > 0
    assert len(tongs("audit", "stats").stdout.splitlines()) == 3
    assert tongs("audit", "stats", "--tool", "nosuch").stdout == ""


def test_export_gives_the_very_lines(chain: Path, tongs: Run) -> None:
    assert tongs("audit", "export").stdout == chain.read_text()
    assert len(json.loads(tongs("audit", "export", "--json").stdout)) == 6


def test_deleted_or_broken_index_loses_nothing(chain: Path, tongs: Run) -> None:
    before = records(tongs)
    index = chain.with_name("index.db")

    index.unlink()
    assert records(tongs) == before
    index.write_bytes(b"no database" * 1000)
    assert records(tongs) == before


def test_index_follows_a_chain_that_was_changed(chain: Path, tongs: Run) -> None:
    records(tongs)
    lines = chain.read_bytes().splitlines(keepends=True)
    chain.write_bytes(b"".join(lines[:3]))

    assert len(records(tongs)) == 3


def test_call_that_was_killed_is_unfinished(place: Place, tongs: Run) -> None:
    place.tool("slow", "bash: echo begun; sleep 60\n", scope="user")
    process = subprocess.Popen(
        [TONGS, "tool", "run", "slow"], cwd=place.project, env=place.env, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"begun\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()

    assert events(records(tongs, "--status", "unfinished")) == [("TOOL_STARTED", "slow")]
    assert json.loads(tongs("audit", "stats", "--json").stdout)[0]["unfinished"] == 1


def test_whole_chain_verifies(chain: Path, tongs: Run) -> None:
    done = tongs("audit", "verify")

    assert (done.stdout, done.code) == ("", 0)
    assert done.stderr == (
        "6 records in 1 file: each is what was written, and follows the one before it\n"
    )


def test_changed_record_is_found_with_its_line(chain: Path, tongs: Run) -> None:
    chain.write_bytes(chain.read_bytes().replace(b'"WHO":"you"', b'"WHO":"me!"'))

    done = tongs("audit", "verify")

    assert done.code == 1
    assert done.stdout == f"{chain}:2: record 2 was changed: its hash does not fit its text\n"
    found = json.loads(tongs("audit", "verify", "--json").stdout)
    assert (found["ok"], found["findings"][0]["line"]) == (False, 2)


def test_removed_record_is_found_with_its_line(chain: Path, tongs: Run) -> None:
    lines = chain.read_bytes().splitlines(keepends=True)
    chain.write_bytes(b"".join(lines[:2] + lines[3:]))

    done = tongs("audit", "verify")

    assert (done.code, done.stdout) == (1, f"{chain}:3: record 3 is missing before record 4\n")


def test_moved_record_is_found(chain: Path, tongs: Run) -> None:
    lines = chain.read_bytes().splitlines(keepends=True)
    chain.write_bytes(b"".join([*lines[:2], lines[3], lines[2], *lines[4:]]))

    done = tongs("audit", "verify")

    assert done.code == 1
    assert f"{chain}:3: record 3 is missing before record 4" in done.stdout
    assert f"{chain}:4: record 3 stands after record 4: moved, or inserted" in done.stdout


def test_file_that_was_removed_is_found(chain: Path, tongs: Run) -> None:
    chain.rename(chain.with_name("chain-000002.jsonl"))

    done = tongs("audit", "verify")

    assert done.code == 1
    assert "the file before it is missing (1)" in done.stdout


def test_cut_tail_is_found_against_an_anchor(chain: Path, tongs: Run, tmp_path: Path) -> None:
    anchor = tongs("audit", "head").stdout
    kept = tmp_path / "anchors.txt"
    kept.write_text(anchor)
    lines = chain.read_bytes().splitlines(keepends=True)
    chain.write_bytes(b"".join(lines[:4]))

    assert tongs("audit", "verify").code == 0
    for given in (
        anchor,
        str(kept),
        json.dumps(dict(zip(("seq", "hash"), anchor.split(), strict=True))),
    ):
        done = tongs("audit", "verify", "--anchor", given)
        assert done.code == 1
        assert "the chain ends at record 4, and an anchor names record 6: cut off" in done.stdout


def test_chain_that_was_written_anew_is_found_against_an_anchor(chain: Path, tongs: Run) -> None:
    anchor = tongs("audit", "head").stdout
    chain.unlink()
    for _ in range(3):
        tongs("tool", "run", "hi", "WHO=other")

    assert tongs("audit", "verify").code == 0
    done = tongs("audit", "verify", "--anchor", anchor)
    assert done.code == 1
    assert "record 6 is not the one that the anchor names: it was rewritten" in done.stdout


@pytest.mark.parametrize("anchor", ["", "five", "5", "5 abc", '{"seq": 5}', "0 " + "0" * 64])
def test_what_is_no_anchor_is_refused(chain: Path, tongs: Run, anchor: str) -> None:
    done = tongs("audit", "verify", "--anchor", anchor)

    assert done.code == 2
    assert "hint: an anchor is what" in done.stderr


def test_head_of_nothing_is_an_error(tongs: Run) -> None:
    assert tongs("audit", "head").code == 1
    assert tongs("audit", "verify").code == 0
    assert tongs("audit", "list").stderr == "nothing was recorded that matches\n"


def test_follow_prints_what_comes(chain: Path, tongs: Run, place: Place) -> None:
    process = subprocess.Popen(
        [TONGS, "audit", "list", "--follow", "--json", "--tool", "hi", "--limit", "1"],
        cwd=place.project,
        env=place.env,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["event"] == "TOOL_DENIED"

    tongs("tool", "run", "bad")
    tongs("tool", "run", "hi", "WHO=again")

    assert json.loads(process.stdout.readline())["arguments"] == {"WHO": "again"}
    assert json.loads(process.stdout.readline())["status"] == "success"
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 0
    process.stdout.close()


def configured(place: Place, text: str) -> None:
    (place.user / "config.yml").write_text(text, encoding="utf-8")


def test_anchor_is_sent_to_a_command(chain: Path, tongs: Run, place: Place) -> None:
    anchors = place.home / "anchors"
    configured(place, f"audit: {{anchor: {{command: [sh, -c, 'cat >> {anchors}']}}, every: 100}}\n")

    assert tongs("audit", "head", "--send").code == 0

    assert tongs("audit", "verify", "--anchor", str(anchors)).code == 0
    assert "last sent: record 6" in tongs("audit", "head").stderr
    # What was sent last is remembered here, too: a cut tail is found without being given it.
    lines = chain.read_bytes().splitlines(keepends=True)
    chain.write_bytes(b"".join(lines[:4]))
    assert tongs("audit", "verify").code == 1


def test_anchor_that_could_not_be_sent_is_said_and_stops_no_call(
    chain: Path, tongs: Run, place: Place
) -> None:
    configured(
        place, "audit: {anchor: {command: [sh, -c, 'echo no wire >&2; exit 7']}, every: 1}\n"
    )

    assert tongs("tool", "run", "hi", "WHO=x").code == 0
    assert tongs("audit", "head", "--send").code == 1

    said = "warning: the anchor could not be sent: sh ended with 7: no wire\n"
    assert tongs("audit", "head").stderr == said
    log = (place.state / "log" / "tongs.log").read_text(encoding="utf-8")
    assert "the audit anchor could not be sent" in log


def test_anchor_is_sent_by_itself_after_so_many_records(
    chain: Path, tongs: Run, place: Place
) -> None:
    fifo = place.home / "fifo"
    os.mkfifo(fifo)
    configured(place, f"audit: {{anchor: {{command: [tee, {fifo}]}}, every: 2}}\n")

    assert tongs("tool", "run", "hi", "WHO=x").code == 0

    with fifo.open() as file:
        assert json.loads(file.read())["seq"] >= 8


def test_anchor_is_sent_to_an_address(chain: Path, tongs: Run, place: Place) -> None:
    got: list[tuple[str | None, bytes]] = []

    class Keeper(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = int(self.headers["content-length"])
            got.append((self.headers["authorization"], self.rfile.read(size)))
            self.send_response(204 if len(got) == 1 else 500)
            self.end_headers()

        def log_message(self, *words: object) -> None:
            """Nothing on stderr."""

    server = HTTPServer(("127.0.0.1", 0), Keeper)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/anchors"
    token = place.home / "token"
    token.write_text("me\n")
    token.chmod(0o600)
    headers = "{authorization: 'file:~/token'}"
    configured(place, f"audit: {{anchor: {{url: '{url}', headers: {headers}}}}}\n")

    assert tongs("audit", "head", "--send").code == 0
    assert (got[0][0], json.loads(got[0][1])["seq"]) == ("me", 6)
    assert tongs("audit", "head", "--send").code == 1
    assert f"{url} answered 500" in tongs("audit", "head").stderr
    token.unlink()
    assert tongs("audit", "head", "--send").code == 1
    assert f"{url}: file:~/token of audit.anchor is not there" in tongs("audit", "head").stderr
    assert len(got) == 2
    server.shutdown()
    server.server_close()
    assert tongs("audit", "head", "--send").code == 1


def test_sending_without_a_place_is_refused(chain: Path, tongs: Run) -> None:
    done = tongs("audit", "head", "--send")

    assert done.code == 2
    assert "the config names no place" in done.stderr


def test_project_cannot_have_anchors_sent(chain: Path, tongs: Run, place: Place) -> None:
    config = place.project / ".tongs" / "config.yml"
    config.write_text("audit: {anchor: {command: [touch, sent]}, every: 1}\n", encoding="utf-8")

    assert tongs("tool", "run", "hi", "WHO=x").code == 0
    assert tongs("audit", "head", "--send").code == 2

    assert not (place.project / "sent").exists()
    assert "audit: is ignored" in tongs("config", "list").stdout


def test_call_outside_a_project_is_in_the_chain_only(
    place: Place, tongs: Run, tmp_path: Path
) -> None:
    place.tool("hi", HI, scope="user")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    assert tongs("tool", "run", "hi", "WHO=you", cwd=elsewhere).code == 0

    assert events(records(tongs))[-1] == ("TOOL_EXECUTED", "hi")
    assert list(elsewhere.iterdir()) == []
    assert not (place.state / "audit" / "tools.log").exists()


def test_full_disk_stops_the_call_before_it_runs(place: Place, tongs: Run) -> None:
    place.tool("touch", "bash: touch made\n", scope="user")
    tongs("tool", "list")
    disk = place.state / "audit"
    disk.mkdir()
    fill = (
        'mount -t tmpfs -o size=16k tmpfs "$1" && head -c 16k /dev/zero > "$1/full";'
        ' shift; exec "$@"'
    )
    words = ("--user", "--map-root-user", "--mount", "sh", "-c", fill, "_", str(disk), TONGS)

    done = tongs(*words, "tool", "run", "touch", command="unshare")

    assert done.code == 4
    assert done.stderr.startswith(
        "error: touch was not run: the audit record cannot be written: No space left on device\n"
        f"hint: make room in {disk}"
    )
    assert not (place.project / "made").exists()
