"""`tongs lint --fix`: mends what can be mended by itself, and looks again whether it helped."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence

from tongs.authoring.lint.fixes import Edit, applied, edits, rank
from tongs.authoring.lint.manifest_files import entrypoint, interpreted
from tongs.authoring.lint.manifests import view
from tongs.core.annotations import TypeAlias
from tongs.core.errors import Problem, Severity
from tongs.core.permissions import covered
from tongs.core.record import dataclass
from tongs.core.scope import Scope
from tongs.core.tool import Trust
from tongs.registry import Entry
from tongs.runtime.lint_files import SCHEMAS, SETTINGS, Found
from tongs.schema.document import MAX_BYTES
from tongs.store.files import read_whole, write_whole

_ROUNDS = 5
_BITS = frozenset({"not-executable", "no-executable-bit"})

# Lints a file as if it had other content.
Look: TypeAlias = Callable[[Found, bytes], Found]


@dataclass(frozen=True, slots=True)
class Fixed:
    """What was done to one file, or would be. `failure` says why it was not."""

    file: str
    done: tuple[tuple[int, str], ...]
    before: str = ""
    after: str = ""
    # It came with a project, and whoever accepted it accepted other bytes.
    needs_trust: bool = False
    failure: str = ""


def fix(found: Sequence[Found], look: Look, *, dry_run: bool = False) -> list[Fixed]:
    """Mend the files; nothing is written that is not better than before."""
    done: list[Fixed] = []
    for item in found:
        if not any(_may_matter(problem) for problem in item.problems):
            continue
        after = item
        if item.entry.format in SCHEMAS:
            mended, after = _mended(item, look, dry_run=dry_run)
            done += mended
        done += _made_executable(after, dry_run=dry_run)
    return done


def _may_matter(problem: Problem) -> bool:
    return problem.severity is Severity.ERROR or problem.rule in _BITS


def _mended(item: Found, look: Look, *, dry_run: bool) -> tuple[list[Fixed], Found]:
    """What was done to the text, and the file as it is then."""
    path = item.entry.path
    try:
        data = read_whole(path, MAX_BYTES) or b""
        before = data.decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return [], item  # linting has said so
    text, done, after = _better(item, before, look)
    if not done:
        return [], item
    failure = _why_not(item) or ("" if dry_run else _written(path, data, text))
    lines = tuple((edit.line, edit.what) for edit in done)
    needs_trust = _needs_trust(item.entry) and not failure
    return [Fixed(path, lines, before, text, needs_trust, failure)], item if failure else after


def _better(item: Found, text: str, look: Look) -> tuple[str, list[Edit], Found]:
    """The text after as many rounds as help: what is mended may uncover what stood behind it."""
    done: list[Edit] = []
    schema = SCHEMAS[item.entry.format]
    for _ in range(_ROUNDS):
        wanted = edits(text, item.document, item.problems, schema)
        changed = applied(text, wanted)
        if changed == text:
            break
        after = look(item, changed.encode("utf-8"))
        if rank(after.problems) >= rank(item.problems):
            break
        text, item = changed, after
        done += sorted(wanted, key=lambda edit: edit.line)
    return text, done, item


def _made_executable(item: Found, *, dry_run: bool) -> Iterator[Fixed]:
    path = _without_bit(item)
    if path is None or not interpreted(path):
        return
    failure = _why_not(item) or _not_inside(path, item)
    if not failure and not dry_run:
        failure = _changed_mode(path)
    yield Fixed(
        path,
        ((0, f"chmod +x {path}"),),
        needs_trust=_needs_trust(item.entry) and not failure,
        failure=failure,
    )


def _needs_trust(entry: Entry) -> bool:
    local = entry.scope is Scope.LOCAL and entry.trust is not Trust.DEV
    return local and entry.format not in SETTINGS


def _without_bit(item: Found) -> str | None:
    rules = {problem.rule for problem in item.problems}
    if "no-executable-bit" in rules:
        return item.entry.path
    if "not-executable" in rules and item.document is not None:
        return entrypoint(view(item.document, item.base))
    return None


def _why_not(item: Found) -> str:
    """Why a file is left alone: it belongs to somebody else, or lies somewhere else."""
    entry = item.entry
    if entry.family != "tongs" and not item.by_hand:
        return f"it belongs to {entry.family}; if you mean it: tongs lint --fix {entry.path}"
    real = os.path.realpath(entry.path)
    if os.path.islink(entry.path) or (real != entry.path and not item.by_hand):
        return f"a link leads to it from the tool folder; if you mean it: tongs lint --fix {real}"
    return ""


def _not_inside(path: str, item: Found) -> str:
    """A manifest may name any file of the machine; only those of its own project are touched."""
    own = [os.path.realpath(os.path.dirname(item.entry.path))]
    if item.base:
        own.append(os.path.realpath(item.base))
    if not covered(os.path.realpath(path), own):
        return "it lies outside of the project"
    return ""


def _written(path: str, seen: bytes, text: str) -> str:
    """Write it, unless somebody else has meanwhile; why not, if not."""
    try:
        mode = stat.S_IMODE(os.stat(path).st_mode)
        if read_whole(path, MAX_BYTES) != seen:
            return "it has changed meanwhile"
        write_whole(path, text.encode("utf-8"), mode=mode)
        os.chmod(path, mode)  # the file was made with the mask of this process
    except OSError as error:
        return f"it cannot be written: {error.strerror}"
    return ""


def _changed_mode(path: str) -> str:
    """Whoever may read it may now start it, as an author's `chmod +x` does."""
    try:
        mode = stat.S_IMODE(os.stat(path).st_mode)
        os.chmod(path, mode | (mode & 0o444) >> 2)
    except OSError as error:
        return f"its mode cannot be changed: {error.strerror}"
    return ""
