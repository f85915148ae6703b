"""One config file after the other, the later over the earlier."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tongs.config.named import Voice
from tongs.config.settings import (
    Approvals,
    AuditSettings,
    Ceiling,
    CustomTools,
    Mcp,
    ModelConfig,
    Models,
    Reference,
    Search,
    Settings,
    Web,
    Webhook,
    WrittenRule,
)
from tongs.config.voices import Voices
from tongs.core.annotations import Any
from tongs.core.errors import Problem, Severity
from tongs.core.permissions import ENFORCEMENTS, Bound, Grants, Limits, Permissions
from tongs.core.record import replace
from tongs.core.scope import Scope
from tongs.schema.document import Document, PathTuple
from tongs.schema.units import duration, limits, size

# What could let more happen than the person agreed to. Rules stand elsewhere: a deny rule tightens.
_LOOSENING: tuple[PathTuple, ...] = (
    ("security", "auto_approve"),
    ("security", "allow_private_hosts"),
    *(("custom_tools", key) for key in ("global_dir", "local_dir", "env_whitelist", "prefix")),
    ("audit",),
    ("telemetry",),
    ("mcp",),
    ("store",),
    ("models",),
    ("interpreters",),
    ("web",),
    ("approvals",),
    ("secrets",),
)


def merged_settings(voices: Voices) -> Settings:
    """The sum of all that speak."""
    merger = Merger(voices.named.places.project)
    for voice in voices.all:
        merger.hear(voice)
    settings = merger.settings()
    return replace(
        settings,
        ceilings=settings.ceilings + voices.ceilings,
        ignored=settings.ignored + voices.ignored,
    )


class Merger:
    """Collects files in order, the weakest voice first; `settings` is the sum of all so far."""

    def __init__(self, project: str | None = None) -> None:
        self._settings = Settings()
        self._project = project

    def settings(self) -> Settings:
        return self._settings

    def hear(self, voice: Voice) -> None:
        if voice.trusted:
            self.grant(voice.settings, voice.scope, weaken=voice.scope is not Scope.LOCAL)
        else:
            self.tighten(voice.settings)

    def grant(self, document: Document, scope: Scope = Scope.USER, *, weaken: bool = True) -> None:
        """Take everything a checked document says; without `weaken` all but weaker enforcement."""
        self._add_rules(document, trusted=True)
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
            approvals=_approvals(before.approvals, data.get("approvals") or {}),
            audit=_audited(before.audit, data.get("audit") or {}),
            telemetry=bool(data.get("telemetry", before.telemetry)),
            secrets={**before.secrets, **_references(document)},
            web=_web(before.web, data.get("web") or {}),
            mcp=_mcp(before.mcp, document, scope, self._project),
            models=_models(before.models, document),
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
        before = len(self._settings.ceilings)
        self._add_restrictions(document, weaken=False)
        self._add_rules(document, trusted=False)
        own, added = self._settings.ceilings[:before], self._settings.ceilings[before:]
        unvouched = tuple(replace(ceiling, vouched=False) for ceiling in added)
        self._settings = replace(self._settings, ceilings=own + unvouched)
        for path in _LOOSENING:
            if _at(document.data, path):
                self._ignore(document, path, "is ignored")
        self._tighten_custom_tools(document)
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

    def _add_rules(self, document: Document, *, trusted: bool) -> None:
        """Every rule has its say; one that allows only where the person accepted its file."""
        found: list[WrittenRule] = []
        for number, data in enumerate(_at(document.data, ("security", "rules")) or ()):
            path = ("security", "rules", number)
            if trusted or data.get("decision") != "allow":
                found.append(WrittenRule(data, document, path, trusted))
            else:
                self._ignore(document, path, "is ignored, since it allows")
        self._settings = replace(self._settings, rules=(*self._settings.rules, *found))

    def _tighten_custom_tools(self, document: Document) -> None:
        """Executables may be switched off, and have less time and less to say."""
        written, before = document.data.get("custom_tools") or {}, self._settings.custom_tools
        wanted = _customised(before, written)
        output = before.max_output_size or self._settings.limits.output
        for key, most in (("timeout", before.timeout), ("max_output_size", output)):
            if key in written and getattr(wanted, key) > most:
                self._ignore(document, ("custom_tools", key), "is wider than the user's")
                wanted = replace(wanted, **{key: getattr(before, key)})
        if wanted.enabled and not before.enabled:
            self._ignore(document, ("custom_tools", "enabled"), "is ignored")
        tightened = replace(
            before,
            enabled=before.enabled and wanted.enabled,
            timeout=wanted.timeout,
            max_output_size=wanted.max_output_size,
        )
        self._settings = replace(self._settings, custom_tools=tightened)

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
        ceiling = ceiling_of(document)
        self._settings = replace(
            before,
            ceilings=before.ceilings if ceiling is None else (*before.ceilings, ceiling),
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


def ceiling_of(document: Document) -> Ceiling | None:
    """`security.max_permissions`, where a checked document has it."""
    path = ("security", "max_permissions")
    written = _at(document.data, path)
    if written is None:
        return None
    secrets = written.get("secrets") or {}
    # A ceiling names secrets; what they are for is a matter of the tool.
    named = secrets if isinstance(secrets, dict) else dict.fromkeys(secrets)
    permissions = Permissions.from_data({**written, "secrets": named})
    return Ceiling(permissions, f"{document.source}:{document.line_of(path)}")


def _references(document: Document) -> dict[str, Reference]:
    return {
        name: Reference(text, f"{document.source}:{document.line_of(('secrets', name))}")
        for name, text in (document.data.get("secrets") or {}).items()
    }


def bound_of(document: Document, tool: str) -> Bound:
    """What a checked config takes away from a call of a tool that uses it."""
    data, ceiling = document.data, ceiling_of(document)
    entry = (data.get("tools") or {}).get(tool) or {}
    of_tool = Bound(
        limits=limits(entry.get("limits") or {}),
        timeout=duration(entry["timeout"]) if "timeout" in entry else None,
    )
    return of_tool.meet(
        Bound(
            limits=limits(data.get("limits") or {}),
            ceilings=() if ceiling is None else (ceiling.permissions,),
            denied=tuple(_at(data, ("security", "auto_deny")) or ()),
            enforcement=_at(data, ("security", "enforcement")) or "off",
            rules=tuple(
                (f"{document.source}:{document.line_of(('security', 'rules', number))}", rule)
                for number, rule in enumerate(_at(data, ("security", "rules")) or ())
                # It can only tighten.
                if rule["decision"] != "allow"
            ),
        )
    )


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


def _approvals(before: Approvals, written: Mapping[str, Any]) -> Approvals:
    changes: dict[str, Any] = {
        name: duration(written[name]) for name in ("wait", "timeout") if name in written
    }
    if "command" in written:
        changes["command"] = tuple(written["command"])
    if "webhook" in written:
        webhook = written["webhook"]
        changes["webhook"] = Webhook(webhook["url"], webhook.get("headers") or {})
    if "mcp" in written:
        # Who once said that clients are not to be asked is not overruled by a nearer file.
        changes["mcp"] = before.mcp and written["mcp"]
    return replace(before, **changes)


def _audited(before: AuditSettings, written: Mapping[str, Any]) -> AuditSettings:
    """A file that names a place for anchors names all of it: no header goes to another place."""
    anchor, every = written.get("anchor"), written.get("every")
    if anchor is not None:
        before = replace(
            before,
            command=tuple(anchor.get("command") or ()),
            url=anchor.get("url") or "",
            headers=dict(anchor.get("headers") or {}),
        )
    if every is not None:
        records = every if isinstance(every, int) else None
        seconds = None if isinstance(every, int) else duration(every)
        before = replace(before, every=records, every_seconds=seconds)
    if "rotate" in written:
        before = replace(before, rotate=size(written["rotate"]))
    return before


def _web(before: Web, written: Mapping[str, Any]) -> Web:
    """The key is for the address beside it, so a file that names a provider says all of it."""
    search = written.get("search")
    return Web(
        allow=_joined(before.allow, written.get("allow")),
        search=Search(**search) if search else before.search,
    )


def _mcp(before: Mcp, document: Document, scope: Scope, project: str | None) -> Mcp:
    """A file that names a server says all of it: nothing of another file gets into its program."""
    written = document.data.get("mcp")
    if not written:
        return before
    from tongs.config.servers import servers_of  # noqa: PLC0415 - few people have servers

    return Mcp(
        servers={**before.servers, **servers_of(document, scope, project)},
        aliases=written.get("aliases", before.aliases),
    )


def _models(before: Models, document: Document) -> Models:
    """A key is for the address beside it, so a file that has a name says all of that model."""
    written = dict(document.data.get("models") or {})
    default = written.pop("default", before.default)
    return Models(default, {**before.named, **{name: _model(document, name) for name in written}})


def _model(document: Document, name: str) -> ModelConfig:
    written = document.data["models"][name]

    def reference(key: str) -> Reference | None:
        place = document.line_of(("models", name, key))
        return Reference(written[key], f"{document.source}:{place}") if key in written else None

    settings = dict(written.get("settings") or {})
    for key in {"timeout", "content_timeout"} & settings.keys():
        settings[key] = duration(settings[key])
    return ModelConfig(
        provider=written["provider"],
        model=written["model"],
        base_url=written.get("base_url", ""),
        key=reference("key"),
        proxy=reference("proxy"),
        instructions=written.get("instructions", ""),
        settings=settings,
        source=f"{document.source}:{document.line_of(('models', name))}",
    )


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
