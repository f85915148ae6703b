"""Whether a command runs text that its definition does not hold: `python3 x.py`, `make`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from shlex import quote

from tongs.template.shell_cursor import Word
from tongs.template.shell_flow import ASSIGNMENT, plain
from tongs.template.shell_interpreters import (
    FIND_ACTIONS,
    FINDERS,
    PROGRAMS,
    RUNNERS,
    WRAPPERS,
    Interpreter,
    Wrapper,
)
from tongs.template.shell_options import divide

_VERSION = re.compile(r"\d[\d.]*$")
_STDIN = re.compile(r"-|/dev/stdin|(?:/dev|/proc/self)/fd/\d+")
_TELL = frozenset({"--version", "--help", "-V"})

# Programs that do what files of the project, or of the network, tell them, whatever their words.
_BY_FILES = frozenset(
    "make gmake bmake ninja samu cmake ctest meson scons bazel bazelisk just task rake mage invoke"
    " fab tox nox pytest npm npx pnpm pnpx yarn bunx deno uv uvx poetry pipx pdm hatch pipenv conda"
    " pip pip3 bundle bundler gem composer cargo go java javac jshell dotnet gradle gradlew mvn ant"
    " sbt lein clojure clj scala kotlin kotlinc swift zig runghc runhaskell ghci stack cabal ocaml"
    " dune erl escript iex mix guile racket sbcl octave raku ts-node tsx terraform ansible"
    " ansible-playbook vagrant docker-compose pre-commit direnv crontab source . vim nvim vi view"
    " ex emacs gdb lldb".split()
)
# Options by which an interpreter loads a file beside the program it is given.
_LOADING = {
    "bash": {"--rcfile", "--init-file"},
    "perl": {"-I"},
    "ruby": {"-I", "-r", "-C"},
    "node": {"-r", "--require", "--import", "--loader", "--experimental-loader", "--env-file"},
    "nodejs": {"-r", "--require", "--import", "--loader", "--experimental-loader", "--env-file"},
    "php": {"-c", "-d", "-S", "-t"},
    "lua": {"-l"},
    "luajit": {"-l"},
}


def runs_a_file(words: Sequence[str], *, stdin: bool) -> str:
    """The program in a command that would run such text; empty for none.

    `stdin` says whether the definition holds what the command reads.
    """
    return _found([Word(quote(word), ()) for word in words], stdin=stdin)


def _found(words: Sequence[Word], *, stdin: bool) -> str:
    if not words:
        return ""
    path = plain(words[0])
    name, arguments = path.rpartition("/")[2], words[1:]
    if "/" in path:
        return path
    if name in _BY_FILES:
        return name
    if (wrapper := WRAPPERS.get(name)) is not None:
        return _wrapped(name, wrapper, arguments, stdin=stdin)
    if name in FINDERS:
        actions = [n for n, word in enumerate(arguments, 1) if plain(word) in FIND_ACTIONS]
        return next(filter(None, (_found(arguments[n:], stdin=stdin) for n in actions)), "")
    if name in RUNNERS:
        names = [plain(word) for word in arguments]
        starts = [n for n, each in enumerate(names) if _interpreter(each) or each in _BY_FILES]
        return _found(arguments[starts[0] :], stdin=stdin) if starts else ""
    interpreter = _interpreter(name)
    if interpreter is None:
        return ""
    return name if _reads_a_file(name, interpreter, arguments, stdin=stdin) else ""


def _interpreter(name: str) -> Interpreter | None:
    """`python3.11` is python."""
    return PROGRAMS.get(name) or PROGRAMS.get(_VERSION.sub("", name))


def _wrapped(name: str, wrapper: Wrapper, arguments: Sequence[Word], *, stdin: bool) -> str:
    given, operands = divide(arguments, wrapper.options)
    operands = operands[wrapper.skip :]
    options = {option for option, _ in given}
    if any(option.strip("-") in wrapper.lookups for option in options if wrapper.lookups):
        return ""
    if options & wrapper.program_options:
        return name
    if operands and plain(operands[0]) in wrapper.program_options:
        return name
    while wrapper.assignments and operands and ASSIGNMENT.match(plain(operands[0])):
        operands = operands[1:]
    # What xargs reads becomes words of the command, and none of its own input.
    return _found(operands, stdin=stdin and name != "xargs")


def _reads_a_file(
    name: str, interpreter: Interpreter, arguments: Sequence[Word], *, stdin: bool
) -> bool:
    given, operands = divide(arguments, interpreter.options)
    options = {option for option, _ in given}
    if options & _LOADING.get(_VERSION.sub("", name), set()):
        return True
    if name == "watch" and options & interpreter.elsewhere:
        return bool(_found(operands, stdin=stdin))
    if options & interpreter.elsewhere:
        return True
    switched = bool(interpreter.switch) and f"-{interpreter.switch}" in options
    if options & interpreter.program_options or switched:
        return False
    if not operands and options & _TELL:
        return False
    if interpreter.operand:
        return interpreter.stdin and not stdin and not operands[interpreter.skip :]
    if not interpreter.stdin:
        return False
    is_file = interpreter.files and operands and not _STDIN.fullmatch(plain(operands[0]))
    # Without a program it reads one, and what the definition does not give is the caller's.
    return bool(is_file and "-s" not in options) or not stdin
