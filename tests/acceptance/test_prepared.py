"""A command that is forked from a prepared Python does what one does that is started anew."""

from __future__ import annotations

import subprocess

import pytest
from tests.acceptance.conftest import Place
from tests.prepared import TONGS, Prepared, start

COMMANDS = [
    ("tool", "list"),
    ("tool", "get", "no-such-tool"),
    ("lint", "--strict"),
    ("tool", "run", "say", "WHO=\udcff $(id)"),
    ("tool", "run", "no-such-tool"),
    ("sandbox", "run", "--", "cat"),
    ("sandbox", "run", "--", "sh", "-c", "pwd; echo $0 >&2; exit 7", "x"),
    ("config", "get", "limits.memory"),
    ("--no-such-option",),
]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(map(ascii, words)))
def test_output_and_exit_code_are_the_same(
    place: Place, prepared: Prepared, words: tuple[str, ...]
) -> None:
    place.tool("say", "description: says\nbash: echo {WHO} $MINE\nuse-env: [MINE]\n", scope="user")
    options = {"cwd": place.home, "env": {**place.env, "MINE": "mine"}, "stdin": b"given \xff"}

    forked = prepared.run(words, **options)  # type: ignore[arg-type]
    started = start((TONGS, *words), **options)  # type: ignore[arg-type]

    assert shown(forked) == shown(started)
    assert forked.stdout + forked.stderr


def shown(done: subprocess.CompletedProcess[bytes]) -> tuple[bytes, bytes, int]:
    return done.stdout, done.stderr, done.returncode
