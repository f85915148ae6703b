"""Definitions as files: written, removed, accepted. What a person does to tools, not with them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from tongs.config.places import Places
from tongs.core.annotations import TYPE_CHECKING
from tongs.core.digest import digest_of
from tongs.core.errors import BlockedBy, DefinitionInvalid, ErrorCode, ToolError
from tongs.core.record import dataclass
from tongs.core.scope import Scope
from tongs.core.tool import Origin, Tool, Trust
from tongs.runtime.bundle import MOST_BYTES, Bundle
from tongs.runtime.catalogue import Catalogue
from tongs.runtime.shapes import MANIFESTS
from tongs.sandbox.ancestry import inside_a_call
from tongs.store.files import read_whole, write_whole
from tongs.store.trust import Accepted, TrustStore

if TYPE_CHECKING:
    from tongs.audit.log import AuditLog


@dataclass(frozen=True, slots=True)
class NewFile:
    """One file of a tool that is to be written, at its whole path."""

    path: str
    data: bytes
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Definitions:
    places: Places
    catalogue: Catalogue
    trust: TrustStore
    audit: AuditLog

    def at(self, path: str) -> Tool:
        """The tool a file defines, in whatever folder it lies; raises ToolError."""
        return self.catalogue.at(path)

    def text(self, tool: Tool) -> str:
        """The definition as it stands now: its file, or every file of its directory."""
        return self.catalogue.bundle(tool).text.decode("utf-8", "replace")

    def text_to_accept(self, tool: Tool) -> str:
        """The text that goes with the very digest of this tool; ToolError if it changes."""
        bundle = self.catalogue.bundle(tool)
        if bundle.digest != tool.origin.digest:
            raise ToolError(
                ErrorCode.UNTRUSTED,
                f"{tool.origin.path} changes while it is read",
                hint="look again",
            )
        return bundle.text.decode("utf-8", "replace")

    def accepted_text(self, tool: Tool) -> str | None:
        """What the person accepted last time at this place, for showing the difference."""
        accepted = self.trust.accepted_text(tool.origin.path)
        return None if accepted is None else accepted.decode("utf-8", "replace")

    def accept(self, tool: Tool) -> None:
        """Accept the very bytes this tool was loaded from."""
        refuse_inside_a_call("trust a tool")
        if tool.trust is Trust.REVIEW:
            # More is to be read of it than a definition: who made it, and what it may do.
            raise ToolError(
                ErrorCode.UNTRUSTED,
                f"{tool.name} was created by {tool.creator} and waits for review",
                blocked_by=BlockedBy.TRUST,
                hint=f"tongs review {tool.name}",
            )
        bundle = self._unchanged(tool, f"tongs trust {tool.name}")
        # First the record: better one of a thing that failed than a thing without one.
        self.audit.trusted(tool.name, "user", tool.origin.digest[:16])
        self._pin(tool, bundle)

    def approve(self, tool: Tool) -> None:
        """Accept what an agent created, after a person has reviewed these very bytes."""
        refuse_inside_a_call("approve a tool")
        bundle = self._unchanged(tool, f"tongs review {tool.name}")
        self.audit.approved(tool.name, "user", tool.origin.digest[:16])
        self._pin(tool, bundle)

    def _unchanged(self, tool: Tool, again: str) -> Bundle:
        """Everything that defines the tool, if it still is what was read."""
        bundle = self.catalogue.bundle(tool)
        if bundle.digest != tool.origin.digest:
            raise ToolError(
                ErrorCode.UNTRUSTED,
                f"{tool.origin.path} changed while you were reading it",
                hint=f"look again: {again}",
            )
        return bundle

    def _pin(self, tool: Tool, bundle: Bundle) -> None:
        with refusals_said(f"{tool.name} was not accepted"):
            self.trust.accept(tool.origin.path, bundle.digest, bundle.text)

    def accept_config(self, path: str, seen: bytes) -> None:
        """Accept a project's config.yml as it was shown."""
        refuse_inside_a_call("trust settings")
        if read_whole(path, len(seen)) != seen:
            raise ToolError(
                ErrorCode.UNTRUSTED, f"{path} changed while you were reading it", hint="look again"
            )
        self.audit.trusted(path, "user", digest_of(seen)[:16])
        with refusals_said(f"{path} was not accepted"):
            self.trust.accept(path, digest_of(seen), seen, kind="config")

    def develop(self, path: str, seconds: float) -> str:
        """Trust a path for a while, whatever its author makes of it; until when."""
        refuse_inside_a_call("trust what is being written")
        self.audit.trusted(path, "user", f"dev for {seconds:g} s")
        with refusals_said(f"{path} was not trusted"):
            return self.trust.develop(path, seconds)

    def revoke(self, path: str) -> bool:
        with refusals_said(f"the acceptance of {path} was not taken back"):
            return self.trust.revoke(path)

    def accepted(self) -> list[Accepted]:
        return self.trust.accepted()

    def write(self, name: str, text: str, scope: Scope, *, force: bool = False) -> str:
        """Write a definition that loads; the person who wrote it has thereby accepted it.

        Raises DefinitionInvalid before anything is written, ToolError if it exists already.
        """
        refuse_inside_a_call("add a tool")
        path = os.path.join(self.places.folder_for_writing(scope), f"{name}.yaml")
        data = text.encode("utf-8")
        tool = self.catalogue.folders.load(path, Origin(scope=scope, format="yaml"), data)
        self._refuse_to_replace(name, path, scope, force=force)
        self.audit.created(name, "user", tool.permissions)
        with refusals_said(f"{path} was not written"):
            os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
            if scope is Scope.LOCAL:
                _keep_out_of_history(os.path.dirname(os.path.dirname(path)))
            write_whole(path, data, mode=0o644)
        if scope is Scope.LOCAL:
            with refusals_said(f"{path} was written, but not accepted"):
                self.trust.disown(path)
                self.trust.accept(path, tool.origin.digest, data)
        return path

    def create(
        self, name: str, files: Sequence[NewFile], scope: Scope, *, force: bool = False
    ) -> Tool:
        """Write a tool of any shape; the first file is its definition, and written is accepted.

        Nothing is left of one that does not load. Raises as `write` does.
        """
        refuse_inside_a_call("add a tool")
        definition = files[0].path
        self._refuse_to_replace(name, definition, scope, force=force)
        if not force and (taken := _taken(files)):
            raise _exists(taken)
        with refusals_said(f"{definition} was not written"):
            kept = {file.path: read_whole(file.path, MOST_BYTES) for file in files}
        try:
            with refusals_said(f"{definition} was not written"):
                for file in files:
                    os.makedirs(os.path.dirname(file.path), mode=0o755, exist_ok=True)
                    write_whole(file.path, file.data, mode=0o755 if file.executable else 0o644)
                if scope is Scope.LOCAL:
                    _keep_out_of_history(os.path.join(self.places.root, ".tongs"))
            tool = self._accepted(definition, scope)
            self.audit.created(name, "user", tool.permissions)
        except (ToolError, DefinitionInvalid):
            _put_back(kept)
            raise
        return tool

    def _accepted(self, path: str, scope: Scope) -> Tool:
        """The tool of files that were just written, trusted."""
        with refusals_said(f"{path} was written, but not accepted"):
            self.trust.disown(path)
        tool = self.catalogue.at(path)
        if scope is not Scope.LOCAL or tool.trust.holds:
            return tool
        with refusals_said(f"{path} was written, but not accepted"):
            bundle = self.catalogue.bundle(tool)
            self.trust.accept(tool.origin.path, bundle.digest, bundle.text)
        # Now an executable says what it is.
        return self.catalogue.at(path)

    def remove(self, name: str, scope: Scope) -> str:
        """Delete the file that answers to a name; the path it had."""
        refuse_inside_a_call("remove a tool")
        entry = self.catalogue.entry(name, scope)
        if entry.served:
            server = entry.name.partition("__")[0]
            raise ToolError(
                ErrorCode.PERMISSION_DENIED,
                f"{entry.name} is a tool of the MCP server {server}",
                hint=f"tongs mcp remove {server}, or `enabled: false` for this tool in its entry",
            )
        if entry.family != "tongs":
            raise ToolError(
                ErrorCode.PERMISSION_DENIED,
                f"{entry.path} belongs to {entry.family}; Tongs only reads it",
                hint="remove it with the program that owns it",
            )
        others = [e.name for e in self.catalogue.entries() if e.path == entry.path != ""]
        if len(others) > 1:
            raise ToolError(
                ErrorCode.INVALID_ARGUMENTS,
                f"{entry.path} was not removed: it also defines {_others(others, entry.name)}",
                hint="edit the file, or delete it yourself",
            )
        self.audit.removed(entry.name, "user")
        with refusals_said(f"{entry.path} was not removed"):
            if entry.format == "manifest":
                import shutil  # noqa: PLC0415 - loads the modules of every archive

                shutil.rmtree(os.path.dirname(entry.path))
            else:
                os.unlink(entry.path)
            self.trust.disown(entry.path)
        self.revoke(entry.path)
        return entry.path

    def refuse_servers_name(self, name: str) -> None:
        """Names that begin with that of a server are the server's."""
        if self.catalogue.is_served(name):
            raise ToolError(
                ErrorCode.INVALID_ARGUMENTS,
                f"`{name}` is kept for tools of the MCP server {name.partition('__')[0]}",
                hint="choose another name",
            )

    def _refuse_to_replace(self, name: str, path: str, scope: Scope, *, force: bool) -> None:
        self.refuse_servers_name(name)
        taken = [e.path for e in self.catalogue.entries(scope) if e.name == name]
        others = [other for other in taken if other != path]
        if others:
            raise ToolError(
                ErrorCode.INVALID_ARGUMENTS,
                f"{others[0]} already defines `{name}` in {scope} scope",
                hint="choose another name, or remove that one first",
            )
        if os.path.lexists(path) and not force:
            raise _exists(path)


