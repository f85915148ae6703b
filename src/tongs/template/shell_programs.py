"""Refuse placeholders that a second interpreter would read as its program.

No quoting helps there: `bash -c "echo {A}"` runs what the value says whatever the shell around it
does (measured: every strategy of quoting executes). The safe form passes the value as an argument,
and every refusal shows it. Numbers, booleans, enums and RAW may stand anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from tongs.core.record import dataclass
from tongs.template.placeholder import Mode, Placeholder
from tongs.template.shell_cursor import Command, Quote, Site, Word
from tongs.template.shell_interpreters import (
    BUILTINS,
    DECLARATIONS,
    ECHOES,
    EXPANDED_VARIABLES,
    FIND_ACTIONS,
    PROGRAMS,
    RUNNERS,
    WRAPPERS,
    Interpreter,
    Options,
    Wrapper,
)
from tongs.template.values import TemplateError

PROGRAM_RULE = "second-interpreter"
NAME_RULE = "program-name"

_QUOTES = re.compile(r"""\\(.)|['"]""", re.DOTALL)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(?:\[.*?\])?\+?=", re.ASCII | re.DOTALL)
_VERSION = re.compile(r"\d[\d.]*$")


@dataclass(frozen=True, slots=True)
class _Danger:
    site: Site
    rule: str
    program: str
    hint: str


def errors(commands: Sequence[Command]) -> list[TemplateError]:
    """One error for each placeholder whose value would be run, in the order of the text."""
    found: dict[int, TemplateError] = {}
    integers = _integer_variables(commands)
    for command in commands:
        for danger in _dangers(command, integers):
            item = danger.site.item
            if isinstance(item, Placeholder) and _carries_code(danger.site, item):
                found.setdefault(item.start, _error(danger, item))
    return [found[start] for start in sorted(found)]


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


def _dangers(command: Command, integers: frozenset[str]) -> Iterator[_Danger]:
    words = command.words
    for index, word in enumerate(words):
        assignment = _ASSIGNMENT.match(word.text)
        if assignment is None:
            words = words[index:]
            break
        yield from _assignment(assignment[1], word, integers)
    else:
        words = []
    yield from _words(words, command.stdin)
    if command.feeds is not None:
        yield from _piped(words, command)
    if command.evaluated and words and _plain(words[0]) in ECHOES:
        hint = "give the parameter the type integer or number, or an enum"
        yield from _run((s for w in words for s in w.sites), "arithmetic", hint)


def _assignment(name: str, word: Word, integers: frozenset[str]) -> Iterator[_Danger]:
    if name in EXPANDED_VARIABLES:
        yield from _run(word.sites, name, "the shell expands this variable again: write it out")
    elif name in integers:
        yield from _run(word.sites, f"declare -i {name}", "give the parameter the type integer")


def _piped(words: Sequence[Word], command: Command) -> Iterator[_Danger]:
    """`echo {A} | bash`: the value arrives as the program."""
    consumer = command.feeds
    if consumer is None or not words or not consumer.words:
        return
    name = _plain(words[0])
    sites = [site for word in words[1:] for site in word.sites] if name in ECHOES else []
    if name == "cat":
        sites = command.stdin
    if sites:
        yield from (d for d in _words(consumer.words, sites) if d.site in sites)


def _words(words: Sequence[Word], stdin: Sequence[Site]) -> Iterator[_Danger]:
    """The dangers of one command without its assignments, seen through wrappers."""
    if not words:
        return
    if words[0].sites:
        hint = "write the program's name yourself, or list the allowed ones with enum"
        yield from (_Danger(site, NAME_RULE, "", hint) for site in words[0].sites)
        return
    name = _plain(words[0]).rpartition("/")[2]
    arguments = words[1:]
    if (wrapper := WRAPPERS.get(name)) is not None:
        yield from _wrapped(name, wrapper, arguments, stdin)
    elif name in RUNNERS:
        yield from _words(_from_interpreter(arguments), stdin)
    elif name == "find":
        yield from _find(arguments, stdin)
    elif name in DECLARATIONS:
        yield from _declaration(name, arguments)
    elif name in ("source", "."):
        hint = "source a file, and pass the value as an argument"
        yield from _file_operand(name, arguments[:1], stdin, hint)
    elif (interpreter := BUILTINS.get(name) or _program(name)) is not None:
        yield from _interpreted(name, interpreter, arguments, stdin)


def _program(name: str) -> Interpreter | None:
    """`python3.11` is python."""
    return PROGRAMS.get(name) or PROGRAMS.get(_VERSION.sub("", name))


def _from_interpreter(words: Sequence[Word]) -> Sequence[Word]:
    """The command that `docker exec BOX …` and its like start, as far as it is an interpreter."""
    for index, word in enumerate(words):
        name = _plain(word).rpartition("/")[2]
        if not word.sites and _program(name) is not None:
            return words[index:]
    return ()


def _find(arguments: Sequence[Word], stdin: Sequence[Site]) -> Iterator[_Danger]:
    for index, word in enumerate(arguments):
        if word.text in FIND_ACTIONS:
            yield from _words(arguments[index + 1 :], stdin)


def _wrapped(
    name: str, wrapper: Wrapper, arguments: Sequence[Word], stdin: Sequence[Site]
) -> Iterator[_Danger]:
    given, operands = _divide(arguments, wrapper.options)
    if any(option.strip("-") in wrapper.lookups for option, _ in given if wrapper.lookups):
        return
    for option, values in given:
        if option in wrapper.program_options:
            yield from _run(_sites(values), name, "write the words out, each by itself")
    operands = operands[wrapper.skip :]
    # `flock FILE -c …`
    if operands and _plain(operands[0]) in wrapper.program_options:
        yield from _run(_sites(operands[1:]), name, "write the words out, each by itself")
        return
    while wrapper.assignments and operands and (match := _ASSIGNMENT.match(_plain(operands[0]))):
        yield from _assignment(match[1], operands[0], frozenset())
        operands = operands[1:]
    if not (wrapper.any_name and operands and operands[0].sites):
        yield from _words(operands, stdin)


def _declaration(name: str, arguments: Sequence[Word]) -> Iterator[_Danger]:
    """`declare NAME=value`: the name is evaluated, and with -i or -n the value is, too."""
    flags = "".join(_plain(word) for word in arguments if word.text.startswith("-"))
    for word in arguments:
        plain = word.text.partition("=")[0]
        exposed = [s for s in word.sites if _source(s) in plain or "i" in flags or "n" in flags]
        yield from _run(exposed, name, "name the variable yourself; for -i use the type integer")


def _interpreted(
    name: str, interpreter: Interpreter, arguments: Sequence[Word], stdin: Sequence[Site]
) -> Iterator[_Danger]:
    given, operands = _divide(arguments, interpreter.options)
    if name == "printf" and len(operands) > 1 and arguments[0] is operands[0]:
        # As the format it could be `-va[$(…)]`: an option with a name that is evaluated.
        leading = operands[0].sites if _plain(operands[0]).startswith("{") else ()
        yield from _run(leading, name, "write the format yourself: printf '%s\\n' {NAME}")
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
            yield from (d for d in _words(programs, stdin) if d.site in stdin)
    elif not has_program and interpreter.stdin:
        yield from _file_operand(name, operands[:1], (), interpreter.hint)
        has_program = any(_plain(word) not in ("-", "/dev/stdin") for word in operands[:1])
        has_program = has_program and not any(option == "-s" for option, _ in given)
    if interpreter.stdin and not has_program:
        yield from _run(stdin, name, interpreter.hint)


def _file_operand(
    name: str, operands: Sequence[Word], stdin: Sequence[Site], hint: str
) -> Iterator[_Danger]:
    """`bash <(echo {A})` and `source /dev/stdin <<< {A}` run text, not a file."""
    for word in operands:
        if word.text.startswith("<("):
            yield from _run(word.sites, name, hint)
        elif _plain(word) in ("-", "/dev/stdin"):
            yield from _run(stdin, name, hint)


def _integer_variables(commands: Sequence[Command]) -> frozenset[str]:
    """The names that `declare -i` makes evaluate whatever is assigned to them."""
    names: set[str] = set()
    for command in commands:
        plain = [_plain(word) for word in command.words]
        flags = "".join(word for word in plain if word.startswith("-"))
        if plain[:1] and plain[0] in DECLARATIONS and "i" in flags:
            names.update(word.partition("=")[0] for word in plain[1:])
    return frozenset(names)


def _divide(
    arguments: Sequence[Word], options: Options
) -> tuple[list[tuple[str, list[Word]]], Sequence[Word]]:
    """Options with their values, and the operands."""
    given: list[tuple[str, list[Word]]] = []
    operands: list[Word] = []
    index = 0
    while index < len(arguments):
        word = arguments[index]
        plain = _plain(word)
        index += 1
        if plain == "--":
            break
        if len(plain) < 2 or plain[0] not in "-+":
            operands.append(word)
            if len(operands) > options.permuted:
                break
        elif plain.startswith("--"):
            option, equals, _ = plain.partition("=")
            count = 0 if equals else options.long_valued.get(option, 0)
            given.append((option, [word] if equals else list(arguments[index : index + count])))
            index += count
        else:
            index += _short_options(word, plain, options, arguments[index:], given)
    return given, [*operands, *arguments[index:]]


def _short_options(
    word: Word,
    plain: str,
    options: Options,
    following: Sequence[Word],
    given: list[tuple[str, list[Word]]],
) -> int:
    """Divide `-abc`; return how many of the following words it takes."""
    given.append((plain, list(following[:1])))
    for index, letter in enumerate(plain[1:], 1):
        if letter in options.valued:
            rest = plain[index + 1 :]
            given.append(("-" + letter, [word] if rest else list(following[:1])))
            return 0 if rest else 1
        given.append(("-" + letter, []))
        if letter in options.glued:
            return 0
    return 0


def _run(sites: Iterable[Site], program: str, hint: str) -> Iterator[_Danger]:
    return (_Danger(site, PROGRAM_RULE, program, hint) for site in sites)


def _sites(words: Iterable[Word]) -> list[Site]:
    return [site for word in words for site in word.sites]


def _source(site: Site) -> str:
    item = site.item
    name = item.slot.name if isinstance(item, Placeholder) else item.text
    return name + "}"


def _plain(word: Word) -> str:
    """The word without quotes, as the program will see its fixed part."""
    return _QUOTES.sub(r"\1", word.text)
