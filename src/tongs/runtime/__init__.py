"""The runtime: wires every part once, and is what surfaces and programs talk to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence

from tongs.builtin import Builtins
from tongs.config.environment import host_environment
from tongs.config.places import Places, find_places
from tongs.config.settings import Settings
from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.approval import ApprovalRequest, ApprovalResponse, Approver
from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.driving import drive
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Event, Observer, Waiter
from tongs.core.parts import Door, Parts
from tongs.core.record import dataclass, replace
from tongs.core.result import ToolResult
from tongs.core.scope import Scope
from tongs.core.tool import Tool, ToolLike
from tongs.output import kept
from tongs.policy.rules import Rule, RuleEngine, default_rules
from tongs.registry import Entry, ToolRegistry
from tongs.runtime.approving import Approving
from tongs.runtime.catalogue import Catalogue
from tongs.runtime.definitions import Definitions
from tongs.runtime.documents import Documents
from tongs.runtime.folders import own_state, working_directory
from tongs.runtime.later import Served, offering_of, registry_of
from tongs.runtime.recording import audit_log
from tongs.runtime.ruling import rules_of
from tongs.runtime.session_jobs import SessionJobs
from tongs.runtime.settings_files import SettingsFiles
from tongs.runtime.shape_readers import Shapes
from tongs.runtime.tool_folders import ToolFolders
from tongs.runtime.wiring import Wiring, default_shell, platform
from tongs.store.cache import DefinitionCache, code_stamp
from tongs.store.log import Log
from tongs.store.trust import TrustStore

if TYPE_CHECKING:
    from tongs.audit.log import AuditLog
    from tongs.builtin.workspace import Workspace
    from tongs.core.permissions import Permissions
    from tongs.core.servers import Servers
    from tongs.runtime.approvals import ApprovalDesk
    from tongs.runtime.creating import Created
    from tongs.runtime.holding import Held
    from tongs.runtime.offering import Offer, Offering
    from tongs.runtime.requirements import Lack
    from tongs.runtime.servers import ServerTools


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
    # For surfaces that have a person to ask.
    approving: Approving
    rules: RuleEngine
    _parts: Parts
    _catalogue: Catalogue
    _approver: Approver | None
    # Made when a model is first offered something.
    _offering: Callable[[], Offering]
    _served: Served

    @staticmethod
    def open(  # noqa: PLR0913 - keywords, each with a default
        path: str | os.PathLike[str] | None = None,
        *,
        approver: Approver | None = None,
        auto_approve: Iterable[str] = (),
        auto_deny: Iterable[str] = (),
        load_tools: Sequence[str | os.PathLike[str]] = (),
        rules: Iterable[Rule | Mapping[str, Any]] = (),
        profile: str | None = None,
        log_level: str = "info",
        single_thread: bool = False,
        use_cache: bool = True,
        secrets: Callable[[str], str | None] | None = None,
        tools: Iterable[Tool | ToolLike] = (),
    ) -> Runtime:
        """The runtime for a directory (the current one by default).

        `auto_approve` and `auto_deny` take `tool:read`, `tool:TAG`, a name or `*`, and add to the
        config; `rules` are objects with `check`, or mappings as in `security.rules`. `load_tools`
        names further definition files or folders. The settings of `profile` come after those of the
        config files. `single_thread` promises that this process has one thread and keeps to it, so
        that processes start without a fork server. Without `use_cache` everything is read anew.
        `secrets` is asked before the config and the environment; `tools` are for `register`.
        Raises DefinitionInvalid for a config that is wrong, and ToolError.
        """
        host = host_environment()
        places = find_places(working_directory(path), host)
        own_state(places.state)
        log = Log(places.state, log_level)
        trust = TrustStore(places.state, places.project)
        files = SettingsFiles(places, trust, profile)
        settings = files.load()
        cache, shapes = _readers(places, files, default_shell(settings, host), use_cache=use_cache)
        served = Served(settings, places, files)
        custom, loaded = settings.custom_tools, [os.fspath(item) for item in load_tools]
        folders = ToolFolders(places, trust, cache, shapes, custom, loaded)
        catalogue = Catalogue(folders, trust, Builtins(settings), served, custom.prefix)
        registry = registry_of(catalogue, tools)
        audit = audit_log(places, settings, log)
        asking = Approving(places, settings, host, Documents(cache).data)
        wiring = Wiring(places, settings, host, registry, log, secrets, held=folders.beside)
        sandbox = wiring.sandbox(single_thread=single_thread)
        own = rules_of(settings.rules, rules, wiring.look)
        selected, stands = _selected(settings, auto_approve, auto_deny), wiring.stands(sandbox)
        engine = default_rules(*selected, asking.rules, later=own, stands=stands)
        wiring.ask(shapes, cache, sandbox, catalogue.trust_of)
        offering = offering_of(registry, catalogue, custom.prefix)
        parts = replace(
            asking.added_to(wiring.parts(engine.decide, sandbox, audit)),
            confirm=catalogue.confirm,
            search=lambda *asked: offering().search(*asked),
            jobs=SessionJobs(threads=not single_thread),
        )
        definitions = Definitions(places, catalogue, trust, audit)
        opened = (places, settings, registry, definitions, files, audit, log, asking, engine)
        return Runtime(*opened, parts, catalogue, approver, offering, served)

    @property
    def approvals(self) -> ApprovalDesk:
        """What waits for an answer, and what the person decided once."""
        return self.approving.desk

    @property
    def server_tools(self) -> ServerTools:
        """What is known of the tools of MCP servers; starts none."""
        return self._served()

    @property
    def servers(self) -> Servers:
        """The MCP servers: what they offer, and how they are."""
        return self._parts.servers

    def register(self, tool: Tool | ToolLike) -> Tool:
        """Add a tool of the program itself: a Tool, a BaseTool or a function with `@tool`.

        Its calls go the way of all others: checked, decided, asked about and recorded. It runs in
        this process, so nothing confines it.
        """
        return self.registry.register(tool)

    def offered(
        self,
        limit: int | None = None,
        *,
        tags: Iterable[str] = (),
        tools: Iterable[str] = (),
        keep: Iterable[str] = (),
    ) -> Offer:
        """The tools for a model: all that are trusted and usable, or those with a tag, or named.

        Where there are more than `limit`, it has those of `keep`, then the program's own and the
        nearest, and `tools_search`, by which the model finds the others (of these tags).
        """
        from tongs.runtime.offering import Offer, chosen  # noqa: PLC0415 - for models only

        wanted = tuple(tags)
        found = chosen(self._offering(), limit=limit, tags=wanted, tools=tools, keep=keep)
        return Offer(self, self._offering(), found, wanted)

    def meant(self, name: str) -> tuple[str, Tool]:
        """The tool that a model means by a name, and the name it answers to; raises ToolError."""
        return self._offering().answering(name)

    def held(self, tool: Tool) -> Held:
        """What a call of the tool may touch at most, and whether anything holds it to that."""
        from tongs.runtime.holding import held  # noqa: PLC0415 - for models only

        return held(tool, self._parts)

    def search(self, query: str, limit: int = 5) -> list[Tool]:
        """The tools that fit the words best."""
        return [tool for _, tool in self.searched(query, limit)]

    def searched(self, query: str, limit: int = 5) -> list[tuple[str, Tool]]:
        """As `search`, each with the name that a model calls it by."""
        return self._offering().search(query, limit)

    async def handle_openai(
        self, tool_calls: Any, *, caller: Caller | None = None, approver: Approver | None = None
    ) -> list[dict[str, Any]]:
        """Carry out a model's calls; the messages that answer them, in their order.

        Takes `tool_calls`, the message that has them, or the whole answer, as objects of the SDK or
        plain dicts, of chat completions or of the responses API. Never raises for what is in them.
        """
        return await self._any_tool().handle_openai(tool_calls, caller=caller, approver=approver)

    async def handle_anthropic(
        self, blocks: Any, *, caller: Caller | None = None, approver: Approver | None = None
    ) -> list[dict[str, Any]]:
        """As `handle_openai`, for the content blocks of a message of Anthropic's."""
        return await self._any_tool().handle_anthropic(blocks, caller=caller, approver=approver)

    def handle_openai_sync(
        self, tool_calls: Any, *, caller: Caller | None = None, approver: Approver | None = None
    ) -> list[dict[str, Any]]:
        """`handle_openai` for programs without an event loop: one call after the other."""
        return self._any_tool().handle_openai_sync(tool_calls, caller=caller, approver=approver)

    def handle_anthropic_sync(
        self, blocks: Any, *, caller: Caller | None = None, approver: Approver | None = None
    ) -> list[dict[str, Any]]:
        return self._any_tool().handle_anthropic_sync(blocks, caller=caller, approver=approver)

    def entries(self, scope: Scope = Scope.ANY) -> list[Entry]:
        """Every definition of the scope, usable or not, by name and lookup order."""
        return self._catalogue.entries(scope)

    def find(self, name: str, scope: Scope = Scope.ANY) -> Tool:
        """The tool that answers to a name; raises ToolError."""
        return self.registry.get(name, scope)

    def at(self, path: str) -> Tool:
        """The tool of a file or folder, whatever answers to its name; raises ToolError."""
        return self._catalogue.linked(self._catalogue.at(path))

    def who_answers(
        self, approver: Approver | None = None, waiter: Waiter | None = None
    ) -> Approver | None:
        """Who is asked about a call: this one, else the runtime's, else whom the config names."""
        approver = approver or self._approver
        if approver is None:
            if not self.settings.approvals.configured:
                return None
            from tongs.sandbox.waiting import LoopWaiter  # noqa: PLC0415 - needs asyncio

            return self.approving.approver(waiter or LoopWaiter())

        async def ask(request: ApprovalRequest) -> ApprovalResponse | None:
            from tongs.runtime.hearing import heard  # noqa: PLC0415 - most calls ask nobody

            return await heard(approver, request)

        return ask

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        /,
        *,
        caller: Caller | None = None,
        approver: Approver | None = None,
        background: bool = False,
        **kwargs: Any,
    ) -> ToolResult:
        """Call a tool with a mapping or with keywords, never both. Never raises for the tool.

        With `background` the result is the handle of a job, as soon as the call may run.
        """
        from tongs.sandbox.waiting import LoopWaiter  # noqa: PLC0415 - needs asyncio

        call = replace(_request(name, arguments, kwargs, caller), background=background)
        waiter = LoopWaiter()
        return await self.run(call, Door(waiter, self.who_answers(approver, waiter)))

    def call_sync(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        /,
        *,
        caller: Caller | None = None,
        approver: Approver | None = None,
        background: bool = False,
        **kwargs: Any,
    ) -> ToolResult:
        """`call` for programs without an event loop: no loop, and no thread but for a job."""
        call = _request(name, arguments, kwargs, caller)
        if background:
            call = replace(call, background=True)
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

        waiter = BlockingWaiter()
        door = Door(waiter, self.who_answers(approver, waiter), observe, scope, timeout)
        return drive(self.run(call, door))

    async def run(self, call: ToolCall, door: Door) -> ToolResult:
        jobs = self._jobs
        if jobs.closed:
            return self._refuse_after_close(call)
        if "background" in call.arguments or call.background:
            return await jobs.run(call, self._parts, door)
        from tongs.pipeline import run  # noqa: PLC0415 - a listing makes no call

        return await run(call, self._parts, door)

    async def run_tool(self, call: ToolCall, tool: Tool, door: Door) -> ToolResult:
        """A call of a tool that only its surface knows, by the path of every other."""
        from tongs.pipeline import run  # noqa: PLC0415 - as above

        return await run(call, replace(self._parts, find=lambda _call, _scope: tool), door)

    def refuse(self, call: ToolCall, error: ToolError) -> ToolResult:
        """A call that is refused before any tool is looked for, recorded like every other."""
        from tongs.sandbox.waiting import BlockingWaiter  # noqa: PLC0415 - calls only

        def find(asked: ToolCall, scope: Scope) -> Tool:
            raise error

        from tongs.pipeline import run  # noqa: PLC0415 - as in `run`

        return drive(run(call, replace(self._parts, find=find), Door(BlockingWaiter())))

    def kept(self, result: ToolResult) -> str | None:
        """The handle by which output_read reads the output of a result; None if it is lost."""
        from tongs.template.values import utf8  # noqa: PLC0415 - large output only

        return kept(utf8(result.output), 0, self._parts.spool, result.tool_call_id).handle

    def permitted(self, call: ToolCall, tool: Tool) -> Permissions | None:
        """What a call may touch, with absolute paths; None where it will be refused."""
        try:
            return self._parts.allow(call, tool).permissions
        except ToolError:
            return None

    def validate(
        self, call: ToolCall, scope: Scope = Scope.ANY, *, preview: bool = False
    ) -> ToolResult:
        """Find, validate and decide, but start and ask nothing.

        `value` holds the final arguments, `metadata` the decision; with `preview` the output is
        what would run.
        """
        from tongs.runtime.foretelling import foretold  # noqa: PLC0415 - most calls are made

        return foretold(call, self._parts, scope, preview=preview)

    def create_tool(self, name: str, definition: Mapping[str, Any] | str, creator: str) -> Created:
        """Write a tool that an agent has thought of; it runs after a person has reviewed it.

        `definition` has the structure of a manifest, as data or as text. Raises ToolError where it
        asks for more than `security.max_permissions`, or is wrong; then nothing was written.
        """
        from tongs.runtime.creating import create_tool  # noqa: PLC0415 - loads the linter

        return create_tool(self, name, definition, creator)

    def missing(self, tool: Tool) -> list[Lack]:
        """What the tool requires and this machine lacks. Runs `--version` in the sandbox."""
        from tongs.sandbox.waiting import BlockingWaiter  # noqa: PLC0415 - may start programs

        wiring = Wiring(self.places, self.settings, host_environment(), self.registry, self.log)
        requirements = wiring.requirements(self._parts.sandbox)
        return drive(requirements.missing(tool, BlockingWaiter()))

    def absent(self, tool: Tool) -> list[Lack]:
        """The programs it requires that are not on the PATH. Starts nothing."""
        from tongs.runtime.foretelling import bare_world  # noqa: PLC0415 - as above
        from tongs.runtime.requirements import absent  # noqa: PLC0415 - as above

        return absent(tool, bare_world(tool, self._parts))

    def workspace(self) -> Workspace:
        """The files of this place, for a person: to be used with `with`."""
        from tongs.builtin.workspace import Workspace  # noqa: PLC0415 - the trash only
        from tongs.runtime.foretelling import bare_world  # noqa: PLC0415 - as above

        return Workspace.to_show(bare_world(Tool(""), self._parts))

    def close(self) -> None:
        """End its jobs and what it keeps open. Other calls in progress are not waited for.

        On an event loop its jobs end with the next turn of the loop; `aclose` waits for that.
        """
        self._jobs.close(self._shut)

    async def aclose(self) -> None:
        """`close`, and the jobs have ended."""
        self.close()
        await self._jobs.aclose()

    def _refuse_after_close(self, call: ToolCall) -> ToolResult:
        error = ToolError(
            ErrorCode.EXECUTION_ERROR,
            f"{call.name} was not run: this runtime is closed",
            hint="call inside of `with Runtime.open() as rt:`, or open another one",
        )
        result = self.refuse(call, error)
        self._jobs.close(self.audit.close)  # which the record of this opened again
        return result

    def _shut(self) -> None:
        self._parts.servers.close()
        self.audit.close()
        self._parts.sandbox.close()

    def __enter__(self) -> Runtime:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    async def __aenter__(self) -> Runtime:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    @property
    def _jobs(self) -> SessionJobs:
        assert isinstance(self._parts.jobs, SessionJobs)
        return self._parts.jobs

    def _any_tool(self) -> Offer:
        from tongs.runtime.offering import Offer  # noqa: PLC0415 - for models only

        return Offer(self, self._offering(), None)


