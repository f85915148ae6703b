"""`exec.http` of a manifest: a request whose address stands in the file (seed 004)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tongs.core import hosts
from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.permissions import Permissions
from tongs.schema import units
from tongs.template import headers, url
from tongs.template.dollar import DollarText, Name
from tongs.template.manifest import HttpPlan, Projected
from tongs.template.values import ABSENT

if TYPE_CHECKING:
    from tongs.formats.manifest import Reader
    from tongs.schema.document import PathTuple

WHERE: PathTuple = ("exec", "http")

# A second request of these does what the first one did.
REPEATABLE = frozenset({"GET", "HEAD", "PUT", "DELETE", "OPTIONS"})


_DEFAULT_REDIRECTS = 5
_DEFAULT_BYTES = 5 * 1024 * 1024
_ENCODED_DOT = re.compile("%2e", re.IGNORECASE)
_STEP = re.compile(r"([^.\[\]]+)|\[(-?[0-9]+)\]")
_JSON_PATH = re.compile(r"(?:[^.\[\]]+|\[-?[0-9]+\])(?:\.[^.\[\]]+|\[-?[0-9]+\])*")


_EXAMPLE = "as in https://api.example.org/items/${id}"
_CREDENTIALS = "declare a secret, and send it as a header: `Authorization: Bearer ${NAME}`"


def plan(reader: Reader, body: Mapping[str, Any]) -> HttpPlan | None:
    """What to send and what to make of the answer; None where the URL has no address."""
    method = body.get("method", "GET")
    written = _headers(reader, body.get("headers") or {})
    query = tuple(
        (key, reader.compiled((*WHERE, "query", key), entry))
        for key, entry in (body.get("query") or {}).items()
    )
    data = reader.compiled((*WHERE, "body"), body["body"]) if "body" in body else ABSENT
    json_path, fields = _response(reader, body.get("response") or {})
    if body.get("retries") and method not in REPEATABLE and not reader.data.get("idempotent"):
        reader.problem(
            (*WHERE, "retries"),
            f"a {method} that is sent twice may do its work twice",
            hint="write `idempotent: true` if it does not, or leave `retries` out",
        )
    found = _address(reader, body["url"])
    if found is None:
        return None
    address, segments, url_query = found
    _check_reach(reader, address)
    return HttpPlan(
        names=reader.names,
        method=method,
        address=address,
        segments=segments,
        url_query=url_query,
        query=query,
        headers=written,
        body=data,
        json_path=json_path,
        fields=fields,
        retries=body.get("retries", 0),
        redirects=body.get("redirects", _DEFAULT_REDIRECTS),
        max_bytes=units.size(body.get("max_bytes", _DEFAULT_BYTES)),
        format=reader.format,
    )


def only_its_host(plan: HttpPlan) -> Permissions:
    """What a manifest without `permissions` may reach."""
    return Permissions(network=(plan.address.entry,))


def _address(
    reader: Reader, written: str
) -> tuple[url.Address, tuple[DollarText, ...], tuple[DollarText, ...]] | None:
    """The address, the segments of the path, and the entries of the query."""
    where: PathTuple = (*WHERE, "url")
    text = reader.text(where, written)
    if not text.parts:
        return None  # a name nobody declared, which has been said
    first = text.parts[0]
    start = first if isinstance(first, str) else ""
    # Up to the first of these a URL says where it leads, and no caller has a say in that.
    fixed = len(text.parts) == 1 and bool(start)
    if not fixed and not re.search(r"//[^/?#]*[/?#]", start):
        reader.problem(
            where,
            "a value may not be a part of its scheme, host or port",
            hint=f"write them out, {_EXAMPLE}",
        )
        return None
    try:
        address, rest = url.divided(start)
        for part in text.parts[1:]:
            if isinstance(part, str):
                url.refuse_unseen(part)
    except ValueError as error:
        hint = _EXAMPLE if "@" not in start else _CREDENTIALS
        reader.problem(where, f"is no URL that can be sent: {error}", hint=hint)
        return None
    if "#" in start:
        return address, *_path_and_query(reader, where, DollarText((rest,)))
    return address, *_path_and_query(reader, where, DollarText((rest, *text.parts[1:])))


def _path_and_query(
    reader: Reader, where: PathTuple, rest: DollarText
) -> tuple[tuple[DollarText, ...], tuple[DollarText, ...]]:
    whole = url.pieces(rest, "#")[0]
    before, *after = url.pieces(whole, "?")
    segments = tuple(_plain_dots(piece) for piece in url.pieces(before, "/"))
    if any(not piece.names and piece.text({}) in {".", ".."} for piece in segments):
        reader.problem(where, "has `.` or `..` in its path", hint="write the path it leads to")
    # Another question mark is text of the query.
    parts = tuple(part for piece in after for part in ("?", *piece.parts))[1:]
    query = tuple(piece for piece in url.pieces(DollarText(parts), "&") if piece.parts)
    return segments, query


def _plain_dots(piece: DollarText) -> DollarText:
    """With a dot as a dot, so that `..` has one spelling."""
    return DollarText(
        tuple(
            part if isinstance(part, Name) else _ENCODED_DOT.sub(".", part) for part in piece.parts
        )
    )


def _headers(reader: Reader, written: Mapping[str, Any]) -> Mapping[str, DollarText]:
    seen: dict[str, str] = {}
    for name in written:
        where, known = (*WHERE, "headers", name), name.lower()
        if not headers.is_name(name):
            reader.problem(where, f"{name!r} is no name of a header")
        elif headers.is_set_by_tongs(name):
            reader.problem(where, f"`{name}` is set by Tongs", hint="leave it out")
        elif known in seen:
            reader.problem(where, f"is the same header as `{seen[known]}`")
        seen.setdefault(known, name)
    texts = reader.texts((*WHERE, "headers"), written)
    for name, text in texts.items():
        if any(isinstance(part, str) and headers.has_control(part) for part in text.parts):
            reader.problem(
                (*WHERE, "headers", name),
                "a line break or another control character cannot stand in a header",
            )
    return texts


def _response(
    reader: Reader, response: Mapping[str, Any]
) -> tuple[tuple[str, ...], tuple[Projected, ...]]:
    where: PathTuple = (*WHERE, "response")
    path = (
        _keys(reader, (*where, "json_path"), response["json_path"])
        if "json_path" in response
        else ()
    )
    fields = []
    names: set[str] = set()
    for number, entry in enumerate(response.get("fields") or ()):
        name = entry["name"]
        if name in names:
            reader.problem((*where, "fields", number, "name"), f"`{name}` is there twice")
        names.add(name)
        keys = _keys(reader, (*where, "fields", number, "path"), entry["path"])
        fields.append(Projected(name, keys))
    return path, tuple(fields)


def _keys(reader: Reader, where: PathTuple, written: str) -> tuple[str, ...]:
    """The keys that a path such as `web.results[0].title` goes through."""
    if written == "$" or written.startswith(("$.", "$[")):
        shown = written.lstrip("$.") or "the key"
        reader.problem(
            where,
            "starts at the answer itself, so `$` is one key too many",
            hint=f"write `{shown}`",
        )
    elif not _JSON_PATH.fullmatch(written):
        reader.problem(
            where,
            f"`{written}` is no path",
            hint="keys with dots between them, as in web.results[0].title",
        )
    return tuple(_steps(written))


def _steps(written: str) -> Iterator[str]:
    for match in _STEP.finditer(written):
        yield match[1] or match[2]


def _check_reach(reader: Reader, address: url.Address) -> None:
    """A list of hosts without the one of the URL would refuse every call."""
    network = (reader.data.get("permissions") or {}).get("network")
    if not isinstance(network, list):
        return
    try:
        entries = [hosts.parse(entry) for entry in network]
    except ValueError as error:
        reader.problem(("permissions", "network"), str(error))
        return
    if not hosts.allowed(entries, address.host, address.port):
        reader.problem(
            ("permissions", "network"),
            f"does not have the host of the URL, {address.host}",
            hint=f"add `{address.entry}`",
        )
