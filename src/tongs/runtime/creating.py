"""Tools that agents create: below the ceiling, and held until a person has read them.

An agent is taken for an attacker who knows this file. It may neither take the place of a tool that
somebody else made, nor inherit what a person has granted to a name, nor bring code along.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from tongs.authoring import created
from tongs.builtin import ALIASES, MODULES
from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.errors import BlockedBy, DefinitionInvalid, ErrorCode, Problem, Severity, ToolError
from tongs.core.permissions import Permissions, covered
from tongs.core.record import dataclass, replace
from tongs.core.scope import Scope
from tongs.core.tool import Origin, Tool
from tongs.output import visible
from tongs.policy.rules import selectors
from tongs.registry import RESERVED, Entry
from tongs.runtime.ceiling import require_within
from tongs.runtime.definitions import refusals_said, refuse_inside_a_call
from tongs.runtime.linting import linter_of
from tongs.runtime.shapes import MANIFEST
from tongs.store.files import write_whole

if TYPE_CHECKING:
    from tongs.runtime import Runtime

# As in the schemas.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_CREATOR = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@:/+-]{0,63}")
# Who approves and trusts, in the record.
_PERSON = "user"
# Tools of these names in lists that models read stand for an executable.
_PREFIX = "custom_tool_"


@dataclass(frozen=True, slots=True)
class Created:
    """A tool that waits for review. `changed`: it replaced an earlier version by the same agent."""

    tool: Tool
    path: str
    changed: bool
    findings: tuple[Problem, ...]

    def to_wire(self) -> dict[str, Any]:
        permissions = self.tool.permissions or Permissions()
        return {
            "name": self.tool.name,
            "creator": self.tool.creator,
            "path": self.path,
            "changed": self.changed,
            "trust": str(self.tool.trust),
            "permissions": permissions.to_wire(),
            "findings": [finding.to_wire() for finding in self.findings],
        }


def create_tool(
    runtime: Runtime, name: str, definition: Mapping[str, Any] | str, creator: str
) -> Created:
    """Write a definition by an agent; raises ToolError, and then nothing was written."""
    refuse_inside_a_call("create a tool")
    _check_creator(creator)
    changed = _check_name(runtime, name, creator)
    folder = _tools_folder(runtime)
    final = os.path.join(folder, name, "tool.yml")
    try:
        text = _text(definition, name, creator)
        with _staged(folder, name, text.encode()) as staged:
            tool, findings = _checked(runtime, staged, final, name)
            require_within(name, tool.permissions, runtime.settings, runtime.places)
            # As wherever something is decided: first the record, then the thing.
            runtime.audit.created(name, creator, tool.permissions)
            _publish(runtime, os.path.dirname(staged), final, creator, changed=changed)
    except DefinitionInvalid as invalid:
        raise invalid.as_tool_error(name) from None
    return Created(runtime.definitions.at(final), final, changed, findings)


def _check_creator(creator: str) -> None:
    if not isinstance(creator, str) or not _CREATOR.fullmatch(creator) or creator == _PERSON:
        raise ToolError(
            ErrorCode.INVALID_ARGUMENTS,
            f"`{visible(str(creator))[:80]}` is no name for the agent that creates a tool",
            hint="letters, digits and `_.@:/+-`, as in claude; `user` is the person",
        )


def _check_name(runtime: Runtime, name: str, creator: str) -> bool:
    """Whether the agent's own tool is replaced; ToolError where the name is not its to take."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise _refused(
            f"`{visible(str(name))[:80]}` is no name for a tool",
            "letters, digits, `_`, `.` and `-`, and neither `.` nor `-` at its start",
        )
    prefix = runtime.settings.custom_tools.prefix
    plain = name.casefold()
    if plain in {*MODULES, *ALIASES, *RESERVED} or plain.startswith(
        (_PREFIX, prefix.casefold() or _PREFIX)
    ):
        raise _refused(f"`{name}` is a name that Tongs keeps for itself", "choose another name")
    final = os.path.join(runtime.places.local_folder_for_writing, name, "tool.yml")
    known = runtime.definitions.trust.creation(final)
    if known is not None and os.path.lexists(final):
        if known.creator != creator:
            raise _refused(f"`{name}` was created by {known.creator}", "choose another name")
    elif os.path.lexists(os.path.dirname(final)):
        raise _refused(f"{os.path.dirname(final)} exists already", "choose another name")
    _refuse_taken(runtime, name, final)
    changed = os.path.lexists(final)
    if not changed:
        _refuse_granted(runtime, name)
    return changed


def _refuse_taken(runtime: Runtime, name: str, final: str) -> None:
    """Names that differ in their letters' case only are one to a reader, and to some disks."""
    runtime.definitions.refuse_servers_name(name)
    for entry in runtime.entries():
        if entry.name.casefold() == name.casefold() and entry.path != final:
            raise _refused(f"{entry.path} already defines `{entry.name}`", "choose another name")
    if name in runtime.registry.tools:
        raise _refused(f"`{name}` is a tool of this program", "choose another name")


