"""Read shell commands: lists, pipelines, compound commands, functions and redirections."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tongs.template.shell_condition import read_condition
from tongs.template.shell_cursor import BLANKS, NAME, SPACE, Command, Cursor, Mark, Quote
from tongs.template.shell_heredoc import Heredoc, read_bodies, read_delimiter
from tongs.template.shell_words import WordScanner

_CLAUSE_ENDS = frozenset({";;&", ";;", ";&"})
_SEPARATOR = re.compile(r";;&|;;|;&|\|\||&&|\|&|[;|]|&(?!>)")
_REDIRECTION = re.compile(r"<<<|<<-|<<|<&|<>|<|>>|>&|>\||>|&>>|&>")
_DESCRIPTOR = re.compile(r"(?:\d+|\{[A-Za-z_]\w*\})(?=[<>])", re.ASCII)
_EMPTY_PARENTHESES = re.compile(r"\([ \t]*\)")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[.*\])?\+?=", re.ASCII | re.DOTALL)
_ESAC = re.compile(r"esac(?![^ \t\n;&|()<>])")
_LOOP_HEAD = re.compile(r"[ \t\n]*(?:;|in(?![^ \t\n;])|do(?![^ \t\n]))")

# A reserved word, the open word it answers, and the word that is then awaited.
_COMPOUNDS: dict[str, tuple[str, str]] = {
    "if": ("", "then"),
    "then": ("then", "fi"),
    "elif": ("fi", "then"),
    "else": ("fi", "fi"),
    "fi": ("fi", ""),
    "while": ("", "do"),
    "until": ("", "do"),
    "for": ("", "do"),
    "select": ("", "do"),
    "do": ("do", "done"),
    "done": ("done", ""),
    "{": ("", "}"),
    "}": ("}", ""),
}
# After these a command starts anew.
_PREFIXES = frozenset({"!", "time", "coproc"})


def scan(text: str, marks: Sequence[Mark], dialect: str) -> Cursor:
    """Read the whole of `text`; every mark becomes a site, or a `TemplateError` says why not."""
    scanner = WordScanner(text, marks, dialect, _read_commands)
    try:
        _read_commands(scanner, "")
    except RecursionError:
        scanner.doubt("this is nested too deeply")
    return scanner


def _read_commands(scanner: WordScanner, closer: str) -> None:
    """A text of commands by itself: a script, or the inside of a substitution."""
    reader = _CommandReader(scanner)
    reader.command_list(closer)
    if reader.heredocs:
        scanner.doubt("a heredoc has no body", reader.heredocs[0].operator)


class _CommandReader:
    """Read command lists, one inside the other, that share the lines of one text."""

    def __init__(self, scanner: WordScanner) -> None:
        self.scanner = scanner
        # Opened on this line, their bodies start on the next.
        self.heredocs: list[Heredoc] = []

    def command_list(self, closer: str) -> str:
        """Read commands up to `closer`: "" is the end of the text, ")", or ";;" (or esac).

        Return what ended them.
        """
        scanner, state = self.scanner, _CommandState(self)
        start = scanner.pos
        while True:
            scanner.skip(BLANKS)
            char = scanner.peek()
            if char == "#":
                scanner.comment()
            elif char == "\n":
                state.finish()
                self._end_line()
            elif char == "" or (char == ")" and closer == ")"):
                if char != closer:
                    scanner.doubt(f"no {closer} closes what is opened here", max(start - 2, 0))
                scanner.pos += len(char)
                return state.end_list(char)
            elif separator := _SEPARATOR.match(scanner.text, scanner.pos, scanner.end):
                state.finish(pipe=separator.group() in ("|", "|&"))
                scanner.pos = separator.end()
                if separator.group() in _CLAUSE_ENDS:
                    if closer != ";;":
                        scanner.doubt(f"{separator.group()} stands outside of case")
                    return state.end_list(";;")
            elif state.read() == "esac" and closer == ";;":
                return state.end_list("esac")

    def _end_line(self) -> None:
        self.scanner.pos += 1
        heredocs, self.heredocs = self.heredocs, []
        read_bodies(self.scanner, heredocs)

    def _skip_lines(self) -> None:
        """Skip blanks, comments and ends of lines, after which heredocs may lie."""
        scanner = self.scanner
        while scanner.skip(BLANKS) or scanner.peek() in ("#", "\n"):
            if scanner.peek() == "#":
                scanner.comment()
            elif scanner.peek() == "\n":
                self._end_line()

    def case(self) -> None:
        """`case word in pattern) … ;; esac`, after the word `case`."""
        scanner = self.scanner
        start = scanner.pos - 4
        scanner.skip(SPACE)
        scanner.word(Quote.FIELD)
        self._skip_lines()
        if scanner.word().text != "in":
            scanner.doubt("case without in", start)
        while True:
            self._skip_lines()
            if scanner.skip(_ESAC):
                return
            self._case_patterns(start)
            if self.command_list(";;") == "esac":
                return

    def _case_patterns(self, start: int) -> None:
        scanner = self.scanner
        if scanner.peek() == "(":
            scanner.pos += 1
        separator = "|"
        while separator == "|":
            scanner.skip(SPACE)
            pattern = scanner.word(Quote.FIELD)
            scanner.skip(BLANKS)
            separator = scanner.peek()
            if not pattern.text or separator not in ("|", ")"):
                scanner.doubt("this case is not understood", start)
            scanner.pos += 1

    def redirection(self, operator: str, command: Command) -> None:
        """The target of a redirection, after its operator."""
        scanner = self.scanner
        at = scanner.pos - len(operator)
        if scanner.text.startswith("\\\n", scanner.pos):
            scanner.doubt(f"a line break follows {operator}", at)
        scanner.skip(BLANKS)
        if operator in ("<<", "<<-"):
            self.heredocs.append(read_delimiter(scanner, at, command, tabs=operator == "<<-"))
            return
        if operator == "<<<" and scanner.dialect == "sh":
            scanner.doubt("<<< does not exist in sh", at)
        first = len(scanner.commands)
        target = scanner.word(Quote.FIELD)
        if not target.text:
            scanner.doubt(f"nothing follows {operator}", at)
        if operator == "<<<":
            command.stdin += target.sites
            command.stdin_text += target.text
        elif operator == "<" and target.text.startswith("<("):
            inside = scanner.depth + 1
            command.sources += [c for c in scanner.commands[first:] if c.depth == inside]


class _CommandState:
    """The command being read: which words can still come, and what they would mean."""

    def __init__(self, reader: _CommandReader) -> None:
        self.reader = reader
        self.scanner = reader.scanner
        self.awaited: list[str] = []
        # For each open compound command: how many commands stand before it, and what is piped in.
        self.opened: list[tuple[int, Command | None]] = []
        self.pipe: Command | None = None
        self.start()

    def start(self) -> None:
        self.command = Command([], [], depth=self.scanner.depth)
        # A reserved word, `[[`, `((` or a subshell can stand here.
        self.at_start = True
        # An assignment can stand here.
        self.at_prefix = True
        # A compound command ended: only redirections can follow.
        self.ended = False

    def finish(self, *, pipe: bool = False) -> None:
        """The command ends; `pipe` says that its output goes to the next one."""
        command = self.command
        if command.words or command.stdin or command.inner:
            self.scanner.commands.append(command)
        if self.pipe is not None:
            command.sources.append(self.pipe)
        command.piped = pipe
        self.pipe = command if pipe else None
        self.start()

    def end_list(self, ended_by: str) -> str:
        self.finish()
        if self.awaited:
            self.scanner.doubt(f"{self.awaited[-1]} is missing")
        return ended_by

    def end_compound(self, first: int) -> None:
        """A compound command ends, whose own commands are those from `first` on."""
        for command in self.scanner.commands[first:]:
            if command.outer is None and command.depth == self.command.depth:
                command.outer = self.command
                self.command.inner.append(command)
        self.at_start = self.at_prefix = False
        self.ended = True

    def read(self) -> str:
        """Read one redirection, parenthesis or word; return the reserved word it was, if any."""
        scanner = self.scanner
        match = _REDIRECTION.match(scanner.text, scanner.pos, scanner.end)
        if match and scanner.text[match.end() : match.end() + 1] != "(":
            scanner.pos = match.end()
            self.reader.redirection(match.group(), self.command)
            self.at_start = False
        elif scanner.peek() == "(":
            self._parenthesis()
        else:
            return self._word()
        return ""

    def _parenthesis(self) -> None:
        scanner, words = self.scanner, self.command.words
        if self.at_start:
            first = len(scanner.commands)
            if scanner.peek(1) == "(":
                scanner.pos += 2
                scanner.arithmetic("))")
            else:
                scanner.pos += 1
                self.reader.command_list(")")
            self.end_compound(first)
        elif len(words) == 1 and not words[0].sites and scanner.skip(_EMPTY_PARENTHESES):
            # `name()`: the function's body follows.
            self.start()
        else:
            scanner.doubt("this parenthesis is not understood")

    def _word(self) -> str:
        scanner = self.scanner
        if scanner.mark_at(scanner.pos) is None and scanner.skip(_DESCRIPTOR):
            return ""
        before = scanner.pos
        word = scanner.word(before_subscript=NAME if self.at_prefix else None)
        spelled = word.text.replace("\\\n", "")
        if not spelled or (self.ended and spelled not in _COMPOUNDS):
            scanner.doubt(f"{spelled or scanner.peek()} is not understood here", before)
        if (self.at_start or self.ended) and self._reserved(spelled):
            return spelled
        self.at_start = False
        self.at_prefix = self.at_prefix and _ASSIGNMENT.match(spelled) is not None
        self.command.words.append(word)
        return ""

    def _reserved(self, spelled: str) -> bool:
        """Act on a reserved word; False if it is none."""
        scanner, first = self.scanner, len(self.scanner.commands)
        if spelled in _COMPOUNDS:
            self._compound(spelled)
        elif spelled == "case":
            self.reader.case()
            self.end_compound(first)
        elif spelled == "[[" and scanner.dialect == "bash":
            read_condition(scanner)
            self.end_compound(first)
        elif spelled == "function":
            self._function()
        elif spelled not in _PREFIXES:
            return spelled == "esac"
        return True

    def _compound(self, spelled: str) -> None:
        answered, awaited = _COMPOUNDS[spelled]
        if self.ended:
            self.finish()
        if answered and (not self.awaited or self.awaited.pop() != answered):
            self.scanner.doubt(f"{spelled} is not understood here")
        if awaited:
            self.awaited.append(awaited)
        if not answered:
            # A pipe into a compound command goes past the commands inside it.
            self.opened.append((len(self.scanner.commands), self.pipe))
            self.pipe = None
        if spelled in ("for", "select"):
            self._loop_head()
        elif answered and not awaited:
            first, self.pipe = self.opened.pop()
            self.end_compound(first)
        else:
            self.start()

    def _loop_head(self) -> None:
        """`for name in …` or `for ((…))`, after its first word."""
        scanner = self.scanner
        scanner.skip(BLANKS)
        if scanner.text.startswith("((", scanner.pos, scanner.end):
            scanner.pos += 2
            scanner.arithmetic("))")
            return
        self.command.variable = scanner.word().text
        if not NAME.fullmatch(self.command.variable) or not _LOOP_HEAD.match(
            scanner.text, scanner.pos, scanner.end
        ):
            scanner.doubt("this loop is not understood")

    def _function(self) -> None:
        """`function name` with or without `()`; its body follows."""
        scanner = self.scanner
        scanner.skip(BLANKS)
        if scanner.word().sites:
            scanner.doubt("a function's name cannot be a placeholder")
        scanner.skip(BLANKS)
        scanner.skip(_EMPTY_PARENTHESES)
