"""Where an http tool may be led: each attack beside the same one on a plain httpx2.

Everything listens on the loopback interface, which no tool may reach unless a person granted it.
"""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from tests.web import Asked, Reply, Web

from tongs import ToolResult
from tongs.executors import http_connection
from tongs.executors.http_redirect import redirected
from tongs.executors.http_request import Header, Request
from tongs.executors.http_sender import Sender
from tongs.template.url import Address, divided

if TYPE_CHECKING:
    from tests.unit.conftest import Project

DATA = Path(__file__).parents[2] / "data" / "tls"
RESOLVER = Path(__file__).parents[2] / "resolver.py"
KEY = "s3cr3t-value"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", KEY)


def grant(project: Project, *hosts: str) -> None:
    config = {"security": {"allow_private_hosts": list(hosts)}}
    (project.home / "config.yml").write_text(json.dumps(config))


def define(project: Project, http: dict[str, Any], network: Any = True) -> None:
    permissions = {"network": network, "secrets": {"API_KEY": {}}}
    project.manifest("t", {"exec": {"http": http}, "permissions": permissions})


def outcome(result: ToolResult) -> str:
    return "ok" if result.error is None else str(result.error.code)


PRIVATE = ["127.0.0.1", "localhost", "127.0.0.2", "0.0.0.0", "[::ffff:127.0.0.1]", "[::1]"]


@pytest.mark.parametrize("host", PRIVATE)
def test_this_machine_is_out_of_reach(project: Project, host: str) -> None:
    web = Web(name="::1" if host == "[::1]" else "0.0.0.0")
    url = f"http://{host}:{web.port}/"
    define(project, {"url": url})

    result = project.run("t")
    seen = len(web.asked)
    # The twin: the very same URL, without Tongs.
    plain = httpx2.get(url, trust_env=False)
    web.close()

    assert (outcome(result), seen) == ("PERMISSION_DENIED", 0)
    assert (plain.status_code, len(web.asked)) == (200, 1)


@pytest.mark.parametrize(
    "host",
    [
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "[fe80::1]",
        "[fd00::1]",
        "[::]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "metadata.google.internal",
    ],
)
def test_other_private_addresses_are_out_of_reach(project: Project, host: str) -> None:
    define(project, {"url": f"http://{host}/"})

    result = project.run("t")

    assert outcome(result) == "PERMISSION_DENIED"
    assert result.error is not None
    assert "allow_private_hosts" in result.error.hint


def test_own_public_address_is_this_machine(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What a machine with a public address of its own has: every address looks public here.
    monkeypatch.setattr(http_connection.hosts, "address_problem", lambda address: "")
    define(project, {"url": "http://127.0.0.1:9/"})

    result = project.run("t")

    assert result.error is not None
    assert "this machine itself" in result.error.message


@pytest.mark.parametrize("granted", ["127.0.0.1", "127.0.0.0/8"])
def test_person_can_grant_an_address(project: Project, web: Web, granted: str) -> None:
    grant(project, granted)
    define(project, {"url": web.url})

    assert outcome(project.run("t")) == "ok"


def test_person_can_grant_a_name(project: Project, web: Web) -> None:
    grant(project, "localhost")
    define(project, {"url": f"http://localhost:{web.port}/"})

    assert outcome(project.run("t")) == "ok"
    assert web.asked[0].headers["host"] == f"localhost:{web.port}"


# Redirects ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.2:{port}/",
        "//127.0.0.2:{port}/",
        "http://2130706434:{port}/",
        "http://0x7f000002:{port}/",
        "http://0177.0.0.2:{port}/",
        "http://127.2:{port}/",
        "http://[::ffff:127.0.0.2]:{port}/",
        "http://x@127.0.0.2:{port}/",
        "file:///etc/passwd",
        "gopher://127.0.0.2:{port}/",
    ],
)
def test_redirect_leads_to_no_other_private_address(
    project: Project, web: Web, other: Web, target: str
) -> None:
    web.answer = lambda asked: Reply.redirect(target.format(port=other.port))
    grant(project, "127.0.0.1")
    define(project, {"url": web.url})

    result = project.run("t")

    assert outcome(result) in {"PERMISSION_DENIED", "HTTP_ERROR"}
    assert other.asked == []


def test_plain_client_follows_a_redirect_anywhere(web: Web, other: Web) -> None:
    web.answer = lambda asked: Reply.redirect(f"{other.url}/")

    httpx2.get(web.url, follow_redirects=True, trust_env=False)

    assert len(other.asked) == 1


