"""All attacks, in the order of their topics."""

from __future__ import annotations

from collections import Counter

from tests.escape.attack import Attack
from tests.escape.attacks import (
    descriptors,
    devices,
    files,
    hidden_memory,
    host_lists,
    limits,
    metadata,
    mounts,
    network,
    other_calls,
    other_entries,
    priorities,
    privileges,
    processes,
    protected,
    repositories,
    rings,
    scratch_view,
    shared_memory,
    signals,
    state,
    supervisors,
    terminal,
    trees,
    unix_sockets,
)

ATTACKS: tuple[Attack, ...] = (
    *network.ATTACKS,
    *host_lists.ATTACKS,
    *unix_sockets.ATTACKS,
    *rings.ATTACKS,
    *processes.ATTACKS,
    *signals.ATTACKS,
    *priorities.ATTACKS,
    *metadata.ATTACKS,
    *descriptors.ATTACKS,
    *terminal.ATTACKS,
    *privileges.ATTACKS,
    *files.ATTACKS,
    *protected.ATTACKS,
    *repositories.ATTACKS,
    *state.ATTACKS,
    *mounts.ATTACKS,
    *other_entries.ATTACKS,
    *shared_memory.ATTACKS,
    *devices.ATTACKS,
    *limits.ATTACKS,
    *hidden_memory.ATTACKS,
    *trees.ATTACKS,
    *supervisors.ATTACKS,
    *scratch_view.ATTACKS,
    *other_calls.ATTACKS,
)


def name(attack: Attack) -> str:
    """What the test of an attack is called."""
    return f"{attack.topic}: {attack.name}".replace(" ", "_").replace("/", "|")


def topics() -> Counter[str]:
    return Counter(attack.topic for attack in ATTACKS)
