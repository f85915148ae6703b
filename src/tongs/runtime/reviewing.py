"""What a person reads before a tool that an agent created may run."""

from __future__ import annotations

from collections.abc import Iterator

from tongs.authoring import created
from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.errors import ErrorCode, Problem, ToolError
from tongs.core.permissions import Permissions
from tongs.core.record import dataclass
from tongs.core.scope import Scope
from tongs.core.tool import Tool, Trust
from tongs.runtime.ceiling import excesses, require_within
from tongs.runtime.definitions import refuse_inside_a_call
from tongs.runtime.linting import linter_of

if TYPE_CHECKING:
    from tongs.registry import Entry
    from tongs.runtime import Runtime


@dataclass(frozen=True, slots=True)
class Review:
    """One tool as it is now. `before` is what was approved last time, None where nothing was."""

    tool: Tool
    when: str
    text: str
    before: str | None
    findings: tuple[Problem, ...]
    # What goes beyond a ceiling by now; the tool cannot run like this.
    beyond: tuple[str, ...]

    @property
    def waits(self) -> bool:
        return self.tool.trust is Trust.REVIEW

    def to_wire(self) -> dict[str, Any]:
        permissions = self.tool.permissions or Permissions()
        return {
            "name": self.tool.name,
            "creator": self.tool.creator,
            "when": self.when,
            "waits": self.waits,
            "path": self.tool.origin.path,
            "digest": self.tool.origin.digest,
            "permissions": permissions.to_wire(),
            "may": list(in_words(permissions)),
            "beyond": list(self.beyond),
            "findings": [finding.to_wire() for finding in self.findings],
            "definition": self.text,
            "before": self.before,
        }


def in_words(permissions: Permissions) -> Iterator[str]:
    """What these let a tool do, a sentence each."""
    network = permissions.network
    if network is True:
        yield "reach every host of the internet"
    elif network:
        yield f"reach {', '.join(network)}"
    else:
        yield "reach no host"
    yield _files("read", permissions.read, "read no file but its own")
    yield _files("read and change", permissions.write, "change no file")
    names = ", ".join(secret.name for secret in permissions.secrets)
    yield f"be given these secrets: {names}" if names else "be given no secret"


def waiting(runtime: Runtime) -> list[Entry]:
    """Every tool here that no person has read as it is."""
    return [entry for entry in runtime.entries(Scope.LOCAL) if entry.trust is Trust.REVIEW]


def review_of(runtime: Runtime, name: str) -> Review:
    """What there is to read about one tool; ToolError where no agent created it."""
    tool = runtime.find(name)
    creation = runtime.definitions.trust.creation(tool.origin.path)
    if creation is None:
        raise ToolError(
            ErrorCode.INVALID_ARGUMENTS,
            f"{tool.name} was not created by an agent",
            hint=f"tongs trust {tool.name}",
        )
    return of_tool(runtime, tool)


def of_tool(runtime: Runtime, tool: Tool) -> Review:
    creation = runtime.definitions.trust.creation(tool.origin.path)
    entry = runtime.definitions.catalogue.folders.entry_at(tool.origin.path)
    too_much = excesses(tool.permissions, runtime.settings, runtime.places)
    found = linter_of(runtime).look(entry)
    # Somebody may have written to the file past the checks of `create`.
    own = [] if found.document is None else created.problems(found.document)
    return Review(
        tool=tool,
        when="" if creation is None else creation.when,
        text=runtime.definitions.text_to_accept(tool),
        before=runtime.definitions.accepted_text(tool),
        findings=tuple(own + found.problems),
        beyond=tuple(f"{line} ({one.source})" for one in too_much for line in one.lines()),
    )


def approve(runtime: Runtime, review: Review) -> None:
    """A person has read this very text, and wants it to run when it is asked for."""
    refuse_inside_a_call("approve a tool")
    tool = review.tool
    require_within(tool.name, tool.permissions, runtime.settings, runtime.places)
    runtime.definitions.approve(tool)


def _files(verb: str, paths: tuple[str, ...], nothing: str) -> str:
    shown = ", ".join("the whole project" if path in (".", "./") else path for path in paths)
    return f"{verb} {shown}" if shown else nothing
