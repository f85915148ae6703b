"""Calls of a python tool by a template process: as fast as they are, each is alone in the world."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.sandbox.running import children, dies_within, is_locked, open_descriptors

from tongs import Runtime
from tongs.core.errors import ErrorCode
from tongs.core.result import ToolResult
from tongs.sandbox import warm
from tongs.sandbox.probe import stamp

TIERS = ("namespaces", "landlock")


class Tool:
    """A project with one python tool, and a runtime that lives as long as a server would."""

    def __init__(self, root: Path, home: Path, tier: str) -> None:
        self.root = root
        self._home = home
        (root / "lib").mkdir(parents=True)
        (root / "out").mkdir()
        (root / "data").mkdir()
        state = home / ".tongs" / "state"
        state.mkdir(parents=True, mode=0o700)
        # As if the machine had been asked what it can do, and had said this.
        view = int(tier == "namespaces")
        (state / "sandbox").write_text(f"{stamp()}\n{tier}\n{view}\n{int(time.time())}\n")
        self._open: list[Runtime] = []
        self._runtime: Runtime | None = None

    def define(
        self,
        source: str,
        *,
        permissions: str = "{fs: {write: [out], read: [data]}}",
        extra: str = "",
    ) -> None:
        folder = self.root / ".tongs/tools/t"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "tool.yml").write_text(
            "name: t\ndescription: does it\nkind: python\n"
            "inputs: {schema: {type: object, properties: {x: {}}}}\n"
            f'exec: {{python: {{module: lib.t, function: run, args: ["${{x}}"]{extra}}}}}\n'
            + (f"permissions: {permissions}\n" if permissions else "tags: [read]\n")
        )
        (self.root / "lib/t.py").write_text(source)
        self.accept()

    def accept(self) -> None:
        self.runtime.definitions.accept(self.runtime.find("t"))

    @property
    def runtime(self) -> Runtime:
        if self._runtime is None:
            self._runtime = self.open()
        return self._runtime

    def open(self, **options: Any) -> Runtime:
        made = Runtime.open(self.root, auto_approve=["*"], **options)
        self._open.append(made)
        return made

    def call(self, x: object = None, runtime: Runtime | None = None) -> ToolResult:
        return (runtime or self.runtime).call_sync("t", {"x": x})

    def calls(self, count: int, x: object = None) -> tuple[list[Any], list[bool]]:
        """Values, and whether each was warm."""
        results = [self.call(x) for _ in range(count)]
        assert [result.error for result in results] == [None] * count
        return [r.value for r in results], [r.metadata["warm"] for r in results]

    def close(self) -> None:
        for runtime in self._open:
            runtime.close()


@pytest.fixture(params=TIERS)
def tool(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Tool]:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TONGS_HOME", str(home / ".tongs"))
    monkeypatch.setenv("TONGS_GLOBAL", str(tmp_path / "global"))
    made = Tool(tmp_path / "project", home, request.param)
    yield made
    made.close()


def descendants() -> set[int]:
    """Every process below this one, zombies left out."""
    found: set[int] = set()
    pending = children()
    while pending:
        pid = pending.pop()
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX":
                continue
            below = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        found.add(pid)
        pending += map(int, below)
    return found


def interpreters() -> list[int]:
    found = []
    for pid in descendants():
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if warm.PROGRAM.encode() in words:
            found.append(pid)
    return found


def test_both_sides_use_the_same_words() -> None:
    from tongs.sandbox import warm_template

    names = ("READY", "COLD", "ENDED", "LEFT")
    assert [getattr(warm, n) for n in names] == [getattr(warm_template, n) for n in names]
    # Tongs gives one up before it ends by itself.
    assert warm.IDLE < warm_template.IDLE


# --- what a template is ---------------------------------------------------------------------------


def test_module_is_imported_once_and_called_often(tool: Tool) -> None:
    tool.define(
        "import os\nparent = os.getpid()\ndef run(x):\n    return [parent, os.getpid(), x]\n"
    )

    values, were_warm = tool.calls(4, x="given")

    assert were_warm == [False, True, True, True]
    assert len({value[0] for value in values}) == 1
    assert len({value[1] for value in values} | {values[0][0]}) == 5
    assert {value[2] for value in values} == {"given"}


def test_answer_and_what_is_printed_are_those_of_each_call(tool: Tool) -> None:
    tool.define(
        "import subprocess, sys\nprint('importing')\n"
        "def run(x):\n    print('out', x)\n    print('err', x, file=sys.stderr)\n"
        "    subprocess.run(['echo', 'child'])\n    return {'x': x}\n"
    )

    results = [tool.call(number) for number in range(3)]

    assert [r.value for r in results] == [{"x": number} for number in range(3)]
    assert [r.metadata["stderr"] for r in results] == [
        f"{'importing' + chr(10) if number == 0 else ''}out {number}\nerr {number}\nchild\n"
        for number in range(3)
    ]


def test_large_requests_and_answers_pass(tool: Tool) -> None:
    tool.define("def run(x):\n    return x\n")

    values, were_warm = tool.calls(3, x="ä" * 300_000)

    assert (values, were_warm[-1]) == (["ä" * 300_000] * 3, True)


def test_failure_of_a_call_is_told_and_the_template_stays(tool: Tool) -> None:
    tool.define("def run(x):\n    if x:\n        raise ValueError('no')\n    return 'fine'\n")
    assert tool.call().ok

    failed = tool.call(1)

    assert failed.error is not None
    assert (failed.error.message, failed.metadata["warm"]) == ("t raised ValueError: no", True)
    assert tool.calls(1) == (["fine"], [True])


def test_walls_are_those_of_a_fresh_interpreter_and_listed(
    tool: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool.define("def run(x):\n    return 1\n")
    tool.call()
    found = tool.call()
    monkeypatch.setattr(warm.Templates, "take", lambda *_: None)

    fresh = tool.call()

    assert (fresh.metadata["warm"], found.metadata["warm"]) == (False, True)
    for key in ("enforced", "notEnforced"):
        assert found.metadata[key] == fresh.metadata[key]


# --- no state is carried from one call to the next ------------------------------------------------

# Each says "carried" if it finds what it did itself the last time.
_ONCE = "def run(x):\n    found = look()\n    act()\n    return 'carried' if found else 'clean'\n"
# In a private root the folders above the project belong to the call as well.
_FOLDER = (
    "import os, tempfile\nT = tempfile.gettempdir()\n"
    "P = os.path.dirname(os.getcwd()) if T == '/tmp' else T\n"
)
LEAKS = {
    "mode of a folder": _FOLDER + "look = lambda: os.stat(P).st_mode & 0o777 == 0o711\n"
    "act = lambda: os.chmod(P, 0o711)\n",
    "times of a folder": _FOLDER + "look = lambda: os.stat(P).st_mtime == 1\n"
    "act = lambda: os.utime(P, (1, 1))\n",
    "attributes of a folder": _FOLDER + "look = lambda: 'user.leak' in os.listxattr(P)\n"
    "act = lambda: os.setxattr(P, 'user.leak', b'1')\n",
    "globals": "S = []\nlook = lambda: S[:]\nact = lambda: S.append(1)\n",
    "builtins": "import builtins\nlook = lambda: hasattr(builtins, 'leak')\n"
    "act = lambda: setattr(builtins, 'leak', 1)\n",
    "modules": "import sys\nlook = lambda: 'leak' in sys.modules\n"
    "act = lambda: sys.modules.update(leak=1)\n",
    "environment": "import os\nlook = lambda: 'LEAK' in os.environ\n"
    "act = lambda: os.environ.update(LEAK='1')\n",
    "cwd": "import os\nlook = lambda: os.getcwd() == '/'\nact = lambda: os.chdir('/')\n",
    "umask": "import os\ndef look():\n    now = os.umask(0)\n    os.umask(now)\n"
    "    return now == 0o123\nact = lambda: os.umask(0o123)\n",
    "signals": "import signal\nlook = lambda: callable(signal.getsignal(signal.SIGUSR1))\n"
    "act = lambda: signal.signal(signal.SIGUSR1, lambda *_: None)\n",
    "signal mask": "import signal\n"
    "look = lambda: signal.SIGUSR1 in signal.pthread_sigmask(signal.SIG_BLOCK, [])\n"
    "act = lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])\n",
    "limits": "import resource\n"
    "look = lambda: resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 99\n"
    "act = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (99, 99))\n",
    "threads": "import threading\nlook = lambda: threading.active_count() > 1\n"
    "act = lambda: threading.Thread(target=threading.Event().wait, daemon=True).start()\n",
    "descriptors": "import os\nlook = lambda: os.path.exists('/proc/self/fd/77')\n"
    "act = lambda: os.dup2(0, 77)\n",
    "exit functions": "import atexit\nlook = lambda: atexit._ncallbacks() > BEFORE\n"
    "act = lambda: atexit.register(print)\nBEFORE = atexit._ncallbacks()\n",
    "temporary folder": "import os, tempfile\nP = os.path.join(tempfile.gettempdir(), 'leak')\n"
    "look = lambda: os.path.exists(P)\nact = lambda: os.makedirs(P + '/a/b', exist_ok=True)\n",
    "home": "import os\nP = os.path.expanduser('~/leak')\nlook = lambda: os.path.exists(P)\n"
    "def act():\n    try:\n        open(P, 'w').close()\n    except OSError:\n        pass\n",
    "shared memory": "import os\nP = '/dev/shm/tongs-leak-NAME'\nlook = lambda: os.path.exists(P)\n"
    "def act():\n    try:\n        open(P, 'w').close()\n    except OSError:\n        pass\n",
    "System V": "import ctypes\nC = ctypes.CDLL(None)\nKEY = NUMBER\n"
    "look = lambda: C.shmget(KEY, 4096, 0) != -1\nact = lambda: C.shmget(KEY, 4096, 0o1600)\n",
}


@pytest.fixture(params=LEAKS)
def leak(request: pytest.FixtureRequest) -> Iterator[str]:
    """The source of a tool that leaves something behind for itself."""
    number = os.getpid() * 1000 + 17
    text = LEAKS[request.param].replace("NAME", str(number)).replace("NUMBER", str(number)) + _ONCE
    yield text
    Path(f"/dev/shm/tongs-leak-{number}").unlink(missing_ok=True)
    subprocess.run(["ipcrm", "-M", str(number)], check=False, capture_output=True)


def test_nothing_is_carried_from_one_call_to_the_next(tool: Tool, leak: str) -> None:
    tool.define(leak)

    values, _ = tool.calls(3)

    assert values == ["clean", "clean", "clean"]


def test_the_same_is_carried_by_a_worker_that_stays(tmp_path: Path, leak: str) -> None:
    (tmp_path / "t.py").write_text(leak)
    worker = "import sys; sys.path.insert(0, '.'); import t; print(t.run(0), t.run(0))"

    done = subprocess.run(
        [sys.executable, "-c", worker],
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split() == ["clean", "carried"]


def test_what_is_not_on_the_way_stays_warm(tool: Tool) -> None:
    tool.define(
        "import os, tempfile\n"
        "def run(x):\n"
        "    os.makedirs(tempfile.gettempdir() + '/a/b/c')\n"
        "    os.symlink('/', tempfile.gettempdir() + '/root')\n"
        "    open(tempfile.gettempdir() + '/a/file', 'w').write('x' * 100)\n"
        "    open('out/kept', 'a').write('.')\n"
        "    return sorted(os.listdir(tempfile.gettempdir()))\n"
    )

    values, were_warm = tool.calls(4)

    # The project itself may lie below /tmp.
    assert [[n for n in names if n in ("a", "root")] for names in values] == [["a", "root"]] * 4
    assert were_warm == [False, True, True, True]
    assert (tool.root / "out/kept").read_text() == "...."


def test_granted_folder_inside_the_home_is_not_emptied(tool: Tool) -> None:
    inside = tool._home / "granted"
    inside.mkdir()
    (inside / "precious").write_text("mine")
    tool.define(
        "import os\ndef run(x):\n    open(os.path.expanduser('~/granted/new'), 'w').close()\n",
        permissions="{fs: {write: [~/granted]}}",
    )

    _, were_warm = tool.calls(3)

    assert were_warm[-1]
    assert sorted(os.listdir(inside)) == ["new", "precious"]


@pytest.mark.parametrize(
    "source",
    [
        "import random\ndef run(x):\n    return random.random()\n",
        "import uuid\ndef run(x):\n    return [str(uuid.uuid1()), str(uuid.uuid4())]\n",
        "import secrets\ndef run(x):\n    return secrets.token_hex()\n",
        "import tempfile\ndef run(x):\n    return tempfile.mkdtemp()\n",
    ],
)
def test_random_numbers_differ(tool: Tool, source: str) -> None:
    tool.define(source)

    values, were_warm = tool.calls(4)

    assert len({json.dumps(value) for value in values}) == 4
    assert were_warm[-1]


def test_numbers_of_numpy_differ(tool: Tool) -> None:
    # With more threads than one it could not be kept at all.
    tool.define(
        "import os\nos.environ['OPENBLAS_NUM_THREADS'] = '1'\nimport numpy.random\n"
        "def run(x):\n    return numpy.random.random()\n",
        extra=f", venv: {sys.prefix}",
    )

    values, were_warm = tool.calls(4)

    assert len(set(values)) == 4
    assert were_warm[-1]


def test_generator_that_a_module_made_for_itself_starts_anew_in_every_call(tool: Tool) -> None:
    """As in a fresh interpreter if it was given a seed; else it is the author's to seed it."""
    tool.define("import random\nOWN = random.Random(7)\ndef run(x):\n    return OWN.random()\n")

    values, were_warm = tool.calls(3)

    assert len(set(values)) == 1
    assert were_warm[-1]


