"""What calls come to in numbers: few labels, seconds, and gauges that any thread may read."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

import trio
import trio.testing
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from armory_trio import (
    Limits,
    LimitUse,
    ProgressReported,
    Toolbox,
    ToolCall,
    ToolContext,
    ToolFailure,
    open_supervisor,
    tool,
)
from armory_trio.observability import _metrics
from armory_trio.observability import _vocabulary as words
from armory_trio.observability.otel import instrument
from tests.engine.tools import add, count, sleep, stubborn
from tests.requirements import requirement

from .exporting import Exported, Labels

ADD: Final = ToolCall("add", {"a": 1, "b": 2})


@tool(effect="read-only")
async def fail(code: str) -> None:
    """Fail with a code."""
    raise ToolFailure("no", category="conflict", code=code)


@requirement("telemetry.metrics")
async def test_times_are_measured_in_seconds_of_trio_s_clock(autojump_clock: trio.testing.MockClock) -> None:
    exported = Exported()
    async with exported.supervisor(Toolbox([sleep]), limits=Limits(concurrent=1)) as supervisor:
        await supervisor.execute_batch([ToolCall("sleep", {"seconds": 2}) for _ in range(3)])

    [(labels, seconds)] = exported.points("gen_ai.execute_tool.duration").items()
    assert dict(labels) == {words.OPERATION: "execute_tool", words.TOOL_NAME: "sleep", words.TOOL_TYPE: "function"}
    assert seconds == 2 + 4 + 6
    assert exported.points("armory.tool.queue.duration") == {((words.TOOL_NAME, "sleep"),): 0 + 2 + 4}


@requirement("telemetry.metrics")
async def test_calls_are_counted_by_tool_and_outcome() -> None:
    exported = Exported()
    async with exported.supervisor(Toolbox([add, count])) as supervisor:
        for call in (ADD, ADD, ToolCall("add"), ToolCall("rm -rf /"), ToolCall("count", {"upto": 3})):
            await supervisor.execute(call)

    counted = {frozenset(labels): value for labels, value in exported.points("armory.tool.calls").items()}
    name, outcome, category = words.TOOL_NAME, words.OUTCOME, words.CATEGORY
    assert counted == {
        frozenset({(name, "add"), (outcome, "success")}): 2,
        frozenset({(name, "add"), (outcome, "error"), (category, "validation")}): 1,
        frozenset({(name, "_OTHER"), (outcome, "error"), (category, "not_found")}): 1,
        frozenset({(name, "count"), (outcome, "success")}): 1,
    }
    assert exported.points("armory.tool.chunks") == {((words.TOOL_NAME, "count"),): 3}


@requirement("telemetry.names", "telemetry.metrics")
async def test_codes_that_tools_make_up_do_not_make_ever_more_series() -> None:
    exported = Exported()
    async with exported.supervisor(Toolbox([fail])) as supervisor:
        await supervisor.execute_batch([ToolCall("fail", {"code": f"CODE_{number}"}) for number in range(200)])

    told = {dict(labels)[words.ERROR_TYPE] for labels in exported.points("gen_ai.execute_tool.duration")}
    assert len(told) == words.CODES_AT_MOST + 1
    assert words.OTHER in told


@requirement("telemetry.metrics")
async def test_waits_are_measured_by_what_is_waited_for_and_bodies_that_were_given_up_are_counted(
    autojump_clock: trio.testing.MockClock,
) -> None:
    @tool(effect="read-only")
    async def lingers(ctx: ToolContext) -> None:
        async with ctx.waiting("a secret"):
            await trio.sleep(3)

    exported = Exported()
    async with exported.supervisor(Toolbox([lingers, stubborn]), limits=Limits(concurrent=1)) as supervisor:
        await supervisor.execute_batch([ToolCall("lingers") for _ in range(2)])
        given_up = supervisor.start(ToolCall("stubborn", {"seconds": 60}))
        await trio.testing.wait_all_tasks_blocked()
        given_up.abort("it is enough")
        await given_up.settled()

    assert exported.points("armory.tool.wait.duration") == {
        ((words.WAIT, "declared"), (words.TOOL_NAME, "lingers")): 3.0 + 3.0,
        ((words.WAIT, "capacity"), (words.TOOL_NAME, "lingers")): 3.0,
    }
    assert exported.points("armory.tool.cleanups.overdue") == {((words.TOOL_NAME, "stubborn"),): 1}


@requirement("telemetry.metrics")
async def test_what_is_live_and_which_limits_are_in_use_is_read_from_another_thread(
    autojump_clock: trio.testing.MockClock,
) -> None:
    exported = Exported()
    found: list[tuple[dict[Labels, float], ...]] = []
    limits = Limits(concurrent=2, per_owner=2)
    async with exported.supervisor(Toolbox([sleep]), limits=limits) as supervisor:
        for _ in range(3):
            supervisor.start(ToolCall("sleep", {"seconds": 5}), owner_id="the owner")
        await trio.testing.wait_all_tasks_blocked()
        reader = threading.Thread(
            target=lambda: found.append(
                (
                    exported.points("armory.executions.live"),
                    exported.points("armory.limit.used"),
                    exported.points("armory.limit.size"),
                )
            )
        )
        reader.start()
        reader.join()

    [(live, used, size)] = found
    assert {dict(labels)["armory.state"]: value for labels, value in live.items() if value} == {
        "active": 2,
        "queued": 1,
    }
    assert used[("armory.limit.name", "supervisor"),] == 2
    assert size[("armory.limit.name", "supervisor"),] == 2
    assert "the owner" not in str(used)
    assert exported.points("armory.executions.live") == {}


@requirement("telemetry.metrics")
async def test_two_supervisors_of_one_provider_are_counted_together(autojump_clock: trio.testing.MockClock) -> None:
    exported = Exported()
    async with exported.supervisor(Toolbox([sleep])) as one, exported.supervisor(Toolbox([sleep])) as two:
        for supervisor in (one, two, two):
            supervisor.start(ToolCall("sleep", {"seconds": 5}))
        await trio.testing.wait_all_tasks_blocked()

        assert exported.points("armory.executions.live")[("armory.state", "active"),] == 3


@requirement("telemetry.metrics")
async def test_events_that_readers_lost_are_counted_and_stay_counted(autojump_clock: trio.testing.MockClock) -> None:
    exported = Exported()

    @tool(effect="read-only")
    async def chatty(ctx: ToolContext) -> None:
        """Report more than a slow reader can hold."""
        for number in range(10):
            ctx.progress(number)

    async with exported.supervisor(Toolbox([chatty])) as supervisor:
        async with supervisor.events(ProgressReported, buffer=4):
            await supervisor.execute(ToolCall("chatty"))
            assert exported.points("armory.events.lost") == {(): 6}
        assert exported.points("armory.events.lost") == {(): 6}
        assert supervisor.executions.statistics().events_lost == 6
    assert exported.points("armory.events.lost") == {(): 6}


@requirement("telemetry.metrics")
async def test_a_supervisor_that_is_instrumented_again_is_counted_once_and_as_long_as_anybody_does() -> None:
    exported = Exported()

    def instrumented() -> Callable[[], None]:
        return instrument(supervisor, tracer_provider=exported.tracers, meter_provider=exported.meters)

    async with open_supervisor(Toolbox([count, sleep])) as supervisor:
        first, second = instrumented(), instrumented()
        supervisor.start(ToolCall("sleep", {"seconds": 60}))
        async with supervisor.events(buffer=1):
            await supervisor.execute(ToolCall("count", {"upto": 1}))
            lost = supervisor.executions.statistics().events_lost
            assert exported.points("armory.events.lost") == {(): lost}
            first()
            first()
            live = exported.points("armory.executions.live")
            assert sum(live.values()) == 1
            second()
            assert exported.points("armory.executions.live") == {}
            instrumented()
            assert exported.points("armory.events.lost") == {(): lost}
        supervisor.abort("it is enough", tool_name="sleep")


@requirement("telemetry.metrics")
async def test_every_metric_that_is_listed_is_there_with_its_labels(autojump_clock: trio.testing.MockClock) -> None:
    exported = Exported()
    seen: dict[str, set[str]] = {}
    units: dict[str, str] = {}
    toolbox = Toolbox([add, fail, count, sleep, stubborn])
    async with exported.supervisor(toolbox, limits=Limits(concurrent=2)) as supervisor:
        await supervisor.execute(ADD)
        await supervisor.execute(ToolCall("fail", {"code": "NO"}))
        await supervisor.execute(ToolCall("count", {"upto": 3}))
        await supervisor.execute(ToolCall("sleep", {"seconds": 1}), idempotency_key="k")
        await supervisor.execute_batch([ToolCall("sleep", {"seconds": 1}) for _ in range(3)])
        given_up = supervisor.start(ToolCall("stubborn", {"seconds": 60}))
        await trio.testing.wait_all_tasks_blocked()
        given_up.abort("it is enough")
        await given_up.settled()
        supervisor.start(ToolCall("sleep", {"seconds": 1}))
        await trio.testing.wait_all_tasks_blocked()
        data = exported.reader.get_metrics_data()
        assert data is not None
        for each in (
            each for resource in data.resource_metrics for scope in resource.scope_metrics for each in scope.metrics
        ):
            units[each.name] = each.unit or ""
            seen[each.name] = {label for point in each.data.data_points for label in point.attributes or {}}

    assert seen == {name: set(labels) for name, labels in words.LABELS.items() if name in seen}
    assert words.METRICS.keys() - seen.keys() <= {"armory.ledger.answers"}
    assert [name for name, unit in units.items() if f"`{unit}`" not in words.METRICS[name]] == []


@requirement("telemetry.metrics", "telemetry.stop")
async def test_a_supervisor_that_is_closed_is_not_kept_by_the_meter() -> None:
    reader = InMemoryMetricReader()
    meters = MeterProvider([reader])
    async with open_supervisor(Toolbox([add])) as supervisor:
        instrument(supervisor, meter_provider=meters)
        await supervisor.execute(ADD)

    assert vars(vars(_metrics)["_gauges"][meters])["_watched"] == {}


@requirement("statistics.numbers")
async def test_a_supervisor_tells_itself_in_numbers(autojump_clock: trio.testing.MockClock) -> None:
    async with open_supervisor(Toolbox([add, sleep]), limits=Limits(concurrent=1, threads=7)) as supervisor:
        await supervisor.execute(ADD)
        for _ in range(2):
            supervisor.start(ToolCall("sleep", {"seconds": 5}))
        await trio.testing.wait_all_tasks_blocked()
        told = supervisor.executions.statistics()

    assert (told.admitted, dict(told.live), told.events_lost) == (3, {"active": 1, "queued": 1}, 0)
    assert told.limits["supervisor"] == LimitUse(1, 1)
    assert told.limits["threads"] == LimitUse(0, 7)


@requirement("statistics.numbers")
async def test_numbers_may_be_asked_for_from_any_thread_while_calls_come_and_go() -> None:
    asked, over = 0, threading.Event()
    async with open_supervisor(Toolbox([add])) as supervisor:

        def ask() -> int:
            answers = 0
            while not over.is_set() or answers < 100:
                supervisor.executions.statistics()
                answers += 1
            return answers

        async with trio.open_nursery() as nursery:

            async def call() -> None:
                for _ in range(20):
                    await supervisor.execute_batch([ADD] * 20)
                over.set()

            nursery.start_soon(call)
            asked = await trio.to_thread.run_sync(ask)

    assert asked >= 100
