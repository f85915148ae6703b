"""What this machine can enforce, asked anew and kept for the calls that follow."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from tongs.config.environment import host_environment, uses_native
from tongs.core.annotations import TYPE_CHECKING
from tongs.core.execution import Policy
from tongs.core.permissions import Limits, Permissions
from tongs.core.record import dataclass
from tongs.runtime.enforcing import found_here
from tongs.runtime.explaining import DEFAULT
from tongs.runtime.stated import source_of
from tongs.store.files import private_folder, write_whole

if TYPE_CHECKING:
    from tongs.config.places import Places
    from tongs.config.settings import Settings
    from tongs.sandbox.diagnosis import Layer
    from tongs.sandbox.probe import Found
    from tongs.schema.document import Document

_TEMPORARY = "/tmp"


@dataclass(frozen=True, slots=True)
class Examined:
    """The tier that calls get, "" for none, and all that was found on the way."""

    tier: str
    # Whether processes are started by the compiled fork server.
    native: bool
    # Why a better tier is not it.
    problems: Mapping[str, str]
    enforced: tuple[str, ...]
    not_enforced: tuple[str, ...]
    layers: tuple[Layer, ...]
    # Why nothing can be kept in the state folder; empty where it can.
    state_problem: str
    # The folder of scratch folders: those of calls that run now, and how many were leftovers.
    scratch: str
    in_use: int
    removed: int


def examine(places: Places, temp_root: str = _TEMPORARY) -> Examined:
    """Try everything. Needs no config. For a process with one thread."""
    from tongs.sandbox.compiled import program  # noqa: PLC0415 - for the doctor only
    from tongs.sandbox.diagnosis import diagnose  # noqa: PLC0415 - for the doctor only

    scratch = os.path.join(temp_root, f"tongs-{os.geteuid()}")
    before = _names(scratch)
    problem = _state_problem(places.state)
    layers = diagnose(temp_root)
    native = uses_native(host_environment())
    found = found_here(places.state, direct=True, native=native, again=True)
    after = _names(scratch)
    enforced, not_enforced = _walls(found)
    return Examined(
        tier=found.tier,
        native=native and bool(program()),
        problems={answer.tier: answer.problem for answer in found.answers if answer.problem},
        enforced=enforced,
        not_enforced=not_enforced,
        layers=layers,
        state_problem=problem,
        scratch=scratch,
        in_use=len(after),
        removed=len(before - after),
    )


def enforcement_source(places: Places, settings: Settings, profile: Sequence[Document] = ()) -> str:
    """The line that sets `security.enforcement`, or that it is the default."""
    key = ("security", "enforcement")
    return source_of(places, key, settings.enforcement, profile=profile) or DEFAULT


def _walls(found: Found) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the tier enforces for a call that uses all of it, and what not."""
    from tongs import sandbox  # noqa: PLC0415 - starts nothing
    from tongs.sandbox.host import Host  # noqa: PLC0415 - as above
    from tongs.sandbox.waiting import BlockingWaiter  # noqa: PLC0415 - as above

    if not found.tier:
        return (), ()
    everything = Permissions(write=(_TEMPORARY,), scratch=(os.sep + "srv",))
    host = Host(scratch_view=found.scratch_view)
    back_end = sandbox.create(found.tier, direct=True, host=host)
    try:
        session = back_end.open(Policy(everything, Limits(), ""), BlockingWaiter())
        try:
            return tuple(session.enforced), tuple(session.not_enforced)
        finally:
            session.close()
    finally:
        back_end.close()


def _state_problem(state: str) -> str:
    trace = os.path.join(state, "doctor")
    try:
        private_folder(state)
        write_whole(trace, b"", sync=False)
        os.unlink(trace)
    except OSError as error:
        return str(error.strerror)
    return ""


def _names(folder: str) -> set[str]:
    try:
        return set(os.listdir(folder))
    except OSError:
        return set()
