"""The back end `seatbelt`: its profile as text, and its sessions with another wrapper."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.sandbox.running import (
    bash,
    command,
    dies_within,
    driven,
    ignore,
    is_alive,
    pid_in,
)
from tests.unit.sandbox.seatbelt_reading import Profile

from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import OutputArrived, Policy, Session
from tongs.core.permissions import Limits, Permissions
from tongs.sandbox import seatbelt
from tongs.sandbox.host import Host
from tongs.sandbox.portable import Manner, PortableSession
from tongs.sandbox.waiting import BlockingWaiter, LoopWaiter

HOST = Host(
    home="/people/ann",
    state="/people/ann/.local/state/tongs",
    authority=("/people/ann/.tongs", "/etc/tongs"),
)
TEMP = "/private/tmp/tongs-1"
PROJECT = "/people/ann/project"

# Where macOS keeps what is really under another name.
LINKS = {"/tmp": "/private/tmp", "/etc": "/private/etc", "/var": "/private/var"}


def on_macos(path: str) -> str:
    for link, real in LINKS.items():
        if path == link or path.startswith(link + "/"):
            return real + path.removeprefix(link)
    return os.path.normpath(path)


def made(
    *,
    host: Host = HOST,
    temp: str = TEMP,
    canonical: Callable[[str], str] = on_macos,
    **granted: object,
) -> Profile:
    permissions = Permissions(**granted)  # type: ignore[arg-type]  # the caller's own names
    return Profile.read(*seatbelt.profile(permissions, host=host, temp=temp, canonical=canonical))


# --- what is granted --------------------------------------------------------------------------


def test_nothing_granted_leaves_the_system_and_the_scratch() -> None:
    profile = made()

    assert profile.allows("process-exec")
    assert profile.allows("process-fork")
    assert profile.reads("/usr/lib/dyld")
    assert profile.reads("/dev/null")
    assert profile.allows("file-write-data", "/dev/null")
    assert profile.writes(f"{TEMP}/tmp/new")
    assert profile.reads(f"{TEMP}/control/script")
    for path in (PROJECT, f"{PROJECT}/file", "/people/ann/.ssh/id", "/private/etc/passwd"):
        assert not profile.reads(path)
        assert not profile.allows("file-read-metadata", path)
        assert not profile.writes(path)
    for path in (f"{TEMP}/control/script", "/usr/lib/dyld", "/", "/dev/disk0", TEMP):
        assert not profile.writes(path)


@pytest.mark.parametrize("operation", ["mach-lookup", "file-link", "iokit-open", "system-socket"])
def test_what_is_not_named_is_closed(operation: str) -> None:
    assert not made(network=True, write=(PROJECT,)).allows(operation, f"{PROJECT}/x")


def test_a_read_root_is_read_and_not_written() -> None:
    profile = made(read=(PROJECT,))

    assert profile.reads(PROJECT)
    assert profile.reads(f"{PROJECT}/deep/file")
    assert not profile.reads("/people/ann/project-of-another")
    assert not profile.writes(f"{PROJECT}/file")


def test_a_write_root_is_read_and_written() -> None:
    profile = made(write=(PROJECT,))

    assert profile.reads(f"{PROJECT}/file")
    assert profile.writes(f"{PROJECT}/file")
    assert not profile.writes("/people/ann/project-of-another/file")


def test_a_scratch_root_is_only_read_since_there_is_no_overlay() -> None:
    profile = made(scratch=(PROJECT,))

    assert profile.reads(f"{PROJECT}/file")
    assert not profile.writes(f"{PROJECT}/file")


def test_folders_above_a_root_can_be_asked_about_but_not_listed() -> None:
    profile = made(read=(PROJECT,))

    assert profile.allows("file-read-metadata", "/people/ann")
    assert not profile.reads("/people/ann")


def test_roots_are_named_as_the_kernel_sees_them() -> None:
    profile = made(write=("/tmp/out",), temp="/tmp/tongs-1")

    assert profile.writes("/private/tmp/out/file")
    assert profile.writes("/private/tmp/tongs-1/tmp/file")
    assert "/tmp/out" not in profile.parameters.values()


def test_an_interpreter_outside_the_system_brings_its_libraries() -> None:
    host = Host(
        home="/people/ann", programs=("/people/ann/.pyenv/3.13/bin/python3", "/people/ann/run")
    )

    profile = made(host=host)

    assert profile.reads("/people/ann/.pyenv/3.13/lib/os.py")
    assert profile.reads("/people/ann/run")
    assert not profile.reads("/people/ann/.ssh/id")


# --- what is held, whatever is granted ----------------------------------------------------------

PROTECTED = (".git/hooks/pre-commit", ".git/config", ".tongs/tools/x.yaml", ".kodelet/tools/x")


@pytest.mark.parametrize("name", PROTECTED)
def test_protected_paths_inside_a_write_root_are_read_only(name: str) -> None:
    profile = made(write=(PROJECT,))

    assert profile.reads(f"{PROJECT}/{name}")
    assert not profile.writes(f"{PROJECT}/{name}")
    assert profile.writes(f"{PROJECT}/.git/objects/aa")
    assert profile.writes(f"{PROJECT}/.git/index")


@pytest.mark.parametrize(
    ("root", "path"),
    [
        (f"{PROJECT}/.git", f"{PROJECT}/.git/hooks/pre-commit"),
        (f"{PROJECT}/.git/hooks", f"{PROJECT}/.git/hooks/pre-commit"),
        (f"{PROJECT}/.tongs/tools", f"{PROJECT}/.tongs/tools/x.yaml"),
    ],
)
def test_a_write_root_in_a_protected_place_opens_nothing(root: str, path: str) -> None:
    assert not made(write=(root,)).writes(path)


def test_folders_on_the_way_to_a_protected_path_can_be_neither_moved_nor_made() -> None:
    profile = made(write=(PROJECT,))

    for folder in (PROJECT, f"{PROJECT}/.git"):
        assert not profile.allows("file-write-unlink", folder, folder=True)
    assert not profile.allows("file-write-create", f"{PROJECT}/.git", folder=True)
    # In a worktree it is a file that names the real one.
    assert not profile.allows("file-write-data", f"{PROJECT}/.git")
    assert profile.allows("file-write-unlink", f"{PROJECT}/other", folder=True)
    assert profile.allows("file-write-create", f"{PROJECT}/other", folder=True)


def test_a_protected_path_that_is_a_link_is_held_at_both_ends() -> None:
    def canonical(path: str) -> str:
        return path.replace(f"{PROJECT}/.git/", f"{PROJECT}/elsewhere/")

    profile = made(write=(PROJECT,), canonical=canonical)

    for path in (f"{PROJECT}/.git", f"{PROJECT}/elsewhere", f"{PROJECT}/elsewhere/hooks"):
        assert not profile.allows("file-write-unlink", path)
    assert not profile.writes(f"{PROJECT}/elsewhere/hooks/pre-commit")


def test_a_venv_that_tools_run_from_is_read_only_inside_a_write_root() -> None:
    host = Host(home="/people/ann", programs=(f"{PROJECT}/env/bin/python", f"{PROJECT}/bin/tool"))

    profile = made(host=host, write=(PROJECT,))

    assert not profile.writes(f"{PROJECT}/env/lib/site.py")
    assert not profile.writes(f"{PROJECT}/bin/tool")
    assert profile.writes(f"{PROJECT}/bin/other")


def test_folders_of_authority_are_never_writable() -> None:
    profile = made(write=("/people/ann/.tongs/tools", "/private/etc"))

    assert not profile.writes("/people/ann/.tongs/tools/x.yaml")
    assert not profile.writes("/private/etc/tongs/config.yml")
    assert not profile.allows("file-write-unlink", "/private/etc/tongs")
    assert profile.writes("/private/etc/other")


@pytest.mark.parametrize(
    "granted",
    [
        {"read": ("/people/ann",)},
        {"read": ("/",)},
        {"read": ("/people/ann/.local/state/tongs/spool",)},
        {"write": ("/people/ann/.local/state",)},
        {"write": ("/people/ann/.local/state/tongs/spool",)},
    ],
)
def test_the_state_folder_is_granted_by_nothing(granted: Mapping[str, Any]) -> None:
    profile = made(**granted)

    for path in (HOST.state, f"{HOST.state}/audit", f"{HOST.state}/spool/1"):
        for operation in ("file-read-data", "file-read-metadata", "file-map-executable"):
            assert not profile.allows(operation, path)
        assert not profile.writes(path)
    for folder in ("/people/ann/.local/state", "/people/ann/.local", HOST.state):
        assert not profile.allows("file-write-unlink", folder, folder=True)


def test_the_state_folder_is_the_last_word_of_the_profile() -> None:
    last = Profile.read(*seatbelt.profile(Permissions(), host=HOST, temp=TEMP)).rules[-1]

    assert (last[0], last[-1]) == ("deny", ["subpath", ["param", ("STATE_0",)]])


@pytest.mark.parametrize("root", ["/", "/people", "/people/ann", "/people/ann/../ann"])
def test_the_home_directory_is_no_write_root(root: str) -> None:
    with pytest.raises(ToolError) as refused:
        made(write=(root,))

    assert refused.value.code == ErrorCode.PERMISSION_DENIED


# --- network ----------------------------------------------------------------------------------


@pytest.mark.parametrize("network", [False, ()])
def test_no_network_and_an_empty_list_are_no_network(network: object) -> None:
    profile = made(network=network)

    for operation in ("network-outbound", "network-inbound", "network-bind"):
        assert not profile.allows(operation, remote="ip", local="ip")
        assert not profile.allows(operation, "/private/var/run/mDNSResponder")


def test_network_is_ip_and_the_resolver_and_no_other_socket() -> None:
    profile = made(network=True, read=("/",), write=("/private/var/run",))

    assert profile.allows("network-outbound", remote="ip")
    assert profile.allows("network-outbound", "/private/var/run/mDNSResponder")
    assert profile.reads("/private/etc/resolv.conf")
    for socket in ("/private/var/run/docker.sock", "/private/tmp/ssh-agent"):
        assert not profile.allows("network-outbound", socket, remote="unix-socket")
        assert not profile.allows("network-bind", socket, local="unix-socket")


def test_a_list_of_hosts_is_refused() -> None:
    with pytest.raises(ToolError) as refused:
        made(network=("api.example.org",))

    assert refused.value == ToolError(
        ErrorCode.SANDBOX_UNAVAILABLE,
        "a list of hosts cannot be enforced on macOS",
        hint="grant `network: true`, or run tongs on Linux",
    )


# --- names that attack --------------------------------------------------------------------------

HOSTILE = (
    '/x")) (allow default) ((subpath "/',
    "/x\n(allow file-read*)\n",
    "/x'; rm -rf /;'",
    "/x\\",
    '/x#"y',
    "/x) ; comment",
    '/x(param "STATE_0")',
    "/x=y -D READ_0=/",
    "/xäöü\udcff",
    "/x y",
)


@pytest.mark.parametrize("name", HOSTILE)
def test_no_path_is_ever_part_of_the_text(name: str) -> None:
    hostile = Permissions(read=(name, name + "1"), write=(name + "2",), scratch=(name + "3",))
    plain = Permissions(read=("/r", "/r1"), write=("/w",), scratch=("/s",))

    def said(permissions: Permissions, extra: str) -> str:
        host = Host(
            "/people/ann", extra + "/state", (extra + "/user",), programs=(extra + "/a/b/c",)
        )
        return seatbelt.profile(permissions, host=host, temp=extra, canonical=str)[0]

    assert said(hostile, name) == said(plain, "/plain")
    assert said(hostile, name).isascii()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_grants_itself_and_nothing_else(name: str) -> None:
    profile = made(read=(name,), canonical=str)

    assert profile.reads(name + "/file")
    assert not profile.reads("/etc/passwd")
    assert not profile.allows("network-outbound", remote="ip")


@pytest.mark.parametrize("path", ["", "relative", "~/x", "/nul\0"])
def test_a_path_that_is_not_absolute_is_a_mistake(path: str) -> None:
    with pytest.raises(ValueError, match="not an absolute path"):
        made(read=(path,))


def test_the_empty_lists_say_nothing_about_everything() -> None:
    """A rule without a filter would fit every path."""
    text, _ = seatbelt.profile(Permissions(), host=Host(), temp=TEMP, canonical=on_macos)

    bare = [rule for rule in Profile.read(text, {}).rules if isinstance(rule[-1], str)]
    assert bare == [
        ["deny", "default"],
        ["allow", "process-exec"],
        ["allow", "process-fork"],
        ["allow", "sysctl-read"],
        ["allow", "ipc-posix-sem"],
        ["deny", "network*"],
    ]


def test_the_command_names_every_parameter_before_its_own_words() -> None:
    words = seatbelt.command(("-x", "--"), "(version 1)", {"READ_0": "/a=b c", "READ_1": "-d"})

    assert words == [
        *("/usr/bin/sandbox-exec", "-p", "(version 1)", "-DREAD_0=/a=b c", "-DREAD_1=-d"),
        *("--", "-x", "--"),
    ]


# --- the back end -------------------------------------------------------------------------------


def test_elsewhere_than_on_macos_no_session_opens() -> None:
    sandbox = seatbelt.create(direct=True, spool=None, temp_root="/tmp", host=Host())

    with pytest.raises(ToolError) as refused:
        sandbox.open(Policy(Permissions(), Limits(), "/"), BlockingWaiter())
    sandbox.close()

    assert refused.value.code == ErrorCode.SANDBOX_UNAVAILABLE


def test_on_macos_no_session_opens_before_the_trial_has_passed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(seatbelt, "sys", SimpleNamespace(platform="darwin"))
    sandbox = seatbelt.create(direct=True, spool=None, temp_root=str(tmp_path), host=Host())

    for _ in range(2):
        with pytest.raises(ToolError) as refused:
            sandbox.open(Policy(Permissions(), Limits(), "/"), BlockingWaiter())
        assert refused.value.code == ErrorCode.SANDBOX_UNAVAILABLE

    assert list(tmp_path.iterdir()) == []


def test_it_says_beforehand_what_it_cannot_enforce() -> None:
    sandbox = seatbelt.create(direct=True, spool=None, temp_root="/tmp", host=Host())

    assert set(sandbox.cannot_enforce(Policy(Permissions(), Limits(), "/"))).isdisjoint(
        seatbelt.ENFORCED
    )


def unconfined(words: Sequence[str], text: str, named: Mapping[str, str]) -> Sequence[str]:
    """In the place of sandbox-exec: a program that starts its words, and confines nothing."""
    return ["/usr/bin/env", "--", *words]


def test_a_profile_that_does_not_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ToolError) as refused:
        seatbelt.prove(str(tmp_path), unconfined)

    assert refused.value.code == ErrorCode.SANDBOX_UNAVAILABLE
    assert refused.value.message.endswith("(trial: 3)")
    assert list(tmp_path.iterdir()) == []


def test_a_system_without_sandbox_exec_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ToolError) as refused:
        seatbelt.prove(str(tmp_path))

    assert refused.value.code == ErrorCode.SANDBOX_UNAVAILABLE


def test_a_profile_that_holds_passes_the_trial(tmp_path: Path) -> None:
    """As it looks to the trial where the profile holds: nothing outside can be reached."""

    def held(words: Sequence[str], text: str, named: Mapping[str, str]) -> Sequence[str]:
        gone = [word if word not in words[5:7] else "/nonexistent/file" for word in words]
        return unconfined(gone, text, named)

    seatbelt.prove(str(tmp_path), held)


@pytest.fixture(params=["blocking", "loop"])
def loop(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "loop")


@pytest.fixture
def session(loop: bool, tmp_path: Path) -> Iterator[Session]:
    opened = seatbelt.confined(
        Policy(Permissions(), Limits(output=1000), "/"),
        LoopWaiter() if loop else BlockingWaiter(),
        host=Host(),
        spool=None,
        temp_root=str(tmp_path),
        wrap=unconfined,
    )
    yield opened
    opened.close()
    assert list(tmp_path.glob("tongs-*")) == []


def test_a_session_has_a_scratch_folder_and_says_what_it_enforces(session: Session) -> None:
    assert Path(session.scratch).is_dir()
    assert session.enforced == seatbelt.ENFORCED
    assert session.not_enforced == seatbelt.NOT_ENFORCED


def test_a_process_that_cannot_be_taken_hold_of_is_killed(tmp_path: Path) -> None:
    pids: list[int] = []

    def adopt(process: subprocess.Popen[bytes]) -> Callable[[], None]:
        pids.append(process.pid)
        raise ToolError(ErrorCode.SANDBOX_UNAVAILABLE, "no hold")

    session = PortableSession(
        Policy(Permissions(), Limits(), "/"),
        BlockingWaiter(),
        Manner(lambda asked, base: asked.argv, adopt, {}, (), ()),
        spool=None,
        temp_root=str(tmp_path),
    )
    with pytest.raises(ToolError) as refused:
        driven(session.run(command("sleep", "300"), ignore))
    session.close()

    assert refused.value.code == ErrorCode.SANDBOX_UNAVAILABLE
    assert dies_within(pids[0], 5)


def test_a_daemon_that_holds_a_pipe_does_not_hold_the_call(
    session: Session, loop: bool, tmp_path: Path
) -> None:
    script = 'setsid bash -c \'echo $$ > "$0.new"; mv "$0.new" "$0"; exec sleep 300\' "$1" & '
    script += 'until [ -e "$1" ]; do sleep 0.01; done'
    work = session.run(bash(script, str(tmp_path / "pid"), timeout=60), ignore)

    done = asyncio.run(work) if loop else driven(work)

    daemon = pid_in(tmp_path / "pid")
    # Declared: `tree-kill` is not among what this back end enforces.
    assert (done.exit_code, is_alive(daemon)) == (0, True)
    os.kill(daemon, 9)
    assert dies_within(daemon, 5)


def test_a_session_runs_a_command_to_its_end(session: Session, loop: bool) -> None:
    script = session.write("script", b"#!/bin/sh\ncat; echo err >&2; exit 7\n")
    events: list[object] = []
    work = session.run(command(script, stdin=b"in"), events.append)

    done = asyncio.run(work) if loop else driven(work)

    assert (done.exit_code, done.signal, done.timed_out) == (7, None, False)
    assert (done.stdout, done.stderr, done.lost) == (b"in", b"err\n", 0)
    assert OutputArrived(1, b"in") in events


def test_large_output_is_cut_and_counted(session: Session, loop: bool) -> None:
    work = session.run(bash("head -c 300000 /dev/zero"), ignore)

    done = asyncio.run(work) if loop else driven(work)

    assert (len(done.stdout), done.stdout_size, done.lost) == (1000, 300000, 299000)


def test_the_timeout_ends_the_process_group(session: Session, loop: bool, tmp_path: Path) -> None:
    script = 'sleep 300 & echo $! > "$1.new"; mv "$1.new" "$1"; wait'
    work = session.run(bash(script, str(tmp_path / "pid"), timeout=1.0), ignore)

    done = asyncio.run(work) if loop else driven(work)

    assert (done.exit_code, done.signal, done.timed_out) == (None, 9, True)
    assert dies_within(pid_in(tmp_path / "pid"), 5)


def test_what_is_left_in_the_group_dies_with_the_command(
    session: Session, loop: bool, tmp_path: Path
) -> None:
    work = session.run(bash('sleep 300 & echo $! > "$1"', str(tmp_path / "pid")), ignore)

    done = asyncio.run(work) if loop else driven(work)

    assert done.exit_code == 0
    assert dies_within(pid_in(tmp_path / "pid"), 5)


def test_a_cancelled_call_ends_its_processes(tmp_path: Path) -> None:
    session = seatbelt.confined(
        Policy(Permissions(), Limits(), "/"),
        LoopWaiter(),
        host=Host(),
        spool=None,
        temp_root=str(tmp_path),
        wrap=unconfined,
    )

    async def cancelled() -> int:
        started = asyncio.Event()
        loop = asyncio.get_running_loop()
        pids: list[bytes] = []

        def observe(event: object) -> None:
            assert isinstance(event, OutputArrived)
            pids.append(event.data)
            loop.call_soon_threadsafe(started.set)

        task = asyncio.create_task(session.run(bash("echo $$; exec sleep 300"), observe))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return int(pids[0])

    assert dies_within(asyncio.run(cancelled()), 5)
    session.close()


def test_a_command_that_cannot_start_is_an_error(session: Session, loop: bool) -> None:
    work = session.run(command("true", cwd="/nonexistent"), ignore)

    with pytest.raises(ToolError) as failed:
        asyncio.run(work) if loop else driven(work)

    assert failed.value.code == ErrorCode.EXECUTION_ERROR


@pytest.mark.parametrize("name", ["", "..", "a/b", "a\\b", "a\0"])
def test_only_plain_names_can_be_handed_over(session: Session, name: str) -> None:
    with pytest.raises(ValueError, match="plain file name"):
        session.write(name, b"")


def test_a_list_of_hosts_opens_no_session(tmp_path: Path) -> None:
    with pytest.raises(ToolError):
        seatbelt.confined(
            Policy(Permissions(network=("example.org",)), Limits(), "/"),
            BlockingWaiter(),
            host=Host(),
            spool=None,
            temp_root=str(tmp_path),
        )

    assert list(tmp_path.iterdir()) == []
