"""The second reader: what the bash grammar takes for a command.

Two readers that were written apart rarely make the same mistake. The grammar is known to misread
some texts without saying so (SEMANTICS 32), and to stumble over correct ones; so its errors count
for nothing, but a program that it sees and the first reader does not makes the text doubtful.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tongs.core.annotations import Any
from tongs.policy.shell.reader import read
from tongs.policy.shell.tree import (
    Arithmetic,
    Compound,
    Evaluation,
    Function,
    Loop,
    Parameter,
    Pipeline,
    Redirection,
    Script,
    Simple,
    Substitution,
    Text,
    Word,
)

_parsers: list[Any] = []
# Reserved words, which are no programs, though the grammar takes them for one here and there.
_OTHERS = frozenset(
    {"time", "coproc", "[[", "((", "!", "function", "select", "done", "}", "fi", "esac"}
)
_JOINED = re.compile(r"\\\n")


def disagreement(text: str) -> str:
    """Why the two readers do not agree on what this text starts; empty if they do."""
    ours = {_JOINED.sub("", raw) for raw in _spelled(read(text))} | _OTHERS
    for name in _names(text):
        if _JOINED.sub("", name) not in ours and not any(name in one for one in ours):
            return f"not understood: two readers disagree about `{name[:40]}`"
    return ""


def _names(text: str) -> Iterator[str]:
    if not _parsers:
        import tree_sitter  # noqa: PLC0415 - heavy
        import tree_sitter_bash  # noqa: PLC0415 - heavy

        _parsers.append(tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language())))
    data = text.encode("utf-8", "surrogatepass")
    todo = [_parsers[0].parse(data).root_node]
    while todo:
        node = todo.pop()
        if node.type == "command_name":
            yield node.text.decode("utf-8", "surrogatepass")
        if node.type != "ERROR":
            todo += node.children


def _spelled(script: Script) -> Iterator[str]:
    """The first word of every simple command, as it is spelled, at any depth."""
    todo: list[Any] = [item.command for item in script.items]
    while todo:
        part = todo.pop()
        if isinstance(part, Simple):
            if part.words:
                yield part.words[0].raw
            todo += [*part.assignments, *part.declared, *part.words, *part.redirections]
        elif isinstance(part, Script):
            todo += [item.command for item in part.items]
        else:
            todo += _inside(part)


def _inside(part: Any) -> list[Any]:
    if isinstance(part, Word):
        return list(part.pieces)
    if isinstance(part, Text):
        return []
    if isinstance(part, Pipeline):
        return list(part.parts)
    if isinstance(part, Compound):
        return [*part.scripts, *part.words, *part.redirections]
    if isinstance(part, Loop):
        return [part.body, *(part.words or ()), *part.redirections]
    if isinstance(part, Function | Substitution):
        return [part.body]
    if isinstance(part, Evaluation):
        return [*part.words, *part.redirections]
    if isinstance(part, Redirection):
        return [part.target, *([part.body] if part.body else [])]
    if isinstance(part, Parameter | Arithmetic):
        return list(part.inside)
    return [part.value, *(part.items or ()), *part.subscript]
