"""Everything about asking, made when somebody has to be asked: most calls ask nobody."""

# ruff: noqa: PLC0415 - see above

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tongs.config.places import Places
from tongs.config.settings import Settings
from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.approval import ApprovalRequest, ApprovalResponse, Approver, Question, Voice
from tongs.core.execution import Place, Waiter
from tongs.core.parts import Parts
from tongs.core.record import replace
from tongs.policy.rules import Rule
from tongs.runtime.remembering import Remembering

if TYPE_CHECKING:
    from tongs.approvers.terminal import Terminal, TerminalApprover
    from tongs.runtime.approvals import ApprovalDesk
    from tongs.runtime.asking import Asking
    from tongs.store.approvals import ApprovalStore


class Approving:
    def __init__(
        self,
        places: Places,
        settings: Settings,
        host: Mapping[str, str],
        parse: Callable[[bytes, str], Any],
    ) -> None:
        self._places = places
        self._settings = settings
        self._host = host
        self._store: ApprovalStore | None = None
        here = Place(places.cwd, places.project, places.home, places.user_folder)
        self.memory = Remembering(places.state, here, parse)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """What the person never wants is a rule like any other."""
        return (self.memory,)

    def added_to(self, parts: Parts) -> Parts:
        """A pipeline that recalls, remembers, and uses an approval once."""
        return replace(parts, memory=self.memory, spend=self.spend)

    @property
    def store(self) -> ApprovalStore:
        """One for the whole runtime: it knows which approvals its calls have taken."""
        if self._store is None:
            from tongs.store.approvals import ApprovalStore

            self._store = ApprovalStore(self._places.state)
        return self._store

    @property
    def desk(self) -> ApprovalDesk:
        from tongs.runtime.approvals import ApprovalDesk

        return ApprovalDesk(self.store, self.memory)

    def spend(self, response: ApprovalResponse) -> None:
        """What was never stored can be used by nobody else."""
        if response.id:
            self.store.spend(response)

    def edited(self, text: str) -> str | None:
        """The text as the person's own editor left it. Raises ToolError."""
        return self._asking().edited(text)

    def at(self, terminal: Terminal) -> TerminalApprover:
        """The person there, with their own editor."""
        return self._asking().at(terminal)

    def approver(
        self,
        waiter: Waiter,
        *,
        terminal: Callable[[], Terminal | None] = lambda: None,
        wait: float | None = None,
        announce: Callable[[Question], None] = lambda question: None,
        voices: Sequence[Voice] = (),
    ) -> Approver:
        """Asks whoever the config names, the person at the terminal if there is one, and `voices`.

        The first answer counts.
        """

        async def ask(request: ApprovalRequest) -> ApprovalResponse | None:
            approver = self._asking().approver(
                waiter, terminal(), wait=wait, announce=announce, voices=voices
            )
            return None if approver is None else await approver(request)

        return ask

    def _asking(self) -> Asking:
        from tongs.runtime.asking import Asking

        return Asking(self.store, self._settings.approvals, self._host, self._places.home)
