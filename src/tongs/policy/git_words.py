"""What in the words of `git` runs another program, writes elsewhere, or leads to another folder."""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator, Sequence

from tongs.policy.shell.dividing import Given, divide
from tongs.template.shell_interpreters import Options

_GLOBAL = Options(
    "Cc",
    "",
    dict.fromkeys("--git-dir --work-tree --namespace --config-env --super-prefix".split(), 1),
)
# Before the subcommand these change only how it prints.
_HARMLESS_GLOBALS = frozenset(
    "-P -p --no-pager --version --help -h -v --no-optional-locks --literal-pathspecs".split()
)
# Subcommands that run nothing but git itself, its hooks and the editor of the person.
_PLAIN = frozenset(
    "add am annotate apply blame branch cat-file check-ignore checkout cherry cherry-pick clean"
    " clone commit count-objects describe diff diff-files diff-index diff-tree fetch for-each-ref"
    " fsck gc grep help init log ls-files ls-remote ls-tree merge merge-base mv name-rev notes pull"
    " push range-diff rebase reflog remote reset restore rev-list rev-parse revert rm shortlog show"
    " show-ref sparse-checkout stash status switch symbolic-ref tag version whatchanged".split()
)
# Options of any subcommand that run a command, or name a file that is written or obeyed.
_RUNNING = tuple(
    "--config --config-env --exec --exec-path --extcmd --ext-diff --git-dir --open-files-in-pager"
    " --output --output-directory --receive-pack --separate-git-dir --super-prefix --template"
    " --unsafe-paths --upload-pack --work-tree --directory --file --prompt --gui --tool"
    " --sendmail-cmd --to-cmd --cc-cmd --smtp-server --command".split()
)
_RUNNING_LETTERS = {
    "rebase": "x", "grep": "O", "clone": "uc", "archive": "o", "format-patch": "o", "difftool": "x",
    "config": "f",
}  # fmt: skip
_TRANSPORT = re.compile(r"[\w+.-]+::")
# Settings whose value is a command.
_COMMAND_SETTING = re.compile(
    r"(?:.*\.)?\w*(?:pager|editor|sshcommand|fsmonitor|external|textconv|cmd|command|helper|program"
    r"|clean|smudge|process|driver|askpass|gitproxy|hookspath|uploadpack|receivepack|trustexitcode)",
    re.IGNORECASE,
)


def divided(words: Sequence[str]) -> Given:
    """Its own options, and from the subcommand on the operands."""
    return divide(words, _GLOBAL)


def is_plain(words: Sequence[str], allowed: int) -> bool:
    """Whether an allowance of the first so many words covers the rest of them."""
    rest = words[allowed:]
    given = divided(words)
    subcommand = given.operands[0] if given.operands else ""
    named = len(words) - len(given.operands) < allowed
    if not named:
        if any(option not in _HARMLESS_GLOBALS for option, _ in divided(rest).options):
            return False
        if subcommand and subcommand not in _PLAIN:
            return False
    letters = _RUNNING_LETTERS.get(subcommand, "")
    return not any(_TRANSPORT.match(word) or _runs(word, letters) for word in rest)


def _runs(word: str, letters: str) -> bool:
    if word.startswith("--"):
        # It may be cut short.
        name = word.partition("=")[0]
        return len(name) > 2 and any(option.startswith(name) for option in _RUNNING)
    return word.startswith("-") and any(letter in word for letter in letters)


def folder(words: Sequence[str]) -> str:
    """Where it works, from where it is started."""
    given = divided(words)
    moves = [values[0] for option, values in given.options if option == "-C" and values]
    tree = given.value("--work-tree")
    return os.path.join(".", *moves, *([] if tree is None else [tree]))


def commands(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Every text in its words that a shell will read, and what hands it over."""
    operands = divided(words).operands
    subcommand = operands[0] if operands else ""
    yield from _of_settings(words)
    if operands[:2] == ["submodule", "foreach"]:
        yield " ".join(divide(operands[2:], Options()).operands), "git submodule foreach"
    if subcommand == "config":
        yield from ((word[1:], "git config") for word in operands[2:] if word.startswith("!"))
    if subcommand in _TEXTS:
        for option, values in divide(operands[1:], _TEXTS[subcommand]).options:
            if values and _takes_text(option, _TEXTS[subcommand]):
                yield values[0], f"git {subcommand}"
    for word in operands:
        if word.startswith("ext::"):
            yield word[5:], "git ext::"


def _of_settings(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    given = divided(words)
    settings = [values[0] for option, values in given.options if option == "-c" and values]
    if given.operands[:1] == ["clone"]:
        cloned = divide(given.operands[1:], _CLONE).options
        settings += [values[0] for _, values in cloned if values]
    for setting in settings:
        name, _, value = setting.partition("=")
        if value.startswith("!"):
            yield value[1:], "git alias"
        elif _COMMAND_SETTING.fullmatch(name):
            yield value, "git -c"


def _takes_text(option: str, options: Options) -> bool:
    return option[1:] in options.valued + options.glued or any(
        len(option) > 3 and name.startswith(option) for name in options.long_valued
    )


_CLONE = Options("c", "", {"--config": 1}, permuted=1000)
_FILTERS = "--tree-filter --index-filter --msg-filter --env-filter --commit-filter --setup"
_TEXTS = {
    "rebase": Options("x", "", {"--exec": 1}, permuted=1000),
    "grep": Options("", "O", {"--open-files-in-pager": 0}, permuted=1000),
    "difftool": Options("x", "", {"--extcmd": 1}, permuted=1000),
    "filter-branch": Options("", "", dict.fromkeys(_FILTERS.split(), 1), permuted=1000),
    **dict.fromkeys(
        ("clone", "fetch", "pull", "ls-remote", "fetch-pack"),
        Options("", "", {"--upload-pack": 1}, permuted=1000),
    ),
    "push": Options("", "", {"--receive-pack": 1, "--exec": 1}, permuted=1000),
}
