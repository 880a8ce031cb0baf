"""Cancellation between asyncio and trio, both ways."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Final

import anyio
import pytest

from armory_trio import Toolbox, ToolCall, open_supervisor
from armory_trio.integrations.asyncio_host import AsyncioHost, open_asyncio_host
from tests.integrations.loops import TOOLBOX, Run, Trace, on_each_loop, pending_futures, sleepers
from tests.requirements import requirement

SUM: Final = ToolCall("add", {"a": 5, "b": 3})
ROUNDS: Final = 25
"""Rounds of the loop after which a coroutine is cancelled, at most; by then it waits for something far away."""


@requirement("asyncio.cancel")
@on_each_loop
def test_a_cancelled_task_aborts_its_execution_and_ends_when_the_body_is_gone(run: Run) -> None:
    async def main() -> None:
        trace = Trace()
        async with open_asyncio_host(sleepers(trace)) as host:
            calling = asyncio.create_task(host.execute(ToolCall("sleep")))
            await trace.running.wait()
            calling.cancel("the user left")
            with pytest.raises(asyncio.CancelledError, match="the user left"):
                await calling
            assert trace.said == ["began", "cleaned up"]
            assert host.active == 0
            [shot] = host.executions.inspect()
            assert shot.abort is not None
            assert (shot.abort.source, shot.abort.reason) == ("caller", "its caller was cancelled")
            assert (shot.outcome, shot.error_code) == ("error", "CANCELLED")

    run(main)


async def _call(host: AsyncioHost) -> None:
    await host.execute(ToolCall("count", {"upto": 1000, "pause": 60}))


async def _stream(host: AsyncioHost) -> None:
    async with host.stream(ToolCall("count", {"upto": 1000, "pause": 60})) as stream:
        async for _ in stream:
            pass


async def _subscribe_and_stream(host: AsyncioHost) -> None:
    async with host.executions.subscribe():
        await _stream(host)


@requirement("asyncio.cancel-repeated")
@on_each_loop
@pytest.mark.parametrize("use", [_call, _stream, _subscribe_and_stream])
def test_a_task_that_is_cancelled_in_every_round_stops_its_tool(
    run: Run, use: Callable[[AsyncioHost], Coroutine[object, object, None]]
) -> None:
    async def main() -> None:
        async with open_asyncio_host(TOOLBOX) as host:
            async with anyio.create_task_group() as group:  # its scopes cancel until the task has ended
                group.start_soon(use, host)
                async with host.executions.subscribe() as updates:
                    async for shot in updates:
                        if shot.state in {"active", "streaming"}:
                            break
                group.cancel_scope.cancel()
            assert host.active == 0
            [shot] = host.executions.inspect()
            assert (shot.state, shot.error_code) == ("terminal", "CANCELLED")
            assert host.executions.inspect(live_only=True) == []

    run(main)


@requirement("asyncio.cancel")
@on_each_loop
def test_a_body_that_takes_long_to_clean_up_is_left_behind_visibly(run: Run) -> None:
    async def main() -> None:
        trace = Trace()
        async with open_asyncio_host(sleepers(trace)) as host:
            calling = asyncio.create_task(host.execute(ToolCall("linger")))
            await trace.running.wait()
            calling.cancel()
            with pytest.raises(asyncio.CancelledError):
                await calling
            [shot] = host.executions.inspect()
            assert (shot.state, trace.said) == ("cleanup-pending", [])
            trace.may_end.set()
        assert trace.said == ["lingered"]

    run(main)


@requirement("asyncio.cancel")
@on_each_loop
def test_a_cancelled_batch_aborts_its_members_and_a_cancelled_wait_for_a_handle_does_not(run: Run) -> None:
    async def main() -> None:
        trace = Trace()
        async with open_asyncio_host(sleepers(trace)) as host:
            calling = asyncio.create_task(host.execute_batch([ToolCall("sleep")] * 3))
            await trace.running.wait()
            calling.cancel()
            with pytest.raises(asyncio.CancelledError):
                await calling
            assert host.active == 0
            assert sorted(trace.said[-3:]) == ["cleaned up"] * 3

            execution = host.start(ToolCall("sleep"))
            for wait in (execution.result, execution.settled):
                waiting = asyncio.ensure_future(wait())
                await asyncio.sleep(0)
                waiting.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await waiting
            assert host.active == 1
            execution.abort()

    run(main)


@requirement("asyncio.cancel")
@on_each_loop
def test_a_task_that_is_cancelled_before_its_first_step_runs_no_body(run: Run) -> None:
    async def main() -> None:
        trace = Trace()
        async with open_asyncio_host(sleepers(trace)) as host:

            async def call() -> None:
                me = asyncio.current_task()
                assert me is not None
                me.cancel()
                await host.execute(ToolCall("sleep"))

            calling = asyncio.create_task(call())
            with pytest.raises(asyncio.CancelledError):
                await calling
            assert trace.said == []
            assert host.active == 0

    run(main)


@requirement("asyncio.timeouts")
@on_each_loop
def test_timeouts_of_asyncio_end_the_calls_inside_of_them(run: Run) -> None:
    async def main() -> None:
        trace = Trace()
        async with open_asyncio_host(sleepers(trace)) as host:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(host.execute(ToolCall("sleep")), 0.01)
            assert host.active == 0

            async with asyncio.timeout(60):
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.01):
                        await host.execute(ToolCall("sleep"))
                assert (await host.execute(SUM)).value == 8
            assert trace.said.count("began") == trace.said.count("cleaned up")

            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01), asyncio.timeout(60):
                    await host.execute(ToolCall("sleep"))

    run(main)


@requirement("asyncio.timeouts")
@on_each_loop
def test_an_outer_timeout_that_ends_while_the_inner_one_waits_for_the_body_counts(run: Run) -> None:
    async def main() -> None:
        trace = Trace()
        async with open_asyncio_host(sleepers(trace)) as host:
            outer, inner = asyncio.timeout(None), asyncio.timeout(None)

            async def end_both() -> None:
                await trace.running.wait()
                now = asyncio.get_running_loop().time()
                inner.reschedule(now)
                outer.reschedule(now + 0.02)

            ending = asyncio.create_task(end_both())
            with pytest.raises(TimeoutError):
                async with outer, inner:
                    await host.execute(ToolCall("linger"))
            await ending
            assert inner.expired()
            assert outer.expired()
            # The stay of the body, 0.05 s, ended only after both; nothing of either cancellation is left.
            await asyncio.sleep(0)
            assert (await host.execute(SUM)).value == 8
            trace.may_end.set()

    run(main)


@requirement("asyncio.timeouts")
@on_each_loop
def test_a_task_group_cancels_the_calls_of_its_other_tasks(run: Run) -> None:
    async def main() -> None:
        trace = Trace()
        async with open_asyncio_host(sleepers(trace)) as host:

            async def fail() -> None:
                await trace.running.wait()
                raise LookupError("over")

            async def both() -> None:
                async with asyncio.TaskGroup() as group:
                    group.create_task(host.execute(ToolCall("sleep")))
                    group.create_task(fail())

            with pytest.RaisesGroup(LookupError):
                await both()
            assert trace.said == ["began", "cleaned up"]
            assert host.active == 0

    run(main)


async def _read_stream(host: AsyncioHost) -> None:
    async with host.stream(ToolCall("count", {"upto": 1000, "pause": 60})) as stream:
        async for _ in stream:
            pass


async def _read_updates(host: AsyncioHost) -> None:
    async with host.executions.subscribe() as updates:
        async for _ in updates:
            pass


async def _read_events(host: AsyncioHost) -> None:
    async with host.events() as events:
        async for _ in events:
            pass


async def _wait_for_handle(host: AsyncioHost) -> None:
    execution = host.start(ToolCall("sleep"))
    try:
        await execution.result()
    finally:
        execution.abort()
        await execution.settled()


async def _run_on_trio(host: AsyncioHost) -> None:
    async def nested() -> None:
        async with open_supervisor(TOOLBOX) as supervisor:
            await supervisor.execute(ToolCall("nap", {"seconds": 60}))

    await host.run(nested)


async def _wait_idle(host: AsyncioHost) -> None:
    execution = host.start(ToolCall("sleep"))
    try:
        await host.wait_idle()
    finally:
        execution.abort()
        await execution.settled()


EVERYTHING: Final[dict[str, Callable[[AsyncioHost], Coroutine[object, object, object]]]] = {
    "execute": lambda host: host.execute(ToolCall("sleep")),
    "execute, short": lambda host: host.execute(SUM),
    "execute_batch": lambda host: host.execute_batch([ToolCall("sleep"), SUM]),
    "stream": _read_stream,
    "subscribe": _read_updates,
    "events": _read_events,
    "result": _wait_for_handle,
    "run": _run_on_trio,
    "wait_idle": _wait_idle,
}


@requirement("asyncio.cancel-everywhere")
@on_each_loop
@pytest.mark.parametrize("name", EVERYTHING)
def test_cancelled_in_any_round_a_coroutine_leaves_nothing_behind(run: Run, name: str) -> None:
    async def main() -> None:
        trace = Trace()
        async with open_asyncio_host(sleepers(trace)) as host:
            for rounds in range(ROUNDS):
                task = asyncio.create_task(EVERYTHING[name](host), name=name)
                for _ in range(rounds):
                    await asyncio.sleep(0)
                ended = task.done()
                task.cancel()
                await asyncio.wait([task])
                assert task.cancelled() or ended or task.exception() is None
                assert host.active == 0
                assert trace.said.count("began") == trace.said.count("cleaned up")
            assert pending_futures() == []
            assert (await host.execute(SUM)).value == 8
            assert not host.closed

    run(main)


@requirement("asyncio.cancel-everywhere")
@on_each_loop
def test_cancelled_in_any_round_a_shutdown_goes_on(run: Run) -> None:
    async def main() -> None:
        for rounds in range(8):
            trace = Trace()
            async with open_asyncio_host(sleepers(trace)) as host:
                execution = host.start(ToolCall("sleep"))
                await trace.running.wait()
                task = asyncio.create_task(host.shutdown("drain"))
                for _ in range(rounds):
                    await asyncio.sleep(0)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert host.active == 1
                execution.abort()
                assert (await execution.settled()).state == "unknown-effect"

    run(main)


@requirement("asyncio.cancel-everywhere")
@on_each_loop
def test_cancelled_in_any_round_opening_leaves_no_run_behind(run: Run) -> None:
    async def open_and_stay(opened: asyncio.Event) -> None:
        async with open_asyncio_host(Toolbox([])):
            opened.set()
            await asyncio.Event().wait()

    async def main() -> None:
        opened = asyncio.Event()
        for rounds in range(ROUNDS):
            opened.clear()
            task = asyncio.create_task(open_and_stay(opened))
            for _ in range(rounds):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert pending_futures() == []
        assert opened.is_set()

    run(main)


@requirement("asyncio.cancel-everywhere", "asyncio.leave")
@on_each_loop
def test_cancelled_in_any_round_a_leave_becomes_an_abort(run: Run) -> None:
    async def open_and_leave(trace: Trace, hosts: list[AsyncioHost], leaving: asyncio.Event) -> None:
        async with open_asyncio_host(sleepers(trace)) as host:
            hosts.append(host)
            host.start(ToolCall("sleep"))
            await trace.running.wait()
            leaving.set()

    async def main() -> None:
        for rounds in range(ROUNDS):
            trace, leaving = Trace(), asyncio.Event()
            hosts: list[AsyncioHost] = []
            task = asyncio.create_task(open_and_leave(trace, hosts, leaving))
            await leaving.wait()
            for _ in range(rounds):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert trace.said == ["began", "cleaned up"]
            [host] = hosts
            assert host.report is not None
            assert host.report.mode == "abort"
        assert pending_futures() == []

    run(main)
