"""The sandbox of a runtime: what the machine can do, what the person wants, and never less."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.sandbox.running import command, driven, ignore

from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Policy
from tongs.core.permissions import Limits, Permissions
from tongs.runtime.enforcing import ChosenSandbox
from tongs.sandbox.host import Host
from tongs.sandbox.probe import stamp
from tongs.sandbox.waiting import BlockingWaiter

ROOT = Path(__file__).parents[3]
WITHOUT_USERNS = ROOT / "tests" / "without_userns.py"

WALLS = {"network", "fs.read", "fs.write"}
HOSTS = Policy(Permissions(network=("example.org",)), Limits(), "/")


class Machine:
    """Makes sandboxes over one state folder."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.answer = state / "sandbox"
        self._made: list[ChosenSandbox] = []

    def sandbox(self, enforcement: str = "strict") -> ChosenSandbox:
        made = ChosenSandbox(enforcement, Host, direct=True, spool=None, state=str(self.state))
        self._made.append(made)
        return made

    def remember(
        self, tier: str, view: str = "1", *, at: str | None = None, seconds_ago: int = 0
    ) -> None:
        """As if the machine had been asked before."""
        asked = int(time.time()) - seconds_ago
        self.answer.write_text(f"{stamp() if at is None else at}\n{tier}\n{view}\n{asked}\n")

    def close(self) -> None:
        for made in self._made:
            made.close()


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path)
    yield made
    made.close()


def policy(**permissions: Any) -> Policy:
    return Policy(Permissions(**permissions), Limits(), "/")


def enforced(sandbox: ChosenSandbox, wanted: Policy | None = None) -> set[str]:
    session = sandbox.open(wanted or policy(), BlockingWaiter())
    try:
        assert driven(session.run(command("true"), ignore)).exit_code == 0
        return {*session.enforced}
    finally:
        session.close()


def test_machine_is_asked_once_and_its_answer_kept(machine: Machine) -> None:
    # On the first call of all there is no state folder yet.
    machine.state.rmdir()

    found = machine.sandbox().found()

    assert stat.S_IMODE(machine.state.stat().st_mode) == 0o700
    assert (found.tier, found.scratch_view) == ("namespaces", True)
    assert machine.answer.read_text().startswith(f"{stamp()}\nnamespaces\n1\n")


def test_kept_answer_is_taken_without_asking_again(machine: Machine) -> None:
    # This machine itself would give the other answer.
    machine.remember("landlock", "0")
    before = machine.answer.stat().st_mtime_ns

    sandbox = machine.sandbox()

    assert (sandbox.found().tier, sandbox.found().scratch_view) == ("landlock", False)
    assert "processes:watchdog" in enforced(sandbox)
    assert machine.answer.stat().st_mtime_ns == before


def test_answer_of_another_kernel_user_or_boot_is_not_taken(machine: Machine) -> None:
    machine.remember("landlock", at="another stamp")

    assert machine.sandbox().found().tier == "namespaces"
    assert machine.answer.read_text().startswith(f"{stamp()}\nnamespaces\n1\n")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe\0",
        b"STAMP\n",
        b"STAMP\nlimits\n1\n",
        b"STAMP\nlandlock\n",
        b"STAMP\nlandlock\n1\nmore\n",
        b"STAMP\nlandlock\n1\n9999999999999\n",
        b"STAMP\nlandlock\n1\n1\nmore\n",
        b"STAMP\nlandlock\n" + b"1" * 100_000,
    ],
)
def test_answer_that_is_broken_is_not_taken(machine: Machine, content: bytes) -> None:
    machine.answer.write_bytes(content.replace(b"STAMP", stamp().encode()))

    assert machine.sandbox().found().tier == "namespaces"


def test_folder_in_the_place_of_the_answer_is_no_trouble(machine: Machine) -> None:
    machine.answer.mkdir()

    assert machine.sandbox().found().tier == "namespaces"


def test_state_folder_that_cannot_be_written_is_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    machine = Machine(tmp_path / "file" / "state")

    assert "network" in enforced(machine.sandbox())
    machine.close()


def test_less_than_the_best_is_not_believed_for_long(machine: Machine) -> None:
    machine.remember("landlock", seconds_ago=3600)

    assert machine.sandbox().found().tier == "namespaces"


def test_the_best_is_believed_until_the_machine_is_another(machine: Machine) -> None:
    machine.remember("namespaces", "0", seconds_ago=10**6)

    assert machine.sandbox().found().scratch_view is False


