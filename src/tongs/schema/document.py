"""A YAML file as data with line numbers: one strict dialect for running, linting and reviewing."""

from __future__ import annotations

from collections.abc import Collection

from tongs.core.annotations import Any, TypeAlias
from tongs.core.digest import digest_of
from tongs.core.errors import DefinitionInvalid, Problem
from tongs.core.record import dataclass

PathTuple: TypeAlias = tuple[str | int, ...]

MAX_BYTES = 1024 * 1024

# Mirrors the data: a scalar is its line, a container `[line, child, child, ...]` in the order of
# the data. A literal block (`|`) is minus the line its text starts at. Nothing else is stored,
# since a cache holds thousands of these.
Lines: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class Document:
    """The content of one file; `data` is JSON, `digest` the SHA-256 of the bytes that were read.

    `checked` names the schema that accepted it, so that a cached document is not checked again.
    """

    data: Any
    lines: Lines
    source: str
    digest: str = ""
    checked: str = ""

    def line_of(self, path: PathTuple, offset: int | None = None) -> int:
        """The line of the key or item at `path`; with `offset`, of that character of its text.

        A path that does not exist gives the line of the nearest container that does. Only a
        literal block (`|`) keeps its lines, so elsewhere every offset is where the text starts.
        """
        data, lines = self.data, self.lines
        for key in path:
            position = _position(data, key)
            if position is None:
                break
            data, lines = data[key], lines[position + 1]
        if isinstance(lines, list):
            return int(lines[0])
        if lines >= 0:
            return int(lines)
        return int(-lines - 1 if offset is None else -lines + data.count("\n", 0, offset))

    def problem(
        self,
        path: PathTuple,
        message: str,
        *,
        offset: int | None = None,
        rule: str = "definition",
        hint: str = "",
    ) -> Problem:
        """A Problem that names this file, the line and the field at `path`."""
        return Problem(
            file=self.source,
            message=message,
            line=self.line_of(path, offset),
            field=field_name(path),
            rule=rule,
            hint=hint,
        )

    def at(self, path: PathTuple) -> Document:
        """The part at `path`, which must be there, as a document; one that is empty has no keys."""
        data, lines = self.data, self.lines
        for key in path:
            position = _position(data, key)
            assert position is not None, "the caller has seen it"
            data, lines = data[key], lines[position + 1]
        if data is None:
            data, lines = {}, [lines]
        return Document(data, lines, self.source, self.digest)

    def only(self, keys: Collection[str]) -> Document:
        """The document without its other keys."""
        line, *inner = self.lines
        kept = [(key, place) for key, place in zip(self.data, inner, strict=True) if key in keys]
        data = {key: self.data[key] for key, _ in kept}
        return Document(data, [line, *(place for _, place in kept)], self.source, self.digest)

    def to_cache(self) -> dict[str, Any]:
        return {
            "data": self.data,
            "lines": self.lines,
            "source": self.source,
            "digest": self.digest,
            "checked": self.checked,
        }

    @staticmethod
    def from_cache(cached: dict[str, Any]) -> Document:
        return Document(**cached)


def field_name(path: PathTuple) -> str:
    """`("steps", 0, "bash")` as a person writes it: `steps[0].bash`."""
    name = ""
    for key in path:
        if isinstance(key, int):
            name += f"[{key}]"
        else:
            name += f".{key}" if name else key
    return name


def parse(data: bytes, source: str) -> Document:
    """Read one YAML file; DefinitionInvalid lists everything that is wrong with it as YAML."""
    from tongs.schema.yaml_reader import Reader  # noqa: PLC0415 - unless a cached Document answers

    if len(data) > MAX_BYTES:
        raise DefinitionInvalid(
            [
                Problem(
                    source,
                    f"the file has {len(data)} bytes; the most is {MAX_BYTES}",
                    rule="yaml",
                    hint="move long scripts into files of their own",
                )
            ]
        )
    value, lines = Reader(data, source).read()
    return Document(value, lines, source, digest_of(data))


def parse_config(data: bytes, source: str) -> Document:
    """`parse` for settings, where a file of comments alone says nothing and is fine.

    One without even those is an error: it may be what is left of a file that denied something.
    """
    lines = [line for line in map(bytes.strip, data.splitlines()) if line]
    if lines and all(line.startswith(b"#") for line in lines):
        return Document({}, [1], source, digest_of(data))
    return parse(data, source)


def _position(data: Any, key: str | int) -> int | None:
    if isinstance(data, dict):
        return next((n for n, name in enumerate(data) if name == key), None)
    if isinstance(data, list) and isinstance(key, int) and 0 <= key < len(data):
        return key
    return None
