"""The way in: find the command, parse its options, run it, and turn whatever happened into an
exit code. Nobody ever sees a traceback here; it stands in the log."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

from collections.abc import Sequence

from tongs.core.annotations import Any
from tongs.surfaces.cli import commands
from tongs.surfaces.cli.console import Console, OutputLost, abandon_streams, prepare_streams


def main(arguments: Sequence[str]) -> int:
    """Run one command line; the exit code of DESIGN.md."""
    try:
        prepare_streams()
        code = _run(arguments)
        Console().flush()
    except KeyboardInterrupt:
        code = 130
    except OutputLost as lost:
        code = _lost(lost.reason)
    except Exception as error:  # noqa: BLE001 - the edge of the process: a person gets a sentence and an id
        code = _unexpected(error)
    abandon_streams()
    return code


def _run(arguments: Sequence[str]) -> int:
    words, rest = commands.split(arguments)
    if not words and ("--version" in rest or "-V" in rest):
        from tongs._version import __version__

        Console().data(f"tongs {__version__}\n")
        return 0
    if words not in commands.COMMANDS or _asks_for_help(rest):
        return _without_command(words, rest)
    return _command(words, rest)


def _command(words: tuple[str, ...], rest: list[str]) -> int:
    from tongs.surfaces.cli.invocation import Invocation
    from tongs.surfaces.cli.parser import UsageError

    module = _module(words)
    try:
        invocation = Invocation(words, parser_for(words, module).parse(rest))
    except UsageError as error:
        return _usage(error.message, error.hint)
    try:
        return _guarded(module, invocation)
    except UsageError as error:
        return _usage(error.message, error.hint)
    finally:
        invocation.close()


def _guarded(module: Any, invocation: Any) -> int:
    """Run the command; what is wrong with a tool or a file is said in full."""
    from tongs.core.errors import DefinitionInvalid, ToolError
    from tongs.surfaces.cli import failure

    try:
        if invocation.words in commands.AUTHORITY:
            _require_a_person(invocation.words)
        code: int = module.run(invocation)
    except ToolError as error:
        failure.show(invocation.console, error)
        return failure.exit_code(error)
    except DefinitionInvalid as invalid:
        failure.show_invalid(invocation.console, invalid)
        return failure.USAGE
    return code


def _require_a_person(words: tuple[str, ...]) -> None:
    """At the one door of all commands, so that none of them can forget it."""
    from tongs.runtime.definitions import refuse_inside_a_call

    refuse_inside_a_call(f"use `tongs {' '.join(words)}`")


def parser_for(words: tuple[str, ...], module: Any = None) -> Any:
    """The parser of one command: the global options and its own."""
    from tongs.surfaces.cli.parser import Parser, add_global_options

    if module is None:
        module = _module(words)
    parser = Parser(words)
    add_global_options(parser)
    module.options(parser)
    return parser


def _module(words: tuple[str, ...]) -> Any:
    # `importlib.import_module` would do the same and costs an import of its own.
    return __import__(f"tongs.surfaces.cli.{commands.COMMANDS[words]}", fromlist=["run"])


def _asks_for_help(rest: Sequence[str]) -> bool:
    options = rest[: rest.index("--")] if "--" in rest else rest
    return "--help" in options or "-h" in options


def _without_command(words: tuple[str, ...], rest: Sequence[str]) -> int:
    from tongs.schema.nearest import nearest
    from tongs.surfaces.cli.pages import page

    text = page(words)
    if not words and not _asks_for_help(rest) and (error := _mistake(rest)):
        return _usage(error.message, error.hint)
    if text is not None:
        Console().data(text)
        return 0
    known = [word for word in words[:1] if word in commands.choices(())]
    unknown, before = words[len(known)], words[: len(known)]
    close = nearest(unknown, commands.choices(before))
    there = " ".join(("tongs", *before))
    return _usage(
        f"there is no command `{there} {unknown}`",
        f"did you mean `{there} {close[0]}`?" if close else " ".join(("tongs help", *before)),
    )


def _mistake(rest: Sequence[str]) -> Any:
    """What is wrong with options that no command follows."""
    from tongs.surfaces.cli.parser import Parser, UsageError, add_global_options

    parser = Parser(())
    add_global_options(parser)
    try:
        parser.parse(rest)
    except UsageError as error:
        return error
    return None


def _lost(reason: str) -> int:
    """Quiet where the reader has gone (as a shell reports SIGPIPE), else an error."""
    if not reason:
        return 141
    try:
        return _usage(f"the output cannot be written: {reason}", "", code=1)
    except OutputLost:
        return 1


def _usage(message: str, hint: str, code: int = 2) -> int:
    console = Console()
    console.label("error", message, "red")
    if hint:
        console.hint(hint)
    return code


def _unexpected(error: Exception) -> int:
    """Say it in one sentence, and keep the traceback in the log under an id."""
    console = Console()
    try:
        log = _log()
        mark = log.traceback(error)
    except Exception:  # noqa: BLE001 - whatever broke the command may break this too
        console.label("error", f"INTERNAL_ERROR: {type(error).__name__}: {error}", "red")
        return 4
    console.label("error", f"INTERNAL_ERROR: something in tongs went wrong, id {mark}", "red")
    console.hint(f"please report it with the lines of {log.path} that start at id={mark}")
    return 4


def _log() -> Any:
    from tongs.config.places import state_folder
    from tongs.store.log import Log

    return Log(state_folder())
