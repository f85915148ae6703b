"""The YAML text of a definition.

What is written loads back equal: a text stays unquoted only where every YAML reader agrees that it
is that text.
"""

from __future__ import annotations

from collections.abc import Mapping

from tongs.core.annotations import Any
from tongs.output import visible

# Words that some reader of YAML takes for a boolean or for nothing.
_SPECIAL = frozenset(("true", "false", "null", "yes", "no", "on", "off", "nan", "inf"))


def yaml_text(data: Mapping[str, Any]) -> str:
    """The definition as a person would write it: scripts in blocks, short lists on one line."""
    import yaml  # noqa: PLC0415 - only a tool that is written needs it

    dumper = _dumper()
    parts: list[str] = []
    for key, value in data.items():
        text = yaml.dump(
            {key: value},
            Dumper=dumper,
            allow_unicode=True,
            default_flow_style=False,
            sort_keys=False,
            # Never fold: a folded command is hard to read, and blanks at a fold are fragile.
            width=2**31,
        )
        if parts and (text.count("\n") > 1 or parts[-1].count("\n") > 1):
            parts.append("\n")
        parts.append(text)
    return _hidden_escaped("".join(parts))


def _style(text: str) -> str | None:
    """How to write a text: as a block, quoted, or as the YAML library thinks best (None)."""
    if visible(text) != text:
        return '"'
    if "\n" in text:
        # A block that ends in empty lines needs marks that surprise a reader.
        return '"' if text.endswith("\n\n") or not text.strip("\n") else "|"
    if text[:1].isalpha() or text[:1] in ("/", "_"):
        return "'" if text.lower() in _SPECIAL else None
    return '"' if "'" in text else "'"


def _hidden_escaped(text: str) -> str:
    """Hidden characters as escapes; `_style` has put all of them inside double quotes."""
    if text.isascii():
        return text
    return "".join(
        character if character.isascii() or visible(character) == character else visible(character)
        for character in text
    )


def _dumper() -> Any:
    import yaml  # noqa: PLC0415 - as above

    class Dumper(yaml.SafeDumper):
        """Two-space indents inside lists too, and no anchors: two equal values are two texts."""

        def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
            super().increase_indent(flow, False)

        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text(dumper: Any, value: str) -> Any:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=_style(value))

    def sequence(dumper: Any, value: list[Any]) -> Any:
        short = not any(isinstance(item, dict | list) or "\n" in str(item) for item in value)
        return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=short)

    Dumper.add_representer(str, text)
    Dumper.add_representer(list, sequence)
    return Dumper
