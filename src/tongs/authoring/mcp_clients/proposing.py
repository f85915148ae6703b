"""What a server of another program may touch: a proposal, each line with its reason.

It is a guess from the command line. A person reads it before it counts, and the walls hold it.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from tongs.authoring.mcp_clients.installed import installed
from tongs.authoring.mcp_clients.machine import Machine
from tongs.core.annotations import Any
from tongs.core.permissions import covered
from tongs.core.record import dataclass, field
from tongs.policy.secret_files import is_secret_place


@dataclass(frozen=True, slots=True)
class Proposal:
    """`permissions` as config.yml has them, and why."""

    permissions: dict[str, Any]
    # In words, one per line.
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    # Folders that the program makes for itself where it may, absolute.
    folders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Runner:
    """A program that fetches the server before it starts it."""

    caches: tuple[str, ...]
    # Words that have to follow; without them it runs what is there already.
    words: tuple[str, ...] = ()


_NODE = ("~/.npm",)
_UV = ("~/.cache/uv", "~/.local/share/uv")
_PIPX = ("~/.cache/pipx", "~/.local/share/pipx")
_PNPM = ("~/.cache/pnpm", "~/.local/share/pnpm")
_BUN = ("~/.bun",)
_RUNNERS: Mapping[str, tuple[_Runner, ...]] = {
    "npx": (_Runner(_NODE),),
    "npm": (_Runner(_NODE, ("exec",)), _Runner(_NODE, ("x",))),
    "uvx": (_Runner(_UV),),
    "uv": (_Runner(_UV, ("tool", "run")), _Runner(_UV, ("run",)), _Runner(_UV, ("x",))),
    "pipx": (_Runner(_PIPX, ("run",)),),
    "pnpm": (_Runner(_PNPM, ("dlx",)),),
    "pnpx": (_Runner(_PNPM),),
    "yarn": (_Runner(("~/.yarn", "~/.cache/yarn"), ("dlx",)),),
    "bunx": (_Runner(_BUN),),
    "bun": (_Runner(_BUN, ("x",)),),
    "deno": (_Runner(("~/.cache/deno",), ("run",)),),
}
_CONTAINERS = frozenset(("docker", "podman", "nerdctl"))
_INTERPRETERS = re.compile(r"(?:node|nodejs|python[0-9.]*|ruby|perl|php|java|bash|sh)(?:\.exe)?")
# Options before the first word of `uv` and the like; it makes an environment in the folder.
_OF_FOLDERS = frozenset(("--directory", "--project", "--prefix", "-C"))
# Servers and options whose folders are there to be written.
_WRITES = re.compile(
    r"filesystem|memory|sqlite|obsidian|notes?\b|database|knowledge", re.IGNORECASE
)
_WRITING_OPTION = re.compile(
    r"(?:^|[_-])(?:db|database|out|output|data|storage|store|cache|log|memory|vault|write)"
    r"(?:$|[_-])",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _Draft:
    network: bool | list[str] = False
    read: dict[str, None] = field(default_factory=dict)
    write: dict[str, None] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)

    def done(self) -> Proposal:
        read = [path for path in self.read if path not in self.write]
        permissions = {"network": self.network, "fs": {"read": read, "write": list(self.write)}}
        return Proposal(permissions, tuple(self.reasons), tuple(self.warnings), tuple(self.folders))


def proposed(entry: Mapping[str, Any], machine: Machine) -> Proposal:
    """Permissions for one server of config.yml."""
    draft = _Draft()
    if "url" in entry:
        host = urlsplit(str(entry["url"])).netloc.rpartition("@")[2]
        draft.network = [host]
        draft.reasons.append(f"it may reach {host}, where it is")
        return draft.done()
    command = entry["command"]
    words = [*([command] if isinstance(command, str) else command), *entry.get("args", ())]
    program = os.path.basename(str(words[0]).replace("\\", "/")).lower()
    program = program.removesuffix(".cmd").removesuffix(".exe")
    own = _fetched(program, words[1:], draft, machine)
    if program in _CONTAINERS:
        _container(program, draft)
    _paths(entry, words, draft, machine, interpreted=_INTERPRETERS.fullmatch(program) is not None)
    if not own and program not in _CONTAINERS:
        _project(draft)
    elif not draft.read and len(draft.write) == len(draft.folders):
        draft.reasons.append("it sees nothing of the project; add `.` to fs.read if it has to")
    return draft.done()


def _fetched(program: str, words: list[str], draft: _Draft, machine: Machine) -> bool:
    """Whether the program fetches what it starts, with what it needs for that."""
    words = _after_options(words)
    for runner in _RUNNERS.get(program, ()):
        if tuple(words[: len(runner.words)]) != runner.words:
            continue
        line = " ".join((program, *runner.words))
        draft.network = True
        for cache in runner.caches:
            draft.write[cache] = None
            draft.folders.append(machine.home + cache[1:])
        draft.reasons.append(f"it may use the network, since {line} fetches the server")
        draft.reasons.append(f"it may write {' and '.join(runner.caches)}, where {line} keeps it")
        return True
    return False


def _project(draft: _Draft) -> None:
    """What every server may do of which nothing else is known."""
    for path in [path for path in draft.read if not os.path.isabs(path) and path[:1] not in ".~"]:
        del draft.read[path]
    draft.read.setdefault(".")
    draft.reasons.append("it may read the project, like every server of which you say no more")
    draft.reasons.append("it has no network; say `network: true` if it talks to a service")


def _after_options(words: list[str]) -> list[str]:
    """`uv --directory X run` is `uv run`."""
    while words and words[0].startswith("-"):
        words = words[2 if words[0] in _OF_FOLDERS else 1 :]
    return words


def _container(program: str, draft: _Draft) -> None:
    draft.network = True
    draft.reasons.append(f"it may use the network, since {program} fetches images")
    draft.warnings.append(
        f"what runs in a container is held by {program}, not by Tongs: mind its -v and --network; "
        f"and whoever reaches the socket of {program} can do anything"
    )


def _paths(
    entry: Mapping[str, Any],
    words: list[str],
    draft: _Draft,
    machine: Machine,
    *,
    interpreted: bool,
) -> None:
    if os.path.isabs(words[0]):
        _program(words[0], draft, machine)
    writes = _WRITES.search(" ".join(words[:4])) is not None
    script = interpreted
    for option, value in (*_named_values(words[1:]), *_items(entry)):
        if not _is_path(value):
            continue
        if script and not option:
            script = False
            _program(machine.absolute(value), draft, machine)
            continue
        wanted = writes or option in _OF_FOLDERS or _WRITING_OPTION.search(option) is not None
        _grant(value, f"{option} {value}".strip(), draft, machine, writes=wanted)
    if (cwd := entry.get("cwd")) and _may_be_granted(str(cwd), f"cwd {cwd}", draft, machine):
        draft.read.setdefault(str(cwd))
        draft.reasons.append(f"it may read {cwd}, where it starts")


def _program(path: str, draft: _Draft, machine: Machine) -> None:
    for folder in map(machine.short, installed(path, machine)):
        if not _may_be_granted(folder, folder, draft, machine):
            continue
        if folder not in draft.read and machine.absolute(folder) != machine.project:
            draft.read[folder] = None
            draft.reasons.append(f"it may read {folder}, where its program is")


def _may_be_granted(written: str, named: str, draft: _Draft, machine: Machine) -> bool:
    """Whether a path is one to propose; the warning says why not."""
    real = machine.absolute(written)
    if machine.too_broad(real):
        draft.warnings.append(f"its argument `{named}` is too much to grant: name folders in it")
        return False
    # A file that came with a project can name anything, and call a link what it likes.
    meant = machine.real(real)
    if is_secret_place(real, machine.home) or is_secret_place(meant, machine.home):
        draft.warnings.append(
            f"its argument `{named}` is where passwords or keys are: grant it yourself if it has to"
        )
        return False
    if covered(real, (machine.project,)) and not covered(meant, (machine.real(machine.project),)):
        draft.warnings.append(f"its argument `{named}` is a link out of the project, to {meant}")
        return False
    return True


def _grant(written: str, named: str, draft: _Draft, machine: Machine, *, writes: bool) -> None:
    if not _may_be_granted(written, named, draft, machine):
        return
    real = machine.absolute(written)
    if not machine.is_folder(real) and not machine.is_file(real):
        draft.warnings.append(f"its argument `{named}` looks like a path, but there is none")
        return
    # What is written from where the server stands keeps its meaning in every project.
    path = machine.short(real) if written.startswith(("/", "~")) else os.path.normpath(written)
    if writes:
        draft.write[path] = None
        draft.reasons.append(f"it may write {path}, which its arguments name")
    else:
        draft.read[path] = None
        draft.reasons.append(
            f"it may read {path}, which its arguments name; move it to fs.write if it has to write"
        )


def _named_values(words: list[str]) -> Iterator[tuple[str, str]]:
    """Values of a command line, each with the option it belongs to, or none."""
    option = ""
    for word in words:
        if word.startswith("-"):
            option, equals, value = word.partition("=")
            if equals:
                yield option, value
                option = ""
            continue
        yield option if _takes_path(option) else "", word
        option = ""


def _takes_path(option: str) -> bool:
    # `-y` and the like are switches; what follows them stands for itself.
    return len(option) > 2 or option in _OF_FOLDERS


def _items(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in (entry.get("env") or {}).items():
        if isinstance(value, str) and not value.startswith(("env:", "file:", "keyring:")):
            yield name, value


def _is_path(value: str) -> bool:
    """Whether a word is a path for sure."""
    if ":" in value or "\n" in value:
        return False
    return value.startswith(("/", "~/", "./", "../")) or value in (".", "..", "~")
