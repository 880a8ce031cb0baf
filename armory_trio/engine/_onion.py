"""Middleware round a body: an onion that is peeled from the outside, once for each call."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Final, cast

import msgspec
import outcome
import trio

from ..definitions import ChunkStage, Middleware, Tool, ToolError, ToolFailure, freeze_json
from ..errors import ExecutionAborted, ExecutionOver, RepeatRefused
from ._abort import abort_children, request_abort
from ._chunks import Kept, Pipeline, Staged, StreamOfChunks
from ._concurrency import Latch, open_private_nursery
from ._copies import own_copy
from ._events import ExecutionStarted
from ._execution import Record
from ._failures import PASSING, readable_error_of, without_wrapping
from ._lifecycle import strongest
from ._plan import Plan
from ._tool_context import Door, TaskContext
from .placement import Placed, place

_GAVE_UP: Final = "a middleware stopped waiting for the tool, which cannot be interrupted"


class OnionBody:
    """The body of a tool with what stands around it: its middleware, and what loads its function.

    The execution is active from the moment that the outermost middleware runs; that the function was entered shows in
    its attempts.
    """

    __slots__ = ("_call", "_context", "_door", "_free", "_inner", "_passes", "_plan", "_record", "_scope", "running")

    def __init__(self, record: Record, plan: Plan, door: Door) -> None:
        self._record = record
        self._plan = plan
        self._door = door
        self._call = _Call(record, plan)
        self._context = TaskContext(record, door)
        self._inner: Placed | None = None
        self._scope: trio.CancelScope | None = None
        self._free: Latch | None = None
        self._passes = False  # whether the last attempt failed for a while only
        self.running = False

    async def run(self) -> object:
        """Let the outermost middleware answer. Cancelled: all of them are, and the body was stopped."""
        try:
            answer = await self.layer(0)
            return await self._run_stream(answer) if type(answer) is StreamOfChunks else answer
        finally:
            if self.running:
                await self._stop_stray()  # noqa: ASYNC102  # shields itself

    async def _run_stream(self, stream: StreamOfChunks) -> object:
        if stream.owner is not self:
            raise TypeError("a middleware answered the Chunks of another call; they cannot be kept")
        return await stream.run()

    async def _stop_stray(self) -> None:
        """The middleware ended before the tool, which runs in a task of somebody else's: nobody would own it."""
        self._free = Latch()
        if self._scope is not None:
            self._scope.cancel("its middleware answered without waiting for it")
        with trio.CancelScope(shield=True):
            await self._free.wait()

    async def gone(self) -> outcome.Maybe[object] | None:
        """How a body that was left behind failed, once it has. A value that its middleware did not see is none."""
        if self._inner is None:
            return None
        ended = await self._inner.gone()
        if isinstance(ended, outcome.Value):
            self._record.returned, self._record.late = True, ended.value
            return None
        return ended

    async def layer(self, index: int) -> object:
        """What the middleware number *index* answers; behind the last one, what the tool answers. Cancelled: it is."""
        around = self._plan.middleware
        if index == len(around):
            return StreamOfChunks(self, self.enter) if self._plan.kind in _STREAMS else await self.enter()
        given: object = around[index](self._call, self._context, _Next(self, index + 1))
        if not inspect.isawaitable(given):
            raise TypeError(f"the middleware {_name(around[index])} answered {given!r}; write it with async def")
        return await given

    @property
    def may_repeat(self) -> bool:
        """Whether the body may be entered (once more)."""
        record = self._record
        if self.running or record.abort is not None or record.verdict is not None:
            return False
        return not record.attempts or _why_not_again(record, self._passes) is None

    async def enter(self, staged: Sequence[Staged] = ()) -> object:
        """Let the body run, once more if it did before. Cancelled: it was stopped."""
        self._must_be_free()
        self.running, self._passes = True, False
        self._inner = None
        try:
            if self._plan.tool.load is not None:
                await self._plan.tool.load()
                self._must_be_wanted()
            record = self._record
            if record.entry is not None:
                from .keeping._entries import begun_or_failed  # noqa: PLC0415  # only who has a key pays for it

                revision = record.judged_in.policy_revision
                await begun_or_failed(record.entry, revision, read_only=self._plan.read_only)
                self._must_be_wanted()
            if record.permit is not None:
                from ._spending import use_up_or_fail  # noqa: PLC0415  # only who has rules pays for it

                await use_up_or_fail(record)
                self._must_be_wanted()
            collects = record.feeder is None or record.collects
            value = await self._run_body(Pipeline(staged, collects=collects))
        except trio.Cancelled:  # noqa: ASYNC103  # raised again below, after what was left behind was seen to
            self._passes = True  # a time limit of a middleware's; who stops the whole call is asked first
            await self._stopped_from_within()  # noqa: ASYNC102  # shields itself
            raise
        except BaseException as exc:
            self._note_effect(exc)
            raise
        else:
            self._record.returned = True
        finally:
            self.running = False
            if self._free is not None:
                self._free.set()
        return value if self._plan.check_output is None else self._plan.check_output(value)

    async def _run_body(self, pipeline: Pipeline) -> object:
        record, plan = self._record, self._plan
        held: Kept | None = None
        if plan.kind not in _STREAMS:
            # It may answer a generator all the same. Its middleware was promised a value, and nobody may see a part of
            # that before they do.
            held = Kept(passes=False)
            pipeline.stages.append(held)
        await trio.lowlevel.checkpoint_if_cancelled()  # else the body would begin, and be stopped at its first await
        self._begin(pipeline.stages)
        placed = msgspec.structs.replace(plan, reduces=False) if pipeline.makes_the_value else plan
        self._inner = inner = place(record, placed, self._door)
        with trio.CancelScope() as self._scope:
            value = await (inner.run() if plan.interruptible else self._uninterrupted(inner))
            if held is not None and held.chunks:
                return held.chunks
            collected = record.collected is not None
            return pipeline.value(plan.tool.options.reducer) if pipeline.makes_the_value and collected else value
        await self._stopped_from_within()
        raise ExecutionOver(f"the middleware of {record.name!r} answered without waiting for it, so it was stopped")

    async def _uninterrupted(self, inner: Placed) -> object:
        """Run a body that must never be cancelled, whatever scopes its middleware holds round it."""
        value: object = None
        async with open_private_nursery() as nursery:
            nursery.start_soon(self._watch_for_cancellation, nursery.cancel_scope)
            with trio.CancelScope(shield=True):
                value = await inner.run()
            nursery.cancel_scope.cancel("the body has ended")
        return value

    async def _watch_for_cancellation(self, scope: trio.CancelScope) -> None:
        try:
            await trio.sleep_forever()
        except trio.Cancelled:  # noqa: ASYNC103  # whoever cancelled is told by the next checkpoint of the middleware
            if not scope.cancel_called:
                request_abort(self._record, "deadline", _GAVE_UP, code="TIMEOUT")

    def must_be_undecided(self) -> None:
        """Refuse to go on after the end.

        Raises:
            ExecutionOver: The outcome is decided.
        """
        record = self._record
        if record.verdict is not None:
            raise ExecutionOver(f"{record.id} ({record.name}) is over; its tool is not entered any more")

    def _must_be_free(self) -> None:
        record = self._record
        if self.running:
            raise RuntimeError(f"{record.name!r} runs already; await call_next() before calling it again")
        self._must_be_wanted()
        why = _why_not_again(record, self._passes) if record.attempts else None
        if why is not None:
            raise RepeatRefused(f"{record.name!r} was entered before and must not be entered again: {why}")

    def _must_be_wanted(self) -> None:
        """Refuse to enter the body for the first time once somebody asked to stop."""
        record = self._record
        self.must_be_undecided()
        if self._free is not None:
            raise ExecutionOver(f"the middleware of {record.name!r} answered without waiting for it")
        if not record.attempts and record.abort is not None:
            raise ExecutionAborted(record.abort.reason)

    def _begin(self, stages: Sequence[ChunkStage]) -> None:
        record = self._record
        if not record.attempts:
            self._call.given = own_copy(record.validated) if self._plan.middleware else None
        else:  # what the last one did stays known, and what it did to its arguments does not
            record.validated = own_copy(self._call.given)
            _keep_what_was_done(record)
            if record.journal is not None:
                record.journal.restart()
        # What was raised before, also in the place of a first attempt, says nothing about this one.
        record.returned, record.failure_effect = False, None
        record.attempts += 1
        record.stages = tuple(stages) or None
        if record.core.log.active or record.attempts > 1:
            record.publish()
        if record.core.feed.readers:
            record.tell(ExecutionStarted, attempt=record.attempts)

    def _note_effect(self, exc: BaseException) -> None:
        found = without_wrapping(exc)
        if isinstance(found, ToolFailure) and found.effect is not None:
            strongest(found.effect, "none")  # an effect that there is
            self._record.failure_effect = found.effect
        if self._record.known_by_key:
            self._passes = readable_error_of(exc, self._record).category in PASSING

    async def _stopped_from_within(self) -> None:
        """If it was a scope of a middleware's that cancelled the body: one that is still there ends the execution."""
        record, inner = self._record, self._inner
        if inner is None or record.cut or record.core.fallen:
            return
        if record.children:
            abort_children(record, "its caller was stopped")
        if record.in_thread:
            request_abort(record, "deadline", _GAVE_UP, code="TIMEOUT")
            return
        with trio.CancelScope(shield=True):  # a worker process that was killed is gone in a moment
            record.returned = isinstance(await inner.gone(), outcome.Value)