# --- what changes is seen -------------------------------------------------------------------------


def test_module_and_data_read_by_the_import_are_read_again_when_they_change(tool: Tool) -> None:
    (tool.root / "data/helper.py").write_text("NAME = 'first'\n")
    (tool.root / "data/settings").write_text("one")
    tool.define(
        "from data import helper\nread = open('data/settings').read()\n"
        "def run(x):\n    return [helper.NAME, read]\n"
    )
    assert tool.calls(2)[1] == [False, True]

    (tool.root / "data/settings").write_text("two!")
    assert tool.calls(2) == ([["first", "two!"]] * 2, [False, True])

    (tool.root / "data/helper.py").write_text("NAME = 'another'\n")
    assert tool.calls(2) == ([["another", "two!"]] * 2, [False, True])


def test_file_that_comes_to_the_package_of_the_module_is_noticed(tool: Tool) -> None:
    (tool.root / "lib/t").mkdir()
    (tool.root / "lib/t/__init__.py").write_text(
        "def run(x):\n    from lib.t import more\n    return more.NAME\n"
    )
    (tool.root / "lib/t/more.py").write_text("NAME = 'accepted'\n")
    tool.define("")
    assert tool.calls(4)[0] == ["accepted"] * 4

    (tool.root / "lib/t/more").mkdir()
    (tool.root / "lib/t/more/__init__.py").write_text("NAME = 'slipped in'\n")
    refused = tool.call().error

    assert refused is not None
    assert refused.code is ErrorCode.UNTRUSTED


