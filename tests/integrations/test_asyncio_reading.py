"""Streams, snapshots and events, read with ``async for`` in asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

import pytest
import trio

from armory_trio import (
    AdmissionClosed,
    ChunkEmitted,
    ExecutionSettled,
    Lagged,
    Limits,
    OutcomeDecided,
    Snapshot,
    Toolbox,
    ToolCall,
    tool,
)
from armory_trio.integrations.asyncio_host import AsyncioHost, open_asyncio_host
from tests.integrations.loops import TOOLBOX, Run, Trace, on_each_loop, sleepers
from tests.requirements import requirement

SUM: Final = ToolCall("add", {"a": 5, "b": 3})


@requirement("asyncio.read")
@on_each_loop
def test_chunks_are_read_as_they_come_and_the_result_is_there_afterwards(run: Run) -> None:
    async def main() -> None:
        async with open_asyncio_host(TOOLBOX) as host:
            async with host.stream(ToolCall("count", {"upto": 200}), owner_id="run-7") as stream:
                with pytest.raises(RuntimeError, match="not decided yet"):
                    _ = stream.result
                assert [chunk async for chunk in stream] == list(range(200))
                assert stream.result.value == list(range(200))
            assert stream.execution.snapshot.owner_id == "run-7"
            async with host.stream(ToolCall("count", {"upto": 5}), collect=False) as stream:
                assert [chunk async for chunk in stream] == [0, 1, 2, 3, 4]
            assert stream.result.value is None

    run(main)


@requirement("asyncio.read")
@on_each_loop
def test_leaving_a_stream_early_stops_its_tool(run: Run) -> None:
    async def main() -> None:
        async with open_asyncio_host(TOOLBOX) as host:
            async with host.stream(ToolCall("count", {"upto": 1000, "pause": 60})) as stream:
                async for chunk in stream:
                    assert chunk == 0
                    break
            assert host.active == 0
            error = stream.result.error
            assert error is not None
            assert (error.code, error.message) == ("CANCELLED", "the reader left the stream")
            with pytest.raises(LookupError):
                async with host.stream(ToolCall("count", {"upto": 1000, "pause": 60})):
                    raise LookupError
            assert host.active == 0

    run(main)


@requirement("asyncio.read")
@on_each_loop
def test_a_reader_that_stalls_holds_up_its_own_tool_only(run: Run) -> None:
    async def main() -> None:
        async with (
            open_asyncio_host(TOOLBOX) as host,
            host.stream(ToolCall("count", {"upto": 1000})) as stream,
            host.executions.subscribe() as updates,
            host.events(buffer=10) as events,
        ):
            for _ in range(300):
                await host.execute(SUM)
            assert stream.execution.snapshot.chunks == 64
            seen = {(await anext(updates)).execution_id for _ in range(301)}
            assert len(seen) == 301
            assert updates.missed > 0
            assert updates.forgotten == 0
            assert isinstance(await anext(events), Lagged)

    run(main)


@requirement("asyncio.read")
@on_each_loop
def test_a_cancelled_step_loses_nothing(run: Run) -> None:
    async def main() -> None:
        async with (
            open_asyncio_host(TOOLBOX) as host,
            host.stream(ToolCall("count", {"upto": 300, "pause": 0.0})) as stream,
        ):
            read: list[object] = []
            rounds = 0
            while len(read) < 300:
                step = asyncio.create_task(anext(stream))
                for _ in range(rounds % 7):
                    await asyncio.sleep(0)
                step.cancel()
                await asyncio.wait([step])
                if not step.cancelled():
                    read.append(step.result())
                rounds += 1
            assert read == list(range(300))
            with pytest.raises(StopAsyncIteration):
                await anext(stream)

    run(main)


@requirement("asyncio.read")
@on_each_loop
def test_a_chunk_that_comes_together_with_a_cancellation_is_not_lost(run: Run) -> None:
    steps: list[asyncio.Task[object]] = []

    @tool(effect="read-only")
    async def beat() -> AsyncIterator[int]:
        """Cancel the step that waits, and yield to it in the same turn."""
        for number in range(5):
            await trio.sleep(0.005)
            steps[-1].cancel()
            yield number

    async def main() -> None:
        read: list[object] = []
        async with open_asyncio_host(Toolbox([beat])) as host, host.stream(ToolCall("beat")) as stream:
            while len(read) < 5:
                steps.append(asyncio.ensure_future(anext(stream)))
                await asyncio.wait(steps[-1:])
                if not steps[-1].cancelled():
                    read.append(steps[-1].result())
        assert read == list(range(5))
        assert any(step.cancelled() for step in steps)

    steps.clear()
    run(main)


@requirement("asyncio.read")
@on_each_loop
def test_typed_events_come_in_order_with_the_payloads_that_were_asked_for(run: Run) -> None:
    async def main() -> None:
        async with open_asyncio_host(TOOLBOX) as host:
            kinds = (ChunkEmitted, OutcomeDecided, ExecutionSettled)
            async with host.events(*kinds, include_payloads=True) as events:
                result = await host.execute(ToolCall("count", {"upto": 2}))
                found = [await anext(events) for _ in range(4)]
            assert [type(event) for event in found] == [
                ChunkEmitted,
                ChunkEmitted,
                OutcomeDecided,
                ExecutionSettled,
            ]
            assert {event.execution_id for event in found if not isinstance(event, Lagged)} == {result.execution_id}

    run(main)


@requirement("asyncio.read-end")
@on_each_loop
def test_readers_get_the_rest_when_the_host_closes_and_then_their_iteration_ends(run: Run) -> None:
    async def main() -> None:
        entered = asyncio.Barrier(4)
        shots: list[Snapshot] = []
        settled: list[object] = []
        chunks: list[object] = []

        async with open_asyncio_host(TOOLBOX, limits=Limits(concurrent=2)) as host:

            async def follow() -> None:
                async with host.executions.subscribe(tool_name="nap") as updates:
                    await entered.wait()
                    shots.extend([shot async for shot in updates])

            async def log() -> None:
                async with host.events(ExecutionSettled) as events:
                    await entered.wait()
                    settled.extend([event async for event in events])

            async def read() -> None:
                async with host.stream(ToolCall("count", {"upto": 50})) as stream:
                    await entered.wait()
                    async for chunk in stream:
                        chunks.append(chunk)
                        await asyncio.sleep(0)

            reading = asyncio.gather(follow(), log(), read())
            await entered.wait()
            started = [host.start(ToolCall("nap", {"seconds": 0.001})) for _ in range(200)]
        await reading
        last = {shot.execution_id: shot.state for shot in shots}
        assert last == {execution.id: "terminal" for execution in started}
        assert len(settled) == 201
        assert chunks == list(range(50))

    run(main)


@requirement("asyncio.read-end")
@on_each_loop
def test_readers_that_come_late_find_what_there_was(run: Run) -> None:
    async def main() -> None:
        entered, left = asyncio.Event(), asyncio.Event()

        async def read(host: AsyncioHost) -> tuple[list[object], ...]:
            async with (
                host.stream(ToolCall("count", {"upto": 20})) as stream,
                host.executions.subscribe() as updates,
                host.events(ChunkEmitted, include_payloads=True) as events,
            ):
                entered.set()
                await left.wait()
                return [_ async for _ in stream], [_ async for _ in updates], [_ async for _ in events]

        async with open_asyncio_host(TOOLBOX) as host:
            reading = asyncio.create_task(read(host))
            await entered.wait()
        left.set()
        chunks, shots, events = await reading
        assert chunks == list(range(20))
        assert [shot.chunks for shot in shots if isinstance(shot, Snapshot)] == [20]
        assert [event.chunk for event in events if isinstance(event, ChunkEmitted)][-1] == 19

    run(main)


@requirement("asyncio.read-end")
@on_each_loop
def test_a_reader_of_a_closed_host_has_nothing_to_wait_for(run: Run) -> None:
    async def main() -> None:
        trace = Trace()
        async with open_asyncio_host(sleepers(trace)) as host:
            late = host.executions.subscribe()
            host.start(ToolCall("sleep"))
            async with host.executions.subscribe() as updates:
                assert (await anext(updates)).tool_name == "sleep"
                await host.shutdown("abort")
        with pytest.raises(StopAsyncIteration):
            await anext(updates)
        with pytest.raises(AdmissionClosed):
            await late.__aenter__()

    run(main)
