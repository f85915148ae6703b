"""Links between documents lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.docs.blocks import GENERATED, ROOT, documents

_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_CODE = re.compile(r"^ *```.*?^ *```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (?P<title>.+)$", re.MULTILINE)


@pytest.mark.parametrize("document", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_relative_link_has_its_target(document: Path) -> None:
    text = _CODE.sub("", document.read_text(encoding="utf-8"))
    missing = [
        link["target"]
        for link in _LINK.finditer(text)
        if "://" not in link["target"] and not leads_somewhere(document, link["target"])
    ]
    assert missing == []


def test_every_page_of_docs_is_reached_from_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    linked = {(ROOT / "docs" / link["target"]).resolve() for link in _LINK.finditer(index)}
    pages = {path for path in documents() if path.is_relative_to(ROOT / "docs")}
    pages |= {ROOT / name for name in GENERATED}
    assert pages - linked == {ROOT / "docs" / "index.md"}


def test_an_adr_fits_on_one_screen() -> None:
    lengths = {
        path.name: len(path.read_text(encoding="utf-8").splitlines())
        for path in (ROOT / "docs" / "adr").glob("*.md")
    }
    assert lengths
    assert {name: lines for name, lines in lengths.items() if lines > 60} == {}


def leads_somewhere(document: Path, target: str) -> bool:
    file, _, anchor = target.partition("#")
    path = (document.parent / file).resolve() if file else document
    if path.exists() and anchor:
        return anchor in anchors(path)
    return path.exists() or path.relative_to(ROOT).as_posix() in GENERATED


def anchors(path: Path) -> set[str]:
    titles = (match["title"] for match in _HEADING.finditer(path.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
