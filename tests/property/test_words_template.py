"""`run:` through a real process: every value arrives as the bytes it was."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from tongs.template import words
from tongs.template.values import Slot, TemplateError

SLOTS = {"A": Slot("A"), "L": Slot("L", "array")}
BLNS: list[str] = json.loads((Path(__file__).parents[1] / "data/blns.json").read_text("utf-8"))
HOSTILE = [
    "$(touch x)",
    "`x`",
    "; x",
    "a b",
    "'",
    '"',
    "\\",
    "~",
    "*",
    "-rf",
    "{A}",
    "\n",
    "\udcff",
]
TEMPLATE = """program {A} --x={A} "q {A}" 'q {A}' {L} "{L}" $HOME ~ *"""

# Answers with its arguments as the operating system gave them.
ECHO = "import json, os, sys; print(json.dumps([os.fsencode(a).hex() for a in sys.argv[1:]]))"


def arrived(arguments: list[str]) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-I", "-c", ECHO, *arguments], capture_output=True, check=True
    )
    return [os.fsdecode(bytes.fromhex(text)) for text in json.loads(done.stdout)]


def test_hostile_values_arrive_exactly_through_a_real_process() -> None:
    template = words.compile(TEMPLATE, SLOTS)
    values = [value for value in HOSTILE + BLNS if "\0" not in value]
    # Many values per process: starting 500 processes proves nothing more.
    for start in range(0, len(values), 50):
        sent: list[str] = []
        expected: list[str] = []
        for value in values[start : start + 50]:
            sent += template.render({"A": value, "L": [value, "x"]})
            expected += ["program", value, f"--x={value}", f"q {value}", f"q {value}"]
            expected += [value, "x", f"{value} x", "$HOME", "~", "*"]
        assert arrived(sent) == expected


TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@given(text=st.text(st.sampled_from("ab'\"\\ \t\n{}$")))
@example(text="a\\\nb")
def test_the_split_is_that_of_a_posix_shell(text: str) -> None:
    try:
        expected = shlex.split(text)
    except ValueError:
        expected = None
    try:
        result: list[str] | None = words.split(text)
    except TemplateError:
        result = None

    assert result == expected


@given(value=TEXTS, elements=st.lists(TEXTS))
def test_a_value_stays_inside_its_word(value: str, elements: list[str]) -> None:
    rendered = words.compile("p x{A} {L} '{A}'", SLOTS).render({"A": value, "L": elements})

    assert rendered == ["p", "x" + value, *elements, value]


@given(st.dictionaries(TEXTS, TEXTS | st.booleans() | st.none() | st.lists(TEXTS)))
def test_arguments_never_fail_and_keep_every_value(arguments: dict[str, object]) -> None:
    result = words.arguments_words(arguments)

    for value in arguments.values():
        texts = value if isinstance(value, list) else [value]
        assert all(text in result for text in texts if isinstance(text, str))
