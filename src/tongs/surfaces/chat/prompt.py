"""The line at which a person types: editing, history, Tab, and the status below it."""

# ruff: noqa: PLC0415 - prompt_toolkit is large, and only the chat needs it

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from tongs.core.annotations import TYPE_CHECKING
from tongs.output import visible
from tongs.store.files import private_folder
from tongs.surfaces.chat.completing import Known, offered

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document
    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

_LARGEST_HISTORY = 1024 * 1024
_LONGEST_NOTE = 60


class Interrupted(Exception):
    """Ctrl-C at the prompt; `typed` is what stood there."""

    def __init__(self, *, typed: bool) -> None:
        super().__init__()
        self.typed = typed


class Prompt:
    """Reads one message at a time. Enter sends it, Alt-Enter begins another line."""

    def __init__(self, state: str, known: Known, status: Callable[[], str]) -> None:
        from prompt_toolkit import PromptSession

        self._session: PromptSession[str] = PromptSession(
            history=_history(os.path.join(state, "chat", "history")),
            completer=_completer(known),
            complete_while_typing=False,
            key_bindings=_keys(),
            multiline=True,
            prompt_continuation="  ",
            bottom_toolbar=lambda: visible(status()),
        )

    async def read(self) -> str | None:
        """A message; None when the person has closed the input. Raises Interrupted."""
        try:
            return await self._session.prompt_async("> ")
        except EOFError:
            return None
        except KeyboardInterrupt:
            raise Interrupted(typed=bool(self._session.default_buffer.text)) from None

    def above(self, show: Callable[[], None]) -> None:
        """Let something be written above what the person is typing, if they are."""
        from prompt_toolkit.application import run_in_terminal

        if self._session.app.is_running:
            run_in_terminal(show)

    def close(self) -> None:
        """End a `read` that is under way, as if the person had closed the input."""
        if self._session.app.is_running:
            self._session.app.exit(exception=EOFError())


def _history(path: str) -> History:
    """Kept for the person alone, and never larger than can be read in a moment."""
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    try:
        private_folder(os.path.dirname(path))
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        return InMemoryHistory()  # a full disk costs the history, not the chat
    try:
        if os.fstat(descriptor).st_size > _LARGEST_HISTORY:
            _keep_last_half(descriptor)
    finally:
        os.close(descriptor)
    return FileHistory(path)


def _keep_last_half(descriptor: int) -> None:
    size = os.fstat(descriptor).st_size
    kept = os.pread(descriptor, _LARGEST_HISTORY // 2, size - _LARGEST_HISTORY // 2)
    # Entries are divided by empty lines.
    kept = kept[kept.find(b"\n\n") + 1 :]
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, kept, 0)


def _keys() -> KeyBindings:
    from prompt_toolkit.key_binding import KeyBindings

    keys = KeyBindings()

    @keys.add("enter")
    def _send(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state and buffer.complete_state.current_completion:
            buffer.complete_state = None  # what Tab chose is taken, and not yet sent
        elif buffer.text.strip():
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def _another_line(event: KeyPressEvent) -> None:
        event.current_buffer.newline(copy_margin=False)

    return keys


def _completer(known: Known) -> Completer:
    from prompt_toolkit.completion import Completer, Completion

    class Slashes(Completer):
        def get_completions(
            self, document: Document, complete_event: CompleteEvent
        ) -> Iterator[Completion]:
            for each in offered(document.text_before_cursor, known):
                note = visible(each.note)
                short = note if len(note) <= _LONGEST_NOTE else note[: _LONGEST_NOTE - 1] + "…"
                yield Completion(visible(each.text), -each.replaces, display_meta=short or None)

    return Slashes()
