"""Tongs' own authority: the state folder, the user folder, and the person's own secrets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.escape.attack import (
    NEVER_GRANTED,
    OUT_WRITABLE,
    PROJECT_READABLE,
    Attack,
    reading,
    writing,
)
from tests.escape.scene import Scene

from tongs.core.permissions import Permissions

STATE = "state folder"
USER = "user folder"
HOME = "home"


def _state(name: str, script: str, **how: Any) -> Attack:
    how = {"permissions": OUT_WRITABLE, "refused": NEVER_GRANTED, **how}
    return Attack(name, STATE, script, **how)


def _link_to_state(scene: Scene) -> Mapping[str, Any]:
    (scene.project / "out/link").symlink_to(scene.state)
    return {}


READ = 'print(read(W.state + "/trust.json"))'
WRITE = 'open(W.state + "/trust.json", "w").write("evil")'

ATTACKS = (
    _state("reading it", READ, refused={}),
    _state("listing it", "escaped(os.listdir(W.state))", refused={}),
    _state("writing to it", WRITE, refused={}),
    _state(
        "reading it through a link in the project",
        'print(read("out/link/trust.json"))',
        arrange=_link_to_state,
        refused={},
    ),
    _state(
        "reading it by a hard link",
        'os.link(W.state + "/trust.json", "out/x"); print(read("out/x"))',
        refused={},
    ),
    _state("reading it where the home may be read", READ, permissions=reading("{home}")),
    _state(
        "listing it where the home may be read",
        "escaped(os.listdir(W.state))",
        permissions=reading("{home}"),
    ),
    _state(
        "reading it where the user folder may be read", READ, permissions=reading("{home}/.tongs")
    ),
    _state("reading it where everything may be read", READ, permissions=reading("/")),
    _state("reading it where it is granted itself", READ, permissions=reading("{state}")),
    _state(
        "reading it where a file in it is granted", READ, permissions=reading("{state}/trust.json")
    ),
    _state(
        "reading it where a folder in it is granted",
        'print(read(W.state + "/audit/chain-000001.jsonl"))',
        permissions=reading("{state}/audit"),
    ),
    _state(
        "reading it where it is granted by dots",
        READ,
        permissions=reading("{home}/.ssh/../.tongs/state"),
    ),
    _state(
        "reading it where it is granted by a link",
        READ,
        permissions=reading("out/link"),
        arrange=_link_to_state,
    ),
    _state(
        "reading it by another name where the home may be read",
        'print(read("/proc/self/root" + W.state + "/trust.json"))',
        permissions=reading("{home}"),
    ),
    _state("writing to it where the home may be written", WRITE, permissions=writing("{home}")),
    _state("writing to it where everything may be written", WRITE, permissions=writing("/")),
    _state("writing to it where it is granted itself", WRITE, permissions=writing("{state}")),
    _state(
        "moving it where the home may be written",
        """
os.rename(W.state, W.home + "/moved")
print(read(W.home + "/moved/trust.json"))
""",
        permissions=writing("{home}"),
    ),
    _state(
        "moving the user folder where the home may be written",
        """
os.rename(W.home + "/.tongs", W.home + "/moved")
print(read(W.home + "/moved/state/trust.json"))
""",
        permissions=writing("{home}"),
    ),
    _state(
        "another one in its place where the home may be written",
        """
os.rename(W.state, W.state + ".old")
os.mkdir(W.state)
open(W.state + "/trust.json", "w").write("evil")
""",
        permissions=writing("{home}"),
    ),
    _state(
        "reading it where the home is a scratch view",
        READ,
        permissions=Permissions(scratch=("{home}",)),
    ),
    _state(
        "moving the home where the folder above may be written",
        """
os.rename(W.home, W.home + ".old")
print(read(W.home + ".old/.tongs/state/trust.json"))
""",
        permissions=writing("{home}/.."),
    ),
    Attack(
        "a new tool of the person",
        USER,
        'open(W.home + "/.tongs/tools/evil.yaml", "w").write("evil")',
        permissions=OUT_WRITABLE,
    ),
    Attack(
        "a new tool of the person where the home may be written",
        USER,
        'open(W.home + "/.tongs/tools/evil.yaml", "w").write("evil")',
        permissions=writing("{home}"),
        refused=NEVER_GRANTED,
    ),
    Attack(
        "settings of the person where the user folder may be written",
        USER,
        'open(W.home + "/.tongs/config.yml", "w").write("evil")',
        permissions=writing("{home}/.tongs"),
        refused=NEVER_GRANTED,
    ),
    Attack(
        "settings of the person where their file may be written",
        USER,
        'open(W.home + "/.tongs/config.yml", "w").write("evil")',
        permissions=writing("{home}/.tongs/config.yml"),
        refused=NEVER_GRANTED,
    ),
    Attack(
        "the user folder replaced where the home may be written",
        USER,
        """
os.rename(W.home + "/.tongs", W.home + "/.old")
os.makedirs(W.home + "/.tongs/tools")
open(W.home + "/.tongs/tools/evil.yaml", "w").write("evil")
""",
        permissions=writing("{home}"),
        refused=NEVER_GRANTED,
    ),
    *(
        Attack(
            f"the secret in {name}",
            HOME,
            f'print(read(os.path.expanduser("~/{name}")))',
            permissions=PROJECT_READABLE,
        )
        for name in (".ssh/id_rsa", ".aws/credentials", ".netrc")
    ),
    Attack(
        "the names in the home",
        HOME,
        """
if ".ssh" in os.listdir(W.home):
    escaped("they can be listed")
""",
        permissions=PROJECT_READABLE,
    ),
    Attack(
        "what every shell of the person runs",
        HOME,
        'open(W.home + "/.bashrc", "a").write("evil")',
        permissions=OUT_WRITABLE,
    ),
    Attack(
        "a file that a program of the person would run",
        HOME,
        """
os.makedirs(W.home + "/.config/autostart")
open(W.home + "/.config/autostart/evil.desktop", "w").write("evil")
""",
        permissions=OUT_WRITABLE,
    ),
)