def _refuse_granted(runtime: Runtime, name: str) -> None:
    """What a person wrote for a tool of this name was not meant for one that did not exist yet."""
    settings = runtime.settings
    named = {selector.text.rpartition(":")[2] for selector in selectors(settings.auto_approve)}
    if name in settings.tools or name in named:
        raise _refused(
            f"the config already gives something to a tool called `{name}`",
            "choose another name, or let a person take it out of `tools` and `auto_approve`",
        )


def _tools_folder(runtime: Runtime) -> str:
    """The project's tool folder; a link in its place could lead out of the project."""
    places = runtime.places
    folder = places.local_folder_for_writing
    if places.project is None:
        raise _refused(
            "there is no project here in which a tool could be created",
            "make a folder .tongs in the project",
        )
    # What lies in the person's folder, or in the machine's, is trusted for its place.
    persons = covered(folder, (places.user_folder, places.global_folder))
    if persons or os.path.realpath(folder) != folder:
        raise _refused(f"{folder} is no folder of this project", "create it in another project")
    return folder


def _text(definition: Mapping[str, Any] | str, name: str, creator: str) -> str:
    """The definition as it is stored: what is read is written anew, so nothing hides in it."""
    from tongs.authoring.yaml_text import yaml_text  # noqa: PLC0415 - loads a YAML writer

    data = created.read(definition, name) if isinstance(definition, str) else definition
    if not isinstance(data, Mapping):
        raise DefinitionInvalid([Problem(name, "must be keys and values, as in tool.yml")])
    try:
        return yaml_text(created.completed(_plain(data), name, creator))
    except (ValueError, RecursionError) as error:
        raise DefinitionInvalid([Problem(name, f"is no data: {error}")]) from None


def _plain(data: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON has it, so that no object of the caller's decides how it is written."""
    import json  # noqa: PLC0415 - only here

    try:
        text = json.dumps(dict(data), allow_nan=False)
    except TypeError as error:
        raise ValueError(error) from None
    copied: dict[str, Any] = json.loads(text)
    return copied


@contextmanager
def _staged(folder: str, name: str, data: bytes) -> Iterator[str]:
    """A directory beside its place, under a name that nobody looks at; gone afterwards."""
    beside = os.path.join(folder, f".new-{os.urandom(6).hex()}")
    path = os.path.join(beside, name, "tool.yml")
    with refusals_said(f"{name} was not created"):
        os.makedirs(os.path.dirname(path), mode=0o755)
    try:
        with refusals_said(f"{name} was not created"):
            write_whole(path, data, mode=0o644)
        yield path
    finally:
        with suppress(OSError):
            os.unlink(path)
        for left in (os.path.dirname(path), beside):
            with suppress(OSError):
                os.rmdir(left)


def _checked(
    runtime: Runtime, staged: str, final: str, name: str
) -> tuple[Tool, tuple[Problem, ...]]:
    """The tool, and what lint says of it; DefinitionInvalid for an error."""
    entry = Entry(name, path=staged, format=MANIFEST)
    found = linter_of(runtime).look(entry, project=runtime.places.root)
    problems = list(found.problems)
    errors = [problem for problem in problems if problem.severity is Severity.ERROR]
    if not errors and found.document is not None:
        problems = created.problems(found.document) + problems
        errors = [problem for problem in problems if problem.severity is Severity.ERROR]
    moved = [replace(problem, file=final) for problem in problems]
    if errors:
        raise DefinitionInvalid([p for p in moved if p.severity is Severity.ERROR])
    origin = Origin(Scope.LOCAL, format=MANIFEST, project=runtime.places.root)
    return runtime.definitions.catalogue.folders.load(staged, origin), tuple(moved)


def _publish(runtime: Runtime, staged: str, final: str, creator: str, *, changed: bool) -> None:
    """Whole or not at all. The mark comes first: without it the tool could pass for a person's."""
    from tongs.audit.readable import keep_out_of_history  # noqa: PLC0415 - only here

    trust, folder = runtime.definitions.trust, os.path.dirname(final)
    known = trust.creation(final) is not None
    with refusals_said(f"{final} was not written"):
        trust.created(final, creator)
        try:
            if changed:
                os.replace(os.path.join(staged, "tool.yml"), final)
            else:
                os.rename(staged, folder)
        except OSError:
            if not known:
                trust.disown(final)
            raise
        keep_out_of_history(os.path.dirname(os.path.dirname(folder)))


def _refused(message: str, hint: str) -> ToolError:
    return ToolError(ErrorCode.INVALID_ARGUMENTS, message, blocked_by=BlockedBy.TRUST, hint=hint)
