"""The same work under a supervisor inside an asyncio program."""

from __future__ import annotations

from armory_trio.integrations.asyncio_host import AsyncioHost, open_asyncio_host

from ._sample import Sample, Stopwatch
from ._sizes import BATCH, SLICE
from ._tools import TOOLBOX, call


async def batch(count: int) -> Sample:
    """Batches."""
    async with open_asyncio_host(TOOLBOX) as host:
        await _batches(host, SLICE)
        watch = Stopwatch()
        await _batches(host, count)
        return watch.read(count)


async def _batches(host: AsyncioHost, count: int) -> None:
    for first in range(0, count, BATCH):
        numbers = range(first, min(first + BATCH, count))
        results = await host.execute_batch([call("add", number) for number in numbers])
        assert [result.value for result in results] == [number + 1 for number in numbers]


async def sequential(count: int) -> Sample:
    """One call after the other."""
    async with open_asyncio_host(TOOLBOX) as host:
        result = await host.execute(call("add", 0))
        watch = Stopwatch()
        for number in range(count):
            result = await host.execute(call("add", number))
        sample = watch.read(count)
        assert result.value == count
    return sample