def test_package_that_takes_the_place_of_the_module_is_noticed(tool: Tool) -> None:
    tool.define("def run(x):\n    return 'accepted'\n")
    assert tool.calls(2)[0] == ["accepted", "accepted"]

    (tool.root / "lib/t").mkdir()
    (tool.root / "lib/t/__init__.py").write_text("def run(x):\n    return 'slipped in'\n")
    refused = tool.call().error
    (tool.root / "lib/t/__init__.py").unlink()

    assert refused is not None
    assert refused.code is ErrorCode.UNTRUSTED
    assert tool.calls(1)[0] == ["accepted"]


def test_changed_tool_gets_another_template(tool: Tool) -> None:
    tool.define("def run(x):\n    return 1\n")
    tool.calls(2)
    (tool.root / "lib/t.py").write_text("def run(x):\n    return 22\n")
    tool.accept()

    assert tool.calls(2) == ([22, 22], [False, True])


def test_another_environment_gets_another_template(tool: Tool) -> None:
    source = "import os\nTOKEN = os.environ['TOKEN']\ndef run(x):\n    return len(TOKEN)\n"
    os.environ["TOKEN"] = "first-value"
    try:
        tool.define(source, permissions="{secrets: {TOKEN: {type: string}}}")
        assert tool.calls(2) == ([11, 11], [False, True])
        os.environ["TOKEN"] = "the-second-value"
        other = tool.open()
        assert [tool.call(runtime=other).value for _ in range(2)] == [16, 16]
    finally:
        del os.environ["TOKEN"]


