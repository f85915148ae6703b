"""Trees that keep changing while they are killed: every process starts the next one and ends.

A kill that waits for a child which was born too late to be killed waits for as long as that child
likes to live. The fork server in Python can be outrun by several chains of root's, which no limit
holds back; that is declared with every such call.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.unit.sandbox.running import World, command

from tongs.core.permissions import Permissions
from tongs.sandbox.pump import DYING

pytestmark = pytest.mark.full

ROUNDS = 60

# Half of the processes end at once when they have forked, the others a little later. When the
# first one has been silent for a while, it was killed: whoever is still there stays for a minute.
CHAINS = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

int main(int count, char **words) {
    volatile long *beat = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *beat = now();
    for (int chain = 0; count > 1 && chain < atoi(words[1]); chain++) {
        if (fork())
            continue;
        for (unsigned seed = getpid();; seed = seed * 31 + getpid()) {
            pid_t next = fork();
            if (next == 0)
                continue;
            if (next < 0)
                usleep(200);
            else if (rand_r(&seed) % 2)
                _exit(0);
            else {
                usleep(3000);
                if (now() - *beat < 2500)
                    _exit(0);
                prctl(PR_SET_NAME, "outlived");
                sleep(60);
                _exit(0);
            }
        }
    }
    for (;; usleep(200))
        *beat = now();
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("chains")
    (folder / "chains.c").write_text(CHAINS)
    subprocess.run(["cc", "-O1", "-o", "chains", "chains.c"], cwd=folder, check=True)
    return str(folder / "chains")


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("mode", "chains"), [("server", 1), ("native", 1), ("native", 4)])
@pytest.mark.parametrize("key", ["limits", "landlock", "namespaces"])
def test_no_fork_chain_outlives_its_call(program: str, mode: str, key: str, chains: int) -> None:
    world = World.of(mode, key, permissions=Permissions(read=(str(Path(program).parent),)))

    slowest = max(
        world.run(command(program, str(chains), timeout=0.1)).duration for _ in range(ROUNDS)
    )
    world.close()

    assert slowest < DYING
    left = subprocess.run(["pgrep", "-c", "outlived"], stdout=subprocess.PIPE, check=False)
    assert left.stdout == b"0\n"
