"""Set one key of a config file without touching anything else in it.

The text is cut at the marks of the YAML parser, and the result is read again: if it does not say
exactly what was meant, nothing is changed and the person hears which line to write.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tongs.core.annotations import Any
from tongs.schema.yaml_scalars import NotANumber, plain

_UNUSUAL = "the file is written in an unusual way"


class CannotEdit(Exception):
    """The key cannot be set safely; `line` is where the person has to do it (0: nowhere yet)."""

    def __init__(self, reason: str = _UNUSUAL, line: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


def path_of(key: str) -> tuple[str, ...]:
    """`tools."my.tool".timeout` as its parts; ValueError for a key that has an empty one."""
    parts, part, quoted = [], "", False
    for character in key:
        if character == '"':
            quoted = not quoted
        elif character == "." and not quoted:
            parts.append(part)
            part = ""
        else:
            part += character
    parts.append(part)
    if quoted or not all(parts):
        raise ValueError(key)
    return tuple(parts)


def key_of(path: Sequence[str]) -> str:
    """The parts as a person types them."""
    return ".".join(f'"{part}"' if "." in part else part for part in path)


def with_value(data: Mapping[str, Any], path: Sequence[str], value: Any) -> dict[str, Any]:
    """The data as it shall be; CannotEdit where something else stands in the way."""
    key, *rest = path
    if not rest:
        return {**data, key: value}
    inner = data.get(key)
    if inner is not None and not isinstance(inner, dict):
        raise CannotEdit(f"`{key}` holds no keys")
    return {**data, key: with_value(inner or {}, rest, value)}


def edited(text: str, path: Sequence[str], value: Any) -> str:
    """The text with the key set. The caller reads it again and compares."""
    import yaml  # noqa: PLC0415 - only an edit needs it

    newline = "\r\n" if "\r\n" in text else "\n"
    if text and not text.endswith("\n"):
        text += newline
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        raise CannotEdit("the file is no YAML") from None
    if node is None:
        return text + "".join(_block(path, value, 0, newline))
    return _Edit(text, newline, value).set(node, list(path))


def without(data: Mapping[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """The data without a key that is there, and without what only that key was in."""
    key, *rest = path
    kept = {name: value for name, value in data.items() if name != key}
    inner = without(data[key], rest) if rest else {}
    return {**data, key: inner} if inner else kept


def removed(text: str, path: Sequence[str]) -> str:
    """The text without a key, and without what only that key was in; comments above stay."""
    import yaml  # noqa: PLC0415 - only an edit needs it

    if not text.endswith("\n"):
        text += "\n"
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    found: tuple[Any, Any] | None = None
    for part in path:
        if not isinstance(node, yaml.MappingNode):
            raise CannotEdit("something else than keys stands here", node.start_mark.line + 1)
        pair = next((pair for pair in node.value if pair[0].value == part), None)
        if pair is None:
            raise CannotEdit("it is not there")
        if found is None or len(node.value) > 1:
            found = (node, pair)
        node = pair[1]
    assert found is not None, "a path has parts"
    return _cut(text, *found)


def _cut(text: str, node: Any, pair: Any) -> str:
    key, held = pair
    if not node.flow_style:
        lines = text.splitlines(keepends=True)
        last = key.end_mark.line if _is_empty(held) else max(_last_line(held), key.end_mark.line)
        return "".join((*lines[: key.start_mark.line], *lines[last + 1 :]))
    at = node.value.index(pair)
    start, end = key.start_mark.index, held.end_mark.index
    if at + 1 < len(node.value):
        end = node.value[at + 1][0].start_mark.index
    elif at:
        start = node.value[at - 1][1].end_mark.index
    return text[:start] + text[end:]


class _Edit:
    def __init__(self, text: str, newline: str, value: Any) -> None:
        self._text = text
        self._newline = newline
        self._value = value

    def set(self, node: Any, path: list[str]) -> str:
        import yaml  # noqa: PLC0415 - as above

        if not isinstance(node, yaml.MappingNode):
            raise CannotEdit("something else than keys stands here", node.start_mark.line + 1)
        pair = next((pair for pair in node.value if pair[0].value == path[0]), None)
        if pair is None:
            return self._added(node, path)
        key, held = pair
        if len(path) == 1:
            return self._replaced(key, held)
        if _is_empty(held):
            line = key.start_mark.line
            return self._lines_after(line, path[1:], key.start_mark.column + 2)
        return self.set(held, path[1:])

    def _replaced(self, key: Any, held: Any) -> str:
        start, end = held.start_mark.index, held.end_mark.index
        if _is_empty(held):
            start = end = self._text.index(":", key.end_mark.index) + 1
            return f"{self._text[:start]} {flow(self._value)}{self._text[end:]}"
        if getattr(held, "style", None) in ("|", ">"):
            raise CannotEdit("a block of text stands here", key.start_mark.line + 1)
        if getattr(held, "flow_style", None) is False:
            # The marks of a block end where the next thing begins, comments included.
            end = self._end_of_line(_last_line(held))
            start = self._text.index(":", key.end_mark.index) + 1
            self._refuse_comments(start, end, key)
            return f"{self._text[:start]} {flow(self._value)}{self._text[end:]}"
        self._refuse_comments(start, end, key)
        return self._text[:start] + flow(self._value) + self._text[end:]

    def _added(self, node: Any, path: list[str]) -> str:
        if node.flow_style:
            end = node.end_mark.index - 1
            self._refuse_comments(node.start_mark.index, end, node)
            inner: Any = self._value
            for part in reversed(path[1:]):
                inner = {part: inner}
            before = self._text[:end].rstrip(" ")
            comma = ", " if node.value and not before.endswith(",") else ""
            return f"{before}{comma}{flow(path[0])}: {flow(inner)}{self._text[end:]}"
        return self._lines_after(_last_line(node), path, node.start_mark.column)

    def _lines_after(self, line: int, path: Sequence[str], indent: int) -> str:
        at = self._end_of_line(line)
        block = "".join(_block(path, self._value, indent, self._newline))
        rest = self._text[at:].removeprefix("\r").removeprefix("\n")
        return f"{self._text[:at]}{self._newline}{block}{rest}"

    def _end_of_line(self, line: int) -> int:
        at = 0
        for _ in range(line):
            at = self._text.index("\n", at) + 1
        return len(self._text[: self._text.index("\n", at)].removesuffix("\r"))

    def _refuse_comments(self, start: int, end: int, node: Any) -> None:
        if "#" in self._text[start:end]:
            raise CannotEdit("there are comments inside", node.start_mark.line + 1)


def flow(value: Any) -> str:
    """A value on one line."""
    import yaml  # noqa: PLC0415 - only an edit needs it

    class Dumper(yaml.SafeDumper):
        """Quotes whatever our own reader would not take for that text."""

    def text(dumper: Any, written: str) -> Any:
        style = None if _stays_text(written) else '"'
        return dumper.represent_scalar("tag:yaml.org,2002:str", written, style=style)

    Dumper.add_representer(str, text)
    # In a list, where a comma or a bracket is a mark: the value may come to stand in one.
    dumped = yaml.dump(
        [value],
        Dumper=Dumper,
        default_flow_style=True,
        allow_unicode=True,
        sort_keys=False,
        width=2**31,
    )
    return str(dumped).strip()[1:-1]


def _stays_text(written: str) -> bool:
    try:
        return plain(written) == written
    except NotANumber:
        return False


def _block(path: Sequence[str], value: Any, indent: int, newline: str) -> Iterator[str]:
    for depth, part in enumerate(path):
        last = depth == len(path) - 1
        rest = f" {flow(value)}" if last else ""
        yield f"{' ' * (indent + 2 * depth)}{flow(part)}:{rest}{newline}"


def _is_empty(node: Any) -> bool:
    return bool(node.start_mark.index == node.end_mark.index)


def _last_line(node: Any) -> int:
    """The line on which the last thing of a node ends."""
    if getattr(node, "flow_style", None) is False and node.value:
        last = node.value[-1]
        key, held = last if isinstance(last, tuple) else (last, last)
        return (
            max(_last_line(held), int(key.end_mark.line))
            if not _is_empty(held)
            else int(key.end_mark.line)
        )
    end = node.end_mark
    if getattr(node, "style", None) in ("|", ">"):
        return int(end.line) - 1 if end.column == 0 else int(end.line)
    return int(end.line)
