"""Settings as files: what a person asks about them, and what they change in them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

from tongs.config.environment import host_environment
from tongs.config.places import Places, find_places
from tongs.config.settings import may_exist
from tongs.core.annotations import Any
from tongs.core.digest import digest_of
from tongs.core.errors import DefinitionInvalid, ErrorCode, Problem, ToolError
from tongs.core.permissions import covered
from tongs.core.record import dataclass, replace
from tongs.core.scope import Scope
from tongs.runtime.definitions import refusals_said, refuse_inside_a_call
from tongs.runtime.folders import working_directory
from tongs.runtime.settings_files import SettingsFiles
from tongs.schema.document import MAX_BYTES, Document, parse_config
from tongs.store.files import locked, read_whole, write_whole
from tongs.store.trust import TrustStore


@dataclass(frozen=True, slots=True)
class LookedAt:
    """One file that settings may come from, and whether it counts."""

    scope: str
    path: str
    state: str


@dataclass(frozen=True, slots=True)
class Configuring:
    """Works where a config file is broken, too: somebody has to mend it."""

    places: Places
    files: SettingsFiles

    @staticmethod
    def here(profile: str | None = None) -> Configuring:
        places = find_places(working_directory(), host_environment())
        trust = TrustStore(places.state, places.project)
        return Configuring(places, SettingsFiles(places, trust, profile))

    def file(self, scope: Scope) -> str:
        """The config.yml of a scope, whether it exists or not."""
        if scope is Scope.LOCAL:
            return os.path.join(os.path.dirname(self.places.local_folder_for_writing), "config.yml")
        return dict(self.places.config_files())[scope]

    def profiles(self) -> list[str]:
        """The names that `--profile` takes."""
        try:
            return self.files.voices().named.names("profiles")
        except DefinitionInvalid:
            return []

    def looked_at(self) -> list[LookedAt]:
        """Every file that settings come from, the weakest voice first."""
        found = []
        for scope, path in self.places.config_files():
            found.append(LookedAt(scope.value, path, self._state(scope, path)))
            found += [
                LookedAt(scope.value, each, self._state(scope, each))
                for each in self.files.named_files(scope)
            ]
        if (foreign := self.places.foreign_config) is not None and may_exist(foreign):
            found.append(LookedAt("glee", foreign, "only its ceiling counts"))
        return found

    def set(self, path: tuple[str, ...], written: str, scope: Scope) -> tuple[str, Any]:
        """Set one key in the file of a scope; the file, and the value as it was understood.

        Raises DefinitionInvalid where the value is wrong, ToolError where nothing can be written.
        """
        refuse_inside_a_call("change settings")
        if not all(map(is_unicode, (*path, written))):
            raise ToolError(ErrorCode.INVALID_ARGUMENTS, f"{path[-1]} was not set: it is no text")
        file = self._own_file(scope)
        with self._changing():
            before, document = self._read(file)
            value, after = _changed(document, before.decode("utf-8-sig"), path, written)
            if after.encode() != before:
                self._write(file, after.encode(), scope)
        return file, value

    def put(self, values: Sequence[tuple[tuple[str, ...], Any]], scope: Scope) -> str:
        """Set several keys at once, all or none of them; the file. Raises as `set` does."""
        refuse_inside_a_call("change settings")
        file = self._own_file(scope)
        with self._changing():
            before, document = self._read(file)
            after = _with_all(document, before.decode("utf-8-sig"), values)
            if after.encode() != before:
                self._write(file, after.encode(), scope)
        return file

    def check(self, values: Sequence[tuple[tuple[str, ...], Any]], scope: Scope) -> None:
        """As `put`, but nothing is written."""
        file = self._own_file(scope)
        before, document = self._read(file)
        _with_all(document, before.decode("utf-8-sig"), values)

    def remove(self, path: tuple[str, ...], scope: Scope) -> str:
        """Take one key out of the file of a scope; the file. Raises ToolError."""
        refuse_inside_a_call("change settings")
        file = self._own_file(scope)
        with self._changing():
            before = self._text(file)
            after = _without(parse_config(before, file), before.decode("utf-8-sig"), path)
            self._write(file, after.encode(), scope)
        return file

    def init(self, scope: Scope, *, force: bool = False) -> str:
        """Write the sample; the file it became."""
        from tongs.authoring.config_sample import SAMPLE  # noqa: PLC0415 - only here

        refuse_inside_a_call("write settings")
        file = self.file(scope)
        if os.path.lexists(file) and not force:
            raise ToolError(
                ErrorCode.INVALID_ARGUMENTS,
                f"{file} already exists",
                hint="add --force to replace it",
            )
        self._write(self._own_file(scope), SAMPLE.encode(), scope)
        return file

    def _own_file(self, scope: Scope) -> str:
        """The file of a scope itself, wherever links lead; ToolError where that is another scope's.

        A project could link its settings to the user's, and what is said of one would be for all.
        """
        file = self.file(scope)
        real = os.path.realpath(file)
        if scope is Scope.LOCAL and not covered(real, (self.places.root,)):
            raise ToolError(
                ErrorCode.PERMISSION_DENIED,
                f"{file} was not written: it is a link out of the project, to {real}",
                hint="change that file itself, or put one of the project's own in its place",
            )
        return real

    def _state(self, scope: Scope, path: str) -> str:
        if not may_exist(path):
            return "missing"
        if scope is not Scope.LOCAL:
            return "found"
        try:
            digest = digest_of(read_whole(path, MAX_BYTES) or b"")
        except OSError as error:
            return f"cannot be read: {error.strerror}"
        trusted = self.files.trust.state_of(path, digest).holds
        return "trusted" if trusted else "untrusted: may only tighten"

    def _text(self, file: str) -> bytes:
        try:
            return read_whole(file, MAX_BYTES) or b""
        except OSError as error:
            raise ToolError(
                ErrorCode.PERMISSION_DENIED, f"{file} cannot be read: {error.strerror}"
            ) from None

    def _read(self, file: str) -> tuple[bytes, Document]:
        """What stands in a file that is to be changed; nothing, where there is none yet."""
        before = self._text(file)
        return before, parse_config(before, file) if before else Document({}, [1], file)

    def _write(self, file: str, data: bytes, scope: Scope) -> None:
        from tongs.audit.readable import keep_out_of_history  # noqa: PLC0415 - only here

        folder = os.path.dirname(file)
        with refusals_said(f"{file} was not written"):
            os.makedirs(folder, mode=0o755, exist_ok=True)
            if scope is Scope.LOCAL:
                keep_out_of_history(folder)
            write_whole(file, data, mode=_mode(file))

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Two who change settings at the same time must not lose each other's change."""
        with ExitStack() as held:
            with refusals_said("the settings were not changed"):
                held.enter_context(locked(os.path.join(self.places.state, "config.lock")))
            yield


