"""`@tool`: a function as a tool."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.call import ToolCall
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.record import dataclass
from tongs.core.result import ToolResult
from tongs.core.tool import Tool, as_tags
from tongs.library.calling import called, permissions_of

if TYPE_CHECKING:
    from typing import ParamSpec, Protocol, TypeVar, overload  # noqa: TID251 - for type checkers

    from tongs.core.permissions import Permissions

    P = ParamSpec("P")
    R_co = TypeVar("R_co", covariant=True)

    class ToolFunction(Protocol[P, R_co]):
        """The function itself, which is also a tool."""

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

        def as_tool(self) -> Tool: ...

        async def call(self, tool_call: ToolCall) -> ToolResult: ...


_OPTIONS = frozenset(
    "name description parameters output_schema tags permissions timeout requires_approval"
    " approval_reason examples version idempotent blocking".split()
)


def _tool(function: Any = None, /, **options: Any) -> Any:
    """Make a function a tool; it stays the function it is.

    The schema comes from its type hints and its docstring, or is `parameters`, and then the
    function gets them by keyword. It is made when the tool is first asked for, so a type may be
    defined further down.
    """
    if unknown := options.keys() - _OPTIONS:
        raise TypeError(f"@tool has no option {min(unknown)!r}")
    if function is None:
        return lambda given: _tool(given, **options)
    if isinstance(function, str) or not callable(function):
        raise TypeError(f"@tool goes on a function, not on {function!r:.80}; options have names")
    made = _Made(function, options)
    try:
        function.as_tool = made.as_tool
        function.call = made.call
    except AttributeError:
        raise TypeError(f"@tool goes on a function, not on {function!r:.80}") from None
    return function


@dataclass(slots=True)
class _Made:
    """The tool of one function, made once."""

    function: Any
    options: Mapping[str, Any]
    tool: Tool | None = None

    def as_tool(self) -> Tool:
        if self.tool is None:
            self.tool = _tool_of(self.function, dict(self.options))
        return self.tool

    async def call(self, tool_call: ToolCall) -> ToolResult:
        """As `BaseTool.call`."""
        return await called(self.as_tool(), tool_call)


def _tool_of(function: Any, options: dict[str, Any]) -> Tool:
    from tongs.library.signature import read  # noqa: PLC0415 - loads `inspect` and `typing`

    name = options.pop("name", "") or getattr(function, "__name__", "")
    if name in ("", "<lambda>"):
        raise ToolError(
            ErrorCode.INVALID_DEFINITION, "a lambda has no name", hint='@tool(name="…")'
        )
    parameters = options.pop("parameters", None)
    if parameters is not None:
        schema, output = dict(parameters), None
        about = _about(function)

        execute = _by_keyword(function)
    else:
        signature = read(function, name)
        schema, output, about = signature.input_schema, signature.output_schema, signature.about
        execute = signature.bound(function)
    return Tool(
        name=name,
        description=options.pop("description", "") or about,
        input_schema=schema,
        output_schema=options.pop("output_schema", None) or output,
        tags=as_tags(options.pop("tags", ())),
        permissions=permissions_of(options.pop("permissions", None)),
        examples=tuple(options.pop("examples", ())),
        execute=execute,
        **options,
    )


def _about(function: Any) -> str:
    from tongs.library.docstring import read  # noqa: PLC0415 - as above

    return read(function.__doc__).about


def _by_keyword(function: Any) -> Callable[[Mapping[str, Any]], Any]:
    return lambda arguments: function(**arguments)


if TYPE_CHECKING:

    @overload
    def tool(function: Callable[P, R_co], /) -> ToolFunction[P, R_co]: ...

    @overload
    def tool(
        *,
        name: str = "",
        description: str = "",
        parameters: Mapping[str, Any] | None = None,
        output_schema: Mapping[str, Any] | None = None,
        tags: Iterable[str] = (),
        permissions: Permissions | Mapping[str, Any] | None = None,
        timeout: float | None = 60.0,
        requires_approval: bool | Callable[[Mapping[str, Any]], bool] | None = None,
        approval_reason: str = "",
        examples: Iterable[Mapping[str, Any]] = (),
        version: str = "",
        idempotent: bool = False,
        blocking: bool = False,
    ) -> Callable[[Callable[P, R_co]], ToolFunction[P, R_co]]: ...

    def tool(function: Any = None, /, **options: Any) -> Any: ...

else:
    tool = _tool
    tool.__name__ = tool.__qualname__ = "tool"
