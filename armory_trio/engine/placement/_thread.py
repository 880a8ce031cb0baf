"""Bodies in worker threads, which cannot be interrupted from outside and may be left behind."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import outcome
import trio

from ...definitions import Effect
from .._concurrency import UNLIMITED, Latch, Token, current_token
from .._execution import Record
from .._plan import Plan
from .._streams import ChunkSink, ThreadPump
from .._tool_context import Door, ThreadContext
from ._placed import VALUES, SyncGenerator, deliver, never_run


class Worker:
    """One call of a function, to be made in a worker thread, which cannot be interrupted from outside.

    Where the wait for the thread was cancelled, it is left to itself; `gone` tells when it really ended.
    """

    __slots__ = ("_args", "_ended", "_failure", "_function", "_told", "_value")

    def __init__(self, function: Callable[..., object], args: tuple[object, ...]) -> None:
        self._function = function
        self._args = args
        self._told: tuple[Token, Latch] | None = None
        """Whom to tell of the end, once the thread was left behind."""
        self._ended = False
        self._value: object = None
        self._failure: BaseException | None = None

    async def gone(self) -> outcome.Maybe[object]:
        """Wait until a thread that was left behind has ended, and tell how. Cancelled: nothing has changed."""
        latch = Latch()
        self._told = current_token(), latch
        if not self._ended:
            await latch.wait()
        failure, self._failure = self._failure, None
        return outcome.Value(self._value) if failure is None else outcome.Error(failure)

    def answer(self) -> object:
        """What the function returned, once it has; to be asked once. Raises what it raised."""
        failure, self._failure = self._failure, None
        if failure is None:
            return self._value
        try:
            raise failure
        finally:
            del failure  # it leads to this frame, and to that of its thread: no circle shall keep them

    def work(self) -> None:
        """The thread's work: make the call, and keep how it ended. Never raises."""
        try:
            self._value = self._function(*self._args)
        except BaseException as exc:  # noqa: ASYNC103  # raised again where the answer is asked for
            self._failure = exc
        # Say first that it ended, then look: `gone` does it the other way round, so that one of the two sees the other.
        self._ended = True
        if self._told is not None:
            token, latch = self._told
            with suppress(trio.RunFinishedError):  # then nobody is there any more who could wait
                token.run_sync_soon(latch.set)


class ThreadBody:
    """The body of a ``def`` tool, in a worker thread of its own."""

    __slots__ = ("_door", "_entered", "_plan", "_record", "_worker")

    def __init__(self, record: Record, plan: Plan, door: Door) -> None:
        self._record = record
        self._plan = plan
        self._door = door
        self._worker: Worker | None = None
        self._entered = False

    async def run(self) -> object:
        """Call the function in a thread, and see what it gives. Cancelled: the thread is left behind."""
        record, plan = self._record, self._plan
        context = ThreadContext(record, self._door, current_token()) if plan.wants_context else None
        if plan.kind == "generator":
            given = plan.invoke(record.validated, context)  # making a generator runs nothing of its body
        else:
            given = await self._in_thread(plan.invoke, record.validated, context)
            if type(given) in VALUES:
                return given
        return await deliver(record, plan, given, self._pump)

    async def gone(self) -> outcome.Maybe[object] | None:
        """How a thread that was left behind ended, once it has."""
        if self._worker is None:
            return None
        ended = await self._worker.gone()
        self._record.in_thread = False
        if isinstance(ended, outcome.Value) and never_run(ended.value):
            return None  # its first half may have done something, the second never will
        return ended

    async def _in_thread(self, function: Callable[..., object], *args: object) -> object:
        record = self._record
        so_far: Effect | None = None if self._entered else "none"
        record.failure_effect = so_far
        await trio.lowlevel.checkpoint_if_cancelled()  # else a thread would be waited for that never began
        self._worker = worker = Worker(function, args)
        record.in_thread, record.failure_effect = True, None
        name = f"armory:{record.id}"
        try:
            await trio.to_thread.run_sync(worker.work, thread_name=name, abandon_on_cancel=True, limiter=UNLIMITED)
        except Exception:  # the system has no more threads
            self._worker, record.in_thread, record.failure_effect = None, False, so_far
            raise
        self._entered = True
        self._worker, record.in_thread = None, False
        return worker.answer()

    async def _pump(self, generator: SyncGenerator, sink: ChunkSink) -> None:
        pump = ThreadPump(self._record, sink, self._plan.tool.options.buffer)
        try:
            await self._in_thread(pump, generator)
        except Exception:
            if pump.broken is None:
                raise
        broken, pump.broken = pump.broken, None
        if broken is not None:
            try:
                raise broken
            finally:
                del broken  # as in `Worker.answer`
