"""What a person can do about a layer that does not work here.

What failed is known from having tried it. Settings are read only to find the words.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping

from tongs.core.record import dataclass

_CONTAINERS = {"/.dockerenv": "docker", "/run/.containerenv": "podman"}
# gVisor has said nothing else for years; newer ones name themselves in the release.
_GVISOR = "#1 SMP Sun Jan 10 15:06:54 PST 2016"

_NAMESPACES = frozenset(f"{kind} namespaces" for kind in ("user", "pid", "network", "ipc")) | {
    "private root"
}
_REPORT = "Please report this with the whole output of tongs doctor"
_REFUSED = (errno.EPERM, errno.EACCES)

_PROFILE = """\
Ubuntu lets only programs with an AppArmor profile use them. As root, write this to
/etc/apparmor.d/tongs and load it with: apparmor_parser -r /etc/apparmor.d/tongs
    abi <abi/4.0>,
    profile tongs {python} flags=(unconfined) {{
      userns,
    }}
It holds for everything that this Python runs. For all programs of the machine instead:
sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"""

_CONTAINER = {
    "docker": """\
the container was started without them; to have them:
docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined \\
    --security-opt systempaths=unconfined …
or, for less, seccomp=FILE with a copy of Docker's default profile that allows clone, unshare,
mount, umount2, pivot_root, open_tree, move_mount and mount_setattr""",
    "podman": """\
the container was started without them; to have them:
podman run --security-opt seccomp=unconfined --security-opt unmask=ALL …""",
}


@dataclass(frozen=True, slots=True)
class Facts:
    """What this machine says about itself; None and empty where it says nothing."""

    release: str = ""
    version: str = ""
    container: str = ""
    # A seccomp filter stands around Tongs itself.
    filtered: bool = False
    max_user_namespaces: int | None = None
    unprivileged_userns_clone: int | None = None
    apparmor_restrict: int | None = None
    # The security modules of the running kernel.
    lsm: str = ""
    python: str = ""

    @property
    def kernel(self) -> tuple[int, int]:
        found = re.match(r"(\d+)\.(\d+)", self.release)
        return (int(found[1]), int(found[2])) if found else (0, 0)

    @property
    def is_wsl1(self) -> bool:
        # The second version writes its name small.
        return "Microsoft" in self.release

    @property
    def is_gvisor(self) -> bool:
        return "gvisor" in self.release.lower() or _GVISOR in self.version


def facts() -> Facts:
    system = os.uname() if hasattr(os, "uname") else None
    return Facts(
        release=system.release if system else "",
        version=system.version if system else "",
        container=next((kind for path, kind in _CONTAINERS.items() if os.path.exists(path)), ""),
        filtered="\nSeccomp:\t2\n" in _read("/proc/self/status"),
        max_user_namespaces=_number("/proc/sys/user/max_user_namespaces"),
        unprivileged_userns_clone=_number("/proc/sys/kernel/unprivileged_userns_clone"),
        apparmor_restrict=_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
        lsm=_read("/sys/kernel/security/lsm").strip(),
        python=os.path.realpath(sys.executable),
    )


def remedy(layer: str, number: int, known: Facts) -> str:
    """How to get a layer that failed with this errno, in one or more lines."""
    if known.is_wsl1:
        return "WSL 1 has no Linux kernel; in PowerShell: wsl --set-version DISTRIBUTION 2"
    if known.is_gvisor:
        return "gVisor offers only a part of Linux: use a container of another runtime (runc)"
    if layer in _NAMESPACES:
        return "\n".join(_for_namespaces(layer, number, known))
    if layer in _BY_ERROR:
        return _BY_ERROR[layer](number, known)
    return _ALWAYS[layer].format(release=known.release)


def _for_namespaces(layer: str, number: int, known: Facts) -> Iterator[str]:
    if number == errno.ENOSPC:
        now = known.max_user_namespaces
        yield "as root: sysctl -w user.max_user_namespaces=15000" + (
            f" (it is {now} now)" if now is not None else ""
        )
        yield "to keep it, write user.max_user_namespaces=15000 to /etc/sysctl.d/60-tongs.conf"
    elif number == errno.EUSERS:
        yield "user namespaces are nested too deeply here: start Tongs further outside"
    elif number in (errno.EINVAL, errno.ENOSYS):
        yield _kernel_without(layer, known)
    elif number in _REFUSED and known.unprivileged_userns_clone == 0:
        yield "as root: sysctl -w kernel.unprivileged_userns_clone=1"
    elif number in _REFUSED and known.apparmor_restrict:
        yield _PROFILE.format(python=known.python)
    elif number in _REFUSED and known.container:
        yield _CONTAINER[known.container]
    elif number in _REFUSED and known.filtered:
        yield "a seccomp filter around Tongs refuses it, as a container or a service manager sets"
        yield "one: start Tongs outside of it, or allow clone, unshare and mount in its profile"
    elif number in _REFUSED:
        yield "something around Tongs refuses it: a chroot, a security module or a container"
    else:
        yield _REPORT


def _kernel_without(layer: str, known: Facts) -> str:
    if layer == "private root" and known.kernel < (5, 12):
        return f"it needs Linux 5.12 or newer, this is {known.release}"
    return "this kernel was built without it (CONFIG_USER_NS and the other CONFIG_*_NS)"


def _for_landlock(number: int, known: Facts) -> str:
    if number == errno.EOPNOTSUPP:
        others = known.lsm or "lockdown,yama,integrity,apparmor"
        return (
            "it is switched off: add the boot parameter lsm=landlock,"
            f"{others} (GRUB_CMDLINE_LINUX in /etc/default/grub, then update-grub)"
        )
    if number != errno.ENOSYS:
        return _REPORT
    if known.kernel < (5, 13):
        return f"it needs Linux 5.13 or newer, this is {known.release}"
    if known.container or known.filtered:
        return (
            "a seccomp filter around Tongs hides it: a newer Docker or Podman lets it through,\n"
            "or allow landlock_create_ruleset, landlock_add_rule and landlock_restrict_self"
        )
    return "this kernel was built without it (CONFIG_SECURITY_LANDLOCK)"


def _for_scratch_view(number: int, known: Facts) -> str:
    if number == errno.ENODEV:
        return "as root: modprobe overlay"
    if known.kernel < (5, 11):
        return f"it needs Linux 5.11 or newer, this is {known.release}"
    return "without it a tool of tag `read` cannot write at all. " + _REPORT


_BY_ERROR: Mapping[str, Callable[[int, Facts], str]] = {
    "landlock": _for_landlock,
    "scratch view": _for_scratch_view,
}

_ALWAYS = {
    "linux": "run Tongs on Linux (on Windows: inside WSL 2)",
    "system calls": """\
Tongs needs Linux 5.12 or newer on x86_64 or aarch64, this is {release};
in a container an old seccomp profile may hide calls: use a newer Docker or Podman""",
    "seccomp": "this kernel was built without it (CONFIG_SECCOMP_FILTER)",
    "no_new_privs": "it needs Linux 3.5 or newer, this is {release}",
    "scratch folder": "make /tmp a folder that everybody may write: chmod 1777 /tmp",
    "cgroups": """\
not needed: a watchdog looks at the whole tree instead. For the kernel's own count:
systemd-run --user --scope -p Delegate=yes tongs …""",
}


def _number(path: str) -> int | None:
    text = _read(path).strip()
    return int(text) if text.isdecimal() else None


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
