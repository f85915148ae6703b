"""Secrets taken out of everything that leaves a call, in whatever form they come.

One compiled pattern finds where a form (`forms`) may begin; following its tokens tells where it
ends, and whether what is there so far could still become one: that is how a value is found that
arrives in pieces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from tongs.core.annotations import Any
from tongs.core.errors import ToolError
from tongs.core.execution import Event, Observer, OutputArrived
from tongs.core.record import replace
from tongs.core.result import ToolResult
from tongs.redaction.forms import BETWEEN_BASE64, forms_of

REDACTED = "[redacted]"
_MARK = REDACTED.encode()
_NOT_PASSED_ON = "an attachment was not passed on: a secret stands in it"
_WIDEST_GAP = max(map(len, BETWEEN_BASE64))


class Redactor:
    """Takes the secrets of one call out of what it is given. Costs nothing where there are none."""

    __slots__ = ("_first", "_forms", "_leads", "_pattern", "_reach", "_secrets")

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets = tuple(dict.fromkeys(secrets))
        forms = {form: None for secret in self._secrets for form in forms_of(secret)}
        # The longer first: the pattern tries them in this order.
        self._forms = sorted(forms, key=lambda form: len(form.tokens), reverse=True)
        self._pattern: re.Pattern[bytes] | None = None
        self._first: frozenset[int] = frozenset()
        self._leads = frozenset[int]().union(*(form.lead for form in self._forms))
        self._reach = max((form.reach for form in self._forms), default=0)

    def __bool__(self) -> bool:
        return bool(self._forms)

    def also(self, secrets: Iterable[str]) -> Redactor:
        """One that takes out these, too: for a call inside of the call."""
        return Redactor((*self._secrets, *secrets))

    def text(self, text: str) -> str:
        if not self._forms or not text:
            return text
        data = text.encode("utf-8", "surrogatepass")
        spans = self.spans(data)
        return _without(data, spans).decode("utf-8", "surrogatepass") if spans else text

    def output(self, data: bytes) -> bytes:
        spans = self.spans(data) if self._forms else ()
        return _without(data, spans) if spans else data

    def data(self, data: object) -> object:
        """JSON data with every string in it redacted, keys included."""
        if not self._forms:
            return data
        if isinstance(data, str):
            return self.text(data)
        if isinstance(data, dict):
            return self.mapping(data)
        if isinstance(data, list | tuple):
            return [self.data(item) for item in data]
        return data

    def mapping(self, data: Mapping[str, Any]) -> dict[str, Any]:
        return {self.text(str(key)): self.data(value) for key, value in data.items()}

    def result(self, result: ToolResult) -> ToolResult:
        """The result without any secret, in whatever part of it."""
        if not self._forms:
            return result
        error = result.error
        if error is not None:
            error = ToolError(
                error.code,
                self.text(error.message),
                details=self.mapping(error.details),
                blocked_by=error.blocked_by,
            )
        # With a part of it taken out it would not be what it was any more.
        clean = [one for one in result.attachments if not self.spans(one.data)]
        if len(clean) < len(result.attachments):
            result = replace(result, warnings=(*result.warnings, _NOT_PASSED_ON))
        return ToolResult(
            tool_call_id=result.tool_call_id,
            output=self.text(result.output),
            value=self.data(result.value),
            error=error,
            warnings=[self.text(warning) for warning in result.warnings],
            metadata=self.mapping(result.metadata),
            attachments=tuple(clean),
        )

    def stream(self) -> Stream:
        """For what arrives in pieces."""
        return Stream(self)

    def watching(self, observe: Observer) -> Watching:
        """For whoever watches the call: sees what happens without its secrets."""
        return Watching(self, observe)

    def spans(self, data: bytes) -> list[tuple[int, int]]:
        """Where secrets stand; those that touch or overlap are one."""
        found: list[tuple[int, int]] = []
        place, search = 0, self._compiled().search
        while (match := search(data, place)) is not None:
            # From the next byte on: another one may begin inside of this one.
            core, place = match.start(), match.start() + 1
            for form in self._forms:
                begin = form.begins(data, core)
                end = -1 if begin < 0 else form.follow(data, core)[0]
                if end < 0:
                    continue
                if found and begin <= found[-1][1]:
                    found[-1] = (min(begin, found[-1][0]), max(end, found[-1][1]))
                else:
                    found.append((begin, end))
        return found

    def settled(self, data: bytes) -> int:
        """How much of the beginning can be no part of a secret that is not whole yet."""
        self._compiled()
        size = len(data)
        for core in range(max(0, size - self._reach), size):
            if data[core] not in self._first:
                continue
            for form in self._forms:
                begin = form.begins(data, core)
                if begin >= 0 and form.follow(data, core)[1]:
                    return begin
        # The next byte may be the first of one whose lead has come.
        for place in range(max(0, size - _WIDEST_GAP - 1), size if self._leads else 0):
            rest = data[place + 1 :]
            if data[place] in self._leads and any(gap.startswith(rest) for gap in BETWEEN_BASE64):
                return place
        return size

    def _compiled(self) -> re.Pattern[bytes]:
        if self._pattern is None:
            self._pattern = re.compile(b"|".join(form.pattern() for form in self._forms) or b"(?!)")
            firsts = (text[:1] for form in self._forms for text in form.tokens[0])
            self._first = frozenset(b"".join(firsts))
        return self._pattern


class Stream:
    """A stream of bytes without its secrets: what may belong to one is held until that is known."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = b""
        # So many of the held bytes stand for a mark that was given already; None: there is none
        # right before them.
        self._covered: int | None = None

    def feed(self, data: bytes) -> bytes:
        """What can be shown by now."""
        if not self._redactor:
            return data
        held = self._held + data
        return self._given(held, self._redactor.settled(held))

    def end(self) -> bytes:
        """The rest."""
        return self._given(self._held, len(self._held)) if self._held else b""

    def _given(self, data: bytes, settled: int) -> bytes:
        spans = self._redactor.spans(data)
        marked = self._covered is not None
        if self._covered is not None:
            spans = _joined([(0, self._covered), *spans])
        shown, place, covered = bytearray(), 0, None
        for start, end in spans:
            if start >= settled and (start or not marked):
                break
            shown += data[place:start]
            if start or not marked:
                shown += _MARK
            place = min(end, settled)
            covered = end - settled if end >= settled else None
        shown += data[place:settled]
        self._held, self._covered = data[settled:], covered
        return bytes(shown)


class Watching:
    """An observer between a call and another one. `end` gives on what was held back."""

    def __init__(self, redactor: Redactor, observe: Observer) -> None:
        self._redactor = redactor
        self._observe = observe
        self._streams: dict[int, Stream] = {}

    def __call__(self, event: Event) -> None:
        if not isinstance(event, OutputArrived):
            # What a step has written belongs before what is said of its end.
            self.end()
            self._observe(event)
            return
        stream = self._streams.setdefault(event.stream, self._redactor.stream())
        self._give(event.stream, stream.feed(event.data))

    def end(self) -> None:
        for number, stream in self._streams.items():
            self._give(number, stream.end())

    def _give(self, stream: int, data: bytes) -> None:
        if data:
            self._observe(OutputArrived(stream, data))


def _without(data: bytes, spans: Sequence[tuple[int, int]]) -> bytes:
    pieces, place = [], 0
    for start, end in spans:
        pieces += [data[place:start], _MARK]
        place = end
    return b"".join((*pieces, data[place:]))


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for start, end in spans:
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found
