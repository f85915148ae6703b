"""What every executor promises, whichever module it lives in."""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.web import Asked, Reply, Web

import tongs.executors
from tongs import Runtime, Tool, tool
from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.permissions import Permissions
from tongs.core.result import ToolResult
from tongs.core.servers import ServerSpec, ServerTool, definition_digest
from tongs.executors import KEYS, Executors

# Modules of the package that are no executor but what several of them share.
SHARED = {
    "step",
    "manifest",
    "json_output",
    "http_connection",
    "http_exchange",
    "http_redirect",
    "http_request",
    "http_response",
    "http_sender",
    "mcp_attachments",
    "mcp_content",
    "python_runner",
    "keeping",
    "timing",
}

EXECUTABLE = """#!/bin/sh
if [ "$1" = description ]; then
  echo '{"name": "t", "description": "d", "input_schema":'
  echo ' {"type": "object", "properties": {"A": {"type": "string"}}}}'
else
  touch ran
  jq -j '"got:" + .A'
fi
"""
INPUTS = {"schema": {"type": "object", "properties": {"A": {"type": "string"}}}}


def yaml(text: str) -> Callable[[Path, str], None]:
    def write(folder: Path, url: str) -> None:
        (folder / "t.yaml").write_text(f"{text}parameters: {{A: {{}}}}\n")

    return write


def python_file(folder: Path, url: str) -> None:
    (folder / "t.py").write_text(
        "from tongs import tool\n"
        "@tool\n"
        "def t(A: str) -> str:\n"
        "    'd'\n"
        "    open('ran', 'w').close()\n"
        "    return 'got:' + A\n"
    )


def nothing(folder: Path, url: str) -> None:
    """The program registers it."""


@tool
def t(A: str) -> str:  # noqa: N803 - the name that the samples of all kinds have
    """d"""
    Path("ran").touch()
    return f"got:{A}"


def executable(folder: Path, url: str) -> None:
    (folder / "t").write_text(EXECUTABLE)
    (folder / "t").chmod(0o755)


def manifest(kind: str, body: Callable[[str], dict[str, Any]]) -> Callable[[Path, str], None]:
    def write(folder: Path, url: str) -> None:
        (folder / "t").mkdir()
        (folder / "t" / "run.sh").write_text("#!/bin/sh\ntouch ran\nprintf 'got:%s' \"$1\"\n")
        (folder / "t" / "run.sh").chmod(0o755)
        (folder.parent.parent / "t_module.py").write_text(
            "def run(a):\n    open('ran', 'w').close()\n    return 'got:' + a\n"
        )
        permissions = {"network": kind == "http", "fs": {"write": ["."]}}
        data = {"name": "t", "description": "d", "kind": kind, "inputs": INPUTS}
        whole = {**data, "exec": {kind: body(url)}, "permissions": permissions}
        (folder / "t" / "tool.yml").write_text(json.dumps(whole))

    return write


# One small tool per executor: it leaves `ran` in the project, and its output for A=x is `got:x`.
SAMPLES: dict[str, Callable[[Path, str], None]] = {
    "process": yaml("run: sh -c 'touch ran; printf got:%s \"$1\"' sh {A}\n"),
    "script": yaml("bash: touch ran; printf 'got:%s' {A}\n"),
    "steps": yaml("steps:\n  - bash: touch ran\n  - bash: printf 'got:%s' {A}\n"),
    "executable": executable,
    "command": manifest(
        "command", lambda url: {"entrypoint": ".tongs/tools/t/run.sh", "args": ["${A}"]}
    ),
    "python": manifest(
        "python",
        lambda url: {"module": "t_module", "function": "run", "args": ["${A}"], "return": "text"},
    ),
    "python_file": python_file,
    "function": nothing,
    "mcp": nothing,
    "http": manifest("http", lambda url: {"url": url, "method": "POST", "body": "${A}"}),
}

# Tools that come with Tongs lie in no folder: their own names, and the same from their arguments.
BUILTIN: dict[str, tuple[str, Callable[[str, str], dict[str, Any]]]] = {
    "code": (
        "run_code",
        lambda value, url: {
            "language": "bash",
            "code": "touch ran; printf 'got:%s' \"$1\"",
            "args": [value],
        },
    ),
    "web": ("web_fetch", lambda value, url: {"url": url, "method": "POST", "body": value}),
}
# A server that says what it was told, registered by the program.
SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                  "serverInfo": {"name": "s", "version": "1"}}
    elif asked.get("method") == "tools/list":
        result = {"tools": [{"name": "t", "inputSchema": json.loads(sys.argv[1])}]}
    elif asked.get("method") == "tools/call":
        open("ran", "w").close()
        text = "got:" + asked["params"]["arguments"]["A"]
        result = {"content": [{"type": "text", "text": text}]}
    elif "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"],
                          "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


