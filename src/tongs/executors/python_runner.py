"""Calls one Python function for Tongs, in the interpreter of a tool.

Runs without the package around it, on every Python since 3.8: standard library only, and all of it
loaded before anything of the tool is, since from then on the tool's folder comes first.

As a program it reads two lines of JSON from stdin: what to import, and what to call it with. It may
also be loaded and told the same with `prepare` and `answer`, each once. The answer is written to
what was its stdout: a line of JSON that says what it is, then the value or the error. What the tool
prints goes to stderr, so nothing it prints can be taken for the answer.
"""

from __future__ import annotations

import _io
import atexit
import contextlib
import gc
import importlib
import importlib.util
import json
import os
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType

    from tongs.core.annotations import Any

# As much of a text in an error as helps a reader.
_LONGEST = 4000
_MOST_FRAMES = 20
# The function is a coroutine function: inspect.CO_COROUTINE, without what inspect costs to load.
_COROUTINE = 0x80
# `json.dumps` makes one for each value.
_encoded = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


class Failure(Exception):
    """Why there is no value. `where` is import, function, call, exit or result."""

    def __init__(self, where: str, **facts: Any) -> None:
        super().__init__(where)
        self.facts = {"where": where, **facts}


class PinnedFinder:
    """Finds the module of the tool, and the packages around it, where the manifest says they are.

    Nothing else that is installed can take their place, and no byte code is read that somebody left
    beside them: what runs is the text that a person has accepted.
    """

    def __init__(self, root: str, module: str) -> None:
        self._root = root
        self._module = module

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        stem = os.path.join(self._root, *name.split("."))
        if (self._module + ".").startswith(name + ".") and name != self._module:
            # A module of its name is no package, and nobody has accepted it.
            return _package_at(stem, name, _Source) or _folder_at(stem, name)
        if name == self._module or name.startswith(self._module + "."):
            return _at(stem, name, _Source)
        return None


class LastFinder:
    """Finds what may be read in a folder that may not be listed, which nobody else does."""

    def __init__(self, root: str) -> None:
        self._root = root

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        stem = os.path.join(self._root, *name.split("."))
        found = _at(stem, name, SourceFileLoader)
        return _folder_at(stem, name) if found is None and _is_readable(stem) else found


