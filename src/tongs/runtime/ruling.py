"""The rules of a place: those every call meets, those of its config files, those of a program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tongs.config.settings import WrittenRule
from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.call import ToolCall
from tongs.core.decision import Verdict
from tongs.core.errors import DefinitionInvalid, Problem
from tongs.core.tool import Tool
from tongs.policy.looking import Look

if TYPE_CHECKING:
    from tongs.policy.configured import ConfiguredRule
    from tongs.policy.hazards import DefaultRule


def rules_of(
    written: Sequence[WrittenRule], of_program: Iterable[Any], look: Look
) -> Callable[[], list[Any]]:
    """All of them, made when they are first asked.

    DefinitionInvalid at once if one cannot be used, or does not do what it says.
    """
    given = list(of_program)
    configured: list[Any] = []
    if written or given:
        from tongs.policy.configured import bound  # noqa: PLC0415 - most people have no rules

        configured = [*compiled(written, look), *bound(given, look)]
    return lambda: [*_defaults(written, look), OfConfigs(look), *configured]


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
    from tongs.policy.configured import compile_rule, wrong_examples  # noqa: PLC0415 - as above
    from tongs.policy.slow_patterns import without_slow  # noqa: PLC0415 - as above

    problems: list[Problem] = []
    rules: list[ConfiguredRule] = []
    for one in written:
        try:
            data = one.data if one.trusted else without_slow(one.data)
            rule = compile_rule(data, one.source, look)
        except ValueError as error:
            problems.append(one.document.problem(one.path, str(error), rule="rule"))
            continue
        rules.append(rule)
        if not one.trusted:
            # Nobody has agreed to run what it says, and it must not stop the tools of the person.
            continue
        problems += [
            one.document.problem((*one.path, key, position), message, rule="rule-example")
            for key, position, message in wrong_examples(rule)
        ]
    if problems:
        raise DefinitionInvalid(problems)
    return rules
