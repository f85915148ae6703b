"""Values as text: on one line, bounded, and known by their hash where they are cut."""

from __future__ import annotations

import json
from collections import UserDict
from hashlib import sha256
from types import MappingProxyType
from typing import Any

import pytest

from tongs.audit import fields


def written(arguments: object) -> dict[str, Any]:
    data: dict[str, Any] = json.loads("{" + fields.arguments(arguments)[0] + "}")
    return data


def test_short_arguments_are_kept_whole() -> None:
    assert written({"a": [1, None, "ü\n"]}) == {"arguments": {"a": [1, None, "ü\n"]}}
    assert written(MappingProxyType({"a": 1})) == {"arguments": {"a": 1}}


def test_long_text_is_cut_and_known_by_the_hash_of_the_whole() -> None:
    arguments = {"text": "x" * 20_000, "other": 5}

    data = written(arguments)

    whole = json.dumps(arguments, separators=(",", ":"))
    assert data["arguments"]["other"] == 5
    assert data["arguments"]["text"] == "x" * 512 + "… (20000 characters)"
    assert data["argumentsSize"] == len(whole)
    assert data["argumentsHash"] == sha256(whole.encode()).hexdigest()


def test_many_arguments_are_cut_to_their_beginning() -> None:
    data = written({f"name-{n}": n for n in range(5000)})

    assert data["arguments"].startswith('{"name-0":0,')
    assert len(data["arguments"]) < 600


def test_what_is_no_json_is_described() -> None:
    endless: list[Any] = []
    endless += [endless, endless]

    assert written({"n": 10**5000})["arguments"] == {"n": "an integer of 16610 bits"}
    assert written({"n": float("nan"), "m": 1.5})["arguments"] == {"n": "nan", "m": 1.5}
    assert written({(1, 2): UserDict(a=1), "t": True})["arguments"] == {
        "(1, 2)": {"a": 1},
        "t": True,
    }
    assert written(endless)["argumentsCut"] is True
    assert len(fields.text_of(endless)) < 200_000


def test_name_may_be_no_text_at_all() -> None:
    assert fields.word(5) == '"5"'  # type: ignore[arg-type]  # what a careless program passes
    assert len(fields.word("x" * 5000)) < 600


def test_python_without_the_compiled_encoder_writes_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled = fields._encoder()
    monkeypatch.setattr(json.encoder, "c_make_encoder", None)

    for value in ({"a": [1, 2.5, "ü"]}, [], "x", None):
        assert fields._encoder()(value) == compiled(value)
