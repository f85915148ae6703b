"""The settings of one place, from its files: for everything, and for the tools that name some."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from tongs.config.ownership import unaccepted
from tongs.config.places import Places
from tongs.config.settings import Settings, load_settings
from tongs.core.annotations import TYPE_CHECKING, TypeVar
from tongs.core.errors import DefinitionInvalid, ErrorCode, ToolError
from tongs.core.record import dataclass
from tongs.core.scope import Scope
from tongs.runtime.documents import Documents
from tongs.schema.document import Document
from tongs.store.cache import DefinitionCache, code_stamp
from tongs.store.trust import TrustStore

if TYPE_CHECKING:
    from tongs.config.named import NamedConfigs
    from tongs.config.servers import ServerFiles
    from tongs.config.voices import Voices
    from tongs.formats.yaml_config import Key, UsedConfig

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SettingsFiles:
    places: Places
    trust: TrustStore
    profile: str | None = None

    def load(self) -> Settings:
        """What they say together; DefinitionInvalid if one cannot be used."""
        return self._read(load_settings)

    def voices(self) -> Voices:
        """Each of them, the weakest first."""
        from tongs.config.voices import read_voices  # noqa: PLC0415 - few calls need it

        return self._read(read_voices)

    def of_profile(self) -> list[Document]:
        """What the profile says, where there is one."""
        if self.profile is None:
            return []
        return [voice.settings for voice in self.voices().all if voice.name]

    def accepted(self, document: Document) -> bool:
        return self.trust.state_of(document.source, document.digest).holds

    def used_by(self, names: Iterable[Key]) -> dict[Key, UsedConfig]:
        """The configs and profiles that a tool names, as they are now."""
        wanted = list(names)
        if not wanted:
            return {}
        named = self.voices().named
        return {key: self._used(named, *key) for key in wanted}

    def paths(self, names: Iterable[Key]) -> list[str]:
        """Every file that may have a say in these, whether it exists or not."""
        named = self._named()
        return [path for kind, name in names for path in named.paths(kind, name)]

    def of_project(self) -> list[str]:
        """What a person may have to accept: config.yml, named configs, profiles, servers."""
        own = [path for scope, path in self.places.config_files() if scope is Scope.LOCAL]
        return [path for path in (*own, *self.named_files(Scope.LOCAL)) if os.path.isfile(path)]

    def named_files(self, scope: Scope) -> list[str]:
        """The named configs, profiles and servers of a scope."""
        from tongs.config.named import named_files  # noqa: PLC0415 - few commands need it
        from tongs.config.servers import server_files  # noqa: PLC0415 - as above

        files = self.places.config_files()
        folders = [os.path.dirname(path) for place, path in files if place is scope]
        return [path for top in folders for path in (*named_files(top), *server_files(top))]

    def servers(self) -> ServerFiles:
        """The servers that tools may name and nobody else is offered."""
        from tongs.config.servers import ServerFiles  # noqa: PLC0415 - few tools name one

        return ServerFiles(self.places, self._documents().server, self.accepted)

    def _named(self) -> NamedConfigs:
        from tongs.config.named import NamedConfigs  # noqa: PLC0415 - few commands need it

        return NamedConfigs(self.places, self._documents().named, self.accepted)

    def _used(self, named: NamedConfigs, kind: str, name: str) -> UsedConfig:
        from tongs.formats.yaml_config import UsedConfig  # noqa: PLC0415 - as above

        what = f"the {kind.removesuffix('s')} `{name}`"
        try:
            voices = named.find(kind, name)
        except DefinitionInvalid as invalid:
            return UsedConfig(problem=invalid.as_tool_error(what))
        if not voices:
            return UsedConfig(problem=_missing(named, kind, name, what))
        vouched = next((voice for voice in voices if voice.trusted), None)
        if vouched is None:
            return UsedConfig(problem=unaccepted(what, voices[0].document.source))
        return UsedConfig(vouched.values, tuple(voice.settings for voice in voices))

    def _read(self, reader: Callable[..., T]) -> T:
        documents = self._documents()
        return reader(
            self.places,
            documents.config,
            project_trusted=self.accepted,
            profile=self.profile,
            parse_named=documents.named,
            parse_foreign=documents.foreign,
        )

    def _documents(self) -> Documents:
        cache = DefinitionCache(self.places.state, f"config-{code_stamp()}")
        return Documents(cache, self.places.project)


def _missing(named: NamedConfigs, kind: str, name: str, what: str) -> ToolError:
    from tongs.schema.nearest import did_you_mean  # noqa: PLC0415 - only for the message

    known = named.names(kind)
    return ToolError(
        ErrorCode.INVALID_DEFINITION,
        f"{what} does not exist{did_you_mean(name, known)}",
        details={"known": known},
        hint=f"write {kind}/{name}.yml in .tongs or in {named.places.user_folder}",
    )
