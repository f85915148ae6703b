"""What no tool may change, since it decides what Tongs does."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from tongs.config.places import Places


def authority(places: Places) -> tuple[str, ...]:
    """Config, tools, and Tongs' own code, wherever links lead."""
    found = dict.fromkeys((places.user_folder, places.global_folder))
    for folder in tuple(found):
        found[os.path.realpath(os.path.join(folder, "config.yml"))] = None
        for inside in (
            os.path.join(folder, name) for name in ("tools", "configs", "profiles", "mcp")
        ):
            found[os.path.realpath(inside)] = None
            with suppress(OSError), os.scandir(inside) as entries:
                linked = [entry.path for entry in entries if entry.is_symlink()]
                found.update(dict.fromkeys(map(os.path.realpath, linked)))
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    found.update(dict.fromkeys(map(os.path.realpath, (package, sys.prefix, sys.base_prefix))))
    # What every tool can read and none can write needs no word here.
    return tuple(path for path in found if path not in ("/usr", "/usr/local"))
