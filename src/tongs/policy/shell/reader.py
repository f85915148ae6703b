"""Read a script: lists, pipelines, compound commands, functions, redirections, heredocs."""

from __future__ import annotations

import re

from tongs.policy.shell.builtins import DECLARATIONS
from tongs.policy.shell.characters import BLANKS, NAME, refuse_depth, refuse_hidden
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
    Text,
    Word,
)
from tongs.policy.shell.words import WordReader

_REDIRECTION = re.compile(
    r"(?:[0-9]+|\{[A-Za-z_]\w*\})?(<<<|<<-|<<|<&|<>|<(?!\()|>>|>&|>\||>(?!\()|&>>|&>)", re.ASCII
)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\[)?", re.ASCII)
_RESERVED = re.compile(r"[^ \t\n|&;()<>'\"\\$`]+")
_EMPTY_PARENTHESES = re.compile(r"[ \t]*\([ \t]*\)")
_OPENING = frozenset(
    {"if", "while", "until", "for", "select", "case", "{", "[[", "function", "coproc", "!", "time"}
)
_CLOSING = frozenset({"then", "else", "elif", "fi", "do", "done", "esac", "}", "]]", "in"})
_NOTHING: frozenset[str] = frozenset()


def read(text: str, depth: int = 0) -> Script:
    """The script, as far as it is understood; `Script.doubt` says where that ends."""
    script = Script()
    try:
        refuse_hidden(text)
        reader = ScriptReader(text, depth)
        reader.read_list(_NOTHING, script)
    except Doubt as doubt:
        script.doubt = str(doubt)
    except RecursionError:
        script.doubt = "it is nested too deeply"
    return script


