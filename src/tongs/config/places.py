"""Where things lie: the project around a directory, the user's folder, the global one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from tongs.core.record import dataclass
from tongs.core.scope import SEARCH_ORDER, Scope

# A directory that has one of these is a project. The foreign ones are read where they lie.
_MARKERS = (".tongs", ".cycod", ".kodelet", "kodelet-tools", ".glee")
_REPOSITORY = ".git"
_DEFAULT_GLOBAL = "/etc/tongs"


@dataclass(frozen=True, slots=True)
class Places:
    """All absolute. `project` is None where no directory above the working directory is one."""

    home: str
    user_folder: str
    global_folder: str
    state: str
    project: str | None
    cwd: str

    @property
    def root(self) -> str:
        return self.project or self.cwd

    @property
    def local_folder_for_writing(self) -> str:
        """The tool folder in which a new local tool belongs, whether it exists or not."""
        return os.path.join(self.root, ".tongs", "tools")

    def folder_for_writing(self, scope: Scope) -> str:
        """The tool folder for new tools of one scope (ANY: local)."""
        if scope is Scope.USER:
            return os.path.join(self.user_folder, "tools")
        if scope is Scope.GLOBAL:
            return os.path.join(self.global_folder, "tools")
        return self.local_folder_for_writing

    def tool_folders(
        self, scope: Scope, *, global_dir: str | None = None, local_dir: str | None = None
    ) -> list[tuple[str, str]]:
        """Every tool folder of a scope with its family, in lookup order; they need not exist.

        `global_dir` and `local_dir` take the places of the folders of Kodelet.
        """
        if scope is Scope.ANY:
            moved = {"global_dir": global_dir, "local_dir": local_dir}
            return [pair for one in SEARCH_ORDER for pair in self.tool_folders(one, **moved)]
        found = [(folder, family) for family, folder in self._families(scope)]
        for where, folder in self._kodelet(scope, global_dir, local_dir):
            found.append((os.path.normpath(os.path.join(where, folder)), "kodelet"))
        if scope is Scope.LOCAL and self.project not in (None, self.home):
            found.append((os.path.join(self.root, ".glee", "tools"), "glee"))
        return found

    def _kodelet(
        self, scope: Scope, global_dir: str | None, local_dir: str | None
    ) -> Iterator[tuple[str, str]]:
        if scope is Scope.USER:
            written = global_dir or "~/.kodelet/tools"
            yield self.home, written.removeprefix("~/")
        elif scope is Scope.LOCAL and self.project not in (None, self.home):
            if local_dir is not None:
                yield self.root, local_dir
            else:
                yield self.root, "kodelet-tools"
                yield self.root, os.path.join(".kodelet", "tools")

    def config_files(self) -> list[tuple[Scope, str]]:
        """Every config.yml that may exist, the weakest voice first."""
        files = [
            (Scope.GLOBAL, os.path.join(self.global_folder, "config.yml")),
            (Scope.USER, os.path.join(self.user_folder, "config.yml")),
        ]
        if self.project is not None and not self._is_users(self.project):
            files.append((Scope.LOCAL, os.path.join(self.project, ".tongs", "config.yml")))
        return files

    @property
    def foreign_config(self) -> str | None:
        """The config of another system that has a say (Glee's ceiling)."""
        if self.project in (None, self.home):
            return None
        return os.path.join(self.root, ".glee", "config.yml")

    def _families(self, scope: Scope) -> Iterator[tuple[str, str]]:
        if scope is Scope.USER:
            yield "tongs", os.path.join(self.user_folder, "tools")
            yield "cycod", os.path.join(self.home, ".cycod", "tools")
        elif scope is Scope.GLOBAL:
            yield "tongs", os.path.join(self.global_folder, "tools")
            # Beside the global folder, so that moving that one moves both.
            yield "cycod", os.path.join(os.path.dirname(self.global_folder), "cycod", "tools")
        elif self.project is not None:
            if not self._is_users(self.project):
                yield "tongs", os.path.join(self.project, ".tongs", "tools")
            if self.project != self.home:
                yield "cycod", os.path.join(self.project, ".cycod", "tools")

    def _is_users(self, project: str) -> bool:
        """The user's folder is no project's, even where it lies in one."""
        folder = os.path.join(project, ".tongs")
        # What is above it was resolved when the places were found.
        real = os.path.realpath(folder) if os.path.islink(folder) else folder
        return real == self.user_folder


def find_places(cwd: str, env: Mapping[str, str]) -> Places:
    """The places around `cwd`; every path with its symbolic links resolved."""
    home = os.path.realpath(env.get("HOME") or _home_of_user())
    user_folder = os.path.realpath(env.get("TONGS_HOME") or os.path.join(home, ".tongs"))
    here = os.path.realpath(cwd)
    return Places(
        home=home,
        user_folder=user_folder,
        global_folder=os.path.realpath(env.get("TONGS_GLOBAL") or _DEFAULT_GLOBAL),
        state=os.path.join(user_folder, "state"),
        project=_project(here, home, user_folder),
        cwd=here,
    )


def state_folder(env: Mapping[str, str] | None = None) -> str:
    """Where Tongs keeps what it has to remember; needs no project and no working directory."""
    env = os.environ if env is None else env
    home = env.get("TONGS_HOME") or os.path.join(env.get("HOME") or _home_of_user(), ".tongs")
    return os.path.join(os.path.realpath(home), "state")


def _project(here: str, home: str, user_folder: str) -> str | None:
    """The nearest directory, going up, that is a project."""
    directory = here
    while True:
        if directory == home:
            # What lies in a home directory belongs to the user scope, and a repository of settings
            # there is not the project of everything below. Only a moved user folder leaves room.
            own = os.path.join(home, ".tongs")
            return home if os.path.isdir(own) and os.path.realpath(own) != user_folder else None
        if os.path.lexists(os.path.join(directory, _REPOSITORY)):
            return directory
        for marker in _MARKERS:
            path = os.path.join(directory, marker)
            if os.path.isdir(path) and os.path.realpath(path) != user_folder:
                return directory
        above = os.path.dirname(directory)
        if above == directory:
            return None
        directory = above


def _home_of_user() -> str:
    import pwd  # noqa: PLC0415 - HOME is nearly always set

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return "/"