# --- ends -----------------------------------------------------------------------------------------


def test_timeout_ends_the_whole_template_and_the_next_call_gets_another(tool: Tool) -> None:
    tool.define(
        "import time\ndef run(x):\n    print('begun', flush=True)\n    time.sleep(x)\n",
        extra=", timeout_ms: 1500",
    )
    tool.calls(2, x=0)
    before = interpreters()

    late = tool.call(60)

    assert late.error is not None
    assert (late.error.code, late.metadata["warm"]) == ("TIMEOUT", True)
    assert late.metadata["stderr"] == "begun\n"
    assert before
    assert not set(interpreters()) & set(before)
    assert tool.calls(2, x=0)[1] == [False, True]


def test_process_left_behind_dies_with_its_call(tool: Tool) -> None:
    lock = tool.root / "out/lock"
    tool.define(
        "import os, subprocess, time\n"
        "def run(x):\n"
        "    if not x:\n        return 'plain'\n"
        "    subprocess.Popen(['setsid', 'bash', '-c',\n"
        "        'exec 9> out/lock; flock 9; touch out/held; exec sleep 300'])\n"
        "    while not os.path.exists('out/held'):\n        time.sleep(0.01)\n"
        "    return 'left one'\n"
    )
    tool.calls(2)

    result = tool.call(1)

    assert (result.value, result.metadata["warm"]) == ("left one", True)
    assert not is_locked(lock)
    assert tool.calls(2)[1] == [False, True]


