"""The manifest of one operation, and what of it could not be carried over."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlsplit

from tongs.authoring.openapi.document import OpenApi, Operation
from tongs.authoring.openapi.inputs import Inputs, inputs_of
from tongs.authoring.openapi.schemas import Schemas, used_definitions
from tongs.authoring.yaml_text import yaml_text
from tongs.core.annotations import Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.record import dataclass
from tongs.output import visible

_READS = ("get", "head", "options")
_REPEATABLE = (*_READS, "put", "delete")
# A schema of the answer only warns; a large one would hide the rest of the manifest.
_LARGEST_OUTPUT = 20_000
_LONGEST_DESCRIPTION = 600


@dataclass(frozen=True, slots=True)
class Imported:
    """`text` is the manifest, with a comment for each of `warnings`."""

    name: str
    text: str
    warnings: tuple[str, ...]


def name_of(operation: Operation) -> str:
    """A name for the tool: that of the operation, in letters that a tool may have."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", operation.id).strip("_.-")
    return name[:64] or operation.method


def imported(document: OpenApi, operation: Operation, name: str, server: str | None) -> Imported:
    """The tool that calls one operation. ToolError where it cannot be written as a manifest."""
    schemas = Schemas(document)
    inputs = inputs_of(document, operation, schemas)
    address, of_server = _address(operation, server)
    security = _Security(document, operation)
    security.apply(inputs)
    schema: dict[str, Any] = {"type": "object", "additionalProperties": False}
    if inputs.required:
        schema["required"] = inputs.required
    schema["properties"] = inputs.properties
    if used := used_definitions(inputs.properties, schemas.definitions):
        schema["$defs"] = used
    outputs, of_outputs = _outputs(document, operation)
    warnings = (*of_server, *inputs.warnings, *security.warnings, *of_outputs)
    data = {
        "name": name,
        "description": _description(operation),
        "kind": "http",
        "version": str((document.data.get("info") or {}).get("version") or "1"),
        "tags": ["api", "read" if operation.method in _READS else "write"],
        "inputs": {"schema": schema},
        "outputs": outputs,
        "exec": {"http": _request(operation, inputs, address)},
        "permissions": {
            "network": [_host(address)],
            "fs": {"read": [], "write": []},
            "secrets": security.secrets,
        },
        "approval": _approval(operation, address),
        "idempotent": operation.method in _REPEATABLE,
        "examples": _examples(operation, inputs),
    }
    kept = {key: entry for key, entry in data.items() if entry not in ([], None)}
    made = f"Made from {document.source}, operation {operation.id}: {operation.title}"
    comments = [made, *(f"Note: {warning}" for warning in warnings)]
    # On one line each, whatever the document holds: no comment may become a key.
    lines = "".join(f"# {visible(' '.join(text.split()))}\n" for text in comments)
    return Imported(name, lines + yaml_text(kept), warnings)


def _description(operation: Operation) -> str:
    said = [operation.data.get("summary"), operation.data.get("description")]
    lines = [" ".join(str(text).split()) for text in said if text]
    text = ". ".join(line.rstrip(".") for line in dict.fromkeys(lines)) or operation.title
    return text if len(text) <= _LONGEST_DESCRIPTION else f"{text[:_LONGEST_DESCRIPTION]}…"


def _address(operation: Operation, server: str | None) -> tuple[str, list[str]]:
    """Where requests go, and what was decided on the way."""
    warnings = []
    if server is None:
        if not operation.servers:
            raise _no_address("the document names no server")
        first = operation.servers[0]
        server = str(first.get("url") or "")
        for name, variable in (first.get("variables") or {}).items():
            value = str(variable.get("default", ""))
            server = server.replace(f"{{{name}}}", value)
            warnings.append(f"`{name}` of the server is fixed to `{value}`")
        others = [str(each.get("url")) for each in operation.servers[1:]]
        if others:
            warnings.append(f"there are other servers: {', '.join(others[:5])}")
    parts = urlsplit(server)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise _no_address(f"the server `{server}` is no whole http or https address")
    if "{" in server:
        raise _no_address(f"the server `{server}` has a variable without a default")
    return server.rstrip("/"), warnings


def _no_address(message: str) -> ToolError:
    return ToolError(
        ErrorCode.INVALID_DEFINITION, message, hint="say where with --server https://HOST/PATH"
    )


def _host(address: str) -> str:
    parts = urlsplit(address)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    return host if parts.port in (None, 80, 443) else f"{host}:{parts.port}"


def _request(operation: Operation, inputs: Inputs, address: str) -> dict[str, Any]:
    def value(match: re.Match[str]) -> str:
        given = inputs.path.get(match[1])
        if given is None:
            raise ToolError(
                ErrorCode.INVALID_DEFINITION,
                f"{operation.title} has no parameter `{match[1]}` for its path",
                hint="mend the document",
            )
        return f"${{{given}}}"

    path = re.sub(r"\{([^{}]*)\}", value, operation.path.replace("$", "%24"))
    found: dict[str, Any] = {"method": operation.method.upper(), "url": f"{address}{path}"}
    if inputs.headers:
        found["headers"] = inputs.headers
    if inputs.query:
        found["query"] = inputs.query
    if inputs.has_body:
        found["body"] = inputs.body
    found["timeout_ms"] = 30000
    return found