def _readers(
    places: Places, files: SettingsFiles, shell: str, *, use_cache: bool
) -> tuple[DefinitionCache, Shapes]:
    """What reads definitions, and what keeps them."""
    # Whether a script is safe depends on the shell that reads it.
    variant = f"{platform()}-{os.path.basename(shell)}-{code_stamp()}"
    cache = DefinitionCache(places.state, variant, ignored=not use_cache)
    return cache, Shapes(Documents(cache), platform(), shell, files)


def _selected(
    settings: Settings, approve: Iterable[str], deny: Iterable[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is approved and what is denied, by the config and by the program."""
    unasked = (
        f"mcp:{server.name}__{name}"
        for server in settings.mcp.servers.values()
        for name, terms in server.tools.items()
        if terms.approval is False
    )
    return (*settings.auto_approve, *unasked, *approve), (*settings.auto_deny, *deny)


def _request(
    name: str,
    arguments: Mapping[str, Any] | None,
    kwargs: Mapping[str, Any],
    caller: Caller | None,
) -> ToolCall:
    if arguments is not None and kwargs:
        raise TypeError("pass the arguments as one mapping or as keywords, not both")
    given = kwargs if arguments is None else arguments
    if not isinstance(given, (dict, Mapping)):  # an abstract class is asked several times slower
        raise TypeError(f"the arguments are a mapping of names to values, not {given!r:.80}")
    who = caller or Caller(CallerKind.PROGRAM, "library")
    return ToolCall(os.urandom(6).hex(), name, given, who)
