"""What a part of a schema asks for once its references are followed.

For those who guess what a person means or show it to one: text typed as a value, examples, tables.
Whether a value fits is decided by the schema as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tongs.core.annotations import Any

# A schema may refer to itself; nobody types what lies deeper.
_DEEPEST = 4


def plain(schema: Any, root: Mapping[str, Any], depth: int = _DEEPEST) -> dict[str, Any]:
    """The schema with what its `$ref` and `allOf` say, and its items and branches likewise."""
    if not isinstance(schema, Mapping):
        return {}
    found = dict(schema)
    if depth == 0:
        return found
    parts = [_target(found.pop("$ref"), root)] if "$ref" in found else []
    parts += _listed(found.pop("allOf", ()))
    for part in parts:
        found = {**plain(part, root, depth - 1), **found}
    if "items" in found:
        found["items"] = plain(found["items"], root, depth - 1)
    for key in ("anyOf", "oneOf"):
        if key in found:
            found[key] = [plain(each, root, depth - 1) for each in _listed(found[key])]
    return found


def _target(reference: Any, root: Mapping[str, Any]) -> Any:
    """What `#/$defs/x` points to; nothing where it leads elsewhere or nowhere."""
    start, _, pointer = str(reference).partition("#")
    found: Any = None if start else root
    for key in pointer.split("/")[1:]:
        name = key.replace("~1", "/").replace("~0", "~")
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _listed(data: Any) -> Sequence[Any]:
    return data if isinstance(data, list | tuple) else ()