HIDING = {
    "a daemon": "    if os.fork() == 0:\n        os.setsid()\n        if os.fork() == 0:\n"
    "            hide()\n        os._exit(0)\n    held()\n    return 'left one'\n",
    "a sibling": "    if os.fork() == 0:\n        hide()\n    held()\n    return 'left one'\n",
}


@pytest.mark.parametrize("way", HIDING)
def test_what_hides_from_the_end_of_its_call_is_found(tool: Tool, way: str) -> None:
    tool.define(
        "import fcntl, os, stat, time\n"
        "def hide():\n"
        "    file = open('out/lock', 'w')\n"
        "    fcntl.flock(file, fcntl.LOCK_EX)\n"
        "    for number in range(3):\n        os.close(number)\n"
        "    open('out/held', 'w').close()\n"
        "    for number in range(3, 50):\n"
        "        if number != file.fileno():\n            try:\n                os.close(number)\n"
        "            except OSError:\n                pass\n"
        "    time.sleep(300)\n"
        "def held():\n    while not os.path.exists('out/held'):\n        time.sleep(0.01)\n"
        "def run(x):\n    if not x:\n        return 'plain'\n" + HIDING[way]
    )
    tool.calls(2)
    before = interpreters()

    result = tool.call(1)

    assert (result.value, result.metadata["warm"]) == ("left one", True)
    # A call is over when all of it is: nobody has to wait for that.
    assert all(dies_within(pid, 10) for pid in before)
    with (tool.root / "out/lock").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
    assert tool.calls(3)[0] == ["plain"] * 3


def test_call_that_says_farewell_and_goes_on_is_waited_for(tool: Tool) -> None:
    tool.define(
        "import os, stat, time\n"
        "def run(x):\n"
        "    for number in range(3, 50):\n"
        "        try:\n"
        "            if stat.S_ISFIFO(os.fstat(number).st_mode):\n"
        "                os.write(number, b'')\n"  # the end for reading refuses even that
        "                told.append(os.write(number, b'\\0') if number != answer() else 0)\n"
        "        except OSError:\n            pass\n"
        "    time.sleep(0.2)\n"
        "    open('out/done', 'w').close()\n"
        "    return told\n"
        "told = []\n"
        "def answer():\n"
        "    import sys\n"
        "    frame = sys._getframe()\n"
        "    while 'out' not in frame.f_locals:\n        frame = frame.f_back\n"
        "    return frame.f_locals['out']\n"
    )
    tool.calls(1)

    for _ in range(3):
        (tool.root / "out/done").unlink()
        result = tool.call()

        assert (sorted(result.value), result.metadata["warm"]) == ([0, 1], True)
        assert (tool.root / "out/done").exists()


# A timer wakes the process up whenever it has stopped; then it writes.
AFTERWARDS = """
import ctypes, signal
class Event(ctypes.Structure):
    _fields_ = [("value", ctypes.c_void_p), ("signo", ctypes.c_int), ("notify", ctypes.c_int),
                ("rest", ctypes.c_char * 48)]
def on(number, frame):
    with open("out/after", "ab") as file:
        file.write(b".")
def run(x):
    signal.signal(signal.SIGCONT, on)
    timer = ctypes.c_void_p()
    c = ctypes.CDLL(None)
    assert not c.timer_create(1, ctypes.byref(Event(signo=signal.SIGCONT)), ctypes.byref(timer))
    every = (ctypes.c_long * 4)(0, 50_000_000, 0, 50_000_000)
    assert not c.timer_settime(timer, 0, every, None)
"""


def writes_afterwards(tool: Tool) -> list[bool]:
    """Of three calls, which have written something after they were over."""
    tool.define(AFTERWARDS)
    file = tool.root / "out/after"
    found = []
    for _ in range(3):
        file.write_bytes(b"")
        assert tool.call().ok
        size = file.stat().st_size
        time.sleep(0.1)  # its timer goes off after half of that
        found.append(file.stat().st_size != size)
    return found


