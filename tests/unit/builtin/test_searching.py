"""`search_files`: the same as ripgrep finds, bounded, confined, and stoppable."""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from pathlib import Path

import pytest
from tests.unit.builtin.conftest import AGENT, Scene

from tongs.builtin.search_program import Globs, Rules, answer, expression_of, is_ignored
from tongs.core.call import ToolCall
from tongs.core.errors import ErrorCode


def lines(scene: Scene, **arguments: object) -> list[tuple[str, int, str]]:
    result = scene.call("search_files", **arguments)
    assert result.error is None, result.error
    return [(each["path"], each["line"], each["text"]) for each in result.value["matches"]]


def put(scene: Scene, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = scene.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_lines_that_match_are_found_without_a_question(scene: Scene) -> None:
    put(scene, {"src/a.py": "one\ntwo = 2\r\nthree", "b.txt": "two\n"})

    result = scene.call("search_files", pattern=r"tw\w")

    assert result.value == {
        "matches": [
            {"path": "b.txt", "line": 1, "column": 1, "text": "two"},
            {"path": "src/a.py", "line": 2, "column": 1, "text": "two = 2"},
        ],
        "files": ["b.txt", "src/a.py"],
        "truncated": False,
    }
    assert result.output == "b.txt:1: two\nsrc/a.py:2: two = 2\n"
    assert scene.person.asked == []
    assert "fs.read" in result.metadata["enforced"]


def test_glob_alone_lists_files(scene: Scene) -> None:
    put(scene, {"src/a.py": "", "src/a.pyi": "", "src/deep/b.py": "", "c.txt": ""})

    def files(*globs: str) -> list[str]:
        return list(scene.call("search_files", glob=list(globs)).value["files"])

    assert files("*.py") == ["src/a.py", "src/deep/b.py"]
    assert files("src/*.{py,pyi}") == ["src/a.py", "src/a.pyi"]
    assert files("*.py", "!src/deep") == ["src/a.py"]
    assert files("src/**/b.py") == ["src/deep/b.py"]


def test_search_begins_at_a_folder_or_a_file(scene: Scene) -> None:
    put(scene, {"a/x": "word", "a/y": "word", "b/x": "word", ".gitignore": "y\n"})
    (scene.project / "link").symlink_to("a")

    assert lines(scene, pattern="word", path="a") == [("a/x", 1, "word")]
    assert lines(scene, pattern="word", path="link") == [("a/x", 1, "word")]
    assert lines(scene, pattern="word", path="a/y") == [("a/y", 1, "word")]


def test_ignored_hidden_and_binary_files_are_left_out_unless_wanted(scene: Scene) -> None:
    put(
        scene,
        {
            ".gitignore": "*.log\n!keep.log\n/build/\n",
            "a.log": "word",
            "keep.log": "word",
            "build/x": "word",
            "sub/build/x": "word",
            ".hidden": "word",
            ".git/config": "word",
        },
    )
    (scene.project / "raw").write_bytes(b"word\0")

    def found(**arguments: bool) -> list[str]:
        return [path for path, _, _ in lines(scene, pattern="^word", **arguments)]

    assert found() == ["keep.log", "sub/build/x"]
    assert found(includeHidden=True) == [".hidden", "keep.log", "sub/build/x"]
    assert found(includeIgnored=True) == ["a.log", "build/x", "keep.log", "sub/build/x"]


def test_links_and_pipes_are_not_read(scene: Scene) -> None:
    (scene.project / "out").symlink_to(scene.outside / "secret")
    (scene.project / "folder").symlink_to(scene.outside)
    (scene.project / "system").symlink_to("/usr/bin")
    os.mkfifo(scene.project / "pipe")

    assert scene.call("search_files", pattern=".").value["matches"] == []
    assert scene.call("search_files", glob=["*"]).value["files"] == []


def test_answer_is_bounded(scene: Scene) -> None:
    put(scene, {"many": "word\n" * 5000, "long": "x" * 100_000 + "needle" + "y" * 100_000})

    result = scene.call("search_files", pattern="word", limit=10)
    cut = lines(scene, pattern="needle")

    assert len(result.value["matches"]) == 10
    assert result.value["truncated"] is True
    assert "limit" in result.warnings[0]
    assert len(cut[0][2]) < 500
    assert "needle" in cut[0][2]


def test_regular_expression_that_never_ends_is_given_up_and_named(scene: Scene) -> None:
    put(scene, {"fine": "aaa\n", "trap": "a" * 60 + "!"})
    begun = time.monotonic()

    error = scene.call("search_files", pattern="(a+)+$").error

    assert error is not None
    assert error.code is ErrorCode.TIMEOUT
    assert error.message == "search_files gave up: (a+)+$ does not come to an end in trap"
    assert "`pattern` simpler" in error.hint
    assert time.monotonic() - begun < 20


def test_search_that_is_stopped_names_the_pattern_too(scene: Scene) -> None:
    put(scene, {"trap": "a" * 60 + "!"})
    call = ToolCall("1", "search_files", {"pattern": "(a+)+$"}, AGENT)

    error = scene.runtime.run_sync(call, timeout=0.5).error

    assert error is not None
    assert error.code is ErrorCode.TIMEOUT
    assert "`pattern` simpler" in error.hint


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({}, "INVALID_ARGUMENTS"),
        ({"pattern": "("}, "INVALID_ARGUMENTS"),
        ({"pattern": ""}, "INVALID_ARGUMENTS"),
        ({"pattern": "x", "path": "none"}, "FILE_NOT_FOUND"),
        ({"pattern": "x", "path": "../outside"}, "INVALID_PATH"),
    ],
)
def test_search_refuses(scene: Scene, arguments: dict[str, object], code: str) -> None:
    assert scene.code("search_files", **arguments) == code


