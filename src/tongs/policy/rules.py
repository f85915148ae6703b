"""The rules of this process, and the verdict of them all.

Each rule looks at one call and either says nothing or gives a `Verdict`. The strictest that spoke
wins; if none spoke, a person is asked. So a rule added can tighten, and can only loosen what
nothing else objects to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from tongs.core.annotations import Any, Protocol, TypeAlias
from tongs.core.call import CallerKind, ToolCall
from tongs.core.decision import Decision, Verdict, one_question
from tongs.core.errors import BlockedBy, ErrorCode
from tongs.core.record import dataclass
from tongs.core.scope import Scope
from tongs.core.tool import Level, Tool, Trust
from tongs.policy.index import RuleIndex

Stands: TypeAlias = Callable[[ToolCall, Tool], bool]

_LEVELS = {level.value: level for level in Level}
_SELECTED_LEVELS = {f"tool:{level.value}": level for level in Level}


class Rule(Protocol):
    """Says something about a call, or nothing."""

    def check(self, call: ToolCall, tool: Tool) -> Verdict | None: ...


@dataclass(frozen=True, slots=True)
class Selector:
    """`tool:read`, `tool:TAG`, `NAME` or `*`, as `--auto-approve` and `--auto-deny` take them."""

    text: str

    @property
    def _tag(self) -> str | None:
        return self.text[5:] if self.text.startswith("tool:") else None

    @property
    def level(self) -> Level | None:
        return _SELECTED_LEVELS.get(self.text)

    def names(self, tool: Tool) -> bool:
        """Whoever writes a tool also names its private helpers: such a name stands for nothing."""
        return not tool.private and self.text in (tool.name, tool.qualified_name)

    def _has_tag(self, tool: Tool) -> bool:
        return self._tag is not None and self._tag in tool.tags

    def approves(self, tool: Tool) -> bool:
        """`tool:write` approves what claims to write or less, never what may run anything."""
        if (level := self.level) is not None:
            return tool.level.rank <= level.rank
        return self.text == "*" or self.names(tool) or self._has_tag(tool)

    def denies(self, tool: Tool) -> bool:
        """`tool:write` denies what can write: that includes what may run anything."""
        if (level := self.level) is not None:
            return tool.level.rank >= level.rank
        return self.text == "*" or self.names(tool) or self._has_tag(tool)


def selectors(texts: Iterable[str]) -> tuple[Selector, ...]:
    return tuple(Selector(text.strip()) for text in texts if text.strip())


@dataclass(frozen=True, slots=True)
class TrustRule:
    """Nothing that came with a project runs before the person accepted it."""

    only_tool = True

    def check(self, call: ToolCall, tool: Tool) -> Verdict | None:
        if tool.trust.holds:
            return None
        from shlex import quote  # noqa: PLC0415 - only for the hint

        if tool.trust is Trust.REVIEW:
            return Verdict(
                Decision.DENY,
                "review",
                f"{tool.creator} created it, and no person has read {tool.origin.path} as it is",
                hint=f"a person can: tongs review {quote(tool.name)}",
                code=ErrorCode.UNTRUSTED,
                blocked_by=BlockedBy.TRUST,
            )
        if tool.executor == "mcp":
            return _held_back(tool)
        changed = tool.trust is Trust.CHANGED
        return Verdict(
            Decision.DENY,
            "trust",
            f"{tool.origin.path} changed since it was accepted"
            if changed
            else f"nobody has accepted {tool.origin.path} yet",
            hint=f"read it, then: tongs trust {quote(tool.origin.path)}",
            code=ErrorCode.UNTRUSTED,
            blocked_by=BlockedBy.TRUST,
        )


def _held_back(tool: Tool) -> Verdict:
    """A server may not make another tool of what a person has accepted."""
    server, known = tool.plan.server.name, tool.origin.digest
    what = "describes it otherwise than when it was accepted" if known else "has it only since then"
    return Verdict(
        Decision.DENY,
        "trust",
        f"the MCP server {server} {what}",
        hint=f"a person can read the difference and accept it: tongs mcp pin {server}",
        code=ErrorCode.UNTRUSTED,
        blocked_by=BlockedBy.TRUST,
    )


@dataclass(frozen=True, slots=True)
class AutoDeny:
    denied: Sequence[Selector]
    only_tool = True

    def check(self, call: ToolCall, tool: Tool) -> Verdict | None:
        for selector in self.denied:
            if selector.denies(tool):
                return Verdict(
                    Decision.DENY,
                    f"auto-deny {selector.text}",
                    f"`{selector.text}` is denied and {tool.name} is {_claims(tool)}",
                    hint="remove it from --auto-deny or security.auto_deny to allow this",
                )
        return None


@dataclass(frozen=True, slots=True)
class DeniedByConfig:
    """`auto_deny` in a config that the tool uses, or one of the tools that call it."""

    def check(self, call: ToolCall, tool: Tool) -> Verdict | None:
        own = () if tool.bound is None else tool.bound.denied
        if not own and not call.caller.bound.denied:
            return None
        for selector in selectors((*own, *call.caller.bound.denied)):
            if selector.denies(tool):
                return Verdict(
                    Decision.DENY,
                    f"auto-deny {selector.text}",
                    f"`{selector.text}` is denied by a config that this call uses"
                    f" and {tool.name} is {_claims(tool)}",
                    hint="remove it from security.auto_deny of that config to allow this",
                )
        return None


@dataclass(frozen=True, slots=True)
class ApprovalRequired:
    """The author wants every call confirmed. Only naming the tool itself answers that.

    Where the program itself is the author and says that nobody need be asked (seed 002), it is
    believed, as far as no other rule has anything against the call.
    """

    approved: Sequence[Selector]

    def check(self, call: ToolCall, tool: Tool) -> Verdict | None:
        if call.caller.agreed:
            return None
        if not _requires_approval(call, tool):
            # A tool of a file that calls it is no program: the outer call covers it, or does not.
            if tool.requires_approval is None or not tool.is_own or _by_tool(call):
                return None
            return Verdict(Decision.ALLOW, "requires_approval", "the program says so of its tool")
        if any(selector.names(tool) for selector in self.approved):
            return None
        reason = tool.approval_reason or "its definition asks for approval"
        return Verdict(Decision.ASK, "approval.required", reason)


@dataclass(frozen=True, slots=True)
class AutoApprove:
    approved: Sequence[Selector]
    only_tool = True

    def check(self, call: ToolCall, tool: Tool) -> Verdict | None:
        for selector in self.approved:
            if selector.approves(tool):
                return Verdict(
                    Decision.ALLOW,
                    f"auto-approve {selector.text}",
                    f"`{selector.text}` is approved and {tool.name} is {_claims(tool)}",
                )
        return None


@dataclass(frozen=True, slots=True)
class TypedByPerson:
    """A person who types the call has approved it by typing."""

    def check(self, call: ToolCall, tool: Tool) -> Verdict | None:
        if call.caller.kind is not CallerKind.PERSON:
            return None
        return Verdict(Decision.ALLOW, "typed", "a person typed this call")


@dataclass(frozen=True, slots=True)
class CoveredByOuterCall:
    """A tool that was allowed may use its own helpers, as long as they claim no more than it."""

    def check(self, call: ToolCall, tool: Tool) -> Verdict | None:
        caller = call.caller
        if caller.kind is not CallerKind.TOOL or tool.level.rank > Level(caller.level).rank:
            return None
        return Verdict(Decision.ALLOW, "nested", f"{caller.name} was allowed and uses it")


@dataclass(frozen=True, slots=True)
class Automatic:
    """A tool that comes with Tongs and needs nobody's answer, as long as its walls stand."""

    stands: Stands

    def check(self, call: ToolCall, tool: Tool) -> Verdict | None:
        if tool.origin.scope is not Scope.BUILTIN or _by_tool(call):
            return None
        if not _says(tool.automatic, call.arguments) or not self.stands(call, tool):
            return None
        return Verdict(Decision.ALLOW, "built-in", f"{tool.name} runs without asking here")


