"""The filter, run by an interpreter and compared with tables that know nothing of its source."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from tests.unit.sandbox.bpf_machine import ALLOW, ENOSYS, EPERM, KILL, Machine

from tongs.sandbox.bpf import NETWORK_FAMILIES, program

MACHINES = ("x86_64", "aarch64")
# x86_64, i386, aarch64, arm, riscv64, nothing.
ARCHITECTURES = (0xC000003E, 0x40000003, 0xC00000B7, 0x40000028, 0xC00000F3, 0)
OWN = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
NEWEST_KNOWN = 469
X32 = 0x40000000
# What the upper half of an argument may hold while the kernel looks at the lower one only.
UPPER = (0, 1 << 32, 0xFFFFFFFF << 32, 0x80000000 << 32)
EVERY_BIT = (1 << 64) - 1


def numbers(text: str) -> frozenset[int]:
    return frozenset(int(word) for word in text.split())


NEVER = {
    "x86_64": numbers(
        "101 103 153 154 155 159 161 163 164 165 166 167 168 169 170 171 172 173 175 176 179 180"
        " 212 227 246 248 249 250 256 272 279 298 300 301 303 304 305 308 310 311 312 313 320 321"
        " 323 428 429 430 431 432 433 438 440 442 443 448 467"
    ),
    "aarch64": numbers(
        "18 39 40 41 42 51 58 60 89 97 104 105 106 112 116 117 142 161 162 170 171 217 218 219"
        " 224 225 238 239 241 262 263 264 265 266 268 270 271 272 273 280 282 294"
        " 428 429 430 431 432 433 438 440 442 443 448 467"
    ),
}
AS_IF_OLD = numbers("425 426 427 435")
STRICT_NEVER = {
    "x86_64": numbers("29 30 31 64 65 66 67 68 69 70 71 220 240 241 242 243 244 245 254"),
    "aarch64": numbers(
        "27 180 181 182 183 184 185 186 187 188 189 190 191 192 193 194 195 196 197"
    ),
}
METADATA = {
    "x86_64": numbers(
        "90 91 92 93 94 132 188 189 190 197 198 199 235 260 261 268 280 452 463 466 469"
    ),
    "aarch64": numbers("5 6 7 14 15 16 52 53 54 55 88 452 463 466 469"),
}
SELF_ONLY = {"x86_64": numbers("142 144 203 302 314"), "aarch64": numbers("118 119 122 261 274")}
CLONE = {"x86_64": 56, "aarch64": 220}
IOCTL = {"x86_64": 16, "aarch64": 29}
SOCKET = {"x86_64": 41, "aarch64": 198}
SOCKETPAIR = {"x86_64": 53, "aarch64": 199}
BIND = {"x86_64": 49, "aarch64": 200}
FCNTL = {"x86_64": 72, "aarch64": 25}
SETPRIORITY = {"x86_64": 141, "aarch64": 140}
IOPRIO_SET = {"x86_64": 251, "aarch64": 30}
TRUNCATE = {"x86_64": 76, "aarch64": 45}
OPEN = {"x86_64": 2}
OPENAT = {"x86_64": 257, "aarch64": 56}
OPENAT2 = 437

# F_SETLEASE, F_SETDELEG.
LEASES = {1024, 1040}
TERMINAL = {0x5412, 0x541C}
SNAPSHOTS = {
    0x50009401, 0x50009417, 0x5000940E, 0x50009418, 0x5000940F, 0x5000943F, 0x4008941A
}  # fmt: skip
KEYS = {0xC0506617, 0xC0406618}
SEALS = {0x40806685, 0x800C6613}
ATTRIBUTES = {0x40086602, 0x401C5820, 0x40087602, 0x40086604, 0x40047211}
# FICLONE, FICLONERANGE, FIDEDUPERANGE, FS_IOC_GETFLAGS, TCGETS, TIOCGWINSZ, FIONREAD, FIOCLEX.
HARMLESS = {0x40049409, 0x4020940D, 0xC0189436, 0x80086601, 0x5401, 0x5413, 0x541B, 0x5451}


class Case:
    """One filter and the answers it should give, worked out from the options and numbers alone."""

    def __init__(
        self, machine: str, families: tuple[int, ...], strict: bool, writes: bool, truncate: bool
    ) -> None:
        self.machine = machine
        self.families = families
        self.strict = strict
        self.no_metadata = strict and not writes
        self.no_truncate = strict and not truncate
        self.closed_codes = TERMINAL | SNAPSHOTS | KEYS
        if strict:
            self.closed_codes |= SEALS
        if self.no_metadata:
            self.closed_codes |= ATTRIBUTES
        self.run = Machine(
            program(machine, families=families, strict=strict, writes=writes, truncate=truncate)
        )

    def __repr__(self) -> str:
        options = [name for name, value in vars(self).items() if value is True]
        return "-".join([self.machine, *map(str, self.families), *options])

    def decide(self, number: int, *arguments: int) -> str:
        return self.run.decide(OWN[self.machine], number, arguments)

    def expected(self, number: int, *arguments: int) -> str:
        if number > NEWEST_KNOWN or number in AS_IF_OLD:
            return ENOSYS
        if number == OPENAT2 and self.no_truncate:
            return ENOSYS
        if number in NEVER[self.machine]:
            return EPERM
        if self.strict and number in STRICT_NEVER[self.machine]:
            return EPERM
        if self.no_metadata and number in METADATA[self.machine]:
            return EPERM
        first, second, third, *_ = (argument & 0xFFFFFFFF for argument in (*arguments, 0, 0, 0))
        return EPERM if self._refused(number, first, second, third) else ALLOW

    def _refused(self, number: int, first: int, second: int, third: int) -> bool:
        machine = self.machine
        if number == CLONE[machine]:
            return first & 0x7E020000 != 0
        if number == IOCTL[machine]:
            return second in self.closed_codes
        if number == SOCKET[machine]:
            return self._no_socket(first, second % 16, third)
        if number == SOCKETPAIR[machine]:
            return first != 1 or (second % 16 not in (1, 5) and 1 not in self.families)
        if number == BIND[machine]:
            return not self.families
        if number == FCNTL[machine]:
            return second in LEASES
        return self._of_another(number, first, second) or self._loses(number, second, third)

    def _of_another(self, number: int, first: int, second: int) -> bool:
        if number == SETPRIORITY[self.machine]:
            return (first, second) != (0, 0)
        if number == IOPRIO_SET[self.machine]:
            return (first, second) != (1, 0)
        return number in SELF_ONLY[self.machine] and first != 0

    def _loses(self, number: int, second: int, third: int) -> bool:
        machine = self.machine
        if number == OPENAT[machine]:
            return self._empties(third)
        if number == OPEN.get(machine):
            return self._empties(second)
        return number == TRUNCATE[machine] and self.no_truncate

    def _no_socket(self, family: int, kind: int, protocol: int) -> bool:
        if family not in self.families:
            return True
        return protocol != 0 if family == 16 else kind in (3, 10)

    def _empties(self, flags: int) -> bool:
        return self.no_truncate and flags & 0o1000 != 0 and flags & 3 not in (1, 2)


FAMILIES = ((), (2, 10, 16), (1,), (1, 2, 10, 16))
STRICT = [(True, *values) for values in product((False, True), repeat=2)]
CASES = [
    Case(*where, *how) for where in product(MACHINES, FAMILIES) for how in [(False,) * 3, *STRICT]
]
OPEN_TIER = [case for case in CASES if not case.families and not case.strict]
every_case = pytest.mark.parametrize("case", CASES, ids=repr)


def differences(case: Case, calls: Iterator[tuple[int, ...]]) -> dict[tuple[int, ...], str]:
    """Every call that is decided otherwise than expected, with the decision."""
    return {
        call: case.decide(*call) for call in calls if case.decide(*call) != case.expected(*call)
    }


@every_case
def test_every_number_is_answered_as_its_table_says(case: Case) -> None:
    plain = product(range(1024))
    own_process = product(range(1024), [0])
    all_bits = ((number, *(EVERY_BIT,) * 6) for number in range(1024))
    assert differences(case, plain) == {}
    assert differences(case, own_process) == {}
    assert differences(case, all_bits) == {}


@pytest.mark.parametrize(("machine", "families"), [*product(MACHINES, FAMILIES)])
def test_with_namespaces_neither_metadata_nor_truncation_is_refused(
    machine: str, families: tuple[int, ...]
) -> None:
    made = {
        program(machine, families=families, strict=False, writes=writes, truncate=truncate)
        for writes, truncate in product((False, True), repeat=2)
    }
    assert len(made) == 1


@every_case
def test_numbers_above_the_newest_known_call_do_not_exist(case: Case) -> None:
    strange = [X32 | number for number in range(1024)]
    strange += [1 << bit for bit in range(9, 32)] + [0x7FFFFFFF, 0xFFFFFFFF, 470]
    assert {case.decide(number) for number in strange} == {ENOSYS}


@every_case
def test_calls_of_another_architecture_kill_the_process(case: Case) -> None:
    foreign = [value for value in ARCHITECTURES if value != OWN[case.machine]]
    decided = {case.run.decide(value, number) for value in foreign for number in range(600)}
    assert decided == {KILL}


@every_case
def test_sockets_open_for_the_given_families_only(case: Case) -> None:
    kinds = [*range(16), 1 | 0o2000000, 3 | 0o2000000, 10 | 0o4000, 2 | 0o2004000]
    calls = (
        (SOCKET[case.machine], family | upper, kind | upper, protocol | upper)
        for family, kind, protocol in product([*range(51), 0xFFFFFFFF], kinds, (0, 6, 15, 262))
        for upper in (0, EVERY_BIT ^ 0xFFFFFFFF)
    )
    assert differences(case, calls) == {}


@every_case
def test_pairs_are_unix_sockets_that_stay_pairs(case: Case) -> None:
    kinds = [kind | flags for kind in range(16) for flags in (0, 0o2000000, 0o4000, 0o2004000)]
    calls = (
        (SOCKETPAIR[case.machine], family | upper, kind | upper)
        for family, kind, upper in product([*range(51), 0xFFFFFFFF], kinds, UPPER)
    )
    assert differences(case, calls) == {}


@every_case
def test_control_codes_are_compared_by_their_lower_half(case: Case) -> None:
    codes = TERMINAL | SNAPSHOTS | KEYS | SEALS | ATTRIBUTES | HARMLESS
    near = {code ^ 1 << bit for code in codes for bit in range(32)}
    calls = ((IOCTL[case.machine], 0, code | upper) for code, upper in product(near | codes, UPPER))
    assert differences(case, calls) == {}


@every_case
def test_files_are_locked_and_copied_but_never_leased(case: Case) -> None:
    commands = {*range(2048), *(lease ^ 1 << bit for lease in LEASES for bit in range(32))}
    calls = ((FCNTL[case.machine], 3, code | upper) for code, upper in product(commands, UPPER))
    assert differences(case, calls) == {}


@every_case
def test_only_the_caller_itself_is_a_target(case: Case) -> None:
    values = (0, 1, 2, 3, 1000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
    targets = [value | upper for value, upper in product(values, UPPER)]
    by_kind = (SETPRIORITY[case.machine], IOPRIO_SET[case.machine])
    assert differences(case, product(SELF_ONLY[case.machine], targets, targets[:4])) == {}
    assert differences(case, product(by_kind, targets, targets)) == {}


@every_case
def test_a_file_opened_for_reading_is_not_emptied_where_landlock_would_not_see(case: Case) -> None:
    others = [0, *(1 << bit for bit in range(32)), 0o2000000 | 0o100, 0xFFFFFFFF]
    flags = {
        mode | other | emptying | upper
        for mode, other, emptying, upper in product(range(4), others, (0, 0o1000), UPPER)
    }
    calls: set[tuple[int, ...]]
    calls = {(OPENAT[case.machine], EVERY_BIT, EVERY_BIT, value) for value in flags}
    if case.machine in OPEN:
        calls |= {(OPEN[case.machine], EVERY_BIT, value) for value in flags}
    assert differences(case, iter(calls)) == {}


@pytest.mark.parametrize("case", OPEN_TIER, ids=repr)
def test_clone_makes_threads_and_processes_but_no_namespace(case: Case) -> None:
    clone = CLONE[case.machine]
    # CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET.
    closed = {17, 25, 26, 27, 28, 29, 30}
    threads, forks, vforks = 0x3D0F00, 0x1200011, 0x4111
    assert {bit for bit in range(64) if case.decide(clone, 1 << bit) == EPERM} == closed
    assert {case.decide(clone, flags) for flags in (threads, forks, vforks, 17)} == {ALLOW}
    assert {
        case.decide(clone, forks | 1 << bit | upper) for bit, upper in product(closed, UPPER)
    } == {EPERM}


def test_network_families_are_the_internet_and_the_routing_tables() -> None:
    assert NETWORK_FAMILIES == (2, 10, 16)


@pytest.mark.parametrize("case", OPEN_TIER, ids=repr)
def test_what_nested_sandboxes_and_runtimes_use_stays_open(case: Case) -> None:
    needed = {
        # seccomp, landlock_*, memfd_create, personality, prctl, pidfd_open, close_range, execveat
        "x86_64": numbers("317 444 445 446 319 135 157 434 436 322 57 58"),
        "aarch64": numbers("277 444 445 446 279 92 167 434 436 281"),
    }
    assert {case.decide(number) for number in needed[case.machine]} == {ALLOW}


def test_a_machine_without_a_table_has_no_filter() -> None:
    with pytest.raises(KeyError):
        program("riscv64", families=(), strict=True, writes=False, truncate=False)
