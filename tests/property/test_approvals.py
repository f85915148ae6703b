"""An approval is used at most once, whatever happens; edited arguments skip nothing."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from tests.thorough import examples
from tests.unit.store.test_approvals import REQUEST

from tongs.core.approval import ApprovalRequest, ApprovalResponse
from tongs.core.call import ToolCall
from tongs.core.decision import Decision, Verdict
from tongs.core.driving import drive
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Context, Place, World
from tongs.core.parts import Allowance, Door, Parts
from tongs.core.permissions import Limits, Permissions
from tongs.core.result import ToolResult
from tongs.core.tool import Tool
from tongs.pipeline import run
from tongs.sandbox.waiting import BlockingWaiter
from tongs.schema.check import validated, violations
from tongs.store import approvals
from tongs.store.approvals import ApprovalStore


class Lives(RuleBasedStateMachine):
    """Several processes at one store, any of which may die at any moment and come back."""

    questions = Bundle("questions")

    @initialize()
    def start(self) -> None:
        # In memory where there is such a place: the machine waits for its disk thousands of times.
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = tempfile.TemporaryDirectory(dir=memory)
        self.now = 1000.0
        self.spent: dict[str, int] = {}
        self.approved: set[str] = set()
        self.answers: dict[str, int] = {}
        # Which life each of three processes is in; `is_alive` knows no other.
        self.lives = dict.fromkeys("abc", 0)
        self.stores = {name: self._store() for name in self.lives}
        self.held: dict[str, list[ApprovalResponse]] = {name: [] for name in self.lives}
        self.acting = "a"
        self.blind = False
        self.real = (approvals.own_identity, approvals.is_alive)
        approvals.own_identity = lambda: f"{self.acting}:{self.lives[self.acting]}"
        approvals.is_alive = self._is_alive

    def _store(self) -> ApprovalStore:
        return ApprovalStore(self.folder.name, lambda: self.now)

    def _is_alive(self, identity: str) -> bool:
        if self.blind:
            return False
        name, _, life = identity.partition("/")[0].partition(":")
        return str(self.lives[name]) == life

    @rule(
        target=questions, who=st.sampled_from("abc"), digest=st.sampled_from("xy"), w=st.booleans()
    )
    def ask(self, who: str, digest: str, w: bool) -> str:
        self.acting = who
        return self.stores[who].ask(replace(REQUEST, digest=digest), 60, awaited=w).id

    @rule(question=questions, who=st.sampled_from("abc"), approved=st.booleans())
    def answer(self, question: str, who: str, approved: bool) -> None:
        self.acting = who
        if self.stores[who].answer(question, ApprovalResponse(approved, approver=who)):
            self.answers[question] = self.answers.get(question, 0) + 1
            if approved:
                self.approved.add(question)

    @rule(target=questions, who=st.sampled_from("abc"))
    def ask_and_approve(self, who: str) -> str:
        question = self.ask(who, "z", w=False)
        self.answer(question, who, approved=True)
        return question

    @rule(question=questions, names=st.permutations("abc"))
    def take(self, question: str, names: list[str]) -> None:
        """All at once, in any order."""
        for self.acting in names:
            response = self.stores[self.acting].take(question)
            if response is not None and response.approved:
                self.held[self.acting].append(response)

    @rule(names=st.permutations("abc"))
    def spend(self, names: list[str]) -> None:
        for self.acting in names:
            for response in self.held[self.acting]:
                try:
                    self.stores[self.acting].spend(response)
                except ToolError:
                    continue
                self.spent[response.id] = self.spent.get(response.id, 0) + 1

    @rule(who=st.sampled_from("abc"))
    def die(self, who: str) -> None:
        self.lives[who] += 1
        self.stores[who], self.held[who] = self._store(), []

    @rule(blind=st.booleans())
    def see_nobody(self, blind: bool) -> None:
        """As across namespaces of processes, where everybody else looks dead."""
        self.blind = blind

    @rule(seconds=st.sampled_from([1.0, 1.0, 1.0, 1.0, 61.0, 90000.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(question=questions)
    def nothing_is_lost_while_its_taker_can_die(self, question: str) -> None:
        """An approval that nobody has used is found by the same call once all are dead."""
        fresh = question in self.approved and question not in self.spent
        if not fresh or self._store().state_of(question) != "approved":
            return
        for who in self.lives:
            self.die(who)
        self.acting = "a"
        response = self.stores["a"].take(question)
        assert response is not None
        self.held["a"].append(response)

    @invariant()
    def nothing_is_used_twice_or_unapproved(self) -> None:
        assert all(count == 1 for count in self.spent.values())
        assert all(count == 1 for count in self.answers.values())
        assert self.spent.keys() <= self.approved

    def teardown(self) -> None:
        if hasattr(self, "real"):
            approvals.own_identity, approvals.is_alive = self.real
            self.folder.cleanup()


def test_approval_is_never_consumed_twice_and_never_lost() -> None:
    run_state_machine_as_test(
        Lives,
        settings=settings(max_examples=120, stateful_step_count=40),
    )


SCHEMA = {
    "type": "object",
    "properties": {
        "A": {"type": "integer", "minimum": 0, "maximum": 10},
        "B": {"type": "string", "maxLength": 3},
    },
    "required": ["A"],
    "additionalProperties": False,
}
TOOL = Tool("t", input_schema=SCHEMA, executor="seen")
_values = st.one_of(
    st.integers(-3, 12), st.text("abé", max_size=5), st.none(), st.booleans(), st.floats(0, 3)
)
_arguments = st.dictionaries(st.sampled_from(["A", "B", "C"]), _values, max_size=3)


class Seen:
    """An executor that keeps what it was told to run with."""

    walls = ("all",)

    def __init__(self) -> None:
        self.ran: list[Mapping[str, Any]] = []

    def preview(self, tool: Tool, arguments: Mapping[str, Any], world: World) -> str:
        return ""

    async def execute(self, arguments: Mapping[str, Any], context: Context) -> ToolResult:
        self.ran.append(dict(arguments))
        return ToolResult(output="ran")


class Silent:
    """An audit that keeps nothing."""

    def asked(self, *words: object) -> None: ...

    def answered(self, *words: object) -> None: ...

    def began(self, *words: object) -> None: ...

    def ended(self, *words: object, started: bool) -> list[str]:
        return []


def decided(call: ToolCall, tool: Tool) -> Verdict:
    """Sevens are denied, everything else is asked."""
    decision = Decision.DENY if call.arguments.get("A") == 7 else Decision.ASK
    return Verdict(decision, "sevens", "because")


@examples(500)
@given(_arguments)
def test_edited_arguments_never_skip_validation_or_rules(edited: dict[str, Any]) -> None:
    executor = Seen()
    place = World(Place("/"), {}, {}, "linux")
    parts = Parts(
        find=lambda call, scope: TOOL,
        validate=lambda tool, arguments: validated(tool.input_schema, dict(arguments)),
        decide=decided,
        allow=lambda call, tool: Allowance(Permissions(), Limits(), None, {}, {}),
        executors={"seen": executor},
        sandbox=None,  # type: ignore[arg-type]  # the executor starts no process
        audit=Silent(),  # type: ignore[arg-type]  # nothing is kept
        world=lambda tool, allowance: place,
        unexpected=lambda error, redact: ToolError(ErrorCode.INTERNAL_ERROR, repr(error)),
        reveal=None,  # type: ignore[arg-type]  # the tool has no secrets
    )

    async def edit(request: ApprovalRequest) -> ApprovalResponse:
        return ApprovalResponse(approved=True, modified_args=edited, approver="editor")

    result = drive(run(ToolCall("c", "t", {"A": 1}), parts, Door(BlockingWaiter(), edit)))

    fits = not violations(SCHEMA, edited)
    if fits and edited["A"] != 7:
        assert executor.ran == [edited]
        assert result.metadata["modifiedArguments"] == edited
        assert any("changed the arguments" in warning for warning in result.warnings)
    else:
        assert executor.ran == []
        assert result.error is not None
        expected = ErrorCode.DENIED if fits else ErrorCode.INVALID_ARGUMENTS
        assert result.error.code is expected
