"""The supervisor: owns every execution from `open_supervisor` to its end."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final, Literal, TypeVar, Unpack, cast

import trio

from ..content import encode_content
from ..definitions import RequestContext, Tool, ToolCall, ToolResult
from ..errors import AdmissionClosed, DefinitionError, ExecutionOver, ShutdownFromInside
from ..toolbox import Toolbox
from ._abort import AbortAnswer, on_due, request_abort
from ._actor import CURRENT, Actor, engine_error
from ._admission import Plans, admit, enter, require_room, set_limits
from ._batch import Batch, BatchMode, OnError, check_batch
from ._concurrency import Latch, is_cancelled, open_private_nursery
from ._events import ExecutionAdmitted, Happening
from ._execution import Core, Record, Settings
from ._handle import Execution, OpenStream, Stream, leave
from ._lifecycle import AbortSource, Snapshot
from ._options import NO_OPTIONS, Budget, CallOptions, Limits, Options, Retention, freeze_options
from ._shutdown import (
    Mode,
    Report,
    abort_everything,
    close_admission,
    make_report,
    wait_all_settled,
    wait_for_bodies,
    wait_idle,
)
from ._streams import ChunkBuffer
from ._subscriptions import EventReader, Selection, Subscription, Updates

_DEFAULT_LIMITS: Final = Limits()
_DEFAULT_RETENTION: Final = Retention()

_CALLER_CANCELLED: Final = "its caller was cancelled"

H = TypeVar("H", bound=Happening)
R = TypeVar("R")

ErrorDetail = Literal["message", "declared"]
"""What a model is shown of an exception that the tool did not declare: type and text, or a generic line."""


class Executions:
    """What runs, and what ran lately. The ``executions`` of a supervisor."""

    __slots__ = ("_core",)

    def __init__(self, core: Core) -> None:
        self._core = core

    def inspect(
        self, *, owner_id: str | None = None, tool_name: str | None = None, live_only: bool = False
    ) -> list[Snapshot]:
        """The newest snapshots, in order of admission; ended executions as long as they are kept."""
        self._core.forget_expired()
        chosen = Selection(owner_id=owner_id, tool_name=tool_name)
        records = list(self._core.live.values()) + ([] if live_only else list(self._core.kept))
        return [record.snapshot() for record in sorted(filter(chosen, records), key=lambda record: record.number)]

    def locate(self, execution_id: str) -> Snapshot | None:
        """The newest snapshot of one execution; None when there never was one, or it is no longer kept."""
        record = self._core.live.get(execution_id) or next((kept for kept in self._core.kept if kept.id == execution_id), None)
        return None if record is None else record.snapshot()

    def subscribe(
        self, *, owner_id: str | None = None, execution_id: str | None = None, tool_name: str | None = None
    ) -> Watching:
        """Follow what changes, without ever slowing the work; use the answer with ``async with``."""
        return Watching(self._core, Selection(owner_id, execution_id, tool_name))


class Watching:
    """``async with`` round a view of the executions that change."""

    __slots__ = ("_core", "_updates")

    def __init__(self, core: Core, selection: Selection) -> None:
        self._core = core
        self._updates = Updates(core.log, selection)

    async def __aenter__(self) -> Updates:
        self._updates.join(list(self._core.live.values()), self._core.admitted)
        return self._updates

    async def __aexit__(self, *exc_info: object) -> None:
        self._core.log.remove(self._updates)


class Supervisor:
    """Runs tool calls as supervised executions. Made by `open_supervisor`, and only alive inside its block."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._plans = Plans(core)
        self._actor = Actor(self._run_nested)
        self._batches = itertools.count(1)
        self._mode: Mode = "drain"
        self._report: Report | None = None
        self.executions = Executions(core)

    # -- looking

    @property
    def active(self) -> int:
        """How many executions are not over."""
        return len(self._core.live)

    @property
    def closed(self) -> bool:
        """Whether it takes no new work."""
        return self._core.closed

    @property
    def report(self) -> Report | None:
        """What became of everything; set once the supervisor was shut down or left."""
        return self._report

    @property
    def toolbox(self) -> Toolbox:
        """The catalogue that calls are resolved in."""
        return self._core.toolbox

    def events(
        self, *kinds: type[H], include_payloads: bool = False, buffer: int = 1024
    ) -> Subscription[H]:
        """Read typed events in order; use the answer with ``async with``.

        Args:
            kinds: Which events; all of them when none is named.
            include_payloads: Whether chunks, checkpoints and data of log lines come along.
            buffer: How many events are held for a slow reader. One that is slower loses the oldest, and is told.
        """
        if buffer < 1:
            raise ValueError(f"buffer={buffer!r}: give at least 1")
        reader = EventReader[H](kinds, include_payloads=include_payloads, buffer=buffer)
        return Subscription(self._core.feed, reader)

    # -- running

    async def execute(self, call: ToolCall, **options: Unpack[CallOptions]) -> ToolResult[object]:
        """Run one call and return how it ended, whatever way that was.

        Cancelled: the execution is aborted, and waited for at most 0.05 s. A tool that cannot be interrupted is left
        behind, visibly.

        Raises:
            AdmissionClosed: The supervisor takes no new work.
            TypeError, ValueError: An option is wrong; see `CallOptions`.
            ExecutionOver: It was called by a tool whose own outcome is decided.
        """
        record = self._open(call, freeze_options(options), self._caller())
        await self._released(record)
        return record.take()

    def start(self, call: ToolCall, **options: Unpack[CallOptions]) -> Execution:
        """Begin one call and return its handle at once. The execution belongs to the supervisor, not to the caller.

        Raises:
            AdmissionClosed: The supervisor takes no new work.
            TypeError, ValueError: An option is wrong; see `CallOptions`.
        """
        frozen = freeze_options(options)
        starter = CURRENT.get()
        inside = starter is not None and starter.core is self._core
        self._must_be_open()
        record = self._make(call, frozen, starter if inside else None)
        record.parent = None
        record.started_by = starter.id if inside and starter is not None else None
        return self._begin_with_handle(record, call)

    def stream(self, call: ToolCall, *, collect: bool = True, **options: Unpack[CallOptions]) -> OpenStream:
        """Run one call and read its chunks as they come; use the answer with ``async with``.

        Args:
            call: The call. A tool that is no generator yields no chunks.
            collect: Whether the chunks are also kept for the result's value. Without it the value is None.

        Raises (on entering the block): as `execute`.
        """
        frozen = freeze_options(options)

        def begin() -> Stream:
            record = self._make(call, frozen, self._caller())
            plan = self._plans.find(call.name)
            buffer = ChunkBuffer(record, plan.buffer if plan is not None else 1)
            record.feeder = buffer
            record.collects = collect
            return Stream(self._begin_with_handle(record, call), record, buffer)

        return OpenStream(begin)

    async def execute_batch(
        self,
        calls: Sequence[ToolCall],
        *,
        mode: BatchMode = "parallel",
        concurrency: int | None = None,
        on_error: OnError = "collect",
        **options: Unpack[CallOptions],
    ) -> list[ToolResult[object]]:
        """Run several calls and return their results in call order.

        The batch is admitted as a whole. One call that fails does not disturb the others, unless ``on_error`` is
        ``fail_fast``.

        Args:
            calls: The calls; none is fine.
            mode: ``sequential`` starts each call when the one before has ended.
            concurrency: How many of them may run at once.
            on_error: ``fail_fast`` stops the others as soon as one has failed.
            options: For each of the calls.

        Cancelled: all of them are aborted, and waited for at most 0.05 s.

        Raises:
            AdmissionClosed: The supervisor takes no new work.
            Overloaded: The queue bound cannot hold all of them.
            BudgetExceeded: The budget cannot pay for all of them.
            BatchError: The batch fails fast, and a call failed.
            TypeError, ValueError: An option is wrong.
        """
        check_batch(mode, concurrency, on_error)
        frozen = freeze_options(options)
        parent = self._caller()
        if not calls:
            await trio.lowlevel.checkpoint()
            return []
        batch = self._open_batch(calls, frozen, parent, mode=mode, concurrency=concurrency, on_error=on_error)
        source: AbortSource = "caller" if parent is None else "parent"
        if is_cancelled():
            batch.abort(source, _CALLER_CANCELLED)  # before any body gets its first turn
        try:
            await batch.join()
        except trio.Cancelled:
            batch.abort(source, _CALLER_CANCELLED)
            batch.discard()
            with trio.CancelScope(shield=True):
                await batch.part()
            raise
        return batch.results()

    async def run_directly(self, tool: Tool[..., R], arguments: Mapping[str, object]) -> ToolResult[R]:
        """Run *tool*, which is in the toolbox, without asking whether it may. For direct calls."""
        record = self._make(ToolCall(tool.name, arguments), NO_OPTIONS, None)
        record.plan = self._plans.find(str(tool.id))
        await self._released(self._begin(record))
        return cast("ToolResult[R]", record.take())

    # -- stopping

    def abort(
        self,
        reason: str,
        *,
        execution_id: str | None = None,
        call_id: str | None = None,
        owner_id: str | None = None,
        batch_id: str | None = None,
        tool_name: str | None = None,
    ) -> dict[str, AbortAnswer]:
        """Ask executions to stop, and say for each of them, by its id, what that did.

        All selectors that are given must fit. An id that nobody knows any more gives an empty answer.

        Raises:
            ValueError: No selector is given; to stop everything, ``await shutdown("abort")``.
        """
        selectors = {
            "id": execution_id,
            "call_id": call_id,
            "owner": owner_id,
            "batch_id": batch_id,
            "name": tool_name,
        }
        wanted = {name: value for name, value in selectors.items() if value is not None}
        if not wanted:
            raise ValueError("abort what? give execution_id, call_id, owner_id, batch_id or tool_name")
        source: AbortSource = "owner" if owner_id is not None else "batch" if batch_id is not None else "supervisor"
        chosen = [
            record
            for record in (*self._core.kept, *self._core.live.values())
            if all(getattr(record, name) == value for name, value in wanted.items())
        ]
        return {record.id: request_abort(record, source, reason) for record in chosen}

    def close_admission(self, reason: str = "closed by its host") -> None:
        """Take no new work. What was admitted runs to its end, and so do its nested calls."""
        close_admission(self._core, reason)

    async def wait_idle(self) -> None:
        """Return when no execution is live. Cancelled: nothing has changed."""
        await wait_idle(self._core)

    async def shutdown(self, mode: Mode = "drain", *, drain_for: float | None = None) -> Report:
        """End everything and tell what became of it. May be called again, also to turn a drain into an abort.

        Args:
            mode: ``drain`` lets what was admitted run to its end; ``abort`` asks everything to stop at once.
            drain_for: Seconds after which a drain aborts what is left; by default the supervisor's own.

        Returns once every state is final. Cancelled: admission stays closed, and the work goes on (or goes on
        ending).

        Raises:
            ShutdownFromInside: A running tool called it; it would wait for itself.
        """
        if mode not in ("drain", "abort"):
            raise ValueError(f"mode={mode!r}: give 'drain' or 'abort'")
        inside = CURRENT.get()
        if inside is not None and inside.core is self._core and not inside.over:
            raise ShutdownFromInside(f"{inside.name!r} ({inside.id}) runs in the supervisor that it wants to end")
        core = self._core
        close_admission(core, f"the supervisor was asked to {mode}")
        if mode == "drain":
            seconds = core.settings.drain_for if drain_for is None else drain_for
            with trio.move_on_after(seconds) as scope:
                await wait_idle(core)
            if scope.cancelled_caught:
                self._abort_all(f"the drain took longer than {seconds:g} s")
        else:
            self._abort_all("the supervisor was asked to abort")
        await wait_all_settled(core)
        return self._report_now()

    def _abort_all(self, reason: str, *, source: Literal["shutdown", "supervisor"] = "shutdown") -> None:
        self._mode = "abort"
        abort_everything(self._core, reason, source=source)

    def _report_now(self) -> Report:
        self._report = make_report(self._core, self._mode)
        return self._report

    def fall(self, reason: str) -> None:
        """Abort everything: the block is left by an exception, or cancelled from outside. For `open_supervisor`."""
        if self._core.live:
            self._abort_all(reason, source="supervisor")
        close_admission(self._core, reason)

    async def end(self, watch: trio.CancelScope, ending: Latch) -> None:
        """Wait until nothing runs that can be stopped, whatever is cancelled, and tell. For `open_supervisor`."""
        watch.cancel("the supervisor is closing")
        self.fall("the block of the supervisor was left")
        with trio.CancelScope(shield=True):
            await wait_for_bodies(self._core)
        self._report_now()
        ending.set()

    # -- the way in

    def _caller(self) -> Record | None:
        """The running execution that this task belongs to: what it calls is nested.

        Raises:
            AdmissionClosed: There is none, and no new work is taken.
            ExecutionOver: Its outcome is decided.
        """
        record = CURRENT.get()
        if record is not None and record.core is self._core and not record.over:
            if record.verdict is not None:
                raise ExecutionOver(f"{record.id} ({record.name}) is over; nothing new may start in it")
            return record
        self._must_be_open()
        return None

    def _must_be_open(self) -> None:
        if self._core.closed:
            raise AdmissionClosed("the supervisor takes no new work")

    async def _run_nested(self, parent: Record, call: ToolCall) -> ToolResult[object]:
        inherited = parent.options
        options = Options(
            human_timeout=inherited.human_timeout, elicit=inherited.elicit, metadata=inherited.metadata
        )
        record = self._open(call, options, parent)
        await self._released(record)
        return record.take()

    async def _released(self, record: Record) -> None:
        source: AbortSource = "caller" if record.parent is None else "parent"
        if is_cancelled():
            request_abort(record, source, _CALLER_CANCELLED)  # before the body gets its first turn
        try:
            await record.released.wait()
        except trio.Cancelled:
            record.discard()
            await leave(record, source, _CALLER_CANCELLED)
            raise

    def _make(self, call: ToolCall, options: Options, parent: Record | None) -> Record:
        """The record of a call, on behalf of whom it is made."""
        core = self._core
        core.admitted += 1
        record = Record(core, call, options, core.admitted, self._core.now())
        if parent is not None or options is not NO_OPTIONS or core.settings.default_request_context is not None:
            self._say_for_whom(record, options, parent)
        return record

    def _say_for_whom(self, record: Record, options: Options, parent: Record | None) -> None:
        context, owner = options.request_context, options.owner_id
        record.elicit, record.deadline = options.elicit, options.deadline
        if parent is not None:
            record.parent = parent
            context = context or parent.request_context
            owner = parent.owner if owner is None else owner
            record.elicit = record.elicit or parent.elicit
            if parent.deadline is not None and (record.deadline is None or parent.deadline < record.deadline):
                record.deadline = parent.deadline
        record.request_context = context = context or self._core.settings.default_request_context
        record.owner = context.owner if owner is None and context is not None else owner

    def _begin(self, record: Record) -> Record:
        """Bring *record* as far as it goes without waiting, and give it a task unless that was the end."""
        core, parent = self._core, record.parent
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
            if record.plan is None:
                admit(record, self._plans)
            else:
                enter(record, record.plan)
        except Exception as exc:
            engine_error(record, exc)
        if not record.over:
            if record.deadline is not None:
                self._watch_deadline(record, record.deadline)
            core.nursery.start_soon(self._actor.run, record, name=record.id)
        return record

    def _watch_deadline(self, record: Record, deadline: float) -> None:
        if deadline <= self._core.now():
            on_due(record, "deadline", deadline)
        else:
            self._core.timers.at(deadline, record, "deadline")

    def _begin_with_handle(self, record: Record, call: ToolCall) -> Execution:
        execution = Execution(call, record)
        record.keeper = execution
        self._begin(record)
        return execution

    def _open(self, call: ToolCall, options: Options, parent: Record | None) -> Record:
        return self._begin(self._make(call, options, parent))

    def _open_batch(
        self,
        calls: Sequence[ToolCall],
        options: Options,
        parent: Record | None,
        *,
        mode: BatchMode,
        concurrency: int | None,
        on_error: OnError,
    ) -> Batch:
        core = self._core
        require_room(core, len(calls), nested=parent is not None)
        batch = Batch(f"{core.prefix}-b{next(self._batches)}", size=len(calls), fail_fast=on_error == "fail_fast")
        limit = None
        if concurrency is not None:
            family = f"batch of {concurrency}"
            core.planner.set_family(family, concurrency)
            limit = f"{family}:{batch.id}"
        for index, call in enumerate(calls):
            record = self._make(call, options, parent)
            record.batch_id = batch.id
            record.batch_index = index
            if limit is not None:
                record.extra_needs = (limit,)
            if mode == "sequential":
                record.in_order = True
            batch.add(self._begin(record))
        return batch


