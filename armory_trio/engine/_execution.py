"""One execution's record."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec
import trio

from ..definitions import Category, ChunkStage, Effect, Outcome, RequestContext, ToolCall, ToolDefinition, ToolResult
from ..toolbox import Toolbox
from ._concurrency import Latch
from ._copies import own_copy
from ._core import CoreOf
from ._events import ChunkEmitted, Happening
from ._lifecycle import FINAL, QUEUED, Abort, Cleanup, Effects, Progress, Snapshot, Wait, declared_in, strongest
from ._options import Options
from ._permits import Hook, Permit
from ._plan import Plan
from ._roles import NOBODY, Feeder, Keeper, Window
from ._timers import Kind
from .capacity import Claim

if TYPE_CHECKING:  # loaded by who has a key, or steps
    from ._journal import Journal
    from ._keywords import Elicitor
    from .keeping._entries import Entry

Verdict = tuple[Outcome, Category | None, str | None]
"""What the caller is told, without its words: outcome, and category and code of an error."""

_NOT_YET: Final = (None, None, None)

CURRENT: Final[ContextVar[Record | None]] = ContextVar("armory_trio.current_execution", default=None)
"""The execution whose body this task belongs to."""


class Record(Effects):
    """Everything that the engine knows of one execution.

    It changes only through `apply` and beside it, in synchronous code, by whoever learns a fact: the body's task, an
    aborter or the timer task.
    """

    core: Core
    number: int
    id: str
    call: ToolCall | None
    call_id: str
    name: str
    options: Options
    plan: Plan | None
    validated: object
    counted: bool
    """Whether the budget has paid for it."""

    # for whom
    owner: str | None
    request_context: RequestContext | None
    permit: Permit | None
    """What was judged of it; None when nobody has anything to say about such calls."""
    entry: Entry | None
    """What it holds in the ledger; None when it has no need of that."""
    journal: Journal | None
    """What its steps came to, if it named them."""
    outside: Record | None
    """The execution of another supervisor whose body made this call; None once this one is over."""
    started_by: str | None
    batch_id: str | None
    batch_index: int | None

    # waiting for its turn
    claim: Claim | None
    claim_held: bool
    extra_needs: tuple[str, ...]
    in_order: bool
    turn: Latch | None
    waits_for: str | None
    hook: Hook | None
    hook_scope: trio.CancelScope | None

    # running
    scope: trio.CancelScope | None
    attempts: int
    returned: bool
    failure_effect: Effect | None
    windows: list[Window] | None
    children: dict[str, Record] | None
    open_waits: list[Wait] | None
    """What its tool waits for; of a queued one what it waits for itself, if somebody read events when that began."""
    progress: Progress | None
    chunks: int
    collected: list[object] | None
    collects: bool
    stages: tuple[ChunkStage, ...] | None
    """What its chunks go through, if a middleware said so."""
    feeder: Feeder | None
    elicit: Elicitor | None
    questions: list[trio.CancelScope] | None

    # being stopped
    abort: Abort | None
    abort_code: str
    abort_latch: Latch | None
    cut: bool
    cleanup: Cleanup
    cleanup_detail: str
    in_thread: bool

    # times
    admitted_at: float
    last_activity: float
    started_at: float | None
    ended_at: float | None
    settled_at: float | None
    deadline: float | None
    timeout_at: float | None
    idle_timeout: float | None
    idle_at: float | None
    """When to look next whether it is idle; what else is in the heap for that is out of date."""
    paused: int
    paused_at: float
    timers: int

    # how it ended
    released: Latch | None
    """Set once the outcome is decided; made by who waits for that."""
    settled: Latch | None
    result: ToolResult[object] | None
    verdict: Verdict | None
    on_released: Callable[[Record], None] | None
    keeper: Keeper | None
    late: object
    before: tuple[Effect, int] | None
    """What attempts that the far side knows by the same key may have done, and how many windows they opened."""
    published: int
    shot: Snapshot | None
    """Its snapshot, if somebody has asked for it and it can only change together with its revision."""

    __slots__ = tuple(__annotations__)

    def __init__(self, core: Core, call: ToolCall, options: Options, number: int, now: float) -> None:
        # With what its bases do: one of these is made for each call.
        base: Effects = self
        self._log = core.log
        base.state = QUEUED
        self.revision = 1
        self.core = core
        self.number = number
        self.id = f"{core.prefix}-{number}"
        self.call = call
        self.call_id = call.id
        self.name = call.name
        self.options = options
        self.admitted_at = self.last_activity = now
        self.abort_code = "CANCELLED"
        self.cleanup, self.cleanup_detail, base.past_effect, self.paused_at = "not-required", "", "none", 0.0
        self.collects, self.in_thread, self.extra_needs = True, False, ()
        self._streaming = self.counted = self.claim_held = self.in_order = self.returned = self.cut = False
        self.waits = self.attempts = self.chunks = self.paused = self.timers = self.published = 0
        self.plan = self.owner = self.request_context = self.permit = self.entry = self.journal = base.parent = (
            self.outside
        ) = self.started_by = None
        self.validated = self.batch_id = self.batch_index = self.claim = self.turn = None
        self.waits_for = self.hook = self.hook_scope = self.scope = self.failure_effect = base.final_effect = None
        self.windows = self.children = self.open_waits = self.progress = self.collected = self.feeder = None
        self.before = base.changing = None
        self.stages = self.elicit = self.questions = self.abort = self.abort_latch = self.started_at = self.ended_at = (
            None
        )
        self.settled_at = self.deadline = self.timeout_at = self.idle_timeout = self.idle_at = None
        self.released = self.settled = self.result = self.verdict = self.on_released = self.keeper = self.late = (
            self.shot
        ) = None

    @property
    def over(self) -> bool:
        """Whether the body is gone and the state is final: nothing more can come."""
        return self.ended_at is not None

    @property
    def definition(self) -> ToolDefinition | None:
        """What its tool is; None as long as none was found for it."""
        return None if self.plan is None else self.plan.tool.definition

    @property
    def placement(self) -> str:
        """Where its body runs."""
        return "task" if self.plan is None else self.plan.placement

    @property
    def metadata(self) -> object:
        """What the call came with besides."""
        return self.options.metadata

    @property
    def trace(self) -> object:
        """What telemetry hangs it below, if the call says so."""
        return self.options.trace

    @property
    def claimed(self) -> bool:
        """Whether it holds an attempt in the ledger."""
        return self.entry is not None and self.entry.attempt_id is not None

    @property
    def judged_in(self) -> Toolbox:
        """By whose rules it was let through."""
        assert self.plan is not None
        permit = self.permit
        return self.plan.toolbox if permit is None or permit.toolbox is None else permit.toolbox

    @property
    def concluded(self) -> bool:
        """Whether its body is gone, and how it ended is being written down: nothing changes that any more."""
        return self.entry is not None and self.entry.holding

    @property
    def withheld(self) -> bool:
        """Whether how it ended is not told to anybody before it is written down."""
        return self.entry is not None and self.entry.withholding

    @property
    def given_up(self) -> bool:
        """Whether nobody waits for its body any more: its state is final, and it runs on in a thread."""
        return self.in_thread and self.ended_at is None and self.state in FINAL

    @property
    def effect(self) -> Effect:
        """What the world may have seen, as far as is known now: the strongest of its own and its children's."""
        return self.effect_now()

    def effect_now(self) -> Effect:
        """The same for who asks on the way of each call: to call is cheaper than to read a property."""
        if self.final_effect is not None:
            return self.final_effect
        plan = self.plan
        idle = plan is None or plan.read_only or not (self.attempts or self.windows)
        found: Effect = "none" if idle else self.own_effect()
        if self.past_effect != "none":
            found = strongest(found, self.past_effect)
        if self.changing and found != "unknown":
            found = strongest(found, self.effect_below(self.changing))
        return found

    def may_change(self) -> bool:
        """Whether its body may change anything."""
        return self.plan is not None and not self.plan.read_only

    def own_effect(self) -> Effect:
        """What its own body may have done: the first row that fits; docs/effects.md shows the same table."""
        plan = self.plan
        if plan is None or plan.read_only or not (self.attempts or self.windows):
            return "none"
        if self.before is not None:
            before, seen = self.before
            found = self._effect_since(plan, seen)
            return found if found == "completed" else strongest(before, found)
        return self._effect_since(plan, 0)

    def _effect_since(self, plan: Plan, seen: int) -> Effect:
        """That of the last attempt; *seen* windows belong to those before it."""
        if plan.effect_windows:
            states = [window.record().state for window in (self.windows or ())[seen:]]
            if "open" in states or "unknown" in states:
                return "unknown"
            return "completed" if "completed" in states else "none"
        if self.returned:
            return "completed"
        return self.failure_effect or "unknown"

    @property
    def known_by_key(self) -> bool:
        """Whether the far side knows this call by its key, so that what it asks for is not done twice."""
        plan, entry = self.plan, self.entry
        if plan is None or entry is None or entry.told_key is None:
            return False
        return plan.tool.definition.semantics.idempotency == "provider-enforced"

    def due(self, kind: Kind, at: float) -> None:
        """A time limit of this execution ran out."""
        self.core.due(self, kind, at)

    def touch(self) -> None:
        """There was a sign of life: it and whoever called it are not idle."""
        now = self.core.now()
        record: Record | None = self
        while record is not None:
            record.last_activity = now
            record = record.parent

    def kept_of(self, chunk: object) -> object:
        """*chunk* as it is kept beside a reader, who may change his: a copy, if others may be told of it."""
        entry = self.entry
        return chunk if entry is None or entry.recovery_only else own_copy(chunk)

    def hand_over(self, keeper: Keeper) -> None:
        """Give the result to its keeper."""
        if self.result is not None:
            keeper.keep(self.result, self.late)
            self.result = self.keeper = self.late = None

    def take(self) -> ToolResult[object]:
        """The result, for the only one who asks for it; the record no longer keeps it once the body is gone."""
        result = self.result
        assert result is not None
        self.discard()
        return result

    def discard(self) -> None:
        """Nobody will ask for the result any more."""
        if self.ended_at is not None:
            self.result = self.late = None
        else:
            self.keeper = NOBODY

    def tell(self, kind: type[Happening], /, **facts: object) -> None:
        """Send an event of this execution. Only called while somebody reads."""
        feed = self.core.feed
        feed.send(self._event(kind, facts))

    def tell_with_payload(self, kind: type[Happening], facts: dict[str, object], payload: dict[str, object]) -> None:
        """Send an event whose *payload* goes only to readers who ask for it."""
        full = self._event(kind, {**facts, **payload})
        without = msgspec.structs.replace(full, **dict.fromkeys(payload))
        self.core.feed.send(full, without_payload=without)

    def tell_chunk(self, index: int, chunk: object) -> None:
        """Send a chunk to the readers who ask for payloads."""
        event = self._event(ChunkEmitted, {"index": index, "chunk": chunk})
        self.core.feed.send_payload(event)

    def _event(self, kind: Callable[..., Happening], facts: dict[str, object]) -> Happening:
        return kind(
            sequence=self.core.feed.next(),
            at=self.core.now(),
            execution_id=self.id,
            call_id=self.call_id,
            tool_name=self.name,
            owner_id=self.owner,
            revision=self.revision,
            **facts,
        )

    def snapshot(self) -> Snapshot:
        """What this execution looks like now."""
        if self.shot is not None and self.shot.revision == self.revision:
            return self.shot
        shot = self._shoot()
        if self.ended_at is not None:
            self.shot = shot  # until its next revision nothing in it can change
        return shot

    def _shoot(self) -> Snapshot:
        outcome, category, code = self.verdict or _NOT_YET
        plan, parent, claim, state = self.plan, self.parent, self.claim, self.state
        waits_for, position = self.waits_for, None
        if claim is not None and state == QUEUED and not self.claim_held:
            planner = self.core.planner
            waits_for, position = planner.waits_for(claim), planner.position(claim)
        return Snapshot(  # in the order of its fields: by name msgspec takes four times as long
            self.id,
            self.call_id,
            self.name,
            None if plan is None else plan.id,
            self.owner,
            None if parent is None else parent.id,
            self.started_by,
            self.batch_id,
            self.batch_index,
            state,
            self.revision,
            waits_for,
            outcome,
            category,
            code,
            self.final_effect or self.effect,
            position,
            claim.needs if claim is not None and self.claim_held else (),
            self.deadline,
            self.admitted_at,
            self.started_at,
            self.last_activity,
            self.ended_at,
            self.settled_at,
            self.progress,
            declared_in(self.open_waits) if self.open_waits and state not in FINAL else None,
            self.chunks,
            self.attempts,
            self.abort,
            self.cleanup,
            "task" if plan is None else plan.placement,
        )


Core: TypeAlias = CoreOf[Record]
"""What the executions of one supervisor share."""
