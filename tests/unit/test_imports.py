"""What each warm path may load. Start-up time is a feature, and imports are most of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

# Each costs as much as a good part of a bare Python start, or more; none is needed to list or to
# run a tool that was read before.
HEAVY = frozenset(
    """
    asyncio concurrent ctypes dataclasses email http httpx2 importlib.metadata
    importlib.resources inspect jsonschema_rs logging mcp multiprocessing opentelemetry pathlib
    prompt_toolkit pydantic rich shutil signal socket sqlite3 ssl starlette subprocess tempfile
    threading tree_sitter
    tree_sitter_bash typing urllib uuid yaml
    """.split()
)

COMMAND_LINE = "import sys; from tongs.__main__ import main; sys.exit(main())"

Loaded = Callable[..., set[str]]


@pytest.fixture
def loaded(tmp_path: Path) -> Loaded:
    """The modules that a fresh interpreter loads for a program, beyond those it always loads."""
    tools = tmp_path / "home" / ".tongs" / "tools"
    tools.mkdir(parents=True)
    (tools / "hi.yaml").write_text(
        'description: says hi\nbash: echo "hi {WHO}"\nparameters:\n  WHO:\n    type: string\n'
        "    description: whom\n"
    )
    (tmp_path / "project").mkdir()

    def run(program: str, *arguments: str, output: str | None = None) -> set[str]:
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-c", program, *arguments],
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(tmp_path / "home"),
                "TONGS_GLOBAL": str(tmp_path / "global"),
            },
            cwd=tmp_path / "project",
            capture_output=True,
            text=True,
            check=False,
        )
        lines = done.stderr.splitlines()
        report = [line for line in lines if line.startswith("import time:")]
        assert done.returncode == 0, [line for line in lines if line not in report]
        if output is not None:
            assert done.stdout == output
        return {line.rpartition("|")[2].strip() for line in report}

    always = run("pass")
    return lambda *words, **expected: run(*words, **expected) - always


def ours(modules: set[str]) -> set[str]:
    return {name for name in modules if name.partition(".")[0] == "tongs"}


def below(modules: set[str], *packages: str) -> set[str]:
    return {
        name
        for name in modules
        if any(name == package or name.startswith(f"{package}.") for package in packages)
    }


def test_version_loads_nothing_but_itself(loaded: Loaded) -> None:
    modules = loaded(COMMAND_LINE, "--version")

    assert ours(modules) == {
        "tongs",
        "tongs.__main__",
        "tongs._version",
        "tongs.core",
        "tongs.core.annotations",
    }
    assert not below(modules, *HEAVY, "argparse", "json", "re", "enum")


def test_import_of_the_package_loads_no_part_of_it(loaded: Loaded) -> None:
    modules = loaded("import tongs")

    assert ours(modules) == {"tongs", "tongs._version", "tongs.core", "tongs.core.annotations"}
    assert not below(modules, *HEAVY, "argparse", "json", "re", "enum")


def test_opening_a_runtime_loads_nothing_heavy(loaded: Loaded) -> None:
    modules = loaded("from tongs import Runtime; Runtime.open()")

    assert not below(modules, *HEAVY, "argparse", "tongs.surfaces", "tongs.formats")


def test_list_from_the_cache_loads_nothing_heavy(loaded: Loaded) -> None:
    loaded(COMMAND_LINE, "tool", "list")

    modules = loaded(COMMAND_LINE, "tool", "list")

    unneeded = ("approvers", "authoring", "formats", "template", "schema.yaml_reader")
    assert not below(modules, *HEAVY, *(f"tongs.{name}" for name in unneeded))


def test_list_with_servers_loads_no_gateway(loaded: Loaded, tmp_path: Path) -> None:
    config = tmp_path / "home" / ".tongs" / "config.yml"
    config.write_text("mcp: {servers: {a: {command: [x]}, b: {url: 'https://b.example.org'}}}\n")
    loaded(COMMAND_LINE, "tool", "list")

    modules = loaded(COMMAND_LINE, "tool", "list")

    assert "tongs.runtime.servers" in modules
    assert not below(modules, *HEAVY, "tongs.gateway", "tongs.formats", "tongs.schema.yaml_reader")


def test_list_without_servers_knows_nothing_of_them(loaded: Loaded) -> None:
    modules = loaded(COMMAND_LINE, "tool", "list")

    assert not below(modules, "tongs.runtime.servers", "tongs.config.servers", "tongs.store.pins")


def test_run_from_the_cache_loads_nothing_heavy(loaded: Loaded) -> None:
    words = ("tool", "run", "hi", "WHO=you")
    loaded(COMMAND_LINE, *words)

    modules = loaded(COMMAND_LINE, *words, output="hi you\n")

    unneeded = ("approvers", "authoring", "schema.yaml_reader", "sandbox.supervisor")
    languages = ("template.cmd", "template.pwsh", "template.python")
    assert not below(modules, *HEAVY, *(f"tongs.{name}" for name in (*unneeded, *languages)))


def test_own_tool_that_no_default_rule_is_about_is_not_read_as_a_command(loaded: Loaded) -> None:
    words = ("tool", "run", "hi", "WHO=you")
    loaded(COMMAND_LINE, *words)

    modules = loaded(COMMAND_LINE, *words, output="hi you\n")

    assert not below(modules, "tongs.policy.shell", "tongs.policy.configured")


def test_command_of_an_own_tool_is_read_without_the_grammar(loaded: Loaded, tmp_path: Path) -> None:
    tools = tmp_path / "home" / ".tongs" / "tools"
    (tools / "bye.yaml").write_text("description: d\nbash: rm -rf build; echo $(echo gone)\n")
    loaded(COMMAND_LINE, "tool", "run", "bye")

    modules = loaded(COMMAND_LINE, "tool", "run", "bye", output="gone\n")

    assert below(modules, "tongs.policy.shell")
    assert not below(modules, *HEAVY)


def test_sync_call_loads_no_asyncio_and_starts_no_thread(loaded: Loaded) -> None:
    program = """
