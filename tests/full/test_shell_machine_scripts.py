"""The shell scripts of this machine: a placeholder anywhere is sound, or refused at load."""

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests import real_shell

from tongs.template import shell
from tongs.template.shell import Rendered
from tongs.template.values import Slot

PLACES = ("/usr/bin", "/usr/sbin", "/etc", "/usr/share", "/usr/lib", "/opt")
LARGEST = 60_000


def shell_scripts() -> Iterator[str]:
    """Every readable script for sh or bash that the shell itself accepts."""
    for place in PLACES:
        for folder, _, names in os.walk(place):
            for name in names:
                path = Path(folder, name)
                try:
                    if path.is_symlink() or path.stat().st_size > LARGEST:
                        continue
                    with path.open("rb") as file:
                        if file.read(2) != b"#!":
                            continue
                    text = path.read_text("utf-8")
                except (OSError, ValueError):
                    continue
                interpreter = text.partition("\n")[0].removeprefix("#!").split()[:2]
                if any(word.rpartition("/")[2] in ("sh", "bash", "dash") for word in interpreter):
                    yield text


@pytest.mark.full
@pytest.mark.timeout(900)
def test_scripts_of_this_machine_stay_sound(
    record_property: Callable[[str, object], None],
) -> None:
    scripts = sorted(set(shell_scripts()))
    random.Random(11).shuffle(scripts)
    tried = accepted = refused = 0
    for text in scripts:
        if tried == 200:
            break
        dialect = real_shell.dialect_of(text)
        if not real_shell.accepted(text, dialect):
            continue
        tried += 1
        template = shell.compile(text, {"A": Slot("A")}, dialect=dialect)
        assert template.render({"A": "x"}) == Rendered(text, "")
        found = real_shell.insert_everywhere(text, positions=20, seed=tried)
        assert found.broken == ()
        accepted += found.accepted
        refused += found.refused
    record_property("scripts", tried)
    record_property("accepted", accepted)
    record_property("refused", refused)
    # Fewer would mean that the scanner refuses what it should understand.
    assert accepted > refused
