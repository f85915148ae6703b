"""Follow a script from its first command to its last, and tell every program it starts."""

from __future__ import annotations

import os.path
import re
from collections.abc import Callable, Iterable, Sequence

from tongs.policy.shell.builtins import (
    DECLARATIONS,
    EVALUATING,
    EXPANDED,
    NAMES,
    NUMERIC,
    RENAMING,
    SETTING,
    SUBSTITUTED,
    counts,
    gives_up,
    name_of,
)
from tongs.policy.shell.printing import formatted, printed_by
from tongs.policy.shell.programs import started_by
from tongs.policy.shell.reader import ScriptReader, read
from tongs.policy.shell.started import Started
from tongs.policy.shell.state import SET, UNKNOWN, Findings, Invocation, State
from tongs.policy.shell.tree import (
    Assignment,
    Command,
    Compound,
    Doubt,
    Evaluation,
    Function,
    Item,
    Loop,
    Pipeline,
    Redirection,
    Script,
    Simple,
    Substitution,
    Word,
)
from tongs.policy.shell.values import Expander, bounded

_DEEPEST = 24


class Walker:
    """One reading. `through` are the programs that started the shell that runs this script."""

    def __init__(
        self, findings: Findings, state: State, through: tuple[str, ...] = (), depth: int = 0
    ) -> None:
        if depth > _DEEPEST:
            raise Doubt("it is nested too deeply")
        self.findings = findings
        self.state = state
        self.through = through
        self.depth = depth
        # The functions it is in.
        self.calling: tuple[Command, ...] = ()
        # Beside itself: in a pipeline or in the background.
        self.beside = False
        # Variables that hold what a command has printed.
        self.printed: set[str] = set()
        self.values = Expander(state, self._output, self._evaluate)

    def text(self, source: str) -> str | None:
        """Follow a text that a shell would run; what it prints, if that is known."""
        if self.depth:
            # To read a text costs more than to hold it.
            self.findings.grow([source] * 16)
        script = read(source, self.depth)
        printed = self.script(script, "")
        if script.doubt:
            self.findings.doubt(f"not understood: {script.doubt}")
        return printed

    def script(self, script: Script, stdin: str | None) -> str | None:
        """Follow the commands; what they print, if that is known."""
        printed: list[str | None] = []
        group: list[Item] = []
        for number, item in enumerate(script.items):
            group.append(item)
            following = script.items[number + 1 : number + 2]
            if not following or following[0].after == ";":
                printed.append(self._group(group, stdin))
                group = []
        return None if None in printed else "".join(part or "" for part in printed)

    def _group(self, group: list[Item], stdin: str | None) -> str | None:
        """Commands joined by `&&` and `||`: each may be the last that runs."""
        state = self.state
        before = state.copy()
        states: list[State] = []
        printed: list[str | None] = []
        for item in group:
            if item.background:
                printed.append(self._apart(item.command, stdin, beside=True))
            else:
                printed.append(self.command(item.command, stdin))
            states.append(state.copy())
        leaves = len(group) > 1 and group[1].after == "||" and gives_up(group[1].command)
        changes_folder = len(group) == 1 and name_of(group[0].command) in ("cd", "pushd", "popd")
        if (len(group) > 1 and not leaves) or (changes_folder and not state.stops_at_failure):
            state.become([before, *states])
        elif leaves:
            state.become(states[:1])
        return printed[0] if len(group) == 1 else None

    def command(self, command: Command, stdin: str | None) -> str | None:
        self.findings.step()
        if isinstance(command, Simple):
            return self._simple(command, stdin)
        if isinstance(command, Pipeline):
            return self._pipeline(command, stdin)
        if isinstance(command, Function):
            self.state.functions[command.name] = (command.body,)
            return ""
        reads, writes, given = self._redirected(command.redirections, stdin)
        self._note_files(reads, writes)
        if isinstance(command, Evaluation):
            self._evaluation(command)
            return ""
        if isinstance(command, Loop):
            printed = self._loop(command, given)
        elif command.kind == "(":
            printed = self._subshell(command.scripts[0], given)
        elif command.kind == "{":
            printed = self.script(command.scripts[0], given)
        elif command.kind == "while":
            printed = self._while(command, given)
        else:
            printed = self._branches(command, given)
        return None if writes else printed

    def _apart(self, command: Command, stdin: str | None, *, beside: bool) -> str | None:
        """In a process of its own: what it sets is gone with it."""
        inner = self._another(self.state.copy())
        inner.beside = self.beside or beside
        return inner.command(command, stdin)

    def _another(self, state: State, through: tuple[str, ...] = ()) -> Walker:
        inner = Walker(self.findings, state, (*self.through, *through), self.depth + 1)
        inner.calling, inner.beside = self.calling, self.beside
        inner.printed = self.printed
        return inner

    def _subshell(self, script: Script, stdin: str | None) -> str | None:
        return self._another(self.state.copy()).script(script, stdin)

    def _pipeline(self, pipeline: Pipeline, stdin: str | None) -> str | None:
        given = stdin
        for part in pipeline.parts:
            given = self._apart(part, given, beside=True)
        return given

    def _while(self, loop: Compound, stdin: str | None) -> str | None:
        """What the second round finds is what the first has left."""
        before = self.state.copy()
        for script in loop.scripts:
            self.script(script, stdin)
        if self.state.variables != before.variables or self.state.folders != before.folders:
            self.state.become([before, self.state.copy()])
            for script in loop.scripts:
                self.script(script, stdin)
            self.state.become([before, self.state.copy()])
        return None

    def _branches(self, command: Compound, stdin: str | None) -> str | None:
        for word in command.words:
            self.values.text(word)
        ends: list[State] = [self.state.copy()]
        conditional = command.kind == "if"
        for number, script in enumerate(command.scripts):
            last_of_else = number == len(command.scripts) - 1 and number % 2 == 0
            if conditional and number % 2 == 0 and not last_of_else:
                self.script(script, stdin)
                continue
            inner = self._another(self.state.copy())
            inner.script(script, stdin)
            ends.append(inner.state)
        self.state.become(ends)
        return None

    def _loop(self, loop: Loop, stdin: str | None) -> str | None:
        words: Sequence[str] | None = self.state.positional
        if loop.words is not None:
            words = self._fields(loop.words)
        elif words is not None:
            words = words[1:]
        before = self.state.copy()
        for value in (UNKNOWN,) if words is None else words:
            self.state.variables[loop.name] = None if UNKNOWN in value else value
            self.state.arrays.pop(loop.name, None)
            self.script(loop.body, stdin)
        self.state.become([before, self.state.copy()])
        return None

    def _evaluation(self, command: Evaluation) -> None:
        texts = [self.values.text(word) for word in command.words]
        for number, text in enumerate(texts):
            beside = {*texts[max(number - 1, 0) : number], *texts[number + 1 : number + 2]}
            if command.kind == "((" or beside & NUMERIC or SUBSTITUTED.search(text):
                self._evaluate(text)

    def _evaluate(self, text: str) -> None:
        """Arithmetic, or a name with a subscript: commands inside it run, and in its variables."""
        if SUBSTITUTED.search(text):
            pieces = ScriptReader(text, self.depth + 1).heredoc_pieces()
            self.values.text(Word(pieces))
        if SETTING.search(text):
            self._export(name for name in NAMES.findall(text) if not name.islower())
        # A value can name another variable.
        names = list(dict.fromkeys(NAMES.findall(text)))
        for name in names:
            if self.state.variables.get(name, "") is None and name in self.printed:
                self.findings.doubt(f"${name} is evaluated as arithmetic")
            held = (self.state.variables.get(name), *(self.state.arrays.get(name) or ()))
            for value in filter(None, held):
                names += [each for each in NAMES.findall(value) if each not in names]
                if SUBSTITUTED.search(value):
                    self.values.text(Word(ScriptReader(value, self.depth + 1).heredoc_pieces()))

    def _output(self, substitution: Substitution) -> str | None:
        inner = self._another(self.state.copy())
        printed = inner.script(substitution.body, "")
        if not substitution.direction:
            return printed
        # The file that the shell gives in its place.
        path = f"/dev/fd/{63 - len(self.findings.pipes)}"
        self.findings.pipes[path] = printed if substitution.direction == "<" else None
        return path

    # -- simple commands

    def _fields(self, words: Iterable[Word]) -> list[str]:
        found: list[str] = []
        for word in words:
            fields = self.values.fields(word)
            self.findings.grow(fields)
            found += fields
        return found

    def _simple(self, simple: Simple, stdin: str | None) -> str | None:
        words = self._fields(simple.words)
        reads, writes, given = self._redirected(simple.redirections, stdin)
        for assignment in simple.declared:
            self._assign(assignment)
        if not words:
            for assignment in simple.assignments:
                self._assign(assignment)
            if any(word.raw for word in simple.words):
                self.findings.doubt("the program is not known")
            self._note_files(reads, writes)
            return ""
        outer = self.state
        if simple.assignments:
            # They hold for this command alone.
            self.state = self.values.state = outer.copy()
            for assignment in simple.assignments:
                self._assign(assignment)
        alone = [
            f"{each.name}={self.state.variables.get(each.name)}" for each in simple.assignments
        ]
        environment = (*alone, *outer.environment)
        invocation = Invocation(
            tuple(words), self.state.folders, self.through, given, environment, reads, writes
        )
        inner, self.state = self.state, outer
        self.values.state = outer
        printed = self.start(invocation, inner if simple.assignments else None)
        return None if writes else printed

    def start(self, invocation: Invocation, environment: State | None = None) -> str | None:
        """One program with its words: note it, and follow what it starts in turn."""
        self.findings.step()
        if len(invocation.through) + self.depth > _DEEPEST:
            raise Doubt("it is nested too deeply")
        name = invocation.words[0]
        if UNKNOWN in name or any(mark in name for mark in "\x01\x02\x03"):
            self.findings.doubt(f"the program `{invocation.shown}` is not known")
        self.findings.invocations.append(invocation)
        if name in self.state.functions:
            return self._function(name, invocation)
        if not invocation.through or invocation.through == self.through:
            self._builtin(name, invocation)
        printed: str | None = None
        for started in started_by(invocation, self.findings):
            printed = self._follow(started, invocation, environment)
        return printed_by(invocation) if printed is None else printed

    def _follow(
        self, started: Started, invocation: Invocation, environment: State | None
    ) -> str | None:
        if started.words is not None:
            for one in started.words:
                self.start(one)
            return None
        state = (environment or self.state).copy()
        if not started.same_shell:
            # A shell of its own sees only what was exported, and may see all of it.
            state.functions = {}
            state.positional = started.positional
        if started.folders is not None:
            state.folders = started.folders
        through = (
            () if started.same_shell else (*invocation.through[len(self.through) :], started.by)
        )
        inner = self._another(state, through)
        printed = inner.text(started.text)
        if started.same_shell:
            self.state.become([inner.state])
        return printed

    def _function(self, name: str, invocation: Invocation) -> str | None:
        for body in self.state.functions[name]:
            # By the body: a function may define another one of its own name.
            if any(body is one for one in self.calling):
                if self.beside:
                    self.findings.bombs.append(name)
                continue
            positional, self.state.positional = self.state.positional, invocation.words
            calling, self.calling = self.calling, (*self.calling, body)
            self.command(body, invocation.stdin)
            self.state.positional, self.calling = positional, calling
        return None

    def _builtin(self, name: str, invocation: Invocation) -> None:
        """What a command of the shell itself changes."""
        words = invocation.words[1:]
        change = _CHANGES.get(name)
        if change is not None:
            change(self, words)
        elif name in RENAMING and any(map(RENAMING[name][0].match, words)):
            self.findings.doubt(RENAMING[name][1])
        if name == "printf" and words[:1] == ("-v",) and len(words) > 2:
            self.state.variables[words[1]] = formatted(words[2:])
        elif name not in EVALUATING:
            return
        for word in words:
            if name == "let" or ("[" in word and name != "printf") or SUBSTITUTED.search(word):
                self._evaluate(word)

    def _forget(self, words: Sequence[str]) -> None:
        self.state.folders = (UNKNOWN,)

    def _read(self, words: Sequence[str]) -> None:
        for word in filter(NAMES.fullmatch, words):
            self.state.variables[word] = None
            self.printed.add(word)

    def _unset(self, words: Sequence[str]) -> None:
        for word in words:
            self.state.variables.pop(word, None)
        self._export(words)

    def _export(self, names: Iterable[str]) -> None:
        self.state.exported |= {*filter(NAMES.fullmatch, names)}

    def _set(self, words: Sequence[str]) -> None:
        if any(re.match("-[a-zA-Z]*[ak]|allexport|keyword", word) for word in words):
            self.state.exported |= {"*"}
        for number, word in enumerate(words):
            if word == "--" or not word.startswith(("-", "+")):
                rest = words[number + (word == "--") :]
                self.state.positional = ("", *rest)
                return
            if word.startswith("-") and "e" in word and not word.startswith("--"):
                self.state.stops_at_failure = True

    def _change_folder(self, words: Sequence[str]) -> None:
        operands = [word for word in words if not (word.startswith("-") and len(word) > 1)]
        target = operands[0] if operands else self.state.home
        if target == "-" or any(mark in target for mark in "\0\x01\x02\x03"):
            self.state.folders = (UNKNOWN,)
            return
        self.state.folders = tuple(
            dict.fromkeys(
                UNKNOWN
                if folder == UNKNOWN and not os.path.isabs(target)
                else os.path.normpath(os.path.join(folder.replace(UNKNOWN, "/"), target))
                for folder in self.state.folders
            )
        )

    def _declare(self, words: Sequence[str]) -> None:
        if any(word.startswith(("-", "+")) and "x" in word for word in words):
            self._export(word.partition("=")[0].removesuffix("+") for word in words)
        references = any(word.startswith("-") and "n" in word for word in words)
        integers = any(word.startswith("-") and "i" in word for word in words)
        for word in words:
            name, equals, value = word.partition("=")
            name = name.removesuffix("+")
            if integers and NAMES.fullmatch(name):
                self.findings.integers.add(name)
            if equals and name in self.findings.integers:
                self._integer(name, value)
            if references and equals:
                self.findings.doubt(f"declare -n {name} is another name of a variable")
            if equals and NAMES.fullmatch(name):
                self._set_variable(name, value)

    def _set_variable(self, name: str, value: str) -> None:
        self.state.arrays.pop(name, None)
        self.state.variables[name] = None if UNKNOWN in value else value
        if name in EXPANDED:
            if UNKNOWN in value:
                self.findings.doubt(f"bash expands ${name}, which is not known")
            elif name in ("BASH_ENV", "ENV"):
                self.findings.doubt(f"{name} names a file that the next shell runs")
            else:
                self._evaluate(value)
                if name == "PROMPT_COMMAND":
                    self._another(self.state.copy(), (name,)).text(value)
        if name == "IFS":
            self.findings.doubt("IFS is changed")

    def _assign(self, assignment: Assignment) -> None:
        if assignment.subscript:
            self.values.evaluate(assignment.subscript)
        if assignment.items is not None:
            items = self._fields(assignment.items)
            for item in items:
                if item.startswith(("[", SET)) or assignment.name in self.findings.integers:
                    self._evaluate(item)
            before = self.state.arrays.get(assignment.name, ()) if assignment.appends else ()
            self.state.variables.pop(assignment.name, None)
            known = None if before is None else (*before, *items)
            self.state.arrays[assignment.name] = known
            return
        value = self.values.text(assignment.value, assigned=True)
        if assignment.name in self.findings.integers:
            self._integer(assignment.name, value, assignment.value)
        if assignment.subscript:
            self.state.arrays[assignment.name] = None
            return
        if assignment.appends:
            before_text = self.state.variables.get(assignment.name, "")
            value = UNKNOWN if before_text is None else bounded(before_text + value)
        self._set_variable(assignment.name, value)
        if UNKNOWN in value and not counts(assignment.value):
            self.printed.add(assignment.name)

    def _integer(self, name: str, value: str, word: Word | None = None) -> None:
        """A variable of `declare -i`: whatever it is set to is arithmetic."""
        self._evaluate(value)
        if UNKNOWN in value and not (word and counts(word)):
            self.findings.doubt(f"{name} is an integer, and what it is set to is not known")

    # -- redirections

    def _redirected(
        self, redirections: Sequence[Redirection], stdin: str | None
    ) -> tuple[tuple[str, ...], tuple[str, ...], str | None]:
        """Files read, files written, and what arrives on standard input."""
        reads: list[str] = []
        writes: list[str] = []
        for each in redirections:
            if each.body is not None:
                text = self.values.text(each.body)
                stdin = None if UNKNOWN in text else text
                continue
            if each.operator.startswith("<<"):
                raise Doubt("a heredoc has no body")
            target = self.values.text(each.target)
            if each.operator in ("<&", ">&") and (
                target.isdigit() or target.rstrip("-").isdigit() or target == "-"
            ):
                continue
            if each.operator in ("<", "<>", "<&"):
                reads.append(target)
                if target in self.findings.pipes:
                    stdin = self.findings.pipes[target]
                elif target in ("/dev/stdin", "/dev/fd/0"):
                    continue
                else:
                    stdin = ""
            if each.operator not in ("<", "<&"):
                writes.append(target)
        return tuple(reads), tuple(writes), stdin

    def _note_files(self, reads: tuple[str, ...], writes: tuple[str, ...]) -> None:
        if reads or writes:
            noted = Invocation((":",), self.state.folders, self.through, "", (), reads, writes)
            self.findings.invocations.append(noted)


# Commands that change what the shell itself is like.
_CHANGES: dict[str, Callable[[Walker, Sequence[str]], None]] = {
    **dict.fromkeys(("cd", "pushd"), Walker._change_folder),  # noqa: SLF001 - its own
    "popd": Walker._forget,  # noqa: SLF001 - as above
    "set": Walker._set,  # noqa: SLF001 - as above
    **dict.fromkeys(DECLARATIONS, Walker._declare),  # noqa: SLF001 - as above
    "export": lambda walker, words: walker._declare(("-x", *words)),  # noqa: SLF001 - as above
    **dict.fromkeys(("read", "mapfile", "readarray", "getopts"), Walker._read),  # noqa: SLF001 - as above
    "unset": Walker._unset,  # noqa: SLF001 - as above
}
