"""One request, completely described, and how it is shown to a person."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from tongs._version import __version__
from tongs.core.annotations import Any
from tongs.core.record import dataclass
from tongs.output import visible
from tongs.template import dollar, headers, url
from tongs.template.dollar import DollarText, Name
from tongs.template.manifest import HttpPlan, Names
from tongs.template.url import Address
from tongs.template.values import ABSENT, ValueRefused, Values, plain_text, utf8

JSON_TYPE = "application/json"
FORM_TYPE = "application/x-www-form-urlencoded"
TEXT_TYPE = "text/plain; charset=utf-8"

# Shorter ones are redacted nowhere: they would tear holes into every text.
_SHORTEST_SECRET = 4


@dataclass(frozen=True, slots=True)
class Header:
    name: str
    value: str
    # Sent to the address of the manifest and to no other.
    private: bool


@dataclass(frozen=True, slots=True)
class Request:
    """`target` is the path with the query, as it is sent."""

    method: str
    address: Address
    target: str
    headers: tuple[Header, ...]
    body: bytes = b""

    @property
    def url(self) -> str:
        return self.address.origin + self.target


def built(plan: HttpPlan, values: Values) -> Request:
    """Raises ValueRefused for a value that its place cannot carry."""
    found = _headers(plan, values)
    content = next((h.value for h in found if h.name.lower() == "content-type"), "")
    body, implied = _body(plan.body, values, content)
    if implied and not content:
        found.append(Header("Content-Type", implied, private=False))
    return Request(plan.method, plan.address, _target(plan, values), tuple(found), body)


def shown(plan: HttpPlan, arguments: Values) -> str:
    """What would be sent, with the name of a secret where the secret would stand."""
    request = built(plan, plan.names.shown(arguments))
    lines = [f"{request.method} {without_secrets(request.url, plan.names, {})}"]
    lines += [f"{header.name}: {header.value}" for header in request.headers]
    if request.body:
        lines += ["", request.body.decode("utf-8", "replace")]
    return visible("\n".join(lines))


def without_secrets(text: str, names: Names, values: Values) -> str:
    """A URL for people: the name of a secret in the place of its value, however it is encoded."""
    for name in names.secrets:
        secret = values.get(name, ABSENT)
        text = text.replace(url.encoded(f"<{name}>"), f"<{name}>")
        if isinstance(secret, str) and len(secret) >= _SHORTEST_SECRET:
            for spelling in (url.encoded(secret), secret):
                text = text.replace(spelling, f"<{name}>")
    return text


def _target(plan: HttpPlan, values: Values) -> str:
    path = url.path(plan.segments, values)
    entries = [
        url.rendered(entry, values) for entry in plan.url_query if not url.is_absent(entry, values)
    ]
    if added := url.form(url.pairs(plan.query, values)):
        entries.append(added)
    return (path or "/") + ("?" + "&".join(entries) if entries else "")


def _headers(plan: HttpPlan, values: Values) -> list[Header]:
    found = []
    for name, text in plan.headers.items():
        if url.is_absent(text, values):
            continue
        private = headers.is_for_one_host(name) or not text.names.isdisjoint(plan.names.secrets)
        found.append(Header(name, _header_value(text, values), private))
    return [*found, *usual_headers(plan.headers)]


def usual_headers(given: Iterable[str]) -> list[Header]:
    """What is sent unless a header of that name was given."""
    known = {name.lower() for name in given}
    usual = {"User-Agent": f"tongs/{__version__}", "Accept-Encoding": "gzip, deflate"}
    return [Header(n, v, private=False) for n, v in usual.items() if n.lower() not in known]


def _header_value(text: DollarText, values: Values) -> str:
    for part in text.parts:
        value = plain_text(values.get(part.name, ABSENT)) if isinstance(part, Name) else ""
        if isinstance(part, Name) and headers.has_control(value):
            raise ValueRefused(
                part.name, "has a line break or another control character, and stands in a header"
            )
    # Blanks around a value are no part of it.
    return text.text(values).strip(" \t")


def _body(body: Any, values: Values, content: str) -> tuple[bytes, str]:
    """The bytes, and the type they have unless the manifest says another."""
    given = body if body is ABSENT else dollar.filled(body, values)
    if given is ABSENT:
        return b"", ""
    if isinstance(given, str) and isinstance(body, DollarText):
        return utf8(given), TEXT_TYPE
    if isinstance(given, Mapping) and content.partition(";")[0].strip().lower() == FORM_TYPE:
        return utf8(url.form(url.pairs(given.items(), {}))), FORM_TYPE
    return utf8(json.dumps(given, ensure_ascii=False)), JSON_TYPE
