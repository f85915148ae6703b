"""Conversations as documents."""

import json

from tongs.core.conversation import (
    CallAnswered,
    CallMade,
    Conversation,
    ModelSaid,
    ToolsAnswered,
    UserSaid,
)
from tongs.surfaces.chat.exporting import as_json, as_markdown, exported, fenced, format_of

SAID = Conversation(
    "c1",
    "the\ntitle",
    "2026-01-02T03:04:05+00:00",
    "/project",
    "small",
    (
        UserSaid("how \x1b[31mmany?"),
        ModelSaid("Let me look.", (CallMade("1", "count", {"x": "é"}),), model="small"),
        ToolsAnswered((CallAnswered("1", "count", "a ``` b", ok=True),)),
        ModelSaid("", (CallMade("2", "count", None, "{x", "no JSON"),)),
        ToolsAnswered((CallAnswered("2", "count", "error: no", ok=False),)),
        ModelSaid("Three.", model="small"),
    ),
)

MARKDOWN = """\
# the title

2026-01-02T03:04:05+00:00 · small · /project · conversation c1

## You

how \\x1b[31mmany?

## small

Let me look.

**Call of `count`**

```json
{
  "x": "é"
}
```

**Result of `count`**

````
a ``` b
````

## Model

**Call of `count`** (no JSON)

```
{x
```

**No result of `count`**

```
error: no
```

## small

Three.
"""


def test_markdown_shows_everything_and_no_escape_sequence() -> None:
    assert as_markdown(SAID) == MARKDOWN


def test_json_is_read_back_as_it_was() -> None:
    assert Conversation.from_data(json.loads(as_json(SAID))) == SAID


def test_half_a_character_does_not_stop_an_export() -> None:
    said = Conversation("c", "", "", "", "", (UserSaid("\ud800"),))
    assert Conversation.from_data(json.loads(as_json(said).encode())) == said
    as_markdown(said).encode()


def test_the_name_of_a_file_says_the_format() -> None:
    assert (format_of("a.JSON"), format_of("a.md"), format_of("a")) == ("json", *["markdown"] * 2)
    assert exported(SAID, "json") == as_json(SAID)
    assert exported(SAID, "markdown") == as_markdown(SAID)


def test_a_block_is_longer_fenced_than_anything_in_it() -> None:
    assert fenced("````", "x") == "`````x\n````\n`````"
