"""Mutated definitions and configs load, or are refused with file and reason."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tongs.core.errors import DefinitionInvalid
from tongs.core.tool import Origin
from tongs.formats.yaml import load
from tongs.formats.yaml_steps import Host
from tongs.schema.check_document import check_document
from tongs.schema.document import parse

pytestmark = pytest.mark.full

MUTANTS = 10_000
EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / ".tongs" / "tools"
PIECES = (
    *(b"{", b"}", b"[", b"]", b": ", b"\n", b"\n  ", b"- ", b"'", b'"', b"|", b">", b"#", b"&a "),
    *(b"*a", b"!!x ", b"<<: ", b"\t", b"\r", b"\x00", b"\xff", b"\xe2\x80\xa8", b"\xef\xbb\xbf"),
    *(b"{A}", b"{RAW:A}", b"$(", b"`", b"<<'E'", b"steps:", b"bash: ", b"null", b"1e999", b"~"),
)


def mutated(data: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(data) + 1)
        end = at + chance.choice((0, 0, 1, 3, 20))
        piece = chance.choice((chance.choice(PIECES), data[at : at + 30], chance.randbytes(2)))
        data = data[:at] + piece + data[end:]
    return data


def test_mutated_definitions_never_break_the_reader(
    record_property: Callable[[str, object], None],
) -> None:
    chance = random.Random(20261115)
    sources = [path.read_bytes() for path in sorted(EXAMPLES.glob("*.yaml"))]
    assert sources
    refused = 0

    for number in range(MUTANTS):
        text = mutated(chance.choice(sources), chance)
        name = f"mutant-{number}.yaml"
        try:
            document = parse(text, name)
            check_document(document, "config")
            load(document, Origin(), Host())
        except DefinitionInvalid as invalid:
            refused += 1
            unexplained = [p for p in invalid.problems if p.file != name or not p.message]
        else:
            unexplained = []
        assert unexplained == [], text

    assert 0 < refused < MUTANTS
    record_property("mutants", MUTANTS)
    record_property("refused", refused)
