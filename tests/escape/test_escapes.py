"""In each tier every attack is held, or what lets it through is declared with the result."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.escape.attack import TIERS, Attack
from tests.escape.catalogue import ATTACKS, name
from tests.escape.table import DECLARED, HELD, OPEN, PROPERTY
from tests.escape.world import Outcome, World


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("attack", ATTACKS, ids=name)
def test_the_sandbox_holds_or_says_that_it_does_not(
    world: World, attack: Attack, tier: str, record_property: Callable[[str, object], None]
) -> None:
    outcome = world.run(attack, tier)

    assert not outcome.unsound, f"{outcome.unsound}\n{outcome.output}"
    verdict = judged(attack, tier, outcome)
    record_property(PROPERTY, [tier, attack.topic, attack.name, verdict])
    assert verdict != OPEN, f"{outcome.evidence}\n{outcome.not_enforced}\n{outcome.output}"
    # What is held must not be excused in advance.
    expected = attack.declared.get(tier) in outcome.not_enforced
    assert attack.watched or (verdict == DECLARED) == expected, outcome.output


def judged(attack: Attack, tier: str, outcome: Outcome) -> str:
    if not outcome.evidence:
        return HELD
    return DECLARED if attack.declared.get(tier) in outcome.not_enforced else OPEN
