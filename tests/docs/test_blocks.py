"""Every code block of README and docs runs or loads.

A document is one story: its blocks run in their order in one project with a home of its own, shown
as `/home/you`. A `yaml` or `python` block that starts with the comment `# .tongs/tools/NAME.yaml`
(or another path of the project, or `~/…`) is that file. Every `yaml` block has to load as a tool or
a config; a `python` block that is no file runs, and a `text` block after it is what it prints.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.docs.blocks import ROOT, Block, blocks, commands, documents, matches

from tongs.config import named
from tongs.core.errors import Problem
from tongs.core.tool import Origin
from tongs.formats import yaml as yaml_format
from tongs.formats.yaml_steps import Host
from tongs.schema import files
from tongs.schema.check_document import check_document
from tongs.schema.document import parse

_FILE = re.compile(r"# (?P<path>(?:~/)?[\w./-]+\.(?:ya?ml|py))\n")

# Its story happens in the checkout itself, so it gets a copy of what it works on.
_ABOUT_THE_CHECKOUT = "CONTRIBUTING.md"

_OUR_PLUGINS = ("anyio", "asyncio", "hypothesispytest", "pytest_cov", "xdist")


class Story:
    """The project of one document."""

    def __init__(self, place: Path) -> None:
        self.home = place / "home"
        self.root = self.home / "project"
        self.root.mkdir(parents=True)
        self.cwd = str(self.root)
        self.exports = ""
        self.code = 0
        shutil.copytree(
            ROOT / "examples", self.root / "examples", ignore=shutil.ignore_patterns("audit")
        )

    def check_out(self) -> None:
        """Make the project a checkout: its sources and tests, copied, and the environment."""
        for folder in ("src", "tests/unit"):
            shutil.copytree(ROOT / folder, self.root / folder)
        for file in (ROOT / "tests").glob("*.py"):
            shutil.copy(file, self.root / "tests")
        shutil.copy(ROOT / "pyproject.toml", self.root)
        (self.root / ".venv").symlink_to(Path(sys.executable).parent.parent)

    def run(self, text: str) -> str:
        """Run one command as in a shell that stays open; its output as a reader would see it."""
        state = self.home.parent / "state"
        keep = f'code=$?; {{ pwd; export -p; }} > {shlex.quote(str(state))}; exit "$code"'
        script = f"{self.exports}\ncd {shlex.quote(self.cwd)}\n(exit {self.code})\n{text}\n{keep}"
        done = subprocess.run(
            ["bash", "-c", script],
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=60,
            check=False,
            start_new_session=True,  # no terminal: nobody can be asked
        )
        self.code = done.returncode
        self.cwd, _, self.exports = state.read_text(encoding="utf-8").partition("\n")
        return done.stdout.replace(str(self.home), "/home/you")

    def python(self, text: str) -> str:
        done = subprocess.run(
            [sys.executable, "-"],
            input=text,
            cwd=self.cwd,
            env=self.environment(),
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
            start_new_session=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.replace(str(self.home), "/home/you")

    def write(self, path: str, text: str) -> None:
        place = Path(path.replace("~", str(self.home), 1)) if path[0] == "~" else self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    def environment(self) -> dict[str, str]:
        return {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "TONGS_GLOBAL": str(self.home / "etc" / "tongs"),
            "LANG": "C.UTF-8",
            "COLUMNS": "100",
            # The copy of a checkout wins over the installed package.
            "PYTHONPATH": str(self.root / "src"),
            "PYTHONDONTWRITEBYTECODE": "1",
            # What has been looked at once is not looked at again in every run.
            "MYPY_CACHE_DIR": str(ROOT / ".mypy_cache" / "docs"),
            # A reader's pytest has no plug-in of ours, to be configured or to be waited for.
            "PYTEST_ADDOPTS": " ".join(f"-p no:{name}" for name in _OUR_PLUGINS),
        }


@pytest.fixture
def story(tmp_path: Path) -> Story:
    return Story(tmp_path)


@pytest.mark.parametrize("document", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_block_runs_or_loads(document: Path, story: Story) -> None:
    if document.name == _ABOUT_THE_CHECKOUT:
        story.check_out()
    printed: str | None = None
    for block in blocks(document):
        where = f"{document.relative_to(ROOT)}:{block.line}"
        said, printed = printed, None
        match block.language:
            case "console":
                check_console(block, story, str(document.relative_to(ROOT)))
            case "yaml":
                check_yaml(block, story, where)
            case "python":
                printed = run_python(block, story)
            case "text":
                assert said is None or matches(block.text, said), f"{where}: it printed:\n{said}"
            case _:
                check_syntax(block, where)


def run_python(block: Block, story: Story) -> str | None:
    """What the block prints; None where it is a file."""
    if (file := _FILE.match(block.text)) is None:
        return story.python(block.text)
    story.write(file["path"], block.text)
    return None


def check_syntax(block: Block, where: str) -> None:
    """Blocks that would change the machine, or that are data for other programs."""
    if block.language == "json":
        json.loads(block.text)
    elif block.language == "sh":
        subprocess.run(["bash", "-n", "-c", block.text], check=True)
    else:
        pytest.fail(f"{where}: a block of language `{block.language}` is checked by nothing")


def check_console(block: Block, story: Story, document: str) -> None:
    for command in commands(block):
        actual = story.run(command.text)
        where = f"{document}:{command.line}: {command.text}"
        assert matches(command.output, actual), f"{where}\nit printed:\n{actual}"
        refused = re.search(r'^(error|denied): |"ok": false', command.output, re.MULTILINE)
        assert story.code == 0 or refused, f"{where}\nexit code {story.code}"


def check_yaml(block: Block, story: Story, where: str) -> None:
    file = _FILE.match(block.text)
    path = file["path"] if file else "block.yaml"
    problems = loading_problems(block.text, path)
    assert not problems, f"{where}: " + "; ".join(map(str, problems))
    if file:
        story.write(path, block.text)


def loading_problems(text: str, path: str) -> list[Problem]:
    document = parse(text.encode(), path)
    # A tool has something to run beside the keys that it shares with a config.
    if "/configs/" in path or "/profiles/" in path:
        return list(named.problems_of(document))
    if set(yaml.safe_load(text)) <= set(files.load("config")["properties"]):
        return list(check_document(document, "config"))
    if "exec" in document.data:
        return list(check_document(document, "manifest"))
    yaml_format.load(document, Origin(), Host())
    return []
