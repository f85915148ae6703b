"""What a Python function gave or raised, as the result of a call."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from tongs.core.annotations import Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.result import Attachment, ToolResult

_DEEPEST = 100
_MOST_FRAMES = 20
_SCALARS = (str, bool, int, float, type(None))
# What the standard library raises for the failures that have a code of their own (seed 002).
_CODES: tuple[tuple[type[BaseException], ErrorCode], ...] = (
    (FileNotFoundError, ErrorCode.FILE_NOT_FOUND),
    (PermissionError, ErrorCode.PERMISSION_DENIED),
    (TimeoutError, ErrorCode.TIMEOUT),
)


def _encoder() -> Callable[[Any], str]:
    """Made once: `json.dumps` makes the compiled one anew for each value."""
    plain = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
    compiled = getattr(json.encoder, "c_make_encoder", None)
    if compiled is None:
        return plain.encode
    quoted = json.encoder.encode_basestring
    pieces = compiled(None, plain.default, quoted, None, ": ", ", ", False, False, False)
    return lambda value: "".join(pieces(value, 0))


_encode = _encoder()


class NotJson(ValueError):
    """A value that JSON cannot hold; `culprit` is the type of the part that it cannot."""

    def __init__(self, culprit: type, reason: str) -> None:
        super().__init__(reason)
        self.culprit = culprit


def result_of(answer: Any) -> ToolResult:
    """A ToolResult as it is; a text is output and value; anything else is data."""
    if isinstance(answer, ToolResult):
        wrong = _wrong_field(answer)
        return answer if wrong is None else ToolResult(error=wrong)
    if answer is None:
        return ToolResult()
    if isinstance(answer, str):
        return ToolResult(output=answer, value=answer)
    try:
        # What JSON holds as it is, as most answers are, is not walked twice.
        text = _encode(answer)
        value = answer if type(answer) in (dict, list, int, float, bool) else json.loads(text)
    except (TypeError, ValueError, RecursionError):
        try:
            value = as_json(answer)
        except NotJson as error:
            return ToolResult(error=_not_json(error))
        text = _encode(value)
    return ToolResult(output=text, value=value)


def error_of(error: BaseException, name: str) -> ToolError:
    """What a function raised; a ToolError says itself what it is."""
    if isinstance(error, ToolError):
        return error
    if isinstance(error, SystemExit):
        return ToolError(
            ErrorCode.EXECUTION_ERROR,
            f"{name} ended itself with sys.exit({error.code!r}) instead of returning",
            hint="return a value, or raise an exception",
        )
    code = next((code for kind, code in _CODES if isinstance(error, kind)), None)
    kind = type(error)
    said = f"{kind.__name__}: {_text(error)}".rstrip(": ")
    return ToolError(
        code or ErrorCode.EXECUTION_ERROR,
        f"{name} raised {said}",
        details={"exceptionType": kind.__qualname__, "traceback": _frames(error)},
    )


def as_json(value: Any, depth: int = 0) -> Any:
    """The value as JSON can hold it: objects become what they are made of. Raises NotJson."""
    if type(value) in _SCALARS:
        return _finite(value)
    if depth > _DEEPEST:
        raise NotJson(type(value), f"it is nested deeper than {_DEEPEST} levels")
    if isinstance(value, Mapping):
        return {_key(key): as_json(each, depth + 1) for key, each in value.items()}
    if (fields := _fields(value)) is not None:
        return as_json(fields, depth + 1)
    if isinstance(value, list | tuple):
        return [as_json(each, depth + 1) for each in value]
    if isinstance(value, set | frozenset):
        return sorted((as_json(each, depth + 1) for each in value), key=repr)
    return _scalar(value)


def _scalar(value: Any) -> Any:
    """An object that is written as a text or a number."""
    for written in ("__fspath__", "isoformat"):
        if hasattr(value, written):
            return getattr(value, written)()
    if isinstance(value, bytes):
        from base64 import b64encode  # noqa: PLC0415 - rare

        return b64encode(value).decode()
    if type(value).__name__ in ("UUID", "Decimal"):
        return str(value)
    for plain in (str, int, float):
        if isinstance(value, plain):
            return _finite(plain(value))
    raise NotJson(type(value), "JSON has nothing like it")


def _fields(value: Any) -> Any:
    """What an object is made of; None where that is not known."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        return {name: getattr(value, name) for name in value.__dataclass_fields__}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return value._asdict()
    # Of an enumeration; by name where a schema does, too.
    if hasattr(type(value), "__members__"):
        known = all(type(one.value) in _SCALARS for one in type(value))
        return value.value if known else value.name
    return None


def _key(key: Any) -> str:
    made = as_json(key, 1)
    if not isinstance(made, str):
        raise NotJson(type(key), "the key of an object must be a text")
    return made


def _finite(value: Any) -> Any:
    if isinstance(value, float) and value - value != 0:
        raise NotJson(float, f"{value} is no number in JSON")
    return value


def _wrong_field(result: ToolResult) -> ToolError | None:
    """A tool makes its result itself, and nothing else checks it before it is read."""
    found: tuple[str, Any, str] | None = None
    if not isinstance(result.output, str):
        found = ("output", result.output, "text")
    elif not isinstance(result.error, ToolError | None):
        found = ("error", result.error, "a ToolError or text")
    elif not isinstance(result.metadata, Mapping):
        found = ("metadata", result.metadata, "a dict")
    elif wrong := [one for one in result.attachments if not isinstance(one, Attachment)]:
        found = ("attachment", wrong[0], "an Attachment")
    else:
        for each in result.warnings:
            if not isinstance(each, str):
                found = ("warning", each, "text")
    if found is None:
        return None
    field, value, expected = found
    kind = "None" if value is None else type(value).__qualname__
    return ToolError(
        ErrorCode.EXECUTION_ERROR,
        f"it returned a ToolResult whose {field} is {kind}; expected {expected}",
        hint="ToolResult(output=TEXT, value=DATA, warnings=[TEXT], metadata={NAME: DATA})",
    )


def _not_json(error: NotJson) -> ToolError:
    return ToolError(
        ErrorCode.EXECUTION_ERROR,
        f"it returned what cannot be JSON: {error.culprit.__qualname__} ({error})",
        hint="return dicts, lists, texts, numbers, booleans, None or data classes",
    )


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - the code of a tool may raise anything
        return "(its text cannot be had)"


def _frames(error: BaseException) -> list[str]:
    """Where it was raised, without the frames of Tongs that called the function."""
    lines = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if trace.tb_frame.f_globals.get("__name__", "").partition(".")[0] != "tongs":
            lines.append(f"{code.co_filename}:{trace.tb_lineno} in {code.co_name}")
        trace = trace.tb_next
    half = _MOST_FRAMES // 2
    return lines if len(lines) <= _MOST_FRAMES else [*lines[:half], "…", *lines[-half:]]