def check_seconds(name: str, seconds: float, *, zero: bool = True) -> None:
    """Refuse what is no length of time.

    Raises:
        DefinitionError: It is negative, or not a number.
    """
    if not (seconds >= 0 if zero else seconds > 0):
        raise DefinitionError("open_supervisor", name, f"is {seconds!r}; give seconds, 0 or more")


@asynccontextmanager
async def open_supervisor(
    toolbox: Toolbox,
    *,
    limits: Limits = _DEFAULT_LIMITS,
    budget: Budget | None = None,
    retention: Retention = _DEFAULT_RETENTION,
    default_request_context: RequestContext | None = None,
    error_detail: ErrorDetail = "message",
    cleanup_timeout: float = 30.0,
    drain_for: float = 30.0,
) -> AsyncGenerator[Supervisor]:
    """Run tool calls for as long as the block lasts.

    Left normally, it drains: what was admitted runs to its end, at most *drain_for* seconds, then it is aborted. Left
    by an exception or cancelled from outside, everything is aborted at once; the exception leaves as it is, never in a
    group. Either way nothing of a call runs on afterwards but threads that cannot be stopped; an async tool that
    shields itself for ever holds the exit, and is named in the log. ``supervisor.report`` is set in any case.

    Args:
        toolbox: The catalogue that calls are resolved in.
        limits: How much may run at once.
        budget: What may be spent in all.
        retention: How long ended executions stay visible.
        default_request_context: On whose behalf calls are made that do not say so.
        error_detail: What a model is shown of an exception that the tool did not declare: ``message`` (type and
            text) or ``declared`` (a generic line and the execution id).
        cleanup_timeout: Seconds that a body may take to end once it was cancelled, before it is given up.
        drain_for: Seconds that a drain may take.

    Raises:
        DefinitionError: An option is wrong.
        InternalError: A task of the engine itself failed.
        KeyboardInterrupt: It was raised in a tool, or arrived there; everything was aborted.
    """
    check_seconds("cleanup_timeout", cleanup_timeout)
    check_seconds("drain_for", drain_for)
    if error_detail not in ("message", "declared"):
        raise DefinitionError("open_supervisor", "error_detail", f"is {error_detail!r}; give message or declared")
    settings = Settings(limits, budget, retention, error_detail, cleanup_timeout, drain_for, default_request_context)
    core = Core(toolbox, settings, prefix=f"exe-{secrets.token_hex(4)}")
    core.due = on_due
    core.encode = encode_content
    set_limits(core)
    supervisor = Supervisor(core)
    async with open_private_nursery() as outer:
        ending = Latch()
        clock = await outer.start(_keep_time, core, name="armory_trio: timers")
        core.nursery = await outer.start(_own_bodies, ending, name="armory_trio: executions")
        watch = await outer.start(_watch_for_cancellation, supervisor, name="armory_trio: watch")
        try:
            yield supervisor
            await supervisor.shutdown("drain")
        finally:
            await supervisor.end(watch, ending)
            clock.cancel("the supervisor is closed")


