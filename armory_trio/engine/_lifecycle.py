"""The life of one execution: states, events, the table, and the snapshot that shows it.

Everything that decides a state lives in this file; nothing here waits, reads a clock or knows trio.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, Protocol, Self, TypeVar, get_args

import msgspec

from ..definitions import Category, Effect, Outcome
from ..errors import TransitionError

State = Literal[
    "queued",
    "active",
    "waiting",
    "streaming",
    "abort-requested",
    "cleanup-pending",
    "terminal",
    "unknown-effect",
]

Event = Literal[
    "start",
    "settle",
    "abort",
    "abort-during-hook",
    "wait",
    "resume",
    "resume-last",
    "stream",
    "end",
    "end-unknown",
    "lose",
    "overdue",
    "unresolved",
    "late-end",
    "resolve",
]
"""What can happen to an execution.

``abort-during-hook`` is an abort of a queued call while code of the user's (an availability or policy hook) is
still running for it; ``resume-last`` closes the last open wait; ``end-unknown`` ends a body whose effect is unknown.
"""

QUEUED: Final = "queued"
ACTIVE: Final = "active"
WAITING: Final = "waiting"
STREAMING: Final = "streaming"
ABORT_REQUESTED: Final = "abort-requested"
CLEANUP_PENDING: Final = "cleanup-pending"
TERMINAL: Final = "terminal"
UNKNOWN_EFFECT: Final = "unknown-effect"

STATES: Final[tuple[State, ...]] = get_args(State)
EVENTS: Final[tuple[Event, ...]] = get_args(Event)

TRANSITIONS: Final[Mapping[State, Mapping[Event, State]]] = {
    QUEUED: {"start": ACTIVE, "settle": TERMINAL, "abort": TERMINAL, "abort-during-hook": ABORT_REQUESTED},
    ACTIVE: {
        "wait": WAITING,
        "stream": STREAMING,
        "abort": ABORT_REQUESTED,
        "end": TERMINAL,
        "end-unknown": UNKNOWN_EFFECT,
        "lose": UNKNOWN_EFFECT,
    },
    STREAMING: {
        "wait": WAITING,
        "abort": ABORT_REQUESTED,
        "end": TERMINAL,
        "end-unknown": UNKNOWN_EFFECT,
        "lose": UNKNOWN_EFFECT,
    },
    WAITING: {
        "wait": WAITING,
        "resume": WAITING,
        "resume-last": ACTIVE,
        "stream": WAITING,
        "abort": ABORT_REQUESTED,
        "end": TERMINAL,
        "end-unknown": UNKNOWN_EFFECT,
        "lose": UNKNOWN_EFFECT,
    },
    ABORT_REQUESTED: {
        "wait": ABORT_REQUESTED,
        "resume": ABORT_REQUESTED,
        "resume-last": ABORT_REQUESTED,
        "stream": ABORT_REQUESTED,
        "abort": ABORT_REQUESTED,
        "overdue": CLEANUP_PENDING,
        "end": TERMINAL,
        "end-unknown": UNKNOWN_EFFECT,
        "lose": UNKNOWN_EFFECT,
    },
    CLEANUP_PENDING: {
        "wait": CLEANUP_PENDING,
        "resume": CLEANUP_PENDING,
        "resume-last": CLEANUP_PENDING,
        "stream": CLEANUP_PENDING,
        "abort": CLEANUP_PENDING,
        "overdue": UNKNOWN_EFFECT,
        "unresolved": UNKNOWN_EFFECT,
        "end": TERMINAL,
        "end-unknown": UNKNOWN_EFFECT,
        "lose": UNKNOWN_EFFECT,
    },
    TERMINAL: {},
    UNKNOWN_EFFECT: {"late-end": UNKNOWN_EFFECT, "resolve": TERMINAL},
}
"""One row for every state, the dead one too.

