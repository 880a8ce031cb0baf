"""The same work under a supervisor."""

from __future__ import annotations

import gc
import os
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

import trio
from trio.testing import wait_all_tasks_blocked

from armory_trio import Supervisor, ToolCall, open_supervisor

from ._sample import Gauge, Sample, Stopwatch
from ._sizes import BATCH, CALLS, FEW, SLICE, STALLED, WATCHERS, padding
from ._ticker import Ticker
from ._tools import TOOLBOX, call


async def sequential(count: int) -> Sample:
    """One call after the other."""
    async with open_supervisor(TOOLBOX) as supervisor:
        return await one_by_one(supervisor, "add", count)


async def in_threads(count: int) -> Sample:
    """One call after the other, each of them in a thread."""
    async with open_supervisor(TOOLBOX) as supervisor:
        return await one_by_one(supervisor, "add_blocking", count)


async def one_by_one(supervisor: Supervisor, name: str, count: int) -> Sample:
    """One call of a tool after the other."""
    result = await supervisor.execute(call(name, 0))
    watch = Stopwatch()
    for number in range(count):
        result = await supervisor.execute(call(name, number))
    sample = watch.read(count)
    assert result.value == count
    return sample


# -- batches, watched or not


async def batch(count: int) -> Sample:
    """Batches."""
    async with open_supervisor(TOOLBOX) as supervisor:
        return await _timed_batches(supervisor, count)


async def batch_before_stalled_subscribers(count: int) -> Sample:
    """Batches, with subscribers that never read."""
    async with open_supervisor(TOOLBOX) as supervisor, AsyncExitStack() as stack:
        for _ in range(STALLED):
            await stack.enter_async_context(supervisor.executions.subscribe())
        return await _timed_batches(supervisor, count)


async def batch_before_watchers(count: int) -> Sample:
    """Batches, with subscribers that read on; each batch is over when they have read everything."""
    async with open_supervisor(TOOLBOX) as supervisor, trio.open_nursery() as nursery:
        read = [0] * WATCHERS
        for index in range(WATCHERS):
            await nursery.start(_watch, supervisor, read, index)
        sample = await _timed_batches(supervisor, count, watched=True)
        nursery.cancel_scope.cancel()
    assert min(read) >= count
    return sample


async def _watch(supervisor: Supervisor, read: list[int], index: int, *, task_status: trio.TaskStatus[None]) -> None:
    async with supervisor.executions.subscribe() as updates:
        task_status.started()
        async for _ in updates:
            read[index] += 1


async def _timed_batches(supervisor: Supervisor, count: int, *, watched: bool = False) -> Sample:
    await _batches(supervisor, SLICE)
    watch = Stopwatch()
    await _batches(supervisor, count, watched=watched)
    return watch.read(count)


async def _batches(supervisor: Supervisor, count: int, *, watched: bool = False) -> None:
    for first in range(0, count, BATCH):
        numbers = range(first, min(first + BATCH, count))
        results = await supervisor.execute_batch([call("add", number) for number in numbers])
        assert [result.value for result in results] == [number + 1 for number in numbers]
        if watched:
            await wait_all_tasks_blocked()


async def started(count: int) -> Sample:
    """Executions that are started at once, and asked for their results by and by."""
    async with open_supervisor(TOOLBOX) as supervisor:
        await _start(supervisor, range(SLICE))
        watch = Stopwatch()
        for first in range(0, count, BATCH):
            await _start(supervisor, range(first, min(first + BATCH, count)))
        return watch.read(count)


async def _start(supervisor: Supervisor, numbers: range) -> None:
    executions = [supervisor.start(call("add", number)) for number in numbers]
    results = [await execution.result() for execution in executions]
    assert [result.value for result in results] == [number + 1 for number in numbers]


# -- executions that wait


@asynccontextmanager
async def _held(count: int) -> AsyncGenerator[Supervisor]:
    """A supervisor with executions that wait inside their tools; all of them are stopped when the block is left."""
    async with open_supervisor(TOOLBOX) as supervisor:
        await _hold(supervisor, count)
        yield supervisor
        await supervisor.shutdown("abort")


