"""What `tongs run` writes while a question has the terminal."""

from __future__ import annotations

import pytest

from tongs.agent.events import CallEnded, CallOutput, CallStarted, QuestionAnswered, QuestionAsked
from tongs.surfaces.cli.console import Console
from tongs.surfaces.cli.held_events import MOST_OUTPUT, HeldEvents
from tongs.surfaces.cli.run_shown import Shown

PIECE = CallOutput("1", "stdout", b"x" * 1000)
ENDED = CallEnded("1", "a", "loud", ok=True, text="x")


@pytest.mark.parametrize(("pieces", "all_of_it"), [(3, True), (100_000, False)])
def test_a_loud_tool_fills_no_memory_while_somebody_is_asked(pieces: int, all_of_it: bool) -> None:
    held = HeldEvents()
    for _ in range(pieces):
        held.add(PIECE)
    held.add(ENDED)
    *output, last = held.taken()
    assert (len(output) == pieces) is all_of_it
    assert len(output) * 1000 <= MOST_OUTPUT
    assert last == ENDED
    held.add(PIECE)
    assert list(held.taken()) == [PIECE]


@pytest.mark.parametrize("json", [True, False])
def test_events_wait_for_the_answer_unless_they_go_elsewhere(
    json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = Shown(Console(), json=json, verbose=True)
    shown(CallStarted("1", "a", "loud", {}))
    shown(QuestionAsked("b", "other", {}, "why"))
    shown(PIECE)
    assert ("xxx" in "".join(capsys.readouterr())) is json
    shown(QuestionAnswered("b", "other", approved=True))
    shown(ENDED)
    out, err = capsys.readouterr()
    assert ("result" in out, "done: loud" in err) == (json, not json)
    assert ("xxx" in err) is not json