class _Source(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def _at(stem: str, name: str, loader: Any) -> ModuleSpec | None:
    """The package or the module there."""
    return _package_at(stem, name, loader) or _file_at(stem + ".py", name, loader)


def _package_at(stem: str, name: str, loader: Any) -> ModuleSpec | None:
    spec = _file_at(os.path.join(stem, "__init__.py"), name, loader)
    if spec is not None:
        spec.submodule_search_locations = [stem]
    return spec


def _file_at(path: str, name: str, loader: Any) -> ModuleSpec | None:
    if not _is_readable(path):
        return None
    spec = ModuleSpec(name, loader(name, path), origin=path)
    spec.has_location = True
    return spec


def _folder_at(stem: str, name: str) -> ModuleSpec:
    """A package that consists of nothing but what lies in it."""
    spec = ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = [stem]
    return spec


def _is_readable(path: str) -> bool:
    """By trying: Landlock refuses to open what it lets everybody see."""
    try:
        os.close(os.open(path, os.O_RDONLY))
    except OSError:
        return False
    return True


class Runner:
    """One function: found by `prepare`, called by `answer`."""

    def __init__(self) -> None:
        self._function: Any = None
        self._failure: Failure | None = None
        self._root = ""
        # Of a Python tool file: what answers for its tools.
        self._served: Any = None
        self._tools: Any = None

    def prepare(self, opening: bytes) -> str:
        """Import the module; a reason why this process should not be kept, or nothing."""
        given = json.loads(opening)
        if "source" in given:
            return self._prepare_file(given)
        self._root = given["root"]
        # Last: no file of the project takes the place of a module of Python.
        sys.path.append(given["root"])
        sys.meta_path.insert(0, PinnedFinder(given["root"], given["module"]))
        sys.meta_path.append(LastFinder(given["root"]))
        try:
            self._function = self._found(given["module"], given["function"])
        except Failure as failure:
            self._failure = failure
            return "its module cannot be imported"
        code = getattr(self._function, "__code__", None)
        if code is not None and code.co_flags & _COROUTINE:
            import asyncio  # noqa: F401, PLC0415 - costs much, and the call will need it
        return ""

    def answer(self, request: bytes, out: int) -> int:
        """Call the function, write the answer to `out`; an exit code."""
        given = json.loads(request.decode())
        try:
            if self._failure is not None:
                raise self._failure
            if self._served is not None:
                return self._answer_file(given, out)
            value = self._called(given["args"], given["kwargs"])
            kind, text = _written(value, as_json=given["json"])
        except Failure as failure:
            kind, text = "error", json.dumps(failure.facts)
        return _answered({"answer": kind}, text, out)

    def _prepare_file(self, given: dict[str, Any]) -> str:
        """Import the text of a Python tool file; the package of Tongs says what is in it."""
        path = given["path"]
        self._root = os.path.dirname(path)
        try:
            self._served = _package(given["package"])
            module = self._served.load(given["source"], path)
            if given.get("describe"):
                self._tools = self._served.described(module)
            else:
                self._function = self._served.member(module, given["tool"])
        except BaseException as error:  # noqa: BLE001 - the code of a tool may raise anything
            own = type(error).__name__ == "ToolError"  # what is wrong with a tool, in words
            self._failure = Failure("tools" if own else "import", **self._facts(error))
            return "it cannot be imported"
        return ""

    def _answer_file(self, given: dict[str, Any], out: int) -> int:
        if self._tools is not None:
            return _answered({"answer": "json"}, json.dumps(self._tools), out)
        head, text = self._served.answered(self._function, given["arguments"])
        return _answered(head, text, out)

    def rehearse(self) -> None:
        """Answer somebody who is not there: after a fork, the first touch of a page copies it."""
        twin = Runner()
        twin._function = lambda *args, **kwargs: [args, kwargs, 2.5]
        nowhere = os.open(os.devnull, os.O_WRONLY)
        twin.answer(b'{"args": ["x", 1], "kwargs": {"x": null}, "json": true}', nowhere)
        os.close(nowhere)
        _flush_all()

    def _found(self, module: str, function: str) -> Any:
        try:
            loaded = importlib.import_module(module)
        except BaseException as error:  # noqa: BLE001 - the code of a tool may raise anything
            raise Failure("import", module=module, **self._facts(error)) from None
        found = getattr(loaded, function, None)
        if callable(found):
            return found
        own = [
            name
            for name, value in vars(loaded).items()
            if callable(value) and not name.startswith("_") and not isinstance(value, type)
            if getattr(value, "__module__", None) == module
        ]
        exists = hasattr(loaded, function)
        raise Failure("function", module=module, function=function, exists=exists, others=own[:20])

    def _called(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        try:
            value = self._function(*args, **kwargs)
            if hasattr(type(value), "__await__"):
                import asyncio  # noqa: PLC0415 - costs more than most functions take

                value = asyncio.run(_awaited(value))
        except SystemExit as error:
            code = error.code if isinstance(error.code, (int, str, type(None))) else str(error.code)
            raise Failure("exit", code=_cut(code) if isinstance(code, str) else code) from None
        except BaseException as error:  # noqa: BLE001 - the code of a tool may raise anything
            raise Failure("call", **self._facts(error)) from None
        return value

    def _facts(self, error: BaseException) -> dict[str, Any]:
        try:
            message = str(error)
        except BaseException:  # noqa: BLE001 - the code of a tool may raise anything
            message = "(its text cannot be had)"
        facts: dict[str, Any] = {
            "exceptionType": _type_name(type(error)),
            "message": _cut(message),
            "traceback": _frames(error, self._root),
        }
        if isinstance(error, ModuleNotFoundError) and error.name:
            facts["missingModule"] = _cut(error.name)
        if isinstance(error, SyntaxError):
            facts["line"] = error.lineno
        return facts


def _package(folder: str) -> Any:
    """What answers for a tool file, from the package of Tongs in this very folder."""
    path = os.path.join(folder, "__init__.py")
    spec = ModuleSpec("tongs", SourceFileLoader("tongs", path), origin=path, is_package=True)
    spec.has_location = True
    spec.submodule_search_locations = [folder]
    module = sys.modules["tongs"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)  # type: ignore[union-attr]  # it is given above
    return importlib.import_module("tongs.library.served")


def _answered(head: dict[str, Any], text: str, out: int) -> int:
    """Write an answer; the exit code that goes with it."""
    _flush_streams()
    _send(out, f"{json.dumps(head)}\n{text}".encode("utf-8", "replace"))
    return 1 if head["answer"] in ("error", "failure") else 0


async def _awaited(value: Any) -> Any:
    """asyncio.run takes a coroutine only."""
    return await value


def _written(value: Any, *, as_json: bool) -> tuple[str, str]:
    if not as_json:
        try:
            return "text", str(value)
        except BaseException as error:  # noqa: BLE001 - the code of a tool may raise anything
            raise Failure(
                "result", type=_type_name(type(value)), reason=_cut(repr(error))
            ) from None
    try:
        return "json", _encoded(value)
    except (TypeError, ValueError, RecursionError) as error:
        culprit = _type_name(type(_culprit(value)))
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise Failure("result", type=culprit, reason=_cut(reason)) from None


def _culprit(value: Any, depth: int = 0) -> Any:
    """The part of a value that JSON cannot hold; the value itself where it is hard to say."""
    if depth < 50 and isinstance(value, dict):
        parts = [*value, *value.values()]
    elif depth < 50 and isinstance(value, (list, tuple)):
        parts = [*value]
    else:
        return value
    for part in parts:
        try:
            json.dumps(part, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            return _culprit(part, depth + 1)
    return next((key for key in value if not isinstance(key, str)), value)


def _type_name(kind: type) -> str:
    module = getattr(kind, "__module__", "builtins")
    return kind.__qualname__ if module == "builtins" else f"{module}.{kind.__qualname__}"


def _frames(error: BaseException, root: str) -> list[str]:
    """Where it was raised, as far as that is the tool's own code."""
    lines = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename.startswith(root + os.sep):
            lines.append(f"{code.co_filename}:{trace.tb_lineno} in {code.co_name}")
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and error.filename:
        lines.append(f"{error.filename}:{error.lineno}")
    half = _MOST_FRAMES // 2
    return lines if len(lines) <= _MOST_FRAMES else [*lines[:half], "…", *lines[-half:]]


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def _send(out: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(out, rest) :]


def _flush_streams() -> None:
    for stream in (sys.stdout, sys.stderr):
        # The tool may have closed it, or put anything in its place.
        try:  # noqa: SIM105 - on the way of every call, on which the other form costs five steps
            stream.flush()
        except BaseException:  # noqa: BLE001 - as above
            pass


def _open_streams() -> list[Any]:
    """By their real type: an object may say anything of its class, and run code to say it."""
    base = _io._IOBase  # noqa: SLF001 - `io.IOBase` is abstract: to ask it costs ten times as much
    return [thing for thing in gc.get_objects() if issubclass(type(thing), base)]


def own_stdout() -> int:
    """A descriptor for the answer that nobody inherits; from here on what is printed is stderr."""
    out = os.dup(1)
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    for stream in (sys.stdout, sys.stderr):
        # In the order in which it is printed, and without an error for any text.
        stream.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore[union-attr]  # no double yet
    return out


def leave(code: int) -> None:
    """End this process as an interpreter would, but without a wait for threads that still run."""
    finish()
    os._exit(code)


def finish() -> None:
    """What an interpreter does before it ends. What fails here can be told to nobody any more."""
    with contextlib.suppress(BaseException):
        atexit._run_exitfuncs()  # noqa: SLF001 - there is no public way
    _flush_all()


def _flush_all() -> None:
    for stream in _open_streams():
        with contextlib.suppress(BaseException):
            if not stream.closed and stream.writable():
                stream.flush()
    _flush_streams()


def main() -> None:
    given = b""
    while True:
        piece = os.read(0, 1 << 20)
        if not piece:
            break
        given += piece
    opening, _, request = given.partition(b"\n")
    out = own_stdout()
    runner = Runner()
    runner.prepare(opening)
    leave(runner.answer(request, out))


if __name__ == "__main__":
    main()
