"""YAML files as data, parsed once for the same bytes."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

from tongs.core.annotations import Any
from tongs.core.digest import digest_of
from tongs.core.errors import DefinitionInvalid, ErrorCode, Problem, ToolError
from tongs.core.permissions import covered
from tongs.core.record import replace
from tongs.schema.document import MAX_BYTES, Document, parse, parse_config
from tongs.store.cache import DefinitionCache
from tongs.store.files import read_whole

# Documents that are kept in memory.
_MOST_RECENT = 64


def definition_bytes(path: str, largest: int) -> bytes:
    """The bytes of the file that defines a tool; ToolError if it cannot be read."""
    try:
        data = read_whole(path, largest)
    except OSError as error:
        raise ToolError(
            ErrorCode.INVALID_DEFINITION, f"{path} cannot be read: {error.strerror}"
        ) from None
    if data is None:
        raise ToolError(ErrorCode.TOOL_NOT_FOUND, f"{path} does not exist")
    return data


def program_bytes(path: str, largest: int) -> bytes:
    """As `definition_bytes`, of what is run; ToolError if it is larger, since all of it counts."""
    data = definition_bytes(path, largest)
    if len(data) > largest:
        reason = f"it has more than {largest >> 20} MiB"
        raise ToolError(ErrorCode.INVALID_DEFINITION, f"{path} cannot be used: {reason}")
    return data


def discreet(invalid: DefinitionInvalid, path: str, project: str | None) -> DefinitionInvalid:
    """What is wrong with a file, without a word of its text where a link leads out of the project.

    A stranger may have put the link there, so that somebody tells what the project may not know.
    """
    if project is None or not covered(path, (project,)):
        return invalid
    real = os.path.realpath(path)
    if covered(real, (project,)):
        return invalid
    reason = "it is a link out of the project, to something that cannot be used"
    return DefinitionInvalid([Problem(path, reason, hint=f"tongs lint {real}")])


class Documents:
    def __init__(self, cache: DefinitionCache, project: str | None = None) -> None:
        self._cache = cache
        self._project = project
        # As they came from the cache, for a process that is asked for the same ones all the time.
        self._recent: dict[tuple[str, str], Document] = {}

    def read(self, path: str) -> bytes:
        """The bytes of a file; ToolError if it cannot be read."""
        return definition_bytes(path, MAX_BYTES)

    def parsed(
        self,
        data: bytes,
        path: str,
        schema: str,
        parse: Callable[[bytes, str], Document] = parse,
    ) -> Document:
        """The document; its `checked` is `schema` where these bytes were found good before."""
        key = _key(digest_of(data), schema)
        recent = self._recent.get((key, path))
        if recent is not None:
            return recent
        cached = self._cache.get(key)
        if cached is not None:
            # Whoever spoiled the entry, the file itself is still there to be read.
            with suppress(TypeError):
                document = Document.from_cache({**cached, "source": path})
                if len(self._recent) >= _MOST_RECENT:
                    self._recent.clear()
                self._recent[key, path] = document
                return document
        return parse(data, path)

    def keep(self, document: Document, schema: str) -> None:
        """Remember that a document was checked, as what, and found good."""
        checked = replace(document, checked=schema)
        self._cache.put(_key(document.digest, schema), checked.to_cache())

    def config(self, path: str) -> Document:
        """A config file, checked."""
        return self._checked(path, "config", _valid)

    def named(self, path: str) -> Document:
        """A named config or a profile, checked."""
        from tongs.config import named  # noqa: PLC0415 - few people have one

        return self._checked(path, named.SCHEMA, lambda document, _: named.checked(document))

    def server(self, path: str) -> Document:
        """A file `mcp/NAME.yml`, checked."""
        return self._checked(path, "server", _valid)

    def foreign(self, path: str) -> Document:
        """A file of another system, as it is."""
        return self._settings(path, "foreign")

    def data(self, data: bytes, path: str) -> Any:
        """The data of a file of our own, which whoever asks for it checks."""
        try:
            document = self.parsed(data, path, "data")
        except DefinitionInvalid as invalid:
            raise invalid.as_tool_error(path) from None
        if not document.checked:
            self.keep(document, "data")
        return document.data

    def _checked(
        self, path: str, schema: str, check: Callable[[Document, str], Document]
    ) -> Document:
        try:
            document = self._settings(path, schema)
            if not document.checked:
                document = check(document, schema)
                self.keep(document, schema)
        except DefinitionInvalid as invalid:
            raise discreet(invalid, path, self._project) from None
        return document

    def _settings(self, path: str, schema: str) -> Document:
        try:
            data = self.read(path)
        except ToolError as error:
            reason = error.message.removeprefix(f"{path} ")
            raise DefinitionInvalid([Problem(path, reason)]) from None
        return self.parsed(data, path, schema, parse_config)


def _valid(document: Document, schema: str) -> Document:
    from tongs.schema.check_document import require_valid  # noqa: PLC0415 - first time only

    return require_valid(document, schema)


def _key(digest: str, schema: str) -> str:
    # The same bytes may be good as one thing and bad as another.
    return f"{digest}.{schema}"
