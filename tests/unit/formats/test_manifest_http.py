"""What a manifest of kind http is allowed to say: every mistake is told with its line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tongs.core.errors import DefinitionInvalid
from tongs.core.permissions import Permissions
from tongs.core.tool import Origin, Tool
from tongs.formats import manifest
from tongs.schema.document import parse
from tongs.template import dollar
from tongs.template.manifest import HttpPlan, Names, Projected
from tongs.template.url import Address

PATH = "/p/.tongs/tools/t/tool.yml"


def loaded(http: dict[str, Any], **more: Any) -> Tool:
    data = {
        "name": "t",
        "description": "d",
        "kind": "http",
        "version": 1,
        "inputs": {"schema": {"type": "object", "properties": {"x": {}, "y": {}}}},
        "exec": {"http": http},
        "permissions": {"network": True, "secrets": {"KEY": {}}},
        **more,
    }
    data = {key: value for key, value in data.items() if value is not None}
    document = parse(json.dumps(data, indent=1).encode(), PATH)
    return manifest.load(document, Origin(path=PATH, format="manifest", project="/p"))


def problems(http: dict[str, Any], **more: Any) -> list[tuple[str, str]]:
    with pytest.raises(DefinitionInvalid) as invalid:
        loaded(http, **more)
    assert all(problem.line for problem in invalid.value.problems)
    return [(problem.field, problem.message) for problem in invalid.value.problems]


def test_everything_an_author_says_is_in_the_plan() -> None:
    tool = loaded(
        {
            "method": "PUT",
            "url": "https://API.example.org/v1/${x}/%2E%2Ey?z=${y}&k&w=a?b#top",
            "headers": {"X-Key": "${KEY}", "X-N": 1},
            "query": {"q": "${x}", "n": 2, "l": ["${y}", 1]},
            "body": {"a": "${x}", "b": [1, None]},
            "response": {
                "json_path": "web.results[0].1",
                "fields": [{"name": "t", "path": "a[-1].b"}],
            },
            "retries": 2,
            "redirects": 0,
            "max_bytes": "1KiB",
            "timeout_ms": 1500,
        },
        outputs={"format": "text"},
    )

    def compiled(text: str) -> dollar.DollarText:
        return dollar.compile(text, {"x", "y", "KEY"})

    assert tool.timeout == 1.5
    assert tool.executor == "http"
    assert tool.plan == HttpPlan(
        names=Names(("x", "y"), ("KEY",), "/p/.tongs/tools/t"),
        method="PUT",
        address=Address("https", "api.example.org", 443),
        segments=(dollar.DollarText(()), compiled("v1"), compiled("${x}"), compiled("..y")),
        url_query=(compiled("z=${y}"), compiled("k"), dollar.DollarText(("w=a", "?", "b"))),
        query=(("q", compiled("${x}")), ("n", 2), ("l", [compiled("${y}"), 1])),
        headers={"X-Key": compiled("${KEY}"), "X-N": compiled("1")},
        body={"a": compiled("${x}"), "b": [1, None]},
        json_path=("web", "results", "0", "1"),
        fields=(Projected("t", ("a", "-1", "b")),),
        retries=2,
        redirects=0,
        max_bytes=1024,
        format="text",
    )


@pytest.mark.parametrize(
    "url",
    [
        "${x}://api.example.org/",
        "${x}",
        "https://${x}/",
        "https://${x}.example.org/",
        "https://api.example.org${x}",
        "https://api.example.org:${x}/",
        "https://${x}@api.example.org/",
        "https://${KEY}:x@api.example.org/",
        "https:${x}",
    ],
)
def test_no_value_is_a_part_of_the_address(url: str) -> None:
    assert problems({"url": url}) == [
        ("exec.http.url", "a value may not be a part of its scheme, host or port")
    ]


@pytest.mark.parametrize(
    "url",
    [
        "api.example.org/x",
        "ftp://example.org/",
        "https://me:pw@example.org/",
        "https://me:pw@example.org/${x}",
        "http://2130706433/",
        "http://0177.0.0.1/",
        "http://0x7f.0.0.1/",
        "http://127.1/",
        "https://a_-.example/",
        "https://example.org/a b",
        "https://example.org/${x}/a b",
    ],
)
def test_url_that_is_none_is_told(url: str) -> None:
    ((field, message),) = problems({"url": url})

    assert (field, message.startswith("is no URL that can be sent: ")) == ("exec.http.url", True)


def test_credentials_get_the_right_hint() -> None:
    with pytest.raises(DefinitionInvalid) as invalid:
        loaded({"url": "https://me:pw@example.org/"})

    assert "header" in invalid.value.problems[0].hint


def test_fragment_ends_the_url() -> None:
    plan = loaded({"url": "https://example.org/a#b/${x}"}).plan

    assert [piece.text({}) for piece in plan.segments] == ["", "a"]
    assert plan.url_query == ()


def test_all_problems_are_told_at_once() -> None:
    found = problems(
        {
            "method": "POST",
            "url": "https://example.org/a/../${nobody}",
            "headers": {
                "bad name": "x",
                "Host": "other.example",
                "Accept": "a",
                "accept": "b",
                "X-Line": "a\nb",
                "X-Who": "${who}",
            },
            "query": {"q": "${who}"},
            "body": ["${who}"],
            "response": {
                "json_path": "$.a",
                "fields": [
                    {"name": "n", "path": "a..b"},
                    {"name": "n", "path": "a[x]"},
                    {"name": "o", "path": "$"},
                ],
            },
            "retries": 1,
        }
    )

    assert sorted(field for field, _ in found) == sorted(
        [
            "exec.http.headers.bad name",
            "exec.http.headers.Host",
            "exec.http.headers.accept",
            "exec.http.headers.X-Line",
            "exec.http.headers.X-Who",
            "exec.http.query.q",
            "exec.http.body[0]",
            "exec.http.response.json_path",
            "exec.http.response.fields[0].path",
            "exec.http.response.fields[1].name",
            "exec.http.response.fields[1].path",
            "exec.http.response.fields[2].path",
            "exec.http.retries",
            "exec.http.url",
        ]
    )


def test_dots_in_the_path_are_told() -> None:
    ((field, message),) = problems({"url": "https://example.org/a/%2e./b"})

    assert (field, message) == ("exec.http.url", "has `.` or `..` in its path")


def test_repeatable_posts_may_be_retried() -> None:
    http = {"method": "POST", "url": "https://example.org/", "retries": 1}

    assert loaded(http, idempotent=True).plan.retries == 1


def test_list_of_hosts_must_have_the_host_of_the_url() -> None:
    http = {"url": "https://api.example.org/"}

    assert loaded(http, permissions={"network": ["*.example.org"]})
    assert problems(http, permissions={"network": ["example.org", "api.example.org:8443"]}) == [
        ("permissions.network", "does not have the host of the URL, api.example.org")
    ]
    ((field, message),) = problems(http, permissions={"network": ["[::::]"]})
    assert (field, "[::::]" in message) == ("permissions.network", True)


def test_manifest_without_permissions_reaches_only_its_host() -> None:
    http = {"url": "https://api.example.org:8443/"}

    tool = loaded(http, permissions=None)

    assert tool.permissions == Permissions(network=("api.example.org:8443",))
