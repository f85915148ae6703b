"""Refuse placeholders that a second interpreter would read as its program.

No quoting helps there: `bash -c "echo {A}"` runs what the value says whatever the shell around it
does (measured: every strategy of quoting executes). The safe form passes the value as an argument,
and every refusal shows it. Numbers, booleans, enums and RAW may stand anywhere.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence, Set

from tongs.core.record import dataclass, replace
from tongs.template.placeholder import Mode, Placeholder
from tongs.template.shell_cursor import Command, Cursor, Quote, Site, Word
from tongs.template.shell_flow import (
    ASSIGNMENT,
    evaluated_sites,
    follow,
    plain,
    program,
    stdin_sites,
)
from tongs.template.shell_interpreters import (
    BUILTINS,
    DECLARATIONS,
    EXPANDED_VARIABLES,
    FIND_ACTIONS,
    FINDERS,
    INTEGER_VARIABLES,
    PROGRAMS,
    RUNNERS,
    WRAPPERS,
    Interpreter,
    Wrapper,
)
from tongs.template.shell_options import (
    ANY_OPTION,
    Given,
    divide,
    many_words,
    source,
    starts_with_value,
)
from tongs.template.values import TemplateError

PROGRAM_RULE = "second-interpreter"
NAME_RULE = "program-name"

_VERSION = re.compile(r"\d[\d.]*$")
_STDIN = re.compile(r"-|/dev/stdin|(?:/dev|/proc/self)/fd/\d+")
_LIST = re.compile(r"([A-Za-z_]\w*)\+?=\(", re.ASCII)

_NUMBER_HINT = (
    "give the parameter the type integer or number, or an enum; "
    "else compare with [ … ] instead of [[ … ]], and count with $(printf %d {NAME})"
)
_WRITE_OUT = "write the words out, each by itself"
_DECLARATION_HINT = (
    "name the variable yourself; for -i use the type integer, for an array write x=({NAME})"
)


@dataclass(frozen=True, slots=True)
class _Danger:
    site: Site
    rule: str
    program: str
    hint: str


@dataclass(frozen=True, slots=True)
class _Names:
    """Variables of the script that make more of an assignment than a plain text."""

    integers: frozenset[str]
    arrays: frozenset[str]


def errors(found: Cursor) -> list[TemplateError]:
    """One error for each placeholder whose value would be run, in the order of the text."""
    errors_at: dict[int, TemplateError] = {}
    for danger in _all_dangers(found):
        item = danger.site.item
        if isinstance(item, Placeholder) and _carries_code(danger.site, item):
            errors_at.setdefault(item.start, _error(danger, item))
    return [errors_at[start] for start in sorted(errors_at)]


def words_errors(words: Sequence[Word], stdin: Sequence[Site] = ()) -> list[TemplateError]:
    """The same for a command line without a shell around it, and what it reads."""
    found = Cursor("", (), "sh")
    found.commands.append(Command(list(words), list(stdin)))
    return errors(found)


def _all_dangers(found: Cursor) -> Iterator[_Danger]:
    flow = follow(found.commands, found.arithmetics)
    names = _Names(
        INTEGER_VARIABLES | _declared(found.commands, "i"), _declared(found.commands, "aA")
    )
    for command in found.commands:
        yield from _dangers(command, names)
    for name, sites in flow.evaluated.items():
        yield from _run(sites, f"arithmetic with ${name}", _NUMBER_HINT)
    for name in flow.carried.keys() & (EXPANDED_VARIABLES | names.integers):
        yield from _assigned(name, flow.carried[name], names)


def _carries_code(site: Site, item: Placeholder) -> bool:
    return site.quote is not Quote.COMMENT and item.mode is not Mode.RAW and not item.slot.harmless


def _error(danger: _Danger, item: Placeholder) -> TemplateError:
    source = "{" + item.slot.name + "}"
    if danger.rule == NAME_RULE:
        message = f"the value of {source} chooses the program to run"
    else:
        message = f"{danger.program} would run code in the value of {source}"
    return TemplateError(
        message, offset=item.start, hint=danger.hint.replace("{NAME}", source), rule=danger.rule
    )


def _dangers(command: Command, names: _Names) -> Iterator[_Danger]:
    words = command.words
    for index, word in enumerate(words):
        assignment = ASSIGNMENT.match(word.text)
        if assignment is None:
            words = words[index:]
            break
        yield from _assigned(assignment[1], word.sites, names)
    else:
        words = []
    yield from _words([] if command.variable else words, stdin_sites(command), names)
    yield from _run(evaluated_sites(command), "arithmetic", _NUMBER_HINT)


def _assigned(name: str, sites: Iterable[Site], names: _Names) -> Iterator[_Danger]:
    if name in EXPANDED_VARIABLES:
        yield from _run(sites, name, "the shell expands this variable again: write it out")
    elif name in names.integers:
        yield from _run(sites, f"declare -i {name}", "give the parameter the type integer")


def _words(words: Sequence[Word], stdin: Sequence[Site], names: _Names) -> Iterator[_Danger]:
    """The dangers of one command without its assignments, seen through wrappers."""
    if not words:
        return
    if words[0].sites:
        hint = "write the program's name yourself, or list the allowed ones with enum"
        yield from (_Danger(site, NAME_RULE, "", hint) for site in words[0].sites)
        return
    name = plain(words[0]).rpartition("/")[2]
    arguments = words[1:]
    if (wrapper := WRAPPERS.get(name)) is not None:
        yield from _wrapped(name, wrapper, arguments, stdin, names)
    elif name in RUNNERS and (started := _from_interpreter(arguments)):
        yield from _words(started, stdin, names)
    elif name in FINDERS:
        yield from _find(arguments, stdin, names)
    elif name in DECLARATIONS:
        yield from _declaration(name, arguments, names)
    elif name in ("test", "["):
        yield from _test(name, arguments)
    elif name in ("source", "."):
        hint = "source a file, and pass the value as an argument"
        yield from _file_operand(name, arguments[:1], stdin, hint)
    elif (interpreter := BUILTINS.get(name) or _program(name)) is not None:
        yield from _interpreted(name, interpreter, arguments, stdin, names)


def _program(name: str) -> Interpreter | None:
    """`python3.11` is python."""
    return PROGRAMS.get(name) or PROGRAMS.get(_VERSION.sub("", name))


def _from_interpreter(words: Sequence[Word]) -> Sequence[Word]:
    """The command that `docker exec BOX …` and its like start, as far as it is an interpreter."""
    for index, word in enumerate(words):
        name = plain(word).rpartition("/")[2]
        if not word.sites and _program(name) is not None:
            return words[index:]
    return ()


def _find(arguments: Sequence[Word], stdin: Sequence[Site], names: _Names) -> Iterator[_Danger]:
    for index, word in enumerate(arguments):
        if word.text in FIND_ACTIONS:
            yield from _words(arguments[index + 1 :], stdin, names)


def _test(name: str, arguments: Sequence[Word]) -> Iterator[_Danger]:
    """`[ -v NAME ]` evaluates the name, and two values side by side can be `-v` and a name."""
    for before, word in itertools.pairwise([Word("[", ()), *arguments]):
        both = starts_with_value(before) and starts_with_value(word)
        if both or plain(before) in ("-v", "-R"):
            yield from _run(word.sites, name, BUILTINS["unset"].hint)
        yield from _run(many_words(word), name, 'write "{NAME}" in quotes, for one word')


def _wrapped(
    name: str,
    wrapper: Wrapper,
    arguments: Sequence[Word],
    stdin: Sequence[Site],
    names: _Names,
) -> Iterator[_Danger]:
    given, operands = divide(arguments, wrapper.options)
    if any(option.strip("-") in wrapper.lookups for option, _ in given if wrapper.lookups):
        return
    for option, values in given:
        if option in wrapper.program_options or option == ANY_OPTION:
            yield from _run(_sites(values), name, _WRITE_OUT)
    operands = operands[wrapper.skip :]
    # `flock FILE -c …`
    if operands and plain(operands[0]) in wrapper.program_options:
        yield from _run(_sites(operands[1:]), name, _WRITE_OUT)
        return
    while wrapper.assignments and operands and (match := ASSIGNMENT.match(plain(operands[0]))):
        yield from _assigned(match[1], operands[0].sites, names)
        operands = operands[1:]
    # Several words where one is expected would reach into the command.
    own = arguments[: len(arguments) - len(operands)]
    yield from _run([s for word in own for s in many_words(word)], name, 'write "{NAME}"')
    if name == "xargs" and stdin:
        operands, stdin = _with_input(given, operands, stdin), ()
    yield from _words(operands, stdin, names)


def _with_input(
    given: Sequence[Given], operands: Sequence[Word], stdin: Sequence[Site]
) -> Sequence[Word]:
    """The command that xargs starts, with what it reads among its words."""
    mark = next((values for option, values in given if option in ("-I", "--replace")), None)
    if mark is None:
        return [*operands, Word("", tuple(stdin))] if operands else ()
    replaced = plain(mark[0]).removeprefix("-I").rpartition("=")[2] if mark else "{}"
    return [
        replace(word, sites=(*word.sites, *stdin)) if replaced in plain(word) else word
        for word in operands
    ]


def _declaration(name: str, arguments: Sequence[Word], names: _Names) -> Iterator[_Danger]:
    """`declare NAME=value`: the name is evaluated, and with -i or -n the value is, too.

    An array takes a value in parentheses for its elements, and expands them.
    """
    flags = "".join(plain(word) for word in arguments if word.text.startswith("-"))
    for word in arguments:
        variable, _, value = plain(word).partition("=")
        yield from _assigned(variable, word.sites, names)
        listed = bool({"a", "A"} & set(flags)) or variable in names.arrays
        if (listed and value.startswith(("{", "$"))) or "i" in flags or "n" in flags:
            exposed = list(word.sites)
        else:
            exposed = [site for site in word.sites if source(site) in variable]
        if "$" in variable:
            exposed += [site for site in word.sites if source(site) not in word.text]
        yield from _run(exposed, name, _DECLARATION_HINT)


def _interpreted(
    name: str,
    interpreter: Interpreter,
    arguments: Sequence[Word],
    stdin: Sequence[Site],
    names: _Names,
) -> Iterator[_Danger]:
    given, operands = divide(arguments, interpreter.options)
    ended = any(plain(word) == "--" for word in arguments)
    yield from _misplaced(name, interpreter, given, operands, ended)
    has_program = False
    for option, values in given:
        if option in interpreter.program_options:
            has_program = True
            yield from _run(_sites(values), name, interpreter.hint)
    has_program = has_program or any(option in interpreter.elsewhere for option, _ in given)
    switched = any(o.lstrip("-+") == interpreter.switch for o, _ in given if interpreter.switch)
    if not has_program and (interpreter.operand or switched):
        programs = operands[interpreter.skip :]
        has_program = bool(programs)
        yield from _run(
            _sites(programs if interpreter.rest else programs[:1]), name, interpreter.hint
        )
        if interpreter.rest and interpreter.stdin:
            yield from (d for d in _words(programs, stdin, names) if d.site in stdin)
    elif not has_program and interpreter.stdin:
        yield from _file_operand(name, operands[:1], (), interpreter.hint)
        files = operands[:1] if interpreter.files else ()
        has_program = any(not _STDIN.fullmatch(plain(word)) for word in files)
        has_program = has_program and not any(option == "-s" for option, _ in given)
    if interpreter.stdin and not has_program:
        yield from _run(stdin, name, interpreter.hint)


def _misplaced(
    name: str,
    interpreter: Interpreter,
    given: Sequence[Given],
    operands: Sequence[Word],
    ended: bool,
) -> Iterator[_Danger]:
    """Values that can be more than the one word, or other than the operand, they stand for.

    `ended` says that `--` ends the options.
    """
    runs_options = bool(interpreter.program_options or interpreter.switch)
    for option, values in given:
        if option == ANY_OPTION and runs_options:
            yield from _run(_sites(values), name, interpreter.hint)
        yield from _run((s for word in values for s in many_words(word)), name, 'write "{NAME}"')
    yield from _peculiar(name, {option for option, _ in given}, operands, ended)
    has_program = any(option in interpreter.program_options for option, _ in given)
    takes_file = runs_options and interpreter.stdin and not (has_program or interpreter.operand)
    if (interpreter.skip or takes_file) and not ended:
        exposed = (site for word in operands[:1] for site in many_words(word))
        yield from _run(exposed, name, f"write {name} -- {{NAME}}")


def _peculiar(
    name: str, options: Set[str], operands: Sequence[Word], ended: bool
) -> Iterator[_Danger]:
    """What only one program does."""
    if name == "printf" and not ended and operands:
        # As the format it could be `-va[$(…)]`: an option with a name that is evaluated.
        several = len(operands) > 1 and "-v" not in options and starts_with_value(operands[0])
        exposed = operands[0].sites if several else many_words(operands[0])
        yield from _run(exposed, name, "write the format yourself: printf '%s\\n' {NAME}")
    if name == "perl" and options & {"-n", "-p"} and "-i" not in options:
        # Opened as `<>` does it: a name that ends in `|` is a command.
        yield from _run(_sites(operands), name, "redirect the file: perl -ne '…' < {NAME}")
    if name in ("make", "gmake"):
        variables = (word for word in operands if ASSIGNMENT.match(plain(word)))
        yield from _run(_sites(variables), name, "make expands $(shell …) in it: use enum")


def _file_operand(
    name: str, operands: Sequence[Word], stdin: Sequence[Site], hint: str
) -> Iterator[_Danger]:
    """`bash <(echo {A})` and `source /dev/stdin <<< {A}` run text, not a file."""
    for word in operands:
        if word.text.startswith("<("):
            yield from _run(word.sites, name, hint)
        elif _STDIN.fullmatch(plain(word)):
            yield from _run(stdin, name, hint)


def _declared(commands: Sequence[Command], letters: str) -> frozenset[str]:
    """The variables that `declare` gives one of these attributes, or that are set to `( … )`."""
    names: set[str] = set()
    for command in commands:
        name, words = program(command)
        flags = "".join(plain(word) for word in words if word.text.startswith("-"))
        if name in DECLARATIONS and set(letters) & set(flags):
            names.update(plain(word).partition("=")[0] for word in words)
        if "a" in letters:
            names.update(m[1] for word in command.words if (m := _LIST.match(word.text)))
    return frozenset(names)


def _run(sites: Iterable[Site], program: str, hint: str) -> Iterator[_Danger]:
    return (_Danger(site, PROGRAM_RULE, program, hint) for site in sites)


def _sites(words: Iterable[Word]) -> list[Site]:
    return [site for word in words for site in word.sites]
