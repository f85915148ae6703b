"""`tongs tool import`: a tool from an OpenAPI document, called for real."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.acceptance.conftest import Place, Run

PETS = Path(__file__).parents[1] / "data" / "openapi" / "pets.yaml"
LOOPBACK = 'security: {allow_private_hosts: ["127.0.0.1"]}\n'


@pytest.fixture
def pets(place: Place) -> str:
    shutil.copy(PETS, place.project)
    return "pets.yaml"


class Service(ThreadingHTTPServer):
    """Answers with a pet, and remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[tuple[str, str, str | None, str]] = []

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Service

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        key = self.headers.get("X-API-Key") or self.headers.get("Authorization")
        self.server.asked.append((self.command, self.path, key, body))
        answer = json.dumps(
            {"id": 7, "name": "Rex", "full_name": "python/cpython", "stargazers_count": 5}
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_PUT = _answer  # noqa: N815 - names of the library

    def log_message(self, *arguments: object) -> None:
        """Quiet."""


@pytest.fixture
def service() -> Iterator[Service]:
    made = Service()
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


def test_operations_are_listed(tongs: Run, pets: str) -> None:
    listed = tongs("tool", "import", "--openapi", pets, "--list")
    as_json = tongs("tool", "import", "--openapi", pets, "--list", "--json")

    assert listed.stdout.splitlines()[:2] == [
        "OPERATION   METHOD  PATH           SUMMARY",
        "getPet      GET     /pets/{petId}  Find a pet",
    ]
    assert json.loads(as_json.stdout)[0] == {
        "operation": "getPet",
        "method": "GET",
        "path": "/pets/{petId}",
        "summary": "Find a pet",
    }


def test_nothing_is_written_of_what_cannot_be_imported(place: Place, tongs: Run, pets: str) -> None:
    outcomes = [
        tongs("tool", "import", "--openapi", "nothing.yaml", "--list"),
        tongs("tool", "import", "--openapi", pets),
        tongs("tool", "import", "--openapi", pets, "--operation", "getPat"),
        tongs("tool", "import", "--openapi", pets, "--operation", "photo"),
        tongs("tool", "import", "--openapi", pets, "--operation", "getPet", "--name", "../x"),
        tongs("tool", "import", "--openapi", pets, "--operation", "getPet", "--json"),
    ]

    assert [done.code for done in outcomes] == [2] * len(outcomes)
    assert "say which one with --operation" in outcomes[1].stderr
    assert "did you mean `getPet`?" in outcomes[2].stderr
    assert "multipart/form-data" in outcomes[3].stderr
    assert list((place.project / ".tongs" / "tools").iterdir()) == []


def test_a_missing_package_is_named(place: Place, tongs: Run, pets: str, tmp_path: Path) -> None:
    absent = tmp_path / "absent"
    absent.mkdir()
    (absent / "openapi_spec_validator.py").write_text("raise ImportError('not here')\n")

    done = tongs("tool", "import", "--openapi", pets, "--list", env={"PYTHONPATH": str(absent)})

    assert done.code == 4
    assert "pip install 'tongs[openapi]'" in done.stderr


def test_an_imported_tool_calls_the_service(
    place: Place, tongs: Run, pets: str, service: Service
) -> None:
    (place.user / "config.yml").write_text(LOOPBACK)
    server = ("--server", f"http://{service.address}/v1")

    written = tongs("tool", "import", "--openapi", pets, "--operation", "getPet", *server)
    tested = tongs("tool", "test", "getPet", "--fake-secrets")
    tongs("tool", "import", "--openapi", pets, "--operation", "update pet", *server)
    words = ("petId=7", "name=Max", "tag=a")
    refused = tongs("tool", "run", "update_pet", *words, env={"PET_STORE_TOKEN": "secret"})
    changed = tongs("tool", "run", "update_pet", *words, "--yes", env={"PET_STORE_TOKEN": "secret"})

    assert (written.code, written.stdout) == (0, ""), written.stderr
    assert tested.code == 0, tested.stdout
    assert (refused.code, changed.code) == (3, 0), changed.stderr
    assert [(*asked, json.loads(body or "null")) for *asked, body in service.asked] == [
        ("GET", "/v1/pets/7", "fake-PET_STORE_API_KEY", None),
        ("PUT", "/v1/pets/7", "Bearer secret", {"name": "Max", "tag": "a"}),
    ]


def test_the_linter_finds_nothing_wrong_with_what_is_written(tongs: Run, pets: str) -> None:
    for operation in ("getPet", "update pet", "POST /pets"):
        tongs("tool", "import", "--openapi", pets, "--operation", operation)

    linted = tongs("lint", "--json")

    counts = json.loads(linted.stdout)["counts"]
    assert (counts["error"], counts["warning"], linted.code) == (0, 0, 0)


def test_a_new_http_tool_passes_its_own_test(place: Place, tongs: Run, service: Service) -> None:
    tongs("tool", "new", "repo", "--kind", "http")
    (place.user / "config.yml").write_text(LOOPBACK)
    path = place.project / ".tongs" / "tools" / "repo" / "tool.yml"
    text = path.read_text().replace("https://api.github.com", f"http://{service.address}")
    path.write_text(text.replace("[api.github.com]", f'["{service.address}"]'))
    tongs("trust", "--yes", "repo")

    tested = tongs("tool", "test", "repo")

    assert tested.code == 0, tested.stdout
    assert service.asked == [("GET", "/repos/python/cpython", None, "")]
