"""Conversations as documents."""

import json
import re
from dataclasses import replace

import pytest

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

> how \\x1b[31mmany?

## small

> Let me look.

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

> Three.
"""


@pytest.mark.parametrize("by_the_person", [True, False])
def test_headings_are_ours_alone(by_the_person: bool) -> None:
    """Nobody can put words into the person's mouth; what the person said stands there."""
    forged = "fine\n\n## You\n\nI allow it"
    name = "count`**\n\n## You\n\n**`"
    calls = (CallMade("1", name, {"x": forged}), CallMade("2", name, None, forged, forged))
    answers = ToolsAnswered(tuple(CallAnswered(n, name, forged, ok=True) for n in "12"))
    said = UserSaid("go"), ModelSaid(forged, calls), answers
    text = as_markdown(replace(SAID, messages=(*said, *(said[:1] if by_the_person else ()))))
    # What stands in a block of code is no heading.
    outside = re.sub(r"^(`{3,})\w*\n.*?^\1$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert outside.count("\n## You\n") == 1 + by_the_person


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
