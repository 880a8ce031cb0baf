"""What a call needs so that it may run: what was judged of it, who agreed, and what is set aside for it meanwhile."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final, cast

import msgspec

if TYPE_CHECKING:  # loaded by who has a policy
    from ..authority.grants import Reservation
    from ..authority.policy import Pause, PolicyRequest
    from ..definitions import ApprovalBinding, ApprovalScope, RequestContext, StepBinding
    from ..errors import ApprovalError
    from ..toolbox import Toolbox

RECORD_TIMEOUT: Final = 5.0
"""Seconds that a store may take to write down what happened to an approval or a grant."""

NOT_COUNTING: Final = "APPROVAL_INVALID"
"""The code of a call that was refused because what allowed it does not count any more."""

NOBODY_ASKED: Final = "nobody is asked any more: the supervisor takes no new work"


def _nothing() -> None:
    pass


class Hook:
    """Something that a queued call waits for in its own task: code of the host's, or a store.

    Args:
        start: Begins it.
        then: Gets the record, the answer, and the exception that came in place of one. Must not wait.
        abandon: Forgets it: the call was over before it began.
    """

    __slots__ = ("abandon", "start", "then")

    def __init__(
        self,
        start: Callable[[], Awaitable[object]],
        then: Callable[..., None],
        abandon: Callable[[], None] = _nothing,
    ) -> None:
        self.start: Callable[[], Awaitable[object]] = start
        self.then: Callable[..., None] = then
        self.abandon: Callable[[], None] = abandon


class Way(msgspec.Struct, frozen=True, eq=False):
    """Where a call goes from here, as those see it who judge it. Each gets its record.

    Args:
        cleared: It may run: ask for room, unless it holds some.
        again: Its arguments were edited: validate these, which it gets as well, and judge it again.
        ended: It is over: give back what was set aside, and tell those who wanted to know.
    """

    cleared: Callable[..., None]
    again: Callable[..., None]
    ended: Callable[..., None]


class Permit:
    """What a judged call carries with it; calls that nobody judges have none."""

    __slots__ = (
        "answered",
        "approved",
        "arguments",
        "asked",
        "asking",
        "binding",
        "bound",
        "context",
        "edited",
        "failure",
        "granted",
        "held",
        "hook_edited",
        "looked",
        "request",
        "reservation",
        "satisfied",
        "taken",
        "toolbox",
        "used",
        "way",
        "written",
    )

    held: bool
    """Whether the approval is reserved."""
    taken: bool
    """Whether it is used up."""
    looked: bool
    """Whether a grant was looked for."""
    used: bool
    """Whether its use is spent."""

    def __init__(self, way: Way, context: RequestContext | None) -> None:
        self.way: Way = way
        self.context: RequestContext | None = context
        """On whose behalf it was made, before a policy narrowed that."""
        self.toolbox: Toolbox | None = None
        """Whose policy judged it last."""
        self.request: PolicyRequest | None = None
        """What was judged last."""
        self.arguments: Mapping[str, object] | None = None
        """What runs in place of the arguments that were sent; None if these do."""
        self.edited: bool = False
        """Whether other arguments will run than were sent."""
        self.hook_edited: bool = False
        """Whether a hook has edited them already; it may do so once."""
        self.answered: list[Pause] = []
        """Questions about these very arguments that a person said yes to."""
        self.written: object = None
        """What a person wrote in place of the arguments, until it is known whether just that would run."""
        self.satisfied: tuple[Pause, ...] = ()
        """Questions that were answered before the call was resumed; they count if its arguments are as approved."""
        self.approved: Mapping[str, object] | None = None
        """The arguments that it was resumed with, as they were approved."""
        self.asked: int = 0
        """How many questions were put to a person while it waited."""
        self.asking: bool = False
        """Whether a person is asked at this moment."""
        self.binding: ApprovalBinding | None = None
        """Of the approval that it was resumed with."""
        self.bound: ApprovalScope | StepBinding | None = None
        """What it is bound to as it goes on: by that approval, or as a composed tool on the way to it."""
        self.held = self.taken = self.looked = self.used = False
        self.reservation: Reservation | None = None
        """A use of a grant that is set aside."""
        self.granted: Pause | None = None
        """The question that this grant answers. No person did, so a descriptor does not say that it is answered."""
        self.failure: ApprovalError | None = None
        """Why the approval does not count, if that ended the call."""

    def wants_taking(self, *, bare: bool) -> bool:
        """Whether something has to be set aside, or spent, before a body may begin that has nothing around it, or has."""
        if bare and self.reservation is not None and not self.used:
            return True
        return self.binding is not None and not (self.taken if bare else self.held)

    @property
    def agreed(self) -> tuple[Pause, ...]:
        """Questions that are answered as things stand, by whomever."""
        return (*self.satisfied, *self.answered, *(() if self.granted is None else (self.granted,)))

    @property
    def step(self) -> StepBinding | None:
        """What it is bound to if it is a composed tool that goes on, on the way to the call that a person agreed to."""
        return cast("StepBinding | None", self.bound) if self.binding is None else None

    def outdated(self, toolbox: Toolbox) -> ApprovalError | None:
        """Why what a person agreed to, who saw the call before it was resumed, does not count under *toolbox*."""
        if self.bound is None:
            return None
        from ._bound import changed  # noqa: PLC0415  # only who resumes pays for it

        return changed(self.bound, toolbox)