class RuleEngine:
    """All rules of a runtime; `add_rule` as in seed 001."""

    def __init__(
        self, rules: Iterable[Rule] = (), later: Callable[[], Iterable[Rule]] | None = None
    ) -> None:
        """`later` gives further ones when a rule is first asked."""
        self._given = tuple(rules)
        self._later = later
        self._rules = self._given if later is None else None
        self._index: RuleIndex | None = None

    @property
    def rules(self) -> tuple[Rule, ...]:
        known = self._rules
        if known is None:
            # Two threads that come here together make the same.
            known = self._rules = (*self._given, *(() if self._later is None else self._later()))
        return known

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def add_rule(self, rule: Rule) -> None:
        """From the next call on it has its say."""
        self._rules = (*self.rules, rule)
        self._index = None

    def decide(self, call: ToolCall, tool: Tool) -> Verdict:
        strictest: Verdict | None = None
        found = self.verdicts(call, tool)
        for _, verdict in found:
            if strictest is None or verdict.decision > strictest.decision:
                strictest = verdict
        if strictest is None:
            return _ask(tool)
        if strictest.decision is not Decision.ASK:
            return strictest
        return one_question([said for _, said in found if said.decision is Decision.ASK])

    def verdicts(self, call: ToolCall, tool: Tool) -> list[tuple[Rule, Verdict]]:
        """Every rule that has something to say about a call, and what."""
        if self._index is None:
            self._index = RuleIndex(self.rules)
        return [
            (rule, verdict)
            for rule, known in self._index.about(call, tool)
            if (verdict := known or rule.check(call, tool))
        ]


def default_rules(
    approve: Iterable[str],
    deny: Iterable[str],
    further: Iterable[Rule] = (),
    *,
    later: Callable[[], Iterable[Rule]] | None = None,
    stands: Stands = lambda call, tool: False,
) -> RuleEngine:
    """`stands` says whether the walls that a call would get are those it relies on."""
    approved = selectors(approve)
    return RuleEngine(
        (
            TrustRule(),
            AutoDeny(selectors(deny)),
            DeniedByConfig(),
            ApprovalRequired(approved),
            AutoApprove(approved),
            TypedByPerson(),
            CoveredByOuterCall(),
            Automatic(stands),
            *further,
        ),
        later,
    )


def _ask(tool: Tool) -> Verdict:
    return Verdict(
        Decision.ASK,
        f"level {tool.level}",
        tool.approval_reason or f"it is {_claims(tool)}, which nothing allows without asking",
    )


def _claims(tool: Tool) -> str:
    if not _LEVELS.keys().isdisjoint(tool.tags):
        return f"of level {tool.level}"
    return "of level run (it has no security tag)"


def _requires_approval(call: ToolCall, tool: Tool) -> bool:
    try:
        return bool(call.at_stake) or _says(tool.requires_approval, call.arguments)
    except Exception:  # noqa: BLE001 - the author's code may raise anything
        return True  # what cannot say that nobody need be asked has somebody asked


def _by_tool(call: ToolCall) -> bool:
    return call.caller.kind is CallerKind.TOOL


def _says(
    answer: bool | Callable[[Mapping[str, Any]], bool] | None, arguments: Mapping[str, Any]
) -> bool:
    return bool(answer(arguments)) if callable(answer) else bool(answer)