def test_redirect_stays_in_the_list_of_hosts(project: Project, web: Web, other: Web) -> None:
    web.answer = lambda asked: Reply.redirect(f"{other.url}/")
    grant(project, "127.0.0.0/8")
    define(project, {"url": web.url}, [f"127.0.0.1:{web.port}"])

    result = project.run("t")

    assert outcome(result) == "PERMISSION_DENIED"
    assert result.error is not None
    assert f"127.0.0.2:{other.port}" in result.error.hint
    assert other.asked == []


HEADERS = {
    "X-Hidden": "v ${API_KEY}",
    "Authorization": "Basic bm9ib2R5",
    "Cookie": "a=b",
    "X-Api-Key": "written-down",
    "X-Plain": "p",
}


def test_secret_header_does_not_go_to_another_host(project: Project, web: Web, other: Web) -> None:
    web.answer = lambda asked: Reply.redirect(f"{other.url}/x")
    grant(project, "127.0.0.0/8")
    define(project, {"url": web.url, "headers": HEADERS})

    result = project.run("t")

    assert outcome(result) == "ok"
    assert {"x-hidden", "authorization", "cookie", "x-api-key"} <= set(web.asked[0].headers)
    assert set(other.asked[0].headers) == {"host", "x-plain", "user-agent", "accept-encoding"}
    assert KEY not in json.dumps(dict(other.asked[0].headers))


def test_plain_client_sends_such_a_header_to_another_host(web: Web, other: Web) -> None:
    web.answer = lambda asked: Reply.redirect(f"{other.url}/x")

    httpx2.get(web.url, headers={"X-Hidden": KEY}, follow_redirects=True, trust_env=False)

    assert other.asked[0].headers["x-hidden"] == KEY


def test_headers_stay_on_the_way_to_the_same_host(project: Project, web: Web) -> None:
    web.answer = lambda asked: (
        Reply.redirect("/b?c=ü%20".encode().decode("latin-1"))
        if asked.target == "/"
        else Reply.of({})
    )
    grant(project, "127.0.0.1")
    define(project, {"url": web.url, "headers": HEADERS})

    result = project.run("t")

    assert (outcome(result), result.metadata["redirects"]) == ("ok", 1)
    assert web.asked[1].headers == web.asked[0].headers


@pytest.mark.parametrize(
    ("status", "method", "sent"),
    [
        (301, "POST", ("GET", b"")),
        (302, "POST", ("GET", b"")),
        (303, "PUT", ("GET", b"")),
        (307, "POST", ("POST", b"x")),
        (308, "PATCH", ("PATCH", b"x")),
    ],
)
def test_body_is_sent_again_only_where_the_status_says_so(
    project: Project, web: Web, status: int, method: str, sent: tuple[str, bytes]
) -> None:
    web.answer = lambda asked: Reply.redirect("/b", status) if asked.target == "/" else Reply.of({})
    grant(project, "127.0.0.1")
    define(project, {"url": web.url, "method": method, "body": "x"})

    assert outcome(project.run("t")) == "ok"
    assert (web.asked[1].method, web.asked[1].body) == sent
    assert ("content-type" in web.asked[1].headers) is bool(sent[1])


@pytest.mark.parametrize("status", [301, 302])
def test_body_is_not_sent_again_where_the_status_does_not_say_so(
    project: Project, web: Web, status: int
) -> None:
    web.answer = lambda asked: Reply.redirect("/b", status)
    grant(project, "127.0.0.1")
    define(project, {"url": web.url, "method": "PUT", "body": "x"})

    assert outcome(project.run("t")) == "HTTP_ERROR"
    assert len(web.asked) == 1


def test_method_without_a_body_stays_what_it_is(project: Project, web: Web) -> None:
    web.answer = lambda asked: Reply.redirect("/b") if asked.target == "/" else Reply.of({})
    grant(project, "127.0.0.1")
    define(project, {"url": web.url, "method": "DELETE"})

    assert outcome(project.run("t")) == "ok"
    assert [asked.method for asked in web.asked] == ["DELETE", "DELETE"]


def test_body_is_not_sent_to_another_host(project: Project, web: Web, other: Web) -> None:
    web.answer = lambda asked: Reply.redirect(f"{other.url}/", 307)
    grant(project, "127.0.0.0/8")
    define(project, {"url": web.url, "method": "POST", "body": {"k": "${API_KEY}"}})

    result = project.run("t")

    assert outcome(result) == "HTTP_ERROR"
    assert other.asked == []
    # The twin.
    httpx2.post(web.url, content=KEY, follow_redirects=True, trust_env=False)
    assert other.asked[0].body == KEY.encode()