def of_server() -> Tool:
    definition = {"name": "t", "inputSchema": INPUTS["schema"]}
    spec = ServerSpec(
        "s",
        command=("python3", "-c", SERVER, json.dumps(INPUTS["schema"])),
        permissions=Permissions(write=(".",)),
    )
    return Tool(
        "t",
        input_schema=INPUTS["schema"],
        executor="mcp",
        plan=ServerTool(spec, "t", definition, definition_digest(definition)),
        permissions=spec.permissions,
    )


# Its tools have tests of their own; none of them leaves a file and says what it was told.
FUNCTIONS = {"builtin", "builtin_process"}


@pytest.fixture(params=sorted({*SAMPLES, *BUILTIN}))
def key(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    """What an http tool talks to."""

    def answer(asked: Asked) -> Reply:
        (tmp_path / "project" / "ran").touch()
        return Reply(200, b"got:" + asked.body, {"Content-Type": "text/plain; charset=utf-8"})

    made = Web(answer)
    yield made
    made.close()


@pytest.fixture
def runtime(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, web: Web
) -> Iterator[Runtime]:
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.yml").write_text("security: {allow_private_hosts: [127.0.0.1]}\n")
    monkeypatch.setenv("TONGS_HOME", str(home))
    monkeypatch.setenv("HOME", str(home))
    folder = tmp_path / "project" / ".tongs" / "tools"
    folder.mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    if SAMPLES.get(key, nothing) is not nothing:
        SAMPLES[key](folder, web.url)
        with Runtime.open(tmp_path / "project", single_thread=True) as first:
            first.definitions.accept(first.at(str(next(folder.iterdir()))))
    own = {"function": [t], "mcp": [of_server()]}.get(key, [])
    with Runtime.open(tmp_path / "project", single_thread=True, tools=own) as runtime:
        yield runtime


Make = Callable[[str], ToolCall]


@pytest.fixture
def call(key: str, web: Web) -> Make:
    """A call of the sample with this value."""

    def make(value: str) -> ToolCall:
        name, arguments = BUILTIN.get(key, ("t", lambda value, url: {"A": value}))
        caller = Caller(CallerKind.PERSON, "user")
        return ToolCall("c1", name, arguments(value, web.url), caller)

    return make


def test_every_module_is_a_key_and_every_key_has_a_sample() -> None:
    modules = {module.name for module in pkgutil.iter_modules(tongs.executors.__path__)}

    assert modules - SHARED == set(KEYS) == {*SAMPLES, *BUILTIN, *FUNCTIONS}


def test_key_gives_an_executor_and_others_do_not(key: str) -> None:
    assert Executors()[key] is not None
    with pytest.raises(KeyError):
        Executors()["no such kind"]


def test_tool_names_its_executor(runtime: Runtime, key: str, call: Make) -> None:
    assert runtime.find(call("x").name).executor == key


def test_preview_shows_the_value_and_starts_nothing(
    runtime: Runtime, tmp_path: Path, call: Make
) -> None:
    result = runtime.validate(call("shown-value"), preview=True)

    assert "shown-value" in result.output
    assert not (tmp_path / "project" / "ran").exists()


def test_execution_gives_the_output_as_a_result(
    runtime: Runtime, tmp_path: Path, call: Make
) -> None:
    result = runtime.run_sync(call("x"))

    assert isinstance(result, ToolResult)
    assert (result.ok, result.output, result.error) == (True, "got:x", None)
    ended = (result.metadata.get("exitCode"), result.metadata.get("status"))
    assert ended in ((0, None), (None, 200), (None, None))
    assert (tmp_path / "project" / "ran").exists()


def test_value_is_data_and_never_code(runtime: Runtime, tmp_path: Path, call: Make) -> None:
    hostile = "$(touch canary)`touch canary`'; touch canary; \"\n&& touch canary #"

    result = runtime.run_sync(call(hostile))

    assert result.output == f"got:{hostile}"
    assert not (tmp_path / "project" / "canary").exists()
