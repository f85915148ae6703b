"""A short command that becomes a large one is asked about, and quickly; none breaks the rules."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.unit.policy.commands import decided, engine, place

from tongs.core.decision import Decision


@pytest.mark.parametrize(
    "command",
    [
        "a=xx;" + "a=$a$a;" * 60 + "ls $a",
        "a=xx;" + "a+=$a;" * 60 + "ls",
        "a=(x x);" + 'a=("${a[@]}" "${a[@]}");' * 60 + "ls",
        "a=xx;" + "a=$a$a;" * 16 + "ls " + "$a" * 50,
        "a=xx;" + "a=$a$a;" * 15 + "ls " + "$a " * 5000,
        "a=xx;" + "a=$a$a;" * 15 + "ls $a;" * 500,
        "eval " * 3000 + "ls",
        "echo " + "{a," * 3000,
        "echo " + ("{a,b}" * 10 + " ") * 1000,
    ],
    ids=lambda command: command[:24],
)
def test_command_that_grows_is_asked_about(tmp_path: Path, command: str) -> None:
    began = time.process_time()

    assert decided(engine(place(tmp_path)), command).decision is Decision.ASK
    assert time.process_time() - began < 10


@pytest.mark.parametrize(
    "command", ["cat [z-a]", r"cat [a-\d]x", "cat [[:foo:]&&~~]", "echo ${" + "9" * 5000 + "}"]
)
def test_pattern_that_is_none_stops_nothing(tmp_path: Path, command: str) -> None:
    assert decided(engine(place(tmp_path)), command).decision is Decision.ALLOW


def test_broken_set_may_be_any_character(tmp_path: Path) -> None:
    assert decided(engine(place(tmp_path)), "cat .en[z-a]").decision is Decision.DENY