def test_nothing_of_a_call_runs_when_it_is_over(tool: Tool) -> None:
    assert not any(writes_afterwards(tool))


# In the other tier a call cannot see how many threads it has, so it ends by itself.
@pytest.mark.parametrize("tool", ["namespaces"], indirect=True)
def test_a_call_that_was_only_stopped_would_go_on(
    tool: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill = b"os.kill(child, signal.SIGKILL)"
    program = warm.source(warm.PROGRAM)
    assert program.count(kill) == 1
    monkeypatch.setattr(warm, "_sources", {warm.PROGRAM: program.replace(kill, b"pass")})

    assert any(writes_afterwards(tool))


def test_call_that_stops_itself_runs_out_of_time(tool: Tool) -> None:
    tool.define(
        "import os, signal\n"
        "def run(x):\n    return os.kill(os.getpid(), signal.SIGSTOP) if x else 1\n",
        extra=", timeout_ms: 1500",
    )
    tool.calls(2, x=0)

    late = tool.call(1)

    assert late.error is not None
    assert late.error.code == "TIMEOUT"
    assert tool.calls(2, x=0)[1] == [False, True]


def test_file_that_a_call_has_opened_in_the_place_of_ours_is_its_own(tool: Tool) -> None:
    tool.define(
        "import os\n"
        "def run(x):\n"
        "    if x:\n        os.closerange(3, 50)\n"
        "    for number in range(x):\n"
        "        os.open(f'out/{number}', os.O_WRONLY | os.O_CREAT)\n"
    )
    tool.calls(2, x=0)

    # With its own descriptors the answer is lost, too.
    assert tool.call(20).error is not None
    assert [(tool.root / f"out/{number}").read_bytes() for number in range(4, 20)] == [b""] * 16


@pytest.mark.parametrize(
    "end", ["return 'held'", "threading.Thread(target=wait).start()", "close_all_but_the_answer()"]
)
def test_call_holds_nothing_when_it_is_over(tool: Tool, end: str) -> None:
    lock = tool.root / "out/lock"
    tool.define(
        "import fcntl, os, sys, threading, time\n"
        "def wait():\n    time.sleep(300)\n"
        "def close_all_but_the_answer():\n"
        "    frame = sys._getframe()\n"
        "    while 'out' not in frame.f_locals:\n        frame = frame.f_back\n"
        "    for number in {*range(3, 50)} - {frame.f_locals['out'], file.fileno()}:\n"
        "        os.closerange(number, number + 1)\n"
        "def run(x):\n"
        "    global file\n"
        "    file = open('out/lock', 'w')\n"
        "    fcntl.flock(file, fcntl.LOCK_EX)\n"
        f"    {end}\n"
    )

    for _ in range(5):
        assert tool.call().ok
        assert not is_locked(lock)


@pytest.mark.parametrize(
    ("act", "words"),
    [
        ("os.kill(os.getpid(), 9)", "SIGKILL"),
        ("os.kill(0, 9)", "SIGKILL"),
        ("os.kill(-1, 9) or os._exit(3)", ""),
        ("os._exit(253)", ""),
        ("os._exit(0)", "without an answer"),
    ],
)
def test_call_that_ends_itself_is_told_and_later_ones_work(
    tool: Tool, act: str, words: str
) -> None:
    tool.define(f"import os\ndef run(x):\n    return {act} if x else 'fine'\n")
    tool.calls(2)

    ended = tool.call(1)

    assert ended.error is not None
    assert ended.error.code == "EXECUTION_ERROR"
    assert words in ended.error.message
    assert tool.calls(3)[0] == ["fine"] * 3


def test_close_ends_every_template(tool: Tool) -> None:
    tool.define("def run(x):\n    return 1\n")
    tool.calls(2)
    alive = interpreters()

    tool.runtime.close()

    assert alive
    assert all(dies_within(pid, 5) for pid in alive)


def test_template_that_nobody_uses_ends(tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    tool.define("def run(x):\n    return 1\n")
    tool.calls(2)
    alive = interpreters()
    monkeypatch.setattr(warm, "IDLE", -1.0)
    monkeypatch.setattr(warm, "_SWEEP", -1.0)

    assert tool.calls(1)[1] == [False]
    assert alive
    assert all(dies_within(pid, 5) for pid in alive)


def test_old_template_is_not_asked_again(tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    tool.define("def run(x):\n    return 1\n")
    tool.calls(2)
    monkeypatch.setattr(warm, "OLDEST", -1.0)

    assert tool.calls(2)[1] == [False, False]


def test_killed_template_is_replaced(tool: Tool) -> None:
    tool.define("def run(x):\n    return 1\n")
    tool.calls(2)
    alive = interpreters()
    os.kill(min(alive), 9)
    assert all(dies_within(pid, 5) for pid in alive)

    values, were_warm = tool.calls(3)

    assert (values, were_warm[-1]) == ([1, 1, 1], True)


# --- many -----------------------------------------------------------------------------------------


def test_calls_at_once_get_their_own_processes(tool: Tool) -> None:
    tool.define(
        "import os, time\ndef run(x):\n"
        "    open(f'out/{x}', 'w').close()\n"
        "    end = time.monotonic() + 20\n"
        "    while len(os.listdir('out')) < 3 and time.monotonic() < end:\n"
        "        time.sleep(0.01)\n"
        "    return [x, len(os.listdir('out'))]\n"
    )

    async def together() -> list[ToolResult]:
        return await asyncio.gather(*(tool.runtime.call("t", {"x": n}) for n in range(3)))

    assert [result.value for result in asyncio.run(together())] == [[0, 3], [1, 3], [2, 3]]


def test_no_more_templates_than_allowed(tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm, "MOST", 2)
    tool.define("import time\ndef run(x):\n    time.sleep(0.2)\n    return x\n")

    async def together() -> list[ToolResult]:
        return await asyncio.gather(*(tool.runtime.call("t", {"x": n}) for n in range(5)))

    assert [result.value for result in asyncio.run(together())] == [*range(5)]
    # Each with the child that waits for the next call.
    assert len(interpreters()) <= 4


def test_cancelled_call_leaves_nothing(tool: Tool) -> None:
    tool.define(
        "import time\ndef run(x):\n    if x:\n        open('out/on', 'w').close()\n"
        "    time.sleep(x)\n"
    )
    tool.calls(2, x=0)
    before = interpreters()

    async def cancelled() -> None:
        call = asyncio.ensure_future(tool.runtime.call("t", {"x": 300}))
        while not (tool.root / "out/on").exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.01)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(cancelled())

    assert all(dies_within(pid, 5) for pid in before)
    assert tool.calls(1, x=0)[0] == [None]


def test_two_hundred_calls_leave_no_descriptor_and_no_process(tool: Tool) -> None:
    tool.define("def run(x):\n    if x % 20 == 3:\n        raise ValueError\n    return x\n")
    for number in range(20):
        tool.call(number)
    descriptors, processes = open_descriptors(), len(descendants())

    results = [tool.call(number) for number in range(200)]

    assert sum(result.ok for result in results) == 190
    assert all(result.metadata["warm"] for result in results)
    assert len(open_descriptors()) == len(descriptors)
    assert len(descendants()) <= processes + 1


# --- what cannot be kept --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            "from threading import Event, Thread\nThread(target=Event().wait, daemon=True).start()",
            "threads (1)",
        ),
        ("opened = open('data/file')", "left something open"),
        ("import socket\nends = socket.socketpair()", "left something open"),
        ("import mmap\nshared = mmap.mmap(-1, 4096)", "memory that processes share"),
        ("import subprocess\nchild = subprocess.Popen(['sleep', '300'])", "process running"),
        ("import tempfile\nfolder = tempfile.mkdtemp()", "temporary files"),
        ("import signal\nsignal.setitimer(signal.ITIMER_REAL, 300)", "a timer"),
    ],
)
def test_import_that_leaves_something_shared_is_not_kept(
    tool: Tool, source: str, reason: str
) -> None:
    (tool.root / "data/file").write_text("one\ntwo\n")
    tool.define(
        "open('out/imported', 'a').write('.')\n" + source + "\n"
        "def run(x):\n    return opened.readline() if 'opened' in globals() else 'one\\n'\n"
    )

    first = tool.call()
    values, were_warm = tool.calls(2)

    assert (first.value, first.metadata["warm"]) == ("one\n", False)
    assert reason in first.metadata["coldBecause"]
    assert (values, were_warm) == (["one\n"] * 2, [False, False])
    # Once per call, also for the first: what could not be kept has answered itself.
    assert (tool.root / "out/imported").read_text() == "..."


