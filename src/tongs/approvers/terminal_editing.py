"""Editing the arguments of a call: in place, on one line, or in the person's own editor."""

# ruff: noqa: PLC0415 - prompt_toolkit is large, and only editing needs it

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from tongs.approvers.terminal_question import as_json
from tongs.config.terminal import is_dumb
from tongs.core.annotations import TYPE_CHECKING, Any, TypeAlias
from tongs.core.errors import ToolError

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession

    from tongs.approvers.terminal import Terminal

# A text, as the person left it; None if they gave up. Raises ToolError.
EditText: TypeAlias = Callable[[str], str | None]

# Between two looks at whether somebody else has answered.
_PAUSE = 0.2


def edit(terminal: Terminal, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """The arguments as the person wants them; None when they gave up editing."""
    return _object(terminal, arguments, lambda text: _edit_text(terminal, text))


def edit_outside(
    terminal: Terminal, arguments: Mapping[str, Any], editor: EditText | None
) -> dict[str, Any] | None:
    """The same in the person's own editor."""
    if editor is None:
        terminal.show("no editor is known: set VISUAL or EDITOR, or use e")
        return None
    try:
        return _object(terminal, arguments, editor)
    except ToolError as error:
        terminal.show(error.message)
        return None


def _object(
    terminal: Terminal, arguments: Mapping[str, Any], change: EditText
) -> dict[str, Any] | None:
    """Text that is no JSON object is said and edited again.

    Whether it fits the tool is for the pipeline to check.
    """
    text = as_json(dict(arguments), indent=2)
    while True:
        edited = change(text)
        if edited is None:
            return None
        text = edited
        try:
            value = json.loads(text)
        except ValueError as error:
            terminal.show(f"this is no JSON: {error}")
            continue
        if isinstance(value, dict):
            return value
        terminal.show("the arguments must be one JSON object: {…}")


def _edit_text(terminal: Terminal, text: str) -> str | None:
    if is_dumb():
        return _retype(terminal, text)
    try:
        import prompt_toolkit  # noqa: F401 - only to see whether it is there
    except ImportError:
        return _retype(terminal, text)
    return _edit_in_place(terminal, text)


def _edit_in_place(terminal: Terminal, text: str) -> str | None:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.input import create_input
    from prompt_toolkit.input.typeahead import clear_typeahead
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
    from prompt_toolkit.output import create_output

    keys = KeyBindings()

    @keys.add("c-s")
    def _accept(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    keyboard = create_input(terminal.reader)
    # As with a question: what was typed before these arguments were there does not accept them.
    clear_typeahead(keyboard)
    session: PromptSession[str] = PromptSession(
        input=keyboard,
        output=create_output(terminal.writer),
        key_bindings=keys,
        multiline=True,
        bottom_toolbar="Ctrl-S: run with these arguments   Ctrl-C: back",
    )
    try:
        return session.prompt(
            "",
            default=text,
            in_thread=_loop_is_running(),
            pre_run=lambda: _stop_when_settled(session, terminal),
        )
    except (EOFError, KeyboardInterrupt):
        return None


def _stop_when_settled(session: PromptSession[str], terminal: Terminal) -> None:
    import asyncio

    from tongs.approvers.terminal import Withdrawn

    async def watch() -> None:
        while not terminal.settled():  # noqa: ASYNC110 - it is another thread that knows
            await asyncio.sleep(_PAUSE)
        session.app.exit(exception=Withdrawn())

    session.app.create_background_task(watch())


def _retype(terminal: Terminal, text: str) -> str | None:
    """Without cursor movement: show the arguments, take the new ones on one line."""
    terminal.show(text)
    return terminal.ask("new arguments as JSON on one line (empty: back): ") or None


def _loop_is_running() -> bool:
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
