"""What honest tools do all day, and what comes out of it. Each runs confined, in every tier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.escape.attack import LANDLOCK, NOTHING, PROJECT_READABLE, PROJECT_WRITABLE

from tongs.core.permissions import Permissions


@dataclass(frozen=True)
class Program:
    """`script` must exit with 0 and print `expected`, in the project, under these permissions.

    `lacking` is what a tier cannot give, by the words with which the program then fails.
    """

    name: str
    script: str
    expected: str
    python: bool = False
    permissions: Permissions = NOTHING
    lacking: Mapping[str, str] = field(default_factory=dict)


def _python(name: str, script: str, expected: str, **how: Any) -> Program:
    return Program(name, script, expected, python=True, **how)


# Without a write list the calls that change modes and times are off as a whole.
NO_METADATA = {LANDLOCK: "Operation not permitted"}
# A compiler takes the refusal quietly, and leaves a program that cannot be run.
NO_MODES = {LANDLOCK: "Permission denied"}
# Named semaphores lie in a folder that all processes of the machine share.
NO_SEMAPHORES = {LANDLOCK: "Permission denied"}
# Landlock can grant the payload's own folder in /proc, but not that of processes it will start.
NO_OWN_STATUS = {LANDLOCK: "/proc/self/status: Permission denied"}

# The identity is given by options: the person's own settings are out of reach.
GIT = """
git() { command git -c user.name=a -c user.email=a@example.org -c init.defaultBranch=main "$@"; }
"""

SHELL = (
    Program("pipes", "printf '3\\n1\\n2\\n' | sort | head -n 2 | tr '\\n' ' '", "1 2 "),
    Program(
        "process substitution",
        "diff <(echo a) <(echo a) && cat <(echo one) <(echo two)",
        "one\ntwo",
    ),
    Program("writing to a process", "echo text > >(cat); sleep 0.1", "text"),
    Program("here-documents", "cat <<EOF\nline of $((1 + 1))\nEOF", "line of 2"),
    Program("here-strings", "tr a-z A-Z <<< text", "TEXT"),
    Program(
        "a large here-document",
        "x=$(head -c 300000 /dev/zero | tr '\\0' x); wc -c <<< $x",
        "300001",
    ),
    Program(
        "job control",
        "set -m; sleep 0.05 & sleep 0.05 & jobs | wc -l; wait; echo over",
        "2\nover",
    ),
    Program(
        "signals of one's own", "trap 'echo caught' USR1; kill -USR1 $$; echo on", "caught\non"
    ),
    Program("a time limit of one's own", "timeout 0.1 sleep 5 || echo $?", "124"),
    Program(
        "a co-process",
        "coproc cat; echo hi >&${COPROC[1]}; read x <&${COPROC[0]}; echo $x",
        "hi",
    ),
    Program(
        "devices",
        "echo x > /dev/null; head -c 4 /dev/zero | wc -c; head -c 4 /dev/urandom | wc -c",
        "4\n4",
    ),
    Program(
        "standard streams by name",
        "echo in | cat /dev/stdin; echo out > /dev/stdout; echo fd | cat /dev/fd/0",
        "in\nout\nfd",
    ),
    Program("plain sh", "sh -c 'for i in 1 2 3; do printf %s $i; done'", "123"),
    Program(
        "temporary files",
        'f=$(mktemp); echo kept > "$f"; cat "$f"; d=$(mktemp -d); rm -r "$d"',
        "kept",
    ),
    Program(
        "the folder for temporary files",
        'cd "$TMPDIR"; mkdir a; echo x > a/b; mv a c; cat c/b; ln c/b c/d; rm -r c',
        "x",
    ),
    Program(
        "modes in the folder for temporary files",
        'cd "$TMPDIR"; echo x > a; chmod 600 a; cat a',
        "x",
        lacking=NO_METADATA,
    ),
    Program(
        "a large sort with files beside memory",
        "seq 200000 -1 1 | sort -n -S 1M --parallel=2 | sed -n '1p;200000p'",
        "1\n200000",
    ),
    Program(
        "numbers and texts",
        "printf 'a 1\\nb 2\\n' | awk '{s += $2} END {print s}' | sed s/3/three/",
        "three",
    ),
    Program(
        "perl",
        "perl -e 'use POSIX; use File::Temp; print join(\",\", map { $_ * 2 } 1 .. 3)'",
        "2,4,6",
    ),
    Program(
        "an archive",
        'cd "$TMPDIR"; mkdir t; echo x > t/f; tar czf t.tgz t; rm -r t; tar xzf t.tgz; cat t/f',
        "x",
        lacking=NO_METADATA,
    ),
    Program(
        "make",
        """
