"""What the config files say together.

Global, then user, then project, then the profile: the later voice wins. What comes with a project
may only tighten until the person has accepted it, and never weakens the enforcement.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from tongs.config.places import Places
from tongs.core.annotations import Any, TypeAlias
from tongs.core.errors import Problem
from tongs.core.permissions import Bound, Grants, Limits, Permissions, shorter
from tongs.core.record import dataclass, field
from tongs.schema.document import Document, PathTuple

Parse: TypeAlias = Callable[[str], Document]
Trusted: TypeAlias = bool | Callable[[Document], bool]


@dataclass(frozen=True, slots=True)
class Ceiling:
    """`security.max_permissions` of one file: the most a tool that an agent created may be given.

    Paths are as written, and start at the project root. What a ceiling does not name, it refuses.
    """

    permissions: Permissions
    # `file:line`
    source: str
    # Written or accepted by the person. Any other holds beside the default, not instead of it.
    vouched: bool = True


@dataclass(frozen=True, slots=True)
class WrittenRule:
    """One entry of `security.rules` as its file has it; `path` is where it stands there."""

    data: Mapping[str, Any]
    document: Document
    path: PathTuple
    # False: it came with a project that nobody has accepted, and can only tighten.
    trusted: bool = True

    @property
    def source(self) -> str:
        return f"{self.document.source}:{self.document.line_of(self.path)}"


@dataclass(frozen=True, slots=True)
class Reference:
    """Where the value of a secret is: `env:NAME`, `file:PATH` or `keyring:SERVICE/NAME`."""

    text: str
    # `file:line`
    source: str


@dataclass(frozen=True, slots=True)
class CustomTools:
    """Executables (seed 003): whether and where they are looked for, and what they get."""

    enabled: bool = True
    # None: where Kodelet keeps them.
    global_dir: str | None = None
    local_dir: str | None = None
    timeout: float = 30.0
    max_output_size: int | None = None
    env_whitelist: tuple[str, ...] = ()
    prefix: str = "custom_tool_"


@dataclass(frozen=True, slots=True)
class Webhook:
    """A server that approves. Values of headers may be references, as `env:NAME`."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Approvals:
    """Who is asked besides the person at the terminal, and how long for (`approvals`)."""

    # Seconds that a call waits for an answer; None: only as long as somebody is being asked.
    wait: float | None = None
    # A program of the person's own that decides.
    command: tuple[str, ...] = ()
    webhook: Webhook | None = None
    # Seconds that the program or the server has for its answer.
    timeout: float = 60.0

    @property
    def configured(self) -> bool:
        return self.wait is not None or bool(self.command) or self.webhook is not None


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """`audit`: where anchors are sent and how often, and when the chain takes a new file."""

    command: tuple[str, ...] = ()
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    # The one or the other: records, or seconds.
    every: int | None = None
    every_seconds: float | None = None
    rotate: int = 64 * 1024 * 1024

    @property
    def sends(self) -> bool:
        return bool(self.command or self.url)


@dataclass(frozen=True, slots=True)
class Search:
    """Who answers `web_search`. `key` is the name of a secret, never the secret."""

    provider: str = ""
    key: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class Web:
    """`allow`: hosts that web tools reach without asking."""

    allow: tuple[str, ...] = ()
    search: Search = field(default_factory=Search)


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """One entry of `models`: who answers, where, and where the key is."""

    provider: str
    model: str
    # "": the provider's usual address.
    base_url: str = ""
    key: Reference | None = None
    # An address, or where that is.
    proxy: Reference | None = None
    instructions: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    # `file:line`; "" for one that was named on the command line.
    source: str = ""


@dataclass(frozen=True, slots=True)
class Models:
    """`models`: those that have a name, and the one that is used where none is named."""

    default: str = ""
    named: Mapping[str, ModelConfig] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Settings:
    interpreters: Mapping[str, str] = field(default_factory=dict)
    auto_approve: tuple[str, ...] = ()
    auto_deny: tuple[str, ...] = ()
    enforcement: str = "strict"
    # Loopback, private and link-local hosts that tools may reach (`security.allow_private_hosts`).
    private_hosts: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    tools: Mapping[str, Grants] = field(default_factory=dict)
    bounds: Mapping[str, Bound] = field(default_factory=dict)
    custom_tools: CustomTools = field(default_factory=CustomTools)
    approvals: Approvals = field(default_factory=Approvals)
    web: Web = field(default_factory=Web)
    models: Models = field(default_factory=Models)
    ceilings: tuple[Ceiling, ...] = ()
    rules: tuple[WrittenRule, ...] = ()
    audit: AuditSettings = field(default_factory=AuditSettings)
    telemetry: bool = False
    secrets: Mapping[str, Reference] = field(default_factory=dict)
    # What an untrusted project file asked for and did not get.
    ignored: tuple[Problem, ...] = ()

    def limits_for(self, name: str, own: Mapping[str, Any]) -> Limits:
        """The limits of one tool: its own words over the defaults, then grants, then bounds."""
        limits = self.limits.replaced(own)
        if (grants := self.tools.get(name)) is not None:
            limits = limits.replaced(grants.limits)
        if (bound := self.bounds.get(name)) is not None:
            limits = limits.tightened(bound.limits)
        return limits

    def timeout_for(self, name: str, own: float | None) -> float | None:
        """The timeout of one tool in seconds: the grant instead of its own, then the bound."""
        grants, bound = self.tools.get(name), self.bounds.get(name)
        timeout = own if grants is None or grants.timeout is None else grants.timeout
        return timeout if bound is None else shorter(timeout, bound.timeout)


def load_settings(
    places: Places,
    parse: Parse,
    *,
    project_trusted: Trusted = False,
    profile: str | None = None,
    parse_named: Parse | None = None,
    parse_foreign: Parse | None = None,
) -> Settings:
    """Merge every config.yml that exists; DefinitionInvalid lists the problems of all of them.

    `parse` reads one file and may cache: a Document whose `checked` says `config` is taken as it
    is; `parse_named` does the same for profiles, `parse_foreign` reads what is not ours.
    `project_trusted` may look at the very document
    that is about to be used. The settings of `profile` speak last.
    """
    if profile is None and not any(map(may_exist, _all_files(places))):
        # Most people have no config file, and then none of this has to be loaded.
        return Settings()
    from tongs.config.voices import read_voices  # noqa: PLC0415 - see above

    voices = read_voices(
        places,
        parse,
        project_trusted=project_trusted,
        profile=profile,
        parse_named=parse_named,
        parse_foreign=parse_foreign,
    )
    from tongs.config.merging import merged_settings  # noqa: PLC0415 - see above

    return merged_settings(voices)


def _all_files(places: Places) -> list[str]:
    foreign = places.foreign_config
    files = [path for _, path in places.config_files()]
    return files if foreign is None else [*files, foreign]


def may_exist(path: str) -> bool:
    """False only where there is surely nothing: what a hidden or dangling file denies must hold."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True