async def _hold(supervisor: Supervisor, count: int) -> list[object]:
    handles: list[object] = []
    for number in range(count):
        handles.append(supervisor.start(call("hold", number)))
        if number % SLICE == 0:
            await trio.lowlevel.checkpoint()
    await wait_all_tasks_blocked()
    return handles


async def memory(count: int) -> Sample:
    """Executions that wait, with their handles."""
    async with _held(padding(count)) as supervisor:
        gauge = Gauge()
        handles = await _hold(supervisor, count)
        sample = gauge.read(count)
        assert supervisor.active == len(handles) + padding(count)
    return sample


async def stop_all(count: int) -> Sample:
    """Abort all executions, and wait until they have ended."""
    async with open_supervisor(TOOLBOX) as supervisor:
        await _hold(supervisor, count)
        watch = Stopwatch()
        answers = supervisor.abort("no longer wanted", tool_name="hold")
        await supervisor.wait_idle()
        sample = watch.read(count)
        assert list(answers.values()) == ["requested"] * count
    return sample


async def hold_and_stop(count: int) -> Sample:
    """How much memory executions take that wait, and how long it takes to abort them."""
    async with _held(padding(count)), open_supervisor(TOOLBOX) as supervisor:
        gauge = Gauge()
        handles = await _hold(supervisor, count)
        size = gauge.read(count).size
        watch = Stopwatch()
        answers = supervisor.abort("no longer wanted", tool_name="hold")
        await supervisor.wait_idle()
        time = watch.read(count)
        assert len(answers) == len(handles)
    return Sample(count, time.wall, time.cpu, size)


async def inspect(count: int) -> Sample:
    """Take a snapshot of every execution while so many wait."""
    async with _held(count) as supervisor:
        watch = Stopwatch()
        snapshots = supervisor.executions.inspect(live_only=True)
        sample = watch.read(count)
        assert len(snapshots) == count
    return sample


async def hold_all(count: int) -> Sample:
    """What comes before `stop_all` begins; the process ends there."""
    async with open_supervisor(TOOLBOX) as supervisor:
        await _hold(supervisor, count)
        os._exit(0)


async def pause(count: int) -> Sample:
    """The longest time for which executions that are stopped keep everybody else from running."""
    ticker = Ticker()
    async with open_supervisor(TOOLBOX) as supervisor, trio.open_nursery() as nursery:
        await _hold(supervisor, count)
        nursery.start_soon(ticker.run)
        await ticker.wait_for_turns()
        supervisor.abort("no longer wanted", tool_name="hold")
        await supervisor.wait_idle()
        await ticker.wait_for_turns()
        nursery.cancel_scope.cancel()
    return ticker.read()


async def among(live: int) -> Sample:
    """One call after the other, while *live* executions wait."""
    async with _held(live) as supervisor:
        return await one_by_one(supervisor, "add", CALLS)


async def pause_among(live: int) -> Sample:
    """The longest time for which calls keep everybody else from running, while *live* executions wait."""
    ticker = Ticker()
    async with _held(live) as supervisor, trio.open_nursery() as nursery:
        await supervisor.execute(call("add", 0))
        gc.collect()
        nursery.start_soon(ticker.run)
        await ticker.wait_for_turns()
        for number in range(CALLS):
            await supervisor.execute(call("add", number))
        await ticker.wait_for_turns()
        nursery.cancel_scope.cancel()
    return ticker.read()


async def pause_among_few(_: int) -> Sample:
    """The longest pause while next to nothing else is live."""
    return await pause_among(FEW)


async def among_few(_: int) -> Sample:
    """One call after the other, while next to nothing else is live."""
    return await among(FEW)


async def after(ended: int) -> Sample:
    """One call after the other, when *ended* executions have ended."""
    async with open_supervisor(TOOLBOX) as supervisor:
        await _batches(supervisor, ended)
        return await one_by_one(supervisor, "add", CALLS)


async def after_few(_: int) -> Sample:
    """One call after the other, when next to nothing has ended."""
    return await after(FEW)


async def stream(count: int) -> Sample:
    """Numbers through a stream."""
    seen = 0
    async with open_supervisor(TOOLBOX) as supervisor:
        watch = Stopwatch()
        async with supervisor.stream(ToolCall("count_up", {"stop": count})) as chunks:
            async for _ in chunks:
                seen += 1
        sample = watch.read(count)
    assert seen == count
    return sample