def test_answer_for_want_of_descriptors_is_not_kept(tmp_path: Path) -> None:
    program = """
import resource, sys
from tongs.runtime.enforcing import found_here
resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))
print(found_here(sys.argv[1], direct=True).tier)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == ""
    assert not (tmp_path / "sandbox").exists()


def test_machine_can_be_asked_again(machine: Machine) -> None:
    machine.remember("landlock")
    sandbox = machine.sandbox()
    assert sandbox.found().tier == "landlock"

    assert sandbox.found(again=True).tier == "namespaces"
    assert sandbox.found().tier == "namespaces"
    assert "\nnamespaces\n" in machine.answer.read_text()


def test_scratch_view_that_the_kernel_cannot_show_is_declared(
    machine: Machine, tmp_path: Path
) -> None:
    machine.remember("namespaces", "0")
    wanted = policy(read=(str(tmp_path),), scratch=(str(tmp_path),))

    assert "scratch-view" in machine.sandbox().cannot_enforce(wanted)
    machine.remember("namespaces", "1")
    assert "scratch-view" not in machine.sandbox().cannot_enforce(wanted)


def test_off_confines_nothing_and_asks_nothing(machine: Machine) -> None:
    sandbox = machine.sandbox("off")

    assert WALLS.isdisjoint(enforced(sandbox))
    assert {*sandbox.cannot_enforce(policy())} >= WALLS
    assert not machine.answer.exists()


def test_best_effort_is_as_strong_as_the_machine(machine: Machine) -> None:
    strict, effort = machine.sandbox(), machine.sandbox("best-effort")

    assert enforced(effort) == enforced(strict)
    assert list(effort.cannot_enforce(policy())) == list(strict.cannot_enforce(policy()))
    assert WALLS.isdisjoint(strict.cannot_enforce(policy()))


def test_policy_that_a_tier_cannot_hold_is_refused_or_said_to_be_unheld(machine: Machine) -> None:
    machine.remember("landlock")

    with pytest.raises(ToolError) as caught:
        machine.sandbox().open(HOSTS, BlockingWaiter())
    assert caught.value.code is ErrorCode.SANDBOX_UNAVAILABLE
    assert list(machine.sandbox().cannot_enforce(HOSTS)) == []

    effort = machine.sandbox("best-effort")
    assert "network" not in enforced(effort, HOSTS)
    assert "network" in effort.cannot_enforce(HOSTS)


@pytest.mark.parametrize("enforcement", ["strict", "best-effort"])
def test_what_nobody_can_be_granted_is_refused_in_every_mode_with_walls(
    machine: Machine, enforcement: str
) -> None:
    sandbox = machine.sandbox(enforcement)

    for refused in (sandbox.open, lambda wanted, _: sandbox.cannot_enforce(wanted)):
        with pytest.raises(ToolError) as caught:
            refused(policy(write=("/",)), BlockingWaiter())
        assert caught.value.code is ErrorCode.PERMISSION_DENIED


def test_sandbox_tells_of_its_host(machine: Machine) -> None:
    assert machine.sandbox().host == Host()


@pytest.mark.parametrize(
    ("platform", "key"), [("darwin", "seatbelt"), ("win32", "winjob"), ("freebsd14", "limits")]
)
def test_other_systems_have_back_ends_of_their_own(
    machine: Machine, platform: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)

    assert type(machine.sandbox()._chosen("strict")).__module__ == f"tongs.sandbox.{key}"


# --- machines that can do less --------------------------------------------------------------------

# Opens a session with the enforcement of its first argument, and tells what came of it.
PROGRAM = """
import json, sys
from tests.unit.runtime.test_enforcing import Machine, policy
from tests.unit.sandbox.running import bash, driven, ignore
from pathlib import Path
from tongs.core.errors import ToolError
from tongs.sandbox.waiting import BlockingWaiter

machine = Machine(Path(sys.argv[2]))
if sys.argv[3:]:
    machine.remember(sys.argv[3])
sandbox = machine.sandbox(sys.argv[1])
told = {"cannot": list(sandbox.cannot_enforce(policy()))}
try:
    session = sandbox.open(policy(), BlockingWaiter())
    told["enforced"] = list(session.enforced)
    told["output"] = driven(session.run(bash("echo ran"), ignore)).stdout.decode()
    session.close()
except ToolError as error:
    told["code"] = error.code.value
    told["message"] = error.message
    told["details"] = dict(error.details)
sandbox.close()
print(json.dumps(told))
"""


def elsewhere(state: Path, *arguments: str, landlock: bool = False) -> dict[str, Any]:
    """What becomes of it on a host without user namespaces, and perhaps without Landlock."""
    around = [str(WITHOUT_USERNS), *([] if landlock else ["--no-landlock"]), "--"]
    program = [sys.executable, "-c", PROGRAM, arguments[0], str(state), *arguments[1:]]
    done = subprocess.run(
        [sys.executable, *around, *program],
        cwd=ROOT,
        env={key: os.environ[key] for key in os.environ if key == "PATH" or "COVERAGE" in key},
        capture_output=True,
        timeout=30,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_machine_that_can_confine_nothing_refuses_with_the_reasons(tmp_path: Path) -> None:
    told = elsewhere(tmp_path, "strict")

    assert (told["code"], told["cannot"]) == ("SANDBOX_UNAVAILABLE", [])
    assert told["message"].startswith("this machine cannot confine a tool (namespaces: ")
    assert sorted(told["details"]["tiers"]) == ["landlock", "namespaces"]
    assert told["details"]["hint"] == "`tongs doctor` tells what is missing and how to get it"
    # Somebody may mend it, so it will be asked again.
    assert not (tmp_path / "sandbox").exists()


def test_best_effort_on_such_a_machine_runs_and_says_what_is_missing(tmp_path: Path) -> None:
    told = elsewhere(tmp_path, "best-effort")

    assert told["output"] == "ran\n"
    assert {*told["cannot"]} >= WALLS
    assert WALLS.isdisjoint(told["enforced"])


def test_machine_without_user_namespaces_takes_the_second_tier(tmp_path: Path) -> None:
    told = elsewhere(tmp_path, "strict", landlock=True)

    assert told["output"] == "ran\n"
    assert {"network", "fs.read", "fs.write", "processes:watchdog"} <= {*told["enforced"]}
    assert "\nlandlock\n" in (tmp_path / "sandbox").read_text()


@pytest.mark.parametrize("enforcement", ["strict", "best-effort"])
def test_wall_that_cannot_be_put_up_in_the_end_lets_nothing_run(
    tmp_path: Path, enforcement: str
) -> None:
    # An answer that holds no longer: a session opens, and its first command finds out.
    told = elsewhere(tmp_path, enforcement, "namespaces", landlock=True)

    assert told["code"] == "SANDBOX_UNAVAILABLE"
    assert "namespaces" in told["message"]
    assert "output" not in told