# --- against ripgrep ----------------------------------------------------------------------------


def big_tree(root: Path) -> None:
    """Some thousand files with ignore files of all kinds; the same ones each time."""
    chance = random.Random(6)
    words = ["alpha", "beta", "gamma", "delta", "Größe", "naïve", "TODO", "x1", "foo_bar"]
    patterns = ["*.log", "!keep.log", "build/", "/top", "d1/*.txt", "**/tmp", "f[0-4].c", "a?.md"]
    folders = [root]
    for number in range(300):
        folder = chance.choice(folders) / chance.choice(
            [f"d{number % 7}", "build", "tmp", f"n{number}", ".hid", "top"]
        )
        folder.mkdir(exist_ok=True)
        folders.append(folder)
    for folder in dict.fromkeys(folders):
        if chance.random() < 0.15:
            kept = chance.sample(patterns, 3)
            (folder / chance.choice([".gitignore", ".ignore"])).write_text("\n".join(kept) + "\n")
        for _ in range(chance.randrange(20)):
            name = chance.choice(
                ["a1.md", "keep.log", "x.log", "f3.c", "f7.c", "b.txt", ".dot", "m.py", "top"]
            )
            name = f"{chance.randrange(40)}{name}" if chance.random() < 0.5 else name
            if (folder / name).is_dir():
                continue
            text = "\n".join(
                " ".join(chance.choices(words, k=6)) for _ in range(chance.randrange(1, 60))
            )
            data = text.encode() + (b"" if chance.random() < 0.3 else b"\n")
            if chance.random() < 0.05:
                data = b"\0" + data
            (folder / name).write_bytes(data)
    (root / "to-folder").symlink_to(root / "d1")


def with_ripgrep(root: Path, *options: str) -> list[tuple[str, int, str]]:
    command = ["rg", "--json", "--no-config", "--no-require-git", "--no-ignore-global", *options]
    done = subprocess.run([*command, "./"], cwd=root, capture_output=True, check=False)
    found = []
    for line in done.stdout.splitlines():
        event = json.loads(line)
        if event["type"] == "match":
            data = event["data"]
            text = data["lines"]["text"].rstrip("\n")
            found.append((data["path"]["text"].removeprefix("./"), data["line_number"], text))
    return sorted(found)