import os
from tongs import Runtime
with Runtime.open(auto_approve=["*"]) as runtime:
    print(runtime.call_sync("hi", WHO="you").output.strip(), len(os.listdir("/proc/self/task")))
"""
    modules = loaded(program, output="hi you 1\n")

    assert not below(modules, "asyncio", "concurrent", "subprocess")


def test_http_tool_loads_no_http_before_it_is_called(loaded: Loaded, tmp_path: Path) -> None:
    folder = tmp_path / "home" / ".tongs" / "tools" / "web"
    folder.mkdir()
    (folder / "tool.yml").write_text(
        "name: web\ndescription: d\nkind: http\nexec: {http: {url: https://example.org/x}}\n"
    )
    for words in (
        ("list",),
        ("get", "web"),
        ("run", "web", "--show-command"),
        ("run", "hi", "WHO=x"),
    ):
        loaded(COMMAND_LINE, "tool", *words)

        modules = loaded(COMMAND_LINE, "tool", *words)

        assert not below(modules, "httpx2", "httpcore2", "anyio", "h11", "ssl", "asyncio")


def test_tool_that_comes_with_tongs_loads_nothing_heavy(loaded: Loaded) -> None:
    words = ("tool", "run", "shell", "command=echo hi")
    loaded(COMMAND_LINE, *words)

    modules = loaded(COMMAND_LINE, *words, output="hi\n")

    assert not below(modules, *HEAVY, "html_to_markdown")


def test_web_tools_load_no_http_before_they_are_called(loaded: Loaded) -> None:
    for words in (("list", "--builtin"), ("get", "web_fetch"), ("get", "web_search")):
        modules = loaded(COMMAND_LINE, "tool", *words)

        assert not below(modules, "httpx2", "httpcore2", "anyio", "ssl", "html_to_markdown")
