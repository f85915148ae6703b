"""The rules of a place: those every call meets, those of its config files, those of a program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from tongs.config.settings import WrittenRule
from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.call import ToolCall
from tongs.core.decision import Verdict
from tongs.core.errors import DefinitionInvalid, Problem, Severity
from tongs.core.record import replace
from tongs.core.tool import Tool
from tongs.schema.document import Document

if TYPE_CHECKING:
    from tongs.policy.configured import ConfiguredRule
    from tongs.policy.hazards import DefaultRule
    from tongs.policy.looking import Look

_SCHEMA = "`tongs schema config` shows what a rule can say"
_EXAMPLE = "mend the rule or the example; `tongs rules explain COMMAND` tells what a rule sees"
_FASTER = "repeat no group that itself repeats or chooses: `(a+)+` is `a+`, `(a|b)*` is `[ab]*`"


def rules_of(
    written: Sequence[WrittenRule], of_program: Iterable[Any], looking: Callable[[], Look]
) -> Callable[[], list[Any]]:
    """All of them, made when they are first asked; `looking` always gives the same.

    DefinitionInvalid at once if one cannot be used, or does not do what it says.
    """
    given = list(of_program)
    configured: list[Any] = []
    if written or given:
        from tongs.policy.configured import bound  # noqa: PLC0415 - most people have no rules

        configured = [*compiled(written, looking()), *bound(given, looking())]
    return lambda: [*_defaults(written, looking()), OfConfigs(looking()), *configured]


class OfConfigs:
    """Rules in the configs that a tool uses; most use none, and nothing is loaded for them."""

    def __init__(self, look: Look) -> None:
        self.look = look

    def check(self, call: ToolCall, tool: Tool) -> Verdict | None:
        if not call.caller.bound.rules and (tool.bound is None or not tool.bound.rules):
            return None
        from tongs.policy.configured import RulesOfConfigs  # noqa: PLC0415 - see above

        return RulesOfConfigs(self.look).check(call, tool)


def _defaults(written: Sequence[WrittenRule], look: Look) -> list[DefaultRule]:
    """A rule of the person's own takes the place of the default rule of the same name."""
    from tongs.policy.hazards import default_hazards  # noqa: PLC0415 - a listing asks no rule

    replaced = {str(rule.data.get("name")) for rule in written if rule.trusted}
    return [rule for rule in default_hazards(look) if rule.name not in replaced]


def compiled(written: Iterable[WrittenRule], look: Look) -> list[ConfiguredRule]:
    from tongs.policy.configured import compile_rule  # noqa: PLC0415 - as above

    problems: list[Problem] = []
    rules: list[ConfiguredRule] = []
    for one in written:
        try:
            rule = compile_rule(one.data, one.source, look, trusted=one.trusted)
        except ValueError as error:
            problems.append(_unusable(one, error))
            continue
        rules.append(rule)
        if one.trusted:
            # Of another one nobody has agreed to run what it says, and it must not stop the tools
            # of the person: `tongs rules` and `tongs lint` tell.
            problems += _wrong_examples(one, rule)
    if problems:
        raise DefinitionInvalid(problems)
    return rules


def rule_problems(document: Document, *, trusted: bool) -> Iterator[Problem]:
    """What is wrong with the rules of a checked config."""
    from tongs.policy.configured import compile_rule  # noqa: PLC0415 - as above
    from tongs.policy.looking import here  # noqa: PLC0415 - as above

    look = here()
    for number, data in enumerate((document.data.get("security") or {}).get("rules") or ()):
        one = WrittenRule(data, document, ("security", "rules", number), trusted)
        try:
            rule = compile_rule(data, one.source, look, trusted=trusted)
        except ValueError as error:
            yield _unusable(one, error)
            continue
        if rule.note:
            message = f"the rule {rule.name} {rule.note}; in a file you trust it is tried"
            found = document.problem(one.path, message, rule="slow-pattern", hint=_FASTER)
            yield replace(found, severity=Severity.WARNING)
        yield from _wrong_examples(one, rule)


def _unusable(one: WrittenRule, error: ValueError) -> Problem:
    return one.document.problem(one.path, str(error), rule="rule", hint=_SCHEMA)


def _wrong_examples(one: WrittenRule, rule: ConfiguredRule) -> Iterator[Problem]:
    from tongs.policy.configured import wrong_examples  # noqa: PLC0415 - as above

    for key, position, message in wrong_examples(rule):
        path = (*one.path, key, position)
        yield one.document.problem(path, message, rule="rule-example", hint=_EXAMPLE)
