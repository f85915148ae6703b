"""Calls a tool of an MCP server. The server is a process of its own, behind walls of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tongs.core.annotations import Any
from tongs.core.approval import ELICITATION, ApprovalRequest
from tongs.core.digest import digest_of
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Context, Executor, Progressed, World
from tongs.core.record import replace
from tongs.core.result import ToolResult
from tongs.core.servers import ServerAnswer, ServerForm, ServerRequest, ServerSpec, ServerTool
from tongs.core.tool import Tool
from tongs.output import visible

_LONGEST_REASON = 4000
# Forms of one call. Somebody who is asked again and again says yes in the end.
MOST_FORMS = 10
# What a form must not ask for according to the protocol, and asks for nevertheless.
_SECRET_WORDS = (
    *("password", "passwd", "passphrase", "secret", "token", "api key", "api_key", "apikey"),
    *("private key", "private_key", "credential", "credit card", "pin code", "seed phrase"),
)


def create(executors: Mapping[str, Executor]) -> McpExecutor:
    return McpExecutor()


class McpExecutor:
    def walls_of(self, tool: Tool) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
        """Of a server that is an address: the host is fixed and checked, the rest is not ours."""
        plan: ServerTool = tool.plan
        return (("network", "fs.read", "fs.write"), ()) if plan.server.remote else None

    def preview(self, tool: Tool, arguments: Mapping[str, Any], world: World) -> str:
        plan: ServerTool = tool.plan
        given = json.dumps(dict(arguments), ensure_ascii=False, default=str)
        return f"{plan.name} of the MCP server {_told(plan.server)}\n{visible(given)}"

    async def execute(self, arguments: Mapping[str, Any], context: Context) -> ToolResult:
        plan: ServerTool = context.tool.plan
        walls = () if plan.server.remote else context.session.enforced
        request = ServerRequest(plan, arguments, context.deadline, walls)
        try:
            answer = await context.servers.call(request, _Asked(context), context.waiter)
        except ToolError as error:
            if error.code is not ErrorCode.EXECUTION_ERROR:
                raise
            return ToolResult(error=error)
        return _result(answer, plan, context)


class _Asked:
    """The call, as its server sees it."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._forms = 0

    def progress(self, done: float, total: float | None, message: str) -> None:
        self._context.observe(Progressed(done, total, message))

    async def fill_in(self, form: ServerForm) -> Mapping[str, Any] | None:
        self._forms += 1
        if self._forms > MOST_FORMS:
            return None
        request = _question(form, self._context, self._forms)
        try:
            response = await self._context.ask(request)
        except ToolError:
            return None  # nobody could be reached in time
        if response is None or not response.approved:
            return None
        filled = request.args if response.modified_args is None else response.modified_args
        return dict(filled) if _fits(filled, form) else None


def _question(form: ServerForm, context: Context, number: int) -> ApprovalRequest:
    """The form as a question: its fields are the arguments, and to edit them is to fill it in."""
    plan: ServerTool = context.tool.plan
    server = plan.server.name
    fields = form.schema.get("properties")
    fields = fields if isinstance(fields, dict) else {}
    lines = [f"the MCP server {server} asks, not Tongs: {_line(form.message)}"]
    if form.url:
        lines.append(f"it wants you to open {_line(form.url)}")
    for name, field in fields.items():
        about = field.get("description") or field.get("title") if isinstance(field, dict) else ""
        lines.append(f"  {_line(visible(str(name)))}: {_line(visible(str(about or '')))[:500]}")
    if _is_delicate(form, fields):
        lines.append(
            "CAREFUL: this looks like a question for a secret, which a server must not ask for"
        )
    identity = [context.call.id, server, number, form.message, dict(form.schema), form.url]
    return ApprovalRequest(
        step_id=context.call.id,
        tool=context.tool.name,
        args={name: _given(field) for name, field in fields.items()},
        reason=f"the server {server} asks for information; what you allow is sent to it",
        rule=ELICITATION,
        preview="\n".join(lines),
        caller=context.call.caller,
        permissions=context.permissions,
        input_schema=dict(form.schema),
        digest=digest_of(json.dumps(identity, sort_keys=True, default=str).encode()),
        tags=context.tool.tags,
        project=context.tool.origin.project or context.world.place.root,
        # Never to be answered by what was decided once.
        whole=False,
    )


def _line(text: str) -> str:
    """None of a stranger's lines may look like one of ours."""
    return " ".join(text.split())


def _given(field: Any) -> Any:
    """What stands in a field before anybody has filled it in."""
    if not isinstance(field, dict):
        return ""
    if "default" in field:
        default = field["default"]
        return visible(default) if isinstance(default, str) else default
    kinds: Mapping[str, Any] = {"boolean": False, "integer": 0, "number": 0, "array": []}
    return kinds.get(str(field.get("type")), "")


def _is_delicate(form: ServerForm, fields: Mapping[str, Any]) -> bool:
    said = json.dumps([form.message, fields], ensure_ascii=False, default=str).lower()
    return any(word in said for word in _SECRET_WORDS)


def _fits(filled: Mapping[str, Any], form: ServerForm) -> bool:
    from tongs.schema.check import SchemaInvalid, violations  # noqa: PLC0415 - forms only

    if form.url:
        return True
    try:
        return not violations(dict(form.schema), dict(filled))
    except SchemaInvalid:
        return False


def _told(server: ServerSpec) -> str:
    where = server.address or " ".join(server.command)
    return f"{server.name} ({visible(where)})"


def _result(answer: ServerAnswer, plan: ServerTool, context: Context) -> ToolResult:
    from tongs.executors.mcp_content import result_of  # noqa: PLC0415 - calls only

    result = result_of(answer, context)
    server = plan.server.name
    result = replace(result, metadata={"server": server, **result.metadata})
    if not answer.failed:
        return result
    reason = result.output.strip()[:_LONGEST_REASON]
    error = ToolError(
        ErrorCode.EXECUTION_ERROR,
        reason or f"{context.tool.name} failed and gave no reason",
        details={"server": server},
    )
    return replace(result, value=None, error=error, success=False)
