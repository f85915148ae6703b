"""Looks through the files of a folder. Runs in the sandbox, in an interpreter of its own.

There, because a regular expression may never end, and only a process can be stopped. No part of
Tongs is imported: this file is all there is. It reads a request as JSON from stdin and prints the
answer as JSON. Folders are opened one below the other and no link is followed, so that what is read
lies where it was found.
"""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any  # noqa: TID251 - for type checkers only

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
LARGEST_FILE = 64 * 1024 * 1024
# Most files that are no text show it here.
HEAD = 64 * 1024
LARGEST_IGNORE_FILE = 1024 * 1024
LONGEST_TEXT = 400
# Characters of all matching lines together.
MOST_TEXT = 400_000
# Every folder above stays open.
DEEPEST = 200
IGNORE_FILES = (".gitignore", ".ignore")
# Seconds of the processor for one file, and bytes for which there is one more.
LONGEST_TRY = 1.0
BYTES_A_SECOND = 2 * 1024 * 1024


def main() -> None:
    request = json.loads(sys.stdin.buffer.read())
    json.dump(answer(request), sys.stdout)


def answer(request: dict[str, Any]) -> dict[str, Any]:
    search = Search(request)
    try:
        search.begin(request["root"], request["names"])
    except Enough:
        search.found["truncated"] = True
    except Stuck as stuck:
        return {"stuck": str(stuck)}
    return search.found


class Enough(Exception):
    """As much was found as was asked for."""


class Stuck(Exception):
    """The expression does not come to an end in this file."""


class Search:
    def __init__(self, request: dict[str, Any]) -> None:
        flags = re.MULTILINE | (re.IGNORECASE if request["ignoreCase"] else 0)
        pattern = request["pattern"]
        self.regex = None if pattern is None else re.compile(pattern, flags)
        secret = request.get("secret")
        self.secret = re.compile(secret) if secret else None
        self.literal = literal_in(pattern) if pattern and not request["ignoreCase"] else ""
        self.bytes = self.literal.encode("utf-8", "replace")
        self.globs = Globs(request["globs"])
        self.hidden: bool = request["includeHidden"]
        self.ignored: bool = request["includeIgnored"]
        self.limit: int = request["limit"]
        self.text = 0
        self.found: dict[str, Any] = {
            "matches": [],
            "files": [],
            "searched": 0,
            "skipped": {"binary": 0, "large": 0, "unreadable": 0, "secret": 0},
            "truncated": False,
        }

    def begin(self, root: str, names: Sequence[str]) -> None:
        """Go down to where the search starts, and gather what is ignored on the way."""
        here = os.open(root, FOLDER)
        rules: list[Rules] = []
        above: tuple[str, ...] = ()
        for name in names:
            rules = self.rules_of(here, above, rules)
            try:
                below = os.open(name, FOLDER, dir_fd=here)
            except NotADirectoryError:
                # One file was named, so it is searched whatever it is called.
                self.file(here, name, (*above, name))
                return
            os.close(here)
            here, above = below, (*above, name)
        self.folder(here, above, (), rules)

    def folder(
        self, here: int, above: tuple[str, ...], inner: tuple[str, ...], rules: list[Rules]
    ) -> None:
        """Everything in an open folder, which is closed. `inner` are names below the start."""
        try:
            rules = self.rules_of(here, above, rules)
            with os.scandir(here) as found:
                entries = [(e.name, *kinds_of(e)) for e in found]
            for name, is_folder, is_file in sorted(entries):
                if not self.wanted(name, is_folder, (*above, name), rules):
                    continue
                below = (*inner, name)
                if is_folder and not self.globs.leave_out(below):
                    if len(above) > DEEPEST:
                        self.found["skipped"]["unreadable"] += 1
                        continue
                    try:
                        there = os.open(name, FOLDER, dir_fd=here)
                    except OSError:
                        self.found["skipped"]["unreadable"] += 1
                        continue
                    self.folder(there, (*above, name), below, rules)
                elif is_file and self.globs.take(below):
                    self.file(here, name, (*above, name))
        finally:
            os.close(here)

    def wanted(self, name: str, is_folder: bool, path: tuple[str, ...], rules: list[Rules]) -> bool:
        if name == ".git" or (name.startswith(".") and not self.hidden):
            return False
        return self.ignored or not is_ignored(path, is_folder, rules)

    def rules_of(self, here: int, above: tuple[str, ...], rules: list[Rules]) -> list[Rules]:
        """With what the ignore files of this folder say; they speak after those above."""
        if self.ignored:
            return rules
        added = []
        if is_there(here, ".git"):
            # Another repository begins, and what is above does not count in it.
            rules = []
            exclude = read_below(here, (".git", "info", "exclude"))
            added.append(Rules(exclude, len(above)))
        added += [Rules(read_below(here, (name,)), len(above)) for name in IGNORE_FILES]
        return [*rules, *(each for each in added if each)]

    def file(self, here: int, name: str, path: tuple[str, ...]) -> None:
        shown = "/".join(path)
        if self.regex is None:
            self.found["files"].append(shown)
            if len(self.found["files"]) >= self.limit:
                raise Enough
            return
        if self.secret is not None and self.secret.fullmatch(name):
            self.found["skipped"]["secret"] += 1
            return
        data = self.read(here, name)
        if data is None:
            return
        text = decoded(data, self.bytes)
        if text is None:
            self.found["skipped"]["binary"] += 1
            return
        self.found["searched"] += 1
        before = len(self.found["matches"])
        limit_time(LONGEST_TRY + len(data) / BYTES_A_SECOND, shown)
        try:
            self.lines(shown, text)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            if len(self.found["matches"]) > before:
                self.found["files"].append(shown)

    def lines(self, shown: str, text: str) -> None:
        assert self.regex is not None
        lines = lines_with(self.literal, text) if self.literal else likely_lines(self.regex, text)
        for number, line in lines:
            # Each by itself, since what was found may reach into the next one.
            if own := self.regex.search(line):
                self.keep(shown, number, line, own.start())

    def keep(self, path: str, number: int, line: str, column: int) -> None:
        cut = line.rstrip("\r")
        if len(cut) > LONGEST_TEXT:
            start = max(0, column - LONGEST_TEXT // 2)
            cut = ("…" if start else "") + cut[start : start + LONGEST_TEXT] + "…"
        match = {"path": path, "line": number, "column": column + 1, "text": cut}
        self.found["matches"].append(match)
        self.text += len(cut) + len(path)
        if len(self.found["matches"]) >= self.limit or self.text > MOST_TEXT:
            raise Enough

    def read(self, here: int, name: str) -> bytes | None:
        skipped = self.found["skipped"]
        try:
            descriptor = os.open(name, FILE, dir_fd=here)
        except OSError:
            skipped["unreadable"] += 1
            return None
        with open(descriptor, "rb", buffering=0) as file:
            facts = os.fstat(descriptor)
            if not stat.S_ISREG(facts.st_mode):
                return None
            if facts.st_size > LARGEST_FILE:
                skipped["large"] += 1
                return None
            head = file.read(HEAD)
            if len(head) < HEAD or b"\0" in head:
                return head
            return head + file.read(LARGEST_FILE)


def limit_time(seconds: float, path: str) -> None:
    """Stuck, unless the timer is taken back. An expression that is tried looks for signals."""

    def stop(*signalled: object) -> None:
        raise Stuck(path)

    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)


