"""A classic BPF machine over `struct seccomp_data`, as strict about a program as the kernel is."""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Sequence

ALLOW = "allow"
KILL = "kill"
EPERM = "EPERM"
ENOSYS = "ENOSYS"

ANSWERS = {0x7FFF0000: ALLOW, 0x80000000: KILL, 0x00050001: EPERM, 0x00050026: ENOSYS}

LOAD, AND, RETURN = 0x20, 0x54, 0x06
JUMPS: dict[int, Callable[[int, int], int]] = {
    0x15: operator.eq,
    0x35: operator.ge,
    0x45: operator.and_,
}
DATA_SIZE = 64
LONGEST = 4096


class Machine:
    """A loaded program. Refuses what the kernel would refuse, and instructions no path reaches."""

    def __init__(self, program: bytes) -> None:
        assert len(program) % 8 == 0
        self.code = list(struct.iter_unpack("=HBBI", program))
        assert 0 < len(self.code) <= LONGEST
        reached = {0}
        for place, (operation, true, false, operand) in enumerate(self.code):
            assert place in reached, f"nothing leads to instruction {place}"
            if operation == RETURN:
                assert operand in ANSWERS
                continue
            if operation in JUMPS:
                following = {place + 1 + true, place + 1 + false}
            else:
                assert operation in (LOAD, AND)
                assert operation == AND or (operand % 4 == 0 and operand < DATA_SIZE)
                following = {place + 1}
            assert max(following) < len(self.code), f"instruction {place} leaves the program"
            reached |= following

    def decide(self, architecture: int, number: int, arguments: Sequence[int] = ()) -> str:
        """What becomes of a call; arguments that are not given are 0."""
        words = [number & 0xFFFFFFFF, architecture, 0, 0]
        for argument in (*arguments, *(0,) * 6)[:6]:
            words += [argument & 0xFFFFFFFF, argument >> 32 & 0xFFFFFFFF]
        place = held = 0
        while True:
            operation, true, false, operand = self.code[place]
            place += 1
            if operation == LOAD:
                held = words[operand // 4]
            elif operation == AND:
                held &= operand
            elif operation == RETURN:
                return ANSWERS[operand]
            else:
                place += true if JUMPS[operation](held, operand) else false
