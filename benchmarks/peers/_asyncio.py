"""The measures for a package that runs on asyncio. Only the standard library is used here."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

from benchmarks._sample import Gauge, Sample, Stopwatch
from benchmarks._sizes import BATCH, padding

from ._worker import Measure, serve

Call = Callable[[str, int], Awaitable[int]]
"""Call the tool of that name with *a* as given and *b* 1, through the whole of what the package does for a call."""

Batch = Callable[[str, Sequence[int]], Awaitable[Sequence[int]]]
"""Call the tool of that name with each of the numbers at once, in the package's own way to do so."""

Waiting = Sequence["asyncio.Future[int] | asyncio.Future[Sequence[int]]"]
"""Calls that wait inside their tools: a task for each of them, or one for all."""

Begin = Callable[[int], Waiting]
"""Start so many calls of ``hold``."""

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


def serve_calls(
    distribution: str, apis: Mapping[str, str], call: Call, batch: Batch | None = None, *, without: Sequence[str] = ()
) -> None:
    """`serve` the measures of a package, all on one event loop. The arguments are those of `serve` and `measures`."""
    with asyncio.Runner() as runner:
        serve(distribution, apis, measures(runner, call, batch, without=without))


def measures(
    runner: asyncio.Runner, call: Call, batch: Batch | None = None, *, without: Sequence[str] = ()
) -> dict[str, Measure]:
    """Every measure but those in *without*.

    Args:
        runner: What runs them.
        call: How one call is made.
        batch: How many are made at once; None for `asyncio.gather` of `call`, each a task to be cancelled by itself.
        without: Measures that make no sense for the package.
    """

    async def gathered(tool: str, numbers: Sequence[int]) -> Sequence[int]:
        return await asyncio.gather(*(call(tool, number) for number in numbers))

    def begin(count: int) -> Waiting:
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


async def _hold(begin: Begin, count: int) -> Waiting:
    wanted = _held + count
    tasks = begin(count)
    while _held < wanted:
        ended = next((task for task in tasks if task.done()), None)
        if ended is not None:
            raise RuntimeError(f"a call ended that was to wait: {ended!r}")
        await asyncio.sleep(0.01)
    return tasks


async def _cancel(tasks: Waiting) -> None:
    for task in tasks:
        task.cancel()
    for task in tasks:
        with suppress(asyncio.CancelledError):
            await task


def _require(answer: object, wanted: object) -> None:
    if answer != wanted:
        raise RuntimeError(f"it answered {answer!r}, not {wanted!r}")
