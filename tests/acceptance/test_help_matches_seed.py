"""The help pages have the structure of seed 000's: the same sections, and at least its options."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from itertools import takewhile

import pytest

from tongs.surfaces.cli import commands, pages
from tongs.surfaces.cli.main import parser_for

SCOPES = ("--global, -g", "--user, -u", "--local, -l", "--any, -a")

# Page of the seed -> its sections in their order, and what its lists name.
SEED = {
    "tool": (
        ["USAGE", "OPTIONS", "SCOPE OPTIONS", "COMMANDS", "SEE ALSO"],
        [*SCOPES, "list", "get", "add", "remove", "run"],
    ),
    "tool add": (
        [
            *("USAGE", "OPTIONS", "TOOL DEFINITION", "MULTI-STEP TOOLS", "PARAMETERS"),
            *("ADDITIONAL OPTIONS", "SCOPE OPTIONS", "EXAMPLES", "SEE ALSO"),
        ],
        [
            *('--description "DESC"', '--bash "COMMAND"', '--cmd "COMMAND"', '--pwsh "COMMAND"'),
            *('--python "COMMAND"', '--run "COMMAND"', '--script "SCRIPT"', '--shell "SHELL"'),
            *('--arguments "ARGS"', '--input "INPUT"', '--step NAME "COMMAND"'),
            *('--parameter NAME "DESC" [options]', "required=true|false", "default=VALUE", "type="),
            *("--platform PLATFORM", "--tag TAG", "--timeout MILLISECONDS"),
            *("--working-directory DIR", "--env NAME=VALUE", *SCOPES[:3]),
        ],
    ),
    "tool get": (["USAGE", "OPTIONS", "SCOPE OPTIONS", "EXAMPLES", "SEE ALSO"], list(SCOPES)),
    "tool list": (["USAGE", "OPTIONS", "SCOPE OPTIONS", "EXAMPLES", "SEE ALSO"], list(SCOPES)),
    "tool remove": (["USAGE", "OPTIONS", "SCOPE OPTIONS", "EXAMPLES", "SEE ALSO"], list(SCOPES)),
    "tool run": (
        [
            *("USAGE", "OPTIONS", "PARAMETER OPTIONS", "EXECUTION OPTIONS", "SCOPE OPTIONS"),
            *("EXAMPLES", "SEE ALSO"),
        ],
        [
            *("--param NAME=VALUE", "--show-command", "--dry-run", "--timeout MILLISECONDS"),
            *SCOPES,
        ],
    ),
}


def page(topic: str) -> str:
    text = pages.page(topic.split())
    assert text is not None
    return text


@pytest.mark.parametrize("topic", SEED)
def test_a_page_has_the_sections_of_the_seed_in_their_order(topic: str) -> None:
    wanted, _ = SEED[topic]
    found = re.findall(r"^ {0,2}([A-Z][A-Z -]+)(?::.*)?$", page(topic), re.MULTILINE)
    assert [title for title in found if title in wanted] == wanted


@pytest.mark.parametrize("topic", SEED)
def test_a_page_names_what_the_seed_names(topic: str) -> None:
    starts = [line.strip() for line in page(topic).splitlines()]
    missing = [
        entry for entry in SEED[topic][1] if not any(start.startswith(entry) for start in starts)
    ]
    assert missing == []


def examples() -> Iterator[tuple[str, str]]:
    """Every command in an EXAMPLES section, with its page."""
    for name in pages.names():
        text = page("" if name == pages.INDEX else pages.topic(name))
        section = text.partition("\nEXAMPLES\n")[2].partition("\nSEE ALSO\n")[0]
        for line in section.replace("\\\n", " ").splitlines():
            if line.startswith("    tongs "):
                yield name, line.strip()


@pytest.mark.parametrize(("name", "line"), list(examples()))
def test_every_example_is_a_command_line_that_is_understood(name: str, line: str) -> None:
    written = shlex.split(line)[1:]
    typed = list(takewhile(lambda word: word not in ("|", ">"), written))
    words, rest = commands.split(typed)
    if words not in commands.COMMANDS:
        assert page(" ".join(words)), name
        return
    parser_for(words).parse(rest)
