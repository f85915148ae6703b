"""How definitions of each shape are read and pinned."""

from __future__ import annotations

import os
from collections.abc import Callable

from tongs.core.annotations import TYPE_CHECKING, Any, Protocol
from tongs.core.digest import digest_of
from tongs.core.errors import DefinitionInvalid, Problem
from tongs.core.record import dataclass, field, replace
from tongs.core.tool import Origin, Tool
from tongs.runtime.documents import Documents, program_bytes
from tongs.runtime.shapes import EXECUTABLE, MANIFEST, PYTHON, YAML
from tongs.schema.document import MAX_BYTES

if TYPE_CHECKING:
    from tongs.runtime.bundle import Bundle, Snapshot
    from tongs.runtime.describing import Describer
    from tongs.runtime.python_files import PythonFiles
    from tongs.runtime.settings_files import SettingsFiles

# So many executables that it pays to ask them at once.
_MANY = 4


class Shape(Protocol):
    """How definitions of one shape are read. `path` is the file that a listing names."""

    def name(self, path: str) -> str:
        """What to call it before it was read."""

    def load(
        self, path: str, origin: Origin, data: bytes | None = None, known: Tool | None = None
    ) -> Tool:
        """The tool; from `data` instead of the file where given. Raises DefinitionInvalid.

        `known` is what was loaded from there before, and is taken where nothing has changed.
        """

    def bundle(self, tool: Tool) -> Bundle:
        """Everything that defines it, as it is now."""


class Shapes(dict[str, "Shape"]):
    """The shapes by key; each is made when the first definition of it is met."""

    def __init__(
        self, documents: Documents, platform: str, default_shell: str, settings: SettingsFiles
    ) -> None:
        super().__init__({YAML: YamlShape(documents, platform, default_shell, settings)})
        self._documents = documents
        self._settings = settings
        self._describer: Callable[[], Describer] | None = None
        self._python_files: Callable[[], PythonFiles] | None = None
        self._parallel: Callable[[], bool] = lambda: False

    def read(self, path: str) -> bytes:
        """The bytes of a file; ToolError if it cannot be read."""
        return self._documents.read(path)

    def configs_of(self, tool: Tool) -> list[str]:
        """The files of the configs that a YAML tool names, whether they exist or not."""
        return self._settings.paths(tool.plan.configs) if tool.plan.configs else []

    def ask_executables(
        self,
        describer: Callable[[], Describer],
        python_files: Callable[[], PythonFiles],
        parallel: Callable[[], bool],
    ) -> None:
        """Say who runs `description`, and who imports Python files; made when there is one to ask.

        `parallel` tells whether several threads may start processes.
        """
        self._describer = describer
        self._python_files = python_files
        self._parallel = parallel

    def together(
        self,
        found: list[tuple[str, str]],
        make: Callable[[str, str], dict[str, Any]],
    ) -> list[dict[str, Any]]:
        """`make` for each of these; several executables are asked at once."""
        many = sum(shape == EXECUTABLE for _, shape in found)
        if many < _MANY or not self._parallel():
            return [make(path, shape) for path, shape in found]
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - first listing only

        self[EXECUTABLE]
        with ThreadPoolExecutor(max_workers=2 * (os.cpu_count() or 1)) as threads:
            return list(threads.map(lambda pair: make(*pair), found))

    def __missing__(self, key: str) -> Shape:
        if key == EXECUTABLE and self._describer is not None:
            made: Shape = ExecutableShape(self._documents, self._describer())
        elif key == MANIFEST:
            made = ManifestShape(self._documents)
        elif key == PYTHON and self._python_files is not None:
            made = PythonShape(self._documents, self._python_files())
        else:
            raise KeyError(key)
        self[key] = made
        return made


@dataclass(frozen=True, slots=True)
class YamlShape:
    documents: Documents
    platform: str
    default_shell: str
    settings: SettingsFiles

    def name(self, path: str) -> str:
        return os.path.splitext(os.path.basename(path))[0]

    def load(
        self, path: str, origin: Origin, data: bytes | None = None, known: Tool | None = None
    ) -> Tool:
        from tongs.formats import yaml  # noqa: PLC0415 - a listing from the cache needs no format
        from tongs.formats.yaml_steps import Host  # noqa: PLC0415 - as above

        data = self.documents.read(path) if data is None else data
        located = replace(origin, digest=digest_of(data), path=path, format=YAML)
        if known is not None and known.origin == located and self._same_configs(known):
            return known
        document = self.documents.parsed(data, path, yaml.SCHEMA)
        checked = document.checked == yaml.SCHEMA
        host = Host(self.platform, self.default_shell)
        tool = yaml.load(document, located, host, self.settings.used_by, checked=checked)
        if not checked:
            self.documents.keep(document, yaml.SCHEMA)
        return tool

    def bundle(self, tool: Tool) -> Bundle:
        return _single(self.documents, tool)

    def _same_configs(self, known: Tool) -> bool:
        configs = known.plan.configs
        return not configs or configs == self.settings.used_by(configs)


