"""Values inside addresses, which need percent-encoding there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tongs.authoring.lint.commands import command_lines
from tongs.authoring.lint.options import refuses
from tongs.authoring.lint.view import Definition, Passage
from tongs.core.errors import Problem
from tongs.template.placeholder import Mode, Placeholder, find

# From the scheme past the host: values in front of the first `/` or `?` choose the host itself.
_ADDRESS = re.compile(r"""\b(?:https?|ftp|wss?)://[^\s"'`<>/?#]+([/?#][^\s"'`<>]*)""")
# `curl wttr.in/…` needs no scheme.
_FETCHERS = frozenset("curl wget http https xh lynx w3m aria2c".split())
_HOST = re.compile(r"(?:localhost|[\w-]+(?:\.[\w-]+)+)(?::\d+)?[/?#]")

_NEED_ENCODING = (" ", "a b", "/", "a/b", "?", "a?b", "&", "a&b", "#", "a#b", "%", "a%b", "é")


def urls_without_encoding(definition: Definition) -> Iterator[Problem]:
    """One finding for each address."""
    for passage in definition.passages:
        items = [i for i in find(passage.text, passage.slots) if isinstance(i, Placeholder)]
        for start, end in _addresses(passage):
            exposed = [
                item
                for item in items
                if start < item.start < end and _needs_encoding(item, definition)
            ]
            if exposed:
                yield _problem(definition, passage, exposed)


def _problem(definition: Definition, passage: Passage, exposed: list[Placeholder]) -> Problem:
    names = list(dict.fromkeys(item.slot.name for item in exposed))
    return definition.finding(
        "url-without-encoding",
        passage.path,
        f"{', '.join(names)} {'goes' if len(names) == 1 else 'go'} into an address as written",
        fix="write " + ", ".join(f"{{URL:{name}}}" for name in names),
        offset=exposed[0].start,
    )


def _addresses(passage: Passage) -> Iterator[tuple[int, int]]:
    """Where an address's path and query stand, whichever language is around it."""
    for match in _ADDRESS.finditer(passage.text):
        yield match.span(1)
    for line in command_lines(passage):
        if line.program not in _FETCHERS:
            continue
        for word in line.words[1:]:
            host = _HOST.match(word.text)
            if host is not None and (start := passage.text.find(word.text)) >= 0:
                yield start, start + len(word.text)


def _needs_encoding(item: Placeholder, definition: Definition) -> bool:
    slot = item.slot
    if item.mode is not Mode.SAFE or slot.harmless or slot.type != "string":
        return False
    return not refuses(definition.declared(slot.name).get("pattern"), _NEED_ENCODING)
