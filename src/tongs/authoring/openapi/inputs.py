"""Parameters and the body of an operation: inputs of the tool, and where their values go."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tongs.authoring.openapi.document import OpenApi, Operation
from tongs.authoring.openapi.schemas import Schemas
from tongs.core.annotations import Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.record import dataclass, field

# The standard says that these are not parameters; the client decides on them.
_IGNORED_HEADERS = frozenset(("accept", "content-type", "authorization"))
_BODY = "body"


@dataclass(slots=True)
class Inputs:
    """Filled step by step. `warnings` are what could not be carried over."""

    properties: dict[str, Any] = field(default_factory=dict)
    required: list[str] = field(default_factory=list)
    # Name of a path parameter -> the input that fills it.
    path: dict[str, str] = field(default_factory=dict)
    query: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, Any] = field(default_factory=dict)
    body: Any = None
    has_body: bool = False
    examples: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def add(self, name: str, schema: Any, place: str, *, required: bool) -> str:
        """A further input; the name it got, which models can write and nobody else has."""
        plain = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") or place
        if plain in self.properties or plain == "tool_dir":
            plain = f"{plain}_{place}"
        while plain in self.properties:
            plain += "_"
        self.properties[plain] = schema
        if required:
            self.required.append(plain)
        return plain


def inputs_of(document: OpenApi, operation: Operation, schemas: Schemas) -> Inputs:
    """Everything a caller gives."""
    found = Inputs()
    for parameter in _parameters(document, operation):
        _take(found, document, parameter, schemas)
    body = document.followed(operation.data.get("requestBody"))
    if isinstance(body, Mapping):
        _take_body(found, document, body, schemas)
    return found


def _parameters(document: OpenApi, operation: Operation) -> Iterator[Mapping[str, Any]]:
    """Those of the path, unless the operation has one of the same name in the same place."""
    found: dict[tuple[str, str], Mapping[str, Any]] = {}
    for written in (*operation.shared, *(operation.data.get("parameters") or ())):
        parameter = document.followed(written)
        if isinstance(parameter, Mapping):
            found[str(parameter.get("name")), str(parameter.get("in"))] = parameter
    yield from found.values()


def _take(found: Inputs, document: OpenApi, parameter: Mapping[str, Any], schemas: Schemas) -> None:
    name, place = str(parameter["name"]), str(parameter["in"])
    required = bool(parameter.get("required"))
    if place == "cookie":
        missing = ", though it is required" if required else ""
        found.warnings.append(f"the cookie `{name}` is not sent{missing}")
        return
    if place == "header" and name.lower() in _IGNORED_HEADERS:
        return
    schema = schemas.converted(parameter.get("schema") or {"type": "string"})
    if "content" in parameter:
        found.warnings.append(f"`{name}` wants encoded content; write it as text")
        schema = {"type": "string"}
    if isinstance(schema, dict) and parameter.get("description"):
        schema = {**schema, "description": _line(parameter["description"])}
    if isinstance(schema, dict) and parameter.get("deprecated"):
        schema["deprecated"] = True
    found.warnings += _style(document, name, place, parameter)
    given = found.add(name, schema, place, required=required)
    if (example := _example(document, parameter)) is not None:
        found.examples[given] = example
    if place == "path":
        found.path[name] = given
    else:
        target = found.query if place == "query" else found.headers
        target[name] = f"${{{given}}}"


def _style(document: OpenApi, name: str, place: str, parameter: Mapping[str, Any]) -> Iterator[str]:
    """Ways of writing lists and objects that a manifest does not have."""
    schema = document.followed(parameter.get("schema") or {})
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    usual = {"query": "form", "path": "simple", "header": "simple"}.get(place)
    style = parameter.get("style", usual)
    if kind == "object" or style == "deepObject":
        yield f"`{name}` is an object, which is sent as JSON text and not as style {style}"
    elif kind == "array" and place != "query":
        yield f"`{name}` is a list, which is sent as JSON text in the {place}"
    elif kind == "array" and (style != "form" or parameter.get("explode", True) is not True):
        yield f"`{name}` is a list with one value per `{name}=`, not joined in one"


def _take_body(found: Inputs, document: OpenApi, body: Mapping[str, Any], schemas: Schemas) -> None:
    content = body.get("content") or {}
    flat = {each: _is_flat(document.followed(_schema(content[each])), found) for each in content}
    kind = next((each for each in content if _is_json(each)), None)
    # A form is named values, so there is none without the names.
    kind = kind or next((each for each in content if _is_form(each) and flat[each]), None)
    kind = kind or next((each for each in content if each.startswith("text/")), None)
    required = bool(body.get("required"))
    if kind is None:
        offered = ", ".join(content) or "nothing"
        if required:
            raise ToolError(
                ErrorCode.INVALID_DEFINITION,
                f"the operation wants a body of {offered}; a manifest can send JSON, text and"
                " forms of named values",
                hint="write the tool by hand: tongs tool new NAME --shape executable",
            )
        found.warnings.append(f"the body is left out: it would be {offered}")
        return
    media = content[kind]
    found.has_body = True
    if kind != "application/json":
        found.headers["Content-Type"] = kind
    if flat[kind] and (_is_json(kind) or _is_form(kind)):
        schema = document.followed(_schema(media))
        _flatten(found, document, schema, schemas, required=required)
        if _is_form(kind):
            found.warnings += _in_form(document, schema["properties"])
        if not required:
            found.warnings.append("the body is optional there, and always sent here")
    else:
        text = _line(body.get("description") or "The body of the request")
        whole = schemas.converted(_schema(media))
        whole = {"type": "string"} if not _is_json(kind) else whole
        whole = {**whole, "description": text} if isinstance(whole, dict) else whole
        given = found.add(_BODY, whole, _BODY, required=required)
        found.body = f"${{{given}}}"
        if (example := _example(document, media)) is not None:
            found.examples[given] = example


def _flatten(
    found: Inputs,
    document: OpenApi,
    schema: Mapping[str, Any],
    schemas: Schemas,
    *,
    required: bool,
) -> None:
    """Each property of the body is an input of its own: easier for a model than a nested object."""
    needed = schema.get("required") or () if required else ()
    found.body = {}
    for name, written in schema["properties"].items():
        entry = document.followed(written)
        if isinstance(entry, Mapping) and entry.get("readOnly"):
            continue
        given = found.add(name, schemas.converted(written), _BODY, required=name in needed)
        found.body[name] = f"${{{given}}}"
        if isinstance(entry, Mapping) and "example" in entry:
            found.examples[given] = entry["example"]


def _is_flat(schema: Any, found: Inputs) -> bool:
    """Whether the body is an object of named properties, and nothing but them."""
    if not isinstance(schema, Mapping) or not isinstance(schema.get("properties"), Mapping):
        return False
    if schema.get("type", "object") != "object" or schema.get("nullable"):
        return False
    if any(key in schema for key in ("allOf", "anyOf", "oneOf", "not", "patternProperties")):
        return False
    if isinstance(schema.get("additionalProperties"), Mapping) or not schema["properties"]:
        return False
    # `${x}` in a value of the manifest's own would be taken for a placeholder; in a key it is text.
    return not any(name in found.properties for name in schema["properties"])


def _schema(media: Mapping[str, Any]) -> Any:
    return media.get("schema") or {}


def _in_form(document: OpenApi, properties: Mapping[str, Any]) -> Iterator[str]:
    """Values that a form can carry in more than one way."""
    for name, written in properties.items():
        entry = document.followed(written)
        if isinstance(entry, Mapping) and entry.get("type") == "object":
            yield f"`{name}` is an object, which is sent as JSON text in the form"


def _is_json(kind: str) -> bool:
    plain = _plain(kind)
    return plain == "application/json" or plain.endswith("+json")


def _is_form(kind: str) -> bool:
    return _plain(kind) == "application/x-www-form-urlencoded"


def _plain(kind: str) -> str:
    """The type without its parameters."""
    return kind.partition(";")[0].strip().lower()


def _example(document: OpenApi, holder: Mapping[str, Any]) -> Any:
    """The first value that the document gives as an example."""
    if "example" in holder:
        return holder["example"]
    for example in (holder.get("examples") or {}).values():
        found = document.followed(example)
        if isinstance(found, Mapping) and "value" in found:
            return found["value"]
    schema = document.followed(holder.get("schema") or {})
    if isinstance(schema, Mapping):
        listed = schema.get("examples")
        return schema.get("example", listed[0] if isinstance(listed, list) and listed else None)
    return None


def _line(text: Any) -> str:
    return " ".join(str(text).split())
