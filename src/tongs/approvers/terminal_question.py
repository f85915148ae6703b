"""What a person has to know before they decide, in words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from tongs.core.annotations import Any
from tongs.core.approval import ELICITATION, ApprovalRequest, FileChange
from tongs.core.permissions import Permissions
from tongs.output import unmistakable, visible

# What is longer is cut in its middle, and `v` shows it all.
_LONGEST_VALUE = 240
_MOST_LINES = 36


def description(
    request: ApprovalRequest, *, whole: bool = False, more: str = "v shows everything"
) -> str:
    """What the person has to know, as in `deploy wants to run (asked by: …, rule: …)`.

    `more` says where they see what is cut.
    """
    named = "rules" if request.also else "rule"
    rule = f", {named}: {', '.join(request.rules)}" if request.rule else ""
    asked_by = f"(asked by: {_asker(request)}{rule})"
    lines = [unmistakable(f"{request.tool} wants to {_deed(request)} {asked_by}")]
    if request.reason:
        lines.append(f"reason: {request.reason}")
    lines += _shown(_preview(request), whole=whole)
    for change in request.changes:
        lines += _shown(_difference(change), whole=whole)
    lines += _arguments(request, whole=whole)
    if request.stdin:
        lines.append(f"standard input: {visible(request.stdin)}")
    counted = f"{_counted(request.changes)}   " if request.changes else ""
    lines.append(counted + permissions_line(request.permissions))
    if request.not_enforced:
        lines.append(f"not enforced here: {', '.join(request.not_enforced)}")
    if not whole and is_cut(request):
        lines.append(f"(cut where it says …; {more})")
    # A reason or a path may hold newlines: none may look like a line, or a question, of ours.
    return "\n".join(" ".join(line.splitlines()) for line in lines)


def is_cut(request: ApprovalRequest) -> bool:
    """Whether a description leaves something out."""
    texts = [_preview(request), *map(_difference, request.changes)]
    long = any(len(lines) > _MOST_LINES or any(map(_is_long, lines)) for lines in texts)
    return (
        long
        or len(request.args) > _MOST_LINES
        or any(
            _is_long(unmistakable(name)) or _is_long(as_json(value))
            for name, value in request.args.items()
        )
    )


def permissions_line(permissions: Permissions) -> str:
    """`network: off   reads: .   writes: none   secrets: none`."""
    network = permissions.network
    if isinstance(network, bool):
        reach = "on" if network else "off"
    else:
        reach = ", ".join(network) or "off"
    secrets = ", ".join(secret.name for secret in permissions.secrets)
    parts = (
        f"network: {reach}",
        f"reads: {', '.join(permissions.read) or 'none'}",
        f"writes: {', '.join(permissions.write) or 'none'}",
        f"secrets: {secrets or 'none'}",
    )
    return unmistakable("   ".join(parts))


def as_json(value: Any, *, indent: int | None = None) -> str:
    """JSON in which letters stay readable and every hidden character is an escape."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=str)
    if text.isascii():
        return text.replace("\x7f", "\\u007f")
    return "".join(
        character
        if character == "\n" or visible(character) == character
        else json.dumps(character)[1:-1]
        for character in text
    )


def _preview(request: ApprovalRequest) -> list[str]:
    return [unmistakable(line) for line in request.preview.splitlines()]


def _asker(request: ApprovalRequest) -> str:
    return " > ".join((*request.caller.chain[:-1], request.caller.name))


def _deed(request: ApprovalRequest) -> str:
    if request.rule == ELICITATION:
        return "ask you something"
    if len(request.changes) != 1:
        return f"write {len(request.changes)} files" if request.changes else "run"
    change = request.changes[0]
    if change.after is None:
        return f"delete {change.path}"
    return f"{'create' if change.before is None else 'overwrite'} {change.path}"


def _arguments(request: ApprovalRequest, *, whole: bool) -> Iterator[str]:
    # A caller may add any number that the tool does not know: none pushes away those that it does.
    declared = request.input_schema.get("properties", {})
    names = sorted(request.args, key=lambda name: name not in declared)
    shown = names if whole else names[:_MOST_LINES]
    called = {name: unmistakable(name) for name in shown}
    size = max((len(name) for name in called.values() if not _is_long(name)), default=0)
    for name in shown:
        raw = "   RAW: inserted as code" if name in request.raw_parameters else ""
        text = as_json(request.args[name])
        label = called[name] if whole else _cut(called[name])
        yield f"  {label:<{size}}  {text if whole else _cut(text)}{raw}"
    if len(shown) < len(names):
        yield f"  … {len(names) - len(shown)} more arguments …"


def _difference(change: FileChange) -> list[str]:
    import difflib  # noqa: PLC0415 - few calls write files

    before, after = (change.before or "").splitlines(), (change.after or "").splitlines()
    lines = difflib.unified_diff(before, after, change.path, change.path, lineterm="", n=3)
    return list(lines)


def _counted(changes: Sequence[FileChange]) -> str:
    lines = [line for change in changes for line in _difference(change)[2:]]
    removed = sum(line.startswith("-") for line in lines)
    return f"- {removed} lines + {sum(line.startswith('+') for line in lines)} lines"


def _shown(lines: Sequence[str], *, whole: bool) -> list[str]:
    if whole:
        return [f"  | {line}" for line in lines]
    kept = [_cut(line) for line in lines]
    if len(kept) > _MOST_LINES:
        head, tail = _MOST_LINES * 2 // 3, _MOST_LINES // 3
        left_out = len(kept) - head - tail
        kept = [*kept[:head], f"… {left_out} more lines …", *kept[-tail:]]
    return [f"  | {line}" for line in kept]


def _is_long(text: str) -> bool:
    return len(text) > _LONGEST_VALUE


def _cut(text: str) -> str:
    if not _is_long(text):
        return text
    head, tail = _LONGEST_VALUE * 2 // 3, _LONGEST_VALUE // 4
    return f"{text[:head]} … {len(text) - head - tail:,} characters … {text[-tail:]}"
