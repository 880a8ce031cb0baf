"""What a careful engineer writes by hand on trio instead, without any supervision.

A call is one task in a nursery and one cancel scope; its arguments are converted by msgspec; one event says that it
ended. A batch can do without events, where a nursery of its own joins it.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

import msgspec
import trio
from trio.testing import wait_all_tasks_blocked

from ._sample import Gauge, Sample, Stopwatch
from ._sizes import BATCH, BUFFER, SLICE, padding
from ._ticker import Ticker
from ._tools import add, add_blocking, hold

Function = Callable[[int, int], Awaitable[int]]


class Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the functions take."""

    a: int
    b: int


class Cell:
    """How a call can be stopped, and what became of it."""

    __slots__ = ("error", "scope", "value")

    def __init__(self) -> None:
        self.scope = trio.CancelScope()
        self.value: object = None
        self.error: Exception | None = None


class Call(Cell):
    """A cell that can be waited for."""

    __slots__ = ("ended",)

    def __init__(self) -> None:
        super().__init__()
        self.ended = trio.Event()


async def run(call: Call, function: Function, arguments: Mapping[str, object]) -> None:
    """The task of a call that somebody waits for."""
    with call.scope:
        try:
            given = msgspec.convert(arguments, Arguments)
            call.value = await function(given.a, given.b)
        except Exception as error:  # noqa: BLE001  # whatever the function raises is the call's own
            call.error = error
    call.ended.set()


async def run_joined(cell: Cell, function: Function, arguments: Mapping[str, object]) -> None:
    """The task of a call that its nursery joins."""
    with cell.scope:
        try:
            given = msgspec.convert(arguments, Arguments)
            cell.value = await function(given.a, given.b)
        except Exception as error:  # noqa: BLE001  # whatever the function raises is the call's own
            cell.error = error


# -- the sides


async def sequential(count: int) -> Sample:
    """One call after the other."""
    return await _one_by_one(add, count)


async def in_threads(count: int) -> Sample:
    """One call after the other, each of them in a thread."""
    return await _one_by_one(_add_in_thread, count)


async def _add_in_thread(a: int, b: int) -> int:
    return await trio.to_thread.run_sync(add_blocking, a, b)


async def _one_by_one(function: Function, count: int) -> Sample:
    async with trio.open_nursery() as nursery:
        first = Call()
        nursery.start_soon(run, first, function, {"a": 0, "b": 1})
        await first.ended.wait()
        call = first
        watch = Stopwatch()
        for number in range(count):
            call = Call()
            nursery.start_soon(run, call, function, {"a": number, "b": 1})
            await call.ended.wait()
        sample = watch.read(count)
    assert call.value == count
    return sample


async def batch(count: int) -> Sample:
    """Batches; each of their calls is waited for."""
    return await _timed(_batch, count)


async def batch_joined(count: int) -> Sample:
    """Batches, each joined by a nursery of its own."""
    return await _timed(_batch_joined, count)


Batch = Callable[[trio.Nursery, range], Awaitable[Sequence[Cell]]]
"""Run a call for each of the numbers, in a long-lived nursery or beside it, and wait for all of them."""


async def _timed(run_batch: Batch, count: int) -> Sample:
    async with trio.open_nursery() as nursery:
        await run_batch(nursery, range(SLICE))
        watch = Stopwatch()
        for first in range(0, count, BATCH):
            numbers = range(first, min(first + BATCH, count))
            cells = await run_batch(nursery, numbers)
            assert [cell.value for cell in cells] == [number + 1 for number in numbers]
        return watch.read(count)  # noqa: ASYNC121  # everything in it has ended


async def _batch(nursery: trio.Nursery, numbers: range) -> list[Call]:
    calls: list[Call] = []
    for number in numbers:
        call = Call()
        nursery.start_soon(run, call, add, {"a": number, "b": 1})
        calls.append(call)
    for call in calls:
        await call.ended.wait()
    return calls


async def _batch_joined(_: trio.Nursery, numbers: range) -> list[Cell]:
    cells: list[Cell] = []
    async with trio.open_nursery() as nursery:
        for number in numbers:
            cell = Cell()
            nursery.start_soon(run_joined, cell, add, {"a": number, "b": 1})
            cells.append(cell)
    return cells


@asynccontextmanager
async def _held(count: int) -> AsyncGenerator[list[Call]]:
    """Calls that wait inside their functions; they have ended when the block is left."""
    async with trio.open_nursery() as nursery:
        calls: list[Call] = []
        for number in range(count):
            call = Call()
            nursery.start_soon(run, call, hold, {"a": number, "b": 1})
            calls.append(call)
            if number % SLICE == 0:
                await trio.lowlevel.checkpoint()
        await wait_all_tasks_blocked()
        yield calls


def _stop(calls: list[Call]) -> None:
    for call in calls:
        call.scope.cancel()


async def memory(count: int) -> Sample:
    """Calls that wait."""
    async with _held(padding(count)) as others:
        gauge = Gauge()
        async with _held(count) as calls:
            sample = gauge.read(count)
            _stop(calls)
        _stop(others)
    return sample


async def stop_all(count: int) -> Sample:
    """Cancel as many scopes as there are calls."""
    async with _held(count) as calls:
        watch = Stopwatch()
        _stop(calls)
    sample = watch.read(count)
    assert all(call.scope.cancelled_caught for call in calls)
    return sample


async def hold_and_stop(count: int) -> Sample:
    """How much memory calls take that wait, and how long it takes to stop them."""
    async with _held(padding(count)) as others:
        gauge = Gauge()
        async with _held(count) as calls:
            size = gauge.read(count).size
            watch = Stopwatch()
            _stop(calls)
        time = watch.read(count)
        _stop(others)
    return Sample(count, time.wall, time.cpu, size)


async def hold_all(count: int) -> Sample:
    """What comes before `stop_all` begins; the process ends there."""
    async with _held(count):
        os._exit(0)


async def pause(count: int) -> Sample:
    """The longest time for which calls that are stopped keep everybody else from running."""
    ticker = Ticker()
    async with trio.open_nursery() as nursery:
        async with _held(count) as calls:
            nursery.start_soon(ticker.run)
            await ticker.wait_for_turns()
            _stop(calls)
        await ticker.wait_for_turns()
        nursery.cancel_scope.cancel()
    return ticker.read()


async def stream(count: int) -> Sample:
    """Numbers through a memory channel."""
    send, receive = trio.open_memory_channel[int](BUFFER)
    seen = 0
    async with trio.open_nursery() as nursery:
        watch = Stopwatch()
        nursery.start_soon(_produce, send, count)
        async for _ in receive:
            seen += 1
        sample = watch.read(count)
    assert seen == count
    return sample


async def _produce(send: trio.MemorySendChannel[int], count: int) -> None:
    with send:
        for number in range(count):
            await send.send(number)
