"""An http tool against a bare call of the library it is sent with, to a server on this machine."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

from bench.measuring import ratios, repeated, spawned
from bench.rows import Row
from bench.world import PYTHON, TONGS, World
from tongs import Caller, CallerKind, Runtime, ToolCall

SECTION = "HTTP, multiples of one `httpx2.get` to the same server"
CALLS = 50

_SERVER = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet
    def do_GET(self):
        body = b'{"web": {"results": [{"title": "A", "url": "https://a"}]}}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *words):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
"""
_SCRIPT = "import sys, httpx2; httpx2.get(sys.argv[1]).json()['web']['results']"


def rows(root: Path, rounds: int) -> Iterator[Row]:
    world = World.make(root, 0)
    world.enter()
    with _server() as url:
        _define(world, url)
        yield from _in_process(world, url, rounds)
        yield from _processes(world, url, rounds)


def _in_process(world: World, url: str, rounds: int) -> Iterator[Row]:
    call = ToolCall("bench", "search", {"query": "x"}, Caller(CallerKind.PERSON, "user"))
    certificates = httpx2.create_ssl_context(trust_env=False)
    client = httpx2.Client(verify=certificates, trust_env=False)

    def spared() -> None:
        """What of a bare call is the request."""
        with httpx2.Client(verify=certificates, trust_env=False) as fresh:
            fresh.get(url, params={"q": "x"}).json()

    with Runtime.open(world.project, single_thread=True) as runtime:
        if (error := runtime.run_sync(call).error) is not None:
            raise RuntimeError(error.message)
        works = {
            "bare": repeated(lambda: httpx2.get(url, params={"q": "x"}).json(), CALLS),
            "tool": repeated(lambda: runtime.run_sync(call), CALLS),
            "spared": repeated(spared, CALLS),
            "kept": repeated(lambda: client.get(url, params={"q": "x"}).json(), CALLS),
        }
        measured = ratios(works, "bare", rounds)
    client.close()
    note = "validated, decided, address checked, projected, audit record appended"
    yield Row(SECTION, "http tool, sync call", measured["tool"], note=note)
    against = measured["tool"] / measured["spared"]
    name = "http tool, against a new client that need not read the certificates"
    yield Row(SECTION, name, against, note="`httpx2.get` reads them also for http")
    against = measured["tool"] / measured["kept"]
    yield Row(SECTION, "http tool, against a client that keeps its connection", against)


def _processes(world: World, url: str, rounds: int) -> Iterator[Row]:
    def took(*command: str) -> float:
        return spawned(command, world.environment, world.project)

    works = {
        "script": lambda: took(PYTHON, "-c", _SCRIPT, url),
        "tool": lambda: took(TONGS, "tool", "run", "search", "query=x"),
    }
    measured = ratios(works, "script", max(3, rounds // 2))
    name = "`tongs tool run`, against a script that calls `httpx2.get`"
    yield Row(SECTION, name, measured["tool"])


def _define(world: World, url: str) -> None:
    home = Path(world.environment["HOME"]) / ".tongs"
    folder = home / "tools" / "search"
    folder.mkdir(parents=True)
    manifest = {
        "name": "search",
        "description": "Search",
        "kind": "http",
        "version": 1,
        "inputs": {"schema": {"type": "object", "properties": {"query": {"type": "string"}}}},
        "outputs": {"format": "json"},
        "exec": {
            "http": {
                "url": url,
                "query": {"q": "${query}"},
                "response": {
                    "json_path": "web.results",
                    "fields": [{"name": "title", "path": "title"}],
                },
            }
        },
    }
    (folder / "tool.yml").write_text(json.dumps(manifest))
    (home / "config.yml").write_text("security: {allow_private_hosts: [127.0.0.1]}\n")


@contextmanager
def _server() -> Iterator[str]:
    with subprocess.Popen(
        [sys.executable, "-c", _SERVER], stdout=subprocess.PIPE, text=True
    ) as server:
        if server.stdout is None:
            raise RuntimeError("the server has no output")
        try:
            yield f"http://127.0.0.1:{server.stdout.readline().strip()}/"
        finally:
            server.terminate()
