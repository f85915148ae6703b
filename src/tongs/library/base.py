"""`BaseTool`: a tool as a class (seed 001)."""

from __future__ import annotations

from collections.abc import Mapping

from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.call import ToolCall
from tongs.core.result import ToolResult
from tongs.core.tool import Tool, as_tags
from tongs.library.calling import called, permissions_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tongs.core.permissions import Permissions


class _Unless:
    """What holds unless a class or an object says otherwise, as a property or as an attribute."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self._make = make

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self._make(instance if instance is not None else owner)


if TYPE_CHECKING:
    _unless = property
else:
    _unless = _Unless


class BaseTool:
    """What a tool needs: `name`, `description`, `parameters`, each a property or an attribute, and
    `execute`. The rest may stay as it is.

    `execute` is `async` or not, and gets the checked arguments; it returns a ToolResult or any
    value, or raises: a ToolError with a code of its own, or any exception.
    """

    @_unless
    def name(self) -> str:
        """The name of the class, in small letters, unless there is another."""
        kind = self if isinstance(self, type) else type(self)
        plain = kind.__name__
        return "".join(
            f"_{char.lower()}" if char.isupper() and number else char.lower()
            for number, char in enumerate(plain)
        )

    @_unless
    def description(self) -> str:
        """What the tool does, for people and models; the docstring, unless said otherwise."""
        from tongs.library.docstring import read  # noqa: PLC0415 - where it is not written

        return read(self.__doc__ if self.__doc__ != BaseTool.__doc__ else "").about

    @_unless
    def parameters(self) -> Mapping[str, Any]:
        """JSON Schema of the arguments; its root is an object."""
        return {"type": "object", "properties": {}, "additionalProperties": False}

    @_unless
    def output_schema(self) -> Mapping[str, Any] | None:
        return None

    @_unless
    def tags(self) -> tuple[str, ...]:
        """`read`, `write` or `run` says how much it does; without one it counts as `run`."""
        return ()

    @_unless
    def permissions(self) -> Permissions | Mapping[str, Any] | None:
        return None

    @_unless
    def timeout(self) -> float | None:
        """Seconds."""
        return 60.0

    @_unless
    def requires_approval(self) -> bool | Callable[[Mapping[str, Any]], bool] | None:
        """True: every call is asked about; False: none is; by default its tags decide."""
        return None

    @_unless
    def approval_reason(self) -> str:
        return ""

    @_unless
    def examples(self) -> tuple[Mapping[str, Any], ...]:
        return ()

    @_unless
    def version(self) -> str:
        return ""

    @_unless
    def idempotent(self) -> bool:
        return False

    @_unless
    def blocking(self) -> bool:
        """Whether `execute` is not `async` and takes long: an event loop has it run in a thread."""
        return False

    def execute(self, arguments: dict[str, Any]) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no `execute`")

    async def call(self, tool_call: ToolCall) -> ToolResult:
        """Check the arguments and run it, for a test: no rules, nobody asked, nothing recorded.

        Never raises; the result has the id of the call.
        """
        return await called(self.as_tool(), tool_call)

    def as_tool(self) -> Tool:
        """What a registry keeps of it."""
        return Tool(
            name=self.name,
            description=self.description,
            input_schema=dict(self.parameters),
            output_schema=self.output_schema,
            tags=as_tags(self.tags),
            permissions=permissions_of(self.permissions),
            timeout=self.timeout,
            requires_approval=self.requires_approval,
            approval_reason=self.approval_reason,
            examples=tuple(self.examples),
            version=self.version,
            idempotent=self.idempotent,
            execute=self.execute,  # type: ignore[arg-type]  # a dict is what it is given
            blocking=self.blocking,
        )
