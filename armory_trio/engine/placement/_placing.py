"""Finds the place for a body, as its tool declared it."""

from __future__ import annotations

import outcome

from .._execution import Record
from .._plan import Plan
from .._streams import ChunkSink, Inline, drive
from .._tool_context import Door, InlineContext, TaskContext
from ._placed import Placed, SyncGenerator, deliver


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
    if plan.placement == "thread":
        from ._thread import ThreadBody  # noqa: PLC0415  # who uses no thread does not pay for it

        return ThreadBody(record, plan, door)
    if plan.placement == "process":
        from ._process_body import ProcessBody  # noqa: PLC0415  # who uses no process does not pay for it

        return ProcessBody(record, plan)
    return TaskBody(record, plan, door)
