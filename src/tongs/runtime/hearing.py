"""An approver of the program itself: what it answers, in whatever way, as a response.

It may be a plain function, and it may answer with a bool. Whatever else it does is a denial that
says what is wrong with it: no mistake in it lets a call through.
"""

from __future__ import annotations

from collections.abc import Mapping

from tongs.core.annotations import Any
from tongs.core.approval import ApprovalRequest, ApprovalResponse, Approver
from tongs.core.errors import BlockedBy, ErrorCode, ToolError


async def heard(approver: Approver, request: ApprovalRequest) -> ApprovalResponse | None:
    """Its answer; None when nobody could be reached. Raises ToolError APPROVAL_DENIED."""
    try:
        answer: Any = approver(request)
        if hasattr(answer, "__await__"):
            answer = await answer
    except ToolError:
        raise
    except Exception as error:
        said = f"{type(error).__name__}: {error}".rstrip(": ")
        raise _mistaken(request, f"raised {said}") from error
    return _response(answer, request)


def _response(answer: Any, request: ApprovalRequest) -> ApprovalResponse | None:
    if answer is None:
        return None
    if isinstance(answer, bool):
        return ApprovalResponse(answer)
    if not isinstance(answer, ApprovalResponse):
        raise _mistaken(request, f"answered with {_kind(answer)}")
    # A text as "no" is true in Python.
    if not isinstance(answer.approved, bool):
        raise _mistaken(request, f"answered with approved={_kind(answer.approved)}; expected bool")
    if not isinstance(answer.modified_args, Mapping | None):
        kind = _kind(answer.modified_args)
        raise _mistaken(request, f"answered with modified_args={kind}; expected a dict")
    return answer


def _kind(value: Any) -> str:
    return "None" if value is None else type(value).__qualname__


def _mistaken(request: ApprovalRequest, what: str) -> ToolError:
    return ToolError(
        ErrorCode.APPROVAL_DENIED,
        f"{request.tool} was not run: the approver {what}",
        details={"rule": request.rule},
        blocked_by=BlockedBy.APPROVAL,
        hint="return ApprovalResponse(approved=…), True or False from the approver",
    )
