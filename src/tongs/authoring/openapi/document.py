"""An OpenAPI 3 document: read from its own bytes alone, checked, and its operations listed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from tongs.core.annotations import Any
from tongs.core.errors import DefinitionInvalid, ErrorCode, Problem, ToolError
from tongs.core.record import dataclass
from tongs.schema.nearest import nearest

MOST_BYTES = 32 * 1024 * 1024
_MOST_NODES = 2_000_000
# As deep as YAML may be.
_DEEPEST = 64
METHODS = ("get", "head", "post", "put", "patch", "delete", "options")

# Inside these a `$ref` is data and refers to nothing.
_DATA = frozenset(("example", "examples", "default", "enum", "const"))
_MOST_PROBLEMS = 10


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that can be asked for. `shared` are the parameters of its path."""

    id: str
    method: str
    path: str
    data: Mapping[str, Any]
    shared: tuple[Any, ...] = ()
    servers: tuple[Any, ...] = ()

    @property
    def title(self) -> str:
        return f"{self.method.upper()} {self.path}"

    @property
    def summary(self) -> str:
        text = self.data.get("summary") or self.data.get("description") or ""
        return " ".join(str(text).split())


class OpenApi:
    """`data` is a document that the library has found good. Nothing outside of it is ever read."""

    def __init__(self, data: Mapping[str, Any], source: str) -> None:
        self.data = data
        self.source = source
        self._resolver = _resolver(data)

    @property
    def is_30(self) -> bool:
        """Whether its schemas are in the older dialect."""
        return str(self.data.get("openapi", "")).startswith("3.0")

    def followed(self, node: Any) -> Any:
        """What a node is, after its references."""
        seen = 0
        while isinstance(node, Mapping) and isinstance(node.get("$ref"), str):
            seen += 1
            if seen > 50:
                raise _unusable(self.source, f"the reference {node['$ref']} leads in a circle")
            node = self.target(node["$ref"])
        return node

    def target(self, reference: str) -> Any:
        """What a local reference names."""
        from referencing.exceptions import Unresolvable  # noqa: PLC0415 - part of the extra

        try:
            return self._resolver.lookup(reference).contents
        except Unresolvable:
            raise _unusable(self.source, f"the reference {reference} leads nowhere") from None

    def operations(self) -> Iterator[Operation]:
        """In the order of the document."""
        for path, item in (self.data.get("paths") or {}).items():
            whole = self.followed(item)
            for method in METHODS:
                if isinstance(whole, Mapping) and isinstance(whole.get(method), Mapping):
                    data = whole[method]
                    servers = (
                        data.get("servers") or whole.get("servers") or self.data.get("servers")
                    )
                    yield Operation(
                        str(data.get("operationId") or f"{method.upper()} {path}"),
                        method,
                        path,
                        data,
                        tuple(whole.get("parameters") or ()),
                        tuple(servers or ()),
                    )

    def operation(self, wanted: str | None) -> Operation:
        """By its id, or by `GET /path`; without a wish the only one there is."""
        known = list(self.operations())
        if wanted is None and len(known) == 1:
            return known[0]
        listing = f"tongs tool import --openapi {self.source} --list"
        if wanted is None:
            raise ToolError(
                ErrorCode.INVALID_ARGUMENTS,
                f"{self.source} has {len(known)} operations: say which one with --operation",
                hint=listing,
            )
        for operation in known:
            if wanted in (operation.id, operation.title):
                return operation
        close = nearest(wanted, [operation.id for operation in known])
        raise ToolError(
            ErrorCode.INVALID_ARGUMENTS,
            f"{self.source} has no operation `{wanted}`",
            hint=f"did you mean `{close[0]}`?" if close else listing,
        )


