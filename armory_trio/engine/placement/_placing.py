"""Finds the place for a body, as its tool declared it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import cache

import outcome

from .._execution import Record
from .._plan import Plan
from .._streams import ChunkSink, drive
from .._tool_context import Door, InlineContext, TaskContext
from ._placed import Placed, SyncGenerator, deliver


class Inline:
    """A generator that runs on trio's thread, to be driven as if it were an async one."""

    __slots__ = ("_generator",)

    def __init__(self, generator: Generator[object, None, object]) -> None:
        self._generator = generator

    async def __anext__(self) -> object:
        return self._advance(self._generator.__next__)

    async def athrow(self, exc: BaseException, /) -> object:
        try:
            return self._advance(self._generator.throw, exc)
        finally:
            del exc  # here and below: its way leads to this frame, and no circle shall keep it

    async def aclose(self) -> None:
        self._generator.close()

    @staticmethod
    def _advance(step: Callable[..., object], *args: object) -> object:
        try:
            return step(*args)
        except StopIteration:
            raise StopAsyncIteration from None
        except StopAsyncIteration as exc:  # which nobody turns into another error in a generator that is no async one
            raise RuntimeError("generator raised StopAsyncIteration") from exc
        finally:
            del args


class TaskBody:
    """A body on trio's thread: a generator of either kind, an inline function, or an async one with middleware."""

    __slots__ = ("_door", "_plan", "_record")

    def __init__(self, record: Record, plan: Plan, door: Door) -> None:
        self._record = record
        self._plan = plan
        self._door = door

    async def run(self) -> object:
        """Call the function, and see what it gives. Cancelled: it is gone."""
        record, plan = self._record, self._plan
        context: TaskContext | InlineContext | None = None
        if plan.wants_context:
            kind = TaskContext if plan.kind.startswith("async") else InlineContext
            context = kind(record, self._door)
        return await deliver_inline(record, plan, plan.invoke(record.validated, context))

    async def gone(self) -> outcome.Maybe[object] | None:
        """Nothing is ever left behind."""
        return None


async def deliver_inline(record: Record, plan: Plan, given: object) -> object:
    """The value that *given*, which a body on trio's thread returned, stands for. Cancelled: it is gone."""

    async def pump(generator: SyncGenerator, sink: ChunkSink) -> None:
        await drive(record, Inline(generator), sink)

    return await deliver(record, plan, given, pump)


def place(record: Record, plan: Plan, door: Door) -> Placed:
    """The body of *record* where it belongs. A coroutine function needs no place: its execution's task is one."""
    return _body_of(plan.placement)(record, plan, door)


@cache
def _body_of(placement: str) -> Callable[[Record, Plan, Door], Placed]:
    """Who runs bodies there; who uses no threads or processes does not load what they need."""
    if placement == "thread":
        from ._thread import ThreadBody  # noqa: PLC0415  # as said

        return ThreadBody
    if placement == "process":
        from ._process_body import ProcessBody  # noqa: PLC0415  # as said

        return lambda record, plan, _: ProcessBody(record, plan)
    return TaskBody
