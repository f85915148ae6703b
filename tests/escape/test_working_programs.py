"""Honest tools work inside: a wall that stops everything would hold every attack as well."""

from __future__ import annotations

import http.server
import os
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.escape.attack import ONLINE, PROJECT_READABLE, TIERS
from tests.escape.programs import PROGRAMS, Program
from tests.escape.world import World


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name.replace(" ", "_"))
def test_an_honest_program_works_inside(world: World, program: Program, tier: str) -> None:
    argv = (world.python, "-c") if program.python else ("bash", "-ec")

    with world.call(tier, program.permissions) as call:
        completed = call.run(*argv, program.script)

    said = completed.output.decode()
    if words := program.lacking.get(tier):
        assert words in said
        assert completed.exit_code != 0
    else:
        assert completed.stdout.decode().strip() == program.expected.strip(), said
        assert completed.exit_code == 0, said


@pytest.fixture
def page() -> Iterator[str]:
    """The address of a page on this machine."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"a page\n")

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://localhost:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("tier", TIERS)
def test_a_page_is_fetched_where_the_network_is_granted(world: World, tier: str, page: str) -> None:
    with world.call(tier, ONLINE) as call:
        by_curl = call.run("curl", "-sS", "--noproxy", "*", page)
        script = f"import urllib.request as r; print(r.urlopen({page!r}).read().decode())"
        by_python = call.run(world.python, "-c", script)

    assert by_curl.stdout.strip() == by_python.stdout.strip() == b"a page", by_curl.output


@pytest.mark.parametrize("tier", TIERS)
def test_certificates_can_be_read_where_the_network_is_granted(world: World, tier: str) -> None:
    script = "import ssl; print(len(ssl.create_default_context().get_ca_certs()) > 10)"

    with world.call(tier, ONLINE) as call:
        completed = call.run(world.python, "-c", script)

    assert completed.stdout == b"True\n", completed.output


@pytest.mark.parametrize("tier", TIERS)
def test_an_interpreter_in_the_home_works(world: World, tier: str) -> None:
    """As pyenv has it: the program is a link, and its library lies beside it, below the home."""
    with world.scene(control=False) as scene:
        interpreter = copied_interpreter(scene.home / ".pyenv/versions/mine")
        link = scene.home / ".pyenv/bin/python3"
        link.parent.mkdir(parents=True)
        link.symlink_to(interpreter)

        with world.call(tier, PROJECT_READABLE, scene=scene, programs=(str(link),)) as call:
            completed = call.run(str(link), "-c", "import json, ctypes, sys; print(sys.prefix)")
            hidden = call.run("cat", str(scene.home / ".ssh/id_rsa"))

        assert completed.stdout.decode() == f"{scene.home}/.pyenv/versions/mine\n", completed.output
        assert (hidden.exit_code, hidden.stdout) == (1, b"")


def copied_interpreter(prefix: Path) -> Path:
    """This interpreter once more, with the part of its library that a start needs."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    library = prefix / "lib" / version
    program = prefix / "bin" / version
    program.parent.mkdir(parents=True)
    shutil.copy(os.path.realpath(sys.executable), program)
    library.parent.mkdir()
    shared = Path(sys.base_prefix, "lib")
    for name in shared.glob("libpython*"):
        shutil.copy(name, prefix / "lib" / name.name)
    ignored = shutil.ignore_patterns("test", "site-packages", "dist-packages", "*.pyc", "idlelib")
    shutil.copytree(os.path.dirname(os.__file__), library, ignore=ignored, symlinks=True)
    return program