def _changed(document: Document, text: str, path: tuple[str, ...], written: str) -> tuple[Any, str]:
    """The value, and the text that has it; what is wrong with either is said before a write."""
    from tongs.authoring.config_edit import (  # noqa: PLC0415 - only here
        CannotEdit,
        edited,
        flow,
        with_value,
    )

    problems: list[Problem] = []
    for value in _readings(written):
        try:
            wanted = with_value(document.data, path, value)
            if found := _problems(wanted, document.source):
                problems = problems or found
                continue
            after = edited(text, path, value)
            if parse_config(after.encode(), document.source).data != wanted:
                raise CannotEdit
        except (CannotEdit, DefinitionInvalid) as trouble:
            hint = f"write it yourself: `{path[-1]}: {flow(value)}`"
            raise _refused(document, path, "set", trouble, hint) from None
        return value, after
    raise DefinitionInvalid(problems)


def _with_all(document: Document, text: str, values: Sequence[tuple[tuple[str, ...], Any]]) -> str:
    """The text with every value; what is wrong is said before a write."""
    from tongs.authoring.config_edit import (  # noqa: PLC0415 - only here
        CannotEdit,
        edited,
        with_value,
    )

    wanted: Any = document.data
    path: tuple[str, ...] = ()
    try:
        for path, value in values:
            wanted = with_value(wanted, path, value)
            text = edited(text, path, value)
        if problems := _problems(wanted, document.source):
            raise DefinitionInvalid(problems)
        if parse_config(text.encode(), document.source).data != wanted:
            raise CannotEdit
    except CannotEdit as trouble:
        raise _refused(document, path, "set", trouble, "write it there yourself") from None
    return text


def _without(document: Document, text: str, path: tuple[str, ...]) -> str:
    from tongs.authoring.config_edit import (  # noqa: PLC0415 - only here
        CannotEdit,
        removed,
        without,
    )

    try:
        wanted, after = without(document.data, path), removed(text, path)
        # What nothing is left of but comments, or not even those, says nothing.
        left = parse_config(after.encode(), document.source).data if after.strip() else {}
        if left != wanted:
            raise CannotEdit
    except (CannotEdit, DefinitionInvalid) as trouble:
        raise _refused(document, path, "removed", trouble, "take it out yourself") from None
    return after if after.strip() else "# nothing is set here\n"


def _refused(
    document: Document, path: tuple[str, ...], done: str, trouble: Exception, hint: str
) -> ToolError:
    """One key that cannot be edited here. A file that is no config afterwards is unusual, too."""
    from tongs.authoring.config_edit import CannotEdit, key_of  # noqa: PLC0415 - only here

    why = trouble if isinstance(trouble, CannotEdit) else CannotEdit()
    line = why.line or document.line_of(path)
    return ToolError(
        ErrorCode.INVALID_ARGUMENTS,
        f"{document.source}:{line}: {key_of(path)} was not {done}: {why.reason}",
        hint=hint,
    )


def _problems(wanted: Any, source: str) -> list[Problem]:
    """What is wrong with settings that stand in no file yet, so they have no lines."""
    import json  # noqa: PLC0415 - only where something is set

    from tongs.runtime.ruling import rule_problems  # noqa: PLC0415 - as above
    from tongs.schema.check_document import check_document  # noqa: PLC0415 - as above

    after = parse_config(json.dumps(wanted, ensure_ascii=False).encode(), source)
    found = check_document(after, "config") or rule_problems(after, trusted=True)
    return [replace(problem, line=0) for problem in found]


def _readings(written: str) -> list[Any]:
    """What the words of a command line may mean, the likeliest first."""
    # As `--auto-deny a,b` takes it.
    readings: list[Any] = [written, [p.strip() for p in written.split(",") if p.strip()]]
    if "\n" in written or "#" in written:
        return readings  # no comment, and no second key
    with suppress(DefinitionInvalid):
        readings.insert(0, parse_config(f"value: {written}\n".encode(), "VALUE").data["value"])
    return readings


def is_unicode(text: str) -> bool:
    """Whether a word of the command line can stand in a file."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _mode(file: str) -> int:
    try:
        return stat.S_IMODE(os.stat(file).st_mode)
    except OSError:
        return 0o644
