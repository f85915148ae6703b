"""The settings of a client in TOML, changed with everything else in them kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tongs.core.annotations import Any


class NotToml(Exception):
    """The text is no TOML, and why."""


def parse(text: str) -> dict[str, Any]:
    """The data of a text; raises NotToml."""
    import tomllib  # noqa: PLC0415 - only who has settings in TOML needs it

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise NotToml(str(error)) from None
    except RecursionError:
        raise NotToml("it is nested too deeply") from None


def with_value(text: str, path: Sequence[str], value: Mapping[str, Any]) -> str:
    """The text with a table at a path; ValueError if something else than a table is on the way."""
    import tomlkit  # noqa: PLC0415 - as above

    document = tomlkit.parse(text)
    holder: Any = document
    for depth, key in enumerate(path[:-1]):
        holder = holder.get(key, {})
        if not isinstance(holder, Mapping):
            raise ValueError(".".join(path[: depth + 1]))
    if isinstance(holder.get(path[-1]), Mapping):
        _update(holder[path[-1]], value)
    elif isinstance(holder, tomlkit.items.InlineTable):
        holder[path[-1]] = _inline(value)
    else:
        # At the end, where it belongs to nothing that stands there already.
        newline = "\r\n" if "\r\n" in text else "\n"
        before = f"{text.rstrip()}{newline * 2}" if text.strip() else ""
        return before + snippet(path, value).replace("\n", newline)
    return tomlkit.dumps(document)


def without(text: str, path: Sequence[str]) -> str:
    """The text without what stands at a path; as it is where there is nothing."""
    import tomlkit  # noqa: PLC0415 - as above

    document = tomlkit.parse(text)
    holder: Any = document
    for key in path[:-1]:
        holder = holder.get(key)
        if not isinstance(holder, Mapping):
            return text
    if path[-1] not in holder:
        return text
    del holder[path[-1]]
    left = tomlkit.dumps(document)
    newline = "\r\n" if "\r\n" in text else "\n"
    # With the empty line that was put before it when it came to stand at the end.
    return left.removesuffix(newline) if left.endswith(newline * 2) else left


def snippet(path: Sequence[str], value: Mapping[str, Any]) -> str:
    """The table as a person pastes it."""
    import tomlkit  # noqa: PLC0415 - as above

    table = tomlkit.table()
    for key, item in value.items():
        table.add(key, _inline(item) if isinstance(item, Mapping) else item)
    for key in reversed(path):
        table = tomlkit.table(is_super_table=True).append(key, table)
    return tomlkit.dumps(table)


def _update(held: Any, value: Mapping[str, Any]) -> None:
    """Only what differs, so that a comment beside a key stays."""
    for key in [key for key in held if key not in value]:
        del held[key]
    for key, item in value.items():
        if isinstance(item, Mapping) and isinstance(held.get(key), Mapping):
            _update(held[key], item)
        elif key not in held or held[key] != item:
            held[key] = _inline(item) if isinstance(item, Mapping) else item


def _inline(value: Mapping[str, Any]) -> Any:
    import tomlkit  # noqa: PLC0415 - as above

    table = tomlkit.inline_table()
    for key, item in value.items():
        table.append(key, _inline(item) if isinstance(item, Mapping) else item)
    return table
