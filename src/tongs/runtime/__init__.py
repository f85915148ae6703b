"""The runtime: wires every part once, and is what surfaces and programs talk to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from tongs.audit.log import AuditLog
from tongs.builtin import Builtins
from tongs.config.environment import host_environment
from tongs.config.ownership import why_not_own
from tongs.config.places import Places, find_places
from tongs.config.settings import Settings
from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.approval import Approver
from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.driving import drive
from tongs.core.errors import DefinitionInvalid, ErrorCode, Problem, ToolError
from tongs.core.execution import Event, Observer, Waiter, World
from tongs.core.parts import Door, Parts
from tongs.core.record import dataclass, replace
from tongs.core.result import ToolResult
from tongs.core.scope import Scope
from tongs.core.tool import Tool
from tongs.pipeline import at_stake, run
from tongs.policy.rules import Rule, default_rules
from tongs.registry import Entry, ToolRegistry
from tongs.runtime.catalogue import Catalogue
from tongs.runtime.definitions import Definitions
from tongs.runtime.documents import Documents
from tongs.runtime.settings_files import SettingsFiles
from tongs.runtime.shapes import Shapes
from tongs.runtime.wiring import Wiring, default_shell, platform
from tongs.store.cache import DefinitionCache, code_stamp
from tongs.store.files import private_folder
from tongs.store.log import Log
from tongs.store.trust import TrustStore

if TYPE_CHECKING:
    from tongs.builtin.workspace import Workspace
    from tongs.runtime.requirements import Lack


def _ignore(event: Event) -> None:
    """Nobody watches this call."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """Every tool of one place, behind the one pipeline. Make one with `Runtime.open()`."""

    places: Places
    settings: Settings
    registry: ToolRegistry
    definitions: Definitions
    settings_files: SettingsFiles
    audit: AuditLog
    log: Log
    _parts: Parts
    _catalogue: Catalogue
    _approver: Approver | None

    @staticmethod
    def open(  # noqa: PLR0913 - keywords, each with a default
        path: str | os.PathLike[str] | None = None,
        *,
        approver: Approver | None = None,
        auto_approve: Iterable[str] = (),
        auto_deny: Iterable[str] = (),
        load_tools: Sequence[str | os.PathLike[str]] = (),
        rules: Iterable[Rule] = (),
        profile: str | None = None,
        log_level: str = "info",
        single_thread: bool = False,
        use_cache: bool = True,
        secrets: Callable[[str], str | None] | None = None,
    ) -> Runtime:
        """The runtime for a directory (the current one by default).

        `auto_approve` and `auto_deny` take `tool:read`, `tool:TAG`, a name or `*`, and add to the
        config. `load_tools` names further definition files or folders. The settings of `profile`
        come after those of the config files. `single_thread` promises that this process has one
        thread and keeps to it, so that processes can be started without a fork server. Without
        `use_cache` every definition is read, and every executable asked, anew. `secrets` gives the
        value of a declared secret instead of the environment. Raises DefinitionInvalid if a config
        file cannot be used, ToolError if the working directory is gone.
        """
        host = host_environment()
        places = find_places(working_directory(path), host)
        _own_state(places.state)
        log = Log(places.state, log_level)
        trust = TrustStore(places.state)
        files = SettingsFiles(places, trust, profile)
        settings = files.load()
        shell = default_shell(settings, host)
        # Whether a script is safe depends on the shell that reads it.
        variant = f"{platform()}-{os.path.basename(shell)}-{code_stamp()}"
        cache = DefinitionCache(places.state, variant, ignored=not use_cache)
        shapes = Shapes(Documents(cache), platform(), shell, files)
        catalogue = Catalogue(
            places,
            trust,
            cache,
            shapes,
            Builtins(settings),
            custom_tools=settings.custom_tools,
            loaded=[os.fspath(item) for item in load_tools],
        )
        registry = ToolRegistry(catalogue.find)
        audit = AuditLog(_audit_files(places), lambda message: log.write("warning", message))
        engine = default_rules(
            (*settings.auto_approve, *auto_approve), (*settings.auto_deny, *auto_deny), rules
        )
        wiring = Wiring(places, settings, host, registry, log, secrets or host.get)
        sandbox = wiring.sandbox(single_thread=single_thread)
        shapes.ask_executables(
            lambda: wiring.describer(cache, sandbox, catalogue.trust_of), lambda: sandbox.parallel
        )
        parts = replace(wiring.parts(engine.decide, sandbox, audit), confirm=catalogue.confirm)
        definitions = Definitions(places, catalogue, trust, audit)
        return Runtime(
            places, settings, registry, definitions, files, audit, log, parts, catalogue, approver
        )

    def entries(self, scope: Scope = Scope.ANY) -> list[Entry]:
        """Every definition of the scope, usable or not, by name and lookup order."""
        return self._catalogue.entries(scope)

    def find(self, name: str, scope: Scope = Scope.ANY) -> Tool:
        """The tool that answers to a name; raises ToolError."""
        return self.registry.get(name, scope)

    def at(self, path: str) -> Tool:
        """The tool of a file or folder, whatever answers to its name; raises ToolError."""
        return self._catalogue.linked(self._catalogue.at(path))

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        /,
        *,
        caller: Caller | None = None,
        approver: Approver | None = None,
        **kwargs: Any,
    ) -> ToolResult:
        """Call a tool with a mapping or with keywords, never both. Never raises for the tool."""
        from tongs.sandbox.waiting import LoopWaiter  # noqa: PLC0415 - needs asyncio

        call = _request(name, arguments, kwargs, caller)
        return await self.run(call, self._door(LoopWaiter(), approver))

    def call_sync(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        /,
        *,
        caller: Caller | None = None,
        approver: Approver | None = None,
        **kwargs: Any,
    ) -> ToolResult:
        """`call` for programs without an event loop: no loop, no thread."""
        call = _request(name, arguments, kwargs, caller)
        return self.run_sync(call, approver=approver)

    def run_sync(
        self,
        call: ToolCall,
        *,
        approver: Approver | None = None,
        observe: Observer = _ignore,
        scope: Scope = Scope.ANY,
        timeout: float | None = None,
    ) -> ToolResult:
        """One call with everything a surface may want to say about it."""
        from tongs.sandbox.waiting import BlockingWaiter  # noqa: PLC0415 - calls only

        door = self._door(BlockingWaiter(), approver)
        return drive(self.run(call, replace(door, observe=observe, scope=scope, timeout=timeout)))

    async def run(self, call: ToolCall, door: Door) -> ToolResult:
        return await run(call, self._parts, door)

    def validate(
        self, call: ToolCall, scope: Scope = Scope.ANY, *, preview: bool = False
    ) -> ToolResult:
        """Find, validate and decide, but start and ask nothing.

        `value` holds the final arguments, `metadata` the decision; with `preview` the output is
        what would run.
        """
        try:
            tool = self._parts.find(call, scope)
            call = replace(call, arguments=self._parts.validate(tool, call.arguments))
            if tool.origin.scope is Scope.BUILTIN:
                call = at_stake(call, tool, self._parts.allow(call, tool), self._parts)
            verdict = self._parts.decide(call, tool)
            output = self._preview(call, tool) if preview else ""
        except ToolError as error:
            return ToolResult(tool_call_id=call.id, error=error)
        except Exception as error:  # noqa: BLE001 - as in the pipeline: a surface gets a result
            return ToolResult(tool_call_id=call.id, error=self._parts.unexpected(error))
        decision = {
            "decision": verdict.decision.name.lower(),
            "rule": verdict.rule,
            "reason": verdict.reason,
        }
        return ToolResult(call.id, output, value=dict(call.arguments), metadata=decision)

    def missing(self, tool: Tool) -> list[Lack]:
        """What the tool requires and this machine lacks. Runs `--version` in the sandbox."""
        from tongs.sandbox.waiting import BlockingWaiter  # noqa: PLC0415 - may start programs

        wiring = Wiring(self.places, self.settings, host_environment(), self.registry, self.log)
        requirements = wiring.requirements(self._parts.sandbox)
        return drive(requirements.missing(tool, BlockingWaiter()))

    def absent(self, tool: Tool) -> list[Lack]:
        """The programs it requires that are not on the PATH. Starts nothing."""
        from tongs.runtime.requirements import absent  # noqa: PLC0415 - as above

        return absent(tool, self._bare_world(tool))

    def workspace(self) -> Workspace:
        """The files of this place, for a person: to be used with `with`."""
        from tongs.builtin.workspace import Workspace  # noqa: PLC0415 - the trash only

        return Workspace.to_show(self._bare_world(Tool("")))

    def close(self) -> None:
        """End what the runtime keeps open. Calls in progress are not waited for."""
        self.audit.close()
        self._parts.sandbox.close()

    def __enter__(self) -> Runtime:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _door(self, waiter: Waiter, approver: Approver | None) -> Door:
        return Door(waiter=waiter, approver=approver or self._approver)

    def _preview(self, call: ToolCall, tool: Tool) -> str:
        world = self._bare_world(tool)
        return self._parts.executors[tool.executor].preview(tool, call.arguments, world)

    def _bare_world(self, tool: Tool) -> World:
        from tongs.core.parts import Allowance  # noqa: PLC0415 - previews only
        from tongs.core.permissions import Limits, Permissions  # noqa: PLC0415 - previews only

        # A preview shows no secret and needs none.
        nothing = Allowance(Permissions(), Limits(), None, {}, {})
        return self._parts.world(tool, nothing)


def _request(
    name: str,
    arguments: Mapping[str, Any] | None,
    kwargs: Mapping[str, Any],
    caller: Caller | None,
) -> ToolCall:
    if arguments is not None and kwargs:
        raise TypeError("pass the arguments as one mapping or as keywords, not both")
    given = kwargs if arguments is None else arguments
    if not isinstance(given, Mapping):
        raise TypeError(f"the arguments are a mapping of names to values, not {given!r:.80}")
    who = caller or Caller(CallerKind.PROGRAM, "library")
    return ToolCall(os.urandom(6).hex(), name, given, who)


def working_directory(path: str | os.PathLike[str] | None = None) -> str:
    """An absolute path, the current directory by default; ToolError if that is gone."""
    try:
        return os.path.abspath(os.curdir if path is None else path)
    except FileNotFoundError:
        raise ToolError(
            ErrorCode.FILE_NOT_FOUND,
            "the working directory does not exist any more",
            hint="change to a folder that exists",
        ) from None


def _own_state(folder: str) -> None:
    """Trust lives here, so it must be the person's own; where it cannot be made, calls will say."""
    with suppress(OSError):
        private_folder(folder)
    if reason := why_not_own(folder):
        hint = "move it away, or chown and chmod it; TONGS_HOME names another place"
        raise DefinitionInvalid([Problem(folder, reason, rule="ownership", hint=hint)])


def _audit_files(places: Places) -> list[str]:
    """The record, and the readable copy where the project has a folder for it."""
    files = [os.path.join(places.state, "audit", "tools.log")]
    if places.project is not None:
        folder = os.path.join(places.project, ".tongs")
        copy = os.path.join(folder, "audit")
        # A link that came with the project would lead our lines into somebody else's folder.
        if os.path.isdir(folder) and os.path.realpath(copy) == copy:
            files.append(os.path.join(copy, "tools.log"))
    return files
