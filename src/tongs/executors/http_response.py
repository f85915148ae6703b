"""What an answer means: the result of the call, or what went wrong."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Mapping, Sequence

import httpcore2
import httpx2

from tongs.core.annotations import Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.result import ToolResult
from tongs.executors.http_connection import causes
from tongs.executors.http_exchange import Answer
from tongs.executors.json_output import read_json
from tongs.executors.manifest import TIME
from tongs.output import decoded, visible
from tongs.template.manifest import HttpPlan, Projected

# So much of an answer stands in the details of an error, and in its message.
_ERROR_TEXT = 2000
_MESSAGE_TEXT = 300
_MOST_KEYS = 20


class Missing(LookupError):
    """A path that leads nowhere: `where` it ended, and what is there."""

    def __init__(self, where: str, there: str) -> None:
        super().__init__(f"{where or 'the answer'} {there}")


def result_of(
    answer: Answer, plan: HttpPlan, name: str, url: str, redact: Callable[[str], str]
) -> ToolResult:
    """`url` is the address to show: without secrets. `redact` takes them out before a cut."""
    kind = answer.headers.get("content-type", "")
    metadata: dict[str, Any] = {
        "status": answer.status,
        "url": url,
        "contentType": visible(kind[:200]),
        "bytes": len(answer.body),
        "redirects": answer.redirects,
    }
    if answer.retries:
        metadata["retries"] = answer.retries
    text = text_of(answer)
    if not answer.ok:
        return ToolResult(error=_refused(answer, name, url, redact(text)), metadata=metadata)
    try:
        output, value, warnings = _read(text, plan, kind)
    except ValueError as error:
        wrong = ToolError(
            ErrorCode.HTTP_ERROR,
            f"{name} got an answer that is no JSON, though `response` needs some: {error}",
            details={
                "status": answer.status,
                "url": url,
                "body": visible(redact(text)[:_ERROR_TEXT]),
            },
        )
        return ToolResult(error=wrong, metadata=metadata)
    except Missing as missing:
        wrong = ToolError(
            ErrorCode.HTTP_ERROR,
            f"{name} got an answer without `{'.'.join(plan.json_path)}`: {missing}",
            details={
                "status": answer.status,
                "url": url,
                "body": visible(redact(text)[:_ERROR_TEXT]),
            },
            hint="mend `response.json_path` in the manifest",
        )
        return ToolResult(error=wrong, metadata=metadata)
    return ToolResult(output=output, value=value, warnings=warnings, metadata=metadata)


def failure(error: Exception, name: str, url: str, host: str) -> ToolError:
    """What an exception of the network means, in words."""
    details = {"status": None, "url": url}
    if isinstance(error, TimeoutError | httpcore2.TimeoutException):
        return ToolError(
            ErrorCode.TIMEOUT,
            f"{name} got no whole answer from {host} in time",
            details=details,
            hint=f"give it more time with --timeout or {TIME}",
        )
    reason = _reason(error, host)
    return ToolError(
        ErrorCode.HTTP_ERROR, f"{name} failed: {reason}", details={**details, "reason": reason}
    )


def at(data: Any, keys: Sequence[str]) -> Any:
    """The value that the keys lead to. Raises Missing. In a list a key is a number."""
    for number, key in enumerate(keys):
        where = ".".join(keys[:number])
        if isinstance(data, Mapping):
            if key not in data:
                raise Missing(where, f"has {_keys(data)}")
            data = data[key]
        elif isinstance(data, list):
            index = int(key) if key.lstrip("-").isdecimal() else None
            if index is None or not -len(data) <= index < len(data):
                raise Missing(where, f"is a list of {len(data)}, where `{key}` is no place")
            data = data[index]
        else:
            raise Missing(where, f"is {_kind(data)}, not an object")
    return data


def projected(data: Any, fields: Sequence[Projected]) -> Any:
    """The wanted fields of an object, or of each item of a list; what is missing is null."""
    if isinstance(data, list):
        return [_fields(item, fields) for item in data]
    return _fields(data, fields)


def _fields(item: Any, fields: Sequence[Projected]) -> dict[str, Any]:
    found = {}
    for wanted in fields:
        try:
            found[wanted.name] = at(item, wanted.path)
        except Missing:
            found[wanted.name] = None
    return found


def _read(text: str, plan: HttpPlan, kind: str) -> tuple[str, Any, list[str]]:
    """The output, the value and the warnings. Raises ValueError and Missing."""
    shaped = bool(plan.json_path or plan.fields)
    if not shaped and (plan.format == "text" or (not plan.format and not _is_json(kind))):
        return text, None, []
    if not shaped and not text.strip():
        return text, None, []
    try:
        data = read_json(text)
    except ValueError as error:
        if shaped:
            raise
        return text, None, [f"the answer is no JSON, though it should be: {error}"]
    if not shaped:
        return text, data, []
    data = at(data, plan.json_path)
    if plan.fields:
        data = projected(data, plan.fields)
    return data if isinstance(data, str) else json.dumps(data, ensure_ascii=False), data, []


def _is_json(kind: str) -> bool:
    name = kind.partition(";")[0].strip().lower()
    return name == "application/json" or name.endswith("+json")


def text_of(answer: Answer) -> str:
    """By the charset of its type, else UTF-8."""
    charset = httpx2.Response(200, headers=answer.headers).charset_encoding
    if charset:
        try:
            return answer.body.decode(charset, "replace")
        except (LookupError, ValueError):
            pass  # no charset anybody knows
    return decoded(answer.body)


def _refused(answer: Answer, name: str, url: str, text: str) -> ToolError:
    body = visible(text[:_ERROR_TEXT])
    short = " ".join(body.split())[:_MESSAGE_TEXT]
    said = f": {short}" if short else ""
    reason = visible(answer.reason)
    details = {"status": answer.status, "reason": reason, "url": url, "body": body}
    if after := answer.headers.get("retry-after"):
        details["retryAfter"] = visible(after[:100])
    return ToolError(
        ErrorCode.HTTP_ERROR,
        f"{name} failed: {answer.request.address.authority} answered"
        f" {answer.status}{f' {reason}' if reason else ''}{said}",
        details=details,
        hint=_HINTS.get(answer.status, ""),
    )


_HINTS = {
    401: "the host does not know who asks: look at the secret and the header that carries it",
    403: "the host knows who asks and refuses: look at what the secret may do",
    429: "too many requests: wait, or set `retries` in the manifest",
}


def _reason(error: Exception, host: str) -> str:
    for cause in causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"the certificate of {host} does not hold: {cause.verify_message}"
        if isinstance(cause, ssl.SSLError):
            return f"{host} does not speak TLS as expected: {cause.reason or cause}"
        if isinstance(cause, OSError) and cause.strerror:
            return f"{host} cannot be reached: {cause.strerror}"
    if isinstance(error, httpx2.DecodingError):
        return f"the answer of {host} is damaged: {error}"
    if isinstance(error, httpcore2.ProtocolError):
        return f"the answer of {host} is no HTTP that can be read: {visible(str(error)[:200])}"
    return visible(str(error)[:200]) or type(error).__name__


def _keys(data: Mapping[str, Any]) -> str:
    if not data:
        return "no keys"
    some = ", ".join(visible(str(key)[:60]) for key in list(data)[:_MOST_KEYS])
    more = len(data) - _MOST_KEYS
    return f"the keys {some}" + (f" and {more} more" if more > 0 else "")


def _kind(data: Any) -> str:
    if data is None:
        return "null"
    if isinstance(data, bool):
        return "a boolean"
    return "a text" if isinstance(data, str) else "a number"
