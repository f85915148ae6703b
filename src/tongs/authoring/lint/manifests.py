"""What is odd about a manifest (`tool.yml`), beyond what loading it says."""

from __future__ import annotations

import os.path
import re
from collections.abc import Callable, Iterator, Mapping

from tongs.authoring.lint.loading import SHAPELESS, named
from tongs.authoring.lint.manifest_files import file_problems, mentions
from tongs.authoring.lint.settings import odd_timeout
from tongs.authoring.lint.shared import Declared, input_descriptions, shared_problems
from tongs.core.annotations import Any
from tongs.core.errors import DefinitionInvalid, Problem, Severity
from tongs.core.record import dataclass
from tongs.schema.document import Document, PathTuple

_NAME = re.compile(r"(?<!\$)\$\{([^{}]*)\}")
# Scheme and host, where neither holds a value.
_ADDRESS = re.compile(r"https?://(?:[^/?#@]*@)?([^/?#:$]+)(?::(\d+))?(?:[/?#]|$)", re.IGNORECASE)
_FIXES = {
    "schema": "compare with `tongs schema manifest`",
    "definition": "compare with `tongs schema manifest`, and the manifests in the documentation",
}
_PROPERTIES = ("inputs", "schema", "properties")


@dataclass(frozen=True, slots=True)
class ManifestPlace:
    """Where a manifest lies. `load` raises DefinitionInvalid; paths in it start at `base`."""

    load: Callable[[Document], object]
    base: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest that fits the schema, as the checks see it."""

    declared: Declared
    base: str

    @property
    def data(self) -> Mapping[str, Any]:
        return self.declared.data

    @property
    def folder(self) -> str:
        return os.path.dirname(self.declared.file)

    @property
    def kind(self) -> str:
        """What it does, whatever `kind` says."""
        return str(next(iter(self.data["exec"])))

    @property
    def body(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.data["exec"][self.kind]
        return found

    @property
    def path(self) -> PathTuple:
        return ("exec", self.kind)

    def finding(self, rule: str, path: PathTuple, message: str, **more: Any) -> Problem:
        return self.declared.finding(rule, path, message, **more)


def lint_manifest(document: Document, place: ManifestPlace) -> list[Problem]:
    """Every Problem of one manifest by itself."""
    problems: list[Problem] = []
    try:
        place.load(document)
    except DefinitionInvalid as invalid:
        problems = named(invalid.problems, _FIXES)
    if any(problem.rule in SHAPELESS for problem in problems):
        return problems
    manifest = view(document, place.base)
    known = {problem.field for problem in problems}
    for check in CHECKS:
        # What makes the tool unusable needs no second opinion.
        problems += [problem for problem in check(manifest) if problem.field not in known]
    return problems + list(shared_problems(manifest.declared))


def view(document: Document, base: str) -> Manifest:
    """For a document that the schema has accepted."""
    inputs = (document.data.get("inputs") or {}).get("schema") or {}
    return Manifest(Declared(document.source, document.data, inputs, document), base)


def names_in(data: Any) -> set[str]:
    """Every `x` of a `${x}` in the structure."""
    if isinstance(data, str):
        return set(_NAME.findall(data))
    entries = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return set().union(*map(names_in, entries))


def unused_inputs(manifest: Manifest) -> Iterator[Problem]:
    used = names_in(manifest.body)
    for name in manifest.declared.properties:
        if name not in used:
            yield manifest.finding(
                "unused-input",
                (*_PROPERTIES, name),
                f"nothing in exec.{manifest.kind} uses ${{{name}}}",
            )


def unused_secrets(manifest: Manifest) -> Iterator[Problem]:
    """A program finds its secrets in the environment, so its own text may name them, too."""
    used = names_in(manifest.body)
    for name in manifest.declared.secrets:
        if name in used or (manifest.kind != "http" and mentions(manifest, name)):
            continue
        yield manifest.finding(
            "unused-secret",
            ("permissions", "secrets", name),
            f"nothing in exec.{manifest.kind} uses ${{{name}}}",
        )


def secrets_in_args(manifest: Manifest) -> Iterator[Problem]:
    if manifest.kind != "command":
        return
    for number, word in enumerate(manifest.body.get("args") or ()):
        for name in sorted(names_in(word) & set(manifest.declared.secrets)):
            yield manifest.finding(
                "secret-in-args",
                (*manifest.path, "args", number),
                f"${{{name}}} is visible to everybody while the program runs",
                fix=f"drop it: the program finds {name} in its environment, or give it by `stdin`",
            )


def wide_network(manifest: Manifest) -> Iterator[Problem]:
    if manifest.kind != "http" or manifest.declared.permissions.get("network") is not True:
        return
    address = _ADDRESS.match(manifest.body["url"])
    if address is None:
        return
    host = address[1] if address[2] in (None, "80", "443") else f"{address[1]}:{address[2]}"
    yield manifest.finding(
        "wide-network",
        ("permissions", "network"),
        f"any host may be reached, but only {host} is needed",
        fix=f"write `network: [{host}]`",
    )


def inputs(manifest: Manifest) -> Iterator[Problem]:
    yield from input_descriptions(manifest.declared, _PROPERTIES)
    schema = manifest.declared.inputs
    if schema.get("properties") and "additionalProperties" not in schema:
        message = "an input that is not declared is accepted and ignored"
        yield manifest.finding("open-inputs", ("inputs", "schema"), message)


def examples(manifest: Manifest) -> Iterator[Problem]:
    if not manifest.data.get("examples"):
        yield manifest.finding("no-examples", (), "the tool has no examples")


def timeouts(manifest: Manifest) -> Iterator[Problem]:
    wanted = manifest.body.get("timeout_ms")
    if wanted is not None and (odd := odd_timeout(wanted, "timeout_ms")) is not None:
        message, fix, severity = odd
        where = (*manifest.path, "timeout_ms")
        yield manifest.finding("suspicious-timeout", where, message, fix=fix, severity=severity)


def asking(manifest: Manifest) -> Iterator[Problem]:
    """Who writes that nobody need be asked expects that nobody is."""
    approval = manifest.data.get("approval") or {}
    levels = {"read", "write", "run"}.intersection(manifest.data.get("tags") or ())
    if approval.get("required") is False and not levels:
        yield manifest.finding(
            "no-security-tag",
            ("approval", "required"),
            "no tag says whether the tool reads, writes or runs: agents ask all the same",
            severity=Severity.NOTE,
        )


CHECKS: tuple[Callable[[Manifest], Iterator[Problem]], ...] = (
    unused_inputs,
    unused_secrets,
    secrets_in_args,
    wide_network,
    inputs,
    examples,
    timeouts,
    asking,
    file_problems,
)