def kinds_of(entry: os.DirEntry[str]) -> tuple[bool, bool]:
    return entry.is_dir(follow_symlinks=False), entry.is_file(follow_symlinks=False)


def decoded(data: bytes, literal: bytes = b"") -> str | None:
    """The text of a file; None where it is none. Empty where the literal is not in it."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    if b"\0" in data:
        return None
    if literal not in data:
        return ""
    return data.decode("utf-8", "replace").removeprefix("\ufeff")


def literal_in(pattern: str) -> str:
    """The longest text that is in every match of a regular expression; empty if none is known.

    To look for a text is ten times as fast as to try an expression.
    """
    try:
        from re import _parser  # type: ignore[attr-defined]  # noqa: PLC0415 - no public name

        parsed = _parser.parse(pattern)
        if parsed.state.flags & re.IGNORECASE:
            return ""
        runs, last = [""], -2
        for place, (code, value) in enumerate(parsed):
            if str(code) == "LITERAL":
                runs.append((runs[-1] if last == place - 1 else "") + chr(value))
                last = place
        longest = max(runs, key=len)
    except (ImportError, AttributeError, TypeError, ValueError):
        return ""
    # A line has no line end, and what is no text was decoded to something else.
    return "" if re.search("[\n\r\ufeff\ufffd\ud800-\udfff]", longest) else longest


def lines_with(literal: str, text: str) -> Iterator[tuple[int, str]]:
    """Number and text of each line in which a text occurs."""
    number, seen = 1, 0
    at = text.find(literal)
    while at >= 0:
        start = text.rfind("\n", 0, at) + 1
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        number += text.count("\n", seen, start)
        seen = start
        yield number, text[start:end]
        at = text.find(literal, end + 1)


def likely_lines(regex: re.Pattern[str], text: str) -> Iterator[tuple[int, str]]:
    """Number and text of each line in which a match begins."""
    number, seen, at = 1, 0, 0
    while match := regex.search(text, at):
        start = text.rfind("\n", 0, match.start()) + 1
        end = text.find("\n", match.start())
        end = len(text) if end < 0 else end
        if start == len(text):
            return  # there is no line after the last newline
        number += text.count("\n", seen, start)
        seen = start
        yield number, text[start:end]
        at = end + 1


# --- what is ignored ----------------------------------------------------------------------------


class Rules:
    """The lines of one ignore file, or of one like it. Empty ones are false."""

    def __init__(self, text: str, depth: int) -> None:
        # Names above the folder it lies in.
        self.depth = depth
        found = [rule for line in text.splitlines() if (rule := rule_of(line))]
        # The last one that matches counts.
        self.rules = [(re.compile(rule), no, only) for rule, no, only in reversed(found)]
        self.any = re.compile("|".join(f"(?:{rule[0]})" for rule in found) or r"(?!)")

    def __bool__(self) -> bool:
        return bool(self.rules)

    def verdict(self, path: tuple[str, ...], is_folder: bool) -> bool | None:
        """True: ignored, False: expressly not, None: nothing is said."""
        below = "/".join(path[self.depth :])
        if not self.any.fullmatch(below):
            return None
        for expression, negated, folders_only in self.rules:
            if (is_folder or not folders_only) and expression.fullmatch(below):
                return not negated
        return None


def is_ignored(path: tuple[str, ...], is_folder: bool, rules: list[Rules]) -> bool:
    for each in reversed(rules):
        verdict = each.verdict(path, is_folder)
        if verdict is not None:
            return bool(verdict)
    return False


def rule_of(line: str) -> tuple[str, bool, bool] | None:
    """Regular expression, whether it is negated, whether it is for folders only."""
    line = re.sub(r"(?<!\\)[ \t]+$", "", line.removesuffix("\r"))
    if not line or line.startswith("#"):
        return None
    negated = line.startswith("!")
    if negated:
        line = line[1:]
    folders_only = line.endswith("/")
    line = line.rstrip("/")
    if not line:
        return None
    return expression_of(line), negated, folders_only


class Globs:
    """What the caller wants to see: any of these, and none of those with a `!`."""

    def __init__(self, globs: list[str]) -> None:
        self.taken = [each for glob in globs if not glob.startswith("!") for each in braces(glob)]
        refused = [each for glob in globs if glob.startswith("!") for each in braces(glob[1:])]
        self.take_any = [re.compile(expression_of(glob.rstrip("/"))) for glob in self.taken]
        self.refuse_any = [re.compile(expression_of(glob.rstrip("/"))) for glob in refused]

    def leave_out(self, path: tuple[str, ...]) -> bool:
        below = "/".join(path)
        return any(each.fullmatch(below) for each in self.refuse_any)

    def take(self, path: tuple[str, ...]) -> bool:
        below = "/".join(path)
        if self.take_any and not any(each.fullmatch(below) for each in self.take_any):
            return False
        return not self.leave_out(path)


def braces(glob: str) -> list[str]:
    """`*.{py,pyi}` as `*.py` and `*.pyi`; no more than a few hundred."""
    done: list[str] = []
    todo = [glob]
    while todo and len(done) + len(todo) < 256:
        each = todo.pop(0)
        found = re.search(r"\{([^{}]*,[^{}]*)\}", each)
        if not found:
            done.append(each)
            continue
        before, after = each[: found.start()], each[found.end() :]
        todo += [before + choice + after for choice in found[1].split(",")]
    return done + todo


def expression_of(glob: str) -> str:
    """A glob as git reads it: one without a slash inside means a name at any depth."""
    anchored = "/" in glob
    glob = glob.removeprefix("/")
    parts: list[str] = [] if anchored or glob.startswith("**/") else ["(?:.*/)?"]
    at = 0
    while at < len(glob):
        if glob.startswith("**/", at) and (at == 0 or glob[at - 1] == "/"):
            parts.append("(?:.*/)?")
            at += 3
        elif glob[at:] == "**" and (at == 0 or glob[at - 1] == "/"):
            parts.append(".+")
            at += 2
        else:
            expression, at = one_of(glob, at)
            parts.append(expression)
    return "(?s:" + "".join(parts) + ")"


def one_of(glob: str, at: int) -> tuple[str, int]:
    """The expression of what stands at one place of a glob, and where the next thing begins."""
    character = glob[at]
    if character == "*":
        while at < len(glob) and glob[at] == "*":
            at += 1
        return "[^/]*", at
    if character == "?":
        return "[^/]", at + 1
    if character == "[":
        end = glob.find("]", at + (3 if glob[at + 1 : at + 2] in ("!", "^") else 2))
        if end > 0:
            inside = glob[at + 1 : end]
            negated = inside[0] in "!^"
            inside = re.sub(r"([\\\[&~|])", r"\\\1", inside[1:] if negated else inside)
            inside = inside[:-1] + r"\^" if inside == "^" else inside
            return (f"[^/{inside}]" if negated else f"(?!/)[{inside}]"), end + 1
    if character == "\\" and at + 1 < len(glob):
        return re.escape(glob[at + 1]), at + 2
    return re.escape(character), at + 1


def is_there(here: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=here, follow_symlinks=False)
    except OSError:
        return False
    return True


def read_below(here: int, names: Sequence[str]) -> str:
    """A small file below a folder; empty where it cannot be read."""
    opened: list[int] = []
    try:
        for name in names[:-1]:
            opened.append(os.open(name, FOLDER, dir_fd=opened[-1] if opened else here))
        descriptor = os.open(names[-1], FILE, dir_fd=opened[-1] if opened else here)
        with open(descriptor, "rb", buffering=0) as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return ""
            return file.read(LARGEST_IGNORE_FILE).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        for each in opened:
            os.close(each)


if __name__ == "__main__":
    main()
