"""What a value may not do to the command of a manifest: choose what runs, or be run itself."""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Mapping

from tongs.config.environment import forbidden_from_model
from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.template.dollar import DollarText
from tongs.template.manifest import CommandPlan
from tongs.template.manifest_line import code_in, code_read, line, slots
from tongs.template.values import Slots
from tongs.template.words import WordsTemplate

if TYPE_CHECKING:
    from tongs.formats.manifest import Reader

WHERE = ("exec", "command")


def known_line(reader: Reader, written: str, args: list[DollarText]) -> WordsTemplate | None:
    """The words of a program that others know; nobody knows what the author's own does."""
    if "/" in written and not os.path.isabs(written):
        return None
    return line(written, args, slots(reader.names, reader.input_schema))


def check(reader: Reader, plan: CommandPlan) -> None:
    """Note every place where a caller's value would become code."""
    known = slots(reader.names, reader.input_schema)
    _check_environment(reader, plan.env, known)
    if plan.line is None:
        return
    found = list(code_in(plan.line, known))
    for number, error in found:
        reader.problem((*WHERE, "args", number), error.message, hint=error.hint, rule=error.rule)
    # What is read is told apart from the line only where the line has nothing.
    for error in () if found else code_read(plan.line, _texts(plan.stdin), known):
        reader.problem((*WHERE, "stdin"), error.message, hint=error.hint, rule=error.rule)


def _check_environment(reader: Reader, env: Mapping[str, DollarText], known: Slots) -> None:
    for name, text in env.items():
        if forbidden_from_model(name) and not all(known[each].harmless for each in text.names):
            reader.problem(
                (*WHERE, "env", name),
                f"a caller's value in {name} could make programs load code of its choice",
                hint=f"write {name} yourself, or bound the input with `enum`",
                rule="environment-from-caller",
            )


def _texts(data: Any) -> Iterator[DollarText]:
    """Every text inside a structure."""
    if isinstance(data, DollarText):
        yield data
    elif isinstance(data, Mapping | list):
        for entry in data.values() if isinstance(data, Mapping) else data:
            yield from _texts(entry)
