"""`tongs review`: read what agents have created, and approve it."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

from tongs.core.annotations import TYPE_CHECKING
from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.core.permissions import Permissions
from tongs.core.tool import Tool
from tongs.surfaces.cli import failure
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser, UsageError
from tongs.surfaces.cli.table import one_line, table

if TYPE_CHECKING:
    from tongs.approvers.terminal import Terminal
    from tongs.runtime import Runtime
    from tongs.runtime.reviewing import Review


def options(parser: Parser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME")
    parser.add_argument("--yes", action="store_true")
    parser.add_argument("--json", action="store_true")


def run(invocation: Invocation) -> int:
    from tongs.runtime.reviewing import approve, review_of

    options, runtime = invocation.options, invocation.runtime
    if options.name is None:
        return _list(invocation)
    review = review_of(runtime, options.name)
    if options.json:
        invocation.console.data(failure.result_json(review.to_wire()))
        invocation.console.flush()
    elif not review.waits:
        invocation.console.say(
            f"{review.tool.name} was approved as it is: {review.tool.origin.path}"
        )
    if not review.waits:
        return failure.OK
    if options.yes:
        approve(runtime, review)
        invocation.console.say(f"approved {review.tool.name}: it asks before every call")
        return failure.OK
    if options.json:
        return failure.OK  # to be read by a program, which cannot approve anything
    return failure.OK if _ask(invocation, review) else failure.DENIED


def ask_to_approve(runtime: Runtime, terminal: Terminal, tool: Tool) -> bool:
    """Show everything there is to read, and approve it if the person agrees."""
    from tongs.runtime.reviewing import approve, of_tool

    review = of_tool(runtime, tool)
    terminal.show(description(review))
    if review.beyond or not terminal.agrees(f"approve {tool.name}?"):
        return False
    approve(runtime, review)
    return True


def description(review: Review) -> str:
    """What the person has to know: by whom, what it may do, what lint says, the text itself."""
    from tongs.runtime.reviewing import in_words
    from tongs.surfaces.cli.trust import difference

    tool = review.tool
    lines = [f"{tool.name} was created by {tool.creator} ({review.when}): {tool.origin.path}"]
    lines += [f"  it may {words}" for words in in_words(tool.permissions or Permissions())]
    lines.append("  every call asks, whatever its definition says")
    lines += [f"  BEYOND THE CEILING, cannot run: {line}" for line in review.beyond]
    lines += [f"  lint: {finding.severity.value}: {finding}" for finding in review.findings]
    # No text of the agent's can look like one of the lines above.
    lines = [" ".join(line.splitlines()) for line in lines]
    if review.before is None:
        lines += ["", *_indented(review.text)]
    else:
        lines += ["", "it changed since you approved it:"]
        lines += _indented(difference(review.before, review.text))
    return "\n".join(lines)


def _ask(invocation: Invocation, review: Review) -> bool:
    terminal = invocation.terminal()
    tool = review.tool
    if terminal is None:
        invocation.console.data(f"{description(review)}\n")
        invocation.console.flush()
        raise ToolError(
            ErrorCode.UNTRUSTED,
            f"{tool.name} was not approved: there is no terminal to ask on",
            blocked_by=BlockedBy.TRUST,
            hint=f"read it, then: tongs review {tool.name} --yes",
        )
    if ask_to_approve(invocation.runtime, terminal, tool):
        invocation.console.say(f"approved {tool.name}: it asks before every call")
        return True
    invocation.console.say(f"{tool.name} still waits for review")
    invocation.console.hint(f"tongs tool remove {tool.name}")
    return False


def _list(invocation: Invocation) -> int:
    from tongs.runtime.reviewing import review_of, waiting

    options, runtime = invocation.options, invocation.runtime
    if options.yes:
        raise UsageError("review: --yes needs the NAME of one tool", "tongs review lists them")
    entries = waiting(runtime)
    if options.json:
        wires = [review_of(runtime, entry.qualified_name).to_wire() for entry in entries]
        invocation.console.data(failure.result_json(wires))
        return failure.OK
    if not entries:
        invocation.console.say("nothing waits for review")
        return failure.OK
    rows = []
    for entry in entries:
        creation = runtime.definitions.trust.creation(entry.path)
        who, when = ("", "") if creation is None else (creation.creator, creation.when)
        rows.append((entry.name, who, when, one_line(entry.description)))
    header = ("NAME", "CREATED BY", "WHEN", "DESCRIPTION")
    for line in table(header, rows, invocation.console.width()):
        invocation.console.data(f"{line}\n")
    invocation.console.flush()
    invocation.console.hint(f"tongs review {entries[0].name}")
    return failure.OK


def _indented(text: str) -> list[str]:
    return [f"  {line}" if line else "" for line in text.splitlines()]
