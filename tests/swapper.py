"""Keeps exchanging files and folders of a project for links that lead out of it.

    python tests/swapper.py PROJECT OUTSIDE SEED

Each pair is a thing of the project and a link beside it; they change names in one step, over and
over, in an order that the seed decides. Prints a line when it has begun; ends when stdin is closed.
"""

from __future__ import annotations

import os
import random
import select
import sys
from collections.abc import Callable
from contextlib import suppress

from tongs.sandbox.beneath import Beneath
from tongs.sandbox.host import Host

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def main(project: str, outside: str, seed: str) -> None:
    chance = random.Random(seed)
    beneath = Beneath(Host())
    folder = os.open(project, os.O_RDONLY)
    pairs = {
        "folder": (make_folder, outside),
        "inner/folder": (make_folder, outside),
        "file": (make_file, os.path.join(outside, "file")),
        "inner": (make_inner, os.path.dirname(outside)),
    }
    print("begun", flush=True)
    names = list(pairs)
    while not select.select([sys.stdin], [], [], 0)[0]:
        for _ in range(50):
            name = chance.choice(names)
            with suppress(OSError):
                swap(beneath, folder, name, *pairs[name])


def swap(
    beneath: Beneath, project: int, name: str, make: Callable[[int, str], None], target: str
) -> None:
    above, _, last = name.rpartition("/")
    # Not through a link of our own: what is outside is for the tools to leave alone.
    folder = os.open(above or ".", FOLDER, dir_fd=project)
    try:
        if not is_there(folder, last):
            make(folder, last)
        if not is_there(folder, last + "~"):
            os.symlink(target, last + "~", dir_fd=folder)
        beneath.exchange((folder, last), (folder, last + "~"))
    finally:
        os.close(folder)


def is_there(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def make_folder(above: int, name: str) -> None:
    os.mkdir(name, dir_fd=above)
    folder = os.open(name, FOLDER, dir_fd=above)
    make_file(folder, "file")
    os.close(folder)


def make_inner(above: int, name: str) -> None:
    os.mkdir(name, dir_fd=above)
    folder = os.open(name, FOLDER, dir_fd=above)
    make_folder(folder, "folder")
    os.close(folder)


def make_file(above: int, name: str) -> None:
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=above)
    os.write(file, b"inside")
    os.close(file)


if __name__ == "__main__":
    main(*sys.argv[1:])
