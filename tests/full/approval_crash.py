"""Calls that are killed at every step from the question to the run; what is left is counted.

python approval_crash.py FOLDER ROUNDS SEED     prints what came of it as JSON
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tongs import pipeline
from tongs.audit.log import AuditLog
from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.errors import ErrorCode
from tongs.runtime import Runtime
from tongs.sandbox.waiting import BlockingWaiter
from tongs.store.approvals import ApprovalStore

TOOL = """\
bash: echo {N} >> runs
parameters: {N: {}}
approval: {required: true, reason: it counts}
permissions: {fs: {read: [.], write: [.]}}
"""
AGENT = Caller(CallerKind.AGENT, "claude")
# Before and after each step of the call, and of the answer; the rest are killed at any moment.
CALL_STEPS = [
    f"{when} {step}"
    for step in ("ask", "take", "began", "spend", "execute", "ended")
    for when in ("before", "after")
]
ANSWER_STEPS = ["before answer", "after answer"]
ANY = "any moment"
# A call takes about this long.
LONGEST = 0.12


def dying(step: str, at: str, work: Callable[..., Any]) -> Callable[..., Any]:
    def either(*words: Any, **named: Any) -> Any:
        _die_if(at == f"before {step}")
        done = work(*words, **named)
        _die_if(at == f"after {step}")
        return done

    return either


def recording(file: Path, work: Callable[..., Any]) -> Callable[..., Any]:
    """The number of each call whose start was recorded."""

    def record(audit: Any, call: ToolCall, *words: Any) -> Any:
        work(audit, call, *words)
        with file.open("a") as lines:
            lines.write(f"{call.arguments['N']}\n")

    return record


def _die_if(wanted: bool) -> None:
    if wanted:
        os.kill(os.getpid(), signal.SIGKILL)


def child(work: Callable[[], int]) -> int:
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            code = work()
        finally:
            os._exit(code)
    return pid


RAN, PENDING, OTHER = 0, 3, 4


def call(project: str, number: str, at: str, wait: float) -> int:
    """One call in this process; dies at a step."""

    def work() -> int:
        for step in ("ask", "take", "spend"):
            setattr(ApprovalStore, step, dying(step, at, getattr(ApprovalStore, step)))
        runtime = Runtime.open(project, single_thread=True)
        began = recording(Path(project, "records"), AuditLog.began)
        AuditLog.began = dying("began", at, began)  # type: ignore[method-assign]  # to die in it
        AuditLog.ended = dying("ended", at, AuditLog.ended)  # type: ignore[method-assign]  # as above
        real = pipeline.execute

        async def execute(*words: Any) -> Any:
            _die_if(at == "before execute")
            result = await real(*words)
            _die_if(at == "after execute")
            return result

        pipeline.execute = execute
        approver = runtime.approving.approver(BlockingWaiter(), wait=wait)
        request = ToolCall(os.urandom(6).hex(), "mark", {"N": number}, AGENT)
        result = runtime.run_sync(request, approver=approver)
        runtime.close()
        if result.error is None:
            return RAN
        return PENDING if result.error.code is ErrorCode.APPROVAL_PENDING else OTHER

    return child(work)


def answer(project: str, question: str, at: str) -> int:
    def work() -> int:
        ApprovalStore.answer = dying("answer", at, ApprovalStore.answer)  # type: ignore[method-assign]  # to die in it
        with Runtime.open(project) as runtime:
            runtime.approvals.approve(question)
        return 0

    return child(work)


def code_of(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


class Rounds:
    def __init__(self, folder: Path, seed: int) -> None:
        self.project = folder / "project"
        (self.project / ".tongs").mkdir(parents=True)
        tools = folder / "home" / "tools"
        tools.mkdir(parents=True)
        (tools / "mark.yaml").write_text(TOOL)
        self.store = ApprovalStore(str(folder / "home" / "state"))
        self.chance = random.Random(seed)
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []

    def round(self, number: str, at: str) -> None:
        """One call, killed at a step, and made again until it is settled."""
        project = str(self.project)
        pid = call(project, number, at, wait=20.0)
        deadline = time.monotonic() + self.chance.uniform(0, LONGEST) if at == ANY else None
        question = self.asked(pid, number, deadline)
        if question:
            approved = self.answered(question, at if at in ANSWER_STEPS else "")
            if not approved:
                self.wrong.append(f"{number}: {question} could not be answered")
        if deadline is not None:
            time.sleep(max(deadline - time.monotonic(), 0))
            os.kill(pid, signal.SIGKILL)
        code = code_of(pid)
        self.counts["killed" if code == -signal.SIGKILL else "not killed"] += 1
        self.settle(number, at, question)

    def asked(self, pid: int, number: str, deadline: float | None) -> str:
        """The question of a call, once it is there; empty if the call died before."""
        while True:
            for question in self.store.pending():
                if question.request.args["N"] == number:
                    return question.id
            if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None:
                return ""
            if deadline is not None and time.monotonic() > deadline:
                os.kill(pid, signal.SIGKILL)
            time.sleep(0.002)

    def answered(self, question: str, at: str) -> bool:
        code = code_of(answer(str(self.project), question, at))
        if code == -signal.SIGKILL and self.store.is_open(question):
            code = code_of(answer(str(self.project), question, ""))
        return not self.store.is_open(question) and code in (0, -signal.SIGKILL)

    def settle(self, number: str, at: str, question: str) -> None:
        """Whatever was left behind: what is approved and unused runs, what is used does not."""
        ran = self.counted("runs", number)
        unused = bool(question) and self.store.state_of(question) == "approved"
        code = code_of(call(str(self.project), number, "", wait=0))
        if unused:
            self.counts["found again"] += 1
            if code != RAN:
                self.wrong.append(f"{number} ({at}): its approval was lost")
        elif code != PENDING:
            self.wrong.append(f"{number} ({at}): ran without an approval of its own")
        else:
            self.counts["asked again"] += 1
        now = self.counted("runs", number)
        if now > 1 or now != ran + unused:
            self.wrong.append(f"{number} ({at}): ran {now} times for one approval")
        if now > self.counted("records", number):
            self.wrong.append(f"{number} ({at}): ran without a record")
        self.counts["ran"] += now

    def counted(self, file: str, number: str) -> int:
        try:
            return (self.project / file).read_text().split().count(number)
        except FileNotFoundError:
            return 0


def main(folder: Path, rounds: int, seed: int) -> None:
    os.environ["TONGS_HOME"] = str(folder / "home")
    os.environ["TONGS_GLOBAL"] = str(folder / "global")
    done = Rounds(folder, seed)
    steps = [*CALL_STEPS, *ANSWER_STEPS, ANY, ANY, ANY, ANY]
    for number in range(rounds):
        done.round(f"n{number}", steps[number % len(steps)])
    print(json.dumps({"counts": done.counts, "wrong": done.wrong}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
