"""The tables of system calls against what is known from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

from tongs.sandbox.syscalls import AUDIT_ARCH, NUMBERS


def test_architectures_are_named_as_the_kernel_names_them() -> None:
    assert AUDIT_ARCH == {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def test_no_two_calls_share_a_number() -> None:
    assert {m: len(set(table.values())) for m, table in NUMBERS.items()} == {
        m: len(table) for m, table in NUMBERS.items()
    }


def test_numbers_are_those_of_the_manual_pages() -> None:
    known = {
        "x86_64": {"clone": 56, "execve": 59, "prctl": 157, "pivot_root": 155, "mount": 165},
        "aarch64": {"clone": 220, "execve": 221, "prctl": 167, "pivot_root": 41, "mount": 40},
    }
    known["x86_64"] |= {"umount2": 166, "unshare": 272, "setns": 308, "seccomp": 317}
    known["aarch64"] |= {"umount2": 39, "unshare": 97, "setns": 268, "seccomp": 277}
    known["x86_64"] |= {"capset": 126, "sethostname": 170, "ptrace": 101, "bpf": 321}
    known["aarch64"] |= {"capset": 91, "sethostname": 161, "ptrace": 117, "bpf": 280}
    same = {"open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432}
    same |= {"pidfd_open": 434, "clone3": 435, "close_range": 436, "openat2": 437}
    same |= {"mount_setattr": 442, "landlock_create_ruleset": 444, "landlock_add_rule": 445}
    same |= {"landlock_restrict_self": 446, "fchmodat2": 452, "statmount": 457, "mseal": 462}
    same |= {"setxattrat": 463, "open_tree_attr": 467, "file_setattr": 469}
    for machine, wanted in known.items():
        assert {name: NUMBERS[machine][name] for name in wanted | same} == wanted | same


def test_numbers_agree_with_the_headers_at_hand() -> None:
    headers = {
        "x86_64": ("asm/unistd_64.h", "x86_64-linux-gnu/asm/unistd_64.h"),
        "aarch64": ("asm-generic/unistd.h",),
    }
    defined = re.compile(r"^#define __NR(?:3264)?_(\w+)\s+(\d+)$", re.MULTILINE)
    for machine, names in headers.items():
        for header in (Path("/usr/include", name) for name in names):
            text = header.read_text() if header.exists() else ""
            found = {name: int(number) for name, number in defined.findall(text)}
            ours = {name: n for name, n in NUMBERS[machine].items() if name in found}
            assert ours == {name: found[name] for name in ours}
