"""Without the sandbox every attack gets through, so none of them fails for a reason of its own."""

from __future__ import annotations

import os
import subprocess
from functools import cache

import pytest
from tests.escape.attack import KERNEL, NESTING, ROOT, Attack
from tests.escape.catalogue import ATTACKS, name, topics
from tests.escape.world import World


@pytest.mark.parametrize("attack", ATTACKS, ids=name)
def test_without_the_sandbox_it_gets_through(world: World, attack: Attack) -> None:
    outcome = world.run(attack, attack.control)

    assert not outcome.unsound, f"{outcome.unsound}\n{outcome.output}"
    if not outcome.evidence:
        # The system itself refuses, in the very way that was foreseen.
        assert is_lacking(attack.needs), outcome.output
        assert outcome.refusals, outcome.output
        assert set(outcome.refusals) <= set(attack.otherwise)


def test_there_are_attacks_of_every_topic() -> None:
    assert len(ATTACKS) == len({name(attack) for attack in ATTACKS}) > 100
    assert min(topics().values()) >= 2


def is_lacking(needed: str) -> bool:
    """Whether this machine and this user may be without it."""
    if needed == ROOT:
        return os.geteuid() != 0
    if needed == NESTING:
        return not has_nesting()
    return needed == KERNEL


@cache
def has_nesting() -> bool:
    return subprocess.run(["unshare", "-Urm", "true"], check=False).returncode == 0
