"""Getting git to run something later, outside, around the files of it that are protected."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Mapping
from typing import Any

from tests.escape.attack import LANDLOCK, NAMESPACES, Attack, writing
from tests.escape.scene import Scene

from tongs.core.permissions import Permissions

TOPIC = "git"

# Landlock cannot take a part out of what it grants.
DECLARED = {LANDLOCK: "protected-paths"}
# A mount cannot hold a name that does not exist yet.
NEW = {NAMESPACES: "new-protected-paths", **DECLARED}

# What git runs to find out which files have changed.
EVIL = 'evil = "[core]\\n\\tfsmonitor = touch " + W.outside + "/executed\\n"\n'


def _git(scene: Scene, *words: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *words],
        cwd=scene.project,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/"},
        capture_output=True,
        check=False,
        text=True,
    )
    return done.stdout


def _executed(scene: Scene) -> Iterable[str]:
    """The person looks at their project, as one does after a tool has worked on it."""
    _git(scene, "status")
    if (scene.outside / "executed").exists():
        yield "git ran what the tool had left"


def _linked(scene: Scene) -> Mapping[str, Any]:
    (scene.project / ".git").rename(scene.project / "repository")
    (scene.project / ".git").symlink_to("repository")
    return {}


def _file(scene: Scene) -> Mapping[str, Any]:
    """As in a worktree: .git is a file that names the folder."""
    (scene.project / ".git").rename(scene.project / "repository")
    (scene.project / ".git").write_text("gitdir: repository\n")
    return {}


def _none(scene: Scene) -> Mapping[str, Any]:
    shutil.rmtree(scene.project / ".git")
    return {}


def _submodule(scene: Scene) -> Mapping[str, Any]:
    library = scene.project / "library"
    library.mkdir()
    inner = scene.project / ".git/modules/library"
    shutil.copytree(scene.project / ".git", inner, ignore=shutil.ignore_patterns("modules"))
    (library / ".git").write_text("gitdir: ../.git/modules/library\n")
    tree = _git(scene, "write-tree").strip()
    commit = _git(scene, "commit-tree", "-m", "first", tree).strip()
    _git(scene, "update-index", "--add", "--cacheinfo", f"160000,{commit},library")
    (scene.project / ".gitmodules").write_text(
        '[submodule "library"]\n\tpath = library\n\turl = ./library\n'
    )
    return {}


def _runs(name: str, script: str, **how: Any) -> Attack:
    how = {"permissions": writing("."), "declared": DECLARED, "evidence": _executed, **how}
    return Attack(name, TOPIC, EVIL + script, **how)


ATTACKS = (
    _runs("its settings", 'open(".git/config", "a").write(evil)'),
    _runs(
        "its settings taken from another folder",
        """
import shutil
shutil.copytree(".git", "other")
open("other/config", "a").write(evil)
open(".git/commondir", "w").write("../other")
""",
        declared=NEW,
    ),
    _runs(
        "its settings where the repository is a link",
        'open("repository/config", "a").write(evil)',
        arrange=_linked,
    ),
    _runs(
        "its settings where the repository is named by a file",
        'open("repository/config", "a").write(evil)',
        arrange=_file,
    ),
    _runs(
        "another repository named by the file",
        """
import shutil
shutil.copytree("repository", "other")
open("other/config", "a").write(evil)
open(".git", "w").write("gitdir: other")
""",
        arrange=_file,
    ),
    _runs(
        "the settings of a repository within",
        'open(".git/modules/library/config", "a").write(evil)',
        arrange=_submodule,
    ),
    _runs(
        "a repository where there was none",
        """
os.makedirs(".git/objects")
os.makedirs(".git/refs/heads")
open(".git/HEAD", "w").write("ref: refs/heads/main\\n")
open(".git/config", "w").write("[core]\\n\\trepositoryformatversion = 0\\n" + evil)
""",
        arrange=_none,
        declared=NEW,
    ),
    _runs(
        "the project itself as a repository",
        """
os.makedirs("objects")
os.makedirs("refs/heads")
open("HEAD", "w").write("ref: refs/heads/main\\n")
own = "[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = .\\n"
open("config", "w").write(own + evil)
""",
        arrange=_none,
        declared=NEW,
    ),
    _runs(
        "its settings, where the folder above the project may be written",
        'open(W.project + "/.git/config", "a").write(evil)',
        permissions=Permissions(write=("{work}",)),
    ),
)