def test_head_stays_head_and_the_way_has_an_end(project: Project, web: Web) -> None:
    web.answer = lambda asked: Reply.redirect(f"/{len(web.asked)}", 303)
    grant(project, "127.0.0.1")
    define(project, {"url": web.url, "method": "HEAD", "redirects": 3})

    result = project.run("t")

    assert result.error is not None
    assert result.error.message == "t was redirected more than 3 times"
    assert result.error.details["url"] == f"{web.url}/3"
    assert [asked.method for asked in web.asked] == ["HEAD"] * 4


@pytest.mark.parametrize(
    ("http", "reply"),
    [({"redirects": 0}, Reply.redirect("/b")), ({}, Reply(302)), ({}, Reply(304))],
)
def test_redirect_that_is_not_followed_is_an_error(
    project: Project, web: Web, http: dict[str, Any], reply: Reply
) -> None:
    web.answer = lambda asked: reply
    grant(project, "127.0.0.1")
    define(project, {"url": web.url, **http})

    result = project.run("t")

    assert outcome(result) == "HTTP_ERROR"
    assert len(web.asked) == 1


def test_from_https_to_http_is_another_place() -> None:
    request = Request(
        "GET",
        Address("https", "a.example", 443),
        "/",
        (Header("X-Key", "k", private=True), Header("Accept", "a", private=False)),
    )

    follows = redirected(request, 302, "http://a.example?x")

    assert follows == Request(
        "GET", divided("http://a.example")[0], "/?x", (Header("Accept", "a", private=False),)
    )


# Names --------------------------------------------------------------------------------------------