def test_import_that_fails_is_told_each_time(tool: Tool) -> None:
    tool.define("import no_such_module\n")

    results = [tool.call() for _ in range(2)]

    assert [r.error.details["missingModule"] for r in results if r.error] == ["no_such_module"] * 2


def test_tool_with_a_scratch_view_is_not_kept(tool: Tool) -> None:
    tool.define("def run(x):\n    return 1\n", permissions="")

    assert tool.calls(2) == ([1, 1], [False, False])


def test_tool_its_author_works_on_is_not_kept(tool: Tool) -> None:
    tool.define("def run(x):\n    return 1\n")
    (tool.root / "lib/t.py").write_text("def run(x):\n    return 2\n")
    tool.runtime.definitions.develop(str(tool.root / ".tongs/tools/t"), 3600)

    assert tool.calls(2) == ([2, 2], [False, False])


def test_command_line_keeps_nothing(tool: Tool) -> None:
    tool.define("def run(x):\n    return 1\n")
    once = tool.open(single_thread=True)

    assert [tool.call(runtime=once).metadata["warm"] for _ in range(2)] == [False, False]


# --- a warm call is confined as a fresh one -------------------------------------------------------

ATTACKS = """
import ctypes, os, resource, signal, socket
C = ctypes.CDLL(None, use_errno=True)
def refused(work):
    try:
        found = work()
    except (OSError, ValueError) as error:
        return 'refused'
    return 'refused' if found == -1 else 'done'
def run(x):
    parent = os.getppid()
    return {
        'secret': refused(lambda: open(x['secret']).read()),
        'write data': refused(lambda: open('data/new', 'w')),
        'write module': refused(lambda: open('lib/t.py', 'a')),
        'connect': refused(lambda: socket.create_connection(('127.0.0.1', x['port']), 1)),
        'signal template': refused(lambda: os.kill(parent, signal.SIGTERM)),
        'stop template': refused(lambda: os.kill(parent, signal.SIGSTOP)),
        'memory of template': refused(lambda: open(f'/proc/{parent}/mem', 'r+b')),
        'environment of template': refused(lambda: open(f'/proc/{parent}/environ', 'rb').read()),
        'descriptors of template': refused(lambda: [
            os.open(f'/proc/{parent}/fd/{n}', 0) for n in os.listdir(f'/proc/{parent}/fd')]),
        'memory map of template': refused(lambda: open(f'/proc/{parent}/maps').read()),
        'limits of template': refused(
            lambda: resource.prlimit(parent, resource.RLIMIT_NOFILE, (9, 9))),
        'trace template': refused(lambda: C.ptrace(16, parent, 0, 0)),
        'priority of template': refused(lambda: os.setpriority(os.PRIO_PROCESS, parent, 19)),
        'affinity of template': refused(lambda: os.sched_setaffinity(parent, {0})),
        'line to tongs': refused(lambda: [
            os.write(int(n), b'E 0') for n in os.listdir('/proc/self/fd')
            if os.readlink(f'/proc/self/fd/{n}').startswith('socket:')][0]),
        'message queue': refused(lambda: C.mq_open(b'/leak', 0o102, 0o600, None)),
    }
"""


