"""Limits and priorities of processes outside, which no file permission guards."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping
from typing import Any

from tests.escape.attack import KERNEL, ROOT, Attack
from tests.escape.scene import Scene

TOPIC = "priorities of others"

# A user nobody is, so that a change to all of their processes hits only what is arranged here.
STRANGER = 54321


def _stranger(scene: Scene) -> Mapping[str, Any]:
    """A process of a user on their own: a stranger's where root asks, else one's own.

    As an ordinary user a control must not change all processes of the person who runs the tests
    for good, so it sets what they have already.
    """
    root = os.geteuid() == 0
    user = STRANGER if root else os.getuid()
    process = subprocess.Popen(["sleep", "300"], user=user if root else None)
    scene.stack.callback(process.wait)
    scene.stack.callback(process.kill)
    scene.kept["stranger"] = process.pid
    niceness = os.getpriority(os.PRIO_PROCESS, process.pid)
    scene.kept["niceness"] = niceness
    harmless = scene.control and not root
    return {
        "asked_user": user if root else 0,
        "niceness": niceness if harmless else niceness + 1,
        "harmless": harmless,
    }


def _niceness(scene: Scene) -> Iterable[str]:
    now = os.getpriority(os.PRIO_PROCESS, scene.kept["stranger"])
    if now != scene.kept["niceness"]:
        yield f"the niceness of a user's processes is {now}"


ATTACKS = (
    Attack(
        "the limits of another process",
        TOPIC,
        """
import resource
resource.prlimit(W.victim, resource.RLIMIT_NOFILE, (111, resource.prlimit(W.victim, 7)[1]))
""",
    ),
    Attack(
        "the limits of another process, only looked at",
        TOPIC,
        """
import resource
escaped(resource.prlimit(W.victim, resource.RLIMIT_NOFILE))
""",
    ),
    Attack(
        "the limits of another process, asked for with high bits",
        TOPIC,
        """
limit = (ctypes.c_ulong * 2)(222, 222)
call("prlimit64", (1 << 32) | W.victim, 7, limit, 0)
""",
    ),
    Attack(
        "the processors of another process",
        TOPIC,
        "os.sched_setaffinity(W.victim, {max(os.sched_getaffinity(0))})",
    ),
    Attack(
        "the scheduler of another process",
        TOPIC,
        "os.sched_setscheduler(W.victim, os.SCHED_BATCH, os.sched_param(0))",
    ),
    Attack(
        "the scheduling attributes of another process",
        TOPIC,
        """
import struct
attributes = ctypes.create_string_buffer(struct.pack("=IIQiIQQQ", 48, 3, 0, 7, 0, 0, 0, 0), 48)
call("sched_setattr", W.victim, attributes, 0)
""",
    ),
    Attack(
        "the niceness of another process", TOPIC, "os.setpriority(os.PRIO_PROCESS, W.victim, 19)"
    ),
    Attack(
        "the niceness of another group of processes",
        TOPIC,
        "os.setpriority(os.PRIO_PGRP, W.victim, 16)",
    ),
    Attack(
        "the niceness of all processes of a user",
        TOPIC,
        """
os.setpriority(os.PRIO_USER, W.asked_user, W.niceness)
if W.harmless:
    escaped("it would have been set")
""",
        arrange=_stranger,
        evidence=_niceness,
    ),
    Attack(
        "the disk priority of another process", TOPIC, 'call("ioprio_set", 1, W.victim, (3 << 13))'
    ),
    Attack(
        "the disk priority of another group of processes",
        TOPIC,
        'call("ioprio_set", 2, W.victim, (2 << 13) | 7)',
    ),
    Attack(
        "real-time priority for oneself, before all others",
        TOPIC,
        """
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
escaped("had it")
""",
        needs=ROOT,
        otherwise=("EPERM",),
    ),
    Attack(
        "niceness below zero for oneself",
        TOPIC,
        "os.setpriority(os.PRIO_PROCESS, 0, -5); escaped('had it')",
        needs=ROOT,
        otherwise=("EACCES", "EPERM"),
    ),
    Attack(
        "never being the one that dies when memory runs out",
        TOPIC,
        """
with open("/proc/self/oom_score_adj", "w") as file:
    file.write("-900")
escaped(read("/proc/self/oom_score_adj"))
""",
        needs=KERNEL,
        otherwise=("EACCES", "EPERM"),
    ),
)