@dataclass(frozen=True, slots=True)
class ManifestShape:
    documents: Documents
    # Of those that were loaded twice: the tool, where it was said to come from, and its files.
    seen: dict[str, tuple[Tool, Origin, Snapshot]] = field(default_factory=dict)

    def name(self, path: str) -> str:
        return os.path.basename(os.path.dirname(path))

    def load(
        self, path: str, origin: Origin, data: bytes | None = None, known: Tool | None = None
    ) -> Tool:
        if known is not None and data is None and self._is_seen(known, path, origin):
            return known
        from tongs.formats import manifest  # noqa: PLC0415 - as above
        from tongs.runtime.bundle import bundle_digest  # noqa: PLC0415 - manifests only

        data = self.documents.read(path) if data is None else data
        if known is not None and self._is_unchanged(known, path, origin, data):
            return known
        located = replace(origin, path=path, format=MANIFEST)
        document = self.documents.parsed(data, path, manifest.SCHEMA)
        checked = document.checked == manifest.SCHEMA
        tool = manifest.load(document, located, checked=checked)
        if not checked:
            self.documents.keep(document, manifest.SCHEMA)
        # Of what it consists of now, and of the very bytes that were parsed.
        digest = bundle_digest(os.path.dirname(path), tool.parts, {path: data})
        return replace(tool, origin=replace(located, digest=digest))

    def _is_seen(self, known: Tool, path: str, origin: Origin) -> bool:
        """As `_is_unchanged`, of what was found so once: without a look at more than its bytes."""
        seen = self.seen.get(path)
        if seen is None or seen[0] is not known or seen[1] != origin:
            return False
        return seen[2].holds()

    def _is_unchanged(self, known: Tool, path: str, origin: Origin, data: bytes) -> bool:
        """Whether these bytes, and what lies around them, would give the same tool again."""
        from tongs.formats import manifest  # noqa: PLC0415 - as above
        from tongs.runtime.bundle import bundle_digest, snapshot  # noqa: PLC0415 - manifests only

        located = replace(origin, path=path, format=MANIFEST, digest=known.origin.digest)
        if located != known.origin or not manifest.finds_the_same(known):
            return False
        folder = os.path.dirname(path)
        try:
            if bundle_digest(folder, known.parts, {path: data}) != located.digest:
                return False
            seen = self.seen.get(path)
            if seen is None or seen[0] is not known or seen[1] != origin:
                looked_for = manifest.looked_for(known)
                found = snapshot(folder, known.parts, located.digest, looked_for)
                if found is not None:
                    self.seen[path] = (known, origin, found)
        except (DefinitionInvalid, OSError):
            return False  # to load it says why
        return True

    def bundle(self, tool: Tool) -> Bundle:
        from tongs.runtime.bundle import bundle  # noqa: PLC0415 - manifests only

        return bundle(os.path.dirname(tool.origin.path), tool.parts)


@dataclass(frozen=True, slots=True)
class ExecutableShape:
    documents: Documents
    describer: Describer

    def name(self, path: str) -> str:
        return os.path.basename(path)

    def load(
        self, path: str, origin: Origin, data: bytes | None = None, known: Tool | None = None
    ) -> Tool:
        """Before it is trusted, all that is known of an executable is its name."""
        from tongs.formats import executable  # noqa: PLC0415 - executables only

        data = self.describer.read(path) if data is None else data
        located = replace(origin, digest=digest_of(data), path=path, format=EXECUTABLE)
        trust = self.describer.trust(located)
        if known is not None and known.origin == located and known.trust.holds == trust.holds:
            return known
        if not trust.holds:
            return executable.unknown(self.name(path), located, data)
        described = self.describer.described(located, data)
        return executable.load(described, located, data, self.describer.settings)

    def bundle(self, tool: Tool) -> Bundle:
        bundle = _single(self.documents, tool, self.describer.read(tool.origin.path))
        try:
            bundle.text.decode("utf-8")
        except UnicodeDecodeError:
            size = len(bundle.text)
            text = f"(a program of {size} bytes, no text; sha256 {bundle.digest})\n".encode()
            return replace(bundle, text=text)
        return bundle


@dataclass(frozen=True, slots=True)
class PythonShape:
    """A Python tool file. It may define several tools: `Origin.member` says which one is meant."""

    documents: Documents
    files: PythonFiles

    def name(self, path: str) -> str:
        return os.path.splitext(os.path.basename(path))[0]

    def load(
        self, path: str, origin: Origin, data: bytes | None = None, known: Tool | None = None
    ) -> Tool:
        tools = self.all(path, origin, data, known)
        named = [tool for tool in tools if tool.name == origin.member]
        if origin.member and not named and tools[0].trust.holds:
            gone = f"it defines no tool `{origin.member}` any more"
            raise DefinitionInvalid([Problem(path, gone)])
        return named[0] if named else tools[0]

    def all(
        self, path: str, origin: Origin, data: bytes | None = None, known: Tool | None = None
    ) -> list[Tool]:
        """Every tool of the file; before it is trusted, all that is known is the file's name."""
        from tongs.formats import python_file  # noqa: PLC0415 - Python files only

        data = program_bytes(path, MAX_BYTES) if data is None else data
        located = replace(origin, digest=digest_of(data), path=path, format=PYTHON)
        trust = self.files.trust(located)
        if known is not None and known.origin == located and known.trust.holds == trust.holds:
            return [known]
        if not trust.holds:
            return [python_file.unknown(origin.member or self.name(path), located, data)]
        return python_file.load(self.files.described(located, data), located, data)

    def bundle(self, tool: Tool) -> Bundle:
        return _single(self.documents, tool)


def _single(documents: Documents, tool: Tool, data: bytes | None = None) -> Bundle:
    from tongs.runtime.bundle import Bundle  # noqa: PLC0415 - where something is accepted

    data = documents.read(tool.origin.path) if data is None else data
    return Bundle(digest_of(data), data)
