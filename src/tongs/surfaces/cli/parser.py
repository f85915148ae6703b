"""Options that several commands share, and a parser whose errors a person can act on."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

import argparse
from collections.abc import Sequence

from tongs.core.annotations import NoReturn

LOG_LEVELS = ("error", "warning", "info", "debug")
COLORS = ("auto", "always", "never")
SCOPES = ("local", "user", "global", "any")


class UsageError(Exception):
    """The command line cannot be understood; `hint` says what to type instead."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


# argparse looks up a translation for every title it never prints here: a tenth of a bare start.
setattr(argparse, "_", str)  # noqa: B010 - the name is private, so type checkers do not know it


class _Formatter(argparse.HelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=80)


class Parser(argparse.ArgumentParser):
    """argparse without its own help and exits: a mistake is a `UsageError`."""

    def __init__(self, words: Sequence[str]) -> None:
        super().__init__(
            prog=" ".join(("tongs", *words)),
            # argparse would look at the terminal (and load shutil) for help that it never prints.
            usage="",
            formatter_class=_Formatter,
            add_help=False,
            allow_abbrev=False,
        )
        self.words = tuple(words)
        self.takes_command = False

    def take_command(self) -> None:
        """What stands after the first `--` is a command of its own, kept whole as `command`."""
        self.takes_command = True

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Options and plain words may come in any order."""
        own, command = list(arguments), None
        if self.takes_command and "--" in own:
            # argparse would take a further `--` out of it.
            own, command = own[: own.index("--")], own[own.index("--") + 1 :]
        options, unknown = self.parse_known_intermixed_args(own)
        if unknown and self.takes_command and not unknown[0].startswith("-"):
            raise UsageError(
                f"{self._name}: the command `{unknown[0]}` needs `--` before it",
                f"tongs {self._name} -- {' '.join(unknown)}",
            )
        if unknown:
            raise self._unknown(unknown[0])
        if self.takes_command:
            options.command = command
        return options

    def error(self, message: str) -> NoReturn:
        required = "the following arguments are required: "
        if message.startswith(required):
            message = f"{message.removeprefix(required)} is missing"
        raise UsageError(f"{self._name}: {message}", self._page())

    def option_names(self) -> list[str]:
        return list(self._option_string_actions)

    def action_of(self, option: str) -> argparse.Action | None:
        return self._option_string_actions.get(option)

    def _unknown(self, word: str) -> UsageError:
        kind = "option" if word.startswith("-") else "argument"
        message = f"{self._name}: unknown {kind} `{word}`"
        if kind == "argument":
            return UsageError(message, self._page())
        from tongs.schema.nearest import nearest

        close = nearest(word.partition("=")[0], self.option_names())
        return UsageError(message, f"did you mean `{close[0]}`?" if close else self._page())

    @property
    def _name(self) -> str:
        return " ".join(self.words) or "tongs"

    def _page(self) -> str:
        return f"tongs help {' '.join(self.words)}".rstrip()


def add_global_options(parser: Parser) -> None:
    """What every command understands, before and after its words."""
    parser.add_argument("--auto-approve", action="append", default=[], metavar="WHAT")
    parser.add_argument("--auto-deny", action="append", default=[], metavar="WHAT")
    parser.add_argument("--load-tool", action="append", default=[], metavar="FILE")
    parser.add_argument("--no-cache", action="store_true")
    parser.add_argument("--load-tools", action="append", default=[], metavar="DIR")
    parser.add_argument("--profile", metavar="NAME")
    parser.add_argument("--color", choices=COLORS, default="auto")
    parser.add_argument("-v", "--verbose", action="count", default=0)
    parser.add_argument("--log-level", choices=LOG_LEVELS, default="warning")
    # Answered before any parser is built; here so that completion and the help test know them.
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("-V", "--version", action="store_true")


def add_scope_options(parser: Parser, default: str, scopes: Sequence[str] = SCOPES) -> None:
    """`--scope user` and `--user` / `-u` mean the same; the last one given counts."""
    parser.add_argument("--scope", choices=scopes, default=default)
    for scope in scopes:
        parser.add_argument(
            f"--{scope}", f"-{scope[0]}", dest="scope", action="store_const", const=scope
        )
