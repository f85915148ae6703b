"""Marks that only we can make."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tongs.store.seal import Seal

DATA = {"question": "abc", "nested": False}


def test_a_mark_is_known_again_by_every_process_of_the_person(tmp_path: Path) -> None:
    state = str(tmp_path / "state")

    mark = Seal(state).close(DATA)

    assert Seal(state).open(mark) == DATA
    assert Seal(str(tmp_path / "other")).open(mark) is None


def test_nobody_else_can_read_the_key(tmp_path: Path) -> None:
    Seal(str(tmp_path / "state")).close(DATA)

    key = tmp_path / "state" / "seal.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert len(key.read_bytes()) == 32
    assert os.listdir(tmp_path / "state") == ["seal.key"]


def test_every_change_of_one_character_is_found(tmp_path: Path) -> None:
    seal = Seal(str(tmp_path))
    mark = seal.close(DATA)

    for place, character in enumerate(mark):
        for other in ("A", "z", "=", ".", "\u00e9"):
            changed = mark[:place] + other + mark[place + 1 :]
            assert other == character or seal.open(changed) is None


@pytest.mark.parametrize("text", ["", ".", "a", "a.b", "=.=", "x" * 5000, "\ud800.a", ".." * 10])
def test_what_is_no_mark_is_refused(tmp_path: Path, text: str) -> None:
    assert Seal(str(tmp_path)).open(text) is None


def test_another_spelling_of_a_mark_is_refused(tmp_path: Path) -> None:
    seal = Seal(str(tmp_path))
    mark = seal.close(DATA)

    assert seal.open(f"{mark}=") is None
    assert seal.open(f" {mark}") is None


def test_a_key_that_was_cut_off_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "seal.key").write_bytes(b"short")

    mark = Seal(str(tmp_path)).close(DATA)

    assert Seal(str(tmp_path)).open(mark) == DATA


def test_a_key_that_another_process_made_meanwhile_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = Seal(str(tmp_path)), Seal(str(tmp_path))
    link = os.link

    def late(source: str, target: str) -> None:
        monkeypatch.setattr(os, "link", link)
        second.close(DATA)
        link(source, target)

    monkeypatch.setattr(os, "link", late)

    assert second.open(first.close(DATA)) == DATA