class ScriptReader(WordReader):
    def __init__(self, text: str, depth: int = 0) -> None:
        super().__init__(text, depth)
        # Redirections whose bodies start on the next line: delimiter, quoted, tabs.
        self.pending: list[tuple[str, bool, bool, Redirection]] = []

    def another(self, text: str) -> Script:
        script = read(text, self.depth + 1)
        if script.doubt:
            raise Doubt(script.doubt)
        return script

    def commands_until_parenthesis(self) -> Script:
        return self._inside(frozenset({")"}))

    def _inside(self, ends: frozenset[str]) -> Script:
        """A list of commands, and over what ends it."""
        self.depth += 1
        refuse_depth(self.depth)
        script = Script()
        self.read_list(ends, script)
        self.depth -= 1
        return script

    def read_list(self, ends: frozenset[str], script: Script) -> str:
        """Read commands into `script`, up to and over one of `ends`, which is returned."""
        after = ";"
        while True:
            self._lines()
            if (end := self._end(ends)) is not None:
                if after != ";":
                    self.doubt(f"nothing follows {after}")
                return end
            command = self._pipeline()
            self.skip(BLANKS)
            operator = self._operator()
            script.items.append(Item(after, command, background=operator == "&"))
            if operator == "":
                self._lines()
                if (end := self._end(ends)) is None:
                    self.doubt(
                        f"`{self.text[self.pos : self.pos + 12]}` stands where a command ends"
                    )
                return end
            after = operator if operator in ("&&", "||") else ";"

    def _operator(self) -> str:
        for operator in ("&&", "||", ";;", ";&", "&", ";", "\n"):
            if self.starts(operator):
                if operator in (";;", ";&"):
                    return ""
                if operator != "\n":
                    self.pos += len(operator)
                return operator
        if self.peek() == "#":
            return "\n"
        return ""

    def _end(self, ends: frozenset[str]) -> str | None:
        """Take one of `ends`, if it stands here; the end of the text where there are none."""
        if self.peek() == "":
            if ends:
                self.doubt(f"{' or '.join(sorted(ends))} is missing")
            if self.pending:
                self.doubt("a heredoc has no body")
            return ""
        for symbol in (";;&", ";;", ";&", ")"):
            if self.starts(symbol):
                if symbol not in ends:
                    self.doubt(f"{symbol} is not understood here")
                self.pos += len(symbol)
                return symbol
        word = self._reserved()
        if word in ends:
            self.pos += len(word)
            return word
        if word in _CLOSING:
            self.doubt(f"{word} is not understood here")
        return None

    def _reserved(self) -> str:
        """The word that stands here, as far as it can be a reserved one."""
        match = _RESERVED.match(self.text, self.pos)
        if match is None:
            return ""
        following = self.text[match.end() : match.end() + 1]
        return "" if following and following in "'\"\\$`" else match[0]

    def _lines(self) -> None:
        """Over blanks, ends of lines and comments; bodies of heredocs are read on the way."""
        while True:
            self.skip(BLANKS)
            char = self.peek()
            if char == "#":
                end = self.text.find("\n", self.pos)
                self.pos = len(self.text) if end < 0 else end
            elif char == "\n":
                self.pos += 1
                self._bodies()
            else:
                return

    def _bodies(self) -> None:
        pending, self.pending = self.pending, []
        for delimiter, quoted, tabs, into in pending:
            into.body = self._body(delimiter, quoted=quoted, tabs=tabs)

    def _body(self, delimiter: str, *, quoted: bool, tabs: bool) -> Word:
        lines: list[str] = []
        continued = False
        while True:
            if self.pos >= len(self.text):
                self.doubt(f"the heredoc {delimiter} is never closed")
            end = self.text.find("\n", self.pos)
            end = len(self.text) if end < 0 else end
            line = self.text[self.pos : end]
            self.pos = min(end + 1, len(self.text))
            line = line.lstrip("\t") if tabs else line
            if line == delimiter:
                if continued:
                    self.doubt("a backslash stands before the end of a heredoc")
                break
            lines.append(line)
            backslashes = len(line) - len(line.rstrip("\\"))
            continued = not quoted and backslashes % 2 == 1
            if continued and delimiter.startswith(line[:-1].strip()) and line != "\\":
                self.doubt("a heredoc's delimiter is split over lines")
        text = "".join(f"{line}\n" for line in lines)
        if quoted:
            return Word((Text(text, quoted=True),), text)
        return Word(ScriptReader(text, self.depth + 1).heredoc_pieces(), text)

    def _pipeline(self) -> Command:
        parts: list[Command] = []
        while True:
            while self._reserved() in ("!", "time"):
                timed = self._reserved() == "time"
                self.pos += len(self._reserved())
                self.skip(BLANKS)
                while timed and self._reserved() in ("-p", "--"):
                    self.pos += 2
                    self.skip(BLANKS)
            parts.append(self._command())
            self.skip(BLANKS)
            if not self.starts("|") or self.starts("||"):
                return parts[0] if len(parts) == 1 else Pipeline(tuple(parts))
            self.pos += 2 if self.starts("|&") else 1
            self._lines()

    def _command(self) -> Command:
        if self.peek() == "(":
            return self._parentheses()
        word = self._reserved()
        if word not in _OPENING:
            return self._simple()
        self.pos += len(word)
        if word == "coproc":
            return self._coprocess()
        if word == "function":
            return self._function()
        if word in ("for", "select"):
            return self._loop()
        if word == "case":
            return self._case()
        if word == "[[":
            return self._condition()
        if word == "{":
            return self._compound("{", [self._inside(frozenset({"}"}))])
        if word == "if":
            return self._if()
        condition = self._inside(frozenset({"do"}))
        return self._compound("while", [condition, self._inside(frozenset({"done"}))])

    def _compound(self, kind: str, scripts: list[Script], words: tuple[Word, ...] = ()) -> Compound:
        return Compound(kind, tuple(scripts), words, self._redirections())

    def _parentheses(self) -> Command:
        if self.peek(1) != "(":
            self.pos += 1
            return self._compound("(", [self._inside(frozenset({")"}))])
        self.pos += 2
        inside = self.arithmetic()
        return Evaluation("((", (Word(inside),), self._redirections())

    def _if(self) -> Command:
        """Conditions and branches in turn; `else` has no condition."""
        scripts = [self._inside(frozenset({"then"}))]
        while True:
            branch = Script()
            end = self.read_list(frozenset({"elif", "else", "fi"}), branch)
            scripts.append(branch)
            if end == "fi":
                return self._compound("if", scripts)
            if end == "else":
                scripts.append(self._inside(frozenset({"fi"})))
                return self._compound("if", scripts)
            scripts.append(self._inside(frozenset({"then"})))

    def _loop(self) -> Command:
        self.skip(BLANKS)
        if self.starts("(("):
            self.pos += 2
            head = Evaluation("((", (Word(self.arithmetic()),))
            self._separator()
            body = self._loop_body()
            counted = Script([Item(";", head)])
            return self._compound("while", [counted, body])
        name = self.skip(NAME)
        if not name:
            self.doubt("a loop without a variable")
        self._lines()
        words: list[Word] | None = None
        if self._reserved() == "in":
            self.pos += 2
            words = []
            while True:
                self.skip(BLANKS)
                word = self.word()
                if not word.raw:
                    break
                words.append(word)
        self._separator()
        body = self._loop_body()
        items = None if words is None else tuple(words)
        return Loop(name, items, body, self._redirections())

    def _separator(self) -> None:
        self.skip(BLANKS)
        if self.peek() == ";":
            self.pos += 1
        self._lines()

    def _loop_body(self) -> Script:
        word = self._reserved()
        if word not in ("do", "{"):
            self.doubt("a loop without do")
        self.pos += len(word)
        return self._inside(frozenset({"done" if word == "do" else "}"}))

    def _case(self) -> Command:
        self.skip(BLANKS)
        words = [self.word()]
        self._lines()
        if self._reserved() != "in":
            self.doubt("case without in")
        self.pos += 2
        scripts: list[Script] = []
        while True:
            self._lines()
            if self._reserved() == "esac":
                self.pos += 4
                break
            if self.peek() == "(":
                self.pos += 1
            words += self._patterns()
            branch = Script()
            end = self.read_list(frozenset({";;", ";&", ";;&", "esac"}), branch)
            scripts.append(branch)
            if end == "esac":
                break
        return self._compound("case", scripts, tuple(words))

    def _patterns(self) -> list[Word]:
        found: list[Word] = []
        while True:
            self.skip(BLANKS)
            word = self.word()
            self.skip(BLANKS)
            char = self.peek()
            if not word.raw or char not in ("|", ")"):
                self.doubt("this pattern is not understood")
            found.append(word)
            self.pos += 1
            if char == ")":
                return found

    def _condition(self) -> Command:
        """`[[ … ]]`: the words alone; its operators start nothing."""
        words: list[Word] = []
        while True:
            self._lines()
            if self._reserved() == "]]":
                self.pos += 2
                return Evaluation("[[", tuple(words), self._redirections())
            word = self.word()
            if word.raw:
                words.append(word)
            elif self.peek() in tuple("()<>|&"):
                self.pos += 1
            else:
                self.doubt("[[ is not understood")

    def _coprocess(self) -> Command:
        """`coproc [NAME] command`: a name only before a compound command."""
        self.skip(BLANKS)
        before = self.pos
        name = self.skip(NAME)
        self.skip(BLANKS)
        if not (name and (self.peek() == "(" or self._reserved() in _OPENING - {"!", "time"})):
            self.pos = before
        script = Script([Item(";", self._command())])
        return Compound("(", (script,))

    def _function(self) -> Command:
        self.skip(BLANKS)
        name = self.word()
        if not name.raw or any(not isinstance(piece, Text) for piece in name.pieces):
            self.doubt("a function without a name")
        self.skip(_EMPTY_PARENTHESES)
        return self._function_body(name)

    def _function_body(self, name: Word) -> Command:
        self._lines()
        if self.peek() != "(" and self._reserved() not in _OPENING:
            self.doubt("a function without a body")
        text = "".join(piece.text for piece in name.pieces if isinstance(piece, Text))
        return Function(text, self._command())

    def _redirections(self) -> tuple[Redirection, ...]:
        found: list[Redirection] = []
        while True:
            self.skip(BLANKS)
            match = _REDIRECTION.match(self.text, self.pos)
            if match is None:
                return tuple(found)
            found.append(self._redirection(match))

    def _redirection(self, match: re.Match[str]) -> Redirection:
        self.pos = match.end()
        operator = match[1]
        if self.starts("\\\n"):
            self.doubt(f"a line break follows {operator}")
        self.skip(BLANKS)
        target = self.word()
        if not target.raw:
            self.doubt(f"nothing follows {operator}")
        if operator == "<<<":
            return Redirection(operator, target, target)
        if not operator.startswith("<<"):
            return Redirection(operator, target)
        texts = [piece.text for piece in target.pieces if isinstance(piece, Text)]
        if len(texts) != len(target.pieces):
            self.doubt("the end of a heredoc is not a plain word")
        quoted = any(char in target.raw for char in "'\"\\")
        found = Redirection(operator, target)
        self.pending.append(("".join(texts), quoted, operator == "<<-", found))
        return found

    def _simple(self) -> Command:
        assignments: list[Assignment] = []
        declared: list[Assignment] = []
        words: list[Word] = []
        redirections: list[Redirection] = []
        while True:
            self.skip(BLANKS)
            char = self.peek()
            match = _REDIRECTION.match(self.text, self.pos)
            if match is not None:
                redirections.append(self._redirection(match))
            elif char in ("", "\n", ";", "&", "|", ")", "#"):
                break
            elif char == "(":
                return self._defined(words, assignments, redirections)
            elif not words and (found := self._assignment()) is not None:
                assignments.append(found)
            elif words and words[0].raw in DECLARATIONS and (found := self._array()) is not None:
                declared.append(found)
            else:
                words.append(self.word())
        if not (words or assignments or redirections):
            self.doubt("a command is missing")
        return Simple(tuple(assignments), tuple(words), tuple(redirections), tuple(declared))

    def _defined(
        self, words: list[Word], assignments: list[Assignment], redirections: list[Redirection]
    ) -> Command:
        """`name()`: a parenthesis stands after a word."""
        if len(words) != 1 or assignments or redirections or not self.skip(_EMPTY_PARENTHESES):
            self.doubt("this parenthesis is not understood")
        return self._function_body(words[0])

    def _array(self) -> Assignment | None:
        """`name=( … )` after `declare`; other assignments are words there."""
        before = self.pos
        found = self._assignment()
        if found is None or found.items is None:
            self.pos = before
            return None
        return found

    def _assignment(self) -> Assignment | None:
        match = _ASSIGNMENT.match(self.text, self.pos)
        if match is None:
            return None
        before, self.pos = self.pos, match.end()
        subscript: tuple[Word, ...] = ()
        if match[2]:
            inner = self._subscript()
            if inner is None:
                self.pos = before
                return None
            subscript = (inner,)
        appends = self.starts("+=")
        if not appends and not self.starts("="):
            self.pos = before
            return None
        self.pos += 2 if appends else 1
        inside = subscript[0].pieces if subscript else ()
        if self.peek() == "(":
            return Assignment(match[1], Word(()), self._items(), inside, appends)
        return Assignment(match[1], self.word(), None, inside, appends)

    def _subscript(self) -> Word | None:
        """Up to and over `]`; None where this is no subscript after all."""
        end = self.text.find("]", self.pos)
        if end < 0 or "\n" in self.text[self.pos : end]:
            return None
        start, pieces = self.pos, []
        while self.peek() != "]":
            if self.peek() in ("", " ", "\t", "\n"):
                return None
            char = self.peek()
            if char in "'\"\\$`":
                pieces += self.piece()
            else:
                pieces.append(Text(char))
                self.pos += 1
        self.pos += 1
        return Word(tuple(pieces), self.text[start : self.pos - 1])

    def _items(self) -> tuple[Word, ...]:
        self.pos += 1
        items: list[Word] = []
        while True:
            self._lines()
            if self.peek() == ")":
                self.pos += 1
                return tuple(items)
            word = self.word()
            if not word.raw:
                self.doubt("this array is not understood")
            items.append(word)