def _others(names: Sequence[str], name: str) -> str:
    return ", ".join(other for other in names if other != name)


def _taken(files: Sequence[NewFile]) -> str:
    """What would be replaced, or would become a part of the tool without anybody having seen it."""
    for file in files:
        if os.path.lexists(file.path):
            return file.path
    folder, name = os.path.split(files[0].path)
    return folder if name in MANIFESTS and os.path.isdir(folder) and os.listdir(folder) else ""


def _exists(path: str) -> ToolError:
    return ToolError(
        ErrorCode.INVALID_ARGUMENTS, f"{path} already exists", hint="add --force to replace it"
    )


def _put_back(kept: Mapping[str, bytes | None]) -> None:
    """What was there before a definition was written that does not load."""
    for path, data in kept.items():
        with suppress(OSError):
            if data is None:
                os.unlink(path)
            else:
                write_whole(path, data, mode=os.stat(path).st_mode & 0o777)
    for path in kept:
        with suppress(OSError):
            os.rmdir(os.path.dirname(path))  # only where nothing else is in it


@contextmanager
def refusals_said(what: str) -> Iterator[None]:
    """What the system refuses is the person's to mend, so the place is named."""
    try:
        yield
    except OSError as error:
        folder = os.path.dirname(os.fsdecode(error.filename or ""))
        raise ToolError(
            ErrorCode.PERMISSION_DENIED,
            f"{what}: {error.strerror}",
            hint=f"check who may write to {folder}" if folder else "",
        ) from None


def refuse_inside_a_call(what: str) -> None:
    """Authority belongs to the person: a tool that runs `tongs trust` would give it to itself."""
    if inside_a_call():
        raise ToolError(
            ErrorCode.DENIED,
            f"a tool may not {what}, and this process was started by one",
            blocked_by=BlockedBy.TRUST,
            hint="do it yourself, outside of a tool",
        )


def _keep_out_of_history(folder: str) -> None:
    from tongs.audit.readable import keep_out_of_history  # noqa: PLC0415 - only where one writes

    keep_out_of_history(folder)
