"""The measures for a package that runs on asyncio. Only the standard library is used here."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from benchmarks._sample import Gauge, Sample, Stopwatch
from benchmarks._sizes import BATCH, padding

from ._worker import Measure

Call = Callable[[str, int], Awaitable[int]]
"""Call the tool of that name with *a* as given and *b* 1, through the whole of what the package does for a call."""

Batch = Callable[[str, Sequence[int]], Awaitable[Sequence[int]]]
"""Call the tool of that name with each of the numbers at once, in the package's own way to do so."""

_FIRST = 10
"""Calls before those that are timed."""

_held = 0


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def add_blocking(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def hold(a: int, b: int) -> int:
    """Add two numbers, but never before it is cancelled."""
    global _held  # noqa: PLW0603  # a tool has nothing else to count with
    _held += 1
    try:
        await asyncio.get_running_loop().create_future()
    finally:
        _held -= 1
    return a + b


def measures(call: Call, batch: Batch | None = None, *, without: Sequence[str] = ()) -> dict[str, Measure]:
    """Every measure but those in *without*, all on one event loop.

    Args:
        call: How one call is made.
        batch: How many are made at once; None for `asyncio.gather` of `call`, each a task to be cancelled by itself.
        without: Measures that make no sense for the package.
    """
    runner = asyncio.Runner()

    async def gathered(tool: str, numbers: Sequence[int]) -> Sequence[int]:
        return await asyncio.gather(*(call(tool, number) for number in numbers))

    def begin(count: int) -> list[asyncio.Future[object]]:
        if batch is None:
            return [asyncio.ensure_future(call("hold", number)) for number in range(count)]
        return [asyncio.ensure_future(batch("hold", range(count)))]

    known: dict[str, Callable[[int], Awaitable[Sample]]] = {
        "sequential": lambda count: _one_by_one(call, "add", count),
        "thread": lambda count: _one_by_one(call, "add_blocking", count),
        "batch": lambda count: _batches(batch or gathered, count),
        "hold": lambda count: _hold_and_cancel(begin, count),
    }

    def on_the_loop(work: Callable[[int], Awaitable[Sample]]) -> Measure:
        async def main(count: int) -> Sample:
            return await work(count)

        return lambda count: runner.run(main(count))

    return {name: on_the_loop(work) for name, work in known.items() if name not in without}


async def _one_by_one(call: Call, tool: str, count: int) -> Sample:
    for number in range(_FIRST):
        await call(tool, number)
    answer = 0
    watch = Stopwatch()
    for number in range(count):
        answer = await call(tool, number)
    sample = watch.read(count)
    _require(answer, count)
    return sample


async def _batches(batch: Batch, count: int) -> Sample:
    await batch("add", range(_FIRST))
    watch = Stopwatch()
    for first in range(0, count, BATCH):
        numbers = range(first, min(first + BATCH, count))
        _require(list(await batch("add", numbers)), [number + 1 for number in numbers])
    return watch.read(count)


Begin = Callable[[int], list["asyncio.Future[object]"]]
"""Start so many calls of ``hold``."""


async def _hold_and_cancel(begin: Begin, count: int) -> Sample:
    """How much memory calls take that wait inside their tools, and how long it takes to cancel them all."""
    before = await _hold(begin, padding(count))
    gauge = Gauge()
    tasks = await _hold(begin, count)
    size = gauge.read(count).size
    watch = Stopwatch()
    await _cancel(tasks)
    sample = watch.read(count)
    await _cancel(before)
    _require(_held, 0)
    return Sample(count, sample.wall, sample.cpu, size)


async def _hold(begin: Begin, count: int) -> list[asyncio.Future[object]]:
    wanted = _held + count
    tasks = begin(count)
    while _held < wanted:
        ended = next((task for task in tasks if task.done()), None)
        if ended is not None:
            raise RuntimeError(f"a call ended that was to wait: {ended!r}")
        await asyncio.sleep(0.01)
    return tasks


async def _cancel(tasks: list[asyncio.Future[object]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _require(answer: object, wanted: object) -> None:
    if answer != wanted:
        raise RuntimeError(f"it answered {answer!r}, not {wanted!r}")
