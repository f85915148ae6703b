"""One config file after the other, the later over the earlier."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tongs.config.settings import ENFORCEMENTS, Bound, CustomTools, Settings
from tongs.core.annotations import Any
from tongs.core.errors import Problem, Severity
from tongs.core.permissions import Grants, Limits, Permissions
from tongs.core.record import replace
from tongs.schema.document import Document, PathTuple
from tongs.schema.units import duration, limits, size

# What could let more happen than the person agreed to. Rules stand elsewhere: a deny rule tightens.
_LOOSENING: tuple[PathTuple, ...] = (
    ("security", "auto_approve"),
    ("security", "allow_private_hosts"),
    ("custom_tools",),
    ("mcp",),
    ("store",),
    ("models",),
    ("profiles",),
    ("interpreters",),
    ("web",),
)


class Merger:
    """Collects files in order, the weakest voice first; `settings` is the sum of all so far."""

    def __init__(self) -> None:
        self._settings = Settings()

    def settings(self) -> Settings:
        return self._settings

    def grant(self, document: Document, *, weaken: bool = True) -> None:
        """Take everything a checked document says; without `weaken` all but weaker enforcement."""
        data, before = document.data, self._settings
        private_hosts = _at(data, ("security", "allow_private_hosts"))
        self._add_restrictions(document, weaken=weaken)
        self._settings = replace(
            self._settings,
            auto_approve=_joined(before.auto_approve, _at(data, ("security", "auto_approve"))),
            private_hosts=_joined(before.private_hosts, private_hosts),
            interpreters={**before.interpreters, **(data.get("interpreters") or {})},
            limits=before.limits.replaced(limits(data.get("limits") or {})),
            custom_tools=_customised(before.custom_tools, data.get("custom_tools") or {}),
            profiles={
                **before.profiles,
                **{name: body or {} for name, body in (data.get("profiles") or {}).items()},
            },
            tools={
                **before.tools,
                **{
                    name: _over(before.tools.get(name, Grants()), entry)
                    for name, entry in (data.get("tools") or {}).items()
                },
            },
        )

    def tighten(self, document: Document) -> None:
        """Take what makes things stricter, and list the rest as ignored."""
        self._add_restrictions(document, weaken=False)
        for path in _LOOSENING:
            if _at(document.data, path):
                self._ignore(document, path, "is ignored")
        wanted = limits(document.data.get("limits") or {})
        self._note_wider(document, ("limits",), wanted, self._settings.limits)
        bounds = dict(self._settings.bounds)
        for name, entry in (document.data.get("tools") or {}).items():
            for key in ("permissions", "envs"):
                if entry.get(key):
                    self._ignore(document, ("tools", name, key), "is ignored")
            bounds[name] = self._bound(document, name, entry)
        self._settings = replace(
            self._settings, limits=self._settings.limits.tightened(wanted), bounds=bounds
        )

    def _bound(self, document: Document, name: str, entry: Mapping[str, Any]) -> Bound:
        wanted = limits(entry.get("limits") or {})
        granted = self._settings.tools.get(name, Grants())
        user = self._settings.limits.replaced(granted.limits)
        self._note_wider(document, ("tools", name, "limits"), wanted, user)
        timeout = duration(entry["timeout"]) if "timeout" in entry else None
        if timeout is not None and granted.timeout is not None and timeout > granted.timeout:
            self._ignore(document, ("tools", name, "timeout"), "is longer than the user's")
        return Bound(limits=wanted, timeout=timeout)

    def _note_wider(
        self, document: Document, path: PathTuple, wanted: Mapping[str, Any], user: Limits
    ) -> None:
        for key, value in wanted.items():
            mine = getattr(user, key)
            if mine is not None and value > mine:
                self._ignore(document, (*path, key), "is wider than the user's")

    def _add_restrictions(self, document: Document, *, weaken: bool) -> None:
        before = self._settings
        denied = _at(document.data, ("security", "auto_deny"))
        wanted = _at(document.data, ("security", "enforcement")) or before.enforcement
        weaker = ENFORCEMENTS.index(wanted) < ENFORCEMENTS.index(before.enforcement)
        self._settings = replace(
            before,
            auto_deny=_joined(before.auto_deny, denied),
            enforcement=before.enforcement if weaker and not weaken else wanted,
        )
        if weaker and not weaken:
            self._keep_ignored(
                document.problem(
                    ("security", "enforcement"),
                    f"is ignored: a project file never weakens `{before.enforcement}`",
                    rule="config-ignored",
                    hint="set it in the config.yml of the user folder",
                )
            )

    def _ignore(self, document: Document, path: PathTuple, what: str) -> None:
        self._keep_ignored(
            document.problem(
                path,
                f"{what}: a project file may only tighten until it is trusted",
                rule="config-ignored",
                hint=f"read the file, then: tongs trust {document.source}",
            )
        )

    def _keep_ignored(self, problem: Problem) -> None:
        warning = replace(problem, severity=Severity.WARNING)
        self._settings = replace(self._settings, ignored=(*self._settings.ignored, warning))


def _joined(before: Sequence[str], added: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*before, *(added or ()))))


def _over(before: Grants, entry: Mapping[str, Any]) -> Grants:
    permissions = before.permissions
    if "permissions" in entry:
        permissions = Permissions.from_data(entry["permissions"])
    return Grants(
        permissions=permissions,
        limits={**before.limits, **limits(entry.get("limits") or {})},
        environment={**before.environment, **_texts(entry.get("envs") or {})},
        timeout=duration(entry["timeout"]) if "timeout" in entry else before.timeout,
    )


def _customised(before: CustomTools, written: Mapping[str, Any]) -> CustomTools:
    readers: dict[str, Callable[[Any], Any]] = {
        "timeout": duration,
        "max_output_size": size,
        "env_whitelist": tuple,
    }
    plain = {name: readers.get(name, _same)(value) for name, value in written.items()}
    return replace(before, **plain)


def _same(value: Any) -> Any:
    return value


def _texts(variables: Mapping[str, Any]) -> dict[str, str | None]:
    """Variables as text; None stays, it means the value of the person's own environment."""
    return {name: None if value is None else _text(value) for name, value in variables.items()}


def _text(value: str | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _at(data: Any, path: PathTuple) -> Any:
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data
