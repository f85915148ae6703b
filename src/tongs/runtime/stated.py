"""Where a config file says something: for commands that tell a person what to change."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tongs.config.places import Places
from tongs.core.annotations import Any
from tongs.core.errors import DefinitionInvalid
from tongs.core.record import dataclass
from tongs.core.scope import Scope
from tongs.schema.document import MAX_BYTES, Document, PathTuple
from tongs.store.files import read_whole


@dataclass(frozen=True, slots=True)
class Statement:
    """A value as it is written, and the `file:line` that has it."""

    value: Any
    where: str
    scope: Scope


def source_of(
    places: Places,
    key: PathTuple,
    value: Any,
    read: Callable[[Any], Any] = lambda written: written,
    *,
    profile: Sequence[Document] = (),
) -> str:
    """The line that a setting comes from; "" where no file says it.

    `read` makes of what is written what the settings have. Where a person's own file and the
    project's say the same, it is the person's: what a project says may have been ignored.
    """
    same = [said for said in stated(places, key, profile) if read(said.value) == value]
    own = [said for said in same if said.scope is not Scope.LOCAL]
    return (own or same)[-1].where if same else ""


def stated(places: Places, key: PathTuple, profile: Sequence[Document] = ()) -> list[Statement]:
    """Every file that says something under `key`, the weakest voice first; `profile` speaks last.

    Files that cannot be used are left out: whoever opens a runtime hears about them.
    """
    files = [(scope, _document(path)) for scope, path in places.config_files()]
    found = []
    for scope, document in (*files, *((Scope.USER, document) for document in profile)):
        value = None if document is None else _at(document.data, key)
        if document is not None and value is not None:
            where = f"{document.source}:{document.line_of(key)}"
            found.append(Statement(value, where, scope))
    return found


def _document(path: str) -> Document | None:
    from tongs.schema.document import parse_config  # noqa: PLC0415 - most people have no config

    try:
        data = read_whole(path, MAX_BYTES)
        return None if data is None else parse_config(data, path)
    except (OSError, DefinitionInvalid):
        return None


def _at(data: Any, key: PathTuple) -> Any:
    for part in key:
        data = data.get(part) if isinstance(data, dict) else None
    return data