async def _keep_time(core: Core, *, task_status: trio.TaskStatus[trio.CancelScope]) -> None:
    with trio.CancelScope(shield=True) as scope:
        task_status.started(scope)
        await core.timers.run()


async def _own_bodies(ending: Latch, *, task_status: trio.TaskStatus[trio.Nursery]) -> None:
    # Shielded from whoever cancels the block of `open_supervisor`: bodies are only ever cancelled by their own scope,
    # after the reason was recorded.
    with trio.CancelScope(shield=True):
        async with trio.open_nursery() as bodies:
            task_status.started(bodies)
            await ending.wait()
            bodies.cancel_scope.cancel("the supervisor is closed")


async def _watch_for_cancellation(
    supervisor: Supervisor, *, task_status: trio.TaskStatus[trio.CancelScope]
) -> None:
    # A cancellation from outside reaches this task in the same turn of the scheduler as it reaches anybody else.
    with trio.CancelScope() as scope:
        task_status.started(scope)
        try:
            await trio.sleep_forever()
        finally:
            if not scope.cancel_called:
                supervisor.fall("the block of the supervisor was cancelled")


async def call_directly(tool: Tool[..., R], arguments: Mapping[str, object]) -> ToolResult[R]:
    """Run a tool as a function of the host: no policy, limits, ledger or middleware, but the same ends.

    Cancelled: the tool is.
    """
    async with open_supervisor(Toolbox([tool])) as supervisor:
        return await supervisor.run_directly(tool, arguments)
