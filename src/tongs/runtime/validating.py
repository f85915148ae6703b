"""One tool, looked at step by step while it is being written.

Nothing of it is started but the `description` and `config` of an executable, in the sandbox, and
the `--version` of what it requires.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator, Iterator, Sequence

from tongs.authoring import made_up
from tongs.core.annotations import TYPE_CHECKING
from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.digest import digest_of
from tongs.core.errors import DefinitionInvalid, Problem, ToolError
from tongs.core.record import dataclass, replace
from tongs.core.tool import Tool, Trust
from tongs.registry import SERVED, Entry
from tongs.runtime.explaining import Explanation, explained
from tongs.runtime.probing import State, Step, Stopped, configured, first_line, probed
from tongs.runtime.shapes import ENDINGS, EXECUTABLE, MANIFEST, PYTHON

if TYPE_CHECKING:
    from tongs.runtime import Runtime

SHAPES = {
    "yaml": "a YAML file",
    EXECUTABLE: "an executable",
    MANIFEST: "a manifest",
    PYTHON: "a Python file",
    SERVED: "a tool of an MCP server",
}


@dataclass(frozen=True, slots=True)
class Validating:
    """`may_run` is asked before an executable runs that nobody has trusted."""

    runtime: Runtime
    may_run: Callable[[str], bool]

    def steps(self, entry: Entry) -> Iterator[Step]:
        """The whole story of one definition; it ends where the tool cannot be loaded."""
        try:
            yield self._found(entry)
            if entry.format == EXECUTABLE:
                tool = yield from self._executable(entry)
            elif entry.format == PYTHON:
                tool = yield from self._python(entry)
            elif entry.served:
                tool = self.runtime.find(entry.qualified_name)
                yield _defined(tool)
            else:
                tool = yield from self._file(entry)
        except Stopped as stopped:
            yield stopped.step
            return
        if not entry.served:
            trust = self.runtime.definitions.catalogue.trust_of(tool.origin)
            tool = replace(tool, trust=trust)
        yield from self._permissions(tool)
        yield self._requirements(tool)
        yield self._trust(tool)
        yield from self._examples(tool)
        yield self._dry_run(tool)

    def _found(self, entry: Entry) -> Step:
        text = f"{entry.path}, {SHAPES[entry.format]} in {entry.scope} scope"
        misplaced = [problem for problem in entry.problems if "define the same tool" in problem]
        if misplaced:
            raise Stopped(Step("found", State.FAIL, text, tuple(misplaced)))
        name = os.path.basename(entry.path)
        if entry.format == "yaml" and not name.endswith(ENDINGS):
            raise Stopped(
                Step(
                    "found",
                    State.FAIL,
                    f"{entry.path} is neither YAML nor executable",
                    hint=f"chmod +x {entry.path}, or name it {name}.yaml",
                )
            )
        return Step("found", State.OK, text)

    def _file(self, entry: Entry) -> Generator[Step, None, Tool]:
        """YAML and manifests: read, checked against their schema, then loaded."""
        from tongs.schema.check_document import check_document  # noqa: PLC0415 - as the formats do
        from tongs.schema.document import parse  # noqa: PLC0415 - as above

        folders = self.runtime.definitions.catalogue.folders
        schema = "manifest" if entry.format == MANIFEST else "tool.yaml"
        try:
            data = folders.read(entry.path)
            document = parse(data, entry.path)
        except ToolError as error:
            raise Stopped(Step("reads", State.FAIL, error.message)) from None
        except DefinitionInvalid as invalid:
            raise Stopped(_problems("reads", invalid.problems)) from None
        yield Step("reads", State.OK, f"{len(data)} bytes of YAML")
        if problems := check_document(document, schema):
            raise Stopped(_problems("schema", problems))
        yield Step("schema", State.OK, f"fits the schema `{schema}`")
        tool = self._loaded(lambda: folders.load(entry.path, folders.origin_of(entry), data))
        yield _defined(tool)
        return tool

    def _executable(self, entry: Entry) -> Generator[Step, None, Tool]:
        """An executable says itself what it is, if it may be run."""
        from tongs.formats import executable  # noqa: PLC0415 - executables only

        catalogue = self.runtime.definitions.catalogue
        folders = catalogue.folders
        describer = folders.describer()
        try:
            data = describer.read(entry.path)
        except ToolError as error:
            raise Stopped(Step("reads", State.FAIL, error.message)) from None
        yield Step("reads", State.OK, f"{len(data)} bytes, {first_line(data)}")
        origin = replace(
            folders.origin_of(entry), path=entry.path, digest=digest_of(data), format=EXECUTABLE
        )
        if not catalogue.trust_of(origin).holds and not self.may_run(entry.path):
            raise Stopped(_not_run(f"read it, then add --yes, or: tongs trust {entry.path}"))
        description = yield from probed(describer, origin, data)
        config = yield from configured(describer, origin, data)
        described = executable.Described(description, config)
        tool = self._loaded(
            lambda: executable.load(described, origin, data, describer.settings), "schema"
        )
        yield Step("schema", State.OK, "the description fits the schema `description`")
        yield _defined(tool)
        return tool

    def _python(self, entry: Entry) -> Generator[Step, None, Tool]:
        """A Python file is imported to tell its tools, if it may be."""
        catalogue = self.runtime.definitions.catalogue
        try:
            data = catalogue.folders.read(entry.path)
        except ToolError as error:
            raise Stopped(Step("reads", State.FAIL, error.message)) from None
        yield Step("reads", State.OK, f"{len(data)} bytes")
        origin = catalogue.folders.origin_of(entry)
        located = replace(origin, path=entry.path, digest=digest_of(data))
        if not catalogue.trust_of(located).holds:
            raise Stopped(_not_run(f"read it, then: tongs trust {entry.path}"))
        tool = self._loaded(lambda: catalogue.folders.load(entry.path, origin, data))
        yield _defined(tool)
        return tool

    def _loaded(self, load: Callable[[], Tool], step: str = "definition") -> Tool:
        try:
            return self.runtime.definitions.catalogue.linked(load())
        except DefinitionInvalid as invalid:
            raise Stopped(_problems(step, invalid.problems)) from None
        except ToolError as error:
            raise Stopped(Step(step, State.FAIL, error.message, hint=error.hint)) from None

    def _permissions(self, tool: Tool) -> Iterator[Step]:
        found = explained(self.runtime, tool)
        if found.refusal is not None:
            message = f"a call would be refused: {found.refusal.message}"
            yield Step("permissions", State.FAIL, message, hint=found.refusal.hint)
            return
        declared = "declared" if tool.permissions is not None else "from its tags"
        hint = f"tongs sandbox explain {tool.name} shows all of it"
        yield Step("permissions", State.OK, declared, tuple(_in_words(found)), hint)
        if found.missing_secrets:
            names = ", ".join(found.missing_secrets)
            hint = f"export {found.missing_secrets[0]}=…, or test with --fake-secrets"
            yield Step("secrets", State.NOTE, f"not in the environment: {names}", hint=hint)

    def _requirements(self, tool: Tool) -> Step:
        if not tool.requires:
            return Step("requirements", State.OK, "none")
        # To ask a program for its version is to run it, and the project may have brought it.
        trusted = tool.trust.holds
        lacks = self.runtime.missing(tool) if trusted else self.runtime.absent(tool)
        if not lacks and not trusted:
            wanted = ", ".join(tool.requires)
            return Step("requirements", State.NOTE, f"not looked at before it is trusted: {wanted}")
        if not lacks:
            return Step("requirements", State.OK, f"all there: {', '.join(tool.requires)}")
        lines = tuple(f"{lack.requirement}: {lack.found}, {lack.hint}" for lack in lacks)
        return Step("requirements", State.FAIL, "not all there", lines)

    def _trust(self, tool: Tool) -> Step:
        said = {
            Trust.PLACE: "by its place",
            Trust.ACCEPTED: "accepted as it is",
            Trust.DEV: "while you work on it",
            Trust.UNTRUSTED: "nobody has accepted it yet",
            Trust.CHANGED: "it changed since it was accepted",
            Trust.REVIEW: f"{tool.creator} created it, and it waits for review",
        }[tool.trust]
        if tool.trust.holds:
            return Step("trust", State.OK, said)
        if tool.trust is Trust.REVIEW:
            return Step("trust", State.NOTE, said, hint=f"tongs review {tool.name}")
        if tool.executor == SERVED:
            return Step("trust", State.NOTE, said, hint=f"tongs mcp pin {tool.plan.server.name}")
        path = tool.origin.path
        hint = f"tongs trust {path}, or while you work on it: tongs trust --dev {path}"
        return Step("trust", State.NOTE, said, hint=hint)

    def _examples(self, tool: Tool) -> Iterator[Step]:
        from tongs.schema.check import violations, with_defaults  # noqa: PLC0415 - as the wiring

        if not tool.examples:
            hint = "models and `tongs tool test` use them: tongs help tool test"
            yield Step("examples", State.NOTE, "none", hint=hint)
            return
        wrong = [
            f"example {number}: {violation}"
            for number, example in enumerate(tool.examples, 1)
            for violation in violations(
                tool.input_schema, with_defaults(tool.input_schema, example.get("params") or {})
            )
        ]
        count = len(tool.examples)
        if wrong:
            text = "params that the tool would refuse"
            yield Step("examples", State.FAIL, text, tuple(wrong))
        else:
            yield Step("examples", State.OK, f"{count}, run by: tongs tool test {tool.name}")

    def _dry_run(self, tool: Tool) -> Step:
        given = bool(tool.examples)
        arguments = (
            tool.examples[0].get("params") or {} if given else made_up.arguments(tool.input_schema)
        )
        self.runtime.registry.register(tool)
        caller = Caller(CallerKind.PERSON, "user")
        call = ToolCall("validate", tool.name, arguments, caller)
        result = self.runtime.validate(call, preview=True)
        source = "the first example" if given else "made-up arguments"
        shown = json.dumps(dict(arguments), ensure_ascii=False)
        if result.error is not None:
            # What was made up need not fit; what the author wrote has to.
            state = State.FAIL if given else State.NOTE
            text = f"{result.error.message} (with {source}: {shown})"
            return Step("dry run", state, text, hint=result.error.hint)
        lines = tuple(result.output.splitlines())
        return Step("dry run", State.OK, f"with {source} {shown} it would run", lines)


def _problems(name: str, problems: Sequence[Problem]) -> Step:
    lines = []
    for problem in problems:
        lines.append(str(problem))
        lines += [f"hint: {line}" for line in problem.hint.splitlines()]
    number = len(problems)
    return Step(name, State.FAIL, "1 problem" if number == 1 else f"{number} problems", (*lines,))


def _not_run(hint: str) -> Step:
    text = "it was not run, since nobody has accepted it yet"
    return Step("probe", State.FAIL, text, hint=hint)


def _defined(tool: Tool) -> Step:
    inputs = ", ".join(tool.input_schema.get("properties") or {}) or "none"
    return Step("definition", State.OK, f"{tool.name}, inputs: {inputs}")


def _in_words(found: Explanation) -> Iterator[str]:
    permissions = found.permissions
    network = permissions.network
    reach = ("all of it" if network else "") if isinstance(network, bool) else ", ".join(network)
    yield f"network: {reach or 'off'}"
    # What may be written may be read, and often says both.
    readable = dict.fromkeys(permissions.readable)
    yield f"reads: {', '.join(readable) or 'nothing of yours'}"
    yield f"writes: {', '.join(permissions.write) or 'nothing'}"
    if permissions.scratch:
        yield f"may write, and nothing is kept: {', '.join(permissions.scratch)}"
    names = ", ".join(secret.name for secret in permissions.secrets)
    yield f"secrets: {names or 'none'}"
