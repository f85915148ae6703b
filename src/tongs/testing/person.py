"""A person who answers as a test says, and remembers what was asked."""

from __future__ import annotations

from collections.abc import Mapping

from tongs.core.annotations import Any
from tongs.core.approval import ApprovalRequest, ApprovalResponse

_NAME = "test person"


class Person:
    """An approver. The answers are given in turn, the last one from then on; each is

    - True or False,
    - a mapping: approved, with these arguments in place of the model's,
    - a text: denied, with this reason,
    - None: nobody is there,
    - a function of the request that gives one of these.
    """

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers or (True,))
        self.asked: list[ApprovalRequest] = []

    @classmethod
    def approves(cls) -> Person:
        return cls(True)

    @classmethod
    def denies(cls, reason: str = "") -> Person:
        return cls(reason or False)

    @classmethod
    def edits(cls, **arguments: Any) -> Person:
        """Approves, and has it run with these in place of the arguments of the same name."""
        return cls(lambda request: {**request.args, **arguments})

    @classmethod
    def is_away(cls) -> Person:
        return cls(None)

    @property
    def tools(self) -> list[str]:
        """The names of the tools that were asked about, in order."""
        return [request.tool for request in self.asked]

    async def __call__(self, request: ApprovalRequest) -> ApprovalResponse | None:
        answer = self._answers[min(len(self.asked), len(self._answers) - 1)]
        self.asked.append(request)
        return _response(answer(request) if callable(answer) else answer)


def _response(answer: Any) -> ApprovalResponse | None:
    if answer is None or isinstance(answer, ApprovalResponse):
        return answer
    if isinstance(answer, Mapping):
        return ApprovalResponse(approved=True, modified_args=dict(answer), approver=_NAME)
    if isinstance(answer, str):
        return ApprovalResponse(approved=False, approver=_NAME, reason=answer)
    return ApprovalResponse(approved=bool(answer), approver=_NAME)
