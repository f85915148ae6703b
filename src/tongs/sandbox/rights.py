"""What Landlock is asked for, by the ABI of the running kernel. Pure functions over plain integers.

Constants of linux/landlock.h. A right that the kernel does not know is answered with EINVAL, so
every mask is made from its ABI. An ABI newer than `NEWEST` is used as `NEWEST`; 0 means that there
is no Landlock. `forkserver.py` runs this file without the package around it.
"""

from __future__ import annotations

import sys

NEWEST = 7

# One number per call: since 5.13 new calls have the same number on every processor we support.
CREATE_RULESET = 444
ADD_RULE = 445
RESTRICT_SELF = 446

# landlock_create_ruleset(NULL, 0, this) answers with the ABI.
CREATE_RULESET_VERSION = 1
RULE_PATH_BENEATH = 1

EXECUTE = 1 << 0
WRITE_FILE = 1 << 1
READ_FILE = 1 << 2
READ_DIR = 1 << 3
REMOVE_DIR = 1 << 4
REMOVE_FILE = 1 << 5
MAKE_CHAR = 1 << 6
MAKE_DIR = 1 << 7
MAKE_REG = 1 << 8
MAKE_SOCK = 1 << 9
MAKE_FIFO = 1 << 10
MAKE_BLOCK = 1 << 11
MAKE_SYM = 1 << 12
REFER = 1 << 13
TRUNCATE = 1 << 14
IOCTL_DEV = 1 << 15

BIND_TCP = 1 << 0
CONNECT_TCP = 1 << 1

SCOPE_ABSTRACT_UNIX_SOCKET = 1 << 0
SCOPE_SIGNAL = 1 << 1

LOG_SAME_EXEC_OFF = 1 << 0
LOG_SUBDOMAINS_OFF = 1 << 2

# The thirteen rights of ABI 1.
_FIRST = (MAKE_SYM << 1) - 1

# What a rule on anything but a directory may carry.
_OF_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV

_READING = EXECUTE | READ_FILE | READ_DIR
# No MAKE_CHAR or MAKE_BLOCK: a device node is a door to whatever the device is.
_WRITING = WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_SOCK | MAKE_FIFO
_WRITING |= MAKE_SYM | REFER | TRUNCATE


def handled_files(abi: int) -> int:
    """Every right over files that this kernel can refuse: refused unless a rule grants it."""
    if abi < 1:
        return 0
    handled = _FIRST
    if abi >= 2:
        handled |= REFER
    if abi >= 3:
        handled |= TRUNCATE
    if abi >= 5:
        handled |= IOCTL_DEV
    return handled


def reading(abi: int) -> int:
    """For a read root: to read, list and run what is there."""
    return _READING & handled_files(abi)


def writing(abi: int) -> int:
    """For a write root: `reading`, and to change everything beneath."""
    return (_READING | _WRITING) & handled_files(abi)


def devices(abi: int) -> int:
    """For a device such as /dev/null: the one entry where ioctl on a device is granted."""
    return (READ_FILE | WRITE_FILE | IOCTL_DEV) & handled_files(abi)


def for_file(mask: int) -> int:
    """What is left of a mask for an entry that is no directory; more would be EINVAL."""
    return mask & _OF_A_FILE


def handled_network(abi: int) -> int:
    """TCP only: MPTCP, fast open and UDP pass by Landlock, so this is never the only wall."""
    return BIND_TCP | CONNECT_TCP if abi >= 4 else 0


def scoped(abi: int) -> int:
    """What may not leave the domain: abstract sockets and signals."""
    return SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL if abi >= 6 else 0


def restrict_flags(abi: int) -> int:
    """Flags of landlock_restrict_self that keep refusals out of the kernel log.

    After an exec nothing is logged unless it is asked for; the other two cover the time before it,
    and domains that the payload makes for itself.
    """
    return LOG_SAME_EXEC_OFF | LOG_SUBDOMAINS_OFF if abi >= 7 else 0


def ruleset_attribute(abi: int, *, network: bool) -> bytes:
    """struct landlock_ruleset_attr, as long as this ABI knows it. `network` leaves TCP alone."""
    if abi < 1:
        return b""
    words = [handled_files(abi)]
    if abi >= 4:
        words.append(0 if network else handled_network(abi))
    if abi >= 6:
        words.append(scoped(abi))
    return b"".join([word.to_bytes(8, sys.byteorder) for word in words])


def path_rule(rights: int, descriptor: int) -> bytes:
    """struct landlock_path_beneath_attr, which is packed. `rights` must not be 0 (ENOMSG)."""
    return rights.to_bytes(8, sys.byteorder) + descriptor.to_bytes(4, sys.byteorder, signed=True)
