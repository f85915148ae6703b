"""Numbers of the system calls that attacks make by themselves, on x86_64 and on aarch64."""

from __future__ import annotations

import platform

NUMBERS = {
    "add_key": (248, 217),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clone": (56, 220),
    "clone3": (435, 435),
    "execveat": (322, 281),
    "fanotify_init": (300, 262),
    "fchmodat2": (452, 452),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "inotify_add_watch": (254, 27),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioctl": (16, 29),
    "ioprio_set": (251, 30),
    "kcmp": (312, 272),
    "keyctl": (250, 219),
    "linkat": (265, 37),
    "mmap": (9, 222),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "mq_open": (240, 180),
    "mq_timedreceive": (243, 183),
    "msgget": (68, 186),
    "msgrcv": (70, 188),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424),
    "pivot_root": (155, 41),
    "prlimit64": (302, 261),
    "process_madvise": (440, 440),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "renameat2": (316, 276),
    "request_key": (249, 218),
    "rt_sigqueueinfo": (129, 138),
    "sched_setattr": (314, 274),
    "semget": (64, 190),
    "semop": (65, 193),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "shmat": (30, 196),
    "shmget": (29, 194),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "syslog": (103, 116),
    "tgkill": (234, 131),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
}


def numbers() -> dict[str, int]:
    """Those of this machine."""
    column = ("x86_64", "aarch64").index(platform.machine())
    return {name: both[column] for name, both in NUMBERS.items()}
