"""The source of a payload: what the attacker knows, a few tools of the trade, and the attack."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from tests.escape.numbers import numbers

BEGAN = "BEGAN"
DONE = "DONE"
ESCAPED = "ESCAPED"
REFUSED = "REFUSED"

# Runs under `python -I -S`. W holds what the attacker knows of the world outside, NUMBERS those of
# system calls.
PRELUDE = """
import ctypes, errno, os, sys

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
# Where glibc has no function, or checks the arguments before the kernel does.
def call(name, *arguments):
    number = NUMBERS[name] if isinstance(name, str) else name
    words = [ctypes.c_ulong(a & (1 << 64) - 1) if isinstance(a, int) else a for a in arguments]
    result = _libc.syscall(ctypes.c_long(number), *words)
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(name))
    return result
def escaped(*evidence):
    print("ESCAPED", *evidence, flush=True)
def refused(error):
    print("REFUSED", errno.errorcode.get(error.errno, error.errno), error, flush=True)
# For attacks with more than one way: the result, or None where it was refused.
def attempt(function, *arguments):
    try:
        return function(*arguments)
    except OSError as error:
        refused(error)
def read(path):
    with open(path, "rb") as file:
        return file.read(65536).replace(b"\\0", b" ").decode(errors="replace")
print("BEGAN", flush=True)
"""

FRAME = """
try:
    exec(compile(ATTACK, "attack", "exec"))
except OSError as error:
    refused(error)
except MemoryError:
    print("REFUSED ENOMEM", flush=True)
print("DONE", flush=True)
"""


def python_source(script: str, known: Mapping[str, Any]) -> str:
    facts = f"W = type('W', (), {dict(known)!r})\nNUMBERS = {numbers()!r}"
    return f"{facts}\nATTACK = {script!r}\n{PRELUDE}{FRAME}"


def bash_source(script: str, known: Mapping[str, Any]) -> str:
    texts = {name: str(value) for name, value in known.items()}
    # An abstract socket has a name that no shell can hold.
    facts = "\n".join(f"{n}={shlex.quote(text)}" for n, text in texts.items() if "\0" not in text)
    return f"{facts}\necho {BEGAN}\n{script}\necho {DONE}\n"
