"""Check what keeps the code easy to read: sizes, names, inheritance, a core without dependencies.

Exits 1 on an error; a notice (a file past the wanted size) is only printed.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "tools")

FILE_LINES_WANTED = 300
FILE_LINES = 500
FUNCTION_LINES = 60
FUNCTION_STATEMENTS = 40
INHERITANCE_DEPTH = 2  # a base class of ours and a class made from it

# Names that say nothing, and so attract everything.
BANNED_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "manager"}

# "path" or "path::function" or "path::Class" -> why it may break a limit.
EXCEPTIONS: dict[str, str] = {}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def main() -> int:
    paths = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    sources = {path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in paths}
    trees = {path: ast.parse(text, str(path)) for path, text in sources.items()}

    errors = [*_inheritance(trees)]
    for path, tree in trees.items():
        errors += _names(path)
        errors += _functions(path, tree)
        errors += _core_imports(path, tree)
        lines = len(sources[path].splitlines())
        if lines > FILE_LINES:
            errors.append((str(path), f"{lines} lines, the limit is {FILE_LINES}"))
        elif lines > FILE_LINES_WANTED:
            print(f"notice: {path}: {lines} lines, wanted are {FILE_LINES_WANTED}")

    errors = [(where, what) for where, what in errors if where not in EXCEPTIONS]
    for where, what in errors:
        print(f"error: {where}: {what}", file=sys.stderr)
    return 1 if errors else 0


def _names(path: Path) -> Iterator[tuple[str, str]]:
    for part in path.with_suffix("").parts:
        if part.strip("_") in BANNED_NAMES:
            yield str(path), f"`{part}` names no concept: name the file after what is in it"


def _functions(path: Path, tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, Function):
            where = f"{path}::{node.name}"
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES:
                yield where, f"{lines} lines, the limit is {FUNCTION_LINES}"
            statements = sum(isinstance(child, ast.stmt) for child in ast.walk(node)) - 1
            if statements > FUNCTION_STATEMENTS:
                yield where, f"{statements} statements, the limit is {FUNCTION_STATEMENTS}"


def _core_imports(path: Path, tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The core needs the standard library only. import-linter can ban names, but not all others."""
    if path.parts[:3] != ("src", "tongs", "core"):
        return
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                modules = [alias.name for alias in node.names]
            case ast.ImportFrom(module=str(module), level=0):
                modules = [module]
            case _:
                continue
        for module in modules:
            ours = module == "tongs.core" or module.startswith("tongs.core.")
            if not ours and module.partition(".")[0] not in sys.stdlib_module_names:
                yield (
                    str(path),
                    f"the core imports `{module}`: only the standard library is allowed",
                )


def _inheritance(trees: dict[Path, ast.Module]) -> Iterator[tuple[str, str]]:
    """Depth among our own classes: foreign bases (Exception, Protocol, Enum) do not count."""
    classes = [
        (path, node)
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    ]
    # Classes are told apart by bare name: two of one name share their bases, which is too strict
    # rather than too lax.
    bases: dict[str, set[str]] = {}
    for _, node in classes:
        bases.setdefault(node.name, set()).update(_base_names(node))

    def depth(name: str, above: frozenset[str] = frozenset()) -> int:
        if name not in bases or name in above:
            return 0
        return 1 + max((depth(base, above | {name}) for base in bases[name]), default=0)

    for path, node in classes:
        if depth(node.name) > INHERITANCE_DEPTH:
            limit = f"the limit is {INHERITANCE_DEPTH}"
            yield f"{path}::{node.name}", f"inheritance is {depth(node.name)} deep, {limit}"


def _base_names(node: ast.ClassDef) -> Iterator[str]:
    for base in node.bases:
        bare = base.value if isinstance(base, ast.Subscript) else base  # Base[T] is Base
        match bare:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                yield name


if __name__ == "__main__":
    sys.exit(main())
