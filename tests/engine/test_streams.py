"""Generators as tools: what their chunks, their cancellation and their ends promise."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import suppress
from typing import cast

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from armory_trio import (
    ChunkEmitted,
    Execution,
    Semantics,
    Stream,
    StreamClosed,
    StreamOpened,
    Supervisor,
    Tool,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolResult,
    current_supervisor,
    open_supervisor,
    tool,
)
from armory_trio.integrations.asyncio_host import open_asyncio_host
from tests.engine.tools import add, count, sleep
from tests.integrations.loops import run_on_asyncio
from tests.requirements import requirement


class OwnError(Exception):
    """What a reader raises."""


@tool(buffer=4, effect="read-only")
async def endless() -> AsyncIterator[int]:
    """Count without ever waiting."""
    number = 0
    while True:
        yield number
        number += 1


async def read_all(supervisor: Supervisor, call: ToolCall) -> tuple[list[object], ToolResult[object]]:
    async with supervisor.stream(call) as stream:
        chunks = [chunk async for chunk in stream]
        return chunks, stream.result


# -- collecting


@requirement("streams.collected")
async def test_without_a_reader_the_chunks_are_the_value(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([count])) as supervisor:
        execution = supervisor.start(ToolCall("count", {"upto": 3, "pause": 1.0}))
        result = await execution.result()
        snapshot = await execution.settled()

    assert (result.outcome, result.value, result.effect) == ("success", [0, 1, 2], "completed")
    assert (snapshot.state, snapshot.chunks) == ("terminal", 3)


@requirement("streams.reducer")
@pytest.mark.parametrize("live", [False, True])
async def test_a_declared_reducer_makes_the_value_of_the_chunks(live: bool) -> None:
    @tool(reducer=lambda chunks: "".join(str(chunk) for chunk in chunks))
    async def spell() -> AsyncIterator[str]:
        for letter in "abc":
            yield letter

    async with open_supervisor(Toolbox([spell])) as supervisor:
        if live:
            chunks, result = await read_all(supervisor, ToolCall("spell"))
            assert chunks == ["a", "b", "c"]
        else:
            result = await supervisor.execute(ToolCall("spell"))

    assert result.value == "abc"


@requirement("streams.reducer")
async def test_a_reducer_that_fails_is_an_error_after_a_completed_effect() -> None:
    def refuse(chunks: list[object]) -> object:
        raise ValueError(f"{len(chunks)} are too many")

    @tool(reducer=refuse)
    async def two() -> AsyncIterator[int]:
        yield 1
        yield 2

    async with open_supervisor(Toolbox([two])) as supervisor:
        result = await supervisor.execute(ToolCall("two"))

    assert result.error is not None and result.error.message == "ValueError: 2 are too many"
    assert (result.effect, result.chunks) == ("completed", (1, 2))


@requirement("streams.collected")
async def test_a_generator_that_yields_nothing_is_a_success_without_chunks() -> None:
    @tool
    async def nothing() -> AsyncIterator[int]:
        for number in list[int]():
            yield number

    async with open_supervisor(Toolbox([nothing])) as supervisor:
        collected = await supervisor.execute(ToolCall("nothing"))
        chunks, read = await read_all(supervisor, ToolCall("nothing"))

    assert (collected.outcome, collected.value) == ("success", [])
    assert (chunks, read.outcome, read.value) == ([], "success", [])


@requirement("streams.checkpoints")
async def test_a_driver_that_collects_lets_others_run_at_least_every_64_chunks() -> None:
    turns = 0
    made = 0

    @tool(buffer=1000)
    async def rush() -> AsyncIterator[int]:
        nonlocal made
        for made in range(640):
            yield made

    async def others() -> None:
        nonlocal turns
        while made < 639:
            await trio.lowlevel.checkpoint()
            turns += 1

    async with open_supervisor(Toolbox([rush])) as supervisor, trio.open_nursery() as nursery:
        execution = supervisor.start(ToolCall("rush"))
        nursery.start_soon(others)
        result = await execution.result()

    assert result.value == list(range(640))
    assert turns >= 640 // 64 - 1  # the first or the last may miss it


@requirement("streams.checkpoints")
async def test_a_reader_of_a_large_buffer_lets_others_run_at_least_every_64_chunks() -> None:
    turns = 0

    @tool(buffer=640)
    async def rush() -> AsyncIterator[int]:
        for number in range(640):
            yield number

    async def others() -> None:
        nonlocal turns
        while True:
            await trio.lowlevel.checkpoint()
            turns += 1

    async with open_supervisor(Toolbox([rush])) as supervisor, supervisor.stream(ToolCall("rush")) as stream:
        await trio.testing.wait_all_tasks_blocked()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(others)
            chunks = [chunk async for chunk in stream]
            nursery.cancel_scope.cancel()

    assert chunks == list(range(640))
    assert turns >= 640 // 64 - 1


# -- reading live


@requirement("streams.live")
async def test_a_live_stream_hands_each_chunk_over_as_it_comes(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([count])) as supervisor:
        opened = trio.current_time()
        async with supervisor.stream(ToolCall("count", {"upto": 3, "pause": 2.0})) as stream:
            seen = [(chunk, trio.current_time() - opened) async for chunk in stream]

            assert stream.result.value == [0, 1, 2]
            assert stream.execution.snapshot.state == "terminal"

    assert seen == [(0, 0.0), (1, 2.0), (2, 4.0)]


@requirement("streams.live")
async def test_a_tool_that_is_no_generator_streams_no_chunks_but_a_result() -> None:
    async with open_supervisor(Toolbox([add])) as supervisor:
        chunks, result = await read_all(supervisor, ToolCall("add", {"a": 1, "b": 2}))

    assert (chunks, result.value) == ([], 3)


@requirement("streams.live")
@pytest.mark.parametrize("call", [ToolCall("nobody"), ToolCall("count", {"upto": "three"})])
async def test_a_refused_call_streams_no_chunks_and_says_why(call: ToolCall) -> None:
    async with open_supervisor(Toolbox([count])) as supervisor:
        chunks, result = await read_all(supervisor, call)

    assert chunks == []
    assert result.error is not None and result.error.code in ("NOT_FOUND", "INVALID_ARGUMENTS")
    assert result.effect == "none"


@requirement("streams.result-early")
async def test_the_result_of_a_stream_that_is_not_over_is_an_error_that_says_what_to_do() -> None:
    async with open_supervisor(Toolbox([endless])) as supervisor, supervisor.stream(ToolCall("endless")) as stream:
        with pytest.raises(RuntimeError, match="read it to its end first"):
            _ = stream.result


@requirement("streams.not-begun")
async def test_what_was_not_entered_says_what_to_do_and_does_nothing() -> None:
    async with open_supervisor(Toolbox([count])) as supervisor:
        for opened in (
            supervisor.stream(ToolCall("count", {"upto": 3})),
            supervisor.events(),
            supervisor.executions.subscribe(),
        ):
            with pytest.raises(TypeError, match=r"enter it first: async with \.\.\. as reader"):
                [each async for each in cast("AsyncIterator[object]", opened)]
        assert supervisor.executions.inspect() == []


@requirement("streams.not-begun")
def test_what_was_not_entered_in_asyncio_says_so_too() -> None:
    async def main() -> None:
        async with open_asyncio_host(Toolbox([count])) as host:
            for opened in (host.stream(ToolCall("count", {"upto": 3})), host.executions.subscribe()):
                with pytest.raises(TypeError, match="enter it first"):
                    [each async for each in cast("AsyncIterator[object]", opened)]
            assert host.executions.inspect() == []

    run_on_asyncio(main)


@requirement("streams.live-uncollected")
async def test_a_stream_that_is_not_collected_keeps_no_chunks() -> None:
    @tool
    async def breaks() -> AsyncIterator[int]:
        yield 1
        raise ValueError("halfway")

    async with open_supervisor(Toolbox([count, breaks])) as supervisor:
        async with supervisor.stream(ToolCall("count", {"upto": 3}), collect=False) as stream:
            chunks = [chunk async for chunk in stream]
        async with supervisor.stream(ToolCall("breaks"), collect=False) as broken:
            before = [chunk async for chunk in broken]

    assert chunks == [0, 1, 2]
    assert (stream.result.outcome, stream.result.value) == ("success", None)
    assert (before, broken.result.outcome, broken.result.chunks) == ([1], "error", ())


@requirement("streams.backpressure")
@pytest.mark.parametrize("size", [1, 4])
async def test_a_tool_is_never_more_than_its_buffer_ahead_of_its_reader(size: int) -> None:
    made = 0

    @tool(buffer=size)
    async def rush() -> AsyncIterator[int]:
        nonlocal made
        for number in range(20):
            made += 1
            yield number

    async with open_supervisor(Toolbox([rush])) as supervisor, supervisor.stream(ToolCall("rush")) as stream:
        ahead: list[int] = []
        await trio.testing.wait_all_tasks_blocked()
        ahead.append(made)
        read = 0
        async for _ in stream:
            read += 1
            await trio.testing.wait_all_tasks_blocked()
            ahead.append(made - read)

    assert read == 20
    assert max(ahead) == size


@requirement("streams.backpressure")
async def test_a_stalled_reader_stalls_only_its_own_tool(autojump_clock: trio.abc.Clock) -> None:
    async with (
        open_supervisor(Toolbox([endless, count, add])) as supervisor,
        supervisor.stream(ToolCall("endless")) as stalled,
    ):
        await trio.testing.wait_all_tasks_blocked()
        for _ in range(3):
            assert (await supervisor.execute(ToolCall("add", {"a": 1, "b": 2}))).value == 3
        assert (await supervisor.execute(ToolCall("count", {"upto": 100}))).value == list(range(100))
        chunks, _ = await read_all(supervisor, ToolCall("count", {"upto": 100}))

        assert chunks == list(range(100))
        assert stalled.execution.snapshot.chunks == 4
        assert stalled.execution.snapshot.state == "streaming"


@requirement("streams.outcome-without-reader")
async def test_the_outcome_is_recorded_though_nobody_reads(autojump_clock: trio.abc.Clock) -> None:
    async with (
        open_supervisor(Toolbox([count])) as supervisor,
        supervisor.stream(ToolCall("count", {"upto": 3})) as stream,
    ):
        snapshot = await stream.execution.settled()

        assert (snapshot.state, snapshot.outcome, snapshot.chunks) == ("terminal", "success", 3)
        assert stream.result.value == [0, 1, 2]
        assert [chunk async for chunk in stream] == [0, 1, 2]  # they are still there


@requirement("streams.leaving-early")
@pytest.mark.parametrize("by", ["break", "error", "cancellation"])
async def test_leaving_early_stops_the_tool_and_is_the_callers_doing(by: str, autojump_clock: trio.abc.Clock) -> None:
    cleaned = False

    @tool(buffer=2)
    async def forever() -> AsyncIterator[int]:
        nonlocal cleaned
        try:
            while True:
                yield 1
        finally:
            cleaned = True

    async def leave(stream: Stream, scope: trio.CancelScope) -> None:
        await anext(stream)
        if by == "error":
            raise OwnError
        if by == "cancellation":
            scope.cancel()
            await trio.lowlevel.checkpoint()

    opened: list[Stream] = []
    async with open_supervisor(Toolbox([forever, add])) as supervisor:
        with trio.CancelScope() as scope, suppress(OwnError):
            async with supervisor.stream(ToolCall("forever")) as stream:
                opened.append(stream)
                await leave(stream, scope)
        snapshot = opened[0].execution.snapshot
        after = await supervisor.execute(ToolCall("add", {"a": 1, "b": 2}))

    assert scope.cancelled_caught == (by == "cancellation")
    assert cleaned
    assert (snapshot.state, snapshot.error_code) == ("unknown-effect", "CANCELLED")
    assert snapshot.abort is not None and snapshot.abort.source == "caller" and snapshot.abort.honoured is True
    assert opened[0].result.outcome == "error"
    assert after.value == 3


@requirement("streams.leaving-early")
async def test_leaving_a_stream_that_is_over_changes_nothing() -> None:
    async with (
        open_supervisor(Toolbox([count])) as supervisor,
        supervisor.stream(ToolCall("count", {"upto": 2})) as stream,
    ):
        await stream.execution.settled()
        async for _ in stream:
            break

    assert stream.result.outcome == "success"
    assert stream.execution.snapshot.abort is None


@requirement("streams.leaving-early")
async def test_leaving_a_stream_of_a_tool_with_grace_lets_it_finish(autojump_clock: trio.abc.Clock) -> None:
    @tool(grace=3.0)
    async def polite(ctx: ToolContext) -> AsyncIterator[str]:
        yield "first"
        await ctx.wait_abort_requested()
        await trio.sleep(1)

    async with open_supervisor(Toolbox([polite])) as supervisor:
        async with supervisor.stream(ToolCall("polite")) as stream:
            async for _ in stream:
                break
        result = await stream.execution.result()

    assert (result.outcome, result.value) == ("success", ["first"])
    abort = stream.execution.snapshot.abort
    assert abort is not None and abort.honoured is False


# -- ends that are no success


@requirement("streams.error-keeps-chunks")
@pytest.mark.parametrize("live", [False, True])
async def test_an_error_after_chunks_is_an_error_with_the_chunks_kept(live: bool) -> None:
    @tool
    async def breaks() -> AsyncIterator[int]:
        yield 1
        yield 2
        raise ValueError("halfway")

    async with open_supervisor(Toolbox([breaks])) as supervisor:
        if live:
            chunks, result = await read_all(supervisor, ToolCall("breaks"))
            assert chunks == [1, 2]
        else:
            result = await supervisor.execute(ToolCall("breaks"))

    assert result.error is not None and result.error.message == "ValueError: halfway"
    assert (result.outcome, result.chunks, result.value) == ("error", (1, 2), None)


@requirement("streams.deadline-on-silence")
@pytest.mark.parametrize(
    ("options", "code"),
    [({"timeout": 2.0}, "TIMEOUT"), ({"idle_timeout": 2.0}, "IDLE_TIMEOUT"), ({"deadline": 3.0}, "DEADLINE_EXCEEDED")],
)
@pytest.mark.parametrize("live", [False, True])
async def test_a_time_limit_holds_on_a_silent_stream(
    options: dict[str, float], code: str, live: bool, autojump_clock: trio.abc.Clock
) -> None:
    @tool(effect="read-only")
    async def silent() -> AsyncIterator[int]:
        yield 1
        await trio.sleep_forever()

    if "deadline" in options:
        options = {"deadline": trio.current_time() + 2}
    began = trio.current_time()
    async with open_supervisor(Toolbox([silent])) as supervisor:
        if live:
            async with supervisor.stream(ToolCall("silent"), **options) as stream:  # type: ignore[arg-type]  # one of the limits
                chunks = [chunk async for chunk in stream]
            assert chunks == [1]
            result = stream.result
        else:
            result = await supervisor.execute(ToolCall("silent"), **options)  # type: ignore[arg-type]  # as above

    assert result.error is not None and result.error.code == code
    assert result.chunks == (1,)
    assert trio.current_time() - began == 2


@requirement("streams.deadline-on-silence")
async def test_chunks_keep_the_idle_timeout_away(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([count])) as supervisor:
        result = await supervisor.execute(ToolCall("count", {"upto": 5, "pause": 2.0}), idle_timeout=3)

    assert result.value == [0, 1, 2, 3, 4]


@requirement("streams.deadline-on-silence")
async def test_a_timeout_holds_while_the_reader_is_stalled(autojump_clock: trio.abc.Clock) -> None:
    async with (
        open_supervisor(Toolbox([endless])) as supervisor,
        supervisor.stream(ToolCall("endless"), timeout=2.0) as stream,
    ):
        snapshot = await stream.execution.settled()
        chunks = [chunk async for chunk in stream]

    assert snapshot.error_code == "TIMEOUT"
    assert chunks == [0, 1, 2, 3]


Scenario = Callable[[], AsyncGenerator[object, None]]
seen_at_yield: list[str] = []


async def bare() -> AsyncGenerator[object, None]:
    while True:
        try:
            yield 1
        except trio.Cancelled:
            seen_at_yield.append("cancelled")
            raise


async def inside_a_timeout() -> AsyncGenerator[object, None]:
    with trio.move_on_after(60):
        async for chunk in bare():
            try:
                yield chunk
            except trio.Cancelled:
                seen_at_yield.append("cancelled")
                raise


async def inside_a_fail_after() -> AsyncGenerator[object, None]:
    with trio.fail_after(60):
        while True:
            try:
                yield 1
            except trio.Cancelled:
                seen_at_yield.append("cancelled")
                raise


async def inside_a_nursery() -> AsyncGenerator[object, None]:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep_forever)
        while True:
            try:
                yield 1
            except trio.Cancelled:
                seen_at_yield.append("cancelled")
                raise


async def swallows() -> AsyncGenerator[object, None]:
    while True:
        try:
            yield 1
        except trio.Cancelled:
            seen_at_yield.append("cancelled")


async def swallows_in_a_nursery() -> AsyncGenerator[object, None]:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep_forever)
        while True:
            try:
                yield 1
            except trio.Cancelled:
                seen_at_yield.append("cancelled")


async def yields_in_finally() -> AsyncGenerator[object, None]:
    try:
        while True:
            yield 1
    except trio.Cancelled:
        seen_at_yield.append("cancelled")
        yield "one more"
        raise


async def answers_with_a_group() -> AsyncGenerator[object, None]:
    try:
        while True:
            yield 1
    except trio.Cancelled as exc:
        seen_at_yield.append("cancelled")
        raise BaseExceptionGroup("as nurseries do", [exc]) from None


SCENARIOS: list[Scenario] = [
    bare,
    inside_a_fail_after,
    inside_a_nursery,
    swallows,
    swallows_in_a_nursery,
    yields_in_finally,
    answers_with_a_group,
]


def as_tool(scenario: Scenario) -> Tool[..., object]:
    return tool(buffer=2, name="streaming")(scenario)


@requirement("streams.cancel-at-yield", "streams.never-truncated")
@pytest.mark.parametrize("how", ["abort", "timeout", "leave", "fall"])
@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_a_cancellation_while_a_chunk_waits_for_room_is_thrown_in_at_the_yield(
    scenario: Scenario, how: str, autojump_clock: trio.abc.Clock
) -> None:
    seen_at_yield.clear()
    started: list[Execution] = []
    with trio.CancelScope() as outside:
        async with (
            open_supervisor(Toolbox([as_tool(scenario), add])) as supervisor,
            supervisor.events(StreamClosed) as events,
        ):
            async with supervisor.stream(ToolCall("streaming"), timeout=5 if how == "timeout" else None) as stream:
                execution = stream.execution
                started.append(execution)
                await trio.testing.wait_all_tasks_blocked()
                assert seen_at_yield == []
                if how == "abort":
                    execution.abort("enough")
                elif how == "fall":
                    outside.cancel()
                if how != "leave":
                    await execution.settled()
            await execution.settled()
            assert (await supervisor.execute(ToolCall("add", {"a": 1, "b": 2}))).value == 3
            event = await anext(events)
            assert isinstance(event, StreamClosed)
            assert (event.chunks, event.complete) == (2, False)

    [execution] = started
    snapshot = execution.snapshot
    assert seen_at_yield == ["cancelled"]
    assert (snapshot.outcome, snapshot.state, snapshot.chunks) == ("error", "unknown-effect", 2)
    assert snapshot.error_code == ("TIMEOUT" if how == "timeout" else "CANCELLED")
    assert snapshot.abort is not None and snapshot.abort.honoured is True
    assert snapshot.cleanup == "completed"
    result = await execution.result()
    assert (result.outcome, result.effect, result.chunks) == ("error", "unknown", (1, 1))


@requirement("streams.cancel-at-yield")
async def test_a_generator_that_turns_the_cancellation_into_its_end_is_still_cancelled() -> None:
    @tool(buffer=1)
    async def gives_in() -> AsyncIterator[str]:
        try:
            while True:
                yield "more"
        except trio.Cancelled:
            return

    async with (
        open_supervisor(Toolbox([gives_in])) as supervisor,
        supervisor.stream(ToolCall("gives_in")) as stream,
    ):
        await trio.testing.wait_all_tasks_blocked()
        stream.execution.abort("enough")
        snapshot = await stream.execution.settled()

    assert stream.result.error is not None and stream.result.error.code == "CANCELLED"
    assert (snapshot.outcome, snapshot.state) == ("error", "terminal")
    assert snapshot.effect == "completed"  # it came to its own end


@requirement("streams.own-scopes")
async def test_the_generators_own_timeout_round_its_yield_ends_what_it_surrounds_and_nothing_else(
    autojump_clock: trio.abc.Clock,
) -> None:
    @tool(buffer=2)
    async def limited() -> AsyncIterator[str]:
        with trio.move_on_after(5) as scope:
            while True:
                yield "in time"
        yield "too late" if scope.cancelled_caught else "never"

    async with open_supervisor(Toolbox([limited])) as supervisor, supervisor.stream(ToolCall("limited")) as stream:
        await trio.sleep(10)
        chunks = [chunk async for chunk in stream]

    assert chunks == ["in time", "in time", "too late"]
    assert stream.result.outcome == "success"
    assert stream.execution.snapshot.abort is None


@requirement("streams.own-scopes")
@pytest.mark.parametrize("unwind", ["fail_after", "nursery"])
async def test_what_breaks_in_the_generators_own_scopes_is_the_tools_error(
    unwind: str, autojump_clock: trio.abc.Clock
) -> None:
    async def crash() -> None:
        await trio.sleep(5)
        raise OSError("child crashed")

    @tool(buffer=2)
    async def scoped() -> AsyncIterator[int]:
        if unwind == "fail_after":
            with trio.fail_after(5):
                while True:
                    yield 1
        async with trio.open_nursery() as nursery:
            nursery.start_soon(crash)
            while True:
                yield 1

    async with open_supervisor(Toolbox([scoped, add])) as supervisor:
        async with supervisor.stream(ToolCall("scoped")) as stream:
            await trio.sleep(10)
            chunks = [chunk async for chunk in stream]
        assert (await supervisor.execute(ToolCall("add", {"a": 1, "b": 2}))).value == 3

    error = stream.result.error
    assert chunks == [1, 1]
    assert error is not None
    assert error.code == ("TRANSIENT_ERROR" if unwind == "fail_after" else "INTERNAL_ERROR")
    assert error.message.startswith("TooSlowError" if unwind == "fail_after" else "OSError: child crashed")
    assert stream.execution.snapshot.abort is None


@requirement("streams.own-scopes")
async def test_a_reader_that_raises_while_the_tool_holds_scopes_open_gets_only_its_own_error(
    autojump_clock: trio.abc.Clock,
) -> None:
    """Field case 91: in plain trio this loses the whole run."""
    cleaned = False

    @tool
    async def scoped() -> AsyncIterator[int]:
        nonlocal cleaned
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.sleep_forever)
                with trio.fail_after(60):
                    while True:
                        yield 1
        finally:
            cleaned = True

    async def read_one(supervisor: Supervisor) -> None:
        async with supervisor.stream(ToolCall("scoped")) as stream:
            async for _ in stream:
                raise OwnError

    async with open_supervisor(Toolbox([scoped, add])) as supervisor:
        with pytest.raises(OwnError):
            await read_one(supervisor)
        assert cleaned
        assert (await supervisor.execute(ToolCall("add", {"a": 1, "b": 2}))).value == 3


@requirement("streams.never-truncated")
async def test_an_exception_while_being_closed_is_a_failed_cleanup_and_the_stream_is_closed() -> None:
    @tool(buffer=1, effect="read-only")
    async def clumsy() -> AsyncIterator[int]:
        try:
            while True:
                try:
                    yield 1
                except trio.Cancelled:
                    continue
        finally:
            raise OSError("disk full")

    async with (
        open_supervisor(Toolbox([clumsy])) as supervisor,
        supervisor.events(StreamClosed) as events,
        supervisor.stream(ToolCall("clumsy")) as stream,
    ):
        await trio.testing.wait_all_tasks_blocked()
        stream.execution.abort("enough")
        snapshot = await stream.execution.settled()
        event = await anext(events)

    assert (snapshot.error_code, snapshot.cleanup) == ("CANCELLED", "failed")
    assert isinstance(event, StreamClosed) and not event.complete


@requirement("streams.never-truncated")
@pytest.mark.parametrize("exception", [GeneratorExit(), KeyError("gone"), SystemExit(3)])
async def test_whatever_a_generator_raises_is_no_success(exception: BaseException) -> None:
    @tool
    async def breaks() -> AsyncIterator[int]:
        yield 1
        raise exception

    async with open_supervisor(Toolbox([breaks])) as supervisor:
        result = await supervisor.execute(ToolCall("breaks"))

    assert (result.outcome, result.chunks) == ("error", (1,))


@requirement("streams.never-cancelled-tool")
async def test_a_stream_that_must_never_be_cancelled_goes_on_to_its_end(autojump_clock: trio.abc.Clock) -> None:
    steps: list[int] = []

    @tool(semantics=Semantics(cancellation="unsupported"), buffer=1)
    async def transfer() -> AsyncIterator[int]:
        for number in range(4):
            with trio.move_on_after(1):
                yield number
            steps.append(number)
            yield number

    async with (
        open_supervisor(Toolbox([transfer])) as supervisor,
        supervisor.stream(ToolCall("transfer")) as stream,
    ):
        await trio.testing.wait_all_tasks_blocked()
        stream.execution.abort("enough")
        snapshot = await stream.execution.settled()

    assert steps == [0, 1, 2, 3]
    assert stream.result.error is not None and stream.result.error.code == "CANCELLED"
    assert snapshot.effect == "completed"
    assert snapshot.abort is not None and snapshot.abort.honoured is False


@requirement("streams.grace")
async def test_within_its_grace_a_stream_that_waits_for_its_reader_may_still_finish(
    autojump_clock: trio.abc.Clock,
) -> None:
    @tool(buffer=1, grace=5.0)
    async def polite(ctx: ToolContext) -> AsyncIterator[int]:
        number = 0
        while not ctx.abort_requested:
            number += 1
            yield number

    async with open_supervisor(Toolbox([polite])) as supervisor, supervisor.stream(ToolCall("polite")) as stream:
        await trio.testing.wait_all_tasks_blocked()
        stream.execution.abort("enough")
        chunks = [chunk async for chunk in stream]

    assert chunks == [1]
    assert stream.result.outcome == "success"


@requirement("streams.grace")
async def test_a_deadline_gives_grace_to_the_body_of_a_stream_though_its_outcome_is_decided(
    autojump_clock: trio.abc.Clock,
) -> None:
    finished = False

    @tool(buffer=1, grace=5.0)
    async def saves(ctx: ToolContext) -> AsyncIterator[int]:
        nonlocal finished
        while not ctx.abort_requested:
            yield 1
        await trio.sleep(1)
        finished = True

    async with (
        open_supervisor(Toolbox([saves])) as supervisor,
        supervisor.stream(ToolCall("saves"), timeout=2.0) as stream,
    ):
        snapshot = await stream.execution.settled()

    assert finished
    assert (snapshot.error_code, snapshot.effect) == ("TIMEOUT", "completed")
    assert stream.result.chunks == (1,)


# -- draining


@requirement("streams.drain")
async def test_a_reader_that_never_starts_holds_a_drain_up_for_five_seconds(autojump_clock: trio.abc.Clock) -> None:
    async with open_supervisor(Toolbox([endless])) as supervisor, supervisor.stream(ToolCall("endless")) as stream:
        await trio.sleep(60)
        began = trio.current_time()
        await supervisor.shutdown("drain", drain_for=30)
        took = trio.current_time() - began

    abort = stream.execution.snapshot.abort
    assert took == 5
    assert abort is not None and abort.source == "shutdown"
    assert stream.result.error is not None and stream.result.error.code == "CANCELLED"


@requirement("streams.drain")
async def test_a_stream_that_stalls_only_while_the_supervisor_drains_has_five_seconds_too(
    autojump_clock: trio.abc.Clock,
) -> None:
    async with (
        open_supervisor(Toolbox([count])) as supervisor,
        supervisor.stream(ToolCall("count", {"upto": 1000, "pause": 1.0})) as stream,
    ):
        began = trio.current_time()
        await supervisor.shutdown("drain", drain_for=500)

        assert trio.current_time() - began == 63 + 5  # a buffer of 64 fills, then nobody comes
        assert stream.execution.snapshot.chunks == 64


@requirement("streams.drain")
async def test_a_slow_reader_that_reads_is_not_stalled(autojump_clock: trio.abc.Clock) -> None:
    @tool
    async def burst() -> AsyncIterator[int]:
        for number in range(70):
            yield number

    async with (
        open_supervisor(Toolbox([burst])) as supervisor,
        trio.open_nursery() as nursery,
        supervisor.stream(ToolCall("burst")) as stream,
    ):
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(supervisor.shutdown, "drain")
        chunks: list[object] = []
        async for chunk in stream:
            chunks.append(chunk)
            await trio.sleep(0.3)

    assert chunks == list(range(70))
    assert stream.result.outcome == "success"


@requirement("streams.drain")
async def test_a_drain_lets_a_stream_that_is_read_run_to_its_end(autojump_clock: trio.abc.Clock) -> None:
    async with (
        open_supervisor(Toolbox([count])) as supervisor,
        trio.open_nursery() as nursery,
        supervisor.stream(ToolCall("count", {"upto": 12, "pause": 1.0})) as stream,
    ):
        nursery.start_soon(supervisor.shutdown, "drain")
        chunks = [chunk async for chunk in stream]

    assert chunks == list(range(12))
    assert stream.result.outcome == "success"


# -- events, nesting, cancellation of the reader


@requirement("streams.events")
async def test_a_stream_tells_its_opening_each_chunk_and_its_close() -> None:
    async with (
        open_supervisor(Toolbox([count])) as supervisor,
        supervisor.events(StreamOpened, ChunkEmitted, StreamClosed, include_payloads=True) as full,
        supervisor.events(StreamOpened, ChunkEmitted, StreamClosed) as plain,
    ):
        await supervisor.execute(ToolCall("count", {"upto": 2}))
        told = [await anext(full) for _ in range(4)]
        without = [await anext(plain) for _ in range(2)]

    opened, first, second, closed = told
    assert isinstance(opened, StreamOpened)
    assert isinstance(first, ChunkEmitted) and (first.index, first.chunk) == (0, 0)
    assert isinstance(second, ChunkEmitted) and (second.index, second.chunk) == (1, 1)
    assert isinstance(closed, StreamClosed) and (closed.chunks, closed.complete) == (2, True)
    assert without == [opened, closed]


@requirement("streams.nested")
async def test_a_tool_can_read_the_stream_of_another_one_as_its_child(autojump_clock: trio.abc.Clock) -> None:
    supervisors: list[Supervisor] = []

    @tool
    async def doubles(ctx: ToolContext) -> AsyncIterator[int]:
        async with supervisors[0].stream(ToolCall("count", {"upto": 3})) as stream:
            parents.append(stream.execution.snapshot.parent_id)
            async for chunk in stream:
                assert isinstance(chunk, int)
                yield 2 * chunk

    parents: list[str | None] = []
    async with open_supervisor(Toolbox([count, doubles])) as supervisor:
        supervisors.append(supervisor)
        async with supervisor.stream(ToolCall("doubles")) as stream:
            chunks = [chunk async for chunk in stream]

    assert chunks == [0, 2, 4]
    assert parents == [stream.execution.id]


@requirement("streams.cancelled-read")
async def test_a_cancelled_read_loses_no_chunk(autojump_clock: trio.abc.Clock) -> None:
    @tool(buffer=130)
    async def burst() -> AsyncIterator[int]:
        for number in range(130):
            yield number
        await trio.sleep(10)

    async with open_supervisor(Toolbox([burst])) as supervisor, supervisor.stream(ToolCall("burst")) as stream:
        chunks: list[object] = []
        await trio.testing.wait_all_tasks_blocked()
        while len(chunks) < 130:
            with trio.CancelScope() as scope:
                scope.cancel()
                chunks.append(await anext(stream))
            if scope.cancelled_caught:
                chunks.append(await anext(stream))
        with trio.move_on_after(1):
            await anext(stream)
        rest = [chunk async for chunk in stream]

    assert chunks == list(range(130))
    assert rest == []


@requirement("streams.cancelled-read")
async def test_two_tasks_that_read_one_stream_are_told_so() -> None:
    async with (
        open_supervisor(Toolbox([sleep])) as supervisor,
        trio.open_nursery() as nursery,
        supervisor.stream(ToolCall("sleep", {"seconds": 3600})) as stream,
    ):
        nursery.start_soon(anext, stream)
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(trio.BusyResourceError):
            await anext(stream)
        nursery.cancel_scope.cancel()


# -- generators that are no coroutines


@requirement("streams.inline")
@pytest.mark.parametrize("live", [False, True])
async def test_a_def_generator_placed_in_the_task_streams_like_an_async_one(live: bool) -> None:
    @tool(placement="task", buffer=2)
    def letters() -> Iterator[str]:
        yield from "abcdef"

    async with open_supervisor(Toolbox([letters])) as supervisor:
        if live:
            chunks, result = await read_all(supervisor, ToolCall("letters"))
            assert chunks == list("abcdef")
        else:
            result = await supervisor.execute(ToolCall("letters"))

    assert result.value == list("abcdef")


@requirement("streams.inline")
async def test_an_inline_generator_sees_the_cancellation_at_its_yield(autojump_clock: trio.abc.Clock) -> None:
    seen: list[str] = []

    @tool(placement="task", buffer=2)
    def forever() -> Iterator[int]:
        try:
            while True:
                yield 1
        except trio.Cancelled:
            seen.append("cancelled")
            raise
        finally:
            seen.append("closed")

    async with open_supervisor(Toolbox([forever])) as supervisor, supervisor.stream(ToolCall("forever")) as stream:
        await trio.testing.wait_all_tasks_blocked()
        stream.execution.abort("enough")
        snapshot = await stream.execution.settled()

    assert seen == ["cancelled", "closed"]
    assert (snapshot.error_code, snapshot.state, snapshot.cleanup) == ("CANCELLED", "unknown-effect", "completed")


@requirement("streams.inline")
async def test_an_inline_generators_own_timeout_ends_what_it_surrounds(autojump_clock: trio.abc.Clock) -> None:
    @tool(placement="task", buffer=2)
    def limited() -> Iterator[str]:
        with trio.move_on_after(5):
            while True:
                yield "in time"
        yield "late"

    async with open_supervisor(Toolbox([limited])) as supervisor, supervisor.stream(ToolCall("limited")) as stream:
        await trio.sleep(10)
        chunks = [chunk async for chunk in stream]

    assert chunks == ["in time", "in time", "late"]
    assert stream.result.outcome == "success"


# -- the buffer against a model


@requirement("streams.backpressure", "streams.live")
@given(
    pauses=st.lists(st.sampled_from([0, 1, 3]), max_size=20),
    reads=st.lists(st.sampled_from([0, 1, 2]), max_size=20),
    size=st.integers(1, 5),
)
def test_chunks_come_in_order_complete_and_bounded_whatever_the_paces(
    pauses: list[int], reads: list[int], size: int
) -> None:
    made = 0

    @tool(buffer=size)
    async def paced() -> AsyncIterator[int]:
        nonlocal made
        for number, pause in enumerate(pauses):
            await trio.sleep(pause)
            made += 1
            yield number

    async def main() -> None:
        async with open_supervisor(Toolbox([paced])) as supervisor, supervisor.stream(ToolCall("paced")) as stream:
            chunks: list[object] = []
            async for chunk in stream:
                chunks.append(chunk)
                assert made - len(chunks) <= size
                await trio.sleep(reads[len(chunks) - 1] if len(chunks) <= len(reads) else 0)

            assert chunks == list(range(len(pauses)))
            assert stream.result.value == chunks

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


@requirement("streams.never-read")
async def test_a_reader_that_is_cancelled_before_it_reads_leaves_a_record_that_says_not_started(
    autojump_clock: trio.abc.Clock,
) -> None:
    ran: list[str] = []

    @tool
    async def write() -> AsyncIterator[int]:
        ran.append("written")
        yield 1

    @tool
    async def relay_late(ctx: ToolContext) -> None:
        with trio.CancelScope() as inner:
            inner.cancel()
            async with current_supervisor().stream(ToolCall("write")):
                ran.append("read")

    async with open_supervisor(Toolbox([write, relay_late])) as supervisor:
        with trio.CancelScope() as scope:
            scope.cancel()
            async with supervisor.stream(ToolCall("write")):
                ran.append("read")
        with trio.CancelScope() as plain:
            plain.cancel()
            await supervisor.execute(ToolCall("write"))
        await supervisor.execute(ToolCall("relay_late"))

        assert scope.cancelled_caught and plain.cancelled_caught
        shots = [shot for shot in supervisor.executions.inspect() if shot.tool_name == "write"]
        assert [(shot.state, shot.error_code, shot.effect, shot.attempts) for shot in shots] == [
            ("terminal", "NOT_STARTED", "none", 0)
        ] * 3
        assert [shot.abort and shot.abort.source for shot in shots] == ["caller", "caller", "parent"]
    assert ran == []
