"""Middleware round a body: an onion that is peeled from the outside, once for each call."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final, cast

import outcome
import trio

from ..definitions import ChunkStage, Middleware, Tool, ToolFailure, freeze_json
from ..errors import ExecutionOver, RepeatRefused
from ._abort import abort_children, request_abort
from ._events import ExecutionStarted
from ._execution import Record
from ._lifecycle import strongest
from ._plan import Plan
from ._settlement import without_wrapping
from ._tool_context import Door, TaskContext
from .placement import Placed, place

_GAVE_UP: Final = "a middleware stopped waiting for the tool, which cannot be interrupted"


class OnionBody:
    """The body of a tool with what stands around it: its middleware, and what loads its function.

    The execution is active from the moment that the outermost middleware runs; that the function was entered shows in
    its attempts.
    """

    __slots__ = ("_call", "_context", "_door", "_inner", "_plan", "_record", "_running")

    def __init__(self, record: Record, plan: Plan, door: Door) -> None:
        self._record = record
        self._plan = plan
        self._door = door
        self._call = _Call(record, plan)
        self._context = TaskContext(record, door)
        self._inner: Placed | None = None
        self._running = False

    async def run(self) -> object:
        """Let the outermost middleware answer. Cancelled: all of them are, and the body was stopped."""
        answer = await self.layer(0)
        return await answer.run() if isinstance(answer, StreamOfChunks) else answer

    async def gone(self) -> outcome.Maybe[object] | None:
        """How a body that was left behind ended, once it has."""
        if self._inner is None:
            return None
        ended = await self._inner.gone()
        if isinstance(ended, outcome.Value):
            self._record.returned = True
        return ended

    async def layer(self, index: int) -> object:
        """What the middleware number *index* answers; behind the last one, what the tool answers. Cancelled: it is."""
        around = self._plan.middleware
        if index == len(around):
            return StreamOfChunks(self) if self._plan.kind in _STREAMS else await self.enter()
        given: object = around[index](self._call, self._context, _Next(self, index + 1))
        if not inspect.isawaitable(given):
            raise TypeError(f"the middleware {_name(around[index])} answered {given!r}; write it with async def")
        return await given

    @property
    def may_repeat(self) -> bool:
        """Whether the body may be entered (once more)."""
        record = self._record
        if self._running or record.verdict is not None:
            return False
        if not record.attempts:
            return True
        return record.abort is None and not record.core.closed and record.effect == "none"

    async def enter(self, stages: tuple[ChunkStage, ...] = ()) -> object:
        """Let the body run, once more if it did before. Cancelled: it was stopped."""
        record, plan = self._record, self._plan
        self._must_be_free()
        self._running = True
        try:
            if plan.load is not None:
                await plan.load()
            self._begin(stages)
            self._inner = place(record, plan, self._door)
            value = await self._inner.run()
        except trio.Cancelled:  # noqa: ASYNC103  # raised again below, after what was left behind was seen to
            if self._inner is not None and not record.cut and not record.core.fallen:
                await self._stopped_from_within(self._inner)  # noqa: ASYNC102  # shields itself
            raise
        except BaseException as exc:
            self._note_effect(exc)
            raise
        else:
            record.returned = True
        finally:
            self._running = False
        return value if plan.check_output is None else plan.check_output(value)

    def _must_be_free(self) -> None:
        record = self._record
        if record.verdict is not None:
            raise ExecutionOver(f"{record.id} ({record.name}) is over; its tool is not entered any more")
        if self._running:
            raise RuntimeError(f"call_next() of {record.name!r} runs already; await it before calling it again")
        if record.attempts and not self.may_repeat:
            why = _why_not_again(record)
            raise RepeatRefused(f"{record.name!r} was entered before and must not be entered again: {why}")

    def _begin(self, stages: tuple[ChunkStage, ...]) -> None:
        record = self._record
        if record.attempts:  # what the last one did stays known
            record.past_effect = strongest(record.past_effect, record.own_effect())
            record.returned, record.failure_effect = False, None
        record.attempts += 1
        record.stages = stages or None
        if record.core.log.active or record.attempts > 1:
            record.publish()
        if record.core.feed.readers:
            record.tell(ExecutionStarted, attempt=record.attempts)

    def _note_effect(self, exc: BaseException) -> None:
        found = without_wrapping(exc)
        if isinstance(found, ToolFailure) and found.effect is not None:
            strongest(found.effect, "none")  # an effect that there is
            self._record.failure_effect = found.effect

    async def _stopped_from_within(self, inner: Placed) -> None:
        """A scope of a middleware's cancelled the body. One that is still there ends the execution."""
        record = self._record
        if record.children:
            abort_children(record, "its caller was stopped")
        if record.in_thread:
            request_abort(record, "deadline", _GAVE_UP, code="TIMEOUT")
            return
        with trio.CancelScope(shield=True):  # a worker process that was killed is gone in a moment
            ended = await inner.gone()
        if isinstance(ended, outcome.Value):
            record.returned = True


_STREAMS: Final = ("generator", "async-generator")


def _name(middleware: Middleware) -> str:
    named: object = getattr(middleware, "__qualname__", None)
    return named if isinstance(named, str) else type(middleware).__qualname__


def _why_not_again(record: Record) -> str:
    if record.effect != "none":
        return f"its effect is {record.effect}"
    return "the supervisor takes no new work" if record.core.closed else "it was asked to stop"


class _Next:
    """What a middleware calls to go on."""

    __slots__ = ("_body", "_index")

    def __init__(self, body: OnionBody, index: int) -> None:
        self._body = body
        self._index = index

    async def __call__(self) -> object:
        return await self._body.layer(self._index)

    @property
    def may_repeat(self) -> bool:
        return self._body.may_repeat


class _Call:
    """What a middleware sees of the call."""

    __slots__ = ("_arguments", "_plan", "_record")

    def __init__(self, record: Record, plan: Plan) -> None:
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
            plain = self._plan.tool.contract.dump(self._record.validated)
            self._arguments = cast("Mapping[str, object]", freeze_json(plain))
        return self._arguments

    @property
    def attempts(self) -> int:
        return self._record.attempts


class StreamOfChunks:
    """The stream of a generator tool that has not begun; see `Chunks`."""

    __slots__ = ("_around", "_body", "_stages")

    def __init__(
        self,
        body: OnionBody,
        stages: tuple[ChunkStage, ...] = (),
        around: tuple[Callable[[Callable[[], Awaitable[object]]], Awaitable[object]], ...] = (),
    ) -> None:
        self._body = body
        self._stages = stages
        self._around = around

    def map(self, function: Callable[[object], object]) -> StreamOfChunks:
        return self.through(_Mapped(function))

    def through(self, stage: ChunkStage) -> StreamOfChunks:
        return StreamOfChunks(self._body, (*self._stages, stage), self._around)

    def around(self, run: Callable[[Callable[[], Awaitable[object]]], Awaitable[object]]) -> StreamOfChunks:
        return StreamOfChunks(self._body, self._stages, (*self._around, run))

    async def run(self) -> object:
        """Let the stream run to its end, and answer its value. Cancelled: it was stopped."""
        run: Callable[[], Awaitable[object]] = partial(self._body.enter, self._stages)
        for outer in self._around:
            run = partial(outer, run)
        return await run()


class _Mapped:
    __slots__ = ("_function",)

    def __init__(self, function: Callable[[object], object]) -> None:
        self._function = function

    def feed(self, chunk: object) -> tuple[object]:
        return (self._function(chunk),)

    def end(self) -> tuple[()]:
        return ()
