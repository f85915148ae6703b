"""A server put into the settings of a client, or taken out: text in, text out.

The result is read again. If it does not say exactly what was meant, nothing is changed, and the
person gets the lines to paste.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import pairwise

from tongs.authoring.mcp_clients import Client, jsonc, toml
from tongs.core.annotations import Any
from tongs.core.record import dataclass

# What every client takes for a name; it becomes a part of the names of tools.
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class CannotChange(Exception):
    """The settings stay as they are; the reason fits behind the name of their file."""


class Taken(CannotChange):
    """Another server has the name."""


@dataclass(frozen=True, slots=True)
class Change:
    """The settings as they shall be. Equal text means that there is nothing to do."""

    text: str
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None


def snippet(client: Client, name: str, entry: Mapping[str, Any]) -> str:
    """What a person pastes into settings that hold no server yet."""
    if client.is_toml:
        return toml.snippet((client.key, name), entry)
    return json.dumps({client.key: {name: entry}}, indent=2, ensure_ascii=False) + "\n"


def installed(
    client: Client, text: str, name: str, entry: Mapping[str, Any], *, force: bool = False
) -> Change:
    """The settings with the server; keys that somebody added to its entry stay.

    Raises CannotChange, and Taken where the name belongs to a server that is not Tongs.
    """
    data = settings(client, text)
    held = _held(client, data, name)
    if held is not None and not force and not is_tongs(held):
        raise Taken(f"has another server `{name}`")
    wanted = dict(entry) if held is None or not is_tongs(held) else _joined(held, entry)
    if held == wanted:
        return Change(text, held, held)
    return Change(_changed(client, text, data, name, wanted), held, wanted)


def removed(client: Client, text: str, name: str, *, force: bool = False) -> Change:
    """The settings without the server. Raises as `installed` does."""
    data = settings(client, text)
    held = _held(client, data, name)
    if held is None:
        return Change(text)
    if not force and not is_tongs(held):
        raise Taken(f"has another server `{name}`")
    return Change(_changed(client, text, data, name, None), held)


def settings(client: Client, text: str) -> dict[str, Any]:
    """The data of a client's settings; CannotChange where they cannot be read."""
    if not text.strip():
        return {}
    try:
        data = toml.parse(text) if client.is_toml else jsonc.parse(text).data
    except toml.NotToml as error:
        raise CannotChange(f"is no TOML: {error}") from None
    except jsonc.NotJson as error:
        raise CannotChange(f"is no JSON: {error}") from None
    if not isinstance(data, dict):
        raise CannotChange("holds no keys")
    return data


def _held(client: Client, data: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    servers = data.get(client.key, {})
    if not isinstance(servers, Mapping):
        raise CannotChange(f"has something else than servers at `{client.key}`")
    held = servers.get(name)
    if held is not None and not isinstance(held, Mapping):
        raise CannotChange(f"has something else than a server at `{client.key}.{name}`")
    return held


def is_tongs(held: Mapping[str, Any]) -> bool:
    """Whether an entry starts `tongs mcp serve`, by whatever path."""
    args = held.get("args")
    words = [str(word) for word in args] if isinstance(args, list) else []
    pairs = list(pairwise(words))
    program = str(held.get("command", "")).replace("\\", "/").rpartition("/")[2]
    return ("mcp", "serve") in pairs and ("tongs" in words or program.startswith("tongs"))


def _joined(held: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, Any]:
    joined = {**held, **entry}
    env = held.get("env")
    if isinstance(env, Mapping) and (env or "env" in entry):
        joined["env"] = {**env, **entry.get("env", {})}
    return joined


def _changed(
    client: Client, text: str, data: dict[str, Any], name: str, wanted: dict[str, Any] | None
) -> str:
    """The new text; CannotChange unless it says what was meant, and nothing else."""
    try:
        after = _edited(client, text, data, name, wanted)
        said = settings(client, after)
    # Whatever a library makes of somebody's settings, they stay as they are.
    except (CannotChange, jsonc.NotJson, ValueError, KeyError, TypeError, RecursionError):
        raise CannotChange("is written in an unusual way") from None
    servers = {key: held for key, held in data.get(client.key, {}).items() if key != name}
    meant = {**data, client.key: servers if wanted is None else {**servers, name: wanted}}
    # In TOML a table is gone with the last thing below it.
    if {client.key: {}, **said} != meant:
        raise CannotChange("is written in an unusual way")
    return after


def _edited(
    client: Client, text: str, data: Mapping[str, Any], name: str, wanted: dict[str, Any] | None
) -> str:
    path = (client.key, name)
    if client.is_toml:
        return toml.without(text, path) if wanted is None else toml.with_value(text, path, wanted)
    if wanted is None:
        return jsonc.without(text, path)
    held = data.get(client.key, {}).get(name)
    if held is None or held.keys() - wanted.keys():
        return jsonc.with_value(text, path, wanted)
    # One by one, so that a comment between them stays.
    for key, value in wanted.items():
        if held.get(key) != value:
            text = jsonc.with_value(text, (*path, key), value)
    return text