def read(data: bytes, source: str) -> OpenApi:
    """The document in a file; DefinitionInvalid with what is wrong with it."""
    document = _parsed(data, source)
    version = document.get("openapi") if isinstance(document, Mapping) else None
    if not str(version).startswith(("3.0", "3.1")):
        said = f"it says `openapi: {version}`" if version else "it has no `openapi: 3.…`"
        hint = "convert it to OpenAPI 3 first" if "swagger" in document else ""
        raise _unusable(source, f"is no OpenAPI 3.0 or 3.1 document: {said}", hint)
    if remote := sorted(set(_remote(document))):
        listed = ", ".join(remote[:3]) + (" …" if len(remote) > 3 else "")
        raise _unusable(
            source,
            f"refers to other documents, which are never read or fetched: {listed}",
            "bundle it into one document first",
        )
    _check(document, source)
    return OpenApi(document, source)


def _parsed(data: bytes, source: str) -> Any:
    if len(data) > MOST_BYTES:
        raise _unusable(source, f"has more than {MOST_BYTES >> 20} MiB")
    if data.lstrip()[:1] == b"{":
        try:
            value = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise _unusable(source, f"is no JSON: {error}") from None
        if _is_deep(value):
            raise _unusable(source, f"is nested deeper than {_DEEPEST} levels")
        return value
    from tongs.schema.yaml_reader import Reader  # noqa: PLC0415 - needs PyYAML

    value, _ = Reader(data, source, _MOST_NODES).read()
    return value if isinstance(value, dict) else {}


def _is_deep(value: Any) -> bool:
    """Whether whoever walks through it would get lost."""
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            entry
            for node in level
            if isinstance(node, dict | list)
            for entry in (node.values() if isinstance(node, dict) else node)
        ]
    return bool(level)


def _remote(node: Any) -> Iterator[str]:
    """Every reference that leads out of the document."""
    pending = [node]
    while pending:
        one = pending.pop()
        if isinstance(one, Mapping):
            reference = one.get("$ref")
            if isinstance(reference, str) and not reference.startswith("#"):
                yield reference
            pending += [entry for key, entry in one.items() if key not in _DATA]
        elif isinstance(one, list):
            pending += one


def _check(document: Any, source: str) -> None:
    """The whole document, by the library that knows the standard."""
    try:
        from jsonschema_path import SchemaPath  # noqa: PLC0415 - the extra, and slow to load
        from openapi_spec_validator import (  # noqa: PLC0415 - as above
            OpenAPIV30SpecValidator,
            OpenAPIV31SpecValidator,
        )
    except ImportError:
        raise missing_extra() from None
    older = str(document["openapi"]).startswith("3.0")
    validator = OpenAPIV30SpecValidator if older else OpenAPIV31SpecValidator
    # Without handlers nothing can be fetched, whatever a reference says.
    path = SchemaPath.from_dict(document, handlers={})
    problems = []
    try:
        for error in validator(path).iter_errors():
            where = ".".join(map(str, getattr(error, "absolute_path", ())))
            problems.append(Problem(source, _short(error.message), field=where, rule="openapi"))
            if len(problems) >= _MOST_PROBLEMS:
                break
    except Exception as error:  # noqa: BLE001 - a document that the library fails at is a bad one
        problems.append(Problem(source, f"cannot be checked: {_short(str(error))}", rule="openapi"))
    if problems:
        raise DefinitionInvalid(problems)


def missing_extra() -> ToolError:
    return ToolError(
        ErrorCode.UNSUPPORTED_PLATFORM,
        "reading OpenAPI documents needs a package that is not installed",
        hint="pip install 'tongs[openapi]'",
    )


def _resolver(document: Mapping[str, Any]) -> Any:
    from referencing import Registry  # noqa: PLC0415 - comes with the extra
    from referencing.jsonschema import DRAFT202012  # noqa: PLC0415 - as above

    resource = DRAFT202012.create_resource(document)
    return Registry().with_resource("", resource).resolver()


def _unusable(source: str, message: str, hint: str = "") -> DefinitionInvalid:
    return DefinitionInvalid([Problem(source, message, rule="openapi", hint=hint)])


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 300 else f"{line[:300]}…"
