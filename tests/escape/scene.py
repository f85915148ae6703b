"""The arranged world of one attack: a project, a home, a state folder, and what lies outside."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.escape.servers import Servers

from tongs.core.execution import Session
from tongs.core.permissions import Permissions

GIT_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"

# Inside a writable root these stay as they are (SEMANTICS 37 says why the rest may change).
PROTECTED = (
    ".git/hooks",
    ".git/config",
    ".tongs",
    ".venv",
    ".glee/tools",
    ".cycod/tools",
    ".kodelet/tools",
    "kodelet-tools",
)

PROJECT = {
    "data.txt": "plain data\n",
    "src/main.py": "print('hello')\n",
    "src/deep/er/file.txt": "deep\n",
    "out/old.txt": "old\n",
    ".git/HEAD": "ref: refs/heads/main\n",
    ".git/config": GIT_CONFIG,
    ".git/hooks/pre-commit": "#!/bin/sh\nexit 0\n",
    ".git/objects/info/packs": "",
    ".git/refs/heads/.keep": "",
    ".tongs/tools/hello.yaml": "bash: echo hello\n",
    ".tongs/config.yml": "{}\n",
    ".venv/pyvenv.cfg": "home = /usr/bin\n",
    ".venv/lib/site.py": "pass\n",
    ".glee/tools/scan/tool.yml": "name: scan\n",
    ".cycod/tools/list.yaml": "bash: ls\n",
    ".kodelet/tools/say": "#!/bin/sh\necho hello\n",
    "kodelet-tools/tell": "#!/bin/sh\necho hello\n",
}
# {} is the secret of the place: an attacker who prints it was there.
HOME = {
    ".ssh/id_rsa": "-----BEGIN KEY-----\n{}\n",
    ".aws/credentials": "[default]\naws_secret_access_key = {}\n",
    ".netrc": "machine example.org password {}\n",
    ".bashrc": "# plain\n",
    ".tongs/config.yml": "{{}}\n",
    ".tongs/tools/mine.yaml": "bash: echo mine\n",
    ".tongs/state/trust.json": '{{"pin": "{}"}}\n',
    ".tongs/state/audit/chain-000001.jsonl": "{}\n",
}
OUTSIDE = {
    "secret.txt": "{}\n",
    "victim.txt": "untouched\n",
    "folder/inner.txt": "inner {}\n",
    "program": "#!/bin/sh\necho {}\n",
}


@dataclass(frozen=True)
class Places:
    """Where the things of a scene lie."""

    base: Path

    @property
    def work(self) -> Path:
        return self.base / "work"

    @property
    def project(self) -> Path:
        return self.work / "project"

    @property
    def home(self) -> Path:
        return self.base / "home"

    @property
    def user_folder(self) -> Path:
        return self.home / ".tongs"

    @property
    def state(self) -> Path:
        return self.user_folder / "state"

    @property
    def outside(self) -> Path:
        return self.base / "outside"


class Ground:
    """The folders of scenes, and the secrets in them. A scene that leaves them as they are shares
    them with the next, so that what is kept ready for a policy can be used."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.secrets: list[str] = []
        self._plant(places.project, PROJECT)
        self._plant(places.home, HOME)
        self._plant(places.outside, OUTSIDE)
        (places.outside / "program").chmod(0o755)
        (places.project / "link").symlink_to(places.outside / "secret.txt")
        (places.project / "linked").symlink_to(places.outside)
        for hook in (".git/hooks/pre-commit", ".kodelet/tools/say", "kodelet-tools/tell"):
            (places.project / hook).chmod(0o755)
        places.state.chmod(0o700)
        self._first = self.facts()

    @property
    def touched(self) -> bool:
        return self.facts() != self._first

    def facts(self) -> dict[str, tuple[object, ...]]:
        """Everything there, by its path, with what a change would show in."""
        found = {str(self.places.base): _facts(os.stat(self.places.base))}
        folders = [str(self.places.base)]
        while folders:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    found[entry.path] = _facts(entry.stat(follow_symlinks=False))
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
        return found

    def remove(self) -> None:
        shutil.rmtree(self.places.base, ignore_errors=True)

    def _plant(self, root: Path, files: dict[str, str]) -> None:
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text if root == self.places.project else self._filled(text))

    def _filled(self, text: str) -> str:
        if "{}" not in text.replace("{{}}", ""):
            return text.format()
        self.secrets.append(new_secret())
        return text.format(self.secrets[-1])


