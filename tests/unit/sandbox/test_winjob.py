"""The back end `winjob`: the bytes of its limits, and what it refuses."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from ctypes import c_int64, c_uint32, c_uint64
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.unit.sandbox.running import command, driven, ignore

from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Policy
from tongs.core.permissions import Limits, Permissions
from tongs.sandbox import winjob
from tongs.sandbox.host import Host
from tongs.sandbox.waiting import BlockingWaiter


class Basic(ctypes.Structure):
    """JOBOBJECT_BASIC_LIMIT_INFORMATION, laid out by the compiler's own rules for 64 bits."""

    _fields_ = (
        ("PerProcessUserTimeLimit", c_int64),
        ("PerJobUserTimeLimit", c_int64),
        ("LimitFlags", c_uint32),
        ("MinimumWorkingSetSize", c_uint64),
        ("MaximumWorkingSetSize", c_uint64),
        ("ActiveProcessLimit", c_uint32),
        ("Affinity", c_uint64),
        ("PriorityClass", c_uint32),
        ("SchedulingClass", c_uint32),
    )


class Extended(ctypes.Structure):
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION."""

    _fields_ = (
        ("BasicLimitInformation", Basic),
        ("IoInfo", c_uint64 * 6),
        ("ProcessMemoryLimit", c_uint64),
        ("JobMemoryLimit", c_uint64),
        ("PeakProcessMemoryUsed", c_uint64),
        ("PeakJobMemoryUsed", c_uint64),
    )


def read(data: bytes) -> dict[str, int]:
    """Every field that is not zero."""
    assert len(data) == ctypes.sizeof(Extended)
    whole = Extended.from_buffer_copy(data)
    basic = whole.BasicLimitInformation
    found = {name: getattr(basic, name) for name, _ in Basic._fields_}
    found |= {name: getattr(whole, name) for name, _ in Extended._fields_[2:]}
    found |= {f"IoInfo{number}": count for number, count in enumerate(whole.IoInfo)}
    return {name: value for name, value in found.items() if value}


def test_the_limits_of_a_call_become_those_of_a_job() -> None:
    data = winjob.limit_information(Limits(memory=5 << 30, processes=17, cpu=2.5))

    assert read(data) == {
        "LimitFlags": 0x4 | 0x8 | 0x200 | 0x400 | 0x2000,
        "PerJobUserTimeLimit": 25_000_000,
        "ActiveProcessLimit": 17,
        "JobMemoryLimit": 5 << 30,
    }


def test_without_a_cpu_limit_time_is_not_limited() -> None:
    assert read(winjob.limit_information(Limits(memory=1 << 20, processes=1))) == {
        "LimitFlags": 0x8 | 0x200 | 0x400 | 0x2000,
        "ActiveProcessLimit": 1,
        "JobMemoryLimit": 1 << 20,
    }


@pytest.mark.parametrize("limits", [Limits(), Limits(cpu=1.0)])
def test_the_tree_dies_with_the_job_and_nothing_breaks_away(limits: Limits) -> None:
    breakaway = 0x800 | 0x1000

    assert winjob.limit_flags(limits) & (0x2000 | breakaway) == 0x2000


def test_no_limit_turns_into_none_by_being_zero_or_too_large() -> None:
    least = read(winjob.limit_information(Limits(memory=0, processes=0, cpu=0.0)))
    most = read(winjob.limit_information(Limits(memory=1 << 80, processes=1 << 40, cpu=1e30)))

    limited = ("PerJobUserTimeLimit", "ActiveProcessLimit", "JobMemoryLimit")
    assert [least[name] for name in limited] == [1, 1, 1]
    assert [most[name] for name in limited] == [(1 << 63) - 1, (1 << 32) - 1, (1 << 64) - 1]


def test_a_system_of_32_bits_gets_the_smaller_structure() -> None:
    data = winjob.limit_information(Limits(memory=1 << 40, processes=9), pointer=4)

    # 44 bytes and 4 of alignment, 48 of counters, 4 words of memory.
    assert len(data) == 48 + 48 + 16
    assert int.from_bytes(data[28:32], "little") == 9
    assert int.from_bytes(data[100:104], "little") == (1 << 32) - 1


def test_elsewhere_than_on_windows_no_session_opens() -> None:
    sandbox = winjob.create(direct=True, spool=None, temp_root="/tmp", host=Host())
    everything = Permissions(network=True, write=("/",))

    with pytest.raises(ToolError) as refused:
        sandbox.open(Policy(everything, Limits(), "/"), BlockingWaiter())
    sandbox.close()

    assert refused.value.code == ErrorCode.SANDBOX_UNAVAILABLE


@pytest.mark.parametrize(
    ("permissions", "broken"),
    [
        (Permissions(), ["network", "fs.read", "fs.write"]),
        (Permissions(network=True), ["fs.read", "fs.write"]),
        (Permissions(network=True, read=("/",)), ["fs.read", "fs.write"]),
        (Permissions(network=True, write=("/project",)), ["fs.read", "fs.write"]),
        (Permissions(network=(), write=("/",)), ["network"]),
        (Permissions(network=("example.org",), write=("/",)), ["network"]),
    ],
)
def test_a_promise_about_files_or_network_is_refused(
    permissions: Permissions, broken: list[str]
) -> None:
    with pytest.raises(ToolError) as refused:
        winjob.check(permissions)

    assert refused.value.code == ErrorCode.SANDBOX_UNAVAILABLE
    assert refused.value.details["notEnforced"] == broken
    assert "WSL 2" in refused.value.hint


def test_a_tool_that_may_do_everything_is_promised_nothing() -> None:
    winjob.check(Permissions(network=True, write=("/",)))


def test_a_session_on_windows_says_what_it_enforces(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What starts there cannot start here: this system knows no suspended process."""
    monkeypatch.setattr(winjob, "sys", SimpleNamespace(platform="win32"))
    sandbox = winjob.create(direct=True, spool=None, temp_root=str(tmp_path), host=Host())
    everything = Permissions(network=True, write=("/",))

    session = sandbox.open(Policy(everything, Limits(), "/"), BlockingWaiter())
    with pytest.raises(ToolError) as failed:
        driven(session.run(command("true"), ignore))
    session.close()

    assert (session.enforced, session.not_enforced) == (winjob.ENFORCED, winjob.NOT_ENFORCED)
    assert failed.value.code == ErrorCode.EXECUTION_ERROR


def test_it_says_beforehand_what_it_cannot_enforce() -> None:
    sandbox = winjob.create(direct=True, spool=None, temp_root="/tmp", host=Host())

    said = sandbox.cannot_enforce(Policy(Permissions(), Limits(), "/"))

    assert {"network", "fs.read", "fs.write"} <= set(said)
    assert set(said).isdisjoint(winjob.ENFORCED)


@pytest.mark.parametrize("module", ["winjob", "seatbelt"])
def test_the_module_loads_nothing_of_its_system(module: str) -> None:
    program = f"import sys, tongs.sandbox.{module}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], env={}, capture_output=True, text=True, check=True
    )

    loaded = set(done.stdout.split())
    assert loaded.isdisjoint({"ctypes", "subprocess", "tempfile", "threading", "asyncio"})
