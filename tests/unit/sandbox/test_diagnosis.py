"""Each layer tried by itself, and what is said about one that does not work."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.sandbox.running import children, open_descriptors

from tongs.sandbox import diagnosis
from tongs.sandbox.diagnosis import NEEDED, Layer, Seen, Wrong, diagnose, tried
from tongs.sandbox.remedies import Facts, facts, remedy
from tongs.sandbox.trials import TRIALS

WITHOUT_USERNS = str(Path(__file__).parents[2] / "without_userns.py")
NAMESPACES = (
    *("user namespaces", "pid namespaces", "network namespaces", "ipc namespaces"),
    *("private root", "scratch view"),
)


def diagnosed_elsewhere(*options: str) -> dict[str, tuple[bool, str, str]]:
    """The layers behind a real filter, by name."""
    program = (
        "import json; from tongs.sandbox.diagnosis import diagnose;"
        "print(json.dumps({l.name: (l.works, l.detail, l.remedy) for l in diagnose()}))"
    )
    done = subprocess.run(
        [sys.executable, WITHOUT_USERNS, *options, "--", sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
    )
    return {name: tuple(layer) for name, layer in json.loads(done.stdout).items()}


def test_every_layer_works_here_but_those_of_a_service_manager() -> None:
    layers = diagnose()

    assert [layer.name for layer in layers] == list(TRIALS)
    # An ordinary user has no group to make groups in, unless a service manager gave one.
    assert [layer.name for layer in layers if not layer.works] in ([], ["cgroups"])
    assert all(layer.detail for layer in layers)
    assert not any(layer.remedy for layer in layers if layer.works)


def test_every_needed_layer_is_one_that_is_tried() -> None:
    assert {name for names in NEEDED.values() for name in names} <= set(TRIALS)


def test_a_diagnosis_leaves_nothing_behind(tmp_path: Path) -> None:
    before = (children(), open_descriptors())

    diagnose(str(tmp_path))

    assert (children(), open_descriptors()) == before
    assert list(tmp_path.glob("tongs-*/*")) == []


def test_without_user_namespaces_the_layers_on_them_fail_and_one_remedy_is_told() -> None:
    layers = diagnosed_elsewhere()

    failed = [name for name, (works, _, _) in layers.items() if not works and name != "cgroups"]
    assert failed == list(NAMESPACES)
    assert {layers[name][1] for name in failed} == {"clone: Operation not permitted"}
    assert [name for name in failed if layers[name][2]] == ["user namespaces"]


def test_without_landlock_its_layer_fails_too() -> None:
    layers = diagnosed_elsewhere("--no-landlock")

    works, detail, told = layers["landlock"]
    assert (works, detail) == (False, "landlock_create_ruleset: Function not implemented")
    assert "seccomp" in told


def test_without_a_scratch_folder_nothing_is_tried(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")

    assert diagnose(missing) == (
        Layer(
            "scratch folder",
            works=False,
            detail=f"{missing}/tongs-{os.geteuid()}: No such file or directory",
            remedy="make /tmp a folder that everybody may write: chmod 1777 /tmp",
        ),
    )


def raises_wrong() -> str:
    raise Wrong("it does not hold")


def raises_plain() -> str:
    raise PermissionError(errno.EPERM, "Operation not permitted", "/some/path")


def ends() -> str:
    os._exit(3)


def breaks() -> str:
    raise RuntimeError("a mistake of ours")


@pytest.mark.parametrize(
    ("trial", "seen"),
    [
        (lambda: "fine", Seen(works=True, detail="fine")),
        (raises_wrong, Seen(works=False, detail="it does not hold")),
        (
            raises_plain,
            Seen(works=False, detail="/some/path: Operation not permitted", number=errno.EPERM),
        ),
        (ends, Seen(works=False, detail="it ended without an answer")),
        (breaks, Seen(works=False, detail="it ended without an answer")),
    ],
    ids=["works", "wrong", "error", "ends", "breaks"],
)
def test_what_a_trial_does_is_what_was_seen(trial: object, seen: Seen) -> None:
    assert tried(trial) == seen  # type: ignore[arg-type]  # one type for all of them


def test_a_trial_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "_PATIENCE", 50)
    reading, writing = os.pipe()
    before = children()

    seen = tried(lambda: str(os.read(reading, 1)))

    assert seen == Seen(works=False, detail="it hangs")
    assert children() == before
    os.close(reading)
    os.close(writing)


def test_a_trial_in_namespaces_that_are_refused_tells_the_call() -> None:
    # The kernel refuses this pair, whoever asks.
    new_user_sharing_files = 0x10000000 | 0x00000200

    seen = tried(lambda: "never", new_user_sharing_files)

    assert seen == Seen(works=False, detail="clone: Invalid argument", number=errno.EINVAL)


UBUNTU = Facts(release="6.8.0-31-generic", apparmor_restrict=1, python="/usr/bin/python3.12")
DEBIAN = Facts(release="5.10.0-28-amd64", unprivileged_userns_clone=0)


@pytest.mark.parametrize(
    ("layer", "number", "known", "words"),
    [
        ("user namespaces", errno.ENOSPC, Facts(max_user_namespaces=0), "(it is 0 now)"),
        ("user namespaces", errno.ENOSPC, Facts(), "sysctl -w user.max_user_namespaces=15000"),
        ("user namespaces", errno.EUSERS, Facts(), "nested"),
        ("user namespaces", errno.EINVAL, Facts(), "CONFIG_USER_NS"),
        ("user namespaces", errno.EPERM, DEBIAN, "kernel.unprivileged_userns_clone=1"),
        ("user namespaces", errno.EACCES, UBUNTU, "profile tongs /usr/bin/python3.12 flags"),
        ("private root", errno.EPERM, UBUNTU, "apparmor_parser -r /etc/apparmor.d/tongs"),
        ("user namespaces", errno.EPERM, Facts(container="docker"), "docker run --security-opt"),
        ("private root", errno.EPERM, Facts(container="podman"), "podman run"),
        ("user namespaces", errno.EPERM, Facts(filtered=True), "seccomp filter around Tongs"),
        ("user namespaces", errno.EPERM, Facts(), "chroot"),
        ("user namespaces", errno.EIO, Facts(), "report"),
        ("private root", errno.ENOSYS, Facts(release="5.4.0"), "Linux 5.12 or newer"),
        ("landlock", errno.ENOSYS, Facts(release="5.4.0"), "Linux 5.13 or newer, this is 5.4.0"),
        ("landlock", errno.ENOSYS, Facts(release="6.1.0"), "CONFIG_SECURITY_LANDLOCK"),
        ("landlock", errno.ENOSYS, Facts(release="6.1.0", container="docker"), "newer Docker"),
        ("landlock", errno.EOPNOTSUPP, Facts(lsm="yama,apparmor"), "lsm=landlock,yama,apparmor"),
        ("landlock", errno.EIO, Facts(), "report"),
        ("scratch view", errno.ENODEV, Facts(release="6.1.0"), "modprobe overlay"),
        ("scratch view", errno.EPERM, Facts(release="5.4.0"), "Linux 5.11 or newer"),
        ("scratch view", errno.EINVAL, Facts(release="6.1.0"), "tag `read`"),
        ("cgroups", 0, Facts(), "watchdog"),
        ("seccomp", errno.EINVAL, Facts(), "CONFIG_SECCOMP_FILTER"),
        ("system calls", errno.ENOSYS, Facts(release="4.18.0"), "this is 4.18.0"),
        ("linux", errno.ENOSYS, Facts(), "WSL 2"),
        ("landlock", errno.ENOSYS, Facts(release="4.4.0-19041-Microsoft"), "--set-version"),
        ("landlock", errno.ENOSYS, Facts(release="4.19.0-gvisor"), "gVisor"),
    ],
)
def test_a_remedy_fits_what_was_seen(layer: str, number: int, known: Facts, words: str) -> None:
    assert words in remedy(layer, number, known)


def test_every_layer_has_a_remedy_for_every_error() -> None:
    for layer in TRIALS:
        for number in (0, *errno.errorcode):
            assert remedy(layer, number, Facts(release="6.1.0"))


def test_the_second_version_of_wsl_is_a_linux_like_any_other() -> None:
    assert not Facts(release="5.15.153.1-microsoft-standard-WSL2").is_wsl1


def test_the_facts_are_those_of_this_machine() -> None:
    found = facts()

    assert (found.release, found.python) == (os.uname().release, os.path.realpath(sys.executable))
    assert found.kernel >= (5, 13)
    assert not found.is_wsl1
    assert not found.is_gvisor
