"""The http manifests of seed 004, driven by the real command against a loopback server.

They are the seed's own; only their host is another one, which the person granted.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.conftest import Outcome, Place, Run
from tests.web import Reply, Web

SEED = Path(__file__).with_name("seed_004")
HOSTS = {"web_search": "https://api.search.brave.com", "slack_notify": "https://slack.com"}
BRAVE = {"BRAVE_API_KEY": "brave-secret"}
SLACK = {"SLACK_BOT_TOKEN": "xoxb-secret"}

ANSWER = {
    "web": {
        "results": [
            {"title": "A", "url": "https://a", "description": "one", "extra": 1},
            {"title": "B", "url": "https://b", "description": "two"},
        ]
    }
}


Install = Callable[..., None]


@pytest.fixture
def install(place: Place, tongs: Run, web: Web) -> Install:
    """Puts a manifest of the seed where its author put it, with the server as its host."""
    (place.user / "config.yml").write_text("security: {allow_private_hosts: [127.0.0.1]}\n")

    def put(name: str, host: str = "", edit: Callable[[str], str] = lambda text: text) -> None:
        folder = place.project / ".glee" / "tools" / name
        folder.mkdir(parents=True, exist_ok=True)
        text = (SEED / name / "tool.yml").read_text()
        assert HOSTS[name] in text
        (folder / "tool.yml").write_text(edit(text.replace(HOSTS[name], host or web.url)))
        assert tongs("trust", "--yes").code == 0

    return put


def result(done: Outcome) -> dict[str, Any]:
    """With the class of the outcome beside it."""
    return {**json.loads(done.stdout), "exit": done.code}


def test_web_search_gives_the_projected_results(web: Web, install: Install, tongs: Run) -> None:
    web.answer = lambda asked: Reply.of(ANSWER)
    install("web_search")

    done = tongs("tool", "run", "web_search", "query=best frameworks", "--yes", env=BRAVE)

    assert (done.code, json.loads(done.stdout)) == (
        0,
        [
            {"title": "A", "url": "https://a", "description": "one"},
            {"title": "B", "url": "https://b", "description": "two"},
        ],
    )
    (asked,) = web.asked
    assert (asked.method, asked.target) == (
        "GET",
        "/res/v1/web/search?q=best%20frameworks&count=10",
    )
    assert asked.headers["x-subscription-token"] == "brave-secret"
    assert asked.headers["accept"] == "application/json"


def test_slack_notify_sends_data_with_absent_keys_left_out(
    web: Web, install: Install, tongs: Run
) -> None:
    web.answer = lambda asked: Reply.of({"ok": True, "ts": "1"})
    install("slack_notify")
    words = ("tool", "run", "slack_notify", "channel=general", "message=Done! v2", "--yes")

    done = tongs(*words, "--json", env=SLACK)
    tongs(*words, "thread_ts=12.34", env=SLACK)

    assert result(done)["value"] == {"ok": True, "ts": "1"}
    assert [asked.json for asked in web.asked] == [
        {"channel": "general", "text": "Done! v2"},
        {"channel": "general", "text": "Done! v2", "thread_ts": "12.34"},
    ]
    assert web.asked[0].headers["authorization"] == "Bearer xoxb-secret"
    assert web.asked[0].headers["content-type"] == "application/json"


def test_command_is_shown_without_the_secret(web: Web, install: Install, tongs: Run) -> None:
    install("slack_notify")

    done = tongs(
        *("tool", "run", "slack_notify", "channel=c", "message=hi", "--show-command"), env=SLACK
    )

    lines = done.stdout.splitlines()
    assert lines[0] == f"POST {web.url}/api/chat.postMessage"
    assert lines[1] == "Authorization: Bearer <SLACK_BOT_TOKEN>"
    assert lines[-1] == '{"channel": "c", "text": "hi"}'
    assert web.asked == []


# The error table of the seed ----------------------------------------------------------------------


def test_input_that_does_not_fit_is_not_sent(web: Web, install: Install, tongs: Run) -> None:
    install("web_search")

    done = tongs(
        *("tool", "run", "web_search", "count=many", "colour=red", "--yes", "--json"), env=BRAVE
    )

    found = result(done)
    assert (found["exit"], found["error"]["code"]) == (2, "INVALID_ARGUMENTS")
    said = json.dumps(found["error"])
    assert all(name in said for name in ("query", "count", "colour"))
    assert web.asked == []


def test_status_comes_with_the_message_of_the_host(web: Web, install: Install, tongs: Run) -> None:
    web.answer = lambda asked: Reply.of({"error": "bad key brave-secret"}, 401)
    install("web_search")

    done = tongs("tool", "run", "web_search", "query=x", "--yes", "--json", env=BRAVE)

    found = result(done)
    details = found["error"]["details"]
    assert (found["exit"], found["error"]["code"]) == (1, "HTTP_ERROR")
    assert (details["status"], details["reason"]) == (401, "Unauthorized")
    assert details["url"] == f"{web.url}/res/v1/web/search?q=x&count=10"
    assert "bad key" in found["error"]["message"]
    assert "brave-secret" not in done.stdout + done.stderr


def test_network_failure_says_why(install: Install, tongs: Run) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{unused.getsockname()[1]}"
        install("web_search", f"http://{host}")

        done = tongs("tool", "run", "web_search", "query=x", "--yes", env=BRAVE)

    assert (done.code, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == (
        f"error: web_search failed: {host} cannot be reached: Connection refused"
    )


def test_timeout_is_told_as_one(install: Install, tongs: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        install("web_search", f"http://127.0.0.1:{silent.getsockname()[1]}")

        done = tongs(
            *("tool", "run", "web_search", "query=x", "--yes", "--json", "--timeout", "300"),
            env=BRAVE,
        )

    found = result(done)
    assert (found["exit"], found["error"]["code"]) == (1, "TIMEOUT")
    assert "--timeout" in found["error"]["details"]["hint"]


def test_output_that_does_not_fit_is_a_warning(web: Web, install: Install, tongs: Run) -> None:
    web.answer = lambda asked: Reply.of({"web": {"results": [{"title": "A"}]}})
    install("web_search")

    found = result(tongs("tool", "run", "web_search", "query=x", "--yes", "--json", env=BRAVE))

    assert found["value"] == [{"title": "A", "url": None, "description": None}]
    assert (found["ok"], found["exit"]) == (True, 0)
    assert any("does not fit its schema" in warning for warning in found["warnings"])


def test_missing_secret_stops_the_call(web: Web, install: Install, tongs: Run) -> None:
    install("web_search")

    found = result(tongs("tool", "run", "web_search", "query=x", "--yes", "--json"))

    assert (found["exit"], found["error"]["code"]) == (4, "SECRET_MISSING")
    assert "BRAVE_API_KEY" in found["error"]["message"]
    assert web.asked == []


def test_path_that_is_not_there_names_the_keys(web: Web, install: Install, tongs: Run) -> None:
    web.answer = lambda asked: Reply.of({"news": {}, "query": {}})
    install("web_search")

    done = tongs("tool", "run", "web_search", "query=x", "--yes", env=BRAVE)

    assert done.code == 1
    assert "without `web.results`: the answer has the keys news, query" in done.stderr


# What only a person can grant ---------------------------------------------------------------------


def test_loopback_needs_the_word_of_a_person(
    place: Place, web: Web, install: Install, tongs: Run
) -> None:
    install("web_search")
    (place.user / "config.yml").unlink()

    found = result(tongs("tool", "run", "web_search", "query=x", "--yes", "--json", env=BRAVE))

    assert (found["exit"], found["error"]["code"]) == (1, "PERMISSION_DENIED")
    assert found["error"]["blockedBy"] == "permission"
    assert 'security: {allow_private_hosts: ["127.0.0.1"]}' in found["error"]["details"]["hint"]
    assert web.asked == []


def test_approval_that_is_required_is_asked_for(web: Web, install: Install, tongs: Run) -> None:
    install("slack_notify")

    done = tongs("tool", "run", "slack_notify", "channel=c", "message=m", env=SLACK)

    assert done.code == 3
    assert web.asked == []


def test_host_without_a_sandbox_can_still_send(web: Web, install: Install, limited: Run) -> None:
    web.answer = lambda asked: Reply.of(ANSWER)
    install("web_search")

    done = limited(
        *("tool", "run", "web_search", "query=x", "--yes", "--json"), landlock=False, env=BRAVE
    )

    found = result(done)
    assert (found["exit"], found["metadata"]["enforced"]) == (
        0,
        ["network", "fs.read", "fs.write"],
    )


def test_policy_of_an_http_tool_says_who_holds_it(install: Install, tongs: Run) -> None:
    install("web_search")

    done = tongs("sandbox", "explain", "web_search")

    assert done.stdout.splitlines()[0].endswith("starts no process: Tongs itself sends its request")
    assert "enforced:      network, fs.read, fs.write" in done.stdout


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("url: {host}", "url: http://${query}", "a value may not be a part of its scheme"),
        ("url: {host}", "url: http://me:pw@example.org", "must not stand in it"),
        ("url: {host}", "url: http://2130706433", "four decimal numbers"),
        ("network: true", "network: false", "needs the network"),
        ("network: true", "network: [example.org]", "does not have the host of the URL"),
        ("${freshness}", "${fresh}", "${fresh} is no input"),
        ("method: GET", "method: TRACE", "method"),
    ],
)
def test_manifest_that_cannot_be_sent_is_told_with_its_line(
    place: Place, web: Web, install: Install, tongs: Run, before: str, after: str, said: str
) -> None:
    before = before.format(host=web.url) if "{host}" in before else before
    install("web_search", edit=lambda text: text.replace(before, after))

    done = tongs("tool", "run", "web_search", "query=x", "--yes", env=BRAVE)

    assert done.code == 2
    assert said in done.stderr
    assert "tool.yml:" in done.stderr
