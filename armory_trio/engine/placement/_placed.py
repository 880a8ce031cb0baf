"""What the engine asks of a place where bodies run, and what the places share: the way from a body to its value."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from types import CoroutineType
from typing import Final, Protocol, cast

import outcome

from .._execution import Record
from .._plan import Plan
from .._streams import ChunkSink, drive

SyncGenerator = Generator[object, None, object]

VALUES: Final = frozenset[type]((type(None), bool, int, float, str, bytes, list, dict, tuple))
"""Types that are values, seen at a glance: nothing that has to run, or that somebody has to act on."""


class Placed(Protocol):
    """One body in its place, run once.

    Capacity, deadlines, effects and the decision about the outcome belong to the engine; a place only runs the body.
    """

    async def run(self) -> object:
        """Run the body to its end and return its value. What it yields goes to the record's sink.

        Raises what the body raised.

        Cancelled: the body was stopped, and is gone or left behind; `gone` tells which.
        """
        ...

    async def gone(self) -> outcome.Maybe[object] | None:
        """After `run` was cancelled: wait for a body that was left behind, and tell how it ended.

        None, at once, when nothing was left behind; also when what it gave in the end is no value, but something that
        would still have to run. Cancelled: nothing has changed.
        """
        ...


async def deliver(
    record: Record, plan: Plan, given: object, pump: Callable[[SyncGenerator, ChunkSink], Awaitable[object]]
) -> object:
    """The value that *given*, which a body returned, stands for: awaited, or the chunks of a generator.

    Args:
        record: The execution.
        plan: Its tool.
        given: What the body returned.
        pump: Runs a generator that is no async one to its end.

    Cancelled: a generator was told, and is closed.
    """
    while True:
        if not has_to_run(given):
            return given
        if isinstance(given, AsyncGenerator):
            sink = open_sink(record)
            await drive(record, cast("AsyncGenerator[object, None]", given), sink)
            return reduced(record, plan)
        if isinstance(given, Generator):
            await pump(cast("SyncGenerator", given), open_sink(record))
            return reduced(record, plan)
        given = await cast("Awaitable[object]", given)


def has_to_run(given: object) -> bool:
    """Whether *given* is no value yet: something to await, or a generator of either kind."""
    if type(given) in VALUES:
        return False
    try:
        return inspect.isawaitable(given) or isinstance(given, AsyncGenerator | Generator)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: ASYNC103  # code of the value's own, which says what its class is; nothing is awaited
        return False  # noqa: ASYNC104  # as said


def never_run(given: object) -> bool:
    """Whether *given* would have to run to give a value, and nobody will run it any more; a coroutine is closed."""
    if not has_to_run(given):
        return False
    if isinstance(given, CoroutineType):
        given.close()  # else Python would complain that nobody awaited it
    return True


def open_sink(record: Record) -> ChunkSink:
    """Where the chunks of *record* go, which are collected unless its reader said that it has no use for that."""
    if record.feeder is None or record.collects:
        record.collected = []
    return ChunkSink(record, record.feeder)


def reduced(record: Record, plan: Plan) -> object:
    """The value of a generator that came to its end. Raises what the tool's reducer raises."""
    record.returned = True  # also when the reducer fails
    collected = record.collected
    if collected is None:
        return None
    reduce = plan.tool.options.reducer if plan.reduces else None
    return collected if reduce is None else reduce(collected)
