"""Patterns of files that nobody trusts: none of them runs for long.

A pattern that could take time without bounds is not run at all. Of any other it is counted how many
ways there are to try it, which grows with a power of the length of the text: where that is too
much, the text is not looked at. In both cases a person is asked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from tongs.core.annotations import Any
from tongs.core.record import dataclass
from tongs.policy.argument_tests import leaves, places_of, value_at
from tongs.policy.conditions import Limit
from tongs.policy.looking import Case

# Comparisons of two characters for one pattern: about a fifth of a second.
_MOST = 1_000_000_000
_TOKEN = re.compile(
    r"\\(?P<reference>[1-9])|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]"
    # Flags that make white space mean nothing, comments, references by name, conditions.
    r"|(?P<odd>\(\?(?:[a-zA-Z]*x|\#|P=|\())"
    r"|(?P<open>\((?:\?P?<?[=!:>]?)?)|(?P<close>\))|(?P<bar>\|)|(?P<maybe>\?)"
    r"|(?P<times>\{(?P<least>\d*)(?P<many>,(?P<most>\d*))?\})|(?P<any>[*+])|.",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Cost:
    """To try it on a text of length n takes at most `factor` * n ** `power` comparisons."""

    factor: int = 1
    power: int = 1

    @property
    def longest(self) -> int:
        """The longest text that it is tried on."""
        return int((_MOST / self.factor) ** (1 / self.power))


@dataclass(slots=True)
class _Group:
    bars: int = 0
    # Whether there is anything to choose in it.
    chooses: bool = False


def cost_of(pattern: str) -> Cost | None:
    """What a regular expression costs; None where nothing bounds it.

    That is where a group repeats that itself repeats or chooses, as in `(a+)+` and `(a|a)*`; and
    where white space or comments could stand between the two.
    """
    # It is tried at every place of the text, and goes through the pattern for each way.
    factor, power = max(len(pattern), 1), 1
    groups, closed = [_Group()], _Group()
    after_group = False
    for token in _TOKEN.finditer(pattern):
        kind, group = token.lastgroup, groups[-1]
        if kind == "odd":
            return None
        if kind == "open":
            groups.append(_Group())
        elif kind == "close" and len(groups) > 1:
            closed = groups.pop()
            factor *= closed.bars + 1
            groups[-1].chooses |= closed.chooses
        elif kind in ("any", "times"):
            if after_group and closed.chooses:
                return None
            chooses = kind == "any" or token["many"] is not None
            power += chooses
            group.chooses |= chooses
            factor *= max(1, int(token["least"] or 0), int(token["most"] or 0))
        elif kind in ("maybe", "bar"):
            factor *= 2 if kind == "maybe" else 1
            group.bars += kind == "bar"
            group.chooses = True
        elif kind == "reference":
            power += 1
        after_group = kind == "close"
    return Cost(factor * (groups[0].bars + 1), power)


def _cost_of_glob(glob: str) -> Cost:
    return Cost(max(len(glob), 1), len(re.findall(r"\*+", glob)) + 1)


@dataclass(frozen=True, slots=True)
class Careful:
    """A rule of an untrusted file as it may be used, and what there is to say about that."""

    data: Mapping[str, Any]
    limit: Limit | None = None
    note: str = ""


def careful(data: Mapping[str, Any]) -> Careful:
    """Without its boundless patterns: it is about more calls then, and asks."""
    when = data.get("when")
    costs = list(_costs(when)) if isinstance(when, Mapping) else []
    if not costs:
        return Careful(data)
    assert isinstance(when, Mapping)
    known = [cost for cost in costs if cost is not None]
    if len(known) < len(costs):
        kept = {key: value for key, value in when.items() if key not in ("argument", "command")}
        asking = {**data, "when": kept or {"tool": "*"}, "decision": "ask"}
        # Its examples are about the pattern.
        without = {key: value for key, value in asking.items() if not key.endswith("match")}
        return Careful(without, note="asks, since its pattern could run for ever")
    return Careful(data, _limit(when, min(cost.longest for cost in known)))


def _costs(when: Mapping[str, Any]) -> Iterator[Cost | None]:
    commands = when.get("command", ())
    for text in (commands,) if isinstance(commands, str) else commands:
        if str(text).startswith("re:"):
            yield cost_of(str(text)[3:])
    arguments = when.get("argument")
    for test in arguments.values() if isinstance(arguments, Mapping) else ():
        tests = test if isinstance(test, Mapping) else {"pattern": test}
        if isinstance(pattern := tests.get("pattern"), str):
            yield cost_of(pattern)
        globs = tests.get("path", ())
        for glob in (globs,) if isinstance(globs, str) else globs:
            yield _cost_of_glob(str(glob))


def _limit(when: Mapping[str, Any], longest: int) -> Limit:
    names, commands = tuple(when.get("argument") or ()), "command" in when

    def fits(case: Case) -> bool:
        sizes = map(len, _texts(case, names, commands=commands))
        return sum(sizes) <= longest

    return fits


def _texts(case: Case, names: tuple[str, ...], *, commands: bool) -> Iterator[str]:
    """Everything that its patterns would look at."""
    for name in names:
        for value in leaves(value_at(case.call.arguments, name)):
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            yield max((text, *(places_of(value, case) or ())), key=len)
    for number in range(len(case.lines) if commands else 0):
        for invocation in case.reading(number).invocations:
            yield " ".join(invocation.words)