def in_own_network(names: dict[str, str], program: str, *words: str) -> list[str]:
    """Lines of a program that runs where a name server of ours answers."""
    entries = [f"{name}={addresses}" for name, addresses in names.items()]
    done = subprocess.run(
        [
            *("unshare", "-rmn", sys.executable, str(RESOLVER), *entries, "--"),
            *(sys.executable, "-c", program, *words),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=Path(__file__).parents[3],
    )
    assert done.returncode == 0, done.stderr
    return [*done.stdout.splitlines(), *done.stderr.splitlines()]


# A server on the loopback interface of that network, and whether it was reached.
SERVER = """
import sys
sys.path.insert(0, ".")
from tests.web import Web
web = Web()
"""
# A program that looks a name up, finds it harmless, and hands it on: what most guards do.
NAIVE = (
    SERVER
    + """
import socket, httpx2
from tongs.core.hosts import address_problem
found = socket.getaddrinfo(sys.argv[1], web.port, socket.AF_INET, socket.SOCK_STREAM)
said = address_problem(found[0][4][0]) or "harmless"
try:
    httpx2.get(f"http://{sys.argv[1]}:{web.port}/", trust_env=False, timeout=5)
except httpx2.HTTPError:
    pass
print(said, "reached" if web.asked else "not reached")
web.close()
"""
)
PLAIN = (
    SERVER
    + """
import httpx2
httpx2.get(f"http://{sys.argv[1]}:{web.port}/", trust_env=False, timeout=5)
print("reached" if web.asked else "not reached")
web.close()
"""
)
TONGS = (
    SERVER
    + """
import json, pathlib
from tongs import Runtime
root = pathlib.Path(sys.argv[2])
tool = {
    "name": "t", "description": "d", "kind": "http", "version": 1,
    "exec": {"http": {"url": f"http://{sys.argv[1]}:{web.port}/", "timeout_ms": 5000}},
    "permissions": {"network": True},
}
folder = root / ".tongs" / "tools" / "t"
folder.mkdir(parents=True)
(folder / "tool.yml").write_text(json.dumps(tool))
with Runtime.open(root, single_thread=True) as runtime:
    runtime.definitions.accept(runtime.find("t"))
    from tongs.core.call import Caller, CallerKind, ToolCall
    result = runtime.run_sync(ToolCall("c", "t", {}, Caller(CallerKind.PERSON, "user")))
print(result.error.code, "reached" if web.asked else "not reached")
web.close()
"""
)


def test_name_of_a_private_address_is_refused(project: Project) -> None:
    names = {"inside.example.org": "127.0.0.1"}

    lines = in_own_network(names, TONGS, "inside.example.org", str(project.root))

    assert lines == ["PERMISSION_DENIED not reached", "asked inside.example.org 1"]
    assert in_own_network(names, PLAIN, "inside.example.org")[0] == "reached"


def test_name_that_changes_its_address_is_asked_for_once(project: Project) -> None:
    # First a public address, which passes every check, and from then on this machine.
    names = {"rebind.example.org": "93.184.215.14,127.0.0.1"}

    lines = in_own_network(names, TONGS, "rebind.example.org", str(project.root))

    assert lines == ["HTTP_ERROR not reached", "asked rebind.example.org 1"]
    twin = in_own_network(names, NAIVE, "rebind.example.org")
    assert twin == ["harmless reached", "asked rebind.example.org 2"]


def answers(*addresses: str) -> Any:
    def getaddrinfo(host: Any, port: Any, *more: Any) -> list[Any]:
        made = []
        for address in addresses:
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            made.append((family, socket.SOCK_STREAM, 6, "", (address, port)))
        return made

    return getaddrinfo


def test_one_private_address_among_public_ones_is_enough(
    project: Project, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", answers("93.184.215.14", "127.0.0.1"))
    define(project, {"url": f"http://mixed.example.org:{web.port}/"})

    assert outcome(project.run("t")) == "PERMISSION_DENIED"
    assert web.asked == []


def test_next_address_is_tried_where_one_does_not_answer(project: Project, web: Web) -> None:
    grant(project, "localhost")
    define(project, {"url": f"http://localhost:{web.port}/"})
    # `localhost` is `::1`, too, where nobody listens.
    with pytest.MonkeyPatch.context() as patch:
        network = http_connection.resolved
        patch.setattr(http_connection, "resolved", lambda *words: ["::1", *network(*words)])

        assert outcome(project.run("t")) == "ok"


def test_resolver_that_never_answers_is_a_timeout(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    hold = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *words: hold.wait(10) and [])
    define(project, {"url": "http://slow.example.org/", "timeout_ms": 100})

    result = project.run("t")
    hold.set()

    assert outcome(result) == "TIMEOUT"


def test_name_without_an_address_is_told(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *words: [])
    define(project, {"url": "http://empty.example.org/"})

    assert outcome(project.run("t")) == "HTTP_ERROR"


# TLS ----------------------------------------------------------------------------------------------


@pytest.fixture
def secured() -> Iterator[Web]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(DATA / "server.pem")
    names: list[str | None] = []
    context.sni_callback = lambda line, name, context: names.append(name)
    web = Web(
        lambda asked: Reply.of({"sni": names, "host": asked.headers["host"]}), secured=context
    )
    yield web
    web.close()


def over_tls(project: Project, web: Web, host: str, **http: Any) -> ToolResult:
    grant(project, host)
    define(project, {"url": f"https://{host}:{web.port}/", **http})
    return project.run("t")


def test_certificate_is_that_of_the_name_and_not_of_the_address(
    project: Project, secured: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", answers("127.0.0.1"))
    trusting = ssl.create_default_context(cafile=DATA / "ca.pem")
    monkeypatch.setattr(Sender, "_context", lambda self: trusting)

    good = over_tls(project, secured, "api.example.org")
    wrong = over_tls(project, secured, "other.example.org")

    host = f"api.example.org:{secured.port}"
    assert good.value == {"sni": ["api.example.org"], "host": host}
    assert wrong.error is not None
    assert "the certificate of other.example.org" in wrong.error.message


def test_unknown_certificate_is_refused_and_not_tried_again(
    project: Project, secured: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", answers("127.0.0.1"))

    result = over_tls(project, secured, "api.example.org", retries=5)

    assert result.error is not None
    assert (result.error.code, "certificate" in result.error.message) == ("HTTP_ERROR", True)
    assert secured.asked == []


def test_host_without_tls_is_told(project: Project, web: Web) -> None:
    result = over_tls(project, web, "127.0.0.1")

    assert result.error is not None
    assert "does not speak TLS" in result.error.message


def test_what_a_value_says_never_is_the_host(project: Project, web: Web) -> None:
    web.answer = lambda asked: Reply.of(asked.target)
    grant(project, "127.0.0.1")
    project.manifest(
        "t",
        {
            "inputs": {"schema": {"type": "object", "properties": {"a": {"type": "string"}}}},
            "permissions": {"network": True},
            "exec": {"http": {"url": f"{web.url}/${{a}}", "query": {"q": "${a}"}}},
        },
    )

    targets = [
        project.run("t", a=value).value
        for value in ("@evil.example", "//evil.example", "\\evil.example", "x?y#z", "%2e%2e")
    ]

    assert targets == [
        "/%40evil.example?q=%40evil.example",
        "/%2F%2Fevil.example?q=%2F%2Fevil.example",
        "/%5Cevil.example?q=%5Cevil.example",
        "/x%3Fy%23z?q=x%3Fy%23z",
        "/%252e%252e?q=%252e%252e",
    ]


def test_asked_is_what_a_server_saw(web: Web) -> None:
    """The witness of this file is a real server."""
    httpx2.post(f"{web.url}/x", content=b"y", trust_env=False)

    (asked,) = web.asked
    assert isinstance(asked, Asked)
    assert (asked.method, asked.target, asked.body) == ("POST", "/x", b"y")