cd "$TMPDIR"
printf 'all: b\\nb: a\\n\\tcat a > b; cat b\\na:\\n\\techo made > a\\n' > Makefile
make -s -j2
""",
        "made",
    ),
    Program(
        "a compiler",
        """
cd "$TMPDIR"
printf '#include <stdio.h>\\nint main(void) { puts("built"); }' > a.c
cc -o a a.c
./a
""",
        "built",
        lacking=NO_MODES,
    ),
    Program(
        "time zones and languages",
        "TZ=Europe/Berlin date -d @0 +%H; LC_ALL=C.UTF-8 bash -c 'x=äö; echo ${#x}'",
        "01\n2",
    ),
    Program(
        "the machine", "test -r /proc/meminfo; nproc > /dev/null; id -u > /dev/null; echo x", "x"
    ),
    Program(
        "what is known of oneself",
        "x=$(grep -c State: /proc/self/status); echo $x",
        "1",
        lacking=NO_OWN_STATUS,
    ),
    Program(
        "a program of the project", "sh kodelet-tools/tell", "hello", permissions=PROJECT_READABLE
    ),
)

PROJECT = (
    Program(
        "git in a repository of one's own",
        GIT
        + """
git init -q w
cd w
echo a > f
git add f
git commit -qm first
git status --short
git log --format=%s
git diff HEAD --stat
git branch other
git checkout -q other
git gc -q
git stash list
""",
        "first",
        permissions=PROJECT_WRITABLE,
    ),
    Program(
        "git looks at the project itself",
        GIT + "git status --short | grep -c src/",
        "1",
        permissions=PROJECT_READABLE,
    ),
    Program(
        "git in the project itself",
        GIT + "git add src; git commit -qm kept --no-verify; git log --format=%s",
        "kept",
        permissions=PROJECT_WRITABLE,
    ),
    Program(
        "files of the project",
        """
mkdir new
echo x > new/a
ln new/a new/b
ln -s a new/c
mv new/b new/d
chmod 600 new/d
cp -p new/a new/e
touch -d @0 new/e
rm new/a
cat new/d
rm -r new
""",
        "x",
        permissions=PROJECT_WRITABLE,
    ),
    Program(
        "moving between folders of the project",
        "mv src/main.py out/; mkdir -p a/b; mv out/main.py a/b; cat a/b/main.py",
        "print('hello')",
        permissions=PROJECT_WRITABLE,
    ),
    Program(
        "building in the project",
        """
printf '#include <stdio.h>\\nint main(void) { puts("built"); }' > a.c
cc -o a a.c
./a
tar czf a.tgz src
tar xzf a.tgz
""",
        "built",
        permissions=PROJECT_WRITABLE,
    ),
    Program(
        "a named pipe in the project",
        "mkfifo p; (echo through > p &); cat p; rm p",
        "through",
        permissions=PROJECT_WRITABLE,
    ),
    Program("node", "node -e 'console.log([3, 1, 2].sort().join())'", "1,2,3"),
    Program(
        "node with processes, files and threads",
        """node -e '
const {Worker} = require("worker_threads");
const file = require("path").join(require("os").tmpdir(), "x");
require("fs").writeFileSync(file, "kept");
console.log(require("child_process").execSync("cat " + file).toString());
const code = "require(`worker_threads`).parentPort.postMessage(42)";
new Worker(code, {eval: true}).on("message", number => console.log(number));
'""",
        "kept\n42",
    ),
)