def with_ours(root: Path, pattern: str, **options: object) -> list[tuple[str, int, str]]:
    request = {
        "root": str(root),
        "names": [],
        "pattern": pattern,
        "globs": [],
        "ignoreCase": False,
        "includeHidden": False,
        "includeIgnored": False,
        "limit": 10**9,
        **options,
    }
    found = answer(request)
    assert found["truncated"] is False
    return sorted((each["path"], each["line"], each["text"]) for each in found["matches"])


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("large")
    big_tree(root)
    return root


@pytest.mark.parametrize(
    ("pattern", "ours", "theirs"),
    [
        ("TODO", {}, []),
        (r"\bfoo_\w+ gamma$", {}, []),
        (r"^Größe|naïve.*alpha", {}, []),
        (r"todo", {"ignoreCase": True}, ["-i"]),
        (r"GRÖSSE|größe", {"ignoreCase": True}, ["-i"]),
        (r"beta\s+x1", {"includeHidden": True}, ["--hidden"]),
        (r"delta [^b]", {"includeIgnored": True}, ["--no-ignore"]),
        ("x1", {"includeHidden": True, "includeIgnored": True}, ["--hidden", "--no-ignore"]),
        ("x1", {"globs": ["*.py"]}, ["-g", "*.py"]),
        ("x1", {"globs": ["*.{py,c}", "!d1"]}, ["-g", "*.{py,c}", "-g", "!d1"]),
    ],
)
def test_same_lines_as_ripgrep(
    large: Path,
    pattern: str,
    ours: dict[str, object],
    theirs: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tongs.builtin.search_program.MOST_TEXT", 10**9)
    if "globs" in ours:
        # To ripgrep a glob also brings back what is ignored, so that is compared without.
        ours, theirs = {**ours, "includeIgnored": True}, [*theirs, "--no-ignore"]

    expected = with_ripgrep(large, "-e", pattern, *theirs)

    assert len(expected) > 20
    assert with_ours(large, pattern, **ours) == expected


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("*.py", "a/b.py", True),
        ("/*.py", "a/b.py", False),
        ("a/*.py", "a/b.py", True),
        ("a/*.py", "x/a/b.py", False),
        ("a/**", "a/b/c", True),
        ("a/**", "a", False),
        ("**/c", "c", True),
        ("a/**/c", "a/c", True),
        ("a/**/c", "a/x/y/c", True),
        ("a**c", "abc", True),
        ("a**c", "a/c", False),
        ("[a-c]x", "bx", True),
        ("[!a-c]x", "bx", False),
        ("[^a]x", "/x", False),
        ("[]]x", "]x", True),
        ("[x", "[x", True),
        (r"\*x", "*x", True),
        (r"\*x", "ax", False),
        ("a?c", "a/c", False),
        ("a.c", "abc", False),
        ("x\ny", "x\ny", True),
    ],
)
def test_globs_are_read_as_git_reads_them(glob: str, path: str, matches: bool) -> None:
    import re

    assert bool(re.fullmatch(expression_of(glob), path)) is matches


@pytest.mark.parametrize(
    ("text", "path", "folder", "ignored"),
    [
        ("# x\n\n  \nx", "x", False, True),
        ("x/", "x", False, False),
        ("x/", "x", True, True),
        ("x\n!x", "x", False, False),
        ("!x\nx", "x", False, True),
        (r"\#x", "#x", False, True),
        (r"\!x", "!x", False, True),
        ("x   ", "x", False, True),
        ("x\\ ", "x ", False, True),
        ("/", "x", True, False),
        ("x\r\n", "x", False, True),
    ],
)
def test_ignore_files_are_read_as_git_reads_them(
    text: str, path: str, folder: bool, ignored: bool
) -> None:
    assert is_ignored((path,), folder, [Rules(text, 0)]) is ignored


def test_globs_with_many_braces_stay_bounded() -> None:
    globs = Globs(["{a,b}" * 20])

    assert len(globs.take_any) < 300
