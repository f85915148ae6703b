"""What the three config files say together.

Global, then user, then project: the later voice wins. A project's file comes with the project, so
it may only tighten until the person has accepted it, and it never weakens the enforcement.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from tongs.config.ownership import why_not_own
from tongs.config.places import Places
from tongs.core.annotations import Any, TypeAlias
from tongs.core.errors import DefinitionInvalid, Problem
from tongs.core.permissions import Grants, Limits
from tongs.core.record import dataclass, field
from tongs.core.scope import Scope
from tongs.schema.document import Document

# Weakest first.
ENFORCEMENTS = ("off", "best-effort", "strict")

Parse: TypeAlias = Callable[[str], Document]
Trusted: TypeAlias = bool | Callable[[Document], bool]


@dataclass(frozen=True, slots=True)
class Bound:
    """The most that project files leave to one tool, whatever the tool or the user grants it."""

    limits: Mapping[str, Any] = field(default_factory=dict)
    timeout: float | None = None


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
    profiles: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    custom_tools: CustomTools = field(default_factory=CustomTools)
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
        if bound is None or bound.timeout is None:
            return timeout
        return bound.timeout if timeout is None else min(timeout, bound.timeout)


def load_settings(places: Places, parse: Parse, *, project_trusted: Trusted = False) -> Settings:
    """Merge every config.yml that exists; DefinitionInvalid lists the problems of all of them.

    `parse` reads one file and may cache: a Document whose `checked` says `config` is taken as it
    is. `project_trusted` may look at the very document that is about to be used.
    """
    files = [(scope, path) for scope, path in places.config_files() if _may_exist(path)]
    if not files:
        return Settings()
    # Most people have no config file, and then none of this has to be loaded.
    from tongs.config.merging import Merger  # noqa: PLC0415 - see above
    from tongs.schema.check_document import require_valid  # noqa: PLC0415 - see above

    problems: list[Problem] = []
    merger = Merger()
    for scope, path in files:
        if scope is not Scope.LOCAL and (reason := _not_own(path)):
            problems.append(Problem(path, reason, rule="ownership"))
            continue
        try:
            document = require_valid(parse(path), "config")
        except DefinitionInvalid as invalid:
            problems += invalid.problems
            continue
        problems += _not_applied(document)
        if scope is not Scope.LOCAL:
            merger.grant(document)
        elif project_trusted if isinstance(project_trusted, bool) else project_trusted(document):
            merger.grant(document, weaken=False)
        else:
            merger.tighten(document)
    if problems:
        raise DefinitionInvalid(problems)
    return merger.settings()


# Walls that are described already and stand from a later version on. To run without one that a
# person has asked for would be weaker than they think.
_COMING_WALLS = (("security", "rules"), ("security", "max_permissions"))


def _not_applied(document: Document) -> list[Problem]:
    security = document.data.get("security") or {}
    return [
        document.problem(
            path,
            "this version cannot apply it, and will not run without it",
            rule="not-applied",
            hint="remove it, or use auto_approve and auto_deny",
        )
        for path in _COMING_WALLS
        if security.get(path[1])
    ]


def _may_exist(path: str) -> bool:
    """False only where there is surely nothing: what a hidden or dangling file denies must hold."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _not_own(path: str) -> str | None:
    return why_not_own(path) or why_not_own(os.path.dirname(path))