``resume-last`` leads back to the state before the wait: `Lifecycle` answers ``streaming`` there when a chunk came
before or meanwhile.
"""

FINAL: Final = frozenset((TERMINAL, UNKNOWN_EFFECT))
"""The states in which an execution is settled."""

STARTED: Final = frozenset((ACTIVE, WAITING, STREAMING))
"""The states of a body that runs and was not asked to stop."""

_SILENT: Final = frozenset((ABORT_REQUESTED, CLEANUP_PENDING))
"""Staying in one of these is counted and not published."""


_NOTED: Final = frozenset(("wait", "resume", "resume-last", "stream"))
"""Events that also say how many waits are open, or where the last one leads back to."""


T_contra = TypeVar("T_contra", contravariant=True)


class Log(Protocol[T_contra]):
    """Where published steps are written down."""

    @property
    def active(self) -> bool:
        """Whether anybody reads it."""
        ...

    def publish(self, published: T_contra, /) -> None:
        """Note that something was published. Only called while somebody reads."""
        ...


class Lifecycle:
    """Where one execution stands. `apply` is the only thing that ever changes it."""

    __slots__ = ("_log", "_streaming", "revision", "state", "waits")

    _log: Log[Self]
    state: State
    revision: int
    waits: int
    _streaming: bool

    def __init__(self, log: Log[Self]) -> None:
        self._log = log
        self.state = QUEUED
        self.revision = 1
        self.waits = 0
        self._streaming = False

    def apply(self, event: Event) -> None:
        """Make the step that *event* stands for, and publish it unless it is one that is only counted.

        Raises:
            TransitionError: The state does not accept *event*; nothing has changed.
        """
        before = self.state
        try:
            after = TRANSITIONS[before][event]
        except KeyError:
            raise TransitionError(f"{event!r} while {before!r}") from None
        if event in _NOTED:
            after = self._note(event, after)
        self.state = after
        if after != before or before not in _SILENT:
            self.revision += 1
            if self._log.active:
                self._log.publish(self)  # type: ignore[arg-type]  # what mypy makes of Self here

    def publish(self) -> None:
        """Show something that is no step of the state: progress, a declared wait."""
        self.revision += 1
        if self._log.active:
            self._log.publish(self)  # type: ignore[arg-type]  # what mypy makes of Self here

    def _note(self, event: Event, after: State) -> State:
        if event == "wait":
            self.waits += 1
        elif event == "stream":
            self._streaming = True
        else:
            self.waits -= 1
        return STREAMING if after == ACTIVE and self._streaming else after


WaitKind = Literal[
    "policy",
    "validation",
    "approval",
    "ledger",
    "joined",
    "capacity",
    "resource",
    "declared",
    "elicitation",
]
"""What is waited for. The last two are the tool's own words, ``ctx.waiting`` and ``ctx.elicit``; a queued execution
waits for one of the others, which ``Snapshot.waits_for`` begins with."""


class Wait(msgspec.Struct, frozen=True, gc=False):
    """One wait that goes on, and since when, in seconds on trio's clock.

    Args:
        kind: What is waited for.
        subject: Which one of these: a limit, a resource, an execution; or the reason or question of the tool.
        since: When it began.
        told: Whether somebody read events then. Who comes later is not told of the end of what they saw no beginning of.
    """

    kind: WaitKind
    subject: str | None
    since: float
    told: bool


def declared_in(waits: Sequence[Wait]) -> str | None:
    """What a tool says that it waits for: the last of its *waits*."""
    last = waits[-1]
    return last.subject if last.kind in ("declared", "elicitation") else None


_STRENGTH: Final[dict[Effect, int]] = {"none": 0, "completed": 1, "unknown": 2}


def strongest(one: Effect, other: Effect) -> Effect:
    """The effect that says more about what may have happened."""
    return one if _STRENGTH[one] >= _STRENGTH[other] else other


class Effects(Lifecycle):
    """What an execution and those below it may have done to the world, as far as is known.

    Whoever runs and may change something is known to all above it, up to the next one that may, so that nobody ever has
    to look through those that only wait: calls may nest deep.

    Args:
        parent: The execution that made this call.
        final_effect: What stands for it and those below it once it is settled.
        past_effect: What those below it that are settled, and its own earlier attempts, may have done.
        changing: Those below it that run and may change something, but for those below another one of these.
    """

    __slots__ = ("changing", "final_effect", "parent", "past_effect")

    parent: Self | None
    final_effect: Effect | None
    past_effect: Effect
    changing: dict[Self, None] | None

    def may_change(self) -> bool:
        """Whether its body may change anything."""
        raise NotImplementedError

    def own_effect(self) -> Effect:
        """What its own body may have done."""
        raise NotImplementedError

    def begun(self: Self) -> None:
        """The body begins: those above it are told, before the step."""
        above = self.parent
        if above is None or not self.may_change():
            return
        while above is not None and above.final_effect is None:
            if above.changing is None:
                above.changing = {}
            above.changing[self] = None
            above = None if above.may_change() else above.parent

    def effect_below(self, changing: Iterable[Self]) -> Effect:
        """What *changing*, and those below them, may have done."""
        # No recursion: calls may nest deeper than Python's frames.
        found: Effect = "none"
        below = list(changing)
        while below and found != "unknown":
            record = below.pop()
            found = strongest(found, strongest(record.own_effect(), record.past_effect))
            below.extend(record.changing or ())
        return found

    def add_effect(self, effect: Effect) -> None:
        """*effect* was had below it: by what it called, or before by what it would call otherwise."""
        each: Effects | None = self
        while each is not None and each.final_effect is None and _STRENGTH[each.past_effect] < _STRENGTH[effect]:
            each.past_effect = effect
            each = each.parent

    def effect_is_final(self, effect: Effect) -> None:
        """It is settled with *effect*: from now on that stands for it and those below it."""
        self.final_effect = effect
        above = self.parent
        if above is None:
            return
        above.add_effect(effect)
        for gone in (self, *(self.changing or ())):
            above = self.parent
            while above is not None and above.changing and gone in above.changing:
                del above.changing[gone]
                above = above.parent


AbortSource = Literal["caller", "deadline", "owner", "supervisor", "parent", "batch", "shutdown"]
"""Who asked an execution to stop."""

Cleanup = Literal["not-required", "pending", "completed", "failed", "unresolved"]
"""How cleaning up after an abort went."""


class Abort(msgspec.Struct, frozen=True, gc=False):
    """A request to stop.

    Args:
        source: Who asked.
        reason: Why, in words.
        requested_at: When, in seconds on trio's clock.
        honoured: True once the body ended because of it, False when the body finished its work all the same, None
            while nobody knows.
    """

    source: AbortSource
    reason: str
    requested_at: float
    honoured: bool | None = None


class Progress(msgspec.Struct, frozen=True, gc=False):
    """The last report of a running tool; ``percent`` is from 0 to 100."""

    percent: float | None
    message: str | None


class Snapshot(msgspec.Struct, frozen=True, gc=False):
    """One execution at one moment. Times are seconds on trio's clock.

    Never holds arguments, results, credentials or authority.

    Args:
        revision: Grows by one with each publication, from 1.
        waits_for: What a queued execution waits for: ``policy``, ``approval``, ``ledger``, ``joined:<id>``,
            ``capacity:<limit>`` or ``resource:<name>``.
        effect: What the world may have seen, as far as is known now.
        queue_position: 1 for the next in line; None unless it waits for capacity.
        capacity: The limits that it holds a slot of.
        deadline: The point by which the outcome is decided.
        ended_at: When the body really ended.
        settled_at: When the state became final.
        declared_wait: What the tool says that it waits for.
    """

    execution_id: str
    call_id: str
    tool_name: str
    tool_id: str | None
    owner_id: str | None
    parent_id: str | None
    started_by: str | None
    batch_id: str | None
    batch_index: int | None
    state: State
    revision: int
    waits_for: str | None
    outcome: Outcome | None
    error_category: Category | None
    error_code: str | None
    effect: Effect
    queue_position: int | None
    capacity: tuple[str, ...]
    deadline: float | None
    admitted_at: float
    started_at: float | None
    last_activity_at: float
    ended_at: float | None
    settled_at: float | None
    progress: Progress | None
    declared_wait: str | None
    chunks: int
    attempts: int
    abort: Abort | None
    cleanup: Cleanup
    placement: str
