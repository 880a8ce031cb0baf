"""The way in: calls get their records, are brought as far as they go without waiting, and get their tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import trio

from ..definitions import Tool, ToolCall, ToolResult
from ..definitions._call import no_call
from ..errors import AdmissionClosed, ExecutionOver
from ._abort import on_due, request_abort
from ._actor import Actor, engine_error, running_in
from ._admission import admit, go_on
from ._batch import Batch
from ._concurrency import is_cancelled
from ._events import ExecutionAdmitted
from ._execution import Core, Record
from ._handle import CALLER_CANCELLED, Execution, latch_of_release, leave, wait_settled
from ._lifecycle import QUEUED, AbortSource
from ._options import DIRECTLY, NO_OPTIONS, Options
from ._permits import Hook
from ._plan import Plan
from ._plans import Plans
from ._room import require_room


class Step(msgspec.Struct, frozen=True, eq=False):
    """A nested call that has a place in its caller."""

    place: str
    call: ToolCall
    plan: Plan | None

    @property
    def tool(self) -> Tool[..., object] | None:
        """The tool that runs, if there is one of that name."""
        return None if self.plan is None else self.plan.tool

    @property
    def tool_id(self) -> str:
        """Its full id, or else the name that was called."""
        return self.call.name if self.plan is None else self.plan.id


class Turn:
    """The place of a call in a sequential batch."""

    __slots__ = ("before", "came_in", "record")

    def __init__(self, record: Record, before: Turn | None) -> None:
        self.record: Record = record
        self.before: Turn | None = before
        self.came_in: bool = True
        """Whether it was its turn; else it waits, or was stopped while it did."""

    @property
    def must_wait(self) -> bool:
        """Whether a hook or a person has still to decide about one before it."""
        return self.before is not None and self.before.undecided

    @property
    def undecided(self) -> bool:
        """Whether it does not hold its place in the planner yet, and may still come to."""
        return self.record.claim is None and self.record.state == QUEUED

    async def wait(self) -> None:
        """Return when those before have ended, or hold their place in the planner. Cancelled: nothing has changed."""
        each = self.before
        while each is not None:
            if each.undecided:
                await wait_settled(each.record)
            each = None if each.came_in else each.before


class Door:
    """Where calls come in, from hosts and from running tools."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._actor = Actor(self._run_nested)
        self.plans: Plans = Plans(core)

    def caller(self) -> Record | None:
        """The running execution that this task belongs to: what it calls is nested.

        Raises:
            AdmissionClosed: There is none, and no new work is taken.
            ExecutionOver: Its outcome is decided.
        """
        record = running_in(self._core)
        if record is not None and record.ended_at is None:
            if record.verdict is not None:
                raise ExecutionOver(f"{record.id} ({record.name}) is over; nothing new may start in it")
            return record
        self.must_be_open()
        return None

    def must_be_open(self) -> None:
        """Let nothing in that comes too late.

        Raises:
            AdmissionClosed: No new work is taken.
        """
        if self._core.closed:
            raise AdmissionClosed(f"the supervisor takes no new work: {self._core.closed_because}")

    def make(self, call: ToolCall, options: Options, parent: Record | None) -> Record:
        """The record of a call, on behalf of whom it is made.

        Raises:
            TypeError: *call* is none.
            DefinitionError: A call of a running tool names somebody else than the tool acts for, or more authority.
        """
        if not isinstance(call, ToolCall):  # pyright: ignore[reportUnnecessaryIsInstance]  # a host need not be typed
            raise no_call(call)
        core = self._core
        core.numbered += 1
        record = Record(core, call, options, core.numbered, core.now())
        if parent is not None or options is not NO_OPTIONS or core.settings.default_request_context is not None:
            self._say_for_whom(record, options, parent)
        return record

    def _say_for_whom(self, record: Record, options: Options, parent: Record | None) -> None:
        context, owner = options.request_context, options.owner_id
        record.elicit, record.deadline = options.elicit, options.deadline
        if parent is not None:
            record.parent = parent
            above = parent.request_context
            context = above if context is None else context if above is None else above.narrow_to(context)
            owner = parent.owner if owner is None else owner
            record.elicit = record.elicit or parent.elicit
            if parent.deadline is not None and (record.deadline is None or parent.deadline < record.deadline):
                record.deadline = parent.deadline
        record.request_context = context = context or self._core.settings.default_request_context
        record.owner = context.owner if owner is None and context is not None else owner

    def begin(self, record: Record, *, turn: Turn | None = None) -> Record:
        """Bring *record* as far as it goes without waiting, and give it a task unless that was the end.

        With a *turn* it waits for those before it that are still to be decided about.
        """
        core, parent = self._core, record.parent
        core.admitted += 1
        core.live[record.id] = record
        if parent is not None:
            if parent.children is None:
                parent.children = {}
            parent.children[record.id] = record
        if core.log.active:
            core.log.publish(record)
        if core.feed.readers:
            parent_id = None if parent is None else parent.id
            record.tell(ExecutionAdmitted, parent_id=parent_id, batch_id=record.batch_id)
        try:
            if record.options is DIRECTLY and record.plan is not None:
                go_on(record, record.plan)
            elif turn is not None and turn.must_wait:
                self._postpone(record, turn)
            else:
                admit(record, self.plans)
        except KeyboardInterrupt:
            request_abort(record, "supervisor", "the program was interrupted")
            raise
        except BaseException as exc:  # noqa: ASYNC103  # code of the user's may raise anything; nothing is awaited
            engine_error(record, exc)
        if record.deadline is not None and record.ended_at is None:
            self._watch_deadline(record, record.deadline)
        if record.ended_at is None:
            core.nursery.start_soon(self._actor.run, record, name=record.id)
        return record

    def _watch_deadline(self, record: Record, deadline: float) -> None:
        if deadline <= self._core.now():
            on_due(record, "deadline", deadline)
        else:
            self._core.timers.at(deadline, record, "deadline")

    def open(self, call: ToolCall, options: Options, parent: Record | None) -> Record:
        """Let one call in."""
        return self.begin(self.make(call, options, parent))

    def begin_with_handle(self, record: Record, call: ToolCall) -> Execution:
        """Let a call in whose result a handle keeps."""
        execution = Execution(call, record)
        record.keeper = execution
        self.begin(record)
        return execution

    def open_batch(
        self,
        batch: Batch,
        calls: Sequence[ToolCall],
        options: Options,
        parent: Record | None,
        *,
        concurrency: int | None,
        in_order: bool,
    ) -> None:
        """Let all calls of a batch in, or none.

        Raises:
            Overloaded: The queue bound cannot hold all of them.
            BudgetExceeded: The budget cannot pay for all of them.
        """
        needs: tuple[str, ...] = ()
        if concurrency is not None:
            family = f"batch of {concurrency}"
            self._core.planner.set_family(family, concurrency)
            needs = (f"{family}:{batch.id}",)
        records = [self.make(call, options, parent) for call in calls]
        for index, record in enumerate(records):
            record.batch_id = batch.id
            record.batch_index = index
            if needs:
                record.extra_needs = needs
            if in_order:
                record.in_order = True
        require_room(records, self.plans)
        turn: Turn | None = None
        for record in records:
            turn = Turn(record, turn) if in_order else None
            batch.add(self.begin(record, turn=turn))

    def _postpone(self, record: Record, turn: Turn) -> None:
        """Let *record* come in only when its turn has come."""

        def come_in(record: Record, *_: object) -> None:
            record.waits_for = None
            turn.came_in = True
            admit(record, self.plans)

        turn.came_in = False
        record.waits_for = f"resource:batch:{record.batch_id}"
        record.hook = Hook(turn.wait, come_in)

    async def released(self, record: Record) -> None:
        """Return when the outcome of *record* is decided.

        Cancelled: it is aborted, and waited for a moment.
        """
        source: AbortSource = "caller" if record.parent is None else "parent"
        if is_cancelled():
            request_abort(record, source, CALLER_CANCELLED)  # before the body gets its first turn
        latch = latch_of_release(record)
        try:
            await latch.wait()
        except trio.Cancelled:
            record.discard()
            await leave(record, source, CALLER_CANCELLED)  # noqa: ASYNC102  # shields itself, for RELEASE_AFTER
            raise

    async def _run_nested(
        self,
        parent: Record,
        called: str | Tool[..., object],
        arguments: Mapping[str, object],
        place: str | None,
    ) -> ToolResult[object]:
        inherited = parent.options
        options = Options(human_timeout=inherited.human_timeout, elicit=inherited.elicit, metadata=inherited.metadata)
        plan = self.plans.of(called) if isinstance(called, Tool) else None
        call = ToolCall(called if isinstance(called, str) else called.name, arguments)
        if place is not None:
            return await self._run_step(parent, Step(place, call, plan or self.plans.find(call.name)), options)
        record = self.make(call, options, parent)
        record.plan = plan
        self.begin(record)
        await self.released(record)
        return record.take()

    async def _run_step(self, parent: Record, step: Step, options: Options) -> ToolResult[object]:
        """Run a step that has a place, go on with it where it had to wait, or answer what it came to before."""
        from ._journal import Journal  # noqa: PLC0415  # only who has steps pays for it
        from ._resumption import call_of, judged_in, prepare  # noqa: PLC0415  # as above

        journal = parent.journal
        if journal is None:
            journal = parent.journal = Journal()
        journal.begin(step.place)
        known = journal.known(step.place, step.tool_id, step.tool, self._core.toolbox)
        if known is not None:
            parent.add_effect(known.effect)
            await trio.lowlevel.checkpoint()
            journal.require_counting(step.place, step.tool, self._core.toolbox)  # it may have been exchanged meanwhile
            return known
        resumption = None if step.plan is None else journal.resumption_at(step.place, step.plan.id)
        record = self.make(step.call if resumption is None else call_of(resumption), options, parent)
        record.plan = step.plan
        if resumption is not None and step.tool is not None:
            prepare(record, resumption, step.tool)
        self.begin(record)
        await self.released(record)
        result = record.take()
        journal.end(step.place, (step.tool_id, step.tool), result, judged_in(record))
        return result
