"""What Tab offers."""

from pathlib import Path

import pytest

from tongs.core.tool import Tool
from tongs.surfaces.chat.completing import Known, offered, quoted, takes_path

COPY = Tool(
    "copy",
    input_schema={
        "type": "object",
        "properties": {
            "source_path": {"type": "string", "description": "what\nto copy"},
            "mode": {"enum": ["fast", "safe", "very safe"]},
            "force": {"type": "boolean"},
            "note": {"type": "string"},
        },
        "required": ["source_path"],
    },
)


@pytest.fixture
def known(tmp_path: Path) -> Known:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "one.md").touch()
    (tmp_path / "data.txt").touch()
    (tmp_path / "two words").touch()
    (tmp_path / ".hidden").touch()
    tools = [("copy", "copies"), ("count", ""), ("help", "a tool of this name")]
    return Known(
        commands={"help": "about", "model": "which", "save": "write"},
        tools=lambda: tools,
        tool=lambda name: COPY if name == "copy" else None,
        values=lambda command: ["small", "large"] if command == "model" else [],
        folder=str(tmp_path),
    )


def texts(line: str, known: Known) -> list[str]:
    return [line[: len(line) - each.replaces] + each.text for each in offered(line, known)]


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("/", ["/help", "/model", "/save", "/copy", "/count"]),
        ("/co", ["/copy", "/count"]),
        ("/x", []),
        ("hello /co", []),
        ("//co", []),
        ("/etc/x y", []),
        ("/unknown a", []),
        ("/model ", ["/model small", "/model large"]),
        ("/model s", ["/model small"]),
        ("/model small ", []),
        ("/save d", ["/save data.txt", "/save docs/"]),
        (
            "/copy x ",
            [
                *("/copy x fast", "/copy x safe", '/copy x "very safe"'),
                *("/copy x mode=", "/copy x force=", "/copy x note="),
            ],
        ),
        ("/copy ", [f"/copy {name}=" for name in ("source_path", "mode", "force", "note")]),
        ("/copy m", ["/copy mode="]),
        ("/copy mode=", ["/copy mode=fast", "/copy mode=safe", '/copy mode="very safe"']),
        ("/copy mode=s", ["/copy mode=safe"]),
        ("/copy force=", ["/copy force=true", "/copy force=false"]),
        ("/copy note=", []),
        ("/copy source_path=docs/", ["/copy source_path=docs/one.md"]),
        ("/copy source_path=d", ["/copy source_path=data.txt", "/copy source_path=docs/"]),
        ("/copy source_path=.h", ["/copy source_path=.hidden"]),
        ("/copy source_path=none/", []),
        ("/copy d", ["/copy data.txt", "/copy docs/"]),
        ("/copy data.txt f", ["/copy data.txt fast", "/copy data.txt force="]),
        ("/copy mode=fast s", ["/copy mode=fast source_path="]),
        ("/copy mode=fast t", ['/copy mode=fast "two words"']),
        ("/copy a\nb", []),
        ("/copy 'a b' m", ["/copy 'a b' mode="]),
        ('/copy mode="very', ['/copy mode="very safe"']),
        ('/copy "two w', ['/copy "two words"']),
    ],
)
def test_tab_completes(line: str, lines: list[str], known: Known) -> None:
    assert texts(line, known) == lines


def test_a_parameter_is_offered_with_its_description_on_one_line(known: Known) -> None:
    assert offered("/copy so", known)[0].note == "what to copy"


@pytest.mark.parametrize(
    ("name", "schema", "is_path"),
    [
        ("path", {"type": "string"}, True),
        ("OUTPUT_FILE", {}, True),
        ("base-dir", {}, True),
        ("x", {"type": "string", "format": "path"}, True),
        ("profile", {"type": "string"}, False),
        ("path", {"type": "integer"}, False),
        ("path", True, False),
    ],
)
def test_a_path_is_known_by_its_schema_or_name(name: str, schema: object, is_path: bool) -> None:
    assert takes_path(name, schema) is is_path


def test_what_is_offered_is_one_word_again() -> None:
    from tongs.surfaces.chat.slash import split_words

    for value in ("plain", "two words", 'a "b"', "back\\slash", "it's", ""):
        assert split_words(quoted(value)) == [value]
