"""`tongs tool test`: run the examples of tools and compare what they give."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

import os
from collections.abc import Iterator

from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.approval import ApprovalRequest, ApprovalResponse
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.result import ToolResult
from tongs.core.scope import Scope
from tongs.core.tool import Tool
from tongs.output import visible
from tongs.surfaces.cli import failure
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser, UsageError
from tongs.surfaces.cli.tool_run import call_options, end_as_if_interrupted, timeout_of

if TYPE_CHECKING:
    from tongs.runtime.testing import Tried, Trying


def options(parser: Parser) -> None:
    parser.add_argument("what", nargs="*", default=[], metavar="NAME|PATH")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--secret", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--fake-secrets", action="store_true")
    call_options(parser)


def run(invocation: Invocation) -> int:
    from tongs.runtime.testing import Trying, secrets

    options = invocation.options
    if options.json and options.record:
        raise UsageError("tool test: --json and --record exclude each other")
    given = dict(_secret(text) for text in options.secret)
    if given or options.fake_secrets:
        invocation.secrets = secrets(given, fake=options.fake_secrets)
    trying = Trying(
        invocation.runtime,
        agreed=options.yes,
        approver=_ask,
        timeout=timeout_of(options.timeout),
        observe=lambda tried: _show(invocation, tried),
    )
    end_as_if_interrupted()
    tried, without = _all(invocation, trying)
    if any(map(_cancelled, tried)):
        return failure.CANCELLED
    if options.record:
        _show_recorded(invocation, tried)
        return failure.OK if all(one.result.ok for one in tried) else failure.FAILED
    ok = bool(tried) and all(one.ok for one in tried)
    if options.json:
        invocation.console.data(failure.result_json(_wire(tried, without, ok=ok)))
    else:
        _show_summary(invocation, tried, without)
    # Where nothing was named, there may be nothing to test.
    return failure.OK if ok or (not tried and not options.what) else failure.FAILED


def _all(invocation: Invocation, trying: Trying) -> tuple[list[Tried], list[str]]:
    """Every example, and the tools that have none."""
    tried: list[Tried] = []
    without: list[str] = []
    for tool in _tools(invocation, trying, tried):
        # An untrusted executable was not even asked for its examples.
        told = tool.examples or tool.origin.format in ("exec", "python")
        refused = told and not tool.trust.holds
        done = [trying.refused(tool)] if refused else list(trying.examples(tool))
        tried += done
        if not done:
            without.append(tool.name)
        if any(map(_cancelled, done)):
            break  # whoever interrupts one call wants no other
    return tried, without


def _tools(invocation: Invocation, trying: Trying, tried: list[Tried]) -> Iterator[Tool]:
    """The tools that were named, or all of the scope; what cannot be loaded has failed."""
    from tongs.runtime.testing import Tried

    runtime = invocation.runtime
    what = invocation.options.what
    if what:
        for word in what:
            yield _trusted(invocation, _named(invocation, word))
        return
    for entry in runtime.entries(invocation.scope):
        if entry.served or (entry.shadowed and invocation.scope is Scope.ANY):
            continue
        try:
            yield _trusted(invocation, runtime.at(entry.path))
        except ToolError as error:
            failed = Tried(entry.name, entry.path, 0, {}, ToolResult(error=error))
            trying.observe(failed)
            tried.append(failed)


def _named(invocation: Invocation, word: str) -> Tool:
    if os.path.sep in word or os.path.isfile(word):
        if not os.path.exists(word):
            raise ToolError(ErrorCode.TOOL_NOT_FOUND, f"there is no file or folder `{word}`")
        return invocation.runtime.at(word)
    return invocation.runtime.find(word, invocation.scope)


def _trusted(invocation: Invocation, tool: Tool) -> Tool:
    """On a terminal the person may accept it now; else the call is refused."""
    terminal = None if tool.trust.holds else invocation.terminal()
    if terminal is None:
        return tool
    from tongs.surfaces.cli.trust import ask_to_trust

    ask_to_trust(invocation.runtime, terminal, tool)
    # Only a trusted executable says which examples it has.
    return invocation.runtime.at(tool.origin.path)


def _cancelled(tried: Tried) -> bool:
    error = tried.result.error
    return error is not None and error.code is ErrorCode.CANCELLED


async def _ask(request: ApprovalRequest) -> ApprovalResponse | None:
    from tongs.approvers.terminal import TerminalApprover

    return await TerminalApprover()(request)


def _secret(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise UsageError(f"tool test: --secret {text}: expected NAME=VALUE", "--secret TOKEN=test")
    return name, value


def _show(invocation: Invocation, tried: Tried) -> None:
    """One line for an example, as soon as it has ended, and what is wrong with it below."""
    console = invocation.console
    if invocation.options.json:
        return
    mark = console.paint("ok  ", "green") if tried.ok else console.paint("FAIL", "red")
    title = f": {tried.title}" if tried.number else ""
    took = tried.result.metadata.get("durationMs")
    time = "" if took is None else f" ({took:.0f} ms)"
    lines = [f"{mark}  {_line(tried.tool + title)}{time}", *_reasons(tried)]
    for line in lines:
        if invocation.options.record:
            console.say(line)
        else:
            console.styled(f"{line}\n")
    if not invocation.options.record:
        console.flush()


def _reasons(tried: Tried) -> Iterator[str]:
    error = tried.result.error
    if error is not None:
        yield f"      {_line(f'{error.code}: {error.message}')}"
        hint = error.hint
        if error.code is ErrorCode.SECRET_MISSING:
            hint = f"{hint}, or test with --fake-secrets or --secret NAME=VALUE"
        if hint:
            yield f"      hint: {_line(hint)}"
    for difference in tried.differences:
        yield f"      {_line(difference)}"
    if not tried.ok:
        yield from (f"      warning: {_line(text)}" for text in tried.result.warnings)


def _line(text: str) -> str:
    """On one line, so that no output can fake a line of the report."""
    return visible(" ".join(text.splitlines()))


def _show_summary(invocation: Invocation, tried: list[Tried], without: list[str]) -> None:
    console = invocation.console
    for name in without if invocation.options.what else ():
        console.say(f"{name} has no examples")
        console.hint("tongs help tool test shows how they are written")
    if not tried:
        if not without:
            console.say("no tools found")
        elif not invocation.options.what:
            console.say("no tool has examples")
        return
    failed = sum(not one.ok for one in tried)
    tools = len({one.path for one in tried})
    text = f"{_counted(len(tried), 'example')} of {_counted(tools, 'tool')}: "
    text += f"{failed} failed, {len(tried) - failed} ok" if failed else "all ok"
    console.styled(f"\n{console.paint(text, 'red' if failed else 'green')}\n")
    if without and not invocation.options.what:
        console.styled(f"{_counted(len(without), 'tool')} without examples: {', '.join(without)}\n")


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _wire(tried: list[Tried], without: list[str], *, ok: bool) -> dict[str, Any]:
    failed = sum(not one.ok for one in tried)
    return {
        "ok": ok,
        "counts": {"ok": len(tried) - failed, "failed": failed},
        "examples": [one.to_wire() for one in tried],
        "withoutExamples": without,
    }


def _show_recorded(invocation: Invocation, tried: list[Tried]) -> None:
    """The `examples` block of each tool, to be pasted: nothing is written."""
    from tongs.authoring.yaml_text import yaml_text
    from tongs.runtime.shapes import ENDINGS

    blocks: dict[str, list[dict[str, Any]]] = {}
    for one in tried:
        if one.number:
            blocks.setdefault(one.path, []).append(one.recorded())
    for path, examples in blocks.items():
        invocation.console.data(f"# {path}\n")
        block = {"examples": examples}
        # An executable prints its own in JSON.
        as_yaml = path.endswith(ENDINGS)
        invocation.console.data(yaml_text(block) if as_yaml else failure.result_json(block))
