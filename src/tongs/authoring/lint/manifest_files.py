"""The files that a manifest names: whether they can be started, and what they mention."""

from __future__ import annotations

import os
from collections.abc import Iterator

from tongs.core.annotations import TYPE_CHECKING
from tongs.core.errors import Problem
from tongs.core.permissions import absolute

if TYPE_CHECKING:
    from tongs.authoring.lint.manifests import Manifest

# What the kernel starts without a `#!` line: ELF, and the formats of macOS.
_PROGRAMS = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\xce\xfa\xed\xfe", b"MZ")
_LARGEST = 1024 * 1024


def file_problems(manifest: Manifest) -> Iterator[Problem]:
    if manifest.kind == "command":
        yield from _entrypoint(manifest)
    elif manifest.kind == "python":
        yield from _venv(manifest)
        yield from _function(manifest)


def entrypoint(manifest: Manifest) -> str | None:
    """The file that a command starts; None for a program of the PATH."""
    written = str(manifest.body.get("entrypoint", ""))
    if manifest.kind != "command" or "/" not in written:
        return None
    return absolute(written, manifest.base, "~")


def interpreted(path: str) -> bool:
    """Whether a file starts with `#!`."""
    return head(path, 2) == b"#!"


def head(path: str, size: int) -> bytes:
    """The first bytes of a regular file; none where it cannot be read."""
    try:
        # A pipe must not keep us waiting.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        with open(descriptor, "rb", buffering=0) as file:
            return file.read(size) or b""
    except OSError:
        return b""


def is_plain_text(path: str) -> bool:
    """Whether the kernel would not know what to do with a file."""
    start = head(path, 512)
    return bool(start) and not start.startswith((b"#!", *_PROGRAMS)) and b"\0" not in start


def mentions(manifest: Manifest, name: str) -> bool:
    """Whether the code of the tool names a variable; True where nobody can tell."""
    path = entrypoint(manifest) if manifest.kind == "command" else _module(manifest)
    if path is None or os.path.isdir(path):
        return True
    text = head(path, _LARGEST)
    return not text or b"\0" in text or name.encode() in text


def _entrypoint(manifest: Manifest) -> Iterator[Problem]:
    path = entrypoint(manifest)
    if path is not None and is_plain_text(path):
        message = f"{path} is a text without a `#!` line"
        yield manifest.finding("no-interpreter-line", (*manifest.path, "entrypoint"), message)


def _venv(manifest: Manifest) -> Iterator[Problem]:
    written = manifest.body.get("venv")
    if written is None:
        return
    path = absolute(written, manifest.base, "~")
    if not os.path.exists(os.path.join(path, "bin", "python")):
        message = f"there is no bin/python in {path}"
        fix = f"python -m venv {path}"
        yield manifest.finding("missing-venv", (*manifest.path, "venv"), message, fix=fix)


def _module(manifest: Manifest) -> str | None:
    stem = os.path.join(manifest.base, *manifest.body["module"].split("."))
    for path in (f"{stem}.py", os.path.join(stem, "__init__.py")):
        if os.path.isfile(path):
            return path
    return None


def _function(manifest: Manifest) -> Iterator[Problem]:
    path = _module(manifest)
    if path is None:
        return  # loading has said so
    wanted = manifest.body["function"]
    where = (*manifest.path, "function")
    try:
        names = _names(head(path, _LARGEST))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        message = f"{path} is no Python: {error}"
        yield manifest.finding("missing-function", where, message, fix="mend the module")
        return
    if "*" not in names and wanted not in names:
        message = f"{path} does not define `{wanted}`"
        yield manifest.finding("missing-function", where, message)


def _names(source: bytes) -> set[str]:
    """What a module may define anywhere; `*` where it takes in names nobody can see."""
    import ast  # noqa: PLC0415 - python tools only

    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    # A module may answer for names it does not define.
    return found | {"*"} if "__getattr__" in found else found