@dataclass
class Scene:
    """What belongs to one run. `control` is true where the attack has to succeed."""

    ground: Ground
    control: bool
    servers: Servers
    known: dict[str, Any] = field(default_factory=dict)
    stack: ExitStack = field(default_factory=ExitStack)
    # For evidence that needs the result: filled in when the payload is over.
    result: Any = None
    # Opens another call of the same kind, for attacks of one call on another.
    open: Callable[[Permissions], Session] | None = None
    # What an arrangement keeps for its evidence.
    kept: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        places = self.ground.places
        self.secrets = [*self.ground.secrets]
        self.base = places.base
        self.work = places.work
        self.project = places.project
        self.home = places.home
        self.user_folder = places.user_folder
        self.state = places.state
        self.outside = places.outside
        self.known |= {
            "project": str(self.project),
            "home": str(self.home),
            "state": str(self.state),
            "outside": str(self.outside),
            "secret": str(self.outside / "secret.txt"),
            "target": str(self.outside / "victim.txt"),
            "work": str(self.work),
        }

    def secret(self) -> str:
        """A new one, which nobody inside can know."""
        self.secrets.append(new_secret())
        return self.secrets[-1]

    def permissions(self, wanted: Permissions) -> Permissions:
        def absolute(paths: Iterable[str]) -> tuple[str, ...]:
            return tuple(self._absolute(path) for path in paths)

        return replace(
            wanted,
            read=absolute(wanted.read),
            write=absolute(wanted.write),
            scratch=absolute(wanted.scratch),
        )

    def snapshot(self, wanted: Permissions) -> dict[str, tuple[object, ...]]:
        """Everything that these permissions must leave as it is."""
        granted = self.permissions(wanted).write
        return {
            path.removeprefix(f"{self.base}/"): facts
            for path, facts in self.ground.facts().items()
            if not self._may_change(path, granted)
        }

    def _may_change(self, path: str, granted: tuple[str, ...]) -> bool:
        if not any(_within(path, root) for root in granted):
            return False
        kept = [str(self.project / name) for name in PROTECTED]
        kept += [str(self.user_folder), str(self.state)]
        return not any(_within(path, name) for name in kept)

    def _absolute(self, path: str) -> str:
        filled = path.format(home=self.home, state=self.state, outside=self.outside, work=self.work)
        return os.path.normpath(os.path.join(self.project, filled))


def new_secret() -> str:
    return f"secret-{secrets.token_hex(12)}"


def _within(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


def _facts(found: os.stat_result) -> tuple[object, ...]:
    """Whatever a change would show in; reading shows in none of these."""
    return (
        found.st_ino,
        oct(found.st_mode),
        found.st_uid,
        found.st_gid,
        found.st_nlink,
        found.st_size,
        found.st_mtime_ns,
        # Nothing that is done to a file or its content leaves this as it was.
        found.st_ctime_ns,
    )


def differences(
    before: dict[str, tuple[object, ...]], after: dict[str, tuple[object, ...]]
) -> list[str]:
    """What was made, removed or changed, in words."""
    made = [f"{path} was made" for path in after.keys() - before.keys()]
    gone = [f"{path} is gone" for path in before.keys() - after.keys()]
    changed = [
        f"{path} was changed"
        for path in before.keys() & after.keys()
        if before[path] != after[path]
    ]
    return sorted(made + gone + changed)