PYTHON = (
    _python(
        "threads",
        """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(4) as pool: print(sum(pool.map(lambda x: x * x, range(10))))
""",
        "285",
    ),
    _python(
        "processes by fork",
        """
import multiprocessing as m
queue = m.get_context("fork").Queue()
p = m.get_context("fork").Process(target=queue.put, args=(7,))
p.start()
print(queue.get())
p.join()
""",
        "7",
        lacking=NO_SEMAPHORES,
    ),
    _python(
        "processes by spawn",
        """
import multiprocessing as m
if __name__ == "__main__":
    p = m.get_context("spawn").Process(target=print, args=("spawned",))
    p.start()
    p.join()
    print(p.exitcode)
""",
        "spawned\n0",
    ),
    _python(
        "a pool of processes, with its semaphores",
        """
import multiprocessing as m
with m.get_context("fork").Pool(2) as pool: print(sum(pool.map(abs, range(-5, 5))))
""",
        "25",
        lacking=NO_SEMAPHORES,
    ),
    _python(
        "memory that processes share",
        """
from multiprocessing import Value, Process
v = Value("i", 0)
def add():
    with v.get_lock(): v.value += 1
ps = [Process(target=add) for _ in range(3)]
[p.start() for p in ps]; [p.join() for p in ps]; print(v.value)
""",
        "3",
        lacking=NO_SEMAPHORES,
    ),
    _python(
        "temporary files",
        """
import tempfile
with tempfile.TemporaryDirectory() as d, open(d + "/x", "w+") as f, tempfile.TemporaryFile() as t:
    f.write("kept"); f.seek(0); t.write(b"x"); print(f.read())
""",
        "kept",
    ),
    _python(
        "a database",
        """
import sqlite3, tempfile, os
db = sqlite3.connect(os.path.join(tempfile.mkdtemp(), "x.db"))
db.execute("pragma journal_mode=wal")
db.execute("create table t(a)"); db.execute("insert into t values (5)"); db.commit()
print(db.execute("select a from t").fetchone()[0])
""",
        "5",
    ),
    _python(
        "processes of other programs",
        """
import subprocess
print(subprocess.check_output("echo $((6 * 7)) | cat", shell=True, text=True).strip())
p = subprocess.Popen(["cat"], stdin=-1, stdout=-1)
print(p.communicate(b"through")[0].decode())
""",
        "42\nthrough",
    ),
    _python(
        "an event loop with processes",
        """
import asyncio
async def main():
    p = await asyncio.create_subprocess_exec("echo", "async", stdout=-1)
    print((await p.communicate())[0].decode().strip(), await asyncio.to_thread(lambda: 1 + 1))
asyncio.run(main())
""",
        "async 2",
    ),
    _python(
        "processes by fork, without semaphores",
        """
import os
child = os.fork()
if child == 0:
    os._exit(3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""",
        "3",
    ),
    _python(
        "a map of a file",
        """
import mmap, tempfile
f = tempfile.TemporaryFile()
f.write(bytes(4096))
f.flush()
m = mmap.mmap(f.fileno(), 0)
m[0:2] = b"ok"
print(bytes(m[0:2]).decode())
""",
        "ok",
    ),
    _python(
        "secrets, hashes and times",
        """
import secrets, hashlib, ssl, zoneinfo, datetime, locale, getpass, platform
secrets.token_bytes(8); ssl.create_default_context()
there = datetime.datetime(2026, 1, 1, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"))
print(hashlib.sha256(b"").hexdigest()[:4], there.utcoffset())
""",
        "e3b0 1:00:00",
    ),
    _python(
        "a signal of one's own and a time limit",
        """
import signal, time
signal.signal(signal.SIGALRM, lambda *_: print("rang"))
signal.setitimer(signal.ITIMER_REAL, 0.02)
time.sleep(0.1)
""",
        "rang",
    ),
    _python(
        "files of the project",
        """
import os, shutil, pathlib
shutil.copytree("src", "copy")
os.replace("copy/main.py", "copy/other.py")
os.utime("copy/other.py", (1, 1))
pathlib.Path("copy/x").write_text("y")
print(sorted(os.listdir("copy")))
shutil.rmtree("copy")
""",
        "['deep', 'other.py', 'x']",
        permissions=PROJECT_WRITABLE,
    ),
    _python(
        "locks on files",
        """
import fcntl
with open("out/lock", "w") as f:
    fcntl.flock(f, fcntl.LOCK_EX)
    fcntl.lockf(f, fcntl.LOCK_EX)
    print("locked")
""",
        "locked",
        permissions=PROJECT_WRITABLE,
    ),
)

PROGRAMS = SHELL + PROJECT + PYTHON