def _approval(operation: Operation, address: str) -> dict[str, Any]:
    if operation.method in _READS:
        return {"required": False}
    return {"required": True, "reason": f"Sends {operation.title} to {_host(address)}"}


def _outputs(document: OpenApi, operation: Operation) -> tuple[dict[str, Any], list[str]]:
    """What a success looks like."""
    responses = operation.data.get("responses") or {}
    good = sorted(str(code) for code in responses if str(code).startswith("2"))
    for code in (*good, *(["default"] if "default" in responses else [])):
        response = document.followed(responses.get(code))
        content = response.get("content") if isinstance(response, Mapping) else None
        for kind, media in (content or {}).items():
            if "json" in kind:
                return _json_output(document, media)
    return {"format": "text"}, []


def _json_output(document: OpenApi, media: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    schemas = Schemas(document)
    schema = schemas.converted(media.get("schema") or {})
    if not schema or not isinstance(schema, dict):
        return {"format": "json"}, []
    if used := used_definitions(schema, schemas.definitions):
        schema = {**schema, "$defs": used}
    if len(json.dumps(schema, default=str)) > _LARGEST_OUTPUT:
        return {"format": "json"}, ["the schema of the answer is left out, since it is large"]
    return {"format": "json", "schema": schema}, []


def _examples(operation: Operation, inputs: Inputs) -> list[dict[str, Any]]:
    """One call of the document's own values, where it has them for all that is required."""
    if operation.method not in _READS or not set(inputs.required) <= set(inputs.examples):
        return []
    if not inputs.examples and inputs.properties:
        return []
    return [{"description": operation.summary or operation.title, "params": inputs.examples}]


class _Security:
    """What proves who asks: secrets of the environment, sent in headers or in the query."""

    def __init__(self, document: OpenApi, operation: Operation) -> None:
        self._document = document
        self.secrets: dict[str, Any] = {}
        self.warnings: list[str] = []
        self._headers: dict[str, str] = {}
        self._query: dict[str, str] = {}
        wanted = operation.data.get("security", document.data.get("security"))
        choices = [choice for choice in wanted or () if isinstance(choice, Mapping)]
        if choices:
            self._choose(choices)

    def apply(self, inputs: Inputs) -> None:
        inputs.headers.update(self._headers)
        inputs.query.update(self._query)

    def _choose(self, choices: Sequence[Mapping[str, Any]]) -> None:
        """The first choice that a manifest can make; one without anything makes it optional."""
        optional = any(not choice for choice in choices)
        real = [choice for choice in choices if choice]
        possible = [choice for choice in real if all(map(self._can, choice))]
        if not possible:
            names = ", ".join(name for choice in real for name in choice)
            if names:
                self.warnings.append(f"nothing proves who asks: {names} cannot be sent")
            return
        for name in possible[0]:
            self._use(name, self._scheme(name), required=not optional)
        others = [" + ".join(choice) for choice in real if choice is not possible[0]]
        if others:
            self.warnings.append(
                f"instead of {' + '.join(possible[0])} it takes {', '.join(others)}"
            )

    def _scheme(self, name: str) -> Mapping[str, Any]:
        schemes = (self._document.data.get("components") or {}).get("securitySchemes") or {}
        found = self._document.followed(schemes.get(name))
        return found if isinstance(found, Mapping) else {}

    def _can(self, name: str) -> bool:
        scheme = self._scheme(name)
        kind = scheme.get("type")
        if kind == "apiKey":
            return scheme.get("in") in ("header", "query")
        if kind == "http":
            return str(scheme.get("scheme")).lower() in ("bearer", "basic")
        return kind in ("oauth2", "openIdConnect")

    def _use(self, name: str, scheme: Mapping[str, Any], *, required: bool) -> None:
        title = (self._document.data.get("info") or {}).get("title") or ""
        secret = _upper(f"{title} {name}")
        about = " ".join(str(scheme.get("description") or "").split())
        if scheme["type"] == "apiKey":
            target = self._headers if scheme["in"] == "header" else self._query
            target[str(scheme["name"])] = f"${{{secret}}}"
        elif str(scheme.get("scheme")).lower() == "basic":
            about = "base64 of USER:PASSWORD"
            self.warnings.append(f"{secret} is {about}: printf %s USER:PASSWORD | base64")
            self._headers["Authorization"] = f"Basic ${{{secret}}}"
        else:
            if scheme["type"] != "http":
                self.warnings.append(f"{secret} is an access token, which you have to get yourself")
            self._headers["Authorization"] = f"Bearer ${{{secret}}}"
        entry: dict[str, Any] = {"type": "string", "required": required}
        self.secrets[secret] = {**entry, "description": about} if about else entry


def _upper(text: str) -> str:
    words: Iterator[str] = iter(re.findall(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+", text))
    name = "_".join(dict.fromkeys(word.upper() for word in words))
    return f"_{name}" if not name or name[0].isdigit() else name
