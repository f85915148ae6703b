"""`tongs __complete`: what can stand at the cursor. Called by the completion scripts.

    __complete bash LINE WORDBREAKS       the line up to the cursor, as typed
    __complete zsh|fish -- WORD … WORD    the words after `tongs`, the last one being typed

The first line of the answer is `words`, `files` or `folders`; the others are `VALUE<TAB>TEXT` (for
bash `VALUE`).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence

from tongs.core.annotations import TYPE_CHECKING
from tongs.surfaces.cli import commands, pages
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.main import parser_for
from tongs.surfaces.cli.parser import Parser, add_global_options

if TYPE_CHECKING:
    from tongs.registry import Entry

_FILES = frozenset(("--load-tool", "--openapi", "--read", "--write"))
_FOLDERS = frozenset(("--load-tools", "--root", "--working-directory", "--scratch"))

Answer = tuple[str, str]


def options(parser: Parser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))
    parser.add_argument("words", nargs="*", default=[])
    parser.take_command()  # the words of others may hold a `--` of their own


def run(invocation: Invocation) -> int:
    shell = invocation.options.shell
    words = invocation.options.command or invocation.options.words
    breaks = ""
    if shell == "bash":
        line, breaks = (*words, "", "")[:2]
        words = typed_words(line)[1:]
    kind, answers = Completion(invocation, words or [""]).answers()
    current = words[-1] if words else ""
    fitting = [answer for answer in answers if answer[0].startswith(current)]
    lines = [kind]
    for value, text in fitting:
        if shell == "bash":
            lines.append(value[_break(current, breaks) :])
        else:
            lines.append(f"{value}\t{' '.join(text.split())}")
    invocation.console.data("".join(f"{line}\n" for line in lines))
    return 0


class Completion:
    """The words so far, read the way the command line itself would read them."""

    def __init__(self, invocation: Invocation, words: Sequence[str]) -> None:
        self._invocation = invocation
        *self._before, self._current = words
        self._command, self._rest = commands.split(self._before)

    def answers(self) -> tuple[str, Iterable[Answer]]:
        """Which kind of thing fits, and the values known to fit."""
        if self._command not in commands.COMMANDS:
            return self._without_command()
        parser: Parser = parser_for(self._command)
        if parser.takes_command and "--" in self._rest:
            return "files", ()
        option = self._before[-1] if self._before else ""
        action = parser.action_of(option)
        if action is not None and action.nargs != 0 and not self._current.startswith("-"):
            return self._value_of(option, action)
        if self._current.startswith("-"):
            return "words", [(name, "") for name in sorted(parser.option_names())]
        return self._plain_word()

    def _without_command(self) -> tuple[str, Iterable[Answer]]:
        option = self._before[-1] if self._before else ""
        if option in commands.VALUE_OPTIONS or self._current.startswith("-"):
            parser = Parser(())
            add_global_options(parser)
            action = parser.action_of(option)
            if action is not None and action.nargs != 0:
                return self._value_of(option, action)
            return "words", [(name, "") for name in sorted(parser.option_names())]
        return "words", [
            (word, commands.SUMMARIES.get((*self._command, word), ""))
            for word in commands.choices(self._command)
        ]

    def _value_of(self, option: str, action: argparse.Action) -> tuple[str, Iterable[Answer]]:
        if option in _FILES:
            return "files", ()
        if option in _FOLDERS:
            return "folders", ()
        if action.choices is not None:
            return "words", [(str(choice), "") for choice in action.choices]
        if option == "--param":
            return "words", self._parameters()
        if option in ("--auto-approve", "--auto-deny"):
            levels = [(f"tool:{level}", "") for level in ("read", "write", "run")]
            return "words", [*levels, *self._tools()]
        if option == "--profile":
            return "words", self._profiles()
        if option == "--client":
            return "words", _clients()
        return "words", ()

    def _plain_word(self) -> tuple[str, Iterable[Answer]]:
        plain = [word for word in self._rest if not word.startswith("-")]
        match self._command:
            case ("tool", "run") if plain:
                return "words", self._parameters()
            case ("tool", "get" | "remove" | "run" | "validate") | ("sandbox", "explain") if (
                not plain
            ):
                return "words", self._tools()
            case ("trust",) | ("tool", "test"):
                return "words", self._tools()
            case ("schema",) if not plain:
                from tongs.surfaces.cli.schema import SCHEMAS  # noqa: PLC0415 - schema only

                return "words", [(name, text) for name, (_, text) in SCHEMAS.items()]
            case ("lint",) | ("mcp", "import"):
                return "files", ()
            case ("mcp", word) if not plain:
                return "words", _clients() if word == "install" else self._servers(word)
            case ("config", "get" | "set") if not plain:
                return "words", _setting_keys()
            case ("completion",) if not plain:
                return "words", [("bash", ""), ("zsh", ""), ("fish", "")]
            case ("help",):
                return "words", self._topics(plain)
        return "words", ()

    def _profiles(self) -> Iterator[Answer]:
        from tongs.runtime.configuring import Configuring  # noqa: PLC0415 - only for this answer

        for name in Configuring.here().profiles():
            yield name, ""

    def _servers(self, word: str) -> Iterator[Answer]:
        if word not in ("inspect", "pin", "remove"):
            return
        from tongs.runtime.server_desk import ServerDesk  # noqa: PLC0415 - only for this answer

        for known in ServerDesk(self._invocation.runtime).known():
            yield known.spec.name, known.state

    def _entries(self) -> list[Entry]:
        return self._invocation.runtime.entries()

    def _tools(self) -> Iterator[Answer]:
        for entry in self._entries():
            if not entry.shadowed:
                yield entry.name, entry.description

    def _parameters(self) -> Iterator[Answer]:
        """`NAME=` of the tool that is being run, wherever its name stands."""
        for entry in self._entries():
            if entry.name in self._rest and not entry.shadowed:
                for name in entry.parameters:
                    yield f"{name}=", ""

    def _topics(self, plain: Sequence[str]) -> Iterator[Answer]:
        known = [pages.topic(name).split() for name in pages.names()]
        size = len(plain)
        following = {
            words[size]: None
            for words in [*known, ["find"]]
            if len(words) > size and words[:size] == list(plain)
        }
        for word in following:
            yield word, ""


def _clients() -> Iterator[Answer]:
    from tongs.authoring.mcp_clients import CLIENTS  # noqa: PLC0415 - only for this answer

    for client in CLIENTS.values():
        yield client.name, client.label


def _setting_keys() -> Iterator[Answer]:
    """The keys that every config may have, as far as their names are fixed."""
    from tongs.schema.files import load  # noqa: PLC0415 - only for this answer

    schema = load("config")
    for name, entry in schema["properties"].items():
        inner = entry if "$ref" not in entry else schema["$defs"][name]
        for key, held in (inner.get("properties") or {}).items():
            yield f"{name}.{key}", held.get("description", "")
        if not inner.get("properties"):
            yield name, inner.get("description", "")


def typed_words(line: str) -> list[str]:
    """The words of an unfinished shell line, the last one being typed (maybe empty)."""
    words: list[str] = []
    word, quote, escaped, open_word = "", "", False, False
    for character in line:
        if escaped:
            word, escaped = word + character, False
        elif character == "\\" and quote != "'":
            escaped = open_word = True
        elif quote:
            quote = "" if character == quote else quote
            word += character if quote else ""
        elif character in "'\"":
            quote, open_word = character, True
        elif character.isspace():
            if open_word:
                words.append(word)
            word, open_word = "", False
        else:
            word, open_word = word + character, True
    return [*words, word]


def _break(current: str, breaks: str) -> int:
    """Where bash thinks the current word begins: after the last of its break characters."""
    return max((current.rfind(mark) + 1 for mark in breaks if mark in "=:"), default=0)
