"""An operation of an OpenAPI document becomes a manifest, and what is lost is said."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tongs.authoring.openapi.document import read
from tongs.authoring.openapi.manifest import Imported, imported, name_of
from tongs.core.errors import DefinitionInvalid, ErrorCode, ToolError
from tongs.schema.check import check_root, check_schema
from tongs.schema.check_document import check_document
from tongs.schema.document import parse

PETS = Path(__file__).parents[2] / "data" / "openapi" / "pets.yaml"
OK = {"200": {"description": "fine"}}


def document(paths: Mapping[str, Any], version: str = "3.1.0", **more: Any) -> bytes:
    servers = [{"url": "https://api.example.org"}]
    info = {"title": "T", "version": "1"}
    return json.dumps(
        {"openapi": version, "info": info, "servers": servers, "paths": paths, **more}
    ).encode()


def made(data: bytes, operation: str | None = None, server: str | None = None) -> Imported:
    read_ = read(data, "api.json")
    one = read_.operation(operation)
    return imported(read_, one, name_of(one), server)


def manifest(data: bytes, operation: str | None = None, server: str | None = None) -> Any:
    """The manifest, which fits the schema of manifests."""
    text = made(data, operation, server).text
    assert check_document(parse(text.encode(), "tool.yml"), "manifest") == []
    found = yaml.safe_load(text)
    check_root(found["inputs"]["schema"])
    check_schema(found["outputs"].get("schema", True))
    return found


def get(*parameters: Any, **more: Any) -> dict[str, Any]:
    return {"/x": {"get": {"parameters": list(parameters), "responses": OK, **more}}}


def post(content: Mapping[str, Any], *, required: bool = True, **more: Any) -> dict[str, Any]:
    body = {"required": required, "content": content}
    return {"/x": {"post": {"requestBody": body, "responses": OK, **more}}}


def parameter(name: str, place: str = "query", **more: Any) -> dict[str, Any]:
    needed = {"required": True} if place == "path" else {}
    return {"name": name, "in": place, "schema": {"type": "string"}, **needed, **more}


def test_operations_are_listed_in_their_order() -> None:
    found = [(each.id, each.title) for each in read(PETS.read_bytes(), "p").operations()]

    assert found == [
        ("getPet", "GET /pets/{petId}"),
        ("update pet", "PUT /pets/{petId}"),
        ("POST /pets", "POST /pets"),
        ("photo", "POST /photo"),
    ]


def test_a_read_becomes_a_whole_manifest() -> None:
    assert manifest(PETS.read_bytes(), "getPet") == {
        "name": "getPet",
        "description": "Find a pet. Find a pet by its number",
        "kind": "http",
        "version": "1.2.3",
        "tags": ["api", "read"],
        "inputs": {
            "schema": {
                "type": "object",
                "additionalProperties": False,
                "required": ["petId"],
                "properties": {
                    "petId": {"type": "integer", "description": "Which one"},
                    "X_Trace": {"type": "string"},
                    "fields": {"type": "array", "items": {"type": "string"}},
                    "filter_age": {"type": ["integer", "null"], "exclusiveMinimum": 0},
                },
            }
        },
        "outputs": {
            "format": "json",
            "schema": {
                "$ref": "#/$defs/Pet",
                "$defs": {
                    "Pet": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {
                            "id": {"type": "integer", "readOnly": True},
                            "name": {"type": "string", "examples": ["Rex"]},
                            "friend": {"$ref": "#/$defs/Pet"},
                            "tag": {"type": ["string", "null"], "enum": ["a", "b", None]},
                        },
                    }
                },
            },
        },
        "exec": {
            "http": {
                "method": "GET",
                "url": "https://eu.pets.example/v1/pets/${petId}",
                "headers": {"X-Trace": "${X_Trace}", "X-API-Key": "${PET_STORE_API_KEY}"},
                "query": {"fields": "${fields}", "filter[age]": "${filter_age}"},
                "timeout_ms": 30000,
            }
        },
        "permissions": {
            "network": ["eu.pets.example"],
            "fs": {"read": [], "write": []},
            "secrets": {"PET_STORE_API_KEY": {"type": "string", "required": True}},
        },
        "approval": {"required": False},
        "idempotent": True,
        "examples": [{"description": "Find a pet", "params": {"petId": 7}}],
    }


def test_what_is_lost_is_said_twice() -> None:
    found = made(PETS.read_bytes(), "getPet")

    assert found.warnings == (
        "`region` of the server is fixed to `eu`",
        "there are other servers: http://localhost:8080",
        "the cookie `session` is not sent",
    )
    assert [line for line in found.text.splitlines() if line.startswith("# Note")] == [
        f"# Note: {warning}" for warning in found.warnings
    ]


def test_properties_of_a_body_become_inputs_and_a_change_needs_approval() -> None:
    found = manifest(PETS.read_bytes(), "update pet")

    assert found["exec"]["http"]["body"] == {
        "name": "${name}",
        "friend": "${friend}",
        "tag": "${tag}",
    }
    assert found["inputs"]["schema"]["required"] == ["petId", "name"]
    assert found["approval"] == {
        "required": True,
        "reason": "Sends PUT /pets/{petId} to eu.pets.example",
    }
    assert found["exec"]["http"]["headers"] == {"Authorization": "Bearer ${PET_STORE_TOKEN}"}


@pytest.mark.parametrize(
    "schema",
    [
        {"oneOf": [{"type": "string"}, {"type": "object"}]},
        {"type": "array", "items": {"type": "integer"}},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {"id": {"type": "string"}}},
    ],
)
def test_any_other_body_is_one_input(schema: Any) -> None:
    paths = {
        "/x/{id}": {
            "post": {
                "parameters": [parameter("id", "path")],
                "requestBody": {"content": {"application/vnd.x+json": {"schema": schema}}},
                "responses": OK,
            }
        }
    }

    found = manifest(document(paths))

    assert found["exec"]["http"]["body"] == "${body}"
    assert found["exec"]["http"]["headers"] == {"Content-Type": "application/vnd.x+json"}


def test_form_of_named_values_is_sent_as_one() -> None:
    values = {"to": {"type": "string"}, "extra": {"type": "object"}}
    form = {"schema": {"type": "object", "required": ["to"], "properties": values}}
    data = document(post({"application/x-www-form-urlencoded": form}))

    found = manifest(data)

    assert found["exec"]["http"]["body"] == {"to": "${to}", "extra": "${extra}"}
    assert found["exec"]["http"]["headers"] == {"Content-Type": "application/x-www-form-urlencoded"}
    assert found["inputs"]["schema"]["required"] == ["to"]
    assert made(data).warnings == ("`extra` is an object, which is sent as JSON text in the form",)


def test_form_without_names_cannot_be_sent() -> None:
    unnamed = {"schema": {"type": "object", "additionalProperties": {"type": "string"}}}

    with pytest.raises(ToolError, match="forms of named values"):
        made(document(post({"application/x-www-form-urlencoded": unnamed})))


def test_text_is_a_body_too_and_a_form_of_parts_is_not() -> None:
    text = manifest(document(post({"text/plain": {"schema": {"type": "string"}}})))
    with pytest.raises(ToolError) as refused:
        made(document(post({"multipart/form-data": {"schema": {"type": "object"}}})))
    optional = made(document(post({"multipart/form-data": {}}, required=False)))

    assert text["inputs"]["schema"]["properties"]["body"]["type"] == "string"
    assert refused.value.code is ErrorCode.INVALID_DEFINITION
    assert optional.warnings == ("the body is left out: it would be multipart/form-data",)


@pytest.mark.parametrize(
    ("given", "warning"),
    [
        (parameter("q", schema={"type": "object"}), "is an object"),
        (parameter("q", style="deepObject"), "is an object"),
        (parameter("q", schema={"type": "array"}, explode=False), "is a list"),
        (parameter("q", "header", schema={"type": "array"}), "is a list"),
        (parameter("q", "cookie", required=True), "though it is required"),
        ({"name": "q", "in": "query", "content": {"application/json": {}}}, "encoded content"),
    ],
)
def test_ways_of_writing_that_a_manifest_lacks_are_said(given: Any, warning: str) -> None:
    (said,) = made(document(get(given))).warnings

    assert warning in said


def test_inputs_of_one_name_are_told_apart() -> None:
    found = manifest(
        document(get(parameter("id"), parameter("id", "header"), parameter("tool_dir")))
    )

    assert list(found["inputs"]["schema"]["properties"]) == ["id", "id_header", "tool_dir_query"]
    assert found["exec"]["http"]["headers"] == {"id": "${id_header}"}
    assert found["exec"]["http"]["query"] == {"id": "${id}", "tool_dir": "${tool_dir_query}"}


def test_headers_of_the_client_are_no_parameters() -> None:
    assert "headers" not in manifest(document(get(parameter("Accept", "header"))))["exec"]["http"]


@pytest.mark.parametrize(
    ("scheme", "request_", "warned"),
    [
        ({"type": "apiKey", "in": "query", "name": "key"}, {"query": {"key": "${T_S}"}}, ""),
        ({"type": "http", "scheme": "Bearer"}, {"headers": {"Authorization": "Bearer ${T_S}"}}, ""),
        (
            {"type": "http", "scheme": "basic"},
            {"headers": {"Authorization": "Basic ${T_S}"}},
            "base64",
        ),
        (
            {"type": "openIdConnect", "openIdConnectUrl": "https://x.example/c"},
            {"headers": {"Authorization": "Bearer ${T_S}"}},
            "access token",
        ),
    ],
)
def test_each_scheme_is_a_secret_in_its_place(
    scheme: Any, request_: dict[str, Any], warned: str
) -> None:
    data = document(get(), security=[{"s": []}], components={"securitySchemes": {"s": scheme}})

    found, warnings = manifest(data), made(data).warnings

    assert request_.items() <= found["exec"]["http"].items()
    assert found["permissions"]["secrets"]["T_S"]["required"] is True
    assert all(warned in warning for warning in warnings)
    assert bool(warnings) is bool(warned)


def test_a_choice_without_any_proof_makes_the_secret_optional() -> None:
    scheme = {"type": "http", "scheme": "bearer"}
    data = document(get(security=[{}, {"s": []}]), components={"securitySchemes": {"s": scheme}})

    assert manifest(data)["permissions"]["secrets"]["T_S"]["required"] is False


def test_a_proof_that_cannot_be_sent_is_said() -> None:
    scheme = {"type": "apiKey", "in": "cookie", "name": "sid"}
    data = document(get(security=[{"s": []}]), components={"securitySchemes": {"s": scheme}})

    assert made(data).warnings == ("nothing proves who asks: s cannot be sent",)


@pytest.mark.parametrize(
    ("server", "network"),
    [
        ("https://api.example.org/v2/", "api.example.org"),
        ("http://127.0.0.1:8080", "127.0.0.1:8080"),
        ("https://[::1]:9000/x", "[::1]:9000"),
    ],
)
def test_only_the_host_of_the_server_may_be_reached(server: str, network: str) -> None:
    found = manifest(document(get()), server=server)

    assert found["permissions"]["network"] == [network]
    assert found["exec"]["http"]["url"] == f"{server.rstrip('/')}/x"


@pytest.mark.parametrize("servers", [[], [{"url": "/v1"}], [{"url": "ftp://x.example"}]])
def test_a_document_without_an_address_needs_one(servers: Any) -> None:
    data = document(get(), servers=servers)

    with pytest.raises(ToolError) as refused:
        made(data)

    assert "--server" in refused.value.hint
    assert manifest(data, server="https://a.example")["permissions"]["network"] == ["a.example"]


@pytest.mark.parametrize(
    "reference",
    [
        "other.yaml#/Pet",
        "./schemas/pet.json",
        "http://127.0.0.1:1/pet.json",
        "file:///etc/passwd",
        "/etc/passwd",
    ],
)
def test_nothing_outside_the_document_is_read(reference: str) -> None:
    content = {"application/json": {"schema": {"$ref": reference}}}

    with pytest.raises(DefinitionInvalid) as refused:
        made(document(post(content)))

    (problem,) = refused.value.problems
    assert reference in problem.message
    assert "never read or fetched" in problem.message


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"{", "is no JSON"),
        (b"[" * 5000, "nested deeper"),
        (b'{"a":' * 200 + b"1" + b"}" * 200, "nested deeper"),
        (b'{"a":' * 100_000, "is no JSON"),
        (b"hello", "is no OpenAPI 3.0 or 3.1 document"),
        (b"swagger: '2.0'\n", "is no OpenAPI 3.0 or 3.1 document"),
        (b"openapi: 3.1.0\n", "info"),
        (document({"/x": {"get": {}}}, version="3.0.0"), "responses"),
        (document({"/x": {"get": {"responses": 3}}}), "3"),
        (document(post({"application/json": {"schema": {"$ref": "#/nowhere"}}})), "nowhere"),
    ],
)
def test_a_document_that_is_no_good_says_why(data: bytes, said: str) -> None:
    with pytest.raises(DefinitionInvalid) as refused:
        made(data)

    assert said in "\n".join(map(str, refused.value.problems))


def test_an_operation_is_chosen_by_its_id_or_by_its_path() -> None:
    pets = read(PETS.read_bytes(), "pets.yaml")

    assert pets.operation("getPet") == pets.operation("GET /pets/{petId}")
    for wanted, hint in (("getPat", "did you mean `getPet`?"), (None, "--list")):
        with pytest.raises(ToolError) as refused:
            pets.operation(wanted)
        assert hint in refused.value.hint


def test_a_name_cannot_become_a_key_of_the_manifest() -> None:
    evil = "x\nkind: command\u2028# "
    found = manifest(
        document(get(operationId=evil, summary=evil), info={"title": evil, "version": "1"})
    )

    assert found["kind"] == "http"
    assert found["name"] == "x_kind_command"


def test_a_placeholder_in_the_document_is_text() -> None:
    found = manifest(
        document(
            {
                "/a$b/${x}/{id}": {
                    "get": {
                        "parameters": [parameter("id", "path"), parameter("x", "path")],
                        "responses": OK,
                    }
                }
            }
        )
    )

    assert found["exec"]["http"]["url"] == "https://api.example.org/a%24b/%24${x}/${id}"


def test_schemas_that_refer_to_themselves_stay_finite() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/Node"}}}
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Node"}}}
    data = document(post(content), components={"schemas": {"Node": node}})

    properties = manifest(data)["inputs"]["schema"]["properties"]

    assert properties == {"next": {"$ref": "#/$defs/Node"}}


def test_a_large_answer_has_no_schema() -> None:
    schema = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(2000)}}
    responses = {"200": {"description": "d", "content": {"application/json": {"schema": schema}}}}
    data = document(get(responses=responses))

    assert manifest(data)["outputs"] == {"format": "json"}
    assert made(data).warnings == ("the schema of the answer is left out, since it is large",)
