"""Tools by name and scope."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tongs.core.annotations import TYPE_CHECKING, Any, TypeAlias
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.record import dataclass, field, replace
from tongs.core.scope import SEARCH_ORDER, Scope
from tongs.core.tool import Tool, ToolLike, Trust
from tongs.schema.nearest import nearest

if TYPE_CHECKING:
    from tongs.registry.export import Exported

# Names of built-in tools that no definition takes over: whoever uses them relies on them.
RESERVED = frozenset(
    "read_file write_file edit_file list_directory delete_file move_file search_files output_read"
    " shell run_code".split()
)


# The format of what MCP servers offer: such a tool lies in no file.
SERVED = "mcp"


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of a definition without running it; `problems` make it unusable."""

    name: str
    description: str = ""
    scope: Scope = Scope.LOCAL
    format: str = "yaml"
    family: str = "tongs"
    path: str = ""
    tags: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()
    level: str = "run"
    network: bool = False
    parameters: tuple[str, ...] = ()
    digest: str = ""
    trust: Trust = Trust.PLACE
    problems: tuple[str, ...] = ()
    shadowed: bool = False
    clash: bool = False
    # Which tool of a file that may define several.
    member: str = ""

    @property
    def qualified_name(self) -> str:
        return f"{self.format if self.family == 'tongs' else self.family}:{self.name}"

    @property
    def broken(self) -> bool:
        return bool(self.problems)

    @property
    def served(self) -> bool:
        """Whether a server has it, so that there is no file to look at."""
        return self.format == SERVED


def find(entries: Sequence[Entry], name: str, scope: Scope) -> Entry:
    """The entry that answers to `name`; ToolError names the nearest, or the choices on a clash."""
    qualifier, _, short = name.rpartition(":")
    matching = [
        entry
        for entry in entries
        if scope.covers(entry.scope)
        and entry.name == short
        and (not qualifier or entry.qualified_name == name)
    ]
    for place in (*SEARCH_ORDER, Scope.BUILTIN):
        here = [entry for entry in matching if entry.scope is place]
        if len(here) == 1:
            return here[0]
        if here:
            raise _ambiguous(name, here)
    missing = not_found(name, (e.name for e in entries if scope.covers(e.scope)), scope)
    closed = [e.path for e in entries if e.format == "python" and not e.trust.holds]
    if closed and not missing.details["nearest"]:
        missing.details["hint"] = f"nobody knows the tools of {closed[0]} before it is trusted"
    raise missing


def not_found(name: str, known: Iterable[str], scope: Scope = Scope.ANY) -> ToolError:
    close = nearest(name, known, most=3)
    where = "" if scope is Scope.ANY else f" in {scope} scope"
    return ToolError(
        ErrorCode.TOOL_NOT_FOUND,
        f"there is no tool `{name}`{where}",
        details={"nearest": close},
        hint=f"did you mean {' or '.join(f'`{n}`' for n in close)}?"
        if close
        else "tongs tool list shows the tools there are",
    )


def _ambiguous(name: str, here: Sequence[Entry]) -> ToolError:
    choices = sorted({entry.qualified_name for entry in here})
    files = ", ".join(entry.path for entry in here)
    return ToolError(
        ErrorCode.INVALID_DEFINITION,
        f"`{name}` is defined {len(here)} times in {here[0].scope} scope: {files}",
        details={"choices": choices},
        hint=f"name one: {', '.join(choices)}"
        if len(choices) == len(here)
        else "rename or remove one of the files",
    )


def marked(entries: Iterable[Entry]) -> list[Entry]:
    """The entries sorted for a reader, with shadowed names and clashes marked."""
    by_name: dict[str, list[Entry]] = {}
    for entry in entries:
        by_name.setdefault(entry.name, []).append(entry)
    result = []
    for name in sorted(by_name):
        if len(by_name[name]) == 1:
            result += by_name[name]
            continue
        same = sorted(by_name[name], key=lambda entry: SEARCH_ORDER.index(entry.scope))
        for entry in same:
            shadowed = entry.scope is not same[0].scope
            clash = sum(other.scope is entry.scope for other in same) > 1
            if shadowed or clash:
                entry = replace(entry, shadowed=shadowed, clash=clash)  # noqa: PLW2901 - marked copy
            result.append(entry)
    return result


# Inside the class the name `list` is a method.
Definitions: TypeAlias = list[dict[str, Any]]


@dataclass(slots=True)
class ToolRegistry:
    """Tools registered by a program, in front of those found in folders."""

    source: Callable[[str, Scope], Tool] | None = None
    tools: dict[str, Tool] = field(default_factory=dict)

    def register(self, tool: Tool | ToolLike) -> Tool:
        """Add a Tool, a BaseTool or a function with `@tool`; what has its name is replaced.

        Refuses (ToolError INVALID_DEFINITION) a name with a colon, an input schema that is none, or
        whose root is not `object`, and what is no timeout, no function, no permissions.
        """
        from tongs.registry.checking import checked  # noqa: PLC0415 - for programs

        made = checked(_as_tool(tool))
        self.tools[made.name] = made
        return made

    def get(self, name: str, scope: Scope = Scope.ANY) -> Tool:
        """The tool that answers to `name`; ToolError TOOL_NOT_FOUND with the nearest names."""
        if name in self.tools:
            return self.tools[name]
        for tool in self.tools.values() if ":" in name else ():
            if tool.qualified_name == name:
                return tool
        if self.source is None:
            raise not_found(name, self.tools)
        try:
            return self.source(name, scope)
        except ToolError as error:
            if error.code is not ErrorCode.TOOL_NOT_FOUND or not self.tools:
                raise
            known = (*error.details.get("nearest", ()), *self.tools)
            raise not_found(name, known, scope) from None

    def list(self) -> list[Tool]:
        return list(self.tools.values())

    def remove(self, name: str) -> Tool:
        """Forget a registered tool; ToolError TOOL_NOT_FOUND if there is none."""
        if name not in self.tools:
            raise not_found(name, self.tools)
        return self.tools.pop(name)

    def to_openai_functions(self, *, strict: bool = False) -> Definitions:
        """Name, description and parameters of each, flat (seed 002)."""
        return self._exported("openai-flat", strict=strict)

    def to_openai_tools(self, *, strict: bool = False, responses: bool = False) -> Definitions:
        """For chat completions (seed 001), or for OpenAI's responses API."""
        return self._exported("openai-responses" if responses else "openai", strict=strict)

    def to_anthropic_tools(self, *, strict: bool = False) -> Definitions:
        return self._exported("anthropic", strict=strict)

    def to_gemini_tools(self) -> Definitions:
        return self._exported("gemini")

    def to_mcp_tools(self) -> Definitions:
        return self._exported("mcp")

    def export(self, form: str, *, strict: bool = False) -> Exported:
        """The tools in one format, with a report of what could not be said in it."""
        from tongs.registry.export import export  # noqa: PLC0415 - calls need no formats

        return export(self.list(), form, strict=strict)

    def _exported(self, form: str, *, strict: bool = False) -> Definitions:
        found: Definitions = self.export(form, strict=strict).data
        return found


def _as_tool(given: Any) -> Tool:
    if isinstance(given, Tool):
        return given
    # A class whose objects are tools; one that needs arguments says so itself.
    made = given() if isinstance(given, type) and hasattr(given, "as_tool") else given
    if not hasattr(made, "as_tool"):
        raise ToolError(
            ErrorCode.INVALID_DEFINITION,
            f"{given!r:.80} is no tool",
            hint="put @tool on a function, or give a Tool or a BaseTool",
        )
    tool: Tool = made.as_tool()
    return tool
