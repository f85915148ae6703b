"""Makes the parts of a pipeline from a place and its settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType

from tongs.config.environment import base_environment, uses_native
from tongs.config.places import Places
from tongs.config.settings import Settings
from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.call import ToolCall
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Place, Policy, Sandbox, Waiter, World
from tongs.core.parts import Allowance, Audit, Decide, Parts
from tongs.core.permissions import Limits, shorter
from tongs.core.record import replace
from tongs.core.scope import Scope
from tongs.core.tool import Origin, Tool, Trust
from tongs.executors import Executors
from tongs.policy.permissions import effective
from tongs.registry import ToolRegistry
from tongs.runtime.enforcing import ChosenSandbox
from tongs.runtime.secrets import Secrets
from tongs.runtime.telemetry import watching
from tongs.store.cache import DefinitionCache
from tongs.store.log import Log

if TYPE_CHECKING:
    from tongs.core.files import Files
    from tongs.core.servers import Servers
    from tongs.policy.looking import Look
    from tongs.runtime.describing import Describer
    from tongs.runtime.python_files import PythonFiles
    from tongs.runtime.requirements import Requirements
    from tongs.runtime.shape_readers import Shapes
    from tongs.sandbox.host import Host
    from tongs.store.spool import Spool

_PLATFORMS = {"linux": "linux", "darwin": "macos", "win32": "windows", "cygwin": "windows"}

# Until a session gives the call a temporary folder of its own.
_TEMPORARY = "/tmp"
# Without one of these, what a tool does is not what its permissions say.
_WALLS = frozenset({"network", "fs.read", "fs.write", "limits"})
# Tools whose allowance is kept in memory.
_MOST_KEPT = 64


def platform() -> str:
    return _PLATFORMS.get(sys.platform, sys.platform)


def default_shell(settings: Settings, host: Mapping[str, str]) -> str:
    """bash where there is one, else sh; the config may say otherwise."""
    configured = settings.interpreters.get("default_shell")
    if configured:
        return configured
    if platform() == "windows":
        return "pwsh" if _on_path("pwsh.exe", host) else "cmd"
    return "bash" if _on_path("bash", host) else "sh"


class Wiring:
    """The callables of `pipeline.Parts`, with what they need to know about this place.

    `host` is the environment of this process, and must not change any more.
    """

    def __init__(
        self,
        places: Places,
        settings: Settings,
        host: Mapping[str, str],
        registry: ToolRegistry,
        log: Log,
        secret: Callable[[str], str | None] | None = None,
        *,
        held: Callable[[], tuple[str, ...]] = tuple,
    ) -> None:
        """`held` says what no tool may change, since other tools consist of it."""
        self.place = Place(places.cwd, places.project, places.home, places.user_folder)
        self._places = places
        self._settings = settings
        self._host = host
        self._secrets = Secrets(settings.secrets, host, places.home, secret)
        self._registry = registry
        self._log = log
        self._held = held
        self._platform = platform()
        self._interpreters = _interpreters(settings, places.home)
        # Calls share it, so it is not theirs to change.
        base = MappingProxyType(base_environment(host, _TEMPORARY))
        self._world = World(
            self.place, base, self._interpreters, self._platform, self._files, self._spool
        )
        self._made_files: Files | None = None
        # By identity, holding the tool so that the identity cannot be given to another one.
        self._allowed: dict[int, tuple[Tool, Allowance]] = {}
        # Loaded with the first call.
        self._validated: Callable[[Mapping[str, Any], dict[str, Any]], dict[str, Any]] | None = None
        self._executors = Executors()
        self._look: Look | None = None

    def look(self) -> Look:
        """How rules look at a call here: what its executor says that it would start."""
        if self._look is None:
            from tongs.policy.looking import Look, commands_of  # noqa: PLC0415 - a listing asks none

            self._look = Look(self.place, commands_of(self._executors, self._world))
        return self._look

    def sandbox(self, *, single_thread: bool) -> ChosenSandbox:
        return ChosenSandbox(
            self._settings.enforcement,
            self._machine,
            direct=single_thread,
            spool=self._spool(),
            state=self._places.state,
        )

    def _machine(self) -> Host:
        from tongs.runtime.authority import authority  # noqa: PLC0415 - listing starts nothing
        from tongs.sandbox.host import Host  # noqa: PLC0415 - as above

        return Host(
            home=self._places.home,
            state=os.path.realpath(self._places.state),
            authority=authority(self._places),
            project=self._places.root,
            search_path=self._host.get("PATH", os.defpath),
            programs=tuple(self._interpreters.values()),
            native=uses_native(self._host),
        )

    def _spool(self) -> Spool:
        from tongs.store.spool import Spool  # noqa: PLC0415 - listing starts nothing

        return Spool(os.path.join(self._places.state, "spool"))

    def _files(self) -> Files:
        if self._made_files is None:
            from tongs.sandbox.beneath import Beneath  # noqa: PLC0415 - built-in tools only

            self._made_files = Beneath(self._machine(), self._held)
        return self._made_files

    def parts(self, decide: Decide, sandbox: Sandbox, audit: Audit) -> Parts:
        """Everything that a pipeline is given."""
        return Parts(
            find=self.find,
            validate=self.validate,
            decide=decide,
            allow=self.allow,
            executors=self._executors,
            sandbox=sandbox,
            audit=audit,
            world=self.world,
            unexpected=self.unexpected,
            enforcement=self._settings.enforcement,
            require=self._requirer(sandbox),
            watch=watching(configured=self._settings.telemetry),
            reveal=self.reveal,
            known=self.known,
            spool=self._spool(),
            servers=self.servers(sandbox),
            held=self._held,
        )

    def servers(self, sandbox: Sandbox) -> Servers:
        """The way to MCP servers; nothing of it is loaded before the first is needed."""
        from tongs.runtime.gateway import LazyServers, ServerWorld  # noqa: PLC0415 - small
        from tongs.runtime.pinning import PinnedServers  # noqa: PLC0415 - as above

        def around() -> ServerWorld:
            return ServerWorld(self.place, self._settings, self._host, self._secrets, sandbox)

        return PinnedServers(LazyServers(around), self._places.state)

    def ask(
        self,
        shapes: Shapes,
        cache: DefinitionCache,
        sandbox: ChosenSandbox,
        trust: Callable[[Origin], Trust],
    ) -> None:
        """Say who asks what has to be run to say what it is."""
        shapes.ask_executables(
            lambda: self.describer(cache, sandbox, trust),
            lambda: self.python_files(cache, sandbox, trust),
            lambda: sandbox.parallel,
        )

    def stands(self, sandbox: Sandbox) -> Callable[[ToolCall, Tool], bool]:
        """Whether the walls around a call would be those that its permissions promise."""

        def check(call: ToolCall, tool: Tool) -> bool:
            executor = self._executors[tool.executor]
            of_tool = getattr(executor, "walls_of", None)
            if hasattr(executor, "walls") or (of_tool is not None and of_tool(tool) is not None):
                return True
            allowance = self.allow(call, tool)
            policy = Policy(
                allowance.permissions,
                allowance.limits,
                self.place.root,
                cwd=self.place.start,
                private_hosts=allowance.private_hosts,
                enforcement=allowance.bound.enforcement,
            )
            return _WALLS.isdisjoint(sandbox.cannot_enforce(policy))

        return check

    def describer(
        self, cache: DefinitionCache, sandbox: Sandbox, trust: Callable[[Origin], Trust]
    ) -> Describer:
        """Asks executables what they are."""
        from tongs.formats.executable import Defaults  # noqa: PLC0415 - executables only
        from tongs.runtime.describing import Describer  # noqa: PLC0415 - as above

        custom = self._settings.custom_tools
        defaults = Defaults(custom.timeout, custom.max_output_size)
        return Describer(cache, lambda: sandbox, trust, self._host, defaults)

    def python_files(
        self, cache: DefinitionCache, sandbox: Sandbox, trust: Callable[[Origin], Trust]
    ) -> PythonFiles:
        """Asks Python tool files what they define."""
        from tongs.runtime.python_files import PythonFiles  # noqa: PLC0415 - Python files only

        return PythonFiles(cache, lambda: sandbox, trust, self._host)

    def requirements(self, sandbox: Sandbox) -> Requirements:
        from tongs.runtime.requirements import Requirements  # noqa: PLC0415 - few tools have any

        return Requirements(sandbox, self._world)

    def _requirer(self, sandbox: Sandbox) -> Callable[[Tool, Waiter], Awaitable[None]]:
        """Checks what tools require; made when the first one requires something."""
        made: list[Requirements] = []

        async def require(tool: Tool, waiter: Waiter) -> None:
            if not made:
                made.append(self.requirements(sandbox))
            await made[0].check(tool, waiter)

        return require

    def find(self, call: ToolCall, scope: Scope) -> Tool:
        tool = self._registry.get(call.name, scope)
        if tool.platforms and self._platform not in tool.platforms:
            raise ToolError(
                ErrorCode.UNSUPPORTED_PLATFORM,
                f"{tool.name} was not run: it is for {', '.join(tool.platforms)},"
                f" this is {self._platform}",
            )
        return tool

    def validate(self, tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if self._validated is None:
            from tongs.schema.check import validated  # noqa: PLC0415 - a listing makes no call

            self._validated = validated
        try:
            checked: dict[str, Any] = self._validated(tool.input_schema, dict(arguments))
        except ToolError as error:
            from tongs.runtime.right_call import right_call  # noqa: PLC0415 - only for the hint

            raise ToolError(
                error.code,
                f"{tool.name} was not run: {error.message}",
                details=error.details,
                blocked_by=error.blocked_by,
                hint=right_call(tool, error.details["violations"]),
            ) from None
        return checked

    def allow(self, call: ToolCall, tool: Tool) -> Allowance:
        if tool.refusal is not None and tool.trust.holds:
            raise tool.refusal
        if call.caller.ceiling is not None:
            return self._allowance(call, tool)
        known = self._allowed.get(id(tool))
        if known is None:
            if len(self._allowed) >= _MOST_KEPT:
                self._allowed.clear()
            known = self._allowed[id(tool)] = (tool, self._allowance(call, tool))
        return known[1]

    async def reveal(self, tool: Tool, allowance: Allowance, waiter: Waiter) -> Allowance:
        """With the values of the secrets, which are looked up for every call anew."""
        values = await self._secrets.reveal(allowance.permissions, tool.name, waiter)
        return replace(allowance, secrets=values)

    def known(self, tool: Tool) -> Sequence[str]:
        """For the record of a call that was stopped.

        What nobody has accepted gets no word about any secret: it could name one to have guesses
        at it confirmed.
        """
        if not tool.trust.holds:
            return ()
        grants = self._settings.tools.get("" if tool.private else tool.name)
        wanted = (tool.permissions, None if grants is None else grants.permissions)
        return self._secrets.known(
            secret.name for one in wanted if one is not None for secret in one.secrets
        )

    def _allowance(self, call: ToolCall, tool: Tool) -> Allowance:
        name = "" if tool.private else tool.name
        grants = self._settings.tools.get(name)
        if tool.creator and tool.trust.holds:
            self._below_the_ceiling(tool)
        permissions = effective(tool, call, self.place, grants)
        if tool.executor == "mcp":
            from tongs.runtime.servers import walls_around  # noqa: PLC0415 - servers only

            permissions = walls_around(tool, permissions, call.caller, self.place)
        bound = call.caller.bound if tool.bound is None else tool.bound.meet(call.caller.bound)
        return Allowance(
            permissions=permissions,
            limits=self._limits(tool, name).tightened(bound.limits),
            timeout=shorter(self._settings.timeout_for(name, tool.timeout), bound.timeout),
            secrets={},
            environment={
                **self._whitelisted(tool),
                **(self._granted(grants.environment) if grants else {}),
            },
            private_hosts=self._settings.private_hosts,
            bound=bound,
        )

    def _below_the_ceiling(self, tool: Tool) -> None:
        """Again at every call: the ceiling may have come down since the tool was created.

        What the person's own config grants to the tool is their word, and comes on top.
        """
        from tongs.runtime.ceiling import require_within  # noqa: PLC0415 - few tools are created

        require_within(tool.name, tool.permissions, self._settings, self._places)

    def _limits(self, tool: Tool, name: str) -> Limits:
        """An agent may write down smaller limits than the config's, and no larger ones."""
        if tool.creator:
            return self._settings.limits_for(name, {}).tightened(tool.limits)
        return self._settings.limits_for(name, tool.limits)

    def world(self, tool: Tool, allowance: Allowance) -> World:
        own = {**allowance.environment, **allowance.secrets}
        if not own:
            return self._world
        return replace(self._world, environment={**self._world.environment, **own})

    def unexpected(
        self, error: Exception, redact: Callable[[str], str] = lambda text: text
    ) -> ToolError:
        mark = self._log.traceback(error, redact)
        return ToolError(
            ErrorCode.INTERNAL_ERROR,
            f"something in Tongs itself went wrong ({type(error).__name__}), id {mark}",
            details={"id": mark, "log": self._log.path},
            hint=f"please report it with the lines of {self._log.path} that start at id={mark}",
        )

    def _whitelisted(self, tool: Tool) -> dict[str, str]:
        """What the config lets every executable see (`custom_tools.env_whitelist`)."""
        if tool.origin.format != "exec":
            return {}
        names = self._settings.custom_tools.env_whitelist
        return {name: self._host[name] for name in names if name in self._host}

    def _granted(self, environment: Mapping[str, str | None]) -> dict[str, str]:
        """`envs` of the config: a text sets the variable, null lets the tool inherit it."""
        granted = {
            name: self._host.get(name) if value is None else value
            for name, value in environment.items()
        }
        return {name: value for name, value in granted.items() if value is not None}


def _interpreters(settings: Settings, home: str) -> Mapping[str, str]:
    found = {
        name: home + program[1:] if program.startswith("~/") else program
        for name, program in settings.interpreters.items()
    }
    return MappingProxyType(found)


def _on_path(program: str, host: Mapping[str, str]) -> bool:
    folders = host.get("PATH", os.defpath).split(os.pathsep)
    return any(os.access(os.path.join(folder, program), os.X_OK) for folder in folders if folder)
