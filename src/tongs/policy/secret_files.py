"""Files that hold passwords and keys, and commands and arguments that read them."""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator, Mapping

from tongs.core.annotations import TYPE_CHECKING, Any, TypeAlias
from tongs.core.decision import Decision
from tongs.core.execution import CommandLine
from tongs.core.permissions import covered
from tongs.policy.looking import Case
from tongs.policy.read_words import is_recursive, read_words
from tongs.policy.targets import UNKNOWN, Ground, Target, candidates, each_target, shown, target

if TYPE_CHECKING:
    from tongs.policy.shell.reading import Reading
    from tongs.policy.shell.state import Invocation

Judged: TypeAlias = Iterator[tuple[Decision, str]]

_SYSTEM_SECRETS = re.compile(
    r"/etc/(?:passwd|shadow|gshadow|sudoers)-?|/etc/sudoers\.d(?:/.*)?|/etc/ssh/ssh_host_\w+_key"
    r"|/proc/(?:self|thread-self|\d+|\d+/task/\d+)/environ"
)
_HOME_SECRETS = re.compile(
    r"\.ssh(?:/(?!known_hosts|config\Z|authorized_keys|[^/]*\.pub\Z).*)?"
    r"|\.aws(?:/.*)?|\.gnupg(?:/.*)?|\.netrc|\.pgpass|\.git-credentials|\.pypirc|\.vault-token"
    r"|\.kube/config|\.docker/config\.json|\.config/gcloud(?:/.*)?|\.config/gh/hosts\.yml"
    r"|\.azure(?:/.*)?|\.password-store(?:/.*)?|\.local/share/keyrings(?:/.*)?"
)
# In any folder. Also for tools that look through many files.
NAMED_SECRETS = (
    r"id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|\.env(?:\.(?!example\Z|sample\Z|template\Z|dist\Z|test\Z)"
    r"[\w.-]+)?"
)
_NAMED_SECRETS = re.compile(NAMED_SECRETS)
# For patterns: whatever one of these matches is meant.
_EXAMPLES = (".ssh", ".ssh/id_rsa", ".ssh/id_ed25519", ".aws/credentials", ".gnupg", ".netrc")
_SYSTEM_EXAMPLES = ("/etc/passwd", "/etc/shadow", "/etc/sudoers", "/proc/self/environ")


def read_secrets(reading: Reading, line: CommandLine, ground: Ground) -> Judged:
    for invocation in reading.invocations:
        recursive = is_recursive(invocation)
        for word in (*read_words(invocation), *invocation.reads):
            if not line.given and not any(value and value in word for value in line.values):
                # Its author's own words: the permissions of the definition say what it may read.
                continue
            for candidate in candidates(word):
                # Bash expands it after `=`, and many programs do.
                path = re.sub(r"\A~(?=/|\Z)", lambda _: ground.home, candidate)
                for decision, why in _judged(path, invocation, ground, recursive=recursive):
                    yield decision, f"`{invocation.shown}` reads {why}"


def _judged(word: str, invocation: Invocation, ground: Ground, *, recursive: bool) -> Judged:
    for place in each_target(word, invocation):
        if place is None:
            if _looks_secret(word):
                yield Decision.ASK, f"{word.strip(UNKNOWN)} in a folder that is not known"
        elif why := _is_secret(place, ground):
            yield Decision.DENY, why
        elif place.unsure and _looks_secret(place.rest.rpartition(UNKNOWN)[2]):
            yield Decision.ASK, f"{shown(place)}, which may be a secret"
        elif recursive and not place.rest and _holds_secrets(place.known, ground):
            yield Decision.ASK, f"all of {place.known}, where secrets are kept"


def _looks_secret(tail: str) -> bool:
    """Whether it would be a secret below the home directory."""
    parts = tail.split("/")
    below = ("/".join(parts[n:]) for n, part in enumerate(parts) if part.startswith("."))
    return any(map(_HOME_SECRETS.fullmatch, below)) or bool(_NAMED_SECRETS.fullmatch(parts[-1]))


def _holds_secrets(path: str, ground: Ground) -> bool:
    if path == ground.root:
        return False
    return path in ("/etc", "/root") or covered(ground.home, (path,))


def is_secret_place(path: str, home: str) -> bool:
    """Whether a file or folder, named in full, is one that holds passwords or keys."""
    below = path[len(home) + 1 :] if path.startswith(home + "/") else ""
    return bool(
        _SYSTEM_SECRETS.fullmatch(path)
        or (below and _HOME_SECRETS.fullmatch(below))
        or re.fullmatch(r"/root(?:/\.ssh)(?:/.*)?", path)
        or _NAMED_SECRETS.fullmatch(os.path.basename(path))
    )


def _is_secret(place: Target, ground: Ground) -> str:
    path, home = place.path, ground.home
    if not place.rest:
        return path if is_secret_place(path, home) else ""
    if place.unsure and not re.search(r"[^\0/]", place.rest):
        return ""
    folder = path.rpartition("/")[0]
    examples = [*_SYSTEM_EXAMPLES, *(f"{home}/{name}" for name in _EXAMPLES)]
    last = place.rest.rpartition("/")[2]
    if last.lstrip("\x01\x02\x03\0"):
        # `.en?` and `id_*`, but not a bare `*`.
        examples += [f"{folder}/.env", f"{folder}/id_rsa", f"{folder}/id_ed25519"]
    if not place.unsure and any(place.can_be(example) for example in examples):
        return shown(place)
    if _NAMED_SECRETS.fullmatch(last):
        return shown(place)
    return ""


# Arguments that name a file, and tools of seed 002 that do not read what is in it.
_PATH_ARGUMENT = re.compile(
    r"(?:.*[_-])?(?:path|paths|file|files|filename|filepath|source|src|input|from|uri|url|location)",
    re.IGNORECASE,
)
_PATH = re.compile(r"[^\x00-\x1f]{1,4096}")
_NO_PATHS = (int, float, bool, type(None))
# Under another name anybody could read it, so `move_file` is not among them.
_WRITING_TOOLS = frozenset({"write_file", "delete_file", "list_directory", "list_files"})


def named_secrets(case: Case, ground: Ground) -> Judged:
    if case.tool.name in _WRITING_TOOLS:
        return
    for name, value in _path_arguments(case.call.arguments):
        if "://" in value and not value.startswith("file://"):
            continue
        word = re.sub(r"^file://(?:localhost)?", "", value)
        if word == "~" or word.startswith("~/"):
            word = case.place.home + word[1:]
        place = target(word, case.place.start)
        if place is not None and (why := _is_secret(place, ground)):
            yield Decision.DENY, f"{name} is {why}"


# The names of arguments come again and again.
_known: dict[str, bool] = {}
_MOST_KNOWN = 1024
_LONGEST_KNOWN = 64


def _names_a_path(name: str) -> bool:
    known = _known.get(name)
    if known is None:
        known = _PATH_ARGUMENT.fullmatch(name) is not None
        if len(_known) < _MOST_KNOWN and len(name) <= _LONGEST_KNOWN:
            _known[name] = known
    return known


def _path_arguments(arguments: Mapping[str, Any]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name, value in arguments.items():
        if type(value) in _NO_PATHS:
            continue
        for each in value if isinstance(value, list) else (value,):
            # In this order: asking the abstract class is slow.
            if isinstance(each, str):
                if _names_a_path(str(name)) and _PATH.fullmatch(each):
                    found.append((str(name), each))
            elif isinstance(each, Mapping):
                found += _path_arguments(each)
    return found
