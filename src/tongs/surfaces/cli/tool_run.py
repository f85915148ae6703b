"""`tongs tool run`: one call, typed by a person."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

import os
import sys

from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.approval import ApprovalRequest, ApprovalResponse, Approver, Question
from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.errors import ToolError
from tongs.core.result import ToolResult
from tongs.core.tool import Tool
from tongs.surfaces.cli import failure
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.live import Live
from tongs.surfaces.cli.parser import Parser, UsageError, add_scope_options

if TYPE_CHECKING:
    import signal as _signal

    from tongs.core.servers import ServerSpec
else:
    import _signal  # the public module builds enums for every signal


def options(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("texts", nargs="*", default=[], metavar="PARAMETER=VALUE")
    parser.add_argument("--param", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--input-json", metavar="JSON")
    parser.add_argument("--stdin", action="store_true")
    parser.add_argument("--show-command", action="store_true")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--no-stream", action="store_true")
    parser.add_argument("--wait", metavar="DURATION")
    call_options(parser)


def call_options(parser: Parser) -> None:
    """What every command takes that calls tools."""
    parser.add_argument("--timeout", metavar="MILLISECONDS")
    parser.add_argument("--yes", action="store_true")
    parser.add_argument("--json", action="store_true")
    add_scope_options(parser, default="any")


def run(invocation: Invocation) -> int:
    options = invocation.options
    if options.show_command and options.dry_run:
        raise UsageError("tool run: --show-command and --dry-run exclude each other")
    if options.stdin and options.input_json == "-":
        raise UsageError("tool run: --stdin and --input-json - cannot both read standard input")
    timeout = timeout_of(options.timeout)
    wait = wait_of(options.wait)
    live = None
    try:
        tool = _trusted(invocation, _found(invocation))
        known = None if tool is None or not _is_known(tool) else tool
        call = _request(invocation, {} if known is None else _arguments(invocation, known))
        if tool is None or options.show_command or options.dry_run:
            result = _without_running(invocation, call)
        else:
            live = Live(
                invocation.console,
                stream=not options.json and not options.no_stream,
                every_step=options.verbose > 0 and not options.json,
            )
            approver = _approver(invocation, live, wait)
            result = _run(invocation, tool, call, live, timeout, approver)
    except ToolError as error:
        result = ToolResult(error=error)
    _show(invocation, result, live)
    return failure.exit_code(result.error)


def timeout_of(text: str | None) -> float | None:
    if text is None:
        return None
    from tongs.authoring.definition import milliseconds

    return milliseconds(text) / 1000


def wait_of(text: str | None) -> float | None:
    """Seconds; None where nothing is said."""
    if text is None:
        return None
    from tongs.schema.units import duration

    try:
        return duration(int(text) if text.isdigit() else text)
    except ValueError as error:
        raise UsageError(f"tool run --wait: {error}", "tongs tool run NAME --wait 10m") from None


def _arguments(invocation: Invocation, tool: Tool) -> dict[str, Any]:
    options = invocation.options
    texts = [*options.param, *options.texts]
    if not texts and options.input_json is None:
        return {}
    from tongs.surfaces.cli.arguments import arguments_for

    return arguments_for(tool, texts, options.input_json)


def _found(invocation: Invocation) -> Tool | None:
    """The tool whose schema the text needs; None where the pipeline will say what is wrong."""
    name, runtime = invocation.options.name, invocation.runtime
    try:
        tool = runtime.find(name, invocation.scope)
        if tool.executor == "mcp" and not tool.origin.digest and tool.trust.holds:
            _connect(invocation, tool.plan.server)
            tool = runtime.find(name, invocation.scope)
        return tool
    except ToolError:
        return None


def _connect(invocation: Invocation, spec: ServerSpec) -> None:
    """What a server offers is known from its first connection on, which also pins it."""
    from tongs.runtime.server_desk import ServerDesk

    if invocation.options.show_command or invocation.options.dry_run:
        return
    found = ServerDesk(invocation.runtime).inspect(spec.name)
    invocation.console.say(
        f"{spec.name} is connected for the first time: its {len(found.listing.tools)} tools are"
        f" pinned as they are now (tongs mcp inspect {spec.name})"
    )


def _is_known(tool: Tool) -> bool:
    """Whether anybody knows what its arguments mean: a program that is trusted says so."""
    return tool.trust.holds or tool.origin.format not in ("exec", "python")


def _request(invocation: Invocation, arguments: dict[str, Any]) -> ToolCall:
    caller = Caller(CallerKind.PERSON, "user", agreed=invocation.options.yes)
    given = _stdin() if invocation.options.stdin else b""
    return ToolCall(os.urandom(6).hex(), invocation.options.name, arguments, caller, given)


def _stdin() -> bytes:
    """Only on request: a loop that reads its list from stdin must not lose it to a tool."""
    return sys.stdin.buffer.read() if sys.stdin is not None else b""


def _without_running(invocation: Invocation, call: ToolCall) -> ToolResult:
    options, scope = invocation.options, invocation.scope
    if options.show_command or options.dry_run:
        return invocation.runtime.validate(call, scope, preview=options.show_command)
    # There is nothing to run, but the attempt belongs in the audit log.
    return invocation.runtime.run_sync(call, scope=scope)


def _run(
    invocation: Invocation,
    tool: Tool,
    call: ToolCall,
    live: Live,
    timeout: float | None,
    approver: Approver,
) -> ToolResult:
    if invocation.logs("info"):
        invocation.log("info", f"{call.id}: run {tool.qualified_name} ({tool.origin.path})")
    end_as_if_interrupted()
    try:
        result = invocation.runtime.run_sync(
            call, approver=approver, observe=live, scope=invocation.scope, timeout=timeout
        )
    finally:
        live.pause()
    if invocation.logs("info"):
        outcome = "ok" if result.error is None else str(result.error.code)
        took = result.metadata.get("durationMs", 0)
        invocation.log("info", f"{call.id}: {outcome} after {took} ms")
    return result


def end_as_if_interrupted() -> None:
    """Whoever ends us ends the call: the tree dies, the scratch goes, the record is written."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(_signal, name, None)  # Windows has no SIGHUP
        if number is not None and _signal.getsignal(number) == _signal.SIG_DFL:  # not under `nohup`
            _signal.signal(number, _signal.default_int_handler)