_STREAMS: Final = ("generator", "async-generator")


def _name(middleware: Middleware) -> str:
    named: object = getattr(middleware, "__qualname__", None)
    return named if isinstance(named, str) else type(middleware).__qualname__


def _keep_what_was_done(record: Record) -> None:
    """What the attempt before the one that begins did stays known.

    If the far side knows both by one key, they ask for one change; the one that is answered says what became of it.
    """
    if record.known_by_key:
        record.before = record.own_effect(), len(record.windows or ())
    else:
        record.past_effect = strongest(record.past_effect, record.own_effect())


def _why_not_again(record: Record, passes: bool) -> str | None:  # noqa: FBT001  # what is known of the last attempt
    if record.abort is not None:
        return "it was asked to stop"
    if record.core.closed:
        return "the supervisor takes no new work"
    if record.effect != "none" and not (passes and record.known_by_key):
        return f"its effect is {record.effect}"
    return "its reader has chunks of it already" if record.chunks and record.feeder is not None else None


class _Next:
    """What a middleware calls to go on."""

    __slots__ = ("_body", "_index", "_running")

    def __init__(self, body: OnionBody, index: int) -> None:
        self._body = body
        self._index = index
        self._running = False

    async def __call__(self) -> object:
        self._body.must_be_undecided()
        if self._running:
            raise RuntimeError("call_next() runs already; await it before calling it again")
        self._running = True
        try:
            return await self._body.layer(self._index)
        finally:
            self._running = False

    @property
    def may_repeat(self) -> bool:
        return not self._running and self._body.may_repeat


class _Call:
    """What a middleware sees of the call."""

    __slots__ = ("_arguments", "_plan", "_record", "given")

    def __init__(self, record: Record, plan: Plan) -> None:
        self.given: object = None
        """The validated arguments as they were before the tool was entered."""
        self._record = record
        self._plan = plan
        self._arguments: Mapping[str, object] | None = None

    @property
    def tool(self) -> Tool[..., object]:
        return self._plan.tool

    @property
    def id(self) -> str:
        return self._record.call_id

    @property
    def arguments(self) -> Mapping[str, object]:
        if self._arguments is None:
            if self._record.over:
                raise ExecutionOver(f"{self._record.id} is over; its arguments are no longer kept")
            validated = self.given if self._record.attempts else self._record.validated
            plain = self._plan.tool.contract.dump(validated)
            self._arguments = cast("Mapping[str, object]", freeze_json(plain))
        return self._arguments

    @property
    def attempts(self) -> int:
        return self._record.attempts

    @property
    def nested(self) -> bool:
        return self._record.parent is not None

    def error_of(self, exc: BaseException, /) -> ToolError:
        return readable_error_of(exc, self._record)