def test_warm_call_is_confined_as_a_fresh_one_and_from_its_template(tool: Tool) -> None:
    secret = tool.root / "secret"
    secret.write_text("hidden")
    tool.define(ATTACKS.replace("[0]),", "[0]) if os.path.exists('/proc/self/fd') else -1,"))
    listening = __import__("socket").create_server(("127.0.0.1", 0))
    given = {"secret": str(secret), "port": listening.getsockname()[1]}

    values, were_warm = tool.calls(3, x=given)
    listening.close()

    assert were_warm == [False, True, True]
    for value in values:
        # No socket to be found is an IndexError elsewhere; here it is nothing to write to.
        assert [name for name, found in value.items() if found != "refused"] == []


def test_the_same_is_possible_for_a_plain_fork() -> None:
    program = (
        "import json, os, resource, sys\n"
        "if os.fork() == 0:\n"
        "    parent = os.getppid()\n"
        "    os.kill(parent, 0)\n"
        "    os.readlink(f'/proc/{parent}/fd/0')\n"
        "    open(f'/proc/{parent}/maps').read()\n"
        "    open(f'/proc/{parent}/environ').read()\n"
        "    resource.prlimit(parent, resource.RLIMIT_NOFILE, (50, 50))\n"
        "    os.sched_setaffinity(parent, os.sched_getaffinity(0))\n"
        "    os.setpriority(os.PRIO_PROCESS, parent, 19)\n"
        "    os._exit(0)\n"
        "print(json.dumps([os.wait()[1], resource.getrlimit(resource.RLIMIT_NOFILE)[0]]))\n"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)

    assert json.loads(done.stdout) == [0, 50]
