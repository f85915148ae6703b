"""`tongs help`: pages, and finding words in them."""

from __future__ import annotations

from tongs.schema.nearest import nearest
from tongs.surfaces.cli import pages
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser, UsageError


def options(parser: Parser) -> None:
    parser.add_argument("topic", nargs="*", default=[], metavar="TOPIC")
    parser.add_argument("--expand", action="store_true")


def run(invocation: Invocation) -> int:
    words = invocation.options.topic
    if words[:1] == ["find"]:
        return _find(invocation, " ".join(words[1:]))
    if invocation.options.expand:
        raise UsageError("help: --expand needs `find`", "tongs help find WORD --expand")
    text = pages.page(words)
    if text is None:
        raise _no_page(words)
    invocation.console.data(text)
    return 0


def _find(invocation: Invocation, wanted: str) -> int:
    if not wanted:
        raise UsageError("help find: WORD is missing", "tongs help find WORD")
    found = False
    for name in pages.names():
        text = pages.page(name.split("-") if name != pages.INDEX else ()) or ""
        lines = [line.strip() for line in text.splitlines() if wanted.lower() in line.lower()]
        if not lines:
            continue
        invocation.console.data("\n" if found else "")
        found = True
        if invocation.options.expand:
            invocation.console.data(text)
            continue
        invocation.console.data(f"tongs help {pages.topic(name)}".rstrip() + "\n")
        invocation.console.data("".join(f"  {line}\n" for line in lines))
    if not found:
        invocation.console.say(f"no help page has `{wanted}` in it")
        invocation.console.hint("tongs help")
        return 1
    return 0


def _no_page(words: list[str]) -> UsageError:
    asked = " ".join(words)
    close = nearest(asked, [pages.topic(name) for name in pages.names() if name != pages.INDEX])
    hint = f"did you mean `tongs help {close[0]}`?" if close else f"tongs help find {words[-1]}"
    return UsageError(f"there is no help on `{asked}`", hint)
