"""Inside a folder for writing: what would run later, with the rights of the person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.escape.attack import LANDLOCK, NAMESPACES, PROJECT_WRITABLE, Attack
from tests.escape.scene import Scene

from tongs.core.permissions import Permissions

TOPIC = "protected paths"

# Landlock cannot take a part out of what it grants.
DECLARED = {LANDLOCK: "protected-paths"}
# A mount can hold neither a name that does not exist yet, nor a link.
NEW = {NAMESPACES: "new-protected-paths", **DECLARED}


def _inside(name: str, script: str, **how: Any) -> Attack:
    how = {"permissions": PROJECT_WRITABLE, "declared": DECLARED, **how}
    return Attack(name, TOPIC, script, **how)


def _no_hooks(scene: Scene) -> Mapping[str, Any]:
    (scene.project / ".git/hooks/pre-commit").unlink()
    (scene.project / ".git/hooks").rmdir()
    return {}


def _linked_tongs(scene: Scene) -> Mapping[str, Any]:
    """The tool folder is a link to another folder of the project, as some people arrange it."""
    (scene.project / ".tongs").rename(scene.project / "tools-of-mine")
    (scene.project / ".tongs").symlink_to("tools-of-mine")
    return {}


REPLACE = """
os.rename({old!r}, {old!r} + ".old")
os.makedirs({new!r})
open({file!r}, "w").write("evil")
"""

ATTACKS = (
    _inside("a new hook", 'open(".git/hooks/post-checkout", "w").write("evil")'),
    _inside("another text for a hook", 'open(".git/hooks/pre-commit", "a").write("evil")'),
    _inside("a hook made executable", 'os.chmod(".git/hooks/pre-commit", 0o777)'),
    _inside("a hook removed", 'os.unlink(".git/hooks/pre-commit")'),
    _inside(
        "a hook moved in from elsewhere",
        """
open("hook", "w").write("evil")
os.rename("hook", ".git/hooks/pre-commit")
""",
    ),
    _inside(
        "a hook by a hard link",
        'os.link(".git/hooks/pre-commit", "hook"); open("hook", "a").write("evil")',
    ),
    _inside(
        "hooks replaced as a folder",
        REPLACE.format(old=".git/hooks", new=".git/hooks", file=".git/hooks/pre-commit"),
    ),
    _inside(
        "hooks exchanged with another folder",
        'os.mkdir("evil"); call("renameat2", -100, b"evil", -100, b".git/hooks", 2)',
    ),
    _inside(
        "the repository replaced as a folder",
        REPLACE.format(old=".git", new=".git/hooks", file=".git/hooks/pre-commit"),
    ),
    _inside(
        "hooks where there were none",
        """
os.makedirs(".git/hooks", exist_ok=True)
open(".git/hooks/pre-commit", "w").write("evil")
""",
        arrange=_no_hooks,
        declared=NEW,
    ),
    _inside("settings of git", 'open(".git/config", "a").write("[core] fsmonitor = evil")'),
    _inside(
        "settings of git, replaced",
        'open("config", "w").write("evil"); os.rename("config", ".git/config")',
    ),
    _inside("settings of git, by git itself", "git config core.fsmonitor evil", bash=True),
    _inside("settings of git, cut short", 'os.truncate(".git/config", 0)'),
    _inside(
        "a hook through a file opened for reading",
        """
fd = os.open(".git/hooks/pre-commit", os.O_RDONLY)
open(f"/proc/self/fd/{fd}", "a").write("evil")
""",
    ),
    _inside("a new tool of the project", 'open(".tongs/tools/evil.yaml", "w").write("bash: evil")'),
    _inside(
        "another text for a tool of the project",
        'open(".tongs/tools/hello.yaml", "a").write("evil")',
    ),
    _inside("a tool of the project removed", 'os.unlink(".tongs/tools/hello.yaml")'),
    _inside("settings of the project", 'open(".tongs/config.yml", "w").write("auto_approve: all")'),
    _inside(
        "the tool folder replaced",
        REPLACE.format(old=".tongs", new=".tongs/tools", file=".tongs/tools/evil.yaml"),
    ),
    _inside(
        "the tool folder replaced by a link",
        'os.rename(".tongs", "old"); os.mkdir("evil"); os.symlink("evil", ".tongs")',
    ),
    _inside(
        "a linked tool folder led elsewhere",
        'os.unlink(".tongs"); os.mkdir("evil"); os.symlink("evil", ".tongs")',
        arrange=_linked_tongs,
        declared=NEW,
    ),
    _inside("the interpreter that tools run from", 'open(".venv/lib/site.py", "a").write("evil")'),
    _inside(
        "the interpreter that tools run from, replaced",
        REPLACE.format(old=".venv", new=".venv/lib", file=".venv/lib/site.py"),
    ),
    *(
        _inside(
            f"a tool for another program in {folder}", f'open("{folder}/evil", "w").write("evil")'
        )
        for folder in (".glee/tools", ".cycod/tools", ".kodelet/tools", "kodelet-tools")
    ),
    _inside(
        "the folder of another program replaced",
        REPLACE.format(old=".glee", new=".glee/tools", file=".glee/tools/evil"),
    ),
    _inside(
        "a hook, where the folder above the project may be written",
        'open(W.project + "/.git/hooks/pre-commit", "a").write("evil")',
        permissions=Permissions(write=("{work}",)),
    ),
    _inside(
        "the project replaced, where the folder above it may be written",
        """
os.chdir("/")
os.rename(W.project, W.work + "/old")
os.makedirs(W.project + "/.git/hooks")
open(W.project + "/.git/hooks/pre-commit", "w").write("evil")
""",
        permissions=Permissions(write=("{work}",)),
    ),
)
