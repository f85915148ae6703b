"""One run of the command line: its options, its streams, and the runtime it opens."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

from collections.abc import Callable

from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.surfaces.cli.console import Console
from tongs.surfaces.cli.parser import LOG_LEVELS

if TYPE_CHECKING:
    from tongs.approvers.terminal import Terminal
    from tongs.core.scope import Scope
    from tongs.runtime import Runtime


class Invocation:
    """What a command gets. `options` is what its parser found."""

    def __init__(self, words: tuple[str, ...], options: Any) -> None:
        self.words = words
        self.options = options
        self.console = Console(options.color)
        # Where secrets come from, if not from the environment; to be set before the runtime opens.
        self.secrets: Callable[[str], str | None] | None = None
        # For a command with an event loop or a thread; as above.
        self.threads = False
        self._runtime: Runtime | None = None

    @property
    def runtime(self) -> Runtime:
        """Opened on first use, closed when the command ends."""
        if self._runtime is None:
            self._runtime = self._open()
        return self._runtime

    @property
    def scope(self) -> Scope:
        from tongs.core.scope import Scope

        return Scope(self.options.scope)

    def terminal(self) -> Terminal | None:
        """A person who can be asked, if there is one."""
        from tongs.approvers.terminal import Terminal

        return Terminal.reach()

    def logs(self, level: str) -> bool:
        """Whether a line of this level goes anywhere; spares making it."""
        return self._to_file(level) or self._to_stderr(level)

    def log(self, level: str, text: str) -> None:
        """One line for the log file, and for stderr where `-v` asks for it."""
        if self._to_stderr(level):
            self.console.say(f"{level}: {text}")
        if self._to_file(level):
            self.runtime.log.write(level, text)

    def close(self) -> None:
        if self._runtime is not None:
            self._runtime.close()

    def _to_file(self, level: str) -> bool:
        wanted: str = self.options.log_level
        return LOG_LEVELS.index(level) <= LOG_LEVELS.index(wanted)

    def _to_stderr(self, level: str) -> bool:
        verbose: int = self.options.verbose
        return verbose > 0 and LOG_LEVELS.index(level) <= LOG_LEVELS.index("warning") + verbose

    def _open(self) -> Runtime:
        options = self.options
        from tongs.runtime import Runtime

        runtime = Runtime.open(
            auto_approve=listed(options.auto_approve),
            auto_deny=listed(options.auto_deny),
            profile=options.profile,
            load_tools=(*options.load_tool, *options.load_tools),
            use_cache=not options.no_cache,
            log_level=options.log_level,
            single_thread=not self.threads,
            secrets=self.secrets,
        )
        self._runtime = runtime
        for problem in runtime.settings.ignored:
            self.log("info", f"ignored until trusted: {problem}")
        return runtime


def listed(values: list[str]) -> tuple[str, ...]:
    """`a,b` and `a` `b` are the same list."""
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())