def _approver(invocation: Invocation, live: Live, wait: float | None) -> Approver:
    """Built only when somebody has to be asked: most calls never ask."""

    def announce(question: Question) -> None:
        invocation.console.say(
            f"waiting for an approval; from another terminal: tongs approvals approve {question.id}"
        )

    async def ask(request: ApprovalRequest) -> ApprovalResponse | None:
        from tongs.sandbox.waiting import BlockingWaiter

        approver = invocation.runtime.approving.approver(
            BlockingWaiter(), terminal=invocation.terminal, wait=wait, announce=announce
        )
        live.pause()
        try:
            return await approver(request)
        finally:
            live.resume()

    return ask


def _trusted(invocation: Invocation, tool: Tool | None) -> Tool | None:
    """On a terminal, let the person read and accept it now; else the pipeline refuses the call.

    Before anything else: what its arguments mean, an executable says only when it is trusted.
    """
    options = invocation.options
    if tool is None or tool.trust.holds or options.show_command or options.dry_run:
        return tool
    terminal = invocation.terminal()
    if terminal is None:
        return tool
    from tongs.surfaces.cli.trust import ask_to_trust

    return _found(invocation) if ask_to_trust(invocation.runtime, terminal, tool) else tool


def _show(invocation: Invocation, result: ToolResult, live: Live | None) -> None:
    console = invocation.console
    if invocation.options.json:
        console.data(failure.result_json(result.to_wire()))
        return
    if invocation.options.dry_run and result.ok:
        _show_dry_run(invocation, result)
        return
    if result.output and not _was_shown(result, live):
        console.data(result.output)
        # A terminal shows what follows on a line of its own; a file gets exactly the output.
        on_line = console.out_is_terminal or invocation.options.show_command
        if on_line and not result.output.endswith("\n"):
            console.data("\n")
    console.flush()
    for warning in result.warnings:
        console.warn(warning)
    if result.error is not None:
        failure.show(console, result.error, stderr_shown=live is not None and live.streaming)


def _was_shown(result: ToolResult, live: Live | None) -> bool:
    """Whether all of the output was written while it came.

    That of code has both streams in it: where it said nothing on stdout, stderr has all of it.
    """
    if live is None or live.wrote_result:
        return live is not None
    value = result.value if isinstance(result.value, dict) else {}
    return live.streaming and "exitCode" in value and value.get("stdout") == ""


def _show_dry_run(invocation: Invocation, result: ToolResult) -> None:
    console = invocation.console
    console.data(failure.result_json(result.value))
    console.flush()
    decision = result.metadata.get("decision", "")
    reason = result.metadata.get("reason", "")
    console.say(
        f"nothing was run; the decision would be: {decision}" + (f" ({reason})" if reason else "")
    )
